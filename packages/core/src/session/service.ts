/**
 * Sessions: the one record a conversation has, and the lists of them.
 *
 * Guarantee: every change is one commit. When it succeeds the change is stored; when it fails with a domain error
 * nothing is. `create` and `ensureRoot` may be repeated, also at the same time and after a crash: they make one session.
 * A list answers from the rows of sessions alone, however long the conversations are, and its filters are exact.
 *
 * In a store that was opened for one owner nobody else's sessions are seen: their ids are `SessionNotFound`. That is a
 * filter, no authorisation.
 *
 * Not promised: that a list of several pages shows a session that moved meanwhile.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as z from "zod/mini"
import { bindingOf, cursorAt, placeOf } from "../cursor.ts"
import type { InvalidCursor, Place } from "../cursor.ts"
import { checkId, Ids, isId } from "../id.ts"
import { checkInput, checkJson } from "../input.ts"
import { withFiles } from "../attachment/files.ts"
import { toEntry } from "../message/body.ts"
import type { MessageInput } from "../message/body.ts"
import { defaultProjectId, ProjectTable } from "../project/model.ts"
import { newProject } from "../project/program.ts"
import type { ProjectNotFound } from "../project/program.ts"
import { locate, projectIdOf, standsFor, workspaceFields, WorkspacePath } from "../project/workspace.ts"
import type { Workspace } from "../project/workspace.ts"
import { Settings } from "../settings.ts"
import type { ChangedRow } from "../storage/changes.ts"
import { InvalidInput } from "../storage/error.ts"
import type { StorageError } from "../storage/error.ts"
import { key } from "../storage/key.ts"
import { annotate, span } from "../storage/span.ts"
import { Storage } from "../storage/storage.ts"
import type { TransactOptions } from "../storage/storage.ts"
import { canonical, copyOf, digest } from "../value.ts"
import { watch } from "../watch.ts"
import { checkWriteOptions, writeFields } from "../write-options.ts"
import { filterFields, toQuery } from "./filter.ts"
import type { CheckedFilter, Query, SessionFilter } from "./filter.ts"
import { freshSession } from "./fresh.ts"
import { ExpectedInput, fixedFields, Name, NewSessionInput, SessionPatchInput, Title } from "./input.ts"
import type { Expected, NewSession, SessionPatch } from "./input.ts"
import { placeIn, scan, windowSize } from "./list.ts"
import { SessionTable } from "./model.ts"
import type { SessionRow } from "./model.ts"
import { previewOf } from "./preview.ts"
import * as program from "./program.ts"
import type { IdConflict, OperationConflict, SessionAbsent } from "./program.ts"
import { SessionNotFound } from "./program.ts"
import { toListed, toSession } from "./record.ts"
import type { DegradedSession, ListedSession, Session } from "./record.ts"
import { childrenOf, grow, largestForest } from "./tree.ts"
import type { Branching } from "./tree.ts"

export { InvalidCursor } from "../cursor.ts"
export type { SessionFilter, TimeRange } from "./filter.ts"
export type { Expected, NewSession, SessionPatch } from "./input.ts"
export type { Channel, Model, RunLocation, SessionFailure, SessionKind, SessionStatus } from "./model.ts"
export { IdConflict, OperationConflict, SessionDeleted, SessionNotFound } from "./program.ts"
export type { SessionAbsent } from "./program.ts"
export type { DegradedSession, ListedSession, Session } from "./record.ts"

export interface UpdateOptions extends TransactOptions {
  /** What must still be so, or the change fails with `OperationConflict`. */
  readonly expected?: Expected
}

export interface ListQuery extends SessionFilter {
  /** 1 to 200. Default 50. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly cursor?: string
}

export interface SessionPage {
  /** Latest activity first, then by id. */
  readonly sessions: ReadonlyArray<ListedSession>
  /** Sessions that may belong here and cannot be read. They are named once in a walk over all pages. */
  readonly degraded: ReadonlyArray<DegradedSession>
  /** Where the next page begins. Absent: this is the last one. */
  readonly next?: string
}

