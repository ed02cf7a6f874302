/**
 * The rules of the head: where a session stands, and how it moves.
 *
 * A move changes the head and nothing else of the tree. It is journalled with both ends; an append at the head is no
 * move. `undo` takes the last move back that was not taken back, `redo` makes it again; each is a move itself.
 */
import * as Data from "effect/Data"
import { BranchTable, EntryTable, noFacts, root, trailLength } from "../message/model.ts"
import type { BranchRow, EntryRef, EntryRow, Facts } from "../message/model.ts"
import { isOnPath, readPath, reaches } from "../message/path.ts"
import { expectHead, MessageNotFound, refOf, requireEntry } from "../message/program.ts"
import type { ExpectedHead } from "../message/program.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { isUnreadable, make, maxRange } from "../storage/transaction.ts"
import type { Handle } from "../storage/transaction.ts"
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
const standOn = (session: SessionRow, entry: EntryRow) =>
  make(function* (tx) {
    const { branch, facts, id, pos, treeId } = entry
    const prompt = facts.lastPrompt
    const [own, next, [last]] = yield* tx.all([
      tx.get(BranchTable, [treeId, branch]),
      tx.range(EntryTable, "key", {
        prefix: [treeId, branch],
        after: [treeId, branch, pos],
        limit: 1,
        unreadable: "keep",
      }),
      tx.range(EntryTable, "key", {
        from: [treeId, prompt?.branch ?? 0, prompt?.pos ?? 0],
        to: [treeId, prompt?.branch ?? 0, prompt?.pos ?? 0],
        unreadable: "keep",
      }),
    ])
    const isTip = own?.owner === session.id && next.length === 0
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
const standAt = (session: SessionRow, ref: EntryRef) =>
  make(function* (tx) {
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

/** Writes a move: the journal and the session. `journal` says what undo and redo act on from now on. */
export const applyMove = (
  tx: Handle,
  session: SessionRow,
  to: Stand,
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
  tx.update(SessionTable, [session.id], (row) => moved(row, to, move.at, n, journal))
}

const moved = (
  session: SessionRow,
  to: Stand,
  now: number,
  n: number,
  journal: { readonly undo: number | undefined; readonly redo: number | undefined },
): SessionRow => {
  const { redo: _redo, tip: _tip, undo: _undo, ...rest } = session
  return {
    ...rest,
    head: to.id === undefined ? to.ref : { ...to.ref, id: to.id },
    headVersion: session.headVersion + 1,
    historyVersion: session.historyVersion + 1,
    revision: session.revision + 1,
    facts: to.facts,
    preview: to.preview,
    updatedAt: Math.max(session.updatedAt, now),
    moves: n,
    ...(to.tip === undefined ? {} : { tip: to.tip }),
    ...(journal.undo === undefined ? {} : { undo: journal.undo }),
    ...(journal.redo === undefined ? {} : { redo: journal.redo }),
  }
}

/** An ordinary move: it is what undo takes back next, and ends redo. */
export const applyNewMove = (tx: Handle, session: SessionRow, to: Stand, move: Move): void =>
  applyMove(tx, session, to, move, { undo: session.moves + 1, redo: undefined })

/** Where a head is to go: a message, a branch (its end), or `null` for the root. */
export type Destination = string | number | null

/** Reads where a destination is. */
export const planMove = (session: SessionRow, to: Destination) =>
  make(function* (tx) {
    if (to === null) return atRoot
    if (typeof to === "string") return yield* standOn(session, yield* requireEntry(session, to))
    const branch = yield* requireBranch(session, to)
    const [end] = yield* tx.range(EntryTable, "key", {
      prefix: [session.treeId, branch.branch],
      reverse: true,
      limit: 1,
    })
    if (end === undefined) return yield* tx.fail(new BranchNotFound({ sessionId: session.id, branch: to }))
    return yield* standOn(session, end)
  })

/** A branch that the session owns, or `BranchNotFound`. */
const requireBranch = (session: SessionRow, branch: number) =>
  make(function* (tx) {
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
export const checkout = (scope: Scope, sessionId: string, to: Destination, expected: ExpectedHead, move: Move) =>
  make(function* (tx) {
    const session = yield* requireSession(scope, sessionId)
    yield* expectHead(session, expected)
    const stand = yield* planMove(session, to)
    if (isSamePlace(stand.ref, session.head)) return movedBetween(session, stand)
    applyNewMove(tx, session, stand, move)
    return movedBetween(session, stand)
  })

const isSamePlace = (a: EntryRef, b: EntryRef): boolean => a.branch === b.branch && a.pos === b.pos

/**
 * Takes the last move back that was not taken back yet. `undefined`: there is none, it was forgotten, or the place it
 * came from is gone.
 */
export const undo = (scope: Scope, sessionId: string, move: Omit<Move, "reason">) =>
  make(function* (tx) {
    const session = yield* requireSession(scope, sessionId)
    if (session.undo === undefined) return undefined
    const last = yield* tx.get(HeadMoveTable, [sessionId, session.undo])
    const stand = last && (yield* standAt(session, last.from))
    if (last === undefined || stand === undefined) return undefined
    applyMove(
      tx,
      session,
      stand,
      { ...move, reason: "undo" },
      {
        of: last.n,
        undo: last.undoBefore,
        redo: session.moves + 1,
      },
    )
    return movedBetween(session, stand)
  })

/** Makes the move again that was last taken back. `undefined`: nothing was, or something was appended since. */
export const redo = (scope: Scope, sessionId: string, move: Omit<Move, "reason">) =>
  make(function* (tx) {
    const session = yield* requireSession(scope, sessionId)
    if (session.redo === undefined) return undefined
    const last = yield* tx.get(HeadMoveTable, [sessionId, session.redo])
    const stand = last && (yield* standAt(session, last.from))
    if (last === undefined || stand === undefined) return undefined
    applyMove(
      tx,
      session,
      stand,
      { ...move, reason: "redo" },
      {
        ...(last.of === undefined ? {} : { of: last.of }),
        undo: last.undoBefore,
        redo: last.redoBefore,
      },
    )
    return movedBetween(session, stand)
  })

/** The journal, newest move first, before move `before`; with the ids of the places that still exist. */
export const moves = (scope: Scope, sessionId: string, before: number | undefined, limit: number) =>
  make(function* (tx) {
    const session = yield* requireSession(scope, sessionId)
    const rows = yield* tx.range(HeadMoveTable, "key", {
      prefix: [sessionId],
      ...(before === undefined ? {} : { before: [sessionId, before] as const }),
      reverse: true,
      limit,
    })
    const places = rows.flatMap(({ from, to }) => [from, to])
    const entries = yield* tx.all(places.map(({ branch, pos }) => tx.get(EntryTable, [session.treeId, branch, pos])))
    const idOf = (place: EntryRef, entry: EntryRow | undefined) => (place.branch === 0 ? null : entry?.id)
    return rows.map((row, i) => ({
      row,
      from: idOf(row.from, entries[2 * i]),
      to: idOf(row.to, entries[2 * i + 1]),
    }))
  })

/**
 * The end of the longest way on from a message: the tip below it with the most entries on its path; of equal ones the
 * newest. The message itself when nothing follows.
 */
export const deepest = (scope: Scope, sessionId: string, messageId: string) =>
  make(function* (tx) {
    const session = yield* requireSession(scope, sessionId)
    const entry = yield* requireEntry(session, messageId)
    const own = yield* tx.range(BranchTable, "byOwner", { prefix: [sessionId] })
    const branches: Array<Readonly<BranchRow>> = own.filter(
      ({ branch, trail }) =>
        branch === entry.branch || trail.some((step) => step.branch === entry.branch && step.upTo >= entry.pos),
    )
    // A branch with a full trail may descend from further back than it says.
    for (const row of own) {
      if (branches.includes(row) || row.trail.length < trailLength) continue
      const path = yield* readPath(session.treeId, { branch: row.branch, pos: 1 }, noFacts, reaches(entry))
      if (isOnPath(path, entry)) branches.push(row)
    }
    const ends = yield* tx.all(
      branches.map(({ branch, treeId }) =>
        tx.range(EntryTable, "key", { prefix: [treeId, branch], reverse: true, limit: 1 }),
      ),
    )
    return ends
      .flatMap(([end]) => (end === undefined ? [] : [end]))
      .reduce<Readonly<EntryRow>>((best, end) => (isFurther(end, best) ? end : best), entry)
  })

const isFurther = (a: EntryRow, b: EntryRow): boolean =>
  a.facts.entries > b.facts.entries || (a.facts.entries === b.facts.entries && a.branch > b.branch)

/** Names a branch. An automatic name never replaces one that was given by hand. */
export const nameBranch = (
  scope: Scope,
  sessionId: string,
  branch: number,
  name: { readonly text: string; readonly origin: "automatic" | "manual" },
  now: number,
) =>
  make(function* (tx) {
    const session = yield* requireSession(scope, sessionId)
    const row = yield* requireBranch(session, branch)
    if (row.name?.origin === "manual" && name.origin === "automatic") return row.name.text
    tx.update(BranchTable, [row.treeId, branch], (one) => ({ ...one, name }))
    tx.update(SessionTable, [sessionId], (one) => ({
      ...one,
      revision: one.revision + 1,
      updatedAt: Math.max(one.updatedAt, now),
    }))
    return name.text
  })

/** The other sessions of the tree whose head or base is on the branch of `place` and behind it. */
const standingAbove = (session: SessionRow, place: EntryRef) =>
  make(function* (tx) {
    const found: Array<string> = []
    let after: string | undefined
    for (;;) {
      const rows: ReadonlyArray<Readonly<SessionRow>> = yield* tx.range(SessionTable, "byTree", {
        prefix: [session.treeId],
        ...(after === undefined ? {} : { after: [session.treeId, after] as const }),
      })
      for (const { base, head, id } of rows) {
        const stands = [head, base].some((ref) => ref?.branch === place.branch && ref.pos > place.pos)
        if (stands && id !== session.id) found.push(id)
      }
      if (rows.length < maxRange) return found
      after = rows.at(-1)!.id
    }
  })

/**
 * Deletes what of a branch nothing else needs: from its tip down to the highest place that another branch left it. The
 * head, where it stands on what goes, first moves to `moveTo`, else to the place where the branch was left or began.
 */
export const deleteBranch = (
  scope: Scope,
  sessionId: string,
  branch: number,
  moveTo: Destination | undefined,
  move: Omit<Move, "reason">,
) =>
  make(function* (tx) {
    const session = yield* requireSession(scope, sessionId)
    const row = yield* requireBranch(session, branch)
    const { treeId } = session
    const [child] = yield* tx.range(BranchTable, "byParent", { prefix: [treeId, branch], reverse: true, limit: 1 })
    const keepUpTo = child?.forkAt ?? 0
    const sessions = yield* standingAbove(session, { branch, pos: keepUpTo })
    if (sessions.length > 0) return yield* tx.fail(new BranchInUse({ branch, sessions }))
    const leaves = session.head.branch === branch && session.head.pos > keepUpTo
    const fallback = keepUpTo > 0 ? { branch, pos: keepUpTo } : { branch: row.parent, pos: row.forkAt }
    const stand = !leaves
      ? undefined
      : moveTo === undefined
        ? yield* standAt(session, fallback)
        : yield* planMove(session, moveTo)
    if (leaves && (stand === undefined || (stand.ref.branch === branch && stand.ref.pos > keepUpTo))) {
      return yield* tx.fail(new MessageNotFound({ sessionId, messageId: String(moveTo ?? "") }))
    }
    const removed = yield* tx.range(EntryTable, "key", {
      prefix: [treeId, branch],
      reverse: true,
      limit: 1,
      unreadable: "keep",
    })
    const last = removed[0] === undefined ? 0 : isUnreadable(removed[0]) ? Number(removed[0].key[2]) : removed[0].pos
    if (keepUpTo === 0) tx.remove(BranchTable, [treeId, branch])
    tx.removeRange(EntryTable, { prefix: [treeId, branch], after: [treeId, branch, keepUpTo] })
    if (stand === undefined) {
      // What followed the head is gone: the next entry goes right behind it again.
      const becomesTip = isSamePlace(session.head, { branch, pos: keepUpTo })
      tx.update(SessionTable, [sessionId], (one) => ({
        ...one,
        ...(becomesTip && { tip: one.facts.entries - keepUpTo }),
        revision: one.revision + 1,
        updatedAt: Math.max(one.updatedAt, move.at),
      }))
    } else {
      applyNewMove(tx, session, stand, { ...move, reason: "delete-branch" })
    }
    return {
      removed: Math.max(0, last - keepUpTo),
      head: stand === undefined ? (session.head.id ?? null) : (stand.id ?? null),
    }
  })
