/**
 * The rules of the head: where a session stands, and how it moves.
 *
 * A move changes the head and nothing else of the tree. It is journalled with both ends; an append at the head is no
 * move. `undo` takes the last move back that was not taken back, `redo` makes it again; each is a move itself.
 */
import * as Data from "effect/Data"
import { InvalidBoundary } from "../history/program.ts"
import { forkedBehind, lastForkAt } from "../deletion/need.ts"
import { applyRelease, planRelease } from "../attachment/program.ts"
import { BranchTable, EntryTable, noFacts, root, trailLength } from "../message/model.ts"
import type { BranchRow, EntryRef, EntryRow, Facts } from "../message/model.ts"
import { entriesAt, isOnPath, lastEntries, readPath, reaches } from "../message/path.ts"
import { isSamePlace, replaysOtherwise } from "../message/placement.ts"
import { readDrafts, settleDrafts } from "../message/draft.ts"
import { expectHead, notify, notifyResumed, ownBranches, refOf, requireEntry } from "../message/program.ts"
import type { ExpectedHead } from "../message/program.ts"
import { unreadableId } from "../message/record.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { requireSession } from "../session/program.ts"
import { shownOf } from "../session/shown.ts"
import { InvalidInput } from "../storage/error.ts"
import type { Scope } from "../session/program.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Handle, Unreadable } from "../storage/transaction.ts"
import { answered } from "../queue/state.ts"
import { requireIdle } from "../turn/fence.ts"
import { HeadMoveTable, keptMoves } from "./model.ts"
import type { HeadMoveRow, MoveReason } from "./model.ts"

/** The session owns no branch with this number. */
export class BranchNotFound extends Data.TaggedError("BranchNotFound")<{
  readonly sessionId: string
  readonly branch: number
}> {
  override get message() {
    return `session ${this.sessionId} owns no branch ${this.branch}`
  }
}

/** The branch cannot be deleted: another session stands on it, or would lose what it forked from. */
export class BranchInUse extends Data.TaggedError("BranchInUse")<{
  readonly branch: number
  /** The sessions that need it. */
  readonly sessions: ReadonlyArray<string>
}> {
  override get message() {
    return `branch ${this.branch} is needed by ${this.sessions.join(", ")}`
  }
}

/** Where a head can stand: an entry, or the root. */
export interface Stand {
  readonly ref: EntryRef
  readonly id: string | undefined
  readonly facts: Facts
  /** What the session's preview says there. */
  readonly preview: string
  /** As `tip` of the session's row. */
  readonly tip: number | undefined
}

const atRoot: Stand = { ref: root, id: undefined, facts: noFacts, preview: "", tip: undefined }

/** Reads what a session's row has to say when its head stands on this entry. */
export const standOn = fn(function* (tx, session: SessionRow, entry: EntryRow) {
  const { branch, facts, id, pos, treeId } = entry
  const [own, next] = yield* tx.all([
    tx.get(BranchTable, [treeId, branch]),
    tx.range(EntryTable, "key", {
      prefix: [treeId, branch],
      after: [treeId, branch, pos],
      limit: 1,
      unreadable: "keep",
    }),
  ])
  const prompt = shownOf(session, facts).prompts === 0 ? undefined : facts.lastPrompt
  const [last] = prompt === undefined ? [] : yield* entriesAt(treeId, [prompt])
  const isTip = own?.owner === session.id && own.closed !== true && next.length === 0
  const stand: Stand = {
    ref: { branch, pos },
    id,
    facts,
    preview: last === undefined || isUnreadable(last) ? "" : (last.preview ?? ""),
    tip: isTip ? facts.entries - pos : undefined,
  }
  return stand
})

/** As `standOn`, for a place that may be the root, or gone: then `undefined`. */
export const standAt = fn(function* (tx, session: SessionRow, ref: EntryRef) {
  if (ref.branch === 0) return atRoot
  const entry = yield* tx.get(EntryTable, [session.treeId, ref.branch, ref.pos])
  return entry === undefined ? undefined : yield* standOn(session, entry)
})

/** A move to be journalled. */
export interface Move {
  readonly reason: MoveReason
  readonly at: number
  readonly author?: string | undefined
}

/**
 * Reads what a head leaves behind that moves away: the draft that waits for an answer, which nobody can give it any more.
 * Fails with `RunActive` while a turn runs: HED-02.
 */
