import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { dialects } from "../../src/history/dialect.ts"
import type { Dialect, GenericMessage } from "../../src/history/dialect.ts"
import { anthropic } from "../../src/history/dialects/anthropic.ts"
import { openai, openaiResponses } from "../../src/history/dialects/openai.ts"
import { render } from "../../src/history/render.ts"
import type { MessageEntry } from "../../src/history/render.ts"
import type { Json } from "../../src/storage/json.ts"
import { assistant, call, result, seeded, tool, user } from "./messages.ts"

const png = "iVBORw0KGgo="
const url = `data:image/png;base64,${png}`
const functionCall = (id: string, args = '{"path":"a.ts"}'): Json => ({
  id,
  type: "function",
  function: { name: "read", arguments: args },
})
const calls = (...ids: ReadonlyArray<string>): Json => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => functionCall(id)),
})
const answer = (id: string, content: Json = "ok"): Json => ({ role: "tool", tool_call_id: id, content })

const readOf = (dialect: Dialect<unknown>, body: Json) => {
  const reading = dialect.read(body, "user")
  if ("unreadable" in reading) throw new Error(reading.unreadable)
  return reading
}

const rendered = <M>(dialect: Dialect<M>, ...bodies: ReadonlyArray<Json>) =>
  render(
    bodies.map((body, i): MessageEntry => ({ id: `e${i + 1}`, role: "user", dialect: "openai", body })),
    dialect,
    dialects(openai),
  )

describe("HIS-02 messages of Chat Completions", () => {
  it.each<[string, Json]>([
    ["a prompt", { role: "user", content: "Read a.ts", name: "ada" }],
    ["a message of the system", { role: "system", content: "Plan first." }],
    ["a message of the developer", { role: "developer", content: "Plan first." }],
    [
      "a prompt with images, sound and files",
      {
        role: "user",
        content: [
          { type: "text", text: "What are these?" },
          { type: "image_url", image_url: { url } },
          { type: "image_url", image_url: { url: "https://example.com/a.png", detail: "low" } },
          { type: "input_audio", input_audio: { data: "AA==", format: "mp3" } },
          { type: "file", file: { file_data: "data:application/pdf;base64,AA==", filename: "a.pdf" } },
          { type: "file", file: { file_id: "file-1" } },
          { type: "hologram" },
        ],
      },
    ],
    ["an answer", { role: "assistant", content: "Hello", refusal: null, annotations: [] }],
    ["a refusal", { role: "assistant", content: null, refusal: "I can't." }],
    [
      "a refusal among text",
      {
        role: "assistant",
        content: [
          { type: "text", text: "Well." },
          { type: "refusal", refusal: "No." },
        ],
      },
    ],
    ["calls", calls("call_1", "call_2")],
    [
      "a call that was cut off",
      { ...(calls() as object), tool_calls: [functionCall("call_1", '{"path": "a')] } as Json,
    ],
    [
      "a call with arguments in another spelling",
      { ...(calls() as object), tool_calls: [functionCall("c", '{ "a" : 1.0 }')] } as Json,
    ],
    ["a call without arguments", { ...(calls() as object), tool_calls: [functionCall("call_1", "")] } as Json],
    [
      "a call of a custom tool",
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_1", type: "custom", custom: { name: "patch", input: "*** Begin" } }],
      },
    ],
    ["thoughts of a compatible server", { ...(calls("call_1") as object), reasoning_content: "Hm." }],
    ["a result", answer("call_1")],
    [
      "a result in parts",
      answer("call_1", [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ]),
    ],
    ["a result with what is no text", answer("call_1", [{ type: "text", text: "a" }, { type: "hologram" }])],
  ])("%s is given as it is, and written again the same", (_, body) => {
    const { messages, native } = readOf(openai, body)
    expect(native).toBe(body)
    expect(openai.write(messages)).toEqual({ messages: [body], lost: [] })
  })

  it("mean what they say", () => {
    expect(
      readOf(openai, { ...(calls("c1") as object), reasoning_content: "Hm.", content: "Reading." }).messages,
    ).toEqual([
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm.", providerMetadata: { "openai-chat": { field: "reasoning_content" } } },
          { type: "text", text: "Reading." },
          { type: "tool-call", id: "c1", name: "read", input: { path: "a.ts" } },
        ],
      },
    ])
    expect(readOf(openai, { role: "developer", content: "Plan." }).messages).toMatchObject([{ role: "system" }])
    expect(readOf(openai, calls()).messages[0]?.content).toEqual([])
    const cut: Json = { role: "assistant", tool_calls: [functionCall("c1", '{"path": "a')] }
    expect(readOf(openai, cut).messages[0]?.content).toMatchObject([{ type: "tool-call", input: '{"path": "a' }])
  })

  it("what a person reads of a refusal is the refusal", () => {
    expect(openai.text({ role: "assistant", content: null, refusal: "I can't." })).toBe("I can't.")
  })
})

