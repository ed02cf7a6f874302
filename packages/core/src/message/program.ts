/**
 * The rules of messages: where they go, and what is seen of them.
 *
 * Only its owner extends a branch, and only at its tip; any other append opens a branch owned by the appending session.
 * A session sees its path and the branches it owns, and nothing else of its tree.
 */
import * as Data from "effect/Data"
import { SessionTable } from "../session/model.ts"
import type { ActiveTurn, SessionRow } from "../session/model.ts"
import { InvalidCursor } from "../cursor.ts"
import { IdConflict, requireSession } from "../session/program.ts"
import { hiddenOf, shownOf } from "../session/shown.ts"
import type { EntriesCommitted, SessionNotice } from "../notice.ts"
import type { Scope } from "../session/program.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Handle, Unreadable } from "../storage/transaction.ts"
import { renewed, requireTurn, requireWriter } from "../turn/fence.ts"
import { TurnTable } from "../turn/model.ts"
import { bodyFields, bodyName, planStowing, stow } from "./large.ts"
import { BranchTable, EntryTable, noFacts, root, TreeTable } from "./model.ts"
import type { BranchRow, EntryRef, EntryRow, Facts } from "./model.ts"
import { advance, isDisplayed, isReplayed, isSamePlace, place, trailFrom } from "./placement.ts"
import type { NewEntry, Placement } from "./placement.ts"
import { entriesAt, isOnPath, readOrdinals, readPath, reaches } from "./path.ts"
import type { Path } from "./path.ts"

/** The session sees no message with this id. */
export class MessageNotFound extends Data.TaggedError("MessageNotFound")<{
  readonly sessionId: string
  readonly messageId: string
}> {
  override get message() {
    return `session ${this.sessionId} sees no message ${this.messageId}`
  }
}

/** The head is not where the caller saw it. Read again, then decide. Nothing was written. */
export class HeadMoved extends Data.TaggedError("HeadMoved")<{
  readonly sessionId: string
  /** The message that was expected at the head, `null` for the root; absent where only a version was expected. */
  readonly expected?: string | null
  readonly actual: string | null
  readonly expectedVersion?: number
  readonly actualVersion: number
}> {
  override get message() {
    const { actual, actualVersion, expected, expectedVersion, sessionId } = this
    const place = expected === undefined ? "" : `, not at ${expected ?? "the root"}`
    const version = expectedVersion === undefined ? "" : `, not in version ${expectedVersion}`
    return `the head of session ${sessionId} is at ${actual ?? "the root"} in version ${actualVersion}${place}${version}`
  }
}

/** The id of the message at the head, `null` at the root. */
export const headId = (session: SessionRow): string | null => session.head.id ?? null

/** What a caller has seen of the head. Undefined expects nothing. */
export interface ExpectedHead {
  /** The message at the head; `null` is the root. */
  readonly expectedHead?: string | null | undefined
  /** The session's `headVersion`. */
  readonly expectedVersion?: number | undefined
}

/** Fails with `HeadMoved` when the head is not as the caller has seen it. */
export const expectHead = fn(function* (tx, session: SessionRow, { expectedHead, expectedVersion }: ExpectedHead) {
  const actual = headId(session)
  const actualVersion = session.headVersion
  const moved = expectedHead !== undefined && expectedHead !== actual
  const changed = expectedVersion !== undefined && expectedVersion !== actualVersion
  if (moved || changed) {
    return yield* tx.fail(
      new HeadMoved({
        sessionId: session.id,
        actual,
        actualVersion,
        ...(expectedHead !== undefined && { expected: expectedHead }),
        ...(expectedVersion !== undefined && { expectedVersion }),
      }),
    )
  }
})

/** A head that can be trusted, and whether it had to be found because the stored one leads nowhere. */
export interface Standing {
  readonly head: EntryRef
  readonly facts: Facts
  readonly degraded: boolean
  /** The entry found, where the stored head leads nowhere. */
  readonly entry?: EntryRow
}

