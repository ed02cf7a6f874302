import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { dialects } from "../../src/history/dialect.ts"
import type { GenericMessage } from "../../src/history/dialect.ts"
import { aiSdk } from "../../src/history/dialects/ai-sdk.ts"
import { anthropic } from "../../src/history/dialects/anthropic.ts"
import { render } from "../../src/history/render.ts"
import type { MessageEntry } from "../../src/history/render.ts"
import type { Json } from "../../src/storage/json.ts"
import { assistant, call, seeded, tool, user } from "./messages.ts"

const png = "iVBORw0KGgo="
const cache_control = { type: "ephemeral", ttl: "1h" }
const says = (role: string, ...content: ReadonlyArray<Json>) => ({ role, content })
const text = (said: string): Json => ({ type: "text", text: said })
const use = (id: string): Json => ({ type: "tool_use", id, name: "read", input: { path: "a.ts" } })
const answer = (id: string, content: Json = "ok"): Json => ({ type: "tool_result", tool_use_id: id, content })

const readOf = (body: Json) => {
  const reading = anthropic.read(body, "user")
  if ("unreadable" in reading) throw new Error(reading.unreadable)
  return reading
}

const rendered = (...bodies: ReadonlyArray<Json>) =>
  render(
    bodies.map((body, i): MessageEntry => ({ id: `e${i + 1}`, role: "user", dialect: "anthropic", body })),
    anthropic,
    dialects(anthropic),
  )

describe("HIS-02 messages of Anthropic", () => {
  it.each<[string, Json]>([
    ["a prompt", { role: "user", content: "Read a.ts" }],
    ["a message of the system", { role: "system", content: "Plan first." }],
    [
      "a prompt with images and documents",
      says(
        "user",
        { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
        { type: "image", source: { type: "url", url: "https://example.com/a.png" }, cache_control },
        { type: "image", source: { type: "file", file_id: "file_1" } },
        { type: "document", source: { type: "base64", media_type: "application/pdf", data: "AA==" }, title: "A" },
        { type: "document", source: { type: "text", media_type: "text/plain", data: "Grüße €" }, context: "A letter" },
        { type: "document", source: { type: "url", url: "https://example.com/a.pdf" }, citations: { enabled: true } },
        { type: "document", source: { type: "content", content: "one" }, title: null },
        { type: "search_result", source: "s", title: "t", content: [text("found")] },
        text("What are these?"),
      ),
    ],
    [
      "an answer with thoughts, text and calls",
      says(
        "assistant",
        { type: "thinking", thinking: "Read it.", signature: "EqoB" },
        { type: "redacted_thinking", data: "EmwK" },
        { type: "text", text: "I read it.", citations: [{ type: "char_location", cited_text: "x" }] },
        { ...(use("toolu_1") as object), caller: { type: "direct" }, cache_control },
        use("toolu_2"),
      ),
    ],
    [
      "an answer with a search that Anthropic ran",
      says(
        "assistant",
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
        {
          type: "web_search_tool_result",
          tool_use_id: "srvtoolu_1",
          content: [{ type: "web_search_result", url: "https://example.com", encrypted_content: "Eq" }],
        },
        text("Found."),
      ),
    ],
    ["results", says("user", answer("toolu_1"), { ...(answer("toolu_2", "No.") as object), is_error: true })],
    ["a result without content", says("user", { type: "tool_result", tool_use_id: "toolu_1" })],
    [
      "a result with an image",
      says(
        "user",
        answer("toolu_1", [
          text("shot"),
          { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
        ]),
      ),
    ],
    [
      "a result with what only the API knows",
      says("user", answer("toolu_1", [{ type: "tool_reference", tool_name: "x" }])),
    ],
    ["a result and what a user says to it", says("user", answer("toolu_1"), text("And now?"))],
    ["a block of a later version", says("assistant", { type: "hologram" }, text("hi"))],
  ])("%s is given as it is, and written again the same", (_, body) => {
    const { messages, native } = readOf(body)
    expect(native).toBe(body)
    const stored = messages.map((message) => ({ id: "e1", ...message }))
    expect(anthropic.write(stored)).toEqual({ messages: [body], lost: [] })
  })

  it("mean what they say, with signatures under the names that the AI SDK has for them", () => {
    const body = says(
      "assistant",
      { type: "thinking", thinking: "Hm.", signature: "EqoB" },
      { type: "redacted_thinking", data: "EmwK" },
      { ...(use("c1") as object), cache_control },
    )
    expect(readOf(body).messages).toEqual([
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "EqoB" } } },
          { type: "reasoning", text: "", providerMetadata: { anthropic: { redactedData: "EmwK" } } },
          {
            type: "tool-call",
            id: "c1",
            name: "read",
            input: { path: "a.ts" },
            providerMetadata: { anthropic: { cacheControl: cache_control } },
          },
        ],
      },
    ])
    expect(readOf(says("user", answer("c1", [text("a"), text("b")]), text("And?"))).messages).toEqual([
      {
        role: "tool",
        content: [{ type: "tool-result", callId: "c1", output: "a\nb", parts: [text("a"), text("b")] }],
      },
      { role: "user", content: [text("And?")] },
    ])
  })

  it("an answer as the API gave it is replayed without what the API refuses in a request", () => {
    const content = [{ type: "thinking", thinking: "Hm.", signature: "EqoB" }, use("c1")]
    const body = {
      id: "msg_01A",
      type: "message",
      role: "assistant",
      model: "claude-sonnet-4-5",
      content,
      stop_reason: "tool_use",
      usage: { input_tokens: 1 },
    }
    expect(anthropic.id?.(body)).toBe("msg_01A")
    expect(rendered(body, says("user", answer("c1")))).toEqual({
      messages: [says("assistant", ...content), says("user", answer("c1"))],
      repairs: [],
    })
  })

  it.each([
    ["", "Go on"],
    [" \n", "Go on"],
  ])("blank text %j is left out, for the API refuses it", (blank, said) => {
    expect(rendered(says("user", text(blank), text(said)))).toEqual({
      messages: [{ role: "user", content: said }],
      repairs: [],
    })
    expect(rendered(says("user", text(blank)), { role: "assistant", content: blank }).messages).toEqual([])
  })
})