const message = (text: string, fields: object = {}): Json => ({
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [] }],
  ...fields,
})
const thought: Json = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" }
const call1: Json = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "read",
  arguments: "{}",
  status: "completed",
}
const output1: Json = { type: "function_call_output", call_id: "call_1", output: "ok" }

describe("HIS-02 items of Responses", () => {
  it.each<[string, ReadonlyArray<Json>]>([
    ["a prompt", [{ role: "user", content: "Read a.ts" }]],
    ["a message of the developer", [{ type: "message", role: "developer", content: "Plan first." }]],
    [
      "a prompt with images and files",
      [
        {
          role: "user",
          content: [
            { type: "input_text", text: "What are these?" },
            { type: "input_image", image_url: url, detail: "auto" },
            { type: "input_image", image_url: "https://example.com/a.png", detail: "high" },
            { type: "input_image", file_id: "file-1", detail: "auto" },
            { type: "input_file", file_data: "data:application/pdf;base64,AA==", filename: "a.pdf" },
            { type: "input_file", file_url: "https://example.com/a.pdf" },
          ],
        },
      ],
    ],
    ["what a response put out", [thought, message("Reading.", { id: "msg_1", status: "completed" }), call1]],
    [
      "a thought with summaries",
      [
        {
          type: "reasoning",
          id: "rs_1",
          summary: [
            { type: "summary_text", text: "One." },
            { type: "summary_text", text: "Two." },
          ],
          encrypted_content: "gAAA",
          status: "completed",
        },
        call1,
      ],
    ],
    [
      "a message of several parts, one of them a refusal, and another message",
      [
        {
          type: "message",
          id: "msg_1",
          role: "assistant",
          content: [
            { type: "output_text", text: "Well.", annotations: [{ type: "url_citation" }], logprobs: [] },
            { type: "refusal", refusal: "No." },
            { type: "hologram" },
          ],
        },
        message("More.", { id: "msg_2" }),
        message("And more."),
      ],
    ],
    ["an answer in plain text", [{ role: "assistant", content: "Hello" }]],
    [
      "results",
      [output1, { type: "function_call_output", call_id: "call_2", output: [{ type: "input_text", text: "a" }] }],
    ],
    [
      "a custom call",
      [{ type: "custom_tool_call", id: "ctc_1", call_id: "call_1", name: "patch", input: "*** Begin" }],
    ],
    ["its result", [{ type: "custom_tool_call_output", call_id: "call_1", output: "Done" }]],
    ["items of the API's own tools", [{ type: "web_search_call", id: "ws_1", status: "completed" }, message("Found.")]],
  ])("%s are given as they are, and written again the same", (_, items) => {
    const { messages, native } = readOf(openaiResponses, items)
    expect(native).toBe(items)
    expect(openaiResponses.write(messages)).toEqual({ messages: [items], lost: [] })
  })

  it("mean what they say, with ids and sealed thoughts under the names that the AI SDK has for them", () => {
    expect(readOf(openaiResponses, [thought, call1]).messages).toEqual([
      {
        role: "assistant",
        content: [
          {
            type: "reasoning",
            text: "",
            providerMetadata: { openai: { itemId: "rs_1", reasoningEncryptedContent: "gAAA" } },
          },
          {
            type: "tool-call",
            id: "call_1",
            name: "read",
            input: {},
            providerMetadata: { openai: { itemId: "fc_1" }, "openai-responses": { status: "completed" } },
          },
        ],
      },
    ])
  })

  it.each<[string, Json]>([
    ["one item", output1],
    ["a whole response", { object: "response", id: "resp_1", output: [output1], usage: {} }],
  ])("%s may be stored by itself", (_, body) => {
    expect(rendered(openaiResponses, [call1], body).messages).toEqual([[call1], [output1]])
  })

  it("a result that is missing is put behind its call", () => {
    const { messages, repairs } = rendered(openaiResponses, [thought, call1], [{ role: "user", content: "Stop." }])
    expect(messages).toEqual([
      [thought, call1],
      [{ type: "function_call_output", call_id: "call_1", output: expect.stringContaining("missing") }],
      [{ role: "user", content: "Stop." }],
    ])
    expect(repairs.map(({ kind }) => kind)).toEqual(["synthesised", "left-out"])
  })
})

