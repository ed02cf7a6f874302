/**
 * The rules of sessions.
 */
import * as Data from "effect/Data"
import { TombstoneTable } from "../deletion/model.ts"
import type { TombstoneRow } from "../deletion/model.ts"
import { stow } from "../message/large.ts"
import { BranchTable, EntryTable, noFacts, TreeTable } from "../message/model.ts"
import { advance, place } from "../message/placement.ts"
import type { NewEntry } from "../message/placement.ts"
import { ProjectTable } from "../project/model.ts"
import type { ProjectRow } from "../project/model.ts"
import { ProjectNotFound, showAgain } from "../project/program.ts"
import { isSeen } from "../scope.ts"
import type { Scope } from "../scope.ts"
import { InvalidInput } from "../storage/error.ts"
import { fn, isUnreadable } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import { canonical } from "../value.ts"
import type { Expected, SessionPatch } from "./input.ts"
import { SessionTable } from "./model.ts"
import type { SessionRow, Shelf } from "./model.ts"
import { withTitleFields } from "./title.ts"

export type { Scope } from "../scope.ts"

/** No session has this id, or not for the owner that the store was opened for. */
export class SessionNotFound extends Data.TaggedError("SessionNotFound")<{
  readonly sessionId: string
  /** For `resolve`: the sessions that the prefix fits, where it fits several. */
  readonly candidates?: ReadonlyArray<string>
}> {
  override get message() {
    return this.candidates === undefined
      ? `no session ${this.sessionId}`
      : `${this.sessionId} is the beginning of several sessions: ${this.candidates.join(", ")}`
  }
}

/** The session was deleted. Its id is not used again before the deletion is forgotten. Nothing was written. */
export class SessionDeleted extends Data.TaggedError("SessionDeleted")<{
  readonly sessionId: string
  /** When, in milliseconds. */
  readonly deletedAt: number
}> {
  override get message() {
    return `session ${this.sessionId} was deleted`
  }
}

/** Why there is no session to work with. */
export type SessionAbsent = SessionNotFound | SessionDeleted

/** The id is taken by something with another content. Nothing was written. */
export class IdConflict extends Data.TaggedError("IdConflict")<{ readonly id: string }> {
  override get message() {
    return `${this.id} is taken by another content: use another id, or send the same content again`
  }
}

/** Something is not as the caller saw it. Read again, then decide. Nothing was written. */
export class OperationConflict extends Data.TaggedError("OperationConflict")<{
  readonly id: string
  /** What differs, such as `revision`. */
  readonly field: string
  readonly expected: unknown
  /** Absent: there is none. */
  readonly actual?: unknown
}> {
  override get message() {
    return `${this.field} of ${this.id} is ${canonical(this.actual ?? null)}, not ${canonical(this.expected)}`
  }
}

/** The session, or `SessionNotFound`, or `SessionDeleted` where it was here. */
export const requireSession = fn(function* (tx, scope: Scope, sessionId: string) {
  const session = yield* find(scope, sessionId)
  return session ?? (yield* tx.fail(new SessionNotFound({ sessionId })))
})

/** The session with this id, if there is one. Fails with `SessionDeleted` where there was one. */
export const find = fn(function* (tx, scope: Scope, sessionId: string) {
  const session = yield* tx.get(SessionTable, [sessionId])
  if (session !== undefined) return isSeen(scope, session) ? session : undefined
  const mark = yield* tx.get(TombstoneTable, [sessionId])
  return mark !== undefined && isSeen(scope, mark) ? yield* tx.fail(deleted(mark)) : undefined
})

const deleted = ({ deletedAt, id }: TombstoneRow) => new SessionDeleted({ sessionId: id, deletedAt })

/** The list that a session stands in. */
export const shelfOf = ({
  archived,
  kind,
  visibility,
}: Pick<SessionRow, "archived" | "kind" | "visibility">): Shelf => {
  if (archived) return "archived"
  if (kind === "task" || kind === "peek" || kind === "cron") return kind
  return visibility === "hidden" ? "hidden" : "main"
}

/** Fails where a session with this id was deleted: with `IdConflict` where nobody here may know of it. */
export const requireFree = fn(function* (tx, scope: Scope, id: string) {
  const mark = yield* tx.get(TombstoneTable, [id])
  if (mark !== undefined) return yield* tx.fail(isSeen(scope, mark) ? deleted(mark) : new IdConflict({ id }))
})

/** What `create` writes, once it has decided that it does. */
export interface Creation {
  readonly session: SessionRow
  /** Its project as it is made, if it is not there. Undefined: it must be there, and of the same owner. */
  readonly project: ProjectRow | undefined
  /** What is said first. */
  readonly first: ReadonlyArray<NewEntry>
}

/** Writes a session with its project, its tree and its first entries; or answers the one that this very input made. */
export const create = fn(function* (tx, scope: Scope, { first, project, session }: Creation) {
  const { createdAt, id, parentId, projectId, treeId } = session
  const [stored, home] = yield* tx.all([tx.get(SessionTable, [id]), tx.get(ProjectTable, [projectId])])
  if (stored !== undefined) {
    const isSame = isSeen(scope, stored) && stored.inputDigest === session.inputDigest
    return isSame ? stored : yield* tx.fail(new IdConflict({ id }))
  }
  yield* requireFree(scope, id)
  if (parentId !== undefined) yield* requireSession(scope, parentId)
  if (home !== undefined && home.owner === session.owner) showAgain(tx, home, createdAt)
  else if (home === undefined && project !== undefined) tx.insert(ProjectTable, project)
  else return yield* tx.fail(new ProjectNotFound({ projectId }))
  const opens = { treeId, branch: 1, parent: 0, forkAt: 0, owner: id, trail: [], createdAt }
  const rows = place({ treeId, branch: 1, after: 0, facts: noFacts, opens }, first)
  const created = advance(session, rows, createdAt)
  tx.insert(SessionTable, created)
  tx.insert(TreeTable, { treeId, nextBranch: rows.length === 0 ? 1 : 2, redactions: 0 })
  if (rows.length > 0) tx.insert(BranchTable, opens)
  for (const row of rows) tx.insert(EntryTable, row)
  for (const row of rows) stow(tx, row, createdAt)
  return created
})