/** Whether the row itself proves that its head is the tip of an own branch. */
const isTip = ({ facts, head, tip }: SessionRow): boolean => tip !== undefined && head.pos + tip === facts.entries

/**
 * Where a session stands. A stored head that names no entry cannot be written by these programs, only by damage: the
 * last entry of the newest own branch then stands in for it.
 */
export const standing = fn(function* (_tx, session: SessionRow) {
  const { facts, head, treeId } = session
  const stored: Standing = { head, facts, degraded: false }
  if (isTip(session) || (head.branch === 0 && head.pos === 0)) return stored
  const [found] = yield* entriesAt(treeId, [head])
  if (found !== undefined) return stored
  return (yield* lastLeaf(session)) ?? { head: root, facts: noFacts, degraded: true }
})

/** The last readable entry of the newest branch that the session owns. */
const lastLeaf = fn(function* (tx, session: SessionRow) {
  for (const branch of (yield* ownBranches(session)).toReversed()) {
    const entries: ReadonlyArray<Readonly<EntryRow> | Unreadable> = yield* tx.range(EntryTable, "key", {
      prefix: [session.treeId, branch.branch],
      reverse: true,
      unreadable: "keep",
    })
    const entry = entries.find((one) => !isUnreadable(one))
    if (entry === undefined || isUnreadable(entry)) continue
    const found: Standing = { head: refOf(entry), facts: entry.facts, degraded: true, entry }
    return found
  }
  return undefined
})

/** The branches that a session owns, oldest first, as many as there are. What cannot be read is left out. */
export const ownBranches = fn(function* (tx, session: SessionRow) {
  const branches: Array<Readonly<BranchRow>> = []
  let last: number | undefined
  for (;;) {
    const rows: ReadonlyArray<Readonly<BranchRow> | Unreadable> = yield* tx.range(BranchTable, "byOwner", {
      prefix: [session.id],
      ...(last !== undefined && { after: [session.id, last] as const }),
      unreadable: "keep",
    })
    for (const row of rows) if (!isUnreadable(row)) branches.push(row)
    if (rows.length < maxRange) return branches
    const end = rows.at(-1)!
    last = isUnreadable(end) ? Number(end.key[1]) : end.branch
  }
})

export const refOf = ({ branch, pos }: EntryRef): EntryRef => ({ branch, pos })

/** The place behind the head. Reads nothing when the head is the tip of an own branch. */
export const placeAtHead = fn(function* (_tx, session: SessionRow) {
  const { facts, head, treeId } = session
  if (isTip(session)) {
    const placement: Placement = { treeId, branch: head.branch, after: head.pos, facts, opens: undefined }
    return placement
  }
  const stands = yield* standing(session)
  return yield* placeBehind(session, stands.head, stands.facts)
})

/** The place behind an entry of the session: on its branch where it is the tip of an own one, else on a new branch. */
export const placeBehind = fn(function* (tx, session: SessionRow, at: EntryRef, facts: Facts) {
  const { treeId } = session
  const [branch, tree, next] = yield* tx.all([
    tx.get(BranchTable, [treeId, at.branch]),
    tx.get(TreeTable, [treeId]),
    tx.range(EntryTable, "key", {
      prefix: [treeId, at.branch],
      after: [treeId, at.branch, at.pos],
      limit: 1,
      unreadable: "keep",
    }),
  ])
  if (branch?.owner === session.id && branch.closed !== true && next.length === 0) {
    const placement: Placement = { treeId, branch: at.branch, after: at.pos, facts, opens: undefined }
    return placement
  }
  const number = tree?.nextBranch ?? 1
  const opens: BranchRow = {
    treeId,
    branch: number,
    parent: at.branch,
    forkAt: at.pos,
    owner: session.id,
    trail: [...trailFrom(branch, at, facts)],
    createdAt: 0,
  }
  const placement: Placement = { treeId, branch: number, after: 0, facts, opens }
  return placement
})

/**
 * Writes entries at a placement, and the branch that has to be opened for them. The session's row is the caller's to
 * update: with `advance` where its head goes along.
 */
