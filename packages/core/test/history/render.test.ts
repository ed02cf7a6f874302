import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { dialects, summaryText } from "../../src/history/dialect.ts"
import type { Dialect, GenericMessage } from "../../src/history/dialect.ts"
import { aiSdk, aiSdkUi } from "../../src/history/dialects/ai-sdk.ts"
import { anthropic } from "../../src/history/dialects/anthropic.ts"
import { generic } from "../../src/history/dialects/generic.ts"
import { openai, openaiResponses } from "../../src/history/dialects/openai.ts"
import { pi } from "../../src/history/dialects/pi.ts"
import { missingResult } from "../../src/history/pairing.ts"
import { render } from "../../src/history/render.ts"
import type { MessageEntry, RenderEntry } from "../../src/history/render.ts"
import type { Json } from "../../src/storage/json.ts"
import { anyMessage, complaints, seeded } from "./messages.ts"

const all = dialects(generic, aiSdk, pi, anthropic, openai)

const entriesOf = (
  dialect: string,
  bodies: ReadonlyArray<Json>,
  more: Partial<MessageEntry> = {},
): ReadonlyArray<MessageEntry> =>
  bodies.map((body, i) => ({ id: `${dialect}-${i + 1}`, role: "user", dialect, body, at: i + 1, ...more }))

const modelCall = (...ids: ReadonlyArray<string>): Json => ({
  role: "assistant",
  content: ids.map((toolCallId) => ({ type: "tool-call", toolCallId, toolName: "read", input: {} })),
})
const modelResult = (toolCallId: string, value = "ok"): Json => ({
  role: "tool",
  content: [{ type: "tool-result", toolCallId, toolName: "read", output: { type: "text", value } }],
})
const modelUser = (content: string): Json => ({ role: "user", content })

describe("HIS-01 what a reader is given", () => {
  it("is the stored bodies themselves where nothing is wrong with them", () => {
    const bodies = [modelUser("u"), modelCall("c1"), modelResult("c1"), { role: "assistant", content: "done" }]
    const { messages, repairs } = render(entriesOf("ai-sdk", bodies), aiSdk, all)
    expect(repairs).toEqual([])
    expect(messages.length).toBe(4)
    messages.forEach((message, i) => expect(message).toBe(bodies[i]))
  })

  it("begins with the summary of the compaction, in the reader's words", () => {
    const entries: ReadonlyArray<RenderEntry> = [
      { id: "s", summary: "They greeted.", at: 9 },
      ...entriesOf("pi", [{ role: "user", content: "Go on", timestamp: 10 }]),
    ]
    const text = summaryText("They greeted.")
    expect(render(entries, pi, all).messages).toEqual([
      { role: "user", content: text, timestamp: 9 },
      { role: "user", content: "Go on", timestamp: 10 },
    ])
    expect(render(entries, aiSdkUi, all).messages).toEqual([
      { id: "s", role: "user", parts: [{ type: "text", text }] },
      { id: "pi-1", role: "user", parts: [{ type: "text", text: "Go on" }] },
    ])
  })

  it("is never half of a summary: results whose calls were compacted away are left out", () => {
    const { messages, repairs } = render(
      [{ id: "s", summary: "They read." }, ...entriesOf("ai-sdk", [modelResult("c1"), modelUser("u")])],
      aiSdk,
      all,
    )
    expect(messages.length).toBe(2)
    expect(repairs).toMatchObject([{ entry: "ai-sdk-1", kind: "dropped-orphan", callId: "c1" }])
  })
})

