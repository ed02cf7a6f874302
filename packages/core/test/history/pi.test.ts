import { describe, expect, it } from "vitest"
import { pi } from "../../src/history/dialects/pi.ts"
import type { GenericMessage } from "../../src/history/dialect.ts"
import type { Json } from "../../src/storage/json.ts"

const png = "iVBORw0KGgo="
const usage = {
  input: 1200,
  output: 80,
  cacheRead: 1000,
  cacheWrite: 0,
  totalTokens: 2280,
  cost: { input: 0.0036, output: 0.0012, cacheRead: 0.0003, cacheWrite: 0, total: 0.0051 },
}
const answer = (content: ReadonlyArray<Json>, stopReason = "toolUse") => ({
  role: "assistant",
  content,
  api: "anthropic-messages",
  provider: "anthropic",
  model: "claude-sonnet-4-5",
  usage,
  stopReason,
  timestamp: 1_762_000_000_000,
})
const toolCall = { type: "toolCall", id: "toolu_01A", name: "read", arguments: { path: "a.ts" } }
const toolResult = {
  role: "toolResult",
  toolCallId: "toolu_01A",
  toolName: "read",
  content: [{ type: "text", text: "export {}" }],
  isError: false,
  timestamp: 1_762_000_000_500,
}

const readOf = (body: Json) => {
  const reading = pi.read(body, "user")
  if ("unreadable" in reading) throw new Error(reading.unreadable)
  return reading
}

describe("HIS-02 messages of pi", () => {
  it.each<[string, Json]>([
    ["a prompt", { role: "user", content: "Read a.ts", timestamp: 1 }],
    [
      "a prompt with an image",
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image", data: png, mimeType: "image/png" },
        ],
        timestamp: 1,
      },
    ],
    [
      "an answer with thoughts, text and a call",
      answer([
        { type: "thinking", thinking: "Read it.", thinkingSignature: "EqoB" },
        { type: "thinking", thinking: "", thinkingSignature: "enc", redacted: true },
        { type: "text", text: "I read it.", textSignature: '{"v":1,"id":"m"}' },
        { ...toolCall, thoughtSignature: "abc" },
      ]),
    ],
    ["a result", toolResult],
    ["a failed result", { ...toolResult, isError: true }],
    ["a result with details", { ...toolResult, details: { lines: 1 } }],
    [
      "a result with an image",
      {
        ...toolResult,
        content: [
          { type: "text", text: "shot" },
          { type: "image", data: png, mimeType: "image/png" },
        ],
      },
    ],
    ["a block of a later version", answer([{ type: "hologram" }, { type: "text", text: "hi" }], "stop")],
  ])("%s is given as it is, and written again the same", (_, body) => {
    const { messages, native } = readOf(body)
    expect(native).toBe(body)
    expect(pi.write(messages)).toEqual({ messages: [body], lost: [] })
  })

  it("mean what they say", () => {
    expect(
      readOf(answer([{ type: "thinking", thinking: "Hm.", thinkingSignature: "EqoB" }, toolCall])).messages,
    ).toEqual([
      {
        role: "assistant",
        at: 1_762_000_000_000,
        content: [
          { type: "reasoning", text: "Hm.", providerMetadata: { pi: { thinkingSignature: "EqoB" } } },
          { type: "tool-call", id: "toolu_01A", name: "read", input: { path: "a.ts" } },
        ],
        providerMetadata: {
          pi: {
            api: "anthropic-messages",
            provider: "anthropic",
            model: "claude-sonnet-4-5",
            usage,
            stopReason: "toolUse",
          },
        },
      },
    ])
    expect(readOf(toolResult).messages).toEqual([
      {
        role: "tool",
        at: 1_762_000_000_500,
        content: [{ type: "tool-result", callId: "toolu_01A", name: "read", output: "export {}" }],
      },
    ])
  })

  it.each(["aborted", "error"])(
    "an answer that ended %s keeps its calls where pi would leave them out",
    (stopReason) => {
      const { messages, native } = readOf(answer([toolCall], stopReason))
      expect(native).toBeUndefined()
      expect(pi.write(messages).messages).toEqual([answer([toolCall], "toolUse")])
      const without = answer([{ type: "text", text: "I was" }], stopReason)
      expect(readOf(without).native).toBe(without)
    },
  )
})