export const planLeaving = fn(function* (_tx, session: SessionRow) {
  yield* requireIdle(session)
  const draft = session.waiting?.draft
  return yield* readDrafts(session.treeId, draft === undefined ? [] : [draft])
})

/**
 * Writes a move: the journal, the session, and the drafts that it leaves behind. `journal` says what undo and redo act on
 * from now on.
 */
export const applyMove = (
  tx: Handle,
  session: SessionRow,
  to: Stand,
  leaving: ReadonlyArray<EntryRow>,
  move: Move,
  journal: { readonly of?: number; readonly undo: number | undefined; readonly redo: number | undefined },
): void => {
  const n = session.moves + 1
  const row: HeadMoveRow = {
    sessionId: session.id,
    n,
    from: refOf(session.head),
    to: to.ref,
    reason: move.reason,
    at: move.at,
  }
  if (move.author !== undefined) row.author = move.author
  if (journal.of !== undefined) row.of = journal.of
  if (session.undo !== undefined) row.undoBefore = session.undo
  if (session.redo !== undefined) row.redoBefore = session.redo
  tx.insert(HeadMoveTable, row)
  if (n > keptMoves) tx.remove(HeadMoveTable, [session.id, n - keptMoves])
  settleDrafts(tx, session, leaving, "interrupted", move.at)
  const before = tx.update(SessionTable, [session.id], (row) => row)
  const after = tx.update(SessionTable, [session.id], (row) => moved(row, to, move.at, n, journal))
  const { headVersion, revision } = after
  const { reason } = move
  notifyResumed(tx, before, after)
  const ends = movedBetween(session, to)
  notify(tx, { _tag: "HeadWasMoved", sessionId: session.id, revision, headVersion, reason, ...ends })
  if (session.status !== "idle") notify(tx, { _tag: "StatusChanged", sessionId: session.id, revision, status: "idle" })
}

const moved = (
  session: SessionRow,
  to: Stand,
  now: number,
  n: number,
  journal: { readonly undo: number | undefined; readonly redo: number | undefined },
): SessionRow => {
  const { error: _error, redo: _redo, tip: _tip, undo: _undo, waiting: _waiting, ...rest } = session
  return answered({
    ...rest,
    status: "idle",
    head: to.id === undefined ? to.ref : { ...to.ref, id: to.id },
    headVersion: session.headVersion + 1,
    historyVersion: session.historyVersion + (replaysOtherwise(session.facts, to.facts) ? 1 : 0),
    revision: session.revision + 1,
    facts: to.facts,
    preview: to.preview,
    updatedAt: Math.max(session.updatedAt, now),
    moves: n,
    ...(to.tip === undefined ? {} : { tip: to.tip }),
    ...(journal.undo === undefined ? {} : { undo: journal.undo }),
    ...(journal.redo === undefined ? {} : { redo: journal.redo }),
  })
}

/** An ordinary move: it is what undo takes back next, and ends redo. */
export const applyNewMove = (
  tx: Handle,
  session: SessionRow,
  to: Stand,
  leaving: ReadonlyArray<EntryRow>,
  move: Move,
): void => applyMove(tx, session, to, leaving, move, { undo: session.moves + 1, redo: undefined })

/** Where a head is to go: a message, a branch (its end), or `null` for the root. */
export type Destination = string | number | null

/** Reads where a destination is. */
export const planMove = fn(function* (tx, session: SessionRow, to: Destination) {
  if (to === null) {
    yield* requireShown(session, root, null)
    return atRoot
  }
  if (typeof to === "string") {
    const entry = yield* requireEntry(session, to)
    yield* requireShown(session, entry, entry.id)
    return yield* standOn(session, entry)
  }
  const branch = yield* requireBranch(session, to)
  const [end] = yield* tx.range(EntryTable, "key", {
    prefix: [session.treeId, branch.branch],
    reverse: true,
    limit: 1,
  })
  if (end === undefined) return yield* tx.fail(new BranchNotFound({ sessionId: session.id, branch: to }))
  return yield* standOn(session, end)
})

/**
 * Fails with `InvalidBoundary` where a head may not stand: a side conversation does not go back to before its beginning,
 * for what it says there nobody could tell from what it has inherited.
 */
