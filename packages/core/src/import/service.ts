/**
 * Imports: other programs' sessions, brought in once.
 *
 * Guarantee: a session is seen whole or not at all, and again with all that is new, none of which is seen before. However
 * often and by however many it is brought, each of its messages is here once. What people changed here, or deleted, stays
 * so. A message that cannot be taken is named, and the others are taken. Each owner imports for itself: sessions of
 * another owner's are neither met nor touched.
 *
 * Not promised: that a message which changed in the middle of a conversation that was imported before changes here too;
 * or that of two imports at the same time one hides what it has staged when the other one shows the session.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { deletionWork } from "../deletion/work.ts"
import { isId } from "../id.ts"
import { checkInput, checkJson } from "../input.ts"
import { measured } from "../message/large.ts"
import { isPrompt } from "../message/placement.ts"
import type { NewEntry } from "../message/placement.ts"
import { textOf } from "../message/text.ts"
import { newProject } from "../project/program.ts"
import { locate, workspaceFields } from "../project/workspace.ts"
import { freshSession } from "../session/fresh.ts"
import { previewOf } from "../session/preview.ts"
import { SessionDeleted } from "../session/program.ts"
import type { IdConflict } from "../session/program.ts"
import { Settings } from "../settings.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import { key } from "../storage/key.ts"
import { annotate, span } from "../storage/span.ts"
import { Storage } from "../storage/storage.ts"
import type { RunActive } from "../turn/fence.ts"
import { copyOf, digest } from "../value.ts"
import { ImportedMessageInput, ImportedSessionInput, isRemark, SourceName } from "./input.ts"
import type { CheckedSession, ImportedMessage, ImportedSession, Remark } from "./input.ts"
import { keptRemarks } from "./model.ts"
import type { ImportRow, ImportStatus, LedgerKey } from "./model.ts"
import * as program from "./program.ts"
import { ImportFailed } from "./program.ts"
import type { Arrival, Arriving, Part, Published, Staged } from "./program.ts"

export { isRemark } from "./input.ts"
export type { ImportedMessage, ImportedSession, Remark } from "./input.ts"
export { ImportFailed } from "./program.ts"
export type { ImportStatus } from "./model.ts"

/** What is known of an imported session. */
export interface ImportRecord {
  /** Its id here. */
  readonly sessionId: string
  readonly status: ImportStatus
  /** As the source gave it when it was last imported. Absent: that never ended well. */
  readonly fingerprint?: string
  /** Version of the code that understood the source. */
  readonly converter: number
  /** How many messages the source had, how many of them were here then, and how many had been deleted here. */
  readonly messages: number
  readonly stored: number
  readonly deleted: number
  /** The first 100 remarks on it, and whether any said that something is lost. */
  readonly remarks: ReadonlyArray<Remark>
  readonly lost: boolean
  /** Why the last attempt failed. */
  readonly error?: string
  /** When it was last tried, in milliseconds since 1970. */
  readonly importedAt: number
}

/** What became of a session. */
export interface Brought {
  /** Its id here: the one it had, where that can be one and the store is opened for no owner. */
  readonly sessionId: string
  readonly outcome: Published["outcome"]
  /** How many messages came from the source, how many of them are here, and how many of those are new. */
  readonly read: number
  readonly stored: number
  readonly added: number
  /** How many were here once and have been deleted: they stay so. */
  readonly deleted: number
  /** What is not here as the source has it: what the source said of it, and what was found on the way. */
  readonly remarks: ReadonlyArray<Remark>
}

/** Where sessions come from: with the id that a session has there, what it is found again by. */
export interface Origin {
  /** The program, such as `opencode`: whatever keeps its sessions, a session has one id in all of them. */
  readonly source: string
  /** Version of the code that understood the source, raised when it understands more. */
  readonly converter: number
}

