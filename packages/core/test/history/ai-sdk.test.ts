import { describe, expect, it } from "vitest"
import { aiSdk, aiSdkUi } from "../../src/history/dialects/ai-sdk.ts"
import type { GenericMessage, GenericPart } from "../../src/history/dialect.ts"
import type { Json } from "../../src/storage/json.ts"

const png = "iVBORw0KGgo="

/** An answer of two steps, as `toUIMessageStreamResponse` leaves it. */
const uiAnswer: Json = {
  id: "msg_Kq3Vd0Yc1TzWbLs4",
  role: "assistant",
  metadata: { model: "claude-sonnet-4-5", totalTokens: 512 },
  parts: [
    { type: "step-start" },
    {
      type: "reasoning",
      text: "I need the weather.",
      state: "done",
      providerMetadata: { anthropic: { signature: "EqoBCkYIAR" } },
    },
    { type: "text", text: "Let me look.", state: "done" },
    {
      type: "tool-getWeather",
      toolCallId: "toolu_01A",
      state: "output-available",
      input: { city: "Oslo" },
      output: { celsius: -3 },
      callProviderMetadata: { google: { thoughtSignature: "abc" } },
    },
    {
      type: "dynamic-tool",
      toolName: "mcp_search",
      toolCallId: "toolu_01B",
      state: "output-error",
      input: { q: "Oslo" },
      errorText: "timeout",
    },
    { type: "data-progress", id: "p", data: { done: true } },
    { type: "source-url", sourceId: "s1", url: "https://example.com/oslo" },
    { type: "step-start" },
    { type: "text", text: "It is -3 °C.", state: "done" },
  ],
}

const uiRead = (dialect: typeof aiSdk | typeof aiSdkUi) => {
  const reading = dialect.read(uiAnswer, "assistant")
  if ("unreadable" in reading) throw new Error(reading.unreadable)
  return reading
}