export const writeEntries = (
  tx: Handle,
  placement: Placement,
  entries: ReadonlyArray<NewEntry>,
  now: number,
): ReadonlyArray<EntryRow> => {
  const rows = place(placement, entries)
  if (placement.opens !== undefined && rows.length > 0) {
    const { branch } = placement
    tx.insert(BranchTable, { ...placement.opens, createdAt: now })
    tx.update(TreeTable, [placement.treeId], (tree) => ({ ...tree, nextBranch: branch + 1 }))
  }
  for (const row of rows) tx.insert(EntryTable, row)
  return rows.map((row) => stow(tx, row, now))
}

/**
 * Writes entries at the head of a session, and the session to fit; as part of the running turn where it is given, whose
 * lease begins anew.
 *
 * @param isActivity  whether somebody said something: then the session's activity moves
 */
export const writeAtHead = (
  tx: Handle,
  session: SessionRow,
  placement: Placement,
  entries: ReadonlyArray<NewEntry>,
  turn: ActiveTurn | undefined,
  now: number,
  isActivity = turn === undefined,
): ReadonlyArray<EntryRow> => {
  const rows = writeEntries(tx, placement, turn === undefined ? entries : ofTurn(turn, entries), now)
  const after = tx.update(SessionTable, [session.id], (row) => renewed(advance(row, rows, now, isActivity), now, rows))
  notifyEntries(tx, after, rows)
  return rows
}

/** Entries as parts of a turn. */
export const ofTurn = (turn: ActiveTurn, entries: ReadonlyArray<NewEntry>): ReadonlyArray<NewEntry> =>
  entries.map((entry, i) => ({
    ...entry,
    turn: turn.id,
    ...(i === 0 && turn.first === undefined && { startsTurn: true }),
  }))

/** Says of entries of a session that they were stored. It is told as it is after that. */
export const notifyEntries = (
  tx: Handle,
  { headVersion, id: sessionId, revision, treeId }: SessionRow,
  rows: ReadonlyArray<EntryRow>,
  how: Pick<EntriesCommitted, "beside" | "replaced" | "redacted"> = {},
): void => {
  const at = { sessionId, revision, headVersion }
  const entries = rows.filter((row) => row.draft !== true)
  for (const entry of rows) if (entry.draft === true) notify(tx, { _tag: "DraftStored", ...at, entry })
  if (entries.length > 0) notify(tx, { _tag: "EntriesCommitted", ...at, treeId, entries, ...how })
}

/** Says that a queue goes on, where it was paused before. */
export const notifyResumed = (tx: Handle, before: SessionRow, { id, queue, revision }: SessionRow): void => {
  const goesOn = before.queue?.pause !== undefined && queue !== undefined && queue.pause === undefined
  if (goesOn) notify(tx, { _tag: "QueueChanged", sessionId: id, revision, reason: "resumed" })
}

/** `tx.notify`, for notices of skein's own. */
export const notify = (tx: Handle, notice: SessionNotice): void => tx.notify(notice)

export interface AppendOptions extends ExpectedHead {
  /** Writes behind this message instead of the head, and leaves the head where it is. */
  readonly at?: string | undefined
  /** The running turn that writes. Without it an append at the head is refused while one runs. */
  readonly epoch?: number | undefined
}

/** Appends entries at the head, or behind a message of the session without moving the head. */
export const append = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  entries: ReadonlyArray<NewEntry>,
  options: AppendOptions,
  now: number,
) {
  const { at, epoch } = options
  const session = yield* requireSession(scope, sessionId)
  if (at === undefined) {
    const turn = yield* requireWriter(session, epoch)
    yield* expectHead(session, options)
    const placement = yield* placeAtHead(session)
    return entries.length === 0 ? [] : writeAtHead(tx, session, placement, entries, turn, now)
  }
  if (epoch !== undefined) yield* requireTurn(session, epoch)
  yield* expectHead(session, options)
  const entry = yield* requireEntry(session, at)
  const placement = yield* placeBehind(session, entry, entry.facts)
  if (entries.length === 0) return []
  const rows = writeEntries(tx, placement, entries, now)
  const after = tx.update(SessionTable, [sessionId], (row) => {
    const next = beside(row, placement, now)
    return epoch === undefined ? next : renewed(next, now)
  })
  notifyEntries(tx, after, rows, { beside: true })
  return rows
})