export class Imports extends Context.Service<
  Imports,
  {
    /** What is known of a session of a source; `undefined` when no import has met it. */
    readonly record: (
      source: string,
      sessionId: string,
    ) => Effect.Effect<ImportRecord | undefined, InvalidInput | StorageError>
    /**
     * Brings a session in, or what is new of one that is here.
     *
     * Messages are committed as they come, 200 at most in a commit, where nobody sees them; the last commit shows them
     * with the session. Remarks among them are reported with the session's own. `messages` may be run twice, and has to
     * give the same.
     *
     * @throws InvalidInput    a field of the session is not what it should be
     * @throws IdConflict      the id is taken by a session that does not come from there
     * @throws SessionDeleted  it was here, and was deleted
     * @throws RunActive       a turn runs in the session here; import it again when that is over
     */
    readonly bring: <E, R>(
      origin: Origin,
      session: ImportedSession,
      messages: Stream.Stream<ImportedMessage | Remark, E, R>,
    ) => Effect.Effect<
      Brought,
      E | InvalidInput | IdConflict | SessionDeleted | ImportFailed | RunActive | StorageError,
      R
    >
    /**
     * Lets a session come in again that was deleted here: the next `bring` brings all of it, under the id that it had.
     *
     * @returns whether there was anything to let in; false also where its deletion cannot come to its end now
     * @see DEL-03
     */
    readonly restore: (source: string, sessionId: string) => Effect.Effect<boolean, InvalidInput | StorageError>
    /** Notes that a session could not be brought, for whoever asks later. The next attempt is made all the same. */
    readonly fail: (
      origin: Origin,
      sessionId: string,
      reason: string,
    ) => Effect.Effect<void, InvalidInput | StorageError>
  }
