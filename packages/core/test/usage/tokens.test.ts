import { describe, expect, it } from "vitest"
import { readTokens } from "../../src/usage/tokens.ts"

type Row = readonly [what: string, usage: unknown, provider: string, tokens: ReadonlyArray<number | null> | undefined]

/** Reports as they come, and what they are: input, output, reasoning, read from a cache, written to one. */
const reports: ReadonlyArray<Row> = [
  ["AI SDK 5", { inputTokens: 100, outputTokens: 30, totalTokens: 130 }, "openai", [100, 30, null, null, null]],
  [
    "AI SDK 5, of a provider that counts cached and reasoning tokens in",
    { inputTokens: 100, outputTokens: 30, totalTokens: 130, reasoningTokens: 20, cachedInputTokens: 90 },
    "openai.responses",
    [10, 10, 20, 90, null],
  ],
  [
    "AI SDK 5, of one that counts reasoning beside the output",
    { inputTokens: 555, outputTokens: 190, totalTokens: 1_802, reasoningTokens: 1_057, cachedInputTokens: 316 },
    "xai",
    [239, 190, 1_057, 316, null],
  ],
  [
    "AI SDK 5, of one whose reasoning beside the output is the smaller part",
    { inputTokens: 10, outputTokens: 100, totalTokens: 160, reasoningTokens: 50 },
    "google",
    [10, 100, 50, null, null],
  ],
  [
    "AI SDK 5, of Anthropic, which counts cached tokens beside the input",
    { inputTokens: 100, outputTokens: 30, totalTokens: 130, cachedInputTokens: 90 },
    "anthropic.messages",
    [100, 30, null, 90, null],
  ],
  [
    "AI SDK 5, of Anthropic on Bedrock",
    { inputTokens: 100, outputTokens: 30, totalTokens: 130, cachedInputTokens: 90 },
    "amazon-bedrock",
    [100, 30, null, 90, null],
  ],
  [
    "AI SDK 5, with more cached tokens than can be in the input",
    { inputTokens: 18, outputTokens: 141, totalTokens: 159, cachedInputTokens: 2_284 },
    "gateway",
    [18, 141, null, 2_284, null],
  ],
  [
    "AI SDK 6",
    {
      inputTokens: 100,
      inputTokenDetails: { noCacheTokens: 7, cacheReadTokens: 90, cacheWriteTokens: 3 },
      outputTokens: 30,
      outputTokenDetails: { textTokens: 10, reasoningTokens: 20 },
      totalTokens: 130,
      reasoningTokens: 20,
      cachedInputTokens: 90,
    },
    "anthropic.messages",
    [7, 10, 20, 90, 3],
  ],
  [
    "AI SDK 6, without the parts that are the rest",
    {
      inputTokens: 100,
      inputTokenDetails: { noCacheTokens: undefined, cacheReadTokens: 90, cacheWriteTokens: 3 },
      outputTokens: 30,
      outputTokenDetails: { textTokens: undefined, reasoningTokens: undefined },
      totalTokens: 130,
    },
    "anthropic.messages",
    [7, 30, null, 90, 3],
  ],
  [
    "AI SDK, of a call that failed",
    { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined },
    "openai",
    [null, null, null, null, null],
  ],
  [
    "OpenAI, chat",
    {
      prompt_tokens: 100,
      completion_tokens: 30,
      total_tokens: 130,
      prompt_tokens_details: { cached_tokens: 90, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 20 },
    },
    "openai",
    [10, 10, 20, 90, null],
  ],
  ["OpenAI, chat, no details", { prompt_tokens: 5, completion_tokens: 0 }, "openai", [5, 0, null, null, null]],
  [
    "OpenAI, chat, details of nothing",
    { prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: null, completion_tokens_details: null },
    "openai",
    [5, 1, null, null, null],
  ],
  [
    "xAI, which counts reasoning beside the completion",
    {
      prompt_tokens: 2_640,
      completion_tokens: 182,
      total_tokens: 3_494,
      prompt_tokens_details: { cached_tokens: 473 },
      completion_tokens_details: { reasoning_tokens: 672 },
    },
    "xai",
    [2_167, 182, 672, 473, null],
  ],
  [
    "OpenRouter, with what was written to a cache",
    { prompt_tokens: 100, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 } },
    "openrouter",
    [10, 1, null, 60, 30],
  ],
  [
    "OpenAI, responses",
    {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 90 },
      output_tokens: 30,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 130,
    },
    "openai",
    [10, 30, 0, 90, null],
  ],
  ["Anthropic", { input_tokens: 5, output_tokens: 7 }, "anthropic", [5, 7, null, null, null]],
  [
    "Anthropic, with caches",
    { input_tokens: 5, output_tokens: 7, cache_read_input_tokens: 90, cache_creation_input_tokens: 40 },
    "anthropic",
    [5, 7, null, 90, 40],
  ],
  [
    "Anthropic, with a cache that was not used",
    { input_tokens: 5, output_tokens: 7, cache_read_input_tokens: 0, cache_creation_input_tokens: null },
    "anthropic",
    [5, 7, null, 0, null],
  ],
  ["nothing", undefined, "openai", undefined],
  ["null", null, "openai", undefined],
  ["a number", 5, "openai", undefined],
  ["an object of something else", { tokens: 5 }, "openai", undefined],
  ["names that it only inherits", Object.create({ prompt_tokens: 5 }), "openai", undefined],
]

describe("reports of usage", () => {
  it.each(reports)("USE-01, A60 %s", (_what, usage, provider, expected) => {
    const tokens = readTokens(usage, provider)
    const { cacheRead, cacheWrite, input, output, reasoning } = tokens ?? {}
    expect(tokens && [input, output, reasoning, cacheRead, cacheWrite]).toEqual(expected)
  })
})
