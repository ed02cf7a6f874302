import * as fc from "fast-check"
import { expect, it } from "vitest"
import { wellFormed, wellFormedText } from "../../src/history/well-formed.ts"
import type { Json } from "../../src/storage/json.ts"
import { seeded } from "./messages.ts"

it.each<[string, Json, Json]>([
  ["a half pair in a tool's output", "ab\ud83dcd", "ab\ufffdcd"],
  ["a lone low half", "\udc00", "\ufffd"],
  ["halves in the wrong order", "\udc00\ud83d", "\ufffd\ufffd"],
  ["a half before a whole pair", "\ud83d\ud83d\ude00", "\ufffd\ud83d\ude00"],
  ["in an array in an object", { a: [{ b: "\ud800" }] }, { a: [{ b: "\ufffd" }] }],
  ["in a key", { "a\ud800": 1 }, { "a\ufffd": 1 }],
])("A01 %s", (_, stored, replayed) => {
  expect(wellFormed(stored)).toEqual(replayed)
})

it("A01 keys that become equal are kept apart", () => {
  expect(Object.entries(wellFormed({ "\ud800": 1, "\ufffd": 2, "\udc00": 3 }) as object)).toEqual([
    ["\ufffd\ufffd", 1],
    ["\ufffd", 2],
    ["\ufffd\ufffd\ufffd", 3],
  ])
})

it("A01 a key named __proto__ stays a key, and pollutes nothing", () => {
  const cleaned = wellFormed(JSON.parse('{"__proto__":{"x":"\\ud800"}}') as Json)
  expect(JSON.stringify(cleaned)).toBe('{"__proto__":{"x":"\ufffd"}}')
  expect(({} as { x?: string }).x).toBeUndefined()
})

it("A02 NUL is text like any other", () => {
  expect(wellFormedText("a\u0000b")).toBe("a\u0000b")
})

const codeUnits = fc
  .array(fc.oneof(fc.integer({ min: 0xd7fe, max: 0xe001 }), fc.integer({ min: 0, max: 0xffff })), { maxLength: 12 })
  .map((units) => String.fromCharCode(...units))

const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    codeUnits,
    fc.integer(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(codeUnits, tie("value"), { maxKeys: 3 }),
  ),
})).value

it("A01 any JSON leaves well-formed, with nothing lost, and is the same value where it already was", () => {
  // encodeURIComponent is another's opinion of what is well-formed: it throws where a half pair is left.
  const isWellFormed = (text: string) => {
    try {
      return encodeURIComponent(text) !== undefined
    } catch {
      return false
    }
  }
  const strings = (value: Json): ReadonlyArray<string> => {
    if (typeof value === "string") return [value]
    return typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, item]) => [key, ...strings(item as Json)])
      : []
  }
  fc.assert(
    fc.property(json, (value) => {
      const before = JSON.stringify(value)
      const cleaned = wellFormed(value)
      expect(strings(cleaned).every(isWellFormed)).toBe(true)
      expect(strings(cleaned).length).toBe(strings(value).length)
      expect(cleaned === value).toBe(strings(value).every(isWellFormed))
      expect(wellFormed(cleaned)).toBe(cleaned)
      expect(JSON.stringify(value)).toBe(before)
    }),
    { numRuns: 1_000, ...seeded },
  )
})