export interface LatestQuery {
  readonly workspace?: string
  readonly projectId?: string
  readonly agent?: string
  readonly owner?: string
}

export interface TreeQuery extends Omit<SessionFilter, "parentId"> {
  /** How many sessions of one level, 1 to 200. Default 50. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly cursor?: string
  /** How many levels of children, 0 or more. Default: all. */
  readonly depth?: number
}

/** A session with what it started, newest first. */
export interface SessionNode {
  readonly session: Session
  readonly children: ReadonlyArray<SessionNode>
  /** A cursor for `children(session.id)`, where not all are here: the level has more, or the answer is full. */
  readonly next?: string
}

export interface SessionTree {
  readonly nodes: ReadonlyArray<SessionNode>
  readonly degraded: ReadonlyArray<DegradedSession>
  readonly next?: string
}

export interface Opened {
  readonly session: Session
  /** Whether it is not the one that was asked for, but the public one above it. */
  readonly followed: boolean
  /** Whether the caller works in another directory than the session, which keeps its own. */
  readonly callerWorkspaceDiffers: boolean
}

type Failed = InvalidInput | StorageError
type Absent = SessionAbsent | Failed

export class Sessions extends Context.Service<
  Sessions,
  {
    /**
     * Creates a session: idle, a `conversation`, visible, with its project and, if given, its first message.
     *
     * With an `id` it may be repeated: the same input answers the session as it is by now, whatever has happened to it;
     * other input is `IdConflict`. Creating a session in a hidden project shows that again.
     *
     * @throws InvalidInput     a field is not what it says, or another owner than the store's
     * @throws IdConflict       the id is taken by a session with another beginning
     * @throws SessionDeleted   a session with this id was deleted
     * @throws SessionNotFound  there is no session `parentId`
     * @throws ProjectNotFound  its owner has no project `projectId`
     *
     * @example
     * const session = yield* sessions.create({ id: "s1", workspace: "/home/ada/app" })
     * session.status // => "idle"
     */
    readonly create: (
      input?: NewSession,
      options?: TransactOptions,
    ) => Effect.Effect<Session, IdConflict | ProjectNotFound | Absent>
    /**
     * The main session of an agent, made on first use: type `root`, title `Main`, neither of which ever changes.
     *
     * @param options  `owner`: whose; default the owner that the store was opened for
     */
    readonly ensureRoot: (
      agent: string,
      options?: TransactOptions & { readonly owner?: string },
    ) => Effect.Effect<Session, IdConflict | ProjectNotFound | Absent>
    /** Reads a session and changes nothing. One that is stored and cannot be read is `Corrupt`, not `SessionNotFound`. */
    readonly get: (sessionId: string) => Effect.Effect<Session, Absent>
    /**
     * Opens a session for work: follows `navigable`, and takes the session out of the archive. Its workspace stays.
     *
     * @param options  `callerWorkspace`: where the caller works; that it differs is reported, not stored
     */
    readonly open: (
      sessionId: string,
      options?: TransactOptions & { readonly callerWorkspace?: string },
    ) => Effect.Effect<Opened, Absent>
    /**
     * The session that people see instead of an internal one (`task`, `peek`): the nearest public one among those that
     * started it, at most 32 steps up. A longer, broken or circular chain is `SessionNotFound` with the last id reached.
     */
    readonly navigable: (
      sessionId: string,
    ) => Effect.Effect<{ readonly session: Session; readonly followed: boolean }, Absent>
    /**
     * The session with this id, or the only one whose id begins so.
     *
     * @throws SessionNotFound  none, or several: then with the first 10 `candidates`
     */
    readonly resolve: (idOrPrefix: string) => Effect.Effect<Session, Absent>
    /** The session of latest activity under the filter that lists have by default; `undefined` when there is none. */
    readonly latest: (query?: LatestQuery) => Effect.Effect<Session | undefined, Failed>
    /**
     * A page of sessions, latest activity first.
     *
     * Without a filter: all that are not archived, not hidden, and of kind `conversation`, `channel` or `unknown`. Filters
     * by shelf, workspace, project and owner are answered by an index; others are tested on 200 rows at a time, in as many
     * reads as the page needs. Children of one session are found faster by `children`.
     *
     * @throws InvalidCursor  the cursor is damaged, or was given out for another filter
     *
     * @example
     * const { sessions: page, next } = yield* sessions.list({ workspace: "/home/ada/app", limit: 20 })
     */
    readonly list: (query?: ListQuery) => Effect.Effect<SessionPage, InvalidCursor | Failed>
    /**
     * The page that `list` answers, at once and whenever it has changed, whoever changed it, in this process or another:
     * at most thirty times a second. A session that stays as it was stays the same object. Ends when the store is closed.
     *
     * @throws InvalidCursor  as for `list`
     *
     * @example
     * yield* Stream.runForEach(sessions.watch({ workspace: "/home/ada/app" }), ({ sessions: page }) => show(page))
     */
    readonly watch: (query?: ListQuery) => Stream.Stream<SessionPage, InvalidCursor | Failed>
    /**
     * Sessions that nobody started, as `list` gives them, with all that they started below them, of every kind, archived
     * and hidden ones too. At most 500 sessions an answer.
     */
    readonly tree: (query?: TreeQuery) => Effect.Effect<SessionTree, InvalidCursor | Failed>
    /** The sessions that a session started, newest first, with theirs below them. */
    readonly children: (
      sessionId: string,
      query?: Pick<TreeQuery, "limit" | "cursor" | "depth">,
    ) => Effect.Effect<SessionTree, InvalidCursor | Absent>
    /**
     * Changes what may change: an absent field stays, `null` clears. A title locks itself against automatic ones.
     * `activityAt` never moves; a patch that changes nothing writes nothing.
     *
     * @throws InvalidInput       an unknown field, one that never changes, or the title or agent of a main session
     * @throws OperationConflict  something is not as `expected`
     */
    readonly update: (
      sessionId: string,
      patch: SessionPatch,
      options?: UpdateOptions,
    ) => Effect.Effect<Session, OperationConflict | Absent>
    /** Gives a title by hand, which locks it; `null` clears and unlocks it. */
    readonly rename: (
      sessionId: string,
      title: string | null,
      options?: UpdateOptions,
    ) => Effect.Effect<Session, OperationConflict | Absent>
    /**
     * Gives a title that a program made up: one line, cut to 80 UTF-16 units.
     *
     * It never replaces a title that was given by hand: then the session is answered as it is.
     */
    readonly autoTitle: (sessionId: string, text: string, options?: TransactOptions) => Effect.Effect<Session, Absent>
    /** Puts a session aside: it is in no list but of archived ones, until it is opened. */
    readonly archive: (sessionId: string, options?: UpdateOptions) => Effect.Effect<Session, OperationConflict | Absent>
    readonly unarchive: (
      sessionId: string,
      options?: UpdateOptions,
    ) => Effect.Effect<Session, OperationConflict | Absent>
    /** Marks a session; `false` takes that back. Lists keep their order: what is pinned can be asked for. */
    readonly pin: (
      sessionId: string,
      pinned?: boolean,
      options?: UpdateOptions,
    ) => Effect.Effect<Session, OperationConflict | Absent>
    /** Puts it in a group; `null` takes it out. */
    readonly setGroup: (
      sessionId: string,
      group: string | null,
      options?: UpdateOptions,
    ) => Effect.Effect<Session, OperationConflict | Absent>
    readonly markRead: (
      sessionId: string,
      options?: UpdateOptions,
    ) => Effect.Effect<Session, OperationConflict | Absent>
    /** Moves `updatedAt` and `revision` and nothing else: whoever waits for changes looks again. */
    readonly touch: (sessionId: string, options?: TransactOptions) => Effect.Effect<Session, Absent>
  }