export const requireShown = fn(function* (tx, session: SessionRow, place: EntryRef, id: string | null) {
  const { displayFrom, id: sessionId, treeId } = session
  if (displayFrom === undefined) return
  const path = yield* readPath(treeId, place, noFacts, reaches(displayFrom))
  if (isOnPath(path, displayFrom)) return
  const problem = "is before what this side conversation shows"
  return yield* tx.fail(new InvalidBoundary({ sessionId, boundary: id, problem, nearest: displayFrom.id }))
})

/** A branch that the session owns, or `BranchNotFound`. */
export const requireBranch = fn(function* (tx, session: SessionRow, branch: number) {
  const row = yield* tx.get(BranchTable, [session.treeId, branch])
  if (row?.owner !== session.id) return yield* tx.fail(new BranchNotFound({ sessionId: session.id, branch }))
  return row
})

/** Where the head was and where it is now, as message ids; `null` is the root. */
export interface Moved {
  readonly from: string | null
  readonly to: string | null
}

const movedBetween = (session: SessionRow, to: Stand): Moved => ({ from: session.head.id ?? null, to: to.id ?? null })

/** Moves the head. A move to where it stands does nothing. */
export const checkout = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  to: Destination,
  expected: ExpectedHead,
  move: Move,
) {
  const session = yield* requireSession(scope, sessionId)
  const leaving = yield* planLeaving(session)
  yield* expectHead(session, expected)
  const stand = yield* planMove(session, to)
  if (isSamePlace(stand.ref, session.head)) return movedBetween(session, stand)
  applyNewMove(tx, session, stand, leaving, move)
  return movedBetween(session, stand)
})

/**
 * `undo` takes the last move back that was not taken back yet, `redo` makes the move again that was last taken back.
 * `undefined`: there is none, it was forgotten, or the place it came from is gone. A new message ends redo.
 */
export const retrace = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  expected: ExpectedHead,
  move: Move & { readonly reason: "undo" | "redo" },
) {
  const session = yield* requireSession(scope, sessionId)
  const leaving = yield* planLeaving(session)
  yield* expectHead(session, expected)
  const n = session[move.reason]
  if (n === undefined) return undefined
  const last = yield* tx.get(HeadMoveTable, [sessionId, n])
  const stand = last && (yield* standAt(session, last.from))
  if (last === undefined || stand === undefined) return undefined
  applyMove(
    tx,
    session,
    stand,
    leaving,
    move,
    move.reason === "undo"
      ? { of: last.n, undo: last.undoBefore, redo: session.moves + 1 }
      : { ...(last.of !== undefined && { of: last.of }), undo: last.undoBefore, redo: last.redoBefore },
  )
  return movedBetween(session, stand)
})

/** A move of the journal, with the ids of its ends where those still exist. */
export interface FoundMove {
  readonly row: Readonly<HeadMoveRow>
  readonly from: string | null | undefined
  readonly to: string | null | undefined
}

/** The journal, newest move first, before move `before`; with the ids of the places that still exist. */
export const moves = fn(function* (tx, scope: Scope, sessionId: string, before: number | undefined, limit: number) {
  const session = yield* requireSession(scope, sessionId)
  const rows = yield* tx.range(HeadMoveTable, "key", {
    prefix: [sessionId],
    ...(before === undefined ? {} : { before: [sessionId, before] as const }),
    reverse: true,
    limit,
  })
  const entries = yield* entriesAt(
    session.treeId,
    rows.flatMap(({ from, to }) => [from, to]),
  )
  const idOf = (place: EntryRef, entry: Readonly<EntryRow> | Unreadable | undefined) =>
    place.branch === 0 ? null : isUnreadable(entry) ? unreadableId(entry) : entry?.id
  return rows.map((row, i): FoundMove => ({
    row,
    from: idOf(row.from, entries[2 * i]),
    to: idOf(row.to, entries[2 * i + 1]),
  }))
})

/**
 * The end of the longest way on from a message: the tip below it with the most entries on its path; of equal ones the
 * newest. The message itself when nothing follows.
 */
export const deepest = fn(function* (tx, scope: Scope, sessionId: string, messageId: string) {
  const session = yield* requireSession(scope, sessionId)
  const entry = yield* requireEntry(session, messageId)
  const below: Array<number> = []
  for (const row of yield* ownBranches(session)) {
    const isBelow = row.branch === entry.branch || (yield* descends(session, row, entry))
    if (isBelow) below.push(row.branch)
  }
  let best: Readonly<EntryRow> = entry
  for (let i = 0; i < below.length; i += maxRange) {
    const ends: ReadonlyArray<Readonly<EntryRow> | Unreadable | undefined> = yield* lastEntries(
      session.treeId,
      below.slice(i, i + maxRange),
    )
    for (const end of ends) if (end !== undefined && !isUnreadable(end) && isFurther(end, best)) best = end
  }
  return best
})