/** The session after entries were written elsewhere than at its head. */
const beside = (session: SessionRow, placement: Placement, now: number): SessionRow => {
  const next: SessionRow = {
    ...session,
    revision: session.revision + 1,
    updatedAt: Math.max(session.updatedAt, now),
    activityAt: Math.max(session.activityAt, now),
  }
  // What was written behind the head on its own branch takes the tip away from it.
  if (placement.opens === undefined && placement.branch === session.head.branch) delete next.tip
  return next
}

/** Whether a session sees a branch from its beginning to `pos`. */
export const seesPlace = fn(function* (tx, session: SessionRow, { branch, pos }: EntryRef) {
  const row = yield* tx.get(BranchTable, [session.treeId, branch])
  if (row?.owner === session.id) return true
  if (session.base === undefined) return false
  const path: Path = yield* readPath(session.treeId, session.base, noFacts, reaches({ branch, pos }))
  return isOnPath(path, { branch, pos })
})

/** The entry with this id, if the session sees it. */
export const findEntry = fn(function* (tx, session: SessionRow, messageId: string) {
  const entry = yield* tx.find(EntryTable, "byId", [session.treeId, messageId])
  if (entry === undefined || !(yield* seesPlace(session, entry))) return undefined
  return entry
})

/** The entry with this id, or `MessageNotFound`. */
export const requireEntry = fn(function* (tx, session: SessionRow, messageId: string) {
  const entry = yield* findEntry(session, messageId)
  if (entry === undefined) return yield* tx.fail(new MessageNotFound({ sessionId: session.id, messageId }))
  return entry
})

/** The place before an entry: its predecessor on the path, or the root. */
export const placeBefore = fn(function* (tx, entry: EntryRef, treeId: string) {
  if (entry.pos > 1) return { branch: entry.branch, pos: entry.pos - 1 }
  const branch = yield* tx.get(BranchTable, [treeId, entry.branch])
  return branch === undefined ? root : { branch: branch.parent, pos: branch.forkAt }
})

/** What an append was answered with before, asked for again after the engine refused its ids. */
export interface Stored {
  readonly rows: ReadonlyArray<EntryRow>
  /** Whether they are on the path now. */
  readonly onPath: boolean
}

/**
 * The entries that are already stored under these ids, when they are the same; `undefined` when none of the ids is
 * taken; `IdConflict` when one is taken by another content or behind another message than was asked for.
 */
export const findStored = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  entries: ReadonlyArray<NewEntry>,
  { at, expectedHead }: AppendOptions,
) {
  const session = yield* requireSession(scope, sessionId)
  const found = yield* tx.all(entries.map(({ id }) => tx.find(EntryTable, "byId", [session.treeId, id])))
  const rows: Array<EntryRow> = []
  for (const [i, entry] of entries.entries()) {
    const row = found[i]
    if (row === undefined) continue
    if (!isSameContent(row, entry)) return yield* tx.fail(new IdConflict({ id: entry.id }))
    rows.push(row)
  }
  const first = rows[0]
  if (first === undefined) return undefined
  const behind = at ?? expectedHead
  const isElsewhere = behind !== undefined && behind !== (yield* idBefore(session, first))
  if (rows.length < entries.length || isElsewhere || !isOneRun(rows)) {
    return yield* tx.fail(new IdConflict({ id: first.id }))
  }
  const path = yield* readPath(session.treeId, session.head, session.facts, reaches(first))
  const stored: Stored = { rows, onPath: rows.every((row) => isOnPath(path, row)) }
  return stored
})

/**
 * Replaces what a user said under an id by what the user says now, where the turn it was said for never started: then
 * nobody has answered it. Anything else that is stored under the id is `IdConflict`. MSG-03.
 */
