/**
 * Walks over the ledger, a window at a time.
 */
import { fn, isUnreadable } from "../storage/transaction.ts"
import { UsageTable } from "./model.ts"
import type { UsageRow } from "./model.ts"

/** Time from one moment up to, and without, another. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** All the time that calls can be of: until the year 9999. */
export const allTime: Span = { from: 0, to: 253_370_764_800_000 }

/** Where a call stands in time. */
export type Moment = Pick<UsageRow, "at" | "call">

export interface Calls {
  readonly calls: ReadonlyArray<Readonly<UsageRow>>
  readonly end: Moment | undefined
}

/** The next calls of a time behind `after`, and where the window behind them begins. Unreadable ones are left out. */
export const callsIn = fn(function* (tx, { from, to }: Span, after: Moment | undefined, limit: number) {
  const rows = yield* tx.range(UsageTable, "byTime", {
    ...(after === undefined ? { from: [from] as const } : { after: [after.at, after.call] as const }),
    before: [to],
    limit,
    unreadable: "keep",
  })
  const calls = rows.filter((row): row is Readonly<UsageRow> => !isUnreadable(row))
  const isFull = rows.length === limit
  // Behind so much damage nothing says where to go on: this fails with `Corrupt`.
  const [damaged] = rows.filter(isUnreadable)
  if (isFull && calls.length === 0) yield* tx.get(UsageTable, [String(damaged!.key[0])])
  const found: Calls = { calls, end: isFull ? calls.at(-1) : undefined }
  return found
})
