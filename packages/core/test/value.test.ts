import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { sharing } from "../src/value.ts"

const seed = Number(process.env["SKEIN_SEED"] ?? Date.now() % 2 ** 31)

describe("sharing", () => {
  it("SES-13 what says the same is the same object, and nothing else changes", () => {
    const before = {
      page: [
        { id: "a", n: [1, { deep: true }] },
        { id: "b", n: [] },
      ],
      next: "x",
    }
    const equal = structuredClone(before)
    assert.strictEqual(sharing(before, equal), before)
    const next = { ...structuredClone(before), next: "y" }
    const shared = sharing(before, next)
    assert.deepStrictEqual(shared, next)
    assert.strictEqual(shared.page, before.page)
  })

  it("SES-13 items of a list are found by their ids, wherever they have moved; others by their place", () => {
    const [a, b, c] = [{ id: "a" }, { id: "b", n: 1 }, { id: "c" }]
    const moved = sharing([a, b, c], [{ id: "c" }, { id: "d" }, { id: "a" }, { id: "b", n: 2 }])
    assert.deepStrictEqual(moved, [{ id: "c" }, { id: "d" }, { id: "a" }, { id: "b", n: 2 }])
    assert.deepStrictEqual([moved[0] === c, moved[2] === a], [true, true])
    const parts = [{ text: "1" }, { text: "2" }]
    assert.strictEqual(sharing(parts, [{ text: "1" }, { text: "3" }])[0], parts[0])
  })

  it("SES-13 what shares all that it can already is left as it is", () => {
    const before = { list: [{ id: "a", parts: [1] }] }
    const once = sharing(before, { list: [{ id: "a", parts: [1], more: true }] })
    assert.strictEqual(sharing(before, once), once)
    assert.strictEqual(once.list[0]!.parts, before.list[0]!.parts)
  })

  it("SES-13 a property more, one less, or one that is undefined is a difference", () => {
    const before = { a: 1, b: { c: 2 } }
    for (const next of [{ a: 1 }, { a: 1, b: { c: 2 }, d: 3 }, { a: 1, b: undefined }, { a: 1, b: null }, [1], null]) {
      assert.deepStrictEqual(sharing<unknown>(before, next), next)
    }
    assert.strictEqual(sharing(undefined, before), before)
    const odd = JSON.parse('{"__proto__": {}, "constructor": {}}') as object
    assert.deepStrictEqual(Object.entries(sharing({}, odd)), Object.entries(odd))
  })

  it(`SES-13 the answer always says what the newer value says (seed ${seed})`, () => {
    const json = fc.jsonValue({ depthSize: "small" })
    const item = fc.record({ id: fc.constantFrom("a", "b", "c"), value: json })
    const items = fc.uniqueArray(item, { selector: ({ id }) => id })
    const either = fc.oneof(json, items)
    fc.assert(
      fc.property(either, either, (before, next) => {
        const picture = JSON.stringify(next)
        const shared: unknown = sharing(before, next)
        assert.strictEqual(JSON.stringify(shared), picture)
        assert.strictEqual(sharing(shared, JSON.parse(picture)), shared)
      }),
      { seed, numRuns: 2_000 },
    )
  })
})