describe("HIS-02 one API's messages for a reader of the other", () => {
  const chat = [
    { role: "user", content: "Read" } as Json,
    calls("call_1"),
    answer("call_1"),
    { role: "assistant", content: "Done" } as Json,
  ]

  it("items are given as messages", () => {
    const items: ReadonlyArray<Json> = [
      [{ role: "user", content: "Read" }],
      [{ ...(call1 as object), arguments: '{"path":"a.ts"}' } as Json],
      [output1],
      [message("Done")],
    ]
    expect(rendered(openai, ...items)).toEqual({ messages: chat, repairs: [] })
  })

  it("messages are given as items", () => {
    expect(rendered(openaiResponses, ...chat)).toEqual({
      messages: [
        [{ role: "user", content: "Read" }],
        [{ type: "function_call", call_id: "call_1", name: "read", arguments: '{"path":"a.ts"}' }],
        [output1],
        [{ role: "assistant", content: "Done" }],
      ],
      repairs: [],
    })
  })

  it("what stands in one list leaves as its rounds", () => {
    const step = [call1, output1, message("Done")]
    expect(rendered(openai, step).messages).toEqual([
      { role: "assistant", content: null, tool_calls: [functionCall("call_1", "{}")] },
      answer("call_1"),
      { role: "assistant", content: "Done" },
    ])
  })
})

describe("HIS-02 what other formats say, in OpenAI's words", () => {
  const message: GenericMessage = {
    role: "assistant",
    content: [
      { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "EqoB" } } },
      call("c1", { name: "web_search", providerExecuted: true }),
      result("c1", "found", { providerExecuted: true }),
      { type: "file", mime: "image/png", data: png },
      call("c2", { input: "*** Begin" }),
    ],
  }
  const results = tool(result("c2", "No.", { isError: true, parts: [{ type: "file", mime: "image/png", data: png }] }))
  const files: GenericMessage = {
    role: "user",
    content: [{ type: "file", mime: "application/pdf", url: "https://example.com/a.pdf" }],
  }

  it("what messages cannot say is named", () => {
    const { lost, messages } = openai.write([message, results, files])
    expect(messages).toEqual([
      { role: "assistant", content: null, tool_calls: [functionCall("c2", '"*** Begin"')] },
      { role: "tool", tool_call_id: "c2", content: [] },
    ])
    expect(lost.map(({ what }) => what)).toEqual([
      "a thought",
      "the call c1",
      "the result of call c1",
      "a file (image/png)",
      "that the result of call c2 is an error",
      "a file (image/png)",
      "a file (application/pdf)",
    ])
  })

  it("what items cannot say is named", () => {
    const { lost, messages } = openaiResponses.write([message, results, files])
    expect(messages).toEqual([
      [{ type: "function_call", call_id: "c2", name: "read", arguments: '"*** Begin"' }],
      [
        {
          type: "function_call_output",
          call_id: "c2",
          output: [{ type: "input_image", image_url: url, detail: "auto" }],
        },
      ],
      [{ role: "user", content: [{ type: "input_file", file_url: "https://example.com/a.pdf" }] }],
    ])
    expect(lost.map(({ what }) => what)).toEqual([
      "a thought that is no item of OpenAI's",
      "the call c1",
      "the result of call c1",
      "a file (image/png)",
      "that the result of call c2 is an error",
    ])
  })

  it.each<[string, Dialect<unknown>]>([
    ["messages", openai],
    ["items", openaiResponses],
  ])("ids that are too long are replaced, in the call as in its result: %s", (_, dialect) => {
    const id = `call_1|${"x".repeat(60)}`
    const written = JSON.stringify(dialect.write([assistant(call(id)), tool(result(id))]).messages)
    const ids = [...written.matchAll(/"(?:id|tool_call_id|call_id)":"([^"]+)"/g)].map(([, made]) => made)
    expect(ids).toHaveLength(2)
    expect(new Set(ids).size).toBe(1)
    expect(ids[0]!.length).toBeLessThanOrEqual(40)
  })

  it("a conversation with Anthropic goes on with OpenAI, and back", () => {
    const bodies: ReadonlyArray<readonly [string, Json]> = [
      ["openai", { role: "user", content: "Read" }],
      [
        "anthropic",
        { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "read", input: { path: "a.ts" } }] },
      ],
      ["anthropic", { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "ok" }] }],
      ["openai", { role: "assistant", content: "Done" }],
    ]
    const entries = bodies.map(([dialect, body], i): MessageEntry => ({ id: `e${i}`, role: "user", dialect, body }))
    const all = dialects(openai, anthropic)
    expect(render(entries, openai, all)).toEqual({
      messages: [bodies[0]![1], calls("toolu_1"), answer("toolu_1"), bodies[3]![1]],
      repairs: [],
    })
    expect(render(entries, anthropic, all)).toEqual({
      messages: [bodies[0]![1], bodies[1]![1], bodies[2]![1], bodies[3]![1]],
      repairs: [],
    })
  })
})