describe("HIS-02 repairs in the reader's format", () => {
  it("A45 leave everything else as it was stored, byte for byte", () => {
    const bodies = [modelUser("u1"), modelCall("c1", "c2"), modelResult("c1"), modelUser("u2")]
    const frozen = structuredClone(bodies)
    const stored = entriesOf("ai-sdk", bodies, { ending: "interrupted" })
    const { messages, repairs } = render(stored, aiSdk, all)
    expect(repairs).toMatchObject([{ entry: "ai-sdk-2", kind: "synthesised", callId: "c2" }])
    expect(messages[0]).toBe(bodies[0])
    expect(messages[1]).toBe(bodies[1])
    expect(messages[2]).toBe(bodies[2])
    expect(messages[3]).toEqual({
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "c2",
          toolName: "read",
          output: { type: "error-text", value: missingResult("interrupted") },
        },
      ],
    })
    expect(messages[4]).toBe(bodies[3])
    expect(bodies).toEqual(frozen)
  })

  it("a late result is moved whole, as it was stored", () => {
    const bodies = [modelCall("c1"), modelUser("u"), modelResult("c1", "late")]
    const { messages, repairs } = render(entriesOf("ai-sdk", bodies), aiSdk, all)
    expect(messages).toEqual([bodies[0], bodies[2], bodies[1]])
    expect(messages[1]).toBe(bodies[2])
    expect(repairs).toMatchObject([{ entry: "ai-sdk-3", kind: "moved", callId: "c1" }])
  })

  const uiMessage = (...parts: ReadonlyArray<Json>): Json => ({ id: "m1", role: "assistant", parts })
  const uiCall = (toolCallId: string, fields: object = {}): Json => ({
    type: "tool-read",
    toolCallId,
    state: "input-available",
    input: {},
    ...fields,
  })

  it("a missing result is put into the UIMessage of its call, and nothing else in it changes", () => {
    const body = uiMessage(
      { type: "step-start" },
      { type: "data-note", data: { n: 1 } },
      uiCall("c1", { title: "Reading" }),
      { type: "source-url", sourceId: "s", url: "https://example.com" },
    )
    const { messages, repairs } = render(entriesOf("ai-sdk", [body], { ending: "aborted" }), aiSdkUi, all)
    expect(messages).toEqual([
      uiMessage(
        { type: "step-start" },
        { type: "data-note", data: { n: 1 } },
        uiCall("c1", { title: "Reading", state: "output-error", errorText: missingResult("aborted") }),
        { type: "source-url", sourceId: "s", url: "https://example.com" },
      ),
    ])
    expect(repairs).toMatchObject([{ entry: "ai-sdk-1", kind: "synthesised", callId: "c1" }])
  })

  it("a result that was stored by itself is put into the UIMessage of its call", () => {
    const { messages } = render(entriesOf("ai-sdk", [uiMessage(uiCall("c1")), modelResult("c1")]), aiSdkUi, all)
    expect(messages).toEqual([uiMessage(uiCall("c1", { state: "output-available", output: "ok" }))])
  })

  it("a call that waits for an answer leaves its message as it is", () => {
    const body = uiMessage(uiCall("c1", { state: "approval-requested", approval: { id: "ap" } }))
    const waiting = entriesOf("ai-sdk", [body], { pendingCalls: ["c1"] })
    expect(render(waiting, aiSdkUi, all)).toEqual({ messages: [body], repairs: [] })
    expect(render(waiting, aiSdk, all).messages).toMatchObject([
      { role: "assistant", content: [{ type: "tool-call" }, { type: "tool-approval-request" }] },
    ])
  })
})

it("HIS-02 a path of mixed formats is read through each entry's own dialect and out through the reader's", () => {
  const mixed: ReadonlyArray<RenderEntry> = [
    ...entriesOf("generic", ["Read a.ts"]),
    ...entriesOf("pi", [
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", thinkingSignature: "EqoB" },
          { type: "toolCall", id: "c1", name: "read", arguments: { path: "a.ts" } },
        ],
        stopReason: "toolUse",
        timestamp: 2,
      },
    ]),
    ...entriesOf("ai-sdk", [
      modelResult("c1", "export {}"),
      { id: "m", role: "user", parts: [{ type: "text", text: "Thanks" }] },
    ]),
  ]
  expect(render(mixed, aiSdk, all)).toEqual({
    messages: [
      { role: "user", content: [{ type: "text", text: "Read a.ts" }] },
      {
        role: "assistant",
        providerOptions: { pi: { stopReason: "toolUse" } },
        content: [
          { type: "reasoning", text: "Hm.", providerOptions: { pi: { thinkingSignature: "EqoB" } } },
          { type: "tool-call", toolCallId: "c1", toolName: "read", input: { path: "a.ts" } },
        ],
      },
      modelResult("c1", "export {}"),
      { role: "user", content: [{ type: "text", text: "Thanks" }] },
    ],
    repairs: [],
  })
  expect(render(mixed, pi, all).messages).toMatchObject([
    { role: "user", content: "Read a.ts", timestamp: 1 },
    { role: "assistant", stopReason: "toolUse" },
    { role: "toolResult", toolCallId: "c1", content: [{ type: "text", text: "export {}" }] },
    { role: "user", content: "Thanks" },
  ])
  expect(render(mixed, generic, all).repairs).toEqual([])
})

