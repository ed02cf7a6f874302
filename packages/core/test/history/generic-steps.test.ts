import { describe, expect, it } from "vitest"
import { dialects } from "../../src/history/dialect.ts"
import { generic } from "../../src/history/dialects/generic.ts"
import { render } from "../../src/history/render.ts"
import type { Json } from "../../src/storage/json.ts"

const text = (value: string) => ({ type: "text" as const, text: value })
const call = (id: string) => ({ type: "tool-call" as const, id, name: "read", input: {} })
const result = (callId: string) => ({ type: "tool-result" as const, callId, output: callId })

describe("HIS-02 a generic body that holds a whole step", () => {
  it.each<[string, Json, ReadonlyArray<unknown>]>([
    [
      "calls, then their results",
      { role: "assistant", content: [text("I look."), call("a"), call("b"), result("a"), result("b")], id: "m1" },
      [
        { role: "assistant", content: [text("I look."), call("a"), call("b")], id: "m1" },
        { role: "tool", content: [result("a"), result("b")], id: "m1" },
      ],
    ],
    [
      "several steps",
      { role: "assistant", content: [call("a"), result("a"), text("Now b."), call("b"), result("b"), text("Done.")] },
      [
        { role: "assistant", content: [call("a")] },
        { role: "tool", content: [result("a")] },
        { role: "assistant", content: [text("Now b."), call("b")] },
        { role: "tool", content: [result("b")] },
        { role: "assistant", content: [text("Done.")] },
      ],
    ],
    [
      "results that a user hands over with words",
      { role: "user", content: [result("a"), text("Go on.")] },
      [
        { role: "tool", content: [result("a")] },
        { role: "user", content: [text("Go on.")] },
      ],
    ],
  ])("is read as messages: %s", (_, body, messages) => {
    const reading = generic.read(body, "user")
    expect("messages" in reading && reading.messages).toMatchObject(messages)
    expect("native" in reading).toBe(false)
  })

  it.each<[string, Json]>([
    ["words of a tool beside its result", { role: "tool", content: [result("a"), text("It took a while.")] }],
    [
      "a result of the provider's own call",
      {
        role: "assistant",
        content: [
          { ...call("a"), providerExecuted: true },
          { ...result("a"), providerExecuted: true },
        ],
      },
    ],
  ])("is left whole: %s", (_, body) => {
    expect(generic.read(body, "user")).toMatchObject({ messages: [{ content: [{}, {}] }], native: body })
  })

  it("is replayed without a repair", () => {
    const entry = {
      id: "e1",
      role: "assistant" as const,
      body: { role: "assistant", content: [call("a"), result("a")] },
      dialect: "generic",
    }
    expect(render([entry], generic, dialects(generic))).toEqual({
      messages: [
        { role: "assistant", content: [call("a")] },
        { role: "tool", content: [result("a")] },
      ],
      repairs: [],
    })
  })
})
