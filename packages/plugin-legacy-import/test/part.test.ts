import type { JsonObject } from "@skein/core/storage"
import { describe, expect, it } from "vitest"
import { convertPart } from "../src/opencode/part.ts"

const shown = (part: JsonObject) => convertPart(part, "prt_1").flatMap((one) => one.shown ?? [])
const replayed = (part: JsonObject) => convertPart(part, "prt_1").flatMap((one) => one.replayed ?? [])
const tool = (state: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "tool",
  tool: "bash",
  callID: "c1",
  state,
  ...more,
})

describe("IMP-05 a part of opencode", () => {
  it.each<[string, JsonObject, ReadonlyArray<JsonObject>, ReadonlyArray<JsonObject>]>([
    ["text", { type: "text", text: "hi" }, [{ type: "text", text: "hi" }], [{ type: "text", text: "hi" }]],
    ["no text", { type: "text", text: "" }, [], []],
    ["text for the model", { type: "text", text: "hi", synthetic: true }, [], [{ type: "text", text: "hi" }]],
    ["text for people", { type: "text", text: "hi", ignored: true }, [{ type: "text", text: "hi" }], []],
    [
      "a thought with its signature",
      { type: "reasoning", text: "hm", metadata: { anthropic: { signature: "c2ln" }, note: "none" } },
      [{ type: "reasoning", text: "hm", providerMetadata: { anthropic: { signature: "c2ln" } } }],
      [{ type: "reasoning", text: "hm", providerMetadata: { anthropic: { signature: "c2ln" } } }],
    ],
    [
      "a file without a place",
      { type: "file", mime: "image/png" },
      [{ type: "other", format: "opencode", value: { type: "file", mime: "image/png" } }],
      [],
    ],
    ["the mark of a step", { type: "step-start", snapshot: "abc" }, [], []],
    ["a patch", { type: "patch", hash: "abc", files: ["/a"] }, [], []],
  ])("is shown and replayed as it has to be: %s", (_, part, forPeople, forModel) => {
    expect(shown(part)).toEqual(forPeople)
    expect(replayed(part)).toEqual(forModel)
  })

  it("keeps what a tool said of itself, without the copy of its output", () => {
    const state = {
      status: "completed",
      input: { command: "ls" },
      output: "a\n",
      title: "ls",
      metadata: { output: "a\n", exit: 0 },
    }
    expect(shown(tool(state))).toEqual([
      { type: "tool-call", id: "c1", name: "bash", input: { command: "ls" } },
      {
        type: "tool-result",
        callId: "c1",
        name: "bash",
        output: "a\n",
        providerMetadata: { opencode: { title: "ls", metadata: { exit: 0 } } },
      },
    ])
  })

  it("gives the model no output that opencode had cleared, and people all of it", () => {
    const part = tool({ status: "completed", input: {}, output: "long", time: { start: 1, end: 2, compacted: 3 } })
    expect(shown(part)[1]).toMatchObject({ output: "long" })
    expect(replayed(part)[1]).toMatchObject({ output: "[Old tool result content cleared]" })
  })

  it("has the files that a tool gave back beside its text", () => {
    const attachments = [{ type: "file", mime: "image/png", url: "data:image/png;base64,AA==" }]
    expect(replayed(tool({ status: "completed", input: {}, output: "see", attachments }))[1]).toMatchObject({
      output: "see",
      parts: [
        { type: "text", text: "see" },
        { type: "file", mime: "image/png", data: "AA==" },
      ],
    })
  })

  it("leaves a result of the provider's own where it is", () => {
    const [call, result] = convertPart(
      tool({ status: "completed", output: "1" }, { metadata: { providerExecuted: true } }),
      "prt_1",
    )
    expect([call?.shown, result?.shown]).toMatchObject([
      { providerExecuted: true },
      { providerExecuted: true, output: "1" },
    ])
    expect(result?.isResult).toBe(false)
  })

  it.each(["pending", "running", "streaming", undefined])(
    "closes a call that is %s with an error that says so",
    (status) => {
      const [call, result] = convertPart(tool(status === undefined ? {} : { status }), "prt_1")
      expect(call?.replayed).toMatchObject({ type: "tool-call", id: "c1", input: {} })
      expect(result).toMatchObject({
        isResult: true,
        replayed: { callId: "c1", isError: true, output: expect.stringContaining("interrupted") },
        repaired: expect.stringContaining("c1"),
      })
    },
  )

  it("names a call that has no id by its part", () => {
    expect(shown({ type: "tool", state: { status: "error", error: "no" } })).toMatchObject([
      { id: "prt_1", name: "unknown" },
      { callId: "prt_1", output: "no", isError: true },
    ])
  })
})
