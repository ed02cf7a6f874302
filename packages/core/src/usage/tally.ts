/**
 * Adding up calls: pure functions over tallies.
 *
 * All numbers are whole: money is counted in billionths of its currency. Sums are exact up to 2^53 − 1, which as money is
 * 9,007,199 units.
 */
import { Tally } from "./model.ts"
import type { Spent, Tokens, UsageRow } from "./model.ts"

/** What a tally counts, in its order. */
export const measures = Object.keys(Tally.shape) as ReadonlyArray<keyof Tally>

export const tokenKinds = ["input", "output", "reasoning", "cacheRead", "cacheWrite"] as const

export const noCalls: Tally = {
  calls: 0,
  input: 0,
  output: 0,
  cost: 0,
  cacheRead: 0,
  turns: 0,
  reasoning: 0,
  cacheWrite: 0,
  failed: 0,
  aborted: 0,
  unknown: 0,
}

export const tallyOf = (call: UsageRow): Tally => ({
  calls: 1,
  input: call.input ?? 0,
  output: call.output ?? 0,
  cost: call.cost ?? 0,
  cacheRead: call.cacheRead ?? 0,
  turns: call.opensTurn === true ? 1 : 0,
  reasoning: call.reasoning ?? 0,
  cacheWrite: call.cacheWrite ?? 0,
  failed: call.outcome === "failed" ? 1 : 0,
  aborted: call.outcome === "aborted" ? 1 : 0,
  unknown: isUnknown(call) ? 1 : 0,
})

/** Whether a call's usage is not known, or not all of it. Not everybody tells of caches and of reasoning. */
export const isUnknown = ({ input, output }: Tokens): boolean => input === null || output === null

/** All tokens that are known. */
export const tokensIn = (of: Readonly<Record<(typeof tokenKinds)[number], number | null>>): number =>
  tokenKinds.reduce((sum, kind) => sum + (of[kind] ?? 0), 0)

/** Adds a tally to one that is the caller's own. Written out: by their names, fields are added many times slower. */
export const add = (into: Tally, tally: Tally): void => {
  into.calls += tally.calls
  into.input += tally.input
  into.output += tally.output
  into.cost += tally.cost
  into.cacheRead += tally.cacheRead
  into.turns += tally.turns
  into.reasoning += tally.reasoning
  into.cacheWrite += tally.cacheWrite
  into.failed += tally.failed
  into.aborted += tally.aborted
  into.unknown += tally.unknown
}

/** The sum of two tallies, or with `times` −1 their difference. */
export const plus = (a: Tally, b: Tally, times: 1 | -1 = 1): Tally => ({
  calls: a.calls + times * b.calls,
  input: a.input + times * b.input,
  output: a.output + times * b.output,
  cost: a.cost + times * b.cost,
  cacheRead: a.cacheRead + times * b.cacheRead,
  turns: a.turns + times * b.turns,
  reasoning: a.reasoning + times * b.reasoning,
  cacheWrite: a.cacheWrite + times * b.cacheWrite,
  failed: a.failed + times * b.failed,
  aborted: a.aborted + times * b.aborted,
  unknown: a.unknown + times * b.unknown,
})

/** The first number that has grown too large to be exact. */
export const inexactIn = (tallies: Iterable<Tally>): readonly [keyof Tally, number] | undefined => {
  for (const tally of tallies) {
    const measure = measures.find((one) => !Number.isSafeInteger(tally[one]))
    if (measure !== undefined) return [measure, tally[measure]]
  }
  return undefined
}

/** A call that is counted, or no longer. */
export interface Part {
  readonly call: UsageRow
  readonly times: 1 | -1
}

/** Sums by currency with calls counted in, or out. A sum of no calls goes. */
export const withParts = (before: ReadonlyArray<Spent>, parts: ReadonlyArray<Part>): Array<Spent> => {
  const sums = new Map(before.map((spent) => [spent.currency, spent as Tally]))
  for (const { call, times } of parts) {
    sums.set(call.currency, plus(sums.get(call.currency) ?? noCalls, tallyOf(call), times))
  }
  return [...sums].filter(([, { calls }]) => calls > 0).map(([currency, tally]) => spentIn(currency, tally))
}

/** A tally in a currency. */
export const spentIn = (currency: string | undefined, tally: Tally): Spent => {
  const spent: Spent = plus(tally, noCalls)
  if (currency !== undefined) spent.currency = currency
  return spent
}
