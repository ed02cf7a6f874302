/**
 * The rules of operations: what was done is remembered for a while; and of those that take several commits, whoever is at
 * one holds it by a lease, and of two one goes on.
 */
import { TombstoneTable } from "../deletion/model.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import { OperationTable } from "./model.ts"
import type { OperationRow } from "./model.ts"

/** What is remembered of an operation; `undefined`: nothing, or not any more. One that is not finished is not forgotten. */
export const readReceipt = fn(function* (tx, id: string, now: number) {
  const row = yield* tx.get(OperationTable, [id])
  return row !== undefined && (row.unfinished !== undefined || row.expiresAt > now) ? row : undefined
})

/** An operation that somebody holds in a certain state. */
export interface HeldBy {
  readonly key: string
  readonly owner: string
  /** What its lease counted when it was seen. Absent: whatever. */
  readonly beat?: number
}

/** The operation, unless it is finished, gone, or not held as it was seen. */
export const findHeld = fn(function* (tx, { beat, key, owner }: HeldBy) {
  const row = yield* tx.get(OperationTable, [key])
  const holder = row?.unfinished === undefined ? undefined : row.holder
  const isHeld = holder?.owner === owner && (beat === undefined || beat === holder.beat)
  return isHeld ? row : undefined
})

/** Changes an operation of its holder; `undefined`: it is not its any more. */
export const change = fn(function* (tx, held: HeldBy, fields: Pick<OperationRow, "holder" | "stage">) {
  if ((yield* findHeld(held)) === undefined) return undefined
  return tx.update(OperationTable, [held.key], (row) => ({ ...row, ...fields }))
})

/** Forgets an operation that came to nothing. */
export const drop = fn(function* (tx, held: HeldBy, now: number) {
  const row = yield* findHeld(held)
  if (row === undefined) return
  const { baseBranch, sessionId } = row
  const tombstone = yield* tx.get(TombstoneTable, [sessionId])
  tx.remove(OperationTable, [held.key])
  if (tombstone === undefined || baseBranch === undefined) return
  // Its session was deleted meanwhile, but for what the operation needed.
  tx.update(TombstoneTable, [sessionId], ({ bases = [], leftSince = now, ...rest }) => ({
    ...rest,
    leftSince,
    bases: [...bases, baseBranch],
  }))
})

/** Operations of a kind that are not finished, behind one of them: at most 500. */
export const listUnfinished = fn(function* (tx, kind: string, after: string | undefined) {
  const rows = yield* tx.range(OperationTable, "byUnfinished", {
    prefix: [kind],
    ...(after !== undefined && { after: [kind, after] as const }),
    unreadable: "keep",
  })
  const last = rows.at(-1)
  return {
    operations: rows.filter((row): row is Readonly<OperationRow> => !isUnreadable(row)),
    next: rows.length < maxRange || last === undefined ? undefined : isUnreadable(last) ? String(last.key[0]) : last.id,
  }
})