export const replaceUnanswered = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  entry: NewEntry,
  epoch: number | undefined,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  yield* requireWriter(session, epoch)
  const stored = yield* tx.find(EntryTable, "byId", [session.treeId, entry.id])
  if (stored === undefined || !(yield* seesPlace(session, stored)) || !isReplaceable(stored, entry)) {
    return yield* tx.fail(new IdConflict({ id: entry.id }))
  }
  const started = yield* tx.find(TurnTable, "byId", [sessionId, stored.turn!])
  if (started !== undefined) return yield* tx.fail(new IdConflict({ id: entry.id }))
  const path = yield* readPath(session.treeId, session.head, session.facts, reaches(stored))
  const onPath = isOnPath(path, stored)
  const { branch, pos, treeId } = stored
  const release = yield* planStowing(stored)
  const changed = tx.update(EntryTable, [treeId, branch, pos], (old) => replaced(old, entry))
  const row = stow(tx, changed, now, release)
  const isLastPrompt = onPath && isSamePlace(session.facts.lastPrompt, stored)
  const after = tx.update(SessionTable, [sessionId], (one) => ({
    ...one,
    preview: isLastPrompt ? (row.preview ?? "") : one.preview,
    historyVersion: one.historyVersion + (onPath && isReplayed(row) ? 1 : 0),
    revision: one.revision + 1,
    updatedAt: Math.max(one.updatedAt, now),
  }))
  notifyEntries(tx, after, [row], { replaced: true, ...(!onPath && { beside: true }) })
  const result: Stored = { rows: [row], onPath }
  return result
})

/** Position, role, and who sees it never change: what follows from them is written into every entry behind it. */
const isReplaceable = (stored: EntryRow, entry: NewEntry): boolean =>
  stored.kind === "message" &&
  stored.redacted === undefined &&
  stored.turn !== undefined &&
  stored.role === entry.role &&
  isDisplayed(stored) === isDisplayed(entry) &&
  isReplayed(stored) === isReplayed(entry)

/** An entry with the content of another, in its place. */
export const replaced = (row: EntryRow, entry: NewEntry): EntryRow => {
  const { branch, createdAt, facts, pos, prompt, shown, treeId } = row
  return {
    treeId,
    branch,
    pos,
    facts,
    ...entry,
    createdAt,
    ...(shown !== undefined && { shown }),
    ...(prompt !== undefined && { prompt }),
  }
}

/** Whether entries stand one right behind the other. */
const isOneRun = (rows: ReadonlyArray<EntryRow>): boolean =>
  rows.every(({ branch, pos }, i) => branch === rows[0]!.branch && pos === rows[0]!.pos + i)

const idBefore = fn(function* (tx, session: SessionRow, entry: EntryRef) {
  const { branch, pos } = yield* placeBefore(entry, session.treeId)
  if (branch === 0) return null
  return (yield* tx.get(EntryTable, [session.treeId, branch, pos]))?.id
})

/** What the user said under an id, as it was stored before. */
export interface Submitted {
  readonly entry: EntryRow
  /** Whether it says the same. */
  readonly isSame: boolean
  /** The turn that was begun with it. */
  readonly turn: string | undefined
  /** Whether nothing was said since. */
  readonly isHead: boolean
}

/** What was stored before under the id of an entry; `undefined`: nothing. */
export const findSubmitted = fn(function* (tx, session: SessionRow, entry: NewEntry) {
  const stored = yield* tx.find(EntryTable, "byId", [session.treeId, entry.id])
  if (stored === undefined) return undefined
  const [own, last] = yield* tx.all([
    tx.find(TurnTable, "byId", [session.id, stored.turn ?? ""]),
    tx.get(TurnTable, [session.id, session.epoch]),
  ])
  // One that was stored before its turn does not name it: then the last turn does, if it wrote nothing else.
  const begun = own ?? (isSamePlace(last?.last, stored) ? last : undefined)
  const submitted: Submitted = {
    entry: stored,
    isSame: isSameContent(stored, entry),
    turn: begun?.id,
    isHead: isSamePlace(stored, session.head),
  }
  return submitted
})

const contentFields = ["kind", "role", "metadata", "source", "sourceContext", "attachments"] as const