describe("HIS-02 UIMessages", () => {
  it("are read step by step: what the assistant said, then the results", () => {
    const { messages } = uiRead(aiSdk)
    expect(messages.map((message) => [message.role, message.content.map((part) => part.type)])).toEqual([
      ["assistant", ["other", "reasoning", "text", "tool-call", "tool-call", "other", "other"]],
      ["tool", ["tool-result", "tool-result"]],
      ["assistant", ["other", "text"]],
    ])
    expect(messages.every((message) => message.id === "msg_Kq3Vd0Yc1TzWbLs4")).toBe(true)
  })

  it("are given as ModelMessages to a reader of those", () => {
    const reading = uiRead(aiSdk)
    expect(reading.native).toBeUndefined()
    expect(aiSdk.write(reading.messages)).toEqual({
      messages: [
        {
          role: "assistant",
          content: [
            {
              type: "reasoning",
              text: "I need the weather.",
              providerOptions: { anthropic: { signature: "EqoBCkYIAR" } },
            },
            { type: "text", text: "Let me look." },
            {
              type: "tool-call",
              toolCallId: "toolu_01A",
              toolName: "getWeather",
              input: { city: "Oslo" },
              providerOptions: { google: { thoughtSignature: "abc" } },
            },
            { type: "tool-call", toolCallId: "toolu_01B", toolName: "mcp_search", input: { q: "Oslo" } },
          ],
        },
        {
          role: "tool",
          content: [
            {
              type: "tool-result",
              toolCallId: "toolu_01A",
              toolName: "getWeather",
              output: { type: "json", value: { celsius: -3 } },
              providerOptions: { google: { thoughtSignature: "abc" } },
            },
            {
              type: "tool-result",
              toolCallId: "toolu_01B",
              toolName: "mcp_search",
              output: { type: "error-text", value: "timeout" },
            },
          ],
        },
        { role: "assistant", content: [{ type: "text", text: "It is -3 °C." }] },
      ],
      lost: [],
    })
  })

  it("are given as they are to a reader of UIMessages, and written again the same", () => {
    const reading = uiRead(aiSdkUi)
    expect(reading.native).toBe(uiAnswer)
    expect(aiSdkUi.write(reading.messages)).toEqual({ messages: [uiAnswer], lost: [] })
  })

  const part = (fields: object) => ({
    id: "m1",
    role: "assistant",
    parts: [{ type: "tool-rm", toolCallId: "c1", input: { path: "/" }, ...fields }],
  })
  const asked = { id: "ap1" }
  it.each<[string, object, string | undefined, unknown]>([
    ["input-available", {}, undefined, undefined],
    ["approval-requested", { approval: asked }, undefined, undefined],
    ["approval-responded", { approval: { ...asked, approved: true } }, undefined, undefined],
    ["approval-responded", { approval: { ...asked, approved: false, reason: "no" } }, "error", "no"],
    ["output-denied", { approval: { ...asked, approved: false } }, "error", "Tool call execution denied."],
    ["output-error", { errorText: "EPERM" }, "error", "EPERM"],
    ["output-available", { output: [1] }, "ok", [1]],
    ["output-available", { output: null }, "ok", null],
  ])("a tool part in state %s with %j is a call and what it came to", (state, fields, outcome, output) => {
    const reading = aiSdk.read(part({ state, ...fields }) as Json, "assistant")
    const parts = "messages" in reading ? reading.messages.flatMap((message) => message.content) : []
    expect(parts[0]).toMatchObject({ type: "tool-call", id: "c1", name: "rm", input: { path: "/" } })
    const found = parts.find((part) => part.type === "tool-result")
    expect(found && { outcome: found.isError === true ? "error" : "ok", output: found.output }).toEqual(
      outcome === undefined ? undefined : { outcome, output },
    )
  })

  it("a call that is still arriving is no call yet", () => {
    const body = part({ state: "input-streaming" }) as Json
    const reading = aiSdk.read(body, "assistant")
    expect("messages" in reading && aiSdk.write(reading.messages)).toEqual({ messages: [], lost: [] })
  })

  it("an approval leaves as the SDK's own parts, from which it goes on", () => {
    const body = part({ state: "approval-responded", approval: { ...asked, approved: true } }) as Json
    const reading = aiSdk.read(body, "assistant")
    const written = "messages" in reading ? aiSdk.write(reading.messages).messages : []
    expect(written).toMatchObject([
      {
        role: "assistant",
        content: [{ type: "tool-call" }, { type: "tool-approval-request", approvalId: "ap1", toolCallId: "c1" }],
      },
      { role: "tool", content: [{ type: "tool-approval-response", approvalId: "ap1", approved: true }] },
    ])
  })

  it("a result of the provider's own stays beside its call", () => {
    const body = part({ state: "output-available", output: 1, providerExecuted: true }) as Json
    const reading = aiSdk.read(body, "assistant")
    const messages = "messages" in reading ? reading.messages : []
    expect(aiSdk.write(messages).messages).toEqual([
      {
        role: "assistant",
        content: [
          { type: "tool-call", toolCallId: "c1", toolName: "rm", input: { path: "/" }, providerExecuted: true },
          { type: "tool-result", toolCallId: "c1", toolName: "rm", output: { type: "json", value: 1 } },
        ],
      },
    ])
    expect(aiSdkUi.write(messages).messages).toEqual([body])
  })

  it("an error of the provider's own stays in the provider's form", () => {
    const body = part({ state: "output-error", errorText: '{"code":"max_uses"}', providerExecuted: true }) as Json
    const reading = aiSdk.read(body, "assistant")
    expect("messages" in reading && aiSdk.write(reading.messages).messages).toMatchObject([
      { content: [{ type: "tool-call" }, { output: { type: "error-json", value: '{"code":"max_uses"}' } }] },
    ])
  })

  it("a file that was uploaded to the provider is named by the provider's reference", () => {
    const file: Json = { type: "file", mediaType: "a/b", url: "blob:1", providerReference: { openai: "file-1" } }
    const reading = aiSdk.read({ id: "m1", role: "user", parts: [file] }, "user")
    expect("messages" in reading && aiSdk.write(reading.messages).messages).toEqual([
      {
        role: "user",
        content: [{ type: "file", mediaType: "a/b", data: { type: "reference", reference: { openai: "file-1" } } }],
      },
    ])
  })

  it("with parts a body is a UIMessage, whatever else it has", () => {
    const body: Json = { id: "m1", role: "user", content: "", parts: [{ type: "text", text: "hi" }] }
    expect(aiSdk.read(body, "user")).toMatchObject({ messages: [{ content: [{ text: "hi" }] }] })
    expect(aiSdk.read(body, "user")).not.toHaveProperty("native")
  })

  it.each<[string, GenericPart, object]>([
    ["ok", { type: "tool-result", callId: "c1", output: 1 }, { state: "output-available", output: 1 }],
    ["an error", { type: "tool-result", callId: "c1", output: { a: 1 }, isError: true }, { errorText: '{"a":1}' }],
  ])("a result that is %s ends the wait for an approval that nobody gave", (_, result, fields) => {
    const reading = aiSdkUi.read(part({ state: "approval-requested", approval: asked }) as Json, "assistant")
    const messages = "messages" in reading ? reading.messages : []
    const written = aiSdkUi.write([...messages, { role: "tool", content: [result] }])
    expect(written.messages[0]?.parts).toMatchObject([{ type: "tool-rm", ...fields }])
    expect(written.messages[0]?.parts[0]).not.toHaveProperty("approval")
    expect(written.lost).toEqual([])
  })

  it.each([
    part({ state: "output-denied", approval: { ...asked, approved: false, reason: "no" } }),
    part({ state: "output-available", output: 1, approval: { ...asked, approved: true } }),
    part({ state: "approval-responded", approval: { ...asked, approved: true } }),
    part({ state: "approval-requested", approval: asked }),
  ])("an approval is written again as it was: %j", (body) => {
    const reading = aiSdkUi.read(body as Json, "assistant")
    expect("messages" in reading && aiSdkUi.write(reading.messages)).toEqual({ messages: [body], lost: [] })
  })

  it.each<[string, ReadonlyArray<Json>]>([
    ["in the middle of an answer", [{ type: "text", text: "One." }]],
    ["before an answer", []],
  ])("what a person said %s is theirs", (_, before) => {
    const body: Json = {
      id: "m1",
      role: "assistant",
      parts: [
        ...before,
        { type: "steering-message", id: "s1", parts: [{ type: "text", text: "Stop." }] },
        { type: "text", text: "I stop." },
      ],
    }
    const reading = aiSdk.read(body, "assistant")
    const messages = "messages" in reading ? reading.messages : []
    expect(aiSdk.write(messages).messages).toEqual([
      ...before.map((part) => ({ role: "assistant", content: [part] })),
      { role: "user", content: [{ type: "text", text: "Stop." }] },
      { role: "assistant", content: [{ type: "text", text: "I stop." }] },
    ])
    expect(aiSdkUi.write(messages).messages).toEqual([body])
  })
})

