/**
 * From what providers and SDKs report to tokens of one convention.
 *
 * Guarantee: each token is counted under one name: `input` has no cached ones, `output` no reasoning. What a report does
 * not say is `null`. Numbers are taken as they are; `record` refuses those that make no sense.
 */
import type { Tokens } from "./model.ts"

type Maybe = number | null | undefined

/** `LanguageModelUsage` of the AI SDK, of version 5 and of later ones, which tell details. */
export interface AiSdkUsage {
  readonly inputTokens?: Maybe
  readonly outputTokens?: Maybe
  readonly totalTokens?: Maybe
  readonly reasoningTokens?: Maybe
  readonly cachedInputTokens?: Maybe
  readonly inputTokenDetails?:
    | { readonly noCacheTokens?: Maybe; readonly cacheReadTokens?: Maybe; readonly cacheWriteTokens?: Maybe }
    | undefined
  readonly outputTokenDetails?: { readonly textTokens?: Maybe; readonly reasoningTokens?: Maybe } | undefined
}

/** `usage` of OpenAI's chat completions and responses, and of those who speak like them. */
export interface OpenAiUsage {
  readonly prompt_tokens?: Maybe
  readonly completion_tokens?: Maybe
  readonly prompt_tokens_details?: { readonly cached_tokens?: Maybe; readonly cache_write_tokens?: Maybe } | null
  readonly completion_tokens_details?: { readonly reasoning_tokens?: Maybe } | null
  readonly input_tokens?: Maybe
  readonly output_tokens?: Maybe
  readonly input_tokens_details?: { readonly cached_tokens?: Maybe } | null
  readonly output_tokens_details?: { readonly reasoning_tokens?: Maybe } | null
  readonly total_tokens?: Maybe
}

/** `usage` of Anthropic's messages. */
export interface AnthropicUsage {
  readonly input_tokens?: Maybe
  readonly output_tokens?: Maybe
  readonly cache_read_input_tokens?: Maybe
  readonly cache_creation_input_tokens?: Maybe
}

/** A report in which the parts may be counted in the wholes. */
interface Report {
  readonly input: number | null
  readonly output: number | null
  readonly total: number | null
  readonly reasoning: number | null
  readonly cacheRead: number | null
  readonly cacheWrite: number | null
  /** Whether `input` has the cached ones in it. */
  readonly includesCache: boolean
}

/**
 * Version 5 hands on what the provider counts: Anthropic, also on Bedrock, leaves cached tokens out of the input, others
 * do not. `provider` tells; without it, more cached tokens than input do.
 */
export const fromAiSdk = (usage: AiSdkUsage, provider = ""): Tokens => {
  const { inputTokenDetails: read, outputTokenDetails: written } = usage
  const tokens = disjoint({
    input: known(usage.inputTokens),
    output: known(usage.outputTokens),
    total: known(usage.totalTokens),
    reasoning: known(written?.reasoningTokens ?? usage.reasoningTokens),
    cacheRead: known(read?.cacheReadTokens ?? usage.cachedInputTokens),
    cacheWrite: known(read?.cacheWriteTokens),
    includesCache: read !== undefined || !/anthropic|bedrock/i.test(provider),
  })
  return {
    ...tokens,
    input: known(read?.noCacheTokens) ?? tokens.input,
    output: known(written?.textTokens) ?? tokens.output,
  }
}

export const fromOpenAi = (usage: OpenAiUsage): Tokens =>
  disjoint({
    input: known(usage.prompt_tokens ?? usage.input_tokens),
    output: known(usage.completion_tokens ?? usage.output_tokens),
    total: known(usage.total_tokens),
    reasoning: known((usage.completion_tokens_details ?? usage.output_tokens_details)?.reasoning_tokens),
    cacheRead: known((usage.prompt_tokens_details ?? usage.input_tokens_details)?.cached_tokens),
    cacheWrite: known(usage.prompt_tokens_details?.cache_write_tokens),
    includesCache: true,
  })

export const fromAnthropic = (usage: AnthropicUsage): Tokens => ({
  input: known(usage.input_tokens),
  output: known(usage.output_tokens),
  reasoning: null,
  cacheRead: known(usage.cache_read_input_tokens),
  cacheWrite: known(usage.cache_creation_input_tokens),
})

/** The tokens of a report in any of these forms, or in that of records; `undefined` for anything else. */
export const readTokens = (usage: unknown, provider: string): Tokens | undefined => {
  if (typeof usage !== "object" || usage === null) return undefined
  const has = (...names: ReadonlyArray<string>) => names.some((name) => Object.hasOwn(usage, name))
  if (has("inputTokens", "outputTokens", "inputTokenDetails")) return fromAiSdk(usage as AiSdkUsage, provider)
  if (has("cache_read_input_tokens", "cache_creation_input_tokens")) return fromAnthropic(usage as AnthropicUsage)
  if (has("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens"))
    return fromOpenAi(usage as OpenAiUsage)
  return undefined
}

const known = (count: Maybe): number | null => count ?? null

const disjoint = ({ cacheRead, cacheWrite, includesCache, input, output, reasoning, total }: Report): Tokens => {
  // Some count reasoning beside the output: then only all of it makes the total.
  const isBeside = total !== null && total === (input ?? 0) + (output ?? 0) + (reasoning ?? 0)
  return {
    input: includesCache ? without(input, cacheRead, cacheWrite) : input,
    output: isBeside ? output : without(output, reasoning),
    reasoning,
    cacheRead,
    cacheWrite,
  }
}

/** A whole without its parts. Parts that are more than it were never in it. */
const without = (whole: number | null, ...parts: ReadonlyArray<number | null>): number | null => {
  const sum = parts.reduce<number>((all, part) => all + (part ?? 0), 0)
  return whole === null || sum > whole ? whole : whole - sum
}
