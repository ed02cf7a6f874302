import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { quarter, quartersADay, slotOf, spentBefore, timeOf, withTally } from "../../src/usage/slots.ts"
import { measures, noCalls, plus } from "../../src/usage/tally.ts"
import type { Tally } from "../../src/usage/model.ts"

/** A tally of one call, with anything in it. */
const one: fc.Arbitrary<Tally> = fc
  .array(
    fc.oneof(
      fc.constant(0),
      fc.maxSafeNat().map((n) => Math.floor(n / 1_000)),
    ),
    {
      minLength: measures.length,
      maxLength: measures.length,
    },
  )
  .map((numbers) => ({ ...noCalls, ...Object.fromEntries(measures.map((m, i) => [m, numbers[i]!])), calls: 1 }))

const slot = fc.nat(quartersADay - 1)

describe("quarter-hours as text", () => {
  it("USE-03 any text gives back, for any quarter-hour, what was added before it and not taken away", () =>
    fc.assert(
      fc.property(fc.array(fc.tuple(slot, one, fc.boolean()), { maxLength: 30 }), fc.nat(quartersADay), (told, cut) => {
        const day = Array.from({ length: quartersADay }, () => noCalls)
        let text = ""
        const change = (at: number, tally: Tally, times: 1 | -1) => {
          day[at] = plus(day[at]!, tally, times)
          text = withTally(text, at, tally, times)
        }
        for (const [at, tally] of told) change(at, tally, 1)
        for (const [at, tally, isTaken] of told) if (isTaken) change(at, tally, -1)
        const sumOf = (part: ReadonlyArray<Tally>) => part.reduce((sum, tally) => plus(sum, tally), noCalls)
        expect(spentBefore(text, cut, sumOf(day))).toEqual(sumOf(day.slice(0, cut)))
        // What is nothing any more leaves nothing behind.
        expect(text.split(";").length - 1).toBe(day.filter(({ calls }) => calls > 0).length)
      }),
    ))

  it("USE-03 they are what the documentation says", () => {
    const tally = { ...noCalls, calls: 2, input: 7_828, output: 1_862, cost: 11_129_800 }
    const text = withTally("", 16, { ...tally, input: 0 }, 1)
    expect(withTally(text, 16, { ...noCalls, input: 7_828 }, 1)).toBe("g,2,61g,1fq,6mjt4;")
    expect(withTally("4,1;", 5, { ...noCalls, calls: 1, cacheRead: 1 }, 1)).toBe("4,1;5,1,,,,1;")
  })

  it.each([
    ["2025-01-25T00:00:00Z", 0],
    ["2025-01-25T00:14:59.999Z", 0],
    ["2025-01-25T00:15:00Z", 1],
    ["2025-01-25T23:59:59.999Z", 95],
  ])("USE-03 %s is in quarter-hour %i", (time, slot) => {
    expect(slotOf(Date.parse(time))).toBe(slot)
    expect(timeOf(20_113, slot)).toBe(Math.floor(Date.parse(time) / quarter) * quarter)
  })
})
