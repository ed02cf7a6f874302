import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { canonical, copyOf, digest } from "../../src/value.ts"

const seed = Number(process.env["SKEIN_SEED"] ?? Date.now())

/** The same value with the keys of its objects the other way round. */
const turned = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(turned)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, item]) => [name, turned(item)] as const)
      .toReversed(),
  )
}

describe("values", () => {
  it("SES-03 values are told apart by what they hold, not by the order of their keys", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        assert.strictEqual(canonical(turned(one)), canonical(one))
        assert.strictEqual(digest(turned(one)), digest(one))
        assert.deepEqual(JSON.parse(canonical(one)), JSON.parse(JSON.stringify(one)))
        assert.strictEqual(digest(one) === digest(other), canonical(one) === canonical(other))
      }),
      { seed },
    )
  })

  it.each([
    [{ a: 1, b: undefined }, { a: 1 }, true],
    [{ a: 1, b: null }, { a: 1 }, false],
    [[1, 2], [2, 1], false],
    ["1", 1, false],
    [{ "a,b": 1 }, { a: 1, b: 1 }, false],
    ["\ud83d", "\ud83e", false],
    [JSON.parse('{"__proto__":1}'), {}, false],
  ])("SES-03 %j and %j: the same is %j", (one, other, same) => {
    assert.strictEqual(digest(one) === digest(other), same)
  })

  it("SES-01 a copy shares nothing with the value and keeps every key of it", () => {
    const value = JSON.parse('{"a":[{"b":1}],"__proto__":{"c":2}}') as { a: Array<{ b: number }> }
    const copy = copyOf(value)
    value.a[0]!.b = 3
    assert.strictEqual(JSON.stringify(copy), '{"a":[{"b":1}],"__proto__":{"c":2}}')
    assert.deepStrictEqual(copyOf({ a: undefined, b: { c: undefined } }) as object, { b: {} })
  })
})