>()("@skein/core/session/Sessions") {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings
      const ids = yield* Ids

      /** The owner that a call is about: the store's, where it has one. */
      const ownerOf = (field: string, given: string | undefined): Effect.Effect<string | undefined, InvalidInput> =>
        settings.owner === undefined || given === undefined || given === settings.owner
          ? Effect.succeed(settings.owner ?? given)
          : Effect.fail(
              new InvalidInput({
                field,
                value: given,
                problem: `must be ${settings.owner}: the store is opened for it`,
              }),
            )

      const located = (dir: string | undefined): Effect.Effect<Workspace | undefined> =>
        dir === undefined ? Effect.undefined : locate(settings.paths, dir)

      const firstEntry = (first: unknown, now: number) =>
        toEntry({ settings, ids }, first as MessageInput, now, "input.first")

      const mintId = Effect.flatMap(ids.mint(settings.idPrefix), (id) => checkId("id", id))

      const queryOf = Effect.fnUntraced(function* (filter: CheckedFilter, name: string) {
        const owner = yield* ownerOf(`${name}.owner`, filter.owner)
        return toQuery(filter, owner, yield* located(filter.workspace))
      })

      /** The first `wanted` sessions behind a place that fit, read window by window. */
      const firstFitting = Effect.fnUntraced(function* (query: Query, after: Place | undefined, wanted: number) {
        const rows: Array<Readonly<SessionRow>> = []
        const degraded = new Map<string, ReadonlyArray<DegradedSession>>()
        const names = new Map<string, string>()
        let rest: ReadonlyArray<DegradedSession> = []
        let from = after
        let examined = 0
        do {
          const size = examined === 0 ? wanted : windowSize
          const window = yield* storage.read(scan(query, from, size, wanted - rows.length))
          for (const [id, before] of window.degraded) degraded.set(id, before)
          const [next] = window.rows
          if (next === undefined) rest = [...rest, ...window.rest]
          else {
            if (rest.length > 0) degraded.set(next.id, [...rest, ...(degraded.get(next.id) ?? [])])
            rest = window.rest
          }
          rows.push(...window.rows)
          for (const [id, name] of window.names) names.set(id, name)
          examined += window.examined
          from = window.end
        } while (from !== undefined && rows.length < wanted)
        yield* annotate(() => ({ "skein.rows.examined": examined, "skein.sessions": rows.length }))
        return { rows, degraded, names, rest }
      })

      const pageOf = Effect.fnUntraced(function* (query: Query, limit: number, cursor: string | undefined) {
        const after = yield* placeOf(query.binding, cursor)
        const { degraded, names, rest, rows } = yield* firstFitting(query, after, limit + 1)
        const page = rows.slice(0, limit)
        const last = page.at(-1)
        const more = rows.length > limit && last !== undefined
        const before = degraded.size === 0 ? [] : page.flatMap(({ id }) => degraded.get(id) ?? [])
        return {
          page,
          names,
          degraded: distinct(more ? before : [...before, ...rest]),
          ...(more && { next: cursorAt(query.binding(), placeIn(last)) }),
        }
      })

      /** What is asked for, understood, as the effect that answers it. */
      const listing = Effect.fnUntraced(function* (given: ListQuery) {
        const { cursor, limit = pageSize, ...filter } = yield* checkInput(ListInput, given, "query")
        const query = yield* queryOf(filter, "query")
        return Effect.map(pageOf(query, limit, cursor), ({ names, page, ...rest }): SessionPage => {
          const sessions = page.map((row) => toListed(row, names.get(row.projectId)))
          return { sessions, ...rest }
        })
      })

      const change = Effect.fnUntraced(function* (sessionId: string, patch: SessionPatch, options: UpdateOptions) {
        yield* checkId("sessionId", sessionId)
        yield* checkInput(UpdateOptionsInput, options, "options")
        const { expected = {}, ...writing } = options
        const now = yield* Clock.currentTimeMillis
        const changed = program.update(settings, sessionId, patch, copyOf(expected), now)
        return toSession(yield* storage.transact(changed, writing))
      })

      return Sessions.of({
        create: Effect.fnUntraced(function* (input = {}, options = {}) {
          const { first: said, ...checked } = yield* checkInput(NewSessionInput, input, "input")
          yield* checkJson(checked.metadata ?? null, "input.metadata")
          const writing = yield* checkWriteOptions(options)
          // `null` is no metadata, as in a patch.
          const given = copyOf({ ...checked, metadata: checked.metadata ?? undefined })
          const owner = yield* ownerOf("input.owner", given.owner)
          const id = given.id === undefined ? yield* mintId : yield* checkId("input.id", given.id)
          if (given.parentId !== undefined) yield* checkId("input.parentId", given.parentId)
          const now = yield* Clock.currentTimeMillis
          const first = said === undefined ? [] : [yield* firstEntry(said, now)]
          const workspace = yield* located(given.workspace)
          const { projectId, project } = yield* homeOf(given, owner, workspace, now)
          const { defaultWorkspace: _, workspace: _dir, ...fields } = given
          const session = freshSession({
            ...fields,
            ...(owner !== undefined && { owner }),
            ...(workspace !== undefined && workspaceFields(workspace)),
            id,
            treeId: yield* ids.mint("tree_"),
            projectId,
            createdAt: now,
            inputDigest: digestOf({ ...given, id: undefined, owner, workspace: workspace?.spelledKey, first: said }),
          })
          const creating = storage.transact(program.create(settings, { session, project, first }), writing)
          const created = yield* withFiles(storage, first, now, creating)
          yield* annotate(() => ({ "skein.session": created.id }))
          return toSession(created)
        }, span("skein.session.create")),
        ensureRoot: Effect.fnUntraced(function* (agent, options = {}) {
          yield* checkInput(Name, agent, "agent")
          yield* checkInput(RootOptionsInput, options, "options")
          const { owner: given, ...writing } = options
          const owner = yield* ownerOf("options.owner", given)
          const now = yield* Clock.currentTimeMillis
          const rootKey = key(canonical([agent, owner ?? null]))
          const project = newProject(undefined, owner, now)
          const session = freshSession({
            id: yield* mintId,
            treeId: yield* ids.mint("tree_"),
            type: "root",
            title: "Main",
            agent,
            ...(owner !== undefined && { owner }),
            projectId: project.id,
            createdAt: now,
            rootKey,
          })
          const creation = { session, project, first: [] }
          return toSession(yield* storage.transact(program.ensureRoot(settings, rootKey, creation), writing))
        }, span("skein.session.ensureRoot")),
        get: Effect.fnUntraced(function* (sessionId) {
          yield* checkId("sessionId", sessionId)
          return toSession(yield* storage.read(program.requireSession(settings, sessionId)))
        }, spanOf("get")),
        open: Effect.fnUntraced(function* (sessionId, options = {}) {
          yield* checkId("sessionId", sessionId)
          yield* checkInput(OpenOptionsInput, options, "options")
          const { callerWorkspace, ...writing } = options
          const caller = yield* located(callerWorkspace)
          const now = yield* Clock.currentTimeMillis
          const found = yield* storage.read(program.navigable(settings, sessionId))
          const { followed, session } = found.session.archived
            ? yield* storage.transact(program.open(settings, sessionId, now), writing)
            : found
          const opened: Opened = {
            session: toSession(session),
            followed,
            callerWorkspaceDiffers:
              caller !== undefined && session.workspaceKey !== undefined && !standsFor(session, caller),
          }
          return opened
        }, spanOf("open")),
        navigable: Effect.fnUntraced(function* (sessionId) {
          yield* checkId("sessionId", sessionId)
          const { followed, session } = yield* storage.read(program.navigable(settings, sessionId))
          return { session: toSession(session), followed }
        }, spanOf("navigable")),
        resolve: Effect.fnUntraced(function* (idOrPrefix) {
          yield* checkId("idOrPrefix", idOrPrefix)
          const exact = yield* storage.read(program.find(settings, idOrPrefix))
          if (exact !== undefined) return toSession(exact)
          const candidates: Array<string> = []
          let end: string | undefined
          do {
            const window = yield* storage.read(program.startingWith(settings, idOrPrefix, end))
            candidates.push(...window.ids)
            end = window.end
          } while (end !== undefined && candidates.length < program.mostCandidates)
          const [only, ...others] = candidates.slice(0, program.mostCandidates)
          if (only === undefined) return yield* new SessionNotFound({ sessionId: idOrPrefix })
          if (others.length > 0) {
            return yield* new SessionNotFound({ sessionId: idOrPrefix, candidates: [only, ...others] })
          }
          return toSession(yield* storage.read(program.requireSession(settings, only)))
        }, span("skein.session.resolve")),
        latest: Effect.fnUntraced(function* (given = {}) {
          const query = yield* queryOf(yield* checkInput(LatestInput, given, "query"), "query")
          const [found] = (yield* firstFitting(query, undefined, 1)).rows
          return found && toSession(found)
        }, span("skein.session.latest")),
        list: (given = {}) => span("skein.session.list")(Effect.flatten(listing(given))),
        watch: (given = {}) =>
          Stream.unwrap(
            Effect.map(listing(given), (page) =>
              watch(storage, { look: () => span("skein.session.watch")(page), concerns: isListed }),
            ),
          ),
        tree: Effect.fnUntraced(function* (given = {}) {
          const {
            cursor,
            depth = largestForest,
            limit = pageSize,
            ...filter
          } = yield* checkInput(TreeInput, given, "query")
          const query = yield* queryOf({ ...filter, parentId: null }, "query")
          const { degraded, names: _, page, ...next } = yield* pageOf(query, limit, cursor)
          const forest = yield* storage.read(grow(settings, page, { depth, limit }))
          const answer: SessionTree = {
            nodes: forest.nodes.map(toNode),
            degraded: [...degraded, ...forest.degraded],
            ...next,
          }
          return answer
        }, span("skein.session.tree")),
        children: Effect.fnUntraced(function* (sessionId, given = {}) {
          yield* checkId("sessionId", sessionId)
          const { cursor, depth = largestForest, limit = pageSize } = yield* checkInput(ChildrenInput, given, "query")
          const after = yield* placeOf(() => childrenBinding(sessionId), cursor)
          const family = childrenOf(settings, sessionId, after, { depth, limit })
          const { degraded, next, nodes } = yield* storage.read(family)
          const answer: SessionTree = {
            nodes: nodes.map(toNode),
            degraded,
            ...(next !== undefined && { next: cursorAt(childrenBinding(sessionId), next) }),
          }
          return answer
        }, spanOf("children")),
        update: Effect.fnUntraced(function* (sessionId, patch, options = {}) {
          const checked = yield* Effect.mapError(checkInput(SessionPatchInput, patch, "patch"), namingFixed)
          yield* checkJson(checked.metadata ?? null, "patch.metadata")
          return yield* change(sessionId, copyOf(checked), options)
        }, spanOf("update")),
        rename: Effect.fnUntraced(function* (sessionId, title, options = {}) {
          return yield* change(sessionId, { title: yield* checkInput(z.nullable(Title), title, "title") }, options)
        }, spanOf("rename")),
        autoTitle: Effect.fnUntraced(function* (sessionId, text, options = {}) {
          yield* checkId("sessionId", sessionId)
          const title = previewOf(yield* checkInput(z.string(), text, "text"))
          if (title === "") return yield* new InvalidInput({ field: "text", value: text, problem: "must not be blank" })
          const writing = yield* checkWriteOptions(options)
          const now = yield* Clock.currentTimeMillis
          return toSession(yield* storage.transact(program.autoTitle(settings, sessionId, title, now), writing))
        }, spanOf("autoTitle")),
        archive: Effect.fnUntraced(function* (sessionId, options = {}) {
          return yield* change(sessionId, { archived: true }, options)
        }, spanOf("archive")),
        unarchive: Effect.fnUntraced(function* (sessionId, options = {}) {
          return yield* change(sessionId, { archived: false }, options)
        }, spanOf("unarchive")),
        pin: Effect.fnUntraced(function* (sessionId, pinned = true, options = {}) {
          return yield* change(sessionId, { pinned: yield* checkInput(z.boolean(), pinned, "pinned") }, options)
        }, spanOf("pin")),
        setGroup: Effect.fnUntraced(function* (sessionId, group, options = {}) {
          return yield* change(sessionId, { group: yield* checkInput(z.nullable(Name), group, "group") }, options)
        }, spanOf("setGroup")),
        markRead: Effect.fnUntraced(function* (sessionId, options = {}) {
          return yield* change(sessionId, { unread: false }, options)
        }, spanOf("markRead")),
        touch: Effect.fnUntraced(function* (sessionId, options = {}) {
          yield* checkId("sessionId", sessionId)
          const writing = yield* checkWriteOptions(options)
          const now = yield* Clock.currentTimeMillis
          return toSession(yield* storage.transact(program.touch(settings, sessionId, now), writing))
        }, spanOf("touch")),
      })
    }),
  )
}