describe("HIS-02 whatever OpenAI's messages say comes back from generic messages", () => {
  const json = fc.jsonValue() as fc.Arbitrary<Json>
  const args = fc.oneof(
    json.map((value) => JSON.stringify(value)),
    fc.string(),
    json.map((value) => JSON.stringify(value, null, 1)),
  )
  const id = fc.string({ minLength: 1, maxLength: 40 })

  it("in Chat Completions", () => {
    const text = fc.string().map((text): Json => ({ type: "text", text }))
    const given = fc.oneof(
      text,
      fc.tuple(fc.base64String(), fc.constantFrom({}, { detail: "low" })).map(([data, more]): Json => ({
        type: "image_url",
        image_url: { url: `data:image/png;base64,${data}`, ...more },
      })),
      fc.webUrl().map((url): Json => ({ type: "image_url", image_url: { url } })),
      fc.base64String().map((data): Json => ({ type: "input_audio", input_audio: { data, format: "wav" } })),
      fc.string().map((data): Json => ({ type: "hologram", data })),
    )
    // One text by itself may be written without its part; to the API it is the same.
    const content = <Part>(part: fc.Arbitrary<Part>) => fc.oneof(fc.string(), fc.array(part, { minLength: 2 }))
    const body = fc.oneof(
      fc.record({ role: fc.constantFrom("user"), content: content(given) }),
      fc.record({ role: fc.constantFrom("system", "developer"), content: content(text) }),
      fc.record({ role: fc.constant("tool"), tool_call_id: id, content: content(text) }),
      fc.record(
        {
          role: fc.constant("assistant"),
          content: fc.oneof(
            fc.constant(null),
            content(
              fc.oneof(
                text,
                fc.string().map((refusal): Json => ({ type: "refusal", refusal })),
              ),
            ),
          ),
          tool_calls: fc.array(
            fc.tuple(id, args).map(([id, args]) => functionCall(id, args)),
            { minLength: 1 },
          ),
          refusal: fc.oneof(fc.constant(null), fc.string()),
          reasoning_content: fc.string(),
          annotations: fc.array(json),
        },
        { requiredKeys: ["role", "content", "tool_calls"] },
      ),
    )
    fc.assert(
      fc.property(body, (body) => {
        const { messages, native } = readOf(openai, body as Json)
        expect(native).toBe(body)
        expect(openai.write(messages)).toEqual({ messages: [body], lost: [] })
      }),
      { numRuns: 1_000, ...seeded },
    )
  })

  it("in Responses", () => {
    const itemId = fc.uuid()
    const part = fc.oneof(
      fc.string().map((text): Json => ({ type: "output_text", text, annotations: [] })),
      fc.string().map((refusal): Json => ({ type: "refusal", refusal })),
      fc.string().map((data): Json => ({ type: "hologram", data })),
    )
    const summary = fc.array(fc.string({ minLength: 1 }).map((text): Json => ({ type: "summary_text", text })))
    const said = fc.oneof(
      fc
        .tuple(itemId, fc.array(part, { minLength: 1 }))
        .map(([id, content]): Json => ({ type: "message", id, role: "assistant", status: "completed", content })),
      fc
        .tuple(itemId, summary, fc.constantFrom({}, { encrypted_content: "gAAA" }, { status: "completed" }))
        .map(([id, summary, more]): Json => ({ type: "reasoning", id, summary, ...more })),
      fc
        .tuple(itemId, id, args)
        .map(([id, call_id, args]): Json => ({ type: "function_call", id, call_id, name: "read", arguments: args })),
      fc
        .tuple(id, fc.string())
        .map(([call_id, input]): Json => ({ type: "custom_tool_call", call_id, name: "patch", input })),
      itemId.map((id): Json => ({ type: "web_search_call", id, status: "completed" })),
    )
    const output = fc.oneof(fc.string(), fc.array(fc.string().map((text): Json => ({ type: "input_text", text }))))
    const answered = fc
      .tuple(fc.constantFrom("function_call_output", "custom_tool_call_output"), id, output)
      .map(([type, call_id, output]): Json => ({ type, call_id, output }))
    const body = fc.oneof(fc.array(said, { minLength: 1 }), fc.array(answered, { minLength: 1 }))
    fc.assert(
      fc.property(body, (body) => {
        const { messages, native } = readOf(openaiResponses, body)
        expect(native).toBe(body)
        expect(openaiResponses.write(messages)).toEqual({ messages: [body], lost: [] })
      }),
      { numRuns: 1_000, ...seeded },
    )
  })
})

