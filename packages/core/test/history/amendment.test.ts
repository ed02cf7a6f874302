import { describe, expect, it } from "vitest"
import { dialects } from "../../src/history/dialect.ts"
import type { Dialect } from "../../src/history/dialect.ts"
import { aiSdk, aiSdkUi, anthropic, generic, openai, openaiResponses, pi } from "../../src/history/dialects/index.ts"
import { render } from "../../src/history/render.ts"
import type { Json } from "../../src/storage/json.ts"

const all = dialects(generic, aiSdk, pi, anthropic, openai)

const secret = "long ".repeat(100)
const image = "iVBORw0KGgo="

/** Results in every form that their formats have, each with its call. */
const results: ReadonlyArray<readonly [string, Dialect<unknown>, ReadonlyArray<Json>]> = [
  ...[
    { type: "text", value: secret },
    { type: "text", value: secret, providerOptions: {} },
    { type: "json", value: secret },
    { type: "json", value: { secret } },
    { type: "error-text", value: secret },
    {
      type: "content",
      value: [
        { type: "text", text: secret },
        { type: "image-data", data: image, mediaType: "image/png" },
      ],
    },
    { type: "hologram", value: secret },
    secret,
  ].map((output, n) => {
    const call = { type: "tool-call", toolCallId: "c", toolName: "read", input: {} }
    const result = { type: "tool-result", toolCallId: "c", toolName: "read", output }
    const bodies: ReadonlyArray<Json> = [
      { role: "assistant", content: [call] },
      { role: "tool", content: [result] },
    ]
    return [`ai-sdk ${n}`, aiSdk, bodies] as const
  }),
  ...[
    { state: "output-available", output: secret },
    { state: "output-available", output: { secret } },
    { state: "output-error", errorText: secret },
  ].map((outcome, n) => {
    const parts = [{ type: "tool-read", toolCallId: "c", input: {}, ...outcome }]
    return [`ai-sdk for pages ${n}`, aiSdkUi, [{ id: "m", role: "assistant", parts }]] as const
  }),
  ...[
    secret,
    [{ type: "text", text: secret }],
    [
      { type: "text", text: secret },
      { type: "image", source: { type: "base64", media_type: "image/png", data: image } },
    ],
    [{ type: "search_result", source: "s", title: "t", content: [{ type: "text", text: secret }] }],
    { secret },
  ].map((content, n) => {
    const bodies: ReadonlyArray<Json> = [
      { role: "assistant", content: [{ type: "tool_use", id: "c", name: "read", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content }] },
    ]
    return [`anthropic ${n}`, anthropic, bodies] as const
  }),
  ...[secret, [{ type: "text", text: secret }], [{ type: "hologram", secret }]].map((content, n) => {
    const call = { id: "c", type: "function", function: { name: "read", arguments: "{}" } }
    const bodies: ReadonlyArray<Json> = [
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c", content },
    ]
    return [`openai ${n}`, openai, bodies] as const
  }),
  ...[secret, [{ type: "input_text", text: secret }], [{ type: "hologram", secret }], { secret }].map((output, n) => {
    const call: Json = { type: "function_call", call_id: "c", name: "read", arguments: "{}" }
    return [
      `items of openai ${n}`,
      openaiResponses,
      [[call], [{ type: "function_call_output", call_id: "c", output }]],
    ] as const
  }),
  ...[{}, { details: { lines: 1 } }, { details: { text: secret } }].map((more, n) => {
    const result = { role: "toolResult", toolCallId: "c", toolName: "read", isError: false, timestamp: 2 }
    const bodies: ReadonlyArray<Json> = [
      { role: "assistant", content: [{ type: "toolCall", id: "c", name: "read", arguments: {} }], timestamp: 1 },
      {
        ...result,
        content: [
          { type: "text", text: n === 2 ? JSON.stringify({ text: secret }) : secret },
          { type: "image", data: image, mimeType: "image/png" },
        ].slice(0, n === 2 ? 1 : 2),
        ...more,
      },
    ]
    return [`pi ${n}`, pi, bodies] as const
  }),
]

describe("HIS-04 a result that is amended", () => {
  it.each(results)("is given as it is amended, in every form: %s", (_, dialect, bodies) => {
    const entries = (amendments?: { archive?: string; trim?: number }) =>
      bodies.map((body, n) => ({
        id: `e${n}`,
        role: "user" as const,
        dialect: dialect.name,
        body,
        ...(n === bodies.length - 1 && amendments !== undefined
          ? { amendments: [{ of: { branch: 1, pos: n + 1 }, message: `e${n}`, ...amendments }] }
          : {}),
      }))
    const given = (amendments?: { archive?: string; trim?: number }) =>
      JSON.stringify(render(entries(amendments), dialect, all).messages)

    expect(given()).toContain(secret)
    expect(given({ archive: "It is in the archive." })).toContain("It is in the archive.")
    for (const amended of [given({ archive: "It is in the archive." }), given({ trim: 20 })]) {
      expect(amended).not.toContain(secret)
      expect(amended).not.toContain(image)
    }
  })

  it("of a call that the provider ran itself is given as it is stored: the provider takes no other form", () => {
    const body: Json = {
      role: "assistant",
      content: [
        { type: "server_tool_use", id: "c", name: "web_search", input: { query: "q" } },
        { type: "web_search_tool_result", tool_use_id: "c", content: [{ type: "web_search_result", title: secret }] },
      ],
    }
    const amendments = [{ of: { branch: 1, pos: 1 }, message: "e", archive: "It is in the archive." }]
    const entry = { id: "e", role: "assistant" as const, dialect: "anthropic", body, amendments }
    expect(render([entry], anthropic, all)).toEqual({ messages: [body], repairs: [] })
  })
})
