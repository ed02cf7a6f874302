import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { judge, markOf, remembered, withApplied } from "../../src/turn/applied.ts"
import type { Applied } from "../../src/turn/model.ts"
import { seeded } from "../history/messages.ts"

interface Event {
  readonly sequence: number
  readonly id: string
  readonly data: unknown
}

const mark = ({ data, id, sequence }: Event) => markOf(sequence, id, data)

/** A turn to which the first `count` events were applied. */
const after = (count: number): Applied | undefined => {
  let applied: Applied | undefined
  for (let n = 1; n <= count; n++) applied = withApplied(applied, mark({ sequence: n, id: `e${n}`, data: n }))
  return applied
}

describe("the events of a turn", () => {
  it("TRN-06 come one after another from 1, and one that comes again is a duplicate", () => {
    assert.strictEqual(judge(undefined, mark({ sequence: 1, id: "e1", data: 1 })), "next")
    assert.strictEqual(judge(undefined, mark({ sequence: 2, id: "e2", data: 2 })), "gap")
    const applied = after(5)
    assert.deepStrictEqual(
      [1, 2, 3, 4, 5, 6, 7].map((n) => judge(applied, mark({ sequence: n, id: `e${n}`, data: n }))),
      ["duplicate", "duplicate", "duplicate", "duplicate", "duplicate", "next", "gap"],
    )
  })

  it("TRN-06 are told apart by number, id and content", () => {
    const applied = after(5)
    const judged = (sequence: number, id: string, data: unknown) => judge(applied, mark({ sequence, id, data }))
    assert.strictEqual(judged(3, "e3", "other"), "content")
    assert.strictEqual(judged(3, "other", 3), "sequence")
    assert.strictEqual(judged(6, "e3", 3), "id")
    assert.strictEqual(judged(9, "e3", 3), "id")
    assert.strictEqual(judged(3, "e4", 4), "sequence")
    assert.strictEqual(judged(5, "e5", 5.5), "content")
  })

  it("TRN-06 have the content that their JSON has, whatever the order of its keys", () => {
    const applied = withApplied(undefined, mark({ sequence: 1, id: "e", data: { a: 1, b: [2, { c: 3, d: 4 }] } }))
    assert.strictEqual(
      judge(applied, mark({ sequence: 1, id: "e", data: { b: [2, { d: 4, c: 3 }], a: 1 } })),
      "duplicate",
    )
    assert.strictEqual(
      judge(applied, mark({ sequence: 1, id: "e", data: { a: 1, b: [{ c: 3, d: 4 }, 2] } })),
      "content",
    )
  })

  it("TRN-06 are remembered one by one as far as the newest: what is older is a repetition", () => {
    const applied = after(remembered + 8)
    assert.lengthOf(applied!.recent, remembered)
    assert.strictEqual(judge(applied, mark({ sequence: 9, id: "e9", data: "other" })), "content")
    assert.strictEqual(judge(applied, mark({ sequence: 8, id: "e8", data: "other" })), "duplicate")
    assert.strictEqual(judge(applied, mark({ sequence: 8, id: "e9", data: 9 })), "id")
    assert.strictEqual(judge(applied, mark({ sequence: remembered + 9, id: "e8", data: 8 })), "next")
  })

  it("TRN-06 are judged as by one who remembers all, whatever comes again, of a turn of as many as are remembered", () => {
    const anyEvent = fc.record({
      sequence: fc.integer({ min: 1, max: 8 }),
      id: fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h"),
      data: fc.constantFrom(1, 2, "1"),
    })
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 60 }), (events) => {
        const all: Array<Event> = []
        let applied: Applied | undefined
        for (const event of events) {
          const same = all[event.sequence - 1]
          const expected =
            same !== undefined
              ? same.id !== event.id
                ? "sequence"
                : same.data === event.data
                  ? "duplicate"
                  : "content"
              : all.some(({ id }) => id === event.id)
                ? "id"
                : event.sequence === all.length + 1
                  ? "next"
                  : "gap"
          assert.strictEqual(judge(applied, mark(event)), expected)
          if (expected !== "next") continue
          all.push(event)
          applied = withApplied(applied, mark(event))
        }
      }),
      { numRuns: 500, ...seeded },
    )
  })
})
