/**
 * Pruning a session: what nobody stands on any more goes for good, and with it the way back to there.
 *
 * Journal moves are forgotten first. Of the branches of the session stays what its head, a move that is remembered, a name,
 * or others need. Each step is one commit and decides anew, so that what is done in between is respected.
 */
import { HeadMoveTable, keptMoves } from "../head/model.ts"
import type { HeadMoveRow } from "../head/model.ts"
import { BranchTable } from "../message/model.ts"
import type { BranchRow, EntryRef } from "../message/model.ts"
import { SessionTable } from "../session/model.ts"
import { requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Handle, Unreadable } from "../storage/transaction.ts"
import { requireIdle } from "../turn/fence.ts"
import { neededUpTo } from "./need.ts"
import { branchWindow, maxRemoved, planEnding, removeEndings, Room } from "./removal.ts"
import type { Ending } from "./removal.ts"

/** Forgets moves that were made before a time, or all; answers how many, and whether there are more. */
export const forgetMoves = fn(function* (tx, scope: Scope, sessionId: string, before: number | undefined, now: number) {
  yield* requireIdle(yield* requireSession(scope, sessionId))
  const moves = yield* readMoves(sessionId)
  // A move of which it cannot be read when it was made goes with all, and else stays.
  const old = moves.filter((move) => before === undefined || (!isUnreadable(move) && move.at < before))
  const forgotten = old.slice(0, maxRemoved.rows)
  for (const move of forgotten) {
    tx.remove(HeadMoveTable, [sessionId, isUnreadable(move) ? Number(move.key[1]) : move.n])
  }
  if (forgotten.length > 0) touch(tx, sessionId, now)
  return { moves: forgotten.length, isAll: forgotten.length === old.length }
})

/** The journal, oldest move first. */
const readMoves = fn(function* (tx, sessionId: string) {
  const moves: Array<Readonly<HeadMoveRow> | Unreadable> = []
  let last: number | undefined
  do {
    const rows: ReadonlyArray<Readonly<HeadMoveRow> | Unreadable> = yield* tx.range(HeadMoveTable, "key", {
      prefix: [sessionId],
      ...(last !== undefined && { after: [sessionId, last] as const }),
      unreadable: "keep",
    })
    moves.push(...rows)
    const end = rows.length < maxRange ? undefined : rows.at(-1)
    last = end === undefined ? undefined : isUnreadable(end) ? Number(end.key[1]) : end.n
  } while (last !== undefined && moves.length <= keptMoves)
  return moves
})

/** Something of a session changed that its row does not show. */
const touch = (tx: Handle, sessionId: string, now: number): void => {
  tx.update(SessionTable, [sessionId], (row) => ({
    ...row,
    revision: row.revision + 1,
    updatedAt: Math.max(row.updatedAt, now),
  }))
}

/** What a step of pruning did. */
export interface Pruned {
  readonly entries: number
  readonly branches: number
  /** Whether that was all; if not, the branch before which to go on. */
  readonly isAll: boolean
  readonly next: number | undefined
}

/**
 * Removes some of what nobody needs of the branches of a session, leaves first.
 *
 * @param before  the branch before which to go on
 */
export const prune = fn(function* (tx, scope: Scope, sessionId: string, before: number | undefined, now: number) {
  const session = yield* requireSession(scope, sessionId)
  yield* requireIdle(session)
  const { treeId } = session
  const moves = yield* readMoves(sessionId)
  const stands: Array<EntryRef> = [session.head]
  for (const move of moves) {
    // Where it leads is not known, so that nothing may go.
    if (isUnreadable(move)) return nothing
    stands.push(move.from, move.to)
  }
  const standing = furthest(stands)
  const room = new Room()
  const endings: Array<Ending> = []
  const gone = new Set<number>()
  const closed: Array<number> = []
  let next = before
  for (;;) {
    const rows: ReadonlyArray<Readonly<BranchRow> | Unreadable> = yield* tx.range(BranchTable, "byOwner", {
      prefix: [sessionId],
      ...(next !== undefined && { before: [sessionId, next] as const }),
      reverse: true,
      limit: branchWindow,
      unreadable: "keep",
    })
    for (const row of rows) {
      // What one is called that cannot be read is not known.
      const isKept = isUnreadable(row) || row.name !== undefined
      const branch: number = isUnreadable(row) ? Number(row.key[1]) : row.branch
      if (!isKept) {
        const needed: number = Math.max(standing.get(branch) ?? 0, yield* neededUpTo(treeId, branch, gone))
        const ending: Ending = yield* planEnding(treeId, branch, needed, room)
        if (ending.from !== undefined) endings.push(ending)
        if (needed > 0 && ending.from !== undefined && row.closed !== true) closed.push(branch)
        if (!ending.isAll || (needed === 0 && !room.takes(BranchTable, row))) break
        if (needed === 0) gone.add(branch)
      }
      next = branch
    }
    if (room.isFull || rows.length < branchWindow) {
      removeEndings(tx, treeId, endings, gone, now)
      for (const branch of closed) tx.update(BranchTable, [treeId, branch], (row) => ({ ...row, closed: true }))
      const entries = endings.reduce((sum, ending) => sum + ending.entries, 0)
      if (entries + gone.size > 0) touch(tx, sessionId, now)
      // The branch at which there was no more room is met again.
      const pruned: Pruned = { entries, branches: gone.size, isAll: !room.isFull, next }
      return pruned
    }
  }
})

const nothing: Pruned = { entries: 0, branches: 0, isAll: true, next: undefined }

/** Of several places, the last on each branch. */
const furthest = (places: ReadonlyArray<EntryRef>): ReadonlyMap<number, number> => {
  const last = new Map<number, number>()
  for (const { branch, pos } of places) last.set(branch, Math.max(pos, last.get(branch) ?? 0))
  return last
}