/** The main session of an agent: the one that is there, or `creation`. */
export const ensureRoot = fn(function* (tx, scope: Scope, rootKey: string, creation: Creation) {
  const stored = yield* tx.find(SessionTable, "byRoot", [rootKey])
  return stored ?? (yield* create(scope, creation))
})

/** A changed row with what every change brings along. Time never goes back. */
const renewed = (row: Readonly<SessionRow>, now: number): SessionRow => ({
  ...withTitleFields(row),
  shelf: shelfOf(row),
  revision: row.revision + 1,
  updatedAt: Math.max(row.updatedAt, now),
})

/** Changes a session as the patch says. Nothing is written where nothing changes. */
export const update = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  patch: SessionPatch,
  expected: Expected,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  const conflict = conflictIn(session, expected)
  if (conflict !== undefined) return yield* tx.fail(conflict)
  const fixed =
    session.type === "root" ? (["title", "agent"] as const).find((name) => patch[name] !== undefined) : undefined
  if (fixed !== undefined) {
    const problem = `cannot change: ${sessionId} is the main session of its agent`
    return yield* tx.fail(new InvalidInput({ field: `patch.${fixed}`, value: patch[fixed], problem }))
  }
  if (canonical(patched(session, patch)) === canonical(session)) return session
  const change = (row: Readonly<SessionRow>) => renewed(patched(row, patch), now)
  tx.update(SessionTable, [sessionId], change)
  return change(session)
})

const patched = (row: Readonly<SessionRow>, patch: SessionPatch): SessionRow => {
  const next: Record<string, unknown> = { ...row }
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete next[name]
    else if (value !== undefined) next[name] = value
  }
  if (patch.title !== undefined) next["titleOrigin"] = patch.title === null ? "none" : "manual"
  // The fields of a patch are fields of a row, with the same types.
  return next as SessionRow
}

const conflictIn = (session: Readonly<SessionRow>, expected: Expected): OperationConflict | undefined => {
  for (const field of ["revision", "title", "model"] as const) {
    const wanted = expected[field]
    if (wanted === undefined) continue
    const actual = session[field]
    if (canonical(actual ?? null) !== canonical(wanted)) {
      return new OperationConflict({ id: session.id, field, expected: wanted, ...(actual !== undefined && { actual }) })
    }
  }
  return undefined
}

/** Gives an automatic title, unless somebody gave one by hand. */
export const autoTitle = fn(function* (tx, scope: Scope, sessionId: string, title: string, now: number) {
  const session = yield* requireSession(scope, sessionId)
  if (session.titleOrigin === "manual") return session
  const change = (row: Readonly<SessionRow>): SessionRow =>
    renewed({ ...row, title, titleOrigin: "automatic", autoTitles: row.autoTitles + 1 }, now)
  tx.update(SessionTable, [sessionId], change)
  return change(session)
})

/** Says that a session was touched, and nothing else. */
export const touch = fn(function* (tx, scope: Scope, sessionId: string, now: number) {
  const session = yield* requireSession(scope, sessionId)
  tx.update(SessionTable, [sessionId], (row) => renewed(row, now))
  return renewed(session, now)
})

/** How far up a public session is looked for. */
const mostSteps = 32

/** Whether people see another session instead of it: the one that started it. */
export const isInternal = ({ kind }: Pick<SessionRow, "kind">) => kind === "task" || kind === "peek"

/** The session, or the one that people see instead of it: the nearest public one among those that started it. */
export const navigable = fn(function* (tx, scope: Scope, sessionId: string) {
  let session = yield* requireSession(scope, sessionId)
  let steps = 0
  while (isInternal(session)) {
    if (session.parentId === undefined || steps === mostSteps) {
      return yield* tx.fail(new SessionNotFound({ sessionId: session.id }))
    }
    session = yield* requireSession(scope, session.parentId)
    steps++
  }
  return { session, followed: steps > 0 }
})

/** As `navigable`, and takes the session out of the archive. */
export const open = fn(function* (tx, scope: Scope, sessionId: string, now: number) {
  const found = yield* navigable(scope, sessionId)
  if (!found.session.archived) return found
  const change = (row: Readonly<SessionRow>) => renewed({ ...row, archived: false }, now)
  tx.update(SessionTable, [found.session.id], change)
  return { ...found, session: change(found.session) }
})

/** How many sessions are named where a prefix fits several. */
export const mostCandidates = 10

/** Some ids that begin with a prefix, in order, and behind which one to ask for more. Unreadable ones count. */
export const startingWith = fn(function* (tx, scope: Scope, prefix: string, after: string | undefined) {
  const limit = scope.owner === undefined ? mostCandidates : 200
  const rows = yield* tx.range(SessionTable, "key", {
    ...(after === undefined ? { from: [prefix] } : { after: [after] }),
    // No character of an id comes after `~`.
    to: [`${prefix}~`],
    limit,
    unreadable: "keep",
  })
  const ids = rows.filter((row) => isUnreadable(row) || isSeen(scope, row)).map(idOf)
  return { ids, end: rows.length < limit ? undefined : idOf(rows.at(-1)!) }
})

const idOf = (row: Readonly<SessionRow> | Unreadable): string => (isUnreadable(row) ? String(row.key[0]) : row.id)