it("HIS-02 what the reader's format cannot say is reported with its entry", () => {
  const pdf: Json = { role: "user", content: [{ type: "file", mime: "application/pdf", data: "AA==" }, "hi"] }
  const { messages, repairs } = render(entriesOf("generic", [pdf]), pi, all)
  expect(messages).toEqual([{ role: "user", content: "hi", timestamp: 1 }])
  expect(repairs).toMatchObject([{ entry: "generic-1", kind: "left-out", detail: expect.stringContaining("pdf") }])
})

describe("HIS-06 what cannot be read", () => {
  const good = modelUser("hello")
  const throwing: Dialect<unknown> = {
    ...generic,
    name: "theirs",
    read: () => {
      throw new Error("not mine")
    },
  }
  it.each<[string, MessageEntry, string]>([
    ["a body that is no message", { id: "x", role: "user", dialect: "ai-sdk", body: 42 }, "UIMessage"],
    ["another dialect's body that is no message", { id: "x", role: "user", dialect: "pi", body: {} }, "pi"],
    ["a dialect that nobody knows", { id: "x", role: "user", dialect: "klingon", body: good }, "klingon"],
    ["a dialect that throws", { id: "x", role: "user", dialect: "theirs", body: good }, "not mine"],
  ])("%s is skipped and reported, and the rest is served", (_, entry, why) => {
    const around = entriesOf("ai-sdk", [modelCall("c1"), modelResult("c1"), good])
    const [call, ...rest] = around
    const { messages, repairs } = render([call!, entry, ...rest], aiSdk, dialects(generic, pi, throwing))
    expect(messages).toEqual([modelCall("c1"), modelResult("c1"), good])
    expect(repairs).toEqual([{ entry: "x", kind: "unreadable", detail: expect.stringContaining(why) }])
  })
})

it("A01 nothing that leaves has half a character in it, and what is stored keeps it", () => {
  const stored = entriesOf("ai-sdk", [modelCall("c1"), modelResult("c1", "ab\ud83dcd"), modelUser("next")])
  const { messages, repairs } = render([{ id: "s", summary: "\udc00" }, ...stored], aiSdk, all)
  expect(JSON.stringify(messages)).not.toMatch(/\\ud[89a-f]/)
  expect(messages[2]).toEqual(modelResult("c1", "ab\ufffdcd"))
  expect(messages[3]).toBe(stored[2]?.body)
  expect(repairs).toMatchObject([{ entry: "ai-sdk-2", kind: "well-formed" }])
  expect(JSON.stringify(stored[1]?.body)).toContain("\\ud83d")
})

it("A02 NUL leaves as it is, in text and in the arguments of calls", () => {
  const call: Json = {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: "c1", toolName: "write", input: { text: "a\u0000b" } }],
  }
  const { messages } = render(entriesOf("ai-sdk", [modelUser("a\u0000b"), call]), aiSdk, all)
  expect(messages[0]).toEqual(modelUser("a\u0000b"))
  expect(messages[1]).toEqual(call)
})