describe("HIS-02 ModelMessages", () => {
  const bodies: ReadonlyArray<[string, Json]> = [
    ["a system message", { role: "system", content: "You help.", providerOptions: { anthropic: { cache: true } } }],
    [
      "a user's parts",
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "file", mediaType: "image/png", data: png },
          { type: "file", mediaType: "application/pdf", filename: "a.pdf", data: "https://example.com/a.pdf" },
        ],
      },
    ],
    [
      "an answer with thoughts and calls",
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm.", providerOptions: { anthropic: { signature: "EqoB" } } },
          { type: "text", text: "I look." },
          { type: "tool-call", toolCallId: "c1", toolName: "read", input: { path: "a" } },
          { type: "tool-approval-request", approvalId: "ap1", toolCallId: "c1" },
          { type: "custom", kind: "openai.compaction", providerOptions: { openai: { id: "x" } } },
        ],
      },
    ],
    [
      "results of every kind",
      {
        role: "tool",
        content: [
          { type: "text", value: "ok" },
          { type: "text", value: "ok", providerOptions: { anthropic: { cache: true } } },
          { type: "json", value: { a: [1] } },
          { type: "json", value: "a string that is JSON" },
          { type: "error-text", value: "EPERM" },
          { type: "error-json", value: { code: 1 } },
          { type: "execution-denied", reason: "no" },
          {
            type: "content",
            value: [
              { type: "text", text: "seen" },
              { type: "media", data: png, mediaType: "image/png" },
            ],
          },
          { type: "content", value: [{ type: "file-id", fileId: "f1" }] },
          { type: "from-a-later-version" },
        ].map((output, i) => ({ type: "tool-result", toolCallId: `c${i}`, toolName: "read", output })),
      },
    ],
    [
      "a call of the provider's own",
      {
        role: "assistant",
        content: [
          { type: "tool-call", toolCallId: "c1", toolName: "web_search", input: {}, providerExecuted: true },
          { type: "tool-result", toolCallId: "c1", toolName: "web_search", output: { type: "json", value: [] } },
        ],
      },
    ],
  ]

  it.each(bodies)("%s is given as it is, and written again the same", (_, body) => {
    const reading = aiSdk.read(body, "user")
    if ("unreadable" in reading) throw new Error(reading.unreadable)
    expect(reading.native).toBe(body)
    expect(aiSdk.write(reading.messages)).toEqual({ messages: [body], lost: [] })
  })

  const outputs: ReadonlyArray<[Json, object]> = [
    [{ type: "text", value: "ok" }, { output: "ok" }],
    [{ type: "json", value: { a: 1 } }, { output: { a: 1 } }],
    [
      { type: "error-text", value: "no" },
      { output: "no", isError: true },
    ],
    [{ type: "execution-denied" }, { output: "Tool call execution denied.", isError: true }],
    [
      {
        type: "content",
        value: [
          { type: "text", text: "seen" },
          { type: "image-data", data: png, mediaType: "image/png" },
          { type: "file", mediaType: "text/plain", data: { type: "url", url: "https://example.com/a" } },
        ],
      },
      {
        output: "seen",
        parts: [
          { type: "text", text: "seen" },
          { type: "file", mime: "image/png", data: png },
          { type: "file", mime: "text/plain", url: "https://example.com/a" },
        ],
      },
    ],
  ]
  it.each(outputs)("the output %j means %j", (output, meaning) => {
    const body: Json = { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", toolName: "t", output }] }
    expect(aiSdk.read(body, "tool")).toMatchObject({ messages: [{ role: "tool", content: [meaning] }] })
  })

  const files: ReadonlyArray<[Json, object]> = [
    [
      { type: "image", image: png, mediaType: "image/png" },
      { mime: "image/png", data: png },
    ],
    [
      { type: "image", image: "https://example.com/a" },
      { mime: "image/*", url: "https://example.com/a" },
    ],
    [
      { type: "file", mediaType: "image/png", data: `data:image/png;base64,${png}` },
      { mime: "image/png", data: png },
    ],
    [
      { type: "file", mediaType: "image/png", data: { type: "data", data: png } },
      { mime: "image/png", data: png },
    ],
    [
      { type: "file", mediaType: "text/plain", data: "data:,hi" },
      { mime: "text/plain", url: "data:,hi" },
    ],
    [{ type: "file", mediaType: "a/b", data: { type: "reference", reference: {} } }, { type: "other" }],
  ]
  it.each(files)("the file %j means %j", (file, meaning) => {
    expect(aiSdk.read({ role: "user", content: [file] }, "user")).toMatchObject({
      messages: [{ role: "user", content: [meaning] }],
    })
  })

  it("are given as UIMessages to a reader of those, results inside their calls", () => {
    const written = aiSdkUi.write([
      { id: "m1", role: "assistant", content: [{ type: "tool-call", id: "c1", name: "read", input: { path: "a" } }] },
      { id: "m2", role: "tool", content: [{ type: "tool-result", callId: "c1", output: "no", isError: true }] },
      { id: "m3", role: "user", content: [{ type: "file", mime: "image/png", data: png }] },
    ])
    expect(written).toEqual({
      messages: [
        {
          id: "m1",
          role: "assistant",
          parts: [
            { type: "tool-read", toolCallId: "c1", input: { path: "a" }, state: "output-error", errorText: "no" },
          ],
        },
        {
          id: "m3",
          role: "user",
          parts: [{ type: "file", mediaType: "image/png", url: `data:image/png;base64,${png}` }],
        },
      ],
      lost: [],
    })
  })
})

