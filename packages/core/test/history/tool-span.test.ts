import { expect, it } from "vitest"
import { aiSdk } from "../../src/history/dialects/ai-sdk.ts"
import { generic } from "../../src/history/dialects/generic.ts"
import { pi } from "../../src/history/dialects/pi.ts"
import type { Dialect } from "../../src/history/dialect.ts"
import { openCalls, toolSpan } from "../../src/history/tool-span.ts"
import type { Json } from "../../src/storage/json.ts"

it.each<[string, Dialect<unknown>, Json, ReadonlyArray<string>, ReadonlyArray<string>]>([
  ["text", generic, "hello", [], []],
  [
    "generic parts",
    generic,
    { role: "assistant", content: [{ type: "tool-call", id: "c1", name: "read", input: {} }] },
    ["c1"],
    [],
  ],
  [
    "a ModelMessage with results",
    aiSdk,
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "c1", toolName: "read", output: { type: "text", value: "ok" } },
        { type: "tool-result", toolCallId: "c2", toolName: "read", output: { type: "text", value: "ok" } },
      ],
    },
    [],
    ["c1", "c2"],
  ],
  [
    "a UIMessage with one call done, one open and one still arriving",
    aiSdk,
    {
      id: "m1",
      role: "assistant",
      parts: [
        { type: "tool-read", toolCallId: "c1", state: "output-available", input: {}, output: "ok" },
        { type: "tool-read", toolCallId: "c2", state: "input-available", input: {} },
        { type: "tool-read", toolCallId: "c3", state: "input-streaming" },
      ],
    },
    ["c1", "c2"],
    ["c1"],
  ],
  [
    "a result of pi",
    pi,
    { role: "toolResult", toolCallId: "c1", toolName: "read", content: [], isError: false, timestamp: 1 },
    [],
    ["c1"],
  ],
  ["a body that cannot be read", pi, { role: "bashExecution" }, [], []],
])("HIS-03 the calls and results of %s", (_, dialect, body, calls, results) => {
  expect(toolSpan(dialect, body, "assistant")).toEqual({ calls, results })
})

it("HIS-03 a boundary lies inside a tool round while a call is open before it", () => {
  const [made, first, second] = [
    { calls: ["c1", "c2"], results: [] },
    { calls: [], results: ["c2"] },
    { calls: [], results: ["c1"] },
  ]
  expect(openCalls([made])).toEqual(["c1", "c2"])
  expect(openCalls([made, first])).toEqual(["c1"])
  expect(openCalls([made, first, second])).toEqual([])
})

it("HIS-03 with one id in every round the latest call is the one that is answered", () => {
  const round = [
    { calls: ["c"], results: [] },
    { calls: [], results: ["c"] },
  ]
  expect(openCalls([...round, ...round])).toEqual([])
  expect(openCalls([{ calls: ["c", "d", "c"], results: ["c"] }])).toEqual(["c", "d"])
  expect(openCalls([...round, { calls: ["c"], results: [] }])).toEqual(["c"])
  expect(
    openCalls([
      { calls: [], results: ["c"] },
      { calls: ["c"], results: [] },
    ]),
  ).toEqual(["c"])
})

it("HIS-03 a result of no known call closes nothing", () => {
  expect(
    openCalls([
      { calls: ["c1"], results: [] },
      { calls: [], results: ["c9"] },
    ]),
  ).toEqual(["c1"])
})