>()("@skein/core/import/Imports") {
  static readonly layer = Layer.effect(
    Imports,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings

      const ids = localIds(settings.owner)

      const ledgerKey = (source: string, sessionId: string): LedgerKey => ({
        owner: key(settings.owner ?? ""),
        source: key(source),
        session: key(sessionId),
      })

      const checkSource = (source: string) => checkInput(SourceName, source, "source")

      /** The session as it would be here if nothing of it were. */
      const arrivalOf = Effect.fnUntraced(function* (
        source: string,
        session: CheckedSession,
        record: Readonly<ImportRow> | undefined,
        now: number,
      ) {
        const { fingerprint: _, head: _head, messages: _messages, parentId, workspace: dir, ...fields } = session
        const workspace = dir === undefined ? undefined : yield* locate(settings.paths, dir)
        const project = newProject(workspace, settings.owner, now)
        const draft = freshSession({
          ...copyOf(fields),
          id: ids.session(source, session.id),
          treeId: ids.tree(source, session.id, record?.restored ?? 0),
          origin: source,
          projectId: project.id,
          ...(settings.owner !== undefined && { owner: settings.owner }),
          ...(parentId !== undefined && { parentId: ids.session(source, parentId) }),
          ...(workspace !== undefined && workspaceFields(workspace)),
        })
        const arrival: Arrival = { ledger: ledgerKey(source, session.id), draft, project }
        return arrival
      })

      /** A message as it is stored, or why it cannot be. */
      const arrivingOf = Effect.fnUntraced(function* (source: string, message: ImportedMessage) {
        const {
          compaction,
          format = { dialect: "generic", version: 1 },
          ...fields
        } = yield* checkInput(ImportedMessageInput, message, "message")
        for (const field of ["body", "display", "model", "metadata"] as const) {
          if (fields[field] !== undefined) yield* checkJson(fields[field], field)
        }
        const entry: NewEntry = { kind: "message", ...copyOf(fields), id: localId(source, message.id), format, source }
        if (isPrompt(entry)) entry.preview = previewOf(textOf(settings, entry))
        const arriving: { entry: NewEntry; keepFrom?: string } = { entry: measured(settings, entry) }
        if (compaction !== undefined) {
          arriving.entry.kind = "compaction"
          arriving.entry.compaction = { summary: compaction.summary, method: source, savedNothing: 0 }
          if (compaction.keepFrom !== undefined) arriving.keepFrom = localId(source, compaction.keepFrom)
        }
        return arriving
      })

      /**
       * Goes through the messages and writes what is new. Those up to `known`, the last one that was imported before, were
       * here once: they are new only where the source has lost that one and goes on in another way.
       */
      const walk = Effect.fnUntraced(function* <E, R>(
        source: string,
        arrival: Arrival,
        messages: Stream.Stream<ImportedMessage | Remark, E, R>,
        known: string | undefined,
      ) {
        const walked = new Walk(known)
        const write = Effect.fnUntraced(function* (part: ReadonlyArray<Arriving>, renew?: string) {
          for (let rest = part; rest.length > 0;) {
            const now = yield* Clock.currentTimeMillis
            const wanted: Part = { after: walked.last, messages: rest, fresh: walked.fresh, renew }
            const staging = storage.transact(program.stage(settings, arrival, wanted, now), { durability: "relaxed" })
            rest = rest.slice(walked.take(yield* staging))
          }
        })
        const writePage = Effect.fnUntraced(function* (page: ReadonlyArray<ImportedMessage | Remark>) {
          let part: Array<Arriving> = []
          for (const message of page) {
            if (isRemark(message)) {
              walked.remarks.push(message)
              continue
            }
            walked.read++
            const arriving = yield* Effect.result(arrivingOf(source, message))
            const problem = Result.isFailure(arriving) ? arriving.failure.message : walked.problemWith(arriving.success)
            walked.lastRead = message.id
            if (problem !== undefined) walked.remarks.push(lost(message.id, problem))
            else if (Result.isSuccess(arriving)) part.push(arriving.success)
            const isKnown = !walked.fresh && message.id === known
            if (!isKnown && part.length < partSize) continue
            yield* write(part, isKnown ? localId(source, message.id) : undefined)
            if (isKnown) walked.fresh = true
            part = []
          }
          yield* write(part)
        })
        yield* Stream.runForEachArray(messages, writePage)
        return walked
      })

      const bring = Effect.fnUntraced(function* <E, R>(
        { converter, source }: Origin,
        given: ImportedSession,
        messages: Stream.Stream<ImportedMessage | Remark, E, R>,
      ) {
        yield* checkSource(source)
        const session = yield* checkInput(ImportedSessionInput, given, "session")
        if (session.metadata !== undefined) yield* checkJson(session.metadata, "session.metadata")
        const before = yield* storage.read(program.find(ledgerKey(source, session.id)))
        if (before?.status === "deleted") {
          return yield* new SessionDeleted({
            sessionId: before.localId,
            deletedAt: before.deletedAt ?? before.importedAt,
          })
        }
        const arrival = yield* arrivalOf(source, session, before, yield* Clock.currentTimeMillis)
        const known = before?.last
        const first = yield* walk(source, arrival, messages, known)
        const goesOnElsewhere = !first.fresh && first.missing > 0
        const walked = goesOnElsewhere ? yield* walk(source, arrival, messages, undefined) : first
        const importedAt = yield* Clock.currentTimeMillis
        const record: Omit<ImportRow, "left"> = {
          ...arrival.ledger,
          localId: arrival.draft.id,
          status: "ready",
          fingerprint: session.fingerprint,
          converter,
          messages: session.messages,
          stored: walked.stored,
          deleted: walked.missing,
          remarks: walked.remarks.slice(0, keptRemarks),
          lost: walked.remarks.some(({ kind }) => kind === "lost"),
          ...(walked.lastRead !== undefined && { last: walked.lastRead }),
          importedAt,
          ...(before?.restored !== undefined && { restored: before.restored }),
        }
        const wanted = typeof session.head === "string" ? localId(source, session.head) : session.head
        const publishing = program.publish(settings, arrival, record, { wanted, last: walked.last }, importedAt)
        const published = yield* Effect.catchTags(storage.transact(publishing), {
          MessageNotFound: (cause) => Effect.fail(gone(session.id, cause)),
          BranchNotFound: (cause) => Effect.fail(gone(session.id, cause)),
          // Only side conversations have it, and none is imported.
          InvalidBoundary: Effect.die,
        })
        yield* annotate(() => ({ "skein.session": arrival.draft.id, "skein.messages": walked.added }))
        const brought: Brought = {
          sessionId: arrival.draft.id,
          outcome: published.outcome === "unchanged" && walked.added > 0 ? "updated" : published.outcome,
          read: walked.read,
          stored: walked.stored,
          added: walked.added,
          deleted: walked.missing,
          remarks: [
            ...walked.remarks,
            ...(published.headLost
              ? [repaired(session.head ?? "", "is where it stood, and is not here: it stands at the end")]
              : []),
            ...published.kept.map((field) => keptRemark(session.id, field)),
          ],
        }
        return brought
      })

      return Imports.of({
        record: Effect.fnUntraced(function* (source, sessionId) {
          yield* checkSource(source)
          const row = yield* storage.read(program.find(ledgerKey(source, sessionId)))
          return row && toRecord(row)
        }),
        bring: (origin, session, messages) =>
          span("skein.import.bring", { "skein.source": origin.source })(bring(origin, session, messages)),
        restore: Effect.fnUntraced(function* (source, sessionId) {
          yield* checkSource(source)
          const ledger = ledgerKey(source, sessionId)
          const row = yield* storage.read(program.find(ledger))
          if (row?.status !== "deleted") return false
          yield* deletionWork(storage, settings).proceed([row.localId])
          return yield* storage.transact(program.restore(ledger, yield* Clock.currentTimeMillis))
        }),
        fail: Effect.fnUntraced(function* ({ converter, source }, sessionId, reason) {
          yield* checkSource(source)
          const importedAt = yield* Clock.currentTimeMillis
          const row = { ...ledgerKey(source, sessionId), localId: ids.session(source, sessionId), converter }
          yield* storage.transact(program.fail({ ...row, error: reason, importedAt }))
        }),
      })
    }),
  )
}

