/**
 * What calls add up to, as callers see it.
 */
import type { Spent, Tally } from "./model.ts"
import { add, noCalls, spentIn, tokensIn } from "./tally.ts"

/** Tokens, calls, turns and money. Each token is counted under one name. */
export interface UsageTotals {
  readonly calls: number
  /** Calls that failed, and that were given up: they are among `calls`, and what they used is counted. */
  readonly failed: number
  readonly aborted: number
  /** A turn is counted with its first call. `null`: groups of models and of providers share turns. */
  readonly turns: number | null
  /** What was read, without `cacheRead` and `cacheWrite`. */
  readonly input: number
  /** What was written, without `reasoning`. */
  readonly output: number
  readonly reasoning: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /**
   * What is known of the cost, in billionths of each currency: `{ USD: 5_564_900 }` is 0.0055649 dollars. Empty: nothing
   * is known.
   */
  readonly cost: Readonly<Record<string, number>>
  /** Calls whose cost is not known, and their tokens. */
  readonly unpricedCalls: number
  readonly unpricedTokens: number
  /** Calls whose input or output is not known: the tokens are at least what is said. */
  readonly unknownCalls: number
  /** Whether there are such calls. */
  readonly partial: boolean
}

/** The totals of a session or a turn, as its row has them. */
export const totalsOf = (usage: ReadonlyArray<Spent> = []): UsageTotals => groupTotals({}, usage, true)

/** Totals of calls that have something in common, which is told with them. */
export const groupTotals = <Common extends object>(
  common: Common,
  usage: ReadonlyArray<Spent>,
  hasTurns: boolean,
): Common & UsageTotals => {
  const all = { ...noCalls }
  const cost: Record<string, number> = {}
  let unpricedCalls = 0
  let unpricedTokens = 0
  for (const spent of usage) {
    const { calls, cost: known, currency } = spent
    add(all, spent)
    if (calls === 0) continue
    if (currency !== undefined) cost[currency] = known
    else {
      unpricedCalls += calls
      unpricedTokens += tokensIn(spent)
    }
  }
  const totals: UsageTotals = {
    calls: all.calls,
    failed: all.failed,
    aborted: all.aborted,
    turns: hasTurns ? all.turns : null,
    input: all.input,
    output: all.output,
    reasoning: all.reasoning,
    cacheRead: all.cacheRead,
    cacheWrite: all.cacheWrite,
    cost,
    unpricedCalls,
    unpricedTokens,
    unknownCalls: all.unknown,
    partial: all.unknown > 0,
  }
  // Not the other way round: to add fields to a copy costs a hundred times as much.
  return Object.assign(totals, common)
}

/** Sums by currency that grow. */
export class Sums {
  readonly #byCurrency = new Map<string | undefined, Spent>()

  add(currency: string | undefined, tally: Tally): void {
    const sum = this.#byCurrency.get(currency)
    if (sum === undefined) this.#byCurrency.set(currency, spentIn(currency, tally))
    else add(sum, tally)
  }

  get spent(): ReadonlyArray<Spent> {
    return [...this.#byCurrency.values()]
  }
}
