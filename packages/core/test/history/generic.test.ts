import { describe, expect, it } from "vitest"
import { generic } from "../../src/history/dialects/generic.ts"
import type { GenericMessage } from "../../src/history/dialect.ts"
import type { Json } from "../../src/storage/json.ts"

const text = (value: string) => ({ type: "text" as const, text: value })

describe("HIS-02 what a generic body means", () => {
  it.each<[string, Json, GenericMessage, boolean]>([
    ["plain text", "hello", { role: "user", content: [text("hello")] }, false],
    ["text under content", { content: "hello" }, { role: "user", content: [text("hello")] }, false],
    [
      "text under text, and fields of somebody's own",
      { text: "hello", mood: "good" },
      { role: "user", content: [text("hello")], providerMetadata: { generic: { mood: "good" } } },
      false,
    ],
    ["a role and text", { role: "assistant", content: "hello" }, { role: "assistant", content: [text("hello")] }, true],
    [
      "parts, known and unknown",
      { role: "assistant", content: ["hello", { type: "chart", rows: [1] }, { type: "text" }] },
      {
        role: "assistant",
        content: [
          text("hello"),
          { type: "other", format: "generic", value: { type: "chart", rows: [1] } },
          { type: "other", format: "generic", value: { type: "text" } },
        ],
      },
      true,
    ],
    [
      "an id and a time",
      { role: "user", content: "hello", id: "m1", at: 5 },
      {
        role: "user",
        content: [text("hello")],
        id: "m1",
        at: 5,
        providerMetadata: { generic: { id: "m1", at: 5 } },
      },
      true,
    ],
    [
      "a role and a shape of somebody's own",
      { role: "assistant", content: null, tool_calls: [] },
      {
        role: "assistant",
        content: [{ type: "other", format: "generic", value: { role: "assistant", content: null, tool_calls: [] } }],
        providerMetadata: { generic: { tool_calls: [] } },
      },
      true,
    ],
    [
      "a file that is in two places, and so in none",
      { role: "user", content: [{ type: "file", mime: "image/png", data: "AA==", url: "https://example.com" }] },
      {
        role: "user",
        content: [
          {
            type: "other",
            format: "generic",
            value: { type: "file", mime: "image/png", data: "AA==", url: "https://example.com" },
          },
        ],
      },
      true,
    ],
    [
      "metadata by owner, which is an object or nobody's",
      { role: "user", content: "hi", providerMetadata: { openai: { id: 1 }, note: "mine" } },
      { role: "user", content: [text("hi")], providerMetadata: { openai: { id: 1 } } },
      true,
    ],
    [
      "a call, which only an assistant makes",
      { content: [{ type: "tool-call", id: "c1", name: "read", input: null }] },
      { role: "assistant", content: [{ type: "tool-call", id: "c1", name: "read", input: null }] },
      false,
    ],
    [
      "a result, which only a tool gives",
      { role: "user", content: [{ type: "tool-result", callId: "c1", output: 1 }] },
      { role: "tool", content: [{ type: "tool-result", callId: "c1", output: 1 }] },
      false,
    ],
  ])("%s", (_, body, message, native) => {
    expect(generic.read(body, "user")).toEqual({ messages: [message], ...(native ? { native: body } : {}) })
  })

  it("the entry says who speaks where the body does not", () => {
    expect(generic.read("done", "assistant")).toMatchObject({ messages: [{ role: "assistant" }] })
    expect(generic.read({ role: "user", content: "x" }, "assistant")).toMatchObject({ messages: [{ role: "user" }] })
  })

  it.each<[Json]>([[42], [null], [true], [["a"]], [{ foo: 1 }], [{ role: "narrator", parts: [] }]])(
    "HIS-06 %j cannot be read, and says why",
    (body) => {
      expect(generic.read(body, "user")).toEqual({ unreadable: expect.stringMatching(/\w/) })
      expect(generic.text(body)).toBe("")
    },
  )
})

it.each<[string, Json]>([
  ["text", { role: "user", content: "hello" }],
  [
    "parts of all kinds",
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm", providerMetadata: { anthropic: { signature: "x" } } },
        { type: "text", text: "I look.", citations: [1] },
        { type: "file", mime: "image/png", data: "AA==" },
        { type: "chart", rows: [1] },
        { type: "tool-call", id: "c1", name: "read", input: { path: "a" } },
      ],
      providerMetadata: { openai: { itemId: "i" } },
      mood: "good",
    },
  ],
  ["a shape of somebody's own", { role: "assistant", content: null, tool_calls: [{ id: "c1" }] }],
])("HIS-02 writing %s again changes nothing", (_, body) => {
  const reading = generic.read(body, "user")
  expect("messages" in reading && generic.write(reading.messages)).toEqual({ messages: [body], lost: [] })
})

it("MSG-01 a role, a text for people and an id are read off a body", () => {
  const body = {
    role: "assistant",
    id: "m-1",
    content: [{ type: "reasoning", text: "hm" }, { type: "text", text: "one" }, "two"],
  }
  expect([generic.role(body), generic.text(body), generic.id?.(body)]).toEqual(["assistant", "one\ntwo", "m-1"])
  expect([generic.role("hi"), generic.text("hi"), generic.id?.("hi")]).toEqual(["user", "hi", undefined])
  expect([generic.role({ content: "hi" }), generic.id?.({ id: "not an id" })]).toEqual([undefined, undefined])
})

it("HIS-01 a prompt and a summary are messages of a user", () => {
  expect(generic.prompt("hello")).toEqual({ role: "user", content: "hello" })
  const summary = generic.summary("They greeted.")
  expect(generic.role(summary)).toBe("user")
  expect(generic.text(summary)).toContain("They greeted.")
})