/** Whether a list may show something of a row. */
const isListed = ({ table }: ChangedRow): boolean => table === SessionTable.name || table === ProjectTable.name

/** A span that names the session. */
const spanOf =
  (verb: string) =>
  <A, E>(effect: Effect.Effect<A, E>, sessionId: unknown): Effect.Effect<A, E> =>
    span(`skein.session.${verb}`, isId(sessionId) ? { "skein.session": sessionId } : {})(effect)

const pageSize = 50
const limit = z.optional(z.int().check(z.gte(1), z.lte(200)))
const cursor = z.optional(z.string())
const depth = z.optional(z.int().check(z.gte(0)))
const { parentId: _parent, ...treeFilter } = filterFields
const { agent, owner, projectId, workspace } = filterFields

const LatestInput = z.strictObject({ agent, owner, projectId, workspace })
const ListInput = z.strictObject({ ...filterFields, limit, cursor })
const TreeInput = z.strictObject({ ...treeFilter, limit, cursor, depth })
const ChildrenInput = z.strictObject({ limit, cursor, depth })

const RootOptionsInput = z.strictObject({ ...writeFields, owner: z.optional(Name) })
const OpenOptionsInput = z.strictObject({ ...writeFields, callerWorkspace: z.optional(WorkspacePath) })
const UpdateOptionsInput = z.strictObject({ ...writeFields, expected: z.optional(ExpectedInput) })