it.each<[Json]>([
  ["hello"],
  [{ role: "user", content: 1 }],
  [{ role: "tool", content: "ok" }],
  [{ role: "function", name: "f", content: "ok" }],
  [{ content: "hi" }],
  [[]],
  [[{ type: "message" }, 1]],
])("HIS-06 %j cannot be read, and says why", (body) => {
  for (const dialect of [openai, openaiResponses]) {
    expect(dialect.read(body, "user")).toEqual({ unreadable: expect.stringMatching(/Responses/) })
    expect([dialect.text(body), dialect.role(body)]).toEqual(["", undefined])
  }
})

it("HIS-06 a part that makes no sense is carried, and the rest is read", () => {
  const broken = [{ type: "text" }, { type: "image_url" }, null, "x"]
  const { messages } = readOf(openai, { role: "user", content: [...broken, { type: "text", text: "hi" }] })
  expect(messages[0]?.content.map(({ type }) => type)).toEqual([...broken.map(() => "other"), "text"])
  const call: Json = { role: "assistant", content: null, tool_calls: [{ id: 1 }, functionCall("c1")] }
  expect(readOf(openai, call).messages[0]?.content.map(({ type }) => type)).toEqual(["other", "tool-call"])
  expect(openai.write(readOf(openai, call).messages).messages).toMatchObject([
    { tool_calls: [{ id: 1 }, functionCall("c1")] },
  ])
})

it("MSG-01 a role and a text for people are read off a body", () => {
  const said = (body: Json) => [openai.role(body), openai.text(body)]
  expect(said(calls("c1"))).toEqual(["assistant", ""])
  expect(said(answer("c1"))).toEqual(["tool", ""])
  expect(said({ role: "developer", content: "Plan." })).toEqual(["system", "Plan."])
  expect(said([thought, message("Hi"), call1])).toEqual(["assistant", "Hi"])
  expect(said([output1])).toEqual(["tool", ""])
  expect(said([{ role: "user", content: [{ type: "input_text", text: "Read" }] }])).toEqual(["user", "Read"])
})

it("HIS-01 a prompt and a summary are messages of a user", () => {
  expect(openai.prompt("hello")).toEqual({ role: "user", content: "hello" })
  expect(openai.summary("They greeted.")).toEqual({ role: "user", content: expect.stringContaining("They greeted.") })
  expect(openaiResponses.summary("They greeted.")).toEqual([openai.summary("They greeted.")])
  expect(openai.write([user("hello")]).messages).toEqual([openai.prompt("hello")])
})
