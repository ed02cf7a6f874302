import { describe, expect, it } from "vitest"
import { equal, show } from "../src/equal.ts"

describe("equality of rows", () => {
  const alike: ReadonlyArray<readonly [unknown, unknown]> = [
    [Number.NaN, Number.NaN],
    [{ a: [1, { b: null }] }, { a: [1, { b: null }] }],
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    [Object.freeze({ a: 1 }), Object.assign(Object.create(null), { a: 1 })],
    [Uint8Array.of(1, 2), new Uint8Array([0, 1, 2]).subarray(1)],
    [JSON.parse('{"__proto__":{"x":1}}'), JSON.parse('{"__proto__":{"x":1}}')],
  ]
  it.each(alike)("API-03 %o is %o", (a, b) => {
    expect(() => equal(a, b)).not.toThrow()
  })

  const different: ReadonlyArray<readonly [unknown, unknown, string]> = [
    [1, "1", 'the answer is 1 and should be "1"'],
    [0, -0, 'the answer is 0 and should be "-0"'],
    [null, undefined, 'the answer is null and should be "undefined"'],
    [{ a: [1, 2] }, { a: [1, 3] }, "the answer at .a[1] is 2 and should be 3"],
    [[1], [1, 2], "the answer is [1] and should be [1,2]"],
    [{ a: undefined }, {}, 'the answer is {"a":"undefined"} and should be {}'],
    [{}, { a: undefined }, 'the answer is {} and should be {"a":"undefined"}'],
    [[], {}, "the answer is [] and should be {}"],
    [{ 0: 1 }, [1], 'the answer is {"0":1} and should be [1]'],
    [Uint8Array.of(1), Uint8Array.of(2), "the answer at .0 is 1 and should be 2"],
    [Uint8Array.of(1), [1], 'the answer is "bytes 1" and should be [1]'],
    [JSON.parse('{"__proto__":{"x":1}}'), {}, 'the answer is {"__proto__":{"x":1}} and should be {}'],
    ["\ud83d", "\ufffd", 'the answer is "\\ud83d" and should be "\ufffd"'],
  ]
  it.each(different)("API-03 %o is not %o, and the message says where", (a, b, message) => {
    expect(() => equal(a, b)).toThrow(message)
  })

  it("API-03 a picture tells what JSON cannot, and stays short", () => {
    expect(show([undefined, 1n, Number.POSITIVE_INFINITY])).toBe('["undefined","1","Infinity"]')
    expect(show("x".repeat(1_000))).toMatch(/^"x{599}… \(1002 characters\)$/)
  })
})