type Given = z.output<typeof NewSessionInput>

/** Where a new session belongs (PRJ-01), and the project as it is made if that may be. */
const homeOf = Effect.fnUntraced(function* (
  given: Given,
  owner: string | undefined,
  workspace: Workspace | undefined,
  now: number,
) {
  const { defaultWorkspace = false, projectId: named } = given
  const project = newProject(defaultWorkspace ? undefined : workspace, owner, now)
  if (named === undefined || named === project.id) return { projectId: project.id, project }
  if (defaultWorkspace || named === projectIdOf(defaultProjectId, owner)) {
    const problem = defaultWorkspace
      ? `contradicts defaultWorkspace`
      : `is for sessions without a workspace: say defaultWorkspace to put this one there`
    return yield* new InvalidInput({ field: "input.projectId", value: named, problem })
  }
  return { projectId: named, project: undefined }
})

/** The input as it is compared when the id comes again: with its defaults, workspaces by their path. */
const digestOf = ({
  defaultWorkspace = false,
  kind = "conversation",
  pinned = false,
  visibility = "visible",
  ...input
}: Given): string => digest({ ...input, defaultWorkspace, kind, pinned, visibility })

/** Says of a field that exists why it is not to be changed. */
const namingFixed = (refused: InvalidInput): InvalidInput => {
  const problem = fixedFields[refused.field.slice("patch.".length)]
  return problem === undefined ? refused : new InvalidInput({ field: refused.field, value: refused.value, problem })
}

/** A session that stands in two parts of an index is met twice. */
const distinct = (degraded: ReadonlyArray<DegradedSession>): ReadonlyArray<DegradedSession> =>
  degraded.length < 2 ? degraded : [...new Map(degraded.map((one) => [one.id, one])).values()]

const childrenBinding = (sessionId: string) => bindingOf(["children", sessionId])

const toNode = ({ children, next, row }: Branching): SessionNode => ({
  session: toSession(row),
  children: children.map(toNode),
  ...(next !== undefined && { next: cursorAt(childrenBinding(row.id), next) }),
})