it("HIS-02 what the SDK cannot say is named", () => {
  const message: GenericMessage = {
    role: "user",
    content: [
      { type: "reasoning", text: "hm" },
      { type: "other", format: "pi", value: {} },
      { type: "text", text: "hello" },
    ],
  }
  expect(aiSdk.write([message])).toEqual({
    messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
    lost: [
      { message, what: "a thought" },
      { message, what: "a part that only the format pi knows" },
    ],
  })
})

it("HIS-02 what a UIMessage cannot say is named", () => {
  const message: GenericMessage = {
    id: "m1",
    role: "assistant",
    content: [
      { type: "tool-call", id: "c1", name: "shot", input: {} },
      {
        type: "other",
        format: "ai-sdk",
        value: { type: "tool-approval-request", approvalId: "ap1", toolCallId: "c1" },
      },
    ],
  }
  const results: GenericMessage = {
    role: "tool",
    content: [
      {
        type: "tool-result",
        callId: "c1",
        output: "seen",
        parts: [
          { type: "text", text: "seen" },
          { type: "file", mime: "image/png", data: png },
        ],
      },
      { type: "tool-result", callId: "c9", output: "nobody asked" },
    ],
  }
  expect(aiSdkUi.write([message, results])).toEqual({
    messages: [
      {
        id: "m1",
        role: "assistant",
        parts: [{ type: "tool-shot", toolCallId: "c1", input: {}, state: "output-available", output: "seen" }],
      },
    ],
    lost: [
      { message, what: "a part that only the format ai-sdk knows" },
      { message: results, what: "the files in the result of call c1" },
      { message: results, what: "the result of call c9" },
    ],
  })
})