describe("HIS-02 any path of mixed formats", () => {
  const id = fc.constantFrom("c1", "c2", "c3")
  const state = fc.constantFrom<Record<string, Json>>(
    { state: "input-streaming" },
    { state: "input-available" },
    { state: "output-available", output: { a: 1 } },
    { state: "output-error", errorText: "boom" },
    { state: "approval-requested", approval: { id: "ap" } },
  )
  const ui = fc.array(
    fc.oneof(
      fc.record({ type: fc.constant("text"), text: fc.string() }),
      fc.constant<Json>({ type: "step-start" }),
      fc
        .tuple(id, state, fc.constantFrom({}, {}, { providerExecuted: true }))
        .map(([toolCallId, state, more]): Json => ({ type: "tool-read", toolCallId, input: {}, ...state, ...more })),
    ),
    { minLength: 1, maxLength: 5 },
  )
  const model = fc.oneof(
    fc.array(id, { maxLength: 3 }).map((ids) => modelCall(...ids)),
    id.map((toolCallId) => modelResult(toolCallId)),
    fc.string().map(modelUser),
  )
  const ofPi = fc.oneof(
    fc
      .tuple(fc.array(id, { maxLength: 2 }), fc.constantFrom("stop", "toolUse", "aborted"))
      .map(([ids, stopReason]): Json => ({
        role: "assistant",
        content: ids.map((id) => ({ type: "toolCall", id, name: "read", arguments: {} })),
        stopReason,
        timestamp: 1,
      })),
    id.map((toolCallId): Json => ({
      role: "toolResult",
      toolCallId,
      toolName: "read",
      content: [{ type: "text", text: "ok" }],
      isError: false,
      timestamp: 1,
    })),
  )
  const ofAnthropic = fc.oneof(
    fc.array(fc.oneof(id, fc.string()), { maxLength: 3 }).map((parts): Json => ({
      role: "assistant",
      content: parts.map((part) =>
        /^c\d$/.test(part) ? { type: "tool_use", id: part, name: "read", input: {} } : { type: "text", text: part },
      ),
    })),
    fc.array(fc.oneof(id, fc.string()), { maxLength: 3 }).map((parts): Json => ({
      role: "user",
      content: parts.map((part) =>
        /^c\d$/.test(part) ? { type: "tool_result", tool_use_id: part, content: "ok" } : { type: "text", text: part },
      ),
    })),
  )
  const ofOpenai = fc.oneof(
    fc.array(id, { minLength: 1, maxLength: 3 }).map((ids): Json => ({
      role: "assistant",
      content: null,
      tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "read", arguments: "{}" } })),
    })),
    id.map((id): Json => ({ role: "tool", tool_call_id: id, content: "ok" })),
    fc
      .array(
        fc.oneof(
          id,
          id.map((one) => `of ${one}`),
          fc.string(),
        ),
        { minLength: 1, maxLength: 4 },
      )
      .map((parts): Json =>
        parts.map((part) => {
          if (/^c\d$/.test(part)) return { type: "function_call", call_id: part, name: "read", arguments: "{}" }
          return /^of c\d$/.test(part)
            ? { type: "function_call_output", call_id: part.slice(3), output: "ok" }
            : { role: "user", content: part }
        }),
      ),
  )
  const body: fc.Arbitrary<readonly [string, Json]> = fc.oneof(
    ofAnthropic.map((body) => ["anthropic", body] as const),
    ofOpenai.map((body) => ["openai", body] as const),
    ui.map((parts) => ["ai-sdk", { id: "ui", role: "assistant", parts }] as const),
    model.map((body) => ["ai-sdk", body] as const),
    ofPi.map((body) => ["pi", body] as const),
    anyMessage.map((message) => ["generic", message] as const),
    fc.constant(["generic", { unknown: true }] as const),
  )
  const path = fc.array(body, { maxLength: 10 }).map((bodies) =>
    bodies.map(([dialect, body], i): MessageEntry => {
      const ofPage = typeof body === "object" && body !== null && "parts" in body
      return { id: `e${i}`, role: "user", dialect, body: ofPage ? { ...body, id: `e${i}` } : body, at: i + 1 }
    }),
  )

  it.each<[string, Dialect<unknown>]>([
    ["generic", generic],
    ["ai-sdk", aiSdk],
    ["ai-sdk for pages", aiSdkUi],
    ["pi", pi],
    ["anthropic", anthropic],
    ["openai", openai],
    ["the items of openai", openaiResponses],
  ])("is sound for a reader of %s, and giving the answer again changes nothing", (_, reader) => {
    const read = (bodies: ReadonlyArray<unknown>): ReadonlyArray<GenericMessage> =>
      bodies.flatMap((body) => {
        const reading = reader.read(body as Json, "user")
        return "unreadable" in reading ? [] : reading.messages
      })
    fc.assert(
      fc.property(path, (entries) => {
        const before = JSON.stringify(entries)
        const once = render(entries, reader, all)
        expect(complaints(read(once.messages))).toEqual([])
        const again = render(
          once.messages.map((body, i) => ({ id: `x${i}`, role: "user", dialect: reader.name, body: body as Json })),
          reader,
          all,
        )
        expect(again).toEqual({ messages: once.messages, repairs: [] })
        again.messages.forEach((message, i) => expect(message).toBe(once.messages[i]))
        expect(JSON.stringify(entries)).toBe(before)
      }),
      { numRuns: 1_000, ...seeded },
    )
  })
})
