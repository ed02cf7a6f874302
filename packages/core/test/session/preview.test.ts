import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { previewOf } from "../../src/session/preview.ts"

/** Half of a surrogate pair, in a string that is taken apart by code points. */
const isWellFormed = (text: string) => !/\p{Cs}/u.test(text)

describe("previews", () => {
  it.each([
    ["", ""],
    [" \n\t\u3000", ""],
    ["  one \r\n  two\t", "one two"],
    [`${"a".repeat(79)}😀x`, "a".repeat(79)],
    [`${"a".repeat(78)}😀x`, `${"a".repeat(78)}😀`],
    [`${"a".repeat(80)}b`, "a".repeat(80)],
    [`${"a".repeat(79)} b`, "a".repeat(79)],
    [`${"a".repeat(78)} bc`, `${"a".repeat(78)} b`],
    ["a\ud83d b\udc00c", "a bc"],
    ["a\0b\u001b[31mc", "a b [31mc"],
    ["\ud83d", ""],
  ])("SES-10 A03 %j becomes %j", (text, line) => {
    assert.strictEqual(previewOf(text), line)
  })

  it("SES-10 A03 any text becomes one well-formed line that fits, and is its own preview", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), fc.integer({ min: 0, max: 90 }), (text, length) => {
        const line = previewOf(text, length)
        assert.isTrue(line.length <= length)
        assert.isTrue(isWellFormed(line))
        assert.notMatch(line, /^\s|\s$|[\r\n]|\s\s/u)
        assert.strictEqual(previewOf(line, length), line)
      }),
      { seed: Number(process.env["SKEIN_SEED"] ?? Date.now()) },
    )
  })

  it("SES-10 a megabyte is not read for eighty characters", () => {
    let asked = 0
    const endless = {
      *[Symbol.iterator]() {
        for (; asked < 1_000_000; asked++) yield "a"
      },
    } as unknown as string
    assert.strictEqual(previewOf(endless), "a".repeat(80))
    assert.isBelow(asked, 100)
  })
})