it("HIS-02 a result in the assistant's own message is the provider's only where its call is", () => {
  const result: Json = { type: "tool-result", toolCallId: "c1", toolName: "t", output: { type: "text", value: "ok" } }
  const call = { type: "tool-call", toolCallId: "c1", toolName: "t", input: {} }
  const executed = (content: Json) => {
    const reading = aiSdk.read({ role: "assistant", content }, "assistant")
    const parts = "messages" in reading ? reading.messages.flatMap((message) => message.content) : []
    return parts.map((part) => part.type === "tool-result" && part.providerExecuted === true)
  }
  expect(executed([call, result])).toEqual([false, false])
  expect(executed([{ ...call, providerExecuted: true }, result])).toEqual([false, true])
  expect(executed([result])).toEqual([true])
})

it.each<[Json]>([["hello"], [null], [[]], [{ role: "user" }], [{ role: "user", content: 5 }]])(
  "HIS-06 %j cannot be read, and says why",
  (body) => {
    expect(aiSdk.read(body, "user")).toEqual({ unreadable: expect.stringMatching(/UIMessage/) })
    expect(aiSdkUi.read(body, "user")).toEqual({ unreadable: expect.stringMatching(/UIMessage/) })
    expect(aiSdk.text(body)).toBe("")
  },
)

it("HIS-06 an unknown part is carried, not lost and not in the way", () => {
  const body: Json = { role: "assistant", content: [{ type: "hologram" }, { type: "text", text: "hi" }] }
  const reading = aiSdk.read(body, "assistant")
  expect("messages" in reading && aiSdk.write(reading.messages)).toEqual({ messages: [body], lost: [] })
})

it("MSG-01 a role, a text for people and an id are read off both shapes", () => {
  expect([aiSdk.role(uiAnswer), aiSdk.text(uiAnswer), aiSdk.id?.(uiAnswer)]).toEqual([
    "assistant",
    "Let me look.\nIt is -3 °C.",
    "msg_Kq3Vd0Yc1TzWbLs4",
  ])
  const model: Json = { role: "user", content: [{ type: "text", text: "hi" }] }
  expect([aiSdk.role(model), aiSdk.text(model), aiSdk.id?.(model)]).toEqual(["user", "hi", undefined])
})

it("HIS-01 a prompt and a summary are messages of a user, in the reader's shape", () => {
  expect(aiSdk.prompt("hello")).toEqual({ role: "user", content: "hello" })
  expect(aiSdkUi.prompt("hello", { id: "m1" })).toEqual({
    id: "m1",
    role: "user",
    parts: [{ type: "text", text: "hello" }],
  })
  for (const dialect of [aiSdk, aiSdkUi]) {
    const summary = dialect.summary("They greeted.", { id: "m1" }) as unknown as Json
    expect([dialect.role(summary), dialect.text(summary)]).toEqual(["user", expect.stringContaining("They greeted.")])
  }
})
