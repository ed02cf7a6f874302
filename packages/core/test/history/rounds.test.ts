import { expect, it } from "vitest"
import { aiSdk } from "../../src/history/dialects/ai-sdk.ts"
import { generic } from "../../src/history/dialects/generic.ts"
import { pi } from "../../src/history/dialects/pi.ts"
import type { Dialect } from "../../src/history/dialect.ts"
import { roundsOf, toolUses } from "../../src/history/rounds.ts"
import type { ToolUse } from "../../src/history/rounds.ts"
import type { Json } from "../../src/storage/json.ts"

it.each<[string, Dialect<unknown>, Json, string]>([
  ["text", generic, "hello", ""],
  [
    "generic parts",
    generic,
    { role: "assistant", content: [{ type: "tool-call", id: "c1", name: "read", input: {} }] },
    "+c1",
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
    "-c1 -c2",
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
    "+c1 +c2 -c1",
  ],
  [
    "a result of pi",
    pi,
    { role: "toolResult", toolCallId: "c1", toolName: "read", content: [], isError: false, timestamp: 1 },
    "-c1",
  ],
])("HIS-03 the calls and results of %s", (_, dialect, body, uses) => {
  const reading = dialect.read(body, "assistant")
  expect("unreadable" in reading ? [] : short(toolUses(reading.messages))).toBe(uses)
})

/** Calls as `+id`, results as `-id`. */
const short = (uses: ReadonlyArray<ToolUse>) => uses.map(({ id, type }) => (type === "call" ? "+" : "-") + id).join(" ")

const uses = (text: string): ReadonlyArray<ToolUse> =>
  text
    .split(" ")
    .filter((use) => use !== "")
    .map((use) => ({ type: use.startsWith("+") ? "call" : "result", id: use.slice(1) }))

it.each<[string, ReadonlyArray<string>, ReadonlyArray<[call: number, result?: number]>]>([
  ["a call without a result", ["+c1"], [[0]]],
  [
    "results in any order",
    ["+c1 +c2", "", "-c2", "-c1"],
    [
      [0, 3],
      [0, 2],
    ],
  ],
  [
    "one id in every round",
    ["+c", "-c", "+c", "-c"],
    [
      [0, 1],
      [2, 3],
    ],
  ],
  ["one id twice: the latest unanswered call is the one that is answered", ["+c", "+c", "-c", ""], [[0], [1, 2]]],
  [
    "one id twice, both answered",
    ["+c", "+c", "-c", "-c"],
    [
      [0, 3],
      [1, 2],
    ],
  ],
  ["a result before its call", ["-c", "+c"], [[1]]],
  ["a result before its call in one message", ["-c +c", "-c"], [[0, 1]]],
  ["a call that is answered in its own message", ["+c -c"], [[0, 0]]],
  ["a result of no known call", ["+c1", "-c9"], [[0]]],
])("HIS-03 rounds: %s", (_, path, rounds) => {
  expect(roundsOf(path.map(uses)).map(({ call, result }) => (result === undefined ? [call] : [call, result]))).toEqual(
    rounds,
  )
})