describe("HIS-02 what other formats say, in pi's words", () => {
  it("each result is a message of its own, with the time that is known", () => {
    const written = pi.write([
      {
        role: "tool",
        at: 7,
        content: [
          { type: "tool-result", callId: "c1", name: "read", output: "text" },
          { type: "tool-result", callId: "c2", output: { lines: 2 }, isError: true },
        ],
      },
    ])
    expect(written.messages).toEqual([
      {
        role: "toolResult",
        toolCallId: "c1",
        toolName: "read",
        content: [{ type: "text", text: "text" }],
        isError: false,
        timestamp: 7,
      },
      {
        role: "toolResult",
        toolCallId: "c2",
        toolName: "unknown",
        content: [{ type: "text", text: '{"lines":2}' }],
        details: { lines: 2 },
        isError: true,
        timestamp: 7,
      },
    ])
  })

  it("an answer of another's is one of an unknown model", () => {
    const call: GenericMessage = {
      role: "assistant",
      content: [{ type: "tool-call", id: "c1", name: "read", input: {} }],
    }
    const text: GenericMessage = { role: "assistant", content: [{ type: "text", text: "hi" }] }
    expect(pi.write([call, text]).messages).toMatchObject([
      { role: "assistant", provider: "unknown", stopReason: "toolUse", usage: { totalTokens: 0 } },
      { role: "assistant", provider: "unknown", stopReason: "stop" },
    ])
  })

  it("what pi cannot say is named", () => {
    const message: GenericMessage = {
      role: "assistant",
      content: [
        { type: "tool-call", id: "c1", name: "web_search", input: {}, providerExecuted: true },
        { type: "tool-result", callId: "c1", output: [], providerExecuted: true },
        { type: "file", mime: "application/pdf", url: "https://example.com/a.pdf" },
        { type: "tool-call", id: "c2", name: "patch", input: "*** Begin" },
      ],
    }
    const written = pi.write([message, { role: "system", content: [{ type: "text", text: "You help." }] }])
    expect(written.messages).toMatchObject([
      { role: "assistant", content: [{ type: "toolCall", id: "c2", arguments: { input: "*** Begin" } }] },
      { role: "user", content: "You help." },
    ])
    expect(written.lost.map((loss) => loss.what)).toEqual([
      "the call c1",
      "the result of call c1",
      "a file (application/pdf)",
      "that the input of the call c2 is no object",
      "that it is a system message",
    ])
  })
})

it.each<[Json]>([
  ["hello"],
  [{ role: "user", content: 1, timestamp: 1 }],
  [{ role: "assistant", content: "text" }],
  [{ role: "toolResult", content: [] }],
  [{ role: "bashExecution", command: "ls" }],
])("HIS-06 %j cannot be read, and says why", (body) => {
  expect(pi.read(body, "user")).toEqual({ unreadable: expect.stringMatching(/pi/) })
  expect(pi.text(body)).toBe("")
})

it("MSG-01 a role and a text for people are read off a body", () => {
  const body = answer([{ type: "thinking", thinking: "hm" }, { type: "text", text: "hi" }, toolCall])
  expect([pi.role(body), pi.text(body)]).toEqual(["assistant", "hi"])
  expect([pi.role(toolResult), pi.text(toolResult)]).toEqual(["tool", ""])
  expect(pi.role({ role: "bashExecution" })).toBeUndefined()
})

it("HIS-01 a prompt and a summary are messages of a user, with the time that is given", () => {
  expect(pi.prompt("hello", { at: 5 })).toEqual({ role: "user", content: "hello", timestamp: 5 })
  expect(pi.summary("They greeted.", { at: 6 })).toMatchObject({
    role: "user",
    content: expect.stringContaining("They greeted."),
    timestamp: 6,
  })
})