/** Whether the path to a branch leads over an entry of another one. */
const descends = fn(function* (_tx, session: SessionRow, branch: BranchRow, entry: EntryRef) {
  const known = branch.trail.find((step) => step.branch <= entry.branch)
  if (known !== undefined) return known.branch === entry.branch && known.upTo >= entry.pos
  if (branch.trail.length < trailLength) return false
  // A full trail tells less than the whole way.
  const path = yield* readPath(session.treeId, { branch: branch.branch, pos: 1 }, noFacts, reaches(entry))
  return isOnPath(path, entry)
})

const isFurther = (a: EntryRow, b: EntryRow): boolean =>
  a.facts.entries > b.facts.entries || (a.facts.entries === b.facts.entries && a.branch > b.branch)

/** Names a branch. An automatic name never replaces one that was given by hand. */
export const nameBranch = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  branch: number,
  name: { readonly text: string; readonly origin: "automatic" | "manual" },
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  const row = yield* requireBranch(session, branch)
  if (row.name?.origin === "manual" && name.origin === "automatic") return row.name.text
  tx.update(BranchTable, [row.treeId, branch], (one) => ({ ...one, name }))
  tx.update(SessionTable, [sessionId], (one) => changed(one, now))
  return name.text
})

/** A session of which something changed that its row does not show. */
export const changed = (session: SessionRow, now: number): SessionRow => ({
  ...session,
  revision: session.revision + 1,
  updatedAt: Math.max(session.updatedAt, now),
})

/**
 * Deletes what of a branch nothing else needs: from its tip down to the highest place that another branch left it. What
 * is left of it is closed, so that no place is used twice. The head, where it stands on what goes, first moves to
 * `moveTo`, else to the place where the branch was left or began.
 */
export const deleteBranch = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  branch: number,
  moveTo: Destination | undefined,
  expected: ExpectedHead,
  move: Omit<Move, "reason">,
) {
  const session = yield* requireSession(scope, sessionId)
  const leaving = yield* planLeaving(session)
  yield* expectHead(session, expected)
  const row = yield* requireBranch(session, branch)
  const { treeId } = session
  const keepUpTo = yield* lastForkAt(treeId, branch)
  const sessions = yield* forkedBehind(treeId, branch, keepUpTo)
  if (sessions.length > 0) return yield* tx.fail(new BranchInUse({ branch, sessions }))
  const leaves = session.head.branch === branch && session.head.pos > keepUpTo
  const fallback = keepUpTo > 0 ? { branch, pos: keepUpTo } : { branch: row.parent, pos: row.forkAt }
  const stand = !leaves
    ? undefined
    : moveTo === undefined
      ? yield* standAt(session, fallback)
      : yield* planMove(session, moveTo)
  if (leaves && (stand === undefined || (stand.ref.branch === branch && stand.ref.pos > keepUpTo))) {
    const problem =
      moveTo === undefined ? "must be given: nothing is left where the branch began" : "goes with the branch"
    return yield* tx.fail(new InvalidInput({ field: "options.moveTo", value: moveTo, problem }))
  }
  const survivors = leaving.filter((draft) => draft.branch !== branch || draft.pos <= keepUpTo)
  const [end] = yield* lastEntries(treeId, [branch])
  const last = end === undefined ? 0 : isUnreadable(end) ? Number(end.key[2]) : end.pos
  const release = yield* planRelease(treeId, branch, { from: keepUpTo + 1 })
  if (keepUpTo === 0) tx.remove(BranchTable, [treeId, branch])
  else tx.update(BranchTable, [treeId, branch], (one) => ({ ...one, closed: true }))
  tx.removeRange(EntryTable, { prefix: [treeId, branch], after: [treeId, branch, keepUpTo] })
  applyRelease(tx, release, move.at)
  if (stand === undefined) tx.update(SessionTable, [sessionId], (one) => changed(one, move.at))
  else applyNewMove(tx, session, stand, survivors, { ...move, reason: "delete-branch" })
  return {
    removed: Math.max(0, last - keepUpTo),
    head: stand === undefined ? (session.head.id ?? null) : (stand.id ?? null),
  }
})
