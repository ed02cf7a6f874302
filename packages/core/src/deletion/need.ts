/**
 * What keeps an entry alive.
 *
 * Guarantee: an entry is needed while the session lives that its branch belongs to, unless that one gives it up itself; and
 * as far as a branch that left, the place where a living session was forked, or that of an operation which is not finished
 * lies behind it. A head is one of these: a session stands on its own branches, or where it was forked or before.
 *
 * This is the one place where that is decided. Whoever removes entries asks here in the commit that removes them, from the
 * tip down and leaves first, so that what became needed meanwhile stays.
 */
import { BranchTable, EntryTable } from "../message/model.ts"
import type { BranchRow } from "../message/model.ts"
import { OperationTable } from "../operation/model.ts"
import type { OperationRow } from "../operation/model.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"

/** As far as it may: who needs it cannot be read, so that nothing is taken from under it. */
const all = Number.MAX_SAFE_INTEGER

/**
 * The last position of a branch that others than its owner need; 0: they need none.
 *
 * @param gone  branches that the same commit removes
 */
export const neededUpTo = fn(function* (
  tx,
  treeId: string,
  branch: number,
  gone: ReadonlySet<number> = new Set<number>(),
) {
  const last = { prefix: [treeId, branch], reverse: true, limit: 1, unreadable: "keep" } as const
  const [[session], [operation]]: readonly [
    ReadonlyArray<Readonly<SessionRow> | Unreadable>,
    ReadonlyArray<Readonly<OperationRow> | Unreadable>,
  ] = yield* tx.all([tx.range(SessionTable, "byBase", last), tx.range(OperationTable, "byBase", last)])
  const baseOf = (row: { readonly basePos?: number | undefined } | Unreadable | undefined) =>
    row === undefined ? 0 : isUnreadable(row) ? all : (row.basePos ?? 0)
  return Math.max(baseOf(session), baseOf(operation), yield* lastForkAt(treeId, branch, gone))
})

/** The last position at which a branch left this one; 0: none did. */
export const lastForkAt = fn(function* (
  tx,
  treeId: string,
  branch: number,
  gone: ReadonlySet<number> = new Set<number>(),
) {
  const limit = Math.min(gone.size + 1, maxRange)
  let before: readonly [forkAt: number, branch: number] | undefined
  for (;;) {
    const rows: ReadonlyArray<Readonly<BranchRow> | Unreadable> = yield* tx.range(BranchTable, "byParent", {
      prefix: [treeId, branch],
      ...(before !== undefined && { before: [treeId, branch, ...before] as const }),
      reverse: true,
      limit,
      unreadable: "keep",
    })
    for (const row of rows) {
      if (isUnreadable(row)) {
        if (!gone.has(Number(row.key[1]))) return all
        // One that is not younger did not leave it, whatever a damaged row says.
      } else if (gone.has(row.branch) || row.branch <= branch) before = [row.forkAt, row.branch]
      else return row.forkAt
    }
    if (rows.length < limit) return 0
  }
})

/**
 * Who needs what is behind a place of a branch, beside the branches that left: sessions that were forked there, and those
 * that are being made by operations which are not finished; by their ids.
 */
export const forkedBehind = fn(function* (tx, treeId: string, branch: number, pos: number) {
  const behind = { prefix: [treeId, branch], after: [treeId, branch, pos], unreadable: "keep" } as const
  const [sessions, operations] = yield* tx.all([
    tx.range(SessionTable, "byBase", behind),
    tx.range(OperationTable, "byBase", behind),
  ])
  return [
    ...sessions.map((row) => (isUnreadable(row) ? String(row.key[0]) : row.id)),
    ...operations.map((row) => (isUnreadable(row) ? String(row.key[0]) : row.sessionId)),
  ]
})

/** Those of some sessions that an entry of another one links to. */
export const linkedAmong = fn(function* (tx, sessionIds: ReadonlyArray<string>) {
  const links = yield* tx.all(
    sessionIds.map((id) => tx.range(EntryTable, "byLinked", { prefix: [id], limit: 1, unreadable: "keep" })),
  )
  return new Set(sessionIds.filter((_, i) => links[i]!.length > 0))
})