describe("HIS-02 the results of a round", () => {
  it("leave in one message, behind their calls, though they were stored apart", () => {
    const { messages, repairs } = rendered(
      says("assistant", use("c1"), use("c2")),
      says("user", answer("c1")),
      says("user", answer("c2"), text("And now?")),
    )
    expect(messages).toEqual([
      says("assistant", use("c1"), use("c2")),
      says("user", answer("c1"), answer("c2"), text("And now?")),
    ])
    expect(repairs).toEqual([])
  })

  it("stand before what was said in the same message", () => {
    const { messages, repairs } = rendered(
      says("assistant", use("c1")),
      says("user", text("Here:"), answer("c1")),
      says("assistant", text("Thanks.")),
    )
    expect(messages.slice(1)).toEqual([says("user", answer("c1"), text("Here:")), says("assistant", text("Thanks."))])
    expect(repairs).toMatchObject([{ entry: "e2", kind: "moved", callId: "c1" }])
  })

  it("that are made up join those that are there", () => {
    const { messages } = rendered(says("assistant", use("c1"), use("c2")), says("user", answer("c2"), text("Stop.")))
    expect(messages).toMatchObject([
      { role: "assistant" },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c2" },
          { type: "tool_result", tool_use_id: "c1", is_error: true },
        ],
      },
      { role: "user", content: "Stop." },
    ])
  })

  it("of rounds that follow each other stay apart", () => {
    const bodies = [
      says("assistant", use("c1")),
      says("user", answer("c1")),
      says("assistant", use("c2")),
      says("user", answer("c2")),
      { role: "user", content: "Thanks" },
    ]
    const { messages } = rendered(...bodies)
    messages.forEach((message, i) => expect(message).toBe(bodies[i]))
  })
})

describe("HIS-02 what other formats say, in Anthropic's words", () => {
  it("thoughts that Anthropic signed come back from the AI SDK's messages", () => {
    const body = says("assistant", { type: "thinking", thinking: "Hm.", signature: "EqoB" }, use("c1"))
    const [sdk] = aiSdk.write(readOf(body).messages).messages
    const reading = aiSdk.read(sdk as unknown as Json, "assistant")
    expect("messages" in reading && anthropic.write(reading.messages)).toEqual({ messages: [body], lost: [] })
  })

  it("ids that the API refuses are replaced, in the call as in its result", () => {
    const id = "call_1|fc_2"
    const { messages } = anthropic.write([
      assistant(call(id)),
      tool({ type: "tool-result", callId: id, name: "read", output: { lines: 2 } }),
    ])
    const [made] = (messages[0]?.content ?? []) as ReadonlyArray<{ readonly id: string }>
    expect(made?.id).toMatch(/^[a-zA-Z0-9_-]+$/)
    expect(messages[1]?.content).toEqual([{ type: "tool_result", tool_use_id: made?.id, content: '{"lines":2}' }])
  })

  it("what it cannot say is named", () => {
    const message: GenericMessage = {
      role: "assistant",
      content: [
        { type: "reasoning", text: "Hm.", providerMetadata: { openai: { itemId: "rs_1" } } },
        call("c1", { name: "web_search", providerExecuted: true }),
        { type: "tool-result", callId: "c1", output: [], providerExecuted: true },
        { type: "file", mime: "image/png", data: png },
        call("c2", { input: "*** Begin" }),
      ],
    }
    const files: GenericMessage = {
      role: "user",
      content: [
        { type: "file", mime: "image/tiff", data: "AA==" },
        { type: "file", mime: "image/png", url: "file:///home/ada/app/a.png" },
        { type: "file", mime: "audio/wav", data: "AA==" },
        { type: "file", mime: "text/markdown", data: "IyBBYg==" },
      ],
    }
    const { lost, messages } = anthropic.write([message, files])
    expect(messages).toEqual([
      says("assistant", { type: "tool_use", id: "c2", name: "read", input: { input: "*** Begin" } }),
      says("user", { type: "document", source: { type: "text", media_type: "text/plain", data: "# Ab" } }),
    ])
    expect(lost.map(({ what }) => what)).toEqual([
      "a thought that Anthropic did not sign",
      "the call c1",
      "the result of call c1",
      "a file (image/png)",
      "that the input of the call c2 is no object",
      "a file (image/tiff)",
      "a file (image/png)",
      "a file (audio/wav)",
    ])
  })
})