export const isSameContent = (stored: EntryRow, entry: NewEntry): boolean =>
  contentFields.every((field) => isSameJson(stored[field], entry[field])) &&
  bodyFields.every((field) => isSameBody(stored, entry, field))

/** Whether an entry has the body that is stored. Of one that is kept as a blob only the name is compared. */
const isSameBody = (stored: EntryRow, entry: NewEntry, field: (typeof bodyFields)[number]): boolean => {
  if (stored[field] !== null) return isSameJson(stored[field], entry[field])
  if (entry[field] === undefined) return false
  return stored.large?.[field]?.hash === (entry.large?.[field]?.hash ?? bodyName(entry[field]))
}

/** Deep equality of JSON values; the order of an object's keys does not matter. */
const isSameJson = (a: unknown, b: unknown): boolean => {
  if (Object.is(a, b) || (a === 0 && b === 0)) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every((key) => Object.hasOwn(b, key) && isSameJson(Reflect.get(a, key), Reflect.get(b, key)))
}

/** The page of a path that is wanted, by ordinals among what people see. */
export interface Window {
  readonly from: number
  readonly to: number
}

/** Decides which page of a path is wanted, given the ordinal of its anchor and all ordinals that are shown. */
export type WindowOf = (anchor: number | undefined, shown: Window) => Window

/** What people see of the path between two ordinals; `windowOf` decides which. */
export const page = fn(function* (
  _tx,
  scope: Scope,
  sessionId: string,
  anchor: Anchor | undefined,
  windowOf: WindowOf,
) {
  const session = yield* requireSession(scope, sessionId)
  const stands = yield* standing(session)
  const at = anchor === undefined ? undefined : yield* ordinalOf(session, stands.head, stands.facts, anchor)
  return yield* pageOf(session, stands, at, windowOf)
})

/** As `page`, of the path to where a session stands; and the path as far as it was read. */
export const pageOf = fn(function* (
  _tx,
  session: SessionRow,
  { degraded, facts, head }: Standing,
  anchor: number | undefined,
  windowOf: WindowOf,
) {
  const { treeId } = session
  const first = hiddenOf(session).displays + 1
  const { from, to } = windowOf(anchor, { from: first, to: facts.displays })
  const path = yield* readPath(treeId, head, facts, (step) => step.displays < from)
  const rows = from > to ? [] : yield* readOrdinals(treeId, path, "byShown", from, to)
  return { rows, path, first, from, to, displays: facts.displays, degraded }
})

/** How much of its path a session shows. */
export const count = fn(function* (_tx, scope: Scope, sessionId: string) {
  const session = yield* requireSession(scope, sessionId)
  return shownOf(session, (yield* standing(session)).facts)
})

/** A message of the path that a page is asked for before, after or around. */
export type Anchor =
  | { readonly _tag: "Message"; readonly id: string }
  | { readonly _tag: "Place"; readonly ref: EntryRef; readonly shown: number; readonly cursor: string }

const ordinalOf = fn(function* (tx, session: SessionRow, head: EntryRef, facts: Facts, anchor: Anchor) {
  if (anchor._tag === "Place") {
    const { cursor, ref, shown } = anchor
    const path = yield* readPath(session.treeId, head, facts, reaches(ref))
    const [entry] = yield* entriesAt(session.treeId, [ref])
    if (entry === undefined || !isOnPath(path, ref)) {
      return yield* tx.fail(new InvalidCursor({ cursor, problem: "is of a place that left the path" }))
    }
    return isUnreadable(entry) ? shown : entry.facts.displays
  }
  const notFound = new MessageNotFound({ sessionId: session.id, messageId: anchor.id })
  const entry = yield* tx.find(EntryTable, "byId", [session.treeId, anchor.id])
  if (entry === undefined || !isDisplayed(entry)) return yield* tx.fail(notFound)
  const path = yield* readPath(session.treeId, head, facts, reaches(entry))
  if (!isOnPath(path, entry)) return yield* tx.fail(notFound)
  return entry.facts.displays
})
