/**
 * Whether the sums are what the ledger adds up to.
 *
 * Guarantee: everything is worked out again from the ledger: the sums of a UTC day, then the totals of some sessions,
 * then those of some turns, in one read each. A read is one snapshot, so that whoever records meanwhile makes no
 * difference.
 */
import { isSeen } from "../scope.ts"
import type { Scope } from "../scope.ts"
import { SessionTable } from "../session/model.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import { TurnTable } from "../turn/model.ts"
import { canonical } from "../value.ts"
import { counted, sumId, sumsOf } from "./counting.ts"
import { allTime, callsIn } from "./ledger.ts"
import type { Calls, Moment, Span } from "./ledger.ts"
import { SumKind, UsageSumTable, UsageTable } from "./model.ts"
import type { UsageRow, UsageSumRow } from "./model.ts"
import { dayOf, timeOf } from "./slots.ts"
import { placeOf, sums } from "./summary.ts"
import type { Grouping, Place, Subject, Window } from "./summary.ts"
import { withParts } from "./tally.ts"
import { Sums, totalsOf } from "./totals.ts"

/** Something that is not what the ledger adds up to. */
export interface UsageDifference {
  readonly of: "sum" | "session" | "turn"
  /** The key of its row. */
  readonly key: ReadonlyArray<string | number>
  /** Absent: it is not there, or cannot be read. */
  readonly stored?: unknown
  /** Absent: it ought not to be there. */
  readonly expected?: unknown
}

const different = (
  of: UsageDifference["of"],
  key: UsageDifference["key"],
  stored: unknown,
  expected: unknown,
): ReadonlyArray<UsageDifference> =>
  canonical(stored) === canonical(expected)
    ? []
    : [{ of, key, ...(stored !== undefined && { stored }), ...(expected !== undefined && { expected }) }]

/** The first day from `day` on that has a call or a sum. */
export const nextDay = fn(function* (tx, day: number) {
  // Some more than the first one, so that a damaged one is no end.
  const { calls } = yield* callsIn({ from: timeOf(day, 0), to: allTime.to }, undefined, 10)
  const sums = yield* tx.all(
    SumKind.options.map((kind) =>
      tx.range(UsageSumTable, "byKind", { prefix: [kind], from: [kind, day], limit: 1, unreadable: "keep" }),
    ),
  )
  const days = [...calls.map(({ at }) => dayOf(at)), ...sums.flat().map((sum) => placeOf(sum).day)]
  return days.length === 0 ? undefined : Math.min(...days)
})

/** The sums of a day, and how many calls it has. */
export const checkDay = fn(function* (_tx, scope: Scope, day: number) {
  const span = { from: timeOf(day, 0), to: timeOf(day + 1, 0) }
  const expected = new Map<string, UsageSumRow>()
  let checked = 0
  let last: Moment | undefined
  do {
    const { calls, end }: Calls = yield* callsIn(span, last, maxRange)
    for (const call of calls.filter((row) => isSeen(scope, row))) {
      checked++
      for (const sum of sumsOf(call)) {
        const id = sumId(sum)
        expected.set(id, counted(expected.get(id) ?? sum, [{ call, times: 1 }]))
      }
    }
    last = end
  } while (last !== undefined)
  const differences: Array<UsageDifference> = []
  for (const grouping of [undefined, "project", "session"] as const) {
    for (const stored of yield* allSums(scope, { of: "all", ownerKey: undefined }, grouping, span)) {
      const id = sumId(stored)
      // A sum of which everything was taken away may stay.
      if (stored.tally.calls > 0 || expected.has(id)) {
        differences.push(...different("sum", keyOf(stored), stored, expected.get(id)))
      }
      expected.delete(id)
    }
  }
  for (const missing of expected.values()) differences.push(...different("sum", keyOf(missing), undefined, missing))
  return { checked, differences }
})

const keyOf = ({ cell, day, scope }: UsageSumRow) => [scope, day, cell]

const allSums = fn(function* (_tx, scope: Scope, subject: Subject, grouping: Grouping | undefined, span: Span) {
  const found: Array<Readonly<UsageSumRow>> = []
  let after: Place | undefined
  do {
    const { end, rows }: Window = yield* sums(scope, subject, grouping, span, after)
    found.push(...rows)
    after = end
  } while (after !== undefined)
  return found
})

/** How many sessions, or turns, are looked at in one read. */
const atOnce = 20

/** The totals of the next sessions behind `after`. */
export const checkSessions = fn(function* (tx, scope: Scope, after: string | undefined) {
  const rows = yield* tx.range(SessionTable, "key", {
    ...(after !== undefined && { after: [after] as const }),
    limit: atOnce,
    unreadable: "keep",
  })
  const differences: Array<UsageDifference> = []
  for (const row of rows) {
    if (isUnreadable(row) || !isSeen(scope, row)) continue
    const expected = new Sums()
    for (const sum of yield* allSums(scope, { of: "session", id: row.id }, undefined, allTime)) {
      expected.add(sum.currency, sum.tally)
    }
    differences.push(...different("session", [row.id], totalsOf(row.usage), totalsOf(expected.spent)))
  }
  const last = rows.length < atOnce ? undefined : rows.at(-1)
  return { checked: rows.length, differences, end: isUnreadable(last) ? String(last.key[0]) : last?.id }
})

/** Where a turn stands in its table. */
export type TurnKey = readonly [sessionId: string, epoch: number]

/** The totals of the next turns behind `after`. */
export const checkTurns = fn(function* (tx, scope: Scope, after: TurnKey | undefined) {
  const rows = yield* tx.range(TurnTable, "key", {
    ...(after !== undefined && { after }),
    limit: atOnce,
    unreadable: "keep",
  })
  const differences: Array<UsageDifference> = []
  for (const row of rows) {
    if (isUnreadable(row)) continue
    const calls = yield* callsOfTurn(row.sessionId, row.id)
    if (!calls.every((call) => isSeen(scope, call))) continue
    const expected = withParts(
      [],
      calls.map((call) => ({ call, times: 1 })),
    )
    differences.push(...different("turn", [row.sessionId, row.epoch], totalsOf(row.usage), totalsOf(expected)))
  }
  const last = rows.length < atOnce ? undefined : rows.at(-1)
  const end: TurnKey | undefined = isUnreadable(last)
    ? (last.key as [string, number])
    : last && [last.sessionId, last.epoch]
  return { checked: rows.length, differences, end }
})

const callsOfTurn = fn(function* (tx, sessionId: string, turn: string) {
  const found: Array<Readonly<UsageRow>> = []
  let after: readonly [string, string, string] | undefined
  do {
    const rows: ReadonlyArray<Readonly<UsageRow> | Unreadable> = yield* tx.range(UsageTable, "bySession", {
      prefix: [sessionId, turn],
      ...(after !== undefined && { after }),
      unreadable: "keep",
    })
    for (const row of rows) if (!isUnreadable(row)) found.push(row)
    const last = rows.at(-1)
    const call = isUnreadable(last) ? String(last.key[0]) : last?.call
    after = rows.length < maxRange ? undefined : [sessionId, turn, call!]
  } while (after !== undefined)
  return found
})