it("HIS-02 whatever Anthropic's messages say comes back from generic messages", () => {
  const said = fc.string().filter((one) => one.trim() !== "")
  const extra = fc.constantFrom<Record<string, Json>>({}, {}, { cache_control }, { cache_control: null })
  const blocks = {
    text: fc.tuple(said, extra).map(([said, more]): Json => ({ type: "text", text: said, ...more })),
    thinking: fc
      .tuple(fc.string(), said)
      .map(([thinking, signature]): Json => ({ type: "thinking", thinking, signature })),
    redacted: fc.string().map((data): Json => ({ type: "redacted_thinking", data })),
    use: fc
      .tuple(fc.uuid(), fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<Json>), extra)
      .map(([id, input, more]): Json => ({ type: "tool_use", id, name: "read", input, ...more })),
    image: fc
      .tuple(fc.constantFrom("image/png", "image/webp"), fc.base64String(), extra)
      .map(([media_type, data, more]): Json => ({
        type: "image",
        source: { type: "base64", media_type, data },
        ...more,
      })),
    document: fc
      .tuple(fc.string({ unit: "grapheme" }), fc.option(fc.string(), { nil: null }))
      .map(([data, title]): Json => ({
        type: "document",
        source: { type: "text", media_type: "text/plain", data },
        title,
      })),
    unknown: fc.string().map((data): Json => ({ type: "hologram", data })),
  }
  const shown = fc.oneof(blocks.text, blocks.image, blocks.document)
  const result = fc
    .tuple(fc.uuid(), fc.oneof(fc.string({ minLength: 1 }), fc.array(shown)), fc.boolean(), extra)
    .map(([id, content, failed, more]): Json => ({
      type: "tool_result",
      tool_use_id: id,
      content,
      ...(failed ? { is_error: true } : {}),
      ...more,
    }))
  const body = fc.oneof(
    fc
      .array(fc.oneof(blocks.text, blocks.thinking, blocks.redacted, blocks.use, blocks.unknown), { minLength: 1 })
      .map((content) => says("assistant", ...content)),
    fc
      .tuple(fc.array(result), fc.array(fc.oneof(shown, blocks.unknown)))
      .filter(([results, others]) => results.length + others.length > 0)
      .map(([results, others]) => says("user", ...results, ...others)),
  )
  fc.assert(
    fc.property(body, (body) => {
      const { messages } = readOf(body)
      const { lost, messages: written } = anthropic.write(messages.map((message) => ({ id: "e1", ...message })))
      expect(lost).toEqual([])
      expect(written.map(asBlocks)).toEqual([body])
    }),
    { numRuns: 1_000, ...seeded },
  )
})

/** Text alone may be written as a text; to the API it is the same. */
const asBlocks = ({ content, role }: { readonly role: string; readonly content: unknown }) => ({
  role,
  content: typeof content === "string" ? [text(content)] : content,
})

it.each<[Json]>([
  ["hello"],
  [{ role: "user", content: 1 }],
  [{ role: "user" }],
  [{ role: "tool", content: "ok" }],
  [{ type: "text", text: "hi" }],
])("HIS-06 %j cannot be read, and says why", (body) => {
  expect(anthropic.read(body, "user")).toEqual({ unreadable: expect.stringMatching(/Anthropic/) })
  expect([anthropic.text(body), anthropic.role(body)]).toEqual(["", undefined])
})

it("HIS-06 a block that makes no sense is carried, and the rest is read", () => {
  const broken: ReadonlyArray<Json> = [
    { type: "text" },
    { type: "tool_use", id: 1 },
    { type: "tool_result" },
    null,
    "x",
  ]
  const { messages } = readOf(says("assistant", ...broken, text("hi")))
  expect(messages).toHaveLength(1)
  expect(messages[0]?.content.map(({ type }) => type)).toEqual([...broken.map(() => "other"), "text"])
})

it("MSG-01 a role and a text for people are read off a body", () => {
  const body = says("assistant", { type: "thinking", thinking: "hm", signature: "s" }, text("hi"), use("c1"))
  expect([anthropic.role(body), anthropic.text(body)]).toEqual(["assistant", "hi"])
  expect([anthropic.role(says("user", answer("c1"))), anthropic.text(says("user", answer("c1")))]).toEqual(["tool", ""])
  expect(anthropic.role(says("user", text("hi")))).toBe("user")
})

it("HIS-01 a prompt and a summary are messages of a user", () => {
  expect(anthropic.prompt("hello")).toEqual({ role: "user", content: "hello" })
  expect(anthropic.summary("They greeted.")).toEqual({
    role: "user",
    content: expect.stringContaining("They greeted."),
  })
  expect(anthropic.write([user("hello")]).messages).toEqual([anthropic.prompt("hello")])
})
