/**
 * What calls cost by a table of prices.
 *
 * Guarantee: a cost is known or it is not. A model without a price, or a call of unknown usage, costs `undefined`, never
 * nothing; a price of 0 costs 0.
 */
import * as z from "zod/mini"
import type { Tokens } from "./model.ts"
import { isUnknown } from "./tally.ts"

/** Prices of a million tokens, in units of the currency. */
export interface Rates {
  readonly input: number
  readonly output: number
  /** Default: as `output`. */
  readonly reasoning?: number | undefined
  /** Default: as `input`. */
  readonly cacheRead?: number | undefined
  /** Default: as `input`. */
  readonly cacheWrite?: number | undefined
}

export interface Price extends Rates {
  /** Default `USD`. */
  readonly currency?: string | undefined
  /**
   * Other rates for calls with more than `over` tokens of input, cached ones included. They hold for the whole call; of
   * several tiers that a call is over, the highest.
   */
  readonly tiers?: ReadonlyArray<Rates & { readonly over: number }> | undefined
}

/** Prices by provider and model, as they are named in records. */
export type PriceTable = Readonly<Record<string, Readonly<Record<string, Price>>>>

/** Three to ten capital letters and digits, a letter first: an ISO 4217 code, or what stands for one. */
export const Currency = z
  .string()
  .check(
    z.regex(/^[A-Z][A-Z0-9]{2,9}$/, "must be 3 to 10 capital letters and digits that begin with a letter, such as USD"),
  )

const Rate = z.number().check(z.nonnegative())
const rates = {
  input: Rate,
  output: Rate,
  reasoning: z.optional(Rate),
  cacheRead: z.optional(Rate),
  cacheWrite: z.optional(Rate),
}
const PriceInput = z.strictObject({
  ...rates,
  currency: z.optional(Currency),
  tiers: z.optional(z.array(z.strictObject({ ...rates, over: z.int().check(z.nonnegative()) }))),
})
export const PriceTableInput = z.record(z.string(), z.record(z.string(), PriceInput))

export const defaultCurrency = "USD"

interface Cost {
  /** In billionths of the currency. */
  readonly cost: number
  readonly currency: string
}

export const costOf = (
  prices: PriceTable | undefined,
  call: Tokens & { readonly provider: string; readonly model: string },
): Cost | undefined => {
  const models = ownOf(prices, call.provider)
  const price = ownOf(models, call.model)
  if (price === undefined || isUnknown(call)) return undefined
  const { cacheRead, cacheWrite, input, output, reasoning } = price.tiers === undefined ? price : tierOf(price, call)
  const millionths =
    (call.input ?? 0) * input +
    (call.output ?? 0) * output +
    (call.reasoning ?? 0) * (reasoning ?? output) +
    (call.cacheRead ?? 0) * (cacheRead ?? input) +
    (call.cacheWrite ?? 0) * (cacheWrite ?? input)
  return { cost: Math.round(millionths * 1_000), currency: price.currency ?? defaultCurrency }
}

/** Names of providers and models are anybody's, `constructor` included. */
const ownOf = <A>(record: Readonly<Record<string, A>> | undefined, name: string): A | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined

const tierOf = (price: Price, { cacheRead, cacheWrite, input }: Tokens): Rates => {
  const prompt = (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0)
  let found: Rates = price
  let highest = -1
  for (const tier of price.tiers ?? []) {
    if (prompt <= tier.over || tier.over <= highest) continue
    found = tier
    highest = tier.over
  }
  return found
}