/** How many messages go into one commit. */
const partSize = 200

/** The id that something has here: its own, where that can be one. */
const localId = (source: string, id: string): string => (isId(id) ? id : `imp_${digest([source, id])}`)

/** The ids of sessions and trees here. Each owner has others, for several may bring the same session. */
const localIds = (owner: string | undefined) => {
  const digestOf = (source: string, id: string) => digest(owner === undefined ? [source, id] : [source, id, owner])
  return {
    session: (source: string, id: string) =>
      owner === undefined ? localId(source, id) : `imp_${digestOf(source, id)}`,
    // What was let in again shares nothing with what forks may have kept of it.
    tree: (source: string, id: string, restored: number) =>
      `tree_${digestOf(source, id)}${restored === 0 ? "" : `_${restored}`}`,
  }
}

/** How far the messages of a session have been gone through. */
class Walk {
  read = 0
  stored = 0
  added = 0
  /** Messages that were here once and are not. */
  missing = 0
  /** The last entry that is here. */
  last: string | null = null
  /** The last message that was taken, by its id at the source. */
  lastRead: string | undefined
  /** Whether messages that are not here are new. */
  fresh: boolean
  readonly remarks: Array<Remark> = []
  readonly #ids = new Set<string>()

  constructor(known: string | undefined) {
    this.fresh = known === undefined
  }

  /** Why a message cannot be taken that is well in itself. */
  problemWith({ entry: { id } }: Arriving): string | undefined {
    if (this.#ids.has(id)) return "another message of the session has this id"
    this.#ids.add(id)
    return undefined
  }

  /** Counts what was staged, and says how many messages that settled. */
  take({ added, changed, handled, last, stored, tailless }: Staged): number {
    this.stored += stored
    this.added += added
    this.missing += handled - stored
    this.last = last
    this.remarks.push(
      ...changed.map((id) => repaired(id, "differs at the source by now, and stays as it was imported")),
    )
    this.remarks.push(...tailless.map((id) => repaired(id, "is a compaction whose tail is not here: it hides nothing")))
    return handled
  }
}

const onMessage =
  (kind: Remark["kind"]) =>
  (id: string, reason: string): Remark => ({
    _tag: "Remark",
    kind,
    position: `message ${id}`,
    reason,
  })
const lost = onMessage("lost")
const repaired = onMessage("repaired")

const keptRemark = (id: string, field: string): Remark => ({
  _tag: "Remark",
  kind: "kept",
  position: `session ${id}`,
  reason: `its ${field} differs at the source, and was changed here`,
})

const gone = (session: string, cause: Error): ImportFailed =>
  new ImportFailed({ session, stage: "display", reason: "its messages were deleted while they came in", cause })

const toRecord = ({
  converter,
  deleted,
  error,
  fingerprint,
  importedAt,
  localId,
  lost,
  messages,
  remarks,
  status,
  stored,
}: ImportRow): ImportRecord => ({
  sessionId: localId,
  status,
  ...(fingerprint !== undefined && { fingerprint }),
  converter,
  messages,
  stored,
  deleted,
  remarks: remarks.map((remark) => ({ ...remark })),
  lost,
  ...(error !== undefined && { error }),
  importedAt,
})
