/**
 * What callers may say of a model call.
 *
 * Guarantee: a number that counts tokens or money is a whole one, 0 or more, or `null` where it is not known; anything else
 * is refused with `InvalidInput`, which says so, before anything is read.
 */
import * as z from "zod/mini"
import { isId } from "../id.ts"
import { jsonProblem, parseInput, Text } from "../input.ts"
import { Name } from "../session/input.ts"
import { InvalidInput } from "../storage/error.ts"
import { copyJson } from "../storage/json.ts"
import { key } from "../storage/key.ts"
import { allTime } from "./ledger.ts"
import { CallOutcome } from "./model.ts"
import type { Tokens } from "./model.ts"
import { Currency, defaultCurrency } from "./prices.ts"
import type { NewCall } from "./program.ts"
import { tokenKinds } from "./tally.ts"
import { readTokens } from "./tokens.ts"

/** A call of a model, as it is recorded. */
export interface UsageInput extends Partial<Tokens> {
  /** Names the call: 1 to 500 characters, unique in the store. What is told of it again is not counted again. */
  readonly callId: string
  readonly provider: string
  readonly model: string
  /** The turn it belongs to. Default with an `epoch`: the turn that runs; else none. */
  readonly turnId?: string
  /** The message it made. */
  readonly entryId?: string
  /** When it was made, in milliseconds since 1970. Default: now; of a call that is told again, as it was. */
  readonly at?: number
  /** Default `completed`. */
  readonly outcome?: CallOutcome
  /**
   * What the AI SDK, OpenAI or Anthropic report, as it came: tokens are taken from it, and it is kept as `raw`. Instead of
   * `input`, `output`, `reasoning`, `cacheRead` and `cacheWrite`.
   */
  readonly usage?: unknown
  /**
   * What it cost, in whole billionths of the currency: `billionths(0.0055649)` makes them, up to 9,007,199 units. Default
   * and `null`: what the table of prices says, or unknown without one.
   */
  readonly cost?: number | null
  /** 3 to 10 capital letters and digits, such as `EUR`. Default `USD`. */
  readonly currency?: string
  /**
   * The numbers are no call's own but running totals of the session, as some agents report: what they have grown by since
   * the last ones is recorded, and never less than nothing. A name tells several such totals of a session apart.
   */
  readonly cumulative?: true | string
  /** Any JSON, kept exactly. */
  readonly raw?: unknown
}

const wholeNumber = z.custom<number | null>(
  (value) => value === null || (Number.isSafeInteger(value) && (value as number) >= 0),
  "must be a whole number, 0 or more, or null where it is not known",
)
const count = z.optional(wholeNumber)

/** A time at which a call can be. */
export const Time = z
  .number()
  .check(
    z.refine(
      (time) => Number.isInteger(time) && time >= allTime.from && time < allTime.to,
      "must be whole milliseconds since 1970, before the year 9999",
    ),
  )

const Id = z.string().check(z.refine(isId, "must be 1 to 128 characters of A–Z, a–z, 0–9, _ and -"))
const CallId = Text.check(z.minLength(1), z.maxLength(500))

const UsageInputSchema = z.strictObject({
  callId: CallId,
  provider: Name,
  model: Name,
  turnId: z.optional(Id),
  entryId: z.optional(Id),
  at: z.optional(Time),
  outcome: z.optional(CallOutcome),
  input: count,
  output: count,
  reasoning: count,
  cacheRead: count,
  cacheWrite: count,
  usage: z.optional(z.unknown()),
  cost: z.optional(
    z.custom<number | null>(
      (value) => value === null || (Number.isSafeInteger(value) && (value as number) >= 0),
      "must be whole billionths of the currency, 0 or more, as billionths(0.02) makes them, or null where it is not known",
    ),
  ),
  currency: z.optional(Currency),
  cumulative: z.optional(z.union([z.literal(true), Text.check(z.minLength(1), z.maxLength(200))])),
  raw: z.optional(z.unknown()),
})

/** Checks a call. `name` is what errors call it. */
export const toCall = (given: UsageInput, name: string): NewCall | InvalidInput => {
  const input = parseInput(UsageInputSchema, given, name)
  if (input instanceof InvalidInput) return input
  const tokens = tokensOf(input, name)
  if (tokens instanceof InvalidInput) return tokens
  const raw = input.raw ?? input.usage
  const problem = jsonProblem(raw ?? null, `${name}.${input.raw === undefined ? "usage" : "raw"}`)
  if (problem !== undefined) return problem
  const {
    at,
    callId,
    cost = null,
    cumulative,
    currency = defaultCurrency,
    entryId,
    model,
    provider,
    turnId = "",
  } = input
  return {
    callId,
    provider,
    model,
    at,
    outcome: input.outcome ?? "completed",
    ...tokens,
    cost,
    currency,
    turn: turnId,
    entryId,
    raw: raw === undefined ? undefined : copyJson(raw),
    counter: cumulative === undefined ? undefined : key(cumulative === true ? "" : cumulative),
  }
}

type Checked = z.output<typeof UsageInputSchema>

const tokensOf = (input: Checked, name: string): Tokens | InvalidInput => {
  const { cacheRead = null, cacheWrite = null, output = null, provider, reasoning = null, usage } = input
  if (usage === undefined) return { input: input.input ?? null, output, reasoning, cacheRead, cacheWrite }
  const twice = tokenKinds.find((kind) => input[kind] !== undefined)
  const field = `${name}.usage`
  if (twice !== undefined) {
    return new InvalidInput({
      field: `${name}.${twice}`,
      value: input[twice],
      problem: "is told by usage: give one of the two",
    })
  }
  const tokens = readTokens(usage, provider)
  if (tokens === undefined) {
    const problem = "must be what the AI SDK, OpenAI or Anthropic report; give input, output and so on for others"
    return new InvalidInput({ field, value: usage, problem })
  }
  for (const kind of tokenKinds) {
    const unfit = parseInput(wholeNumber, tokens[kind], `${field} (${kind})`)
    if (unfit instanceof InvalidInput) return unfit
  }
  return tokens
}

/** An amount of money in units of its currency as the whole billionths that are recorded, the nearest ones. */
export const billionths = (amount: number): number => Math.round(amount * 1e9)
