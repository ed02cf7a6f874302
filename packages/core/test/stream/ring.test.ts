import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { cursorsOf } from "../../src/stream/cursor.ts"
import { envelope, toFrame, utf8Length } from "../../src/stream/frame.ts"
import type { NewFrame } from "../../src/stream/frame.ts"
import { Ring } from "../../src/stream/ring.ts"

const ringOf = (frames: number, bytes = 1_000_000) => new Ring("s", cursorsOf("life", "s"), { frames, bytes }, 0)

const event = (data: unknown, more: Partial<NewFrame> = {}): NewFrame => ({
  kind: "runtime-event",
  json: JSON.stringify(data),
  ...more,
})
const draft = (entry: string, data: unknown) => event(data, { entry })

const numbers = (ring: Ring, after = ring.evictedThrough, limit = Number.POSITIVE_INFINITY) =>
  ring.after(after, limit)?.map(({ seq }) => seq)
const dataOf = (ring: Ring) =>
  ring
    .after(ring.evictedThrough, Number.POSITIVE_INFINITY)!
    .map(toFrame)
    .map(({ data }) => data)

describe("a ring", () => {
  it("STR-01 keeps the newest frames, and says when what is asked for is gone", () => {
    const ring = ringOf(3)
    for (let seq = 1; seq <= 5; seq++) ring.append(event(seq), seq, 0)
    assert.deepStrictEqual(numbers(ring), [3, 4, 5])
    assert.deepStrictEqual(numbers(ring, 2), [3, 4, 5])
    assert.deepStrictEqual(numbers(ring, 4), [5])
    assert.deepStrictEqual(numbers(ring, 5), [])
    assert.isUndefined(numbers(ring, 1))
    assert.deepStrictEqual(numbers(ring, 2, 2), [3, 4])
  })

  it("STR-01 keeps so many bytes of UTF-8, to the byte", () => {
    const size = new TextEncoder().encode('"äöü😀x"').byteLength + envelope
    const ring = ringOf(100, 2 * size)
    for (let seq = 1; seq <= 3; seq++) ring.append(event("äöü😀x"), seq, 0)
    assert.deepStrictEqual([numbers(ring), ring.bytes], [[2, 3], 2 * size])
    const smaller = ringOf(100, 2 * size - 1)
    for (let seq = 1; seq <= 3; seq++) smaller.append(event("äöü😀x"), seq, 0)
    assert.deepStrictEqual([numbers(smaller), smaller.bytes], [[3], size])
  })

  it("STR-01 a newer draft of an entry takes the place of the older one, and evicts nothing", () => {
    const ring = ringOf(4)
    ring.append(event("first"), 1, 0)
    for (let seq = 2; seq <= 1_000; seq++) ring.append(draft(seq % 2 === 0 ? "a" : "b", seq), seq, 0)
    ring.append(event("last"), 1_001, 0)
    assert.deepStrictEqual(dataOf(ring), ["first", 999, 1_000, "last"])
    assert.deepStrictEqual(numbers(ring, 999), [1_000, 1_001])
    ring.dropDraft("a")
    assert.deepStrictEqual(dataOf(ring), ["first", 999, "last"])
  })

  it("STR-01 one frame that is larger than all that may be kept becomes a resync", () => {
    const ring = ringOf(10, 1_000)
    ring.append(event("small", { id: "one" }), 1, 0)
    ring.append(event("x".repeat(2_000), { id: "two", turn: "t", revision: 7 }), 2, 0)
    const [, large] = ring.after(0, 10)!
    const { data, kind, revision, turn } = toFrame(large!)
    assert.deepStrictEqual([kind, data, revision, turn], ["resync-required", { reason: "too-large" }, 7, "t"])
    assert.strictEqual(ring.find("two"), large)
  })

  it("STR-02 a frame is found by its id while it is kept: its own, or its cursor", () => {
    const ring = ringOf(2)
    const first = ring.append(event(1, { id: "mine" }), 1, 0)
    const second = ring.append(event(2), 2, 0)
    assert.strictEqual(ring.find("mine"), first)
    assert.strictEqual(ring.find(second.id), second)
    ring.append(event(3), 3, 0)
    assert.isUndefined(ring.find("mine"))
    assert.strictEqual(ring.find(second.id), second)
    ring.append(event(4), 4, 0)
    assert.isUndefined(ring.find(second.id))
    assert.isUndefined(ring.find("anything"))
  })

  it("STR-03 a cursor of another session, another life, or no cursor at all says nothing", () => {
    const { read, write } = cursorsOf("life", "s")
    const places = [
      undefined,
      { _tag: "Message", id: "m1", open: [] },
      { _tag: "Message", id: "m1", open: ["a-1", "a_2"] },
      { _tag: "Message", id: undefined, open: [] },
      { _tag: "Turn" },
    ] as const
    for (const place of places) {
      const cursor = write(12, place)
      assert.deepStrictEqual(read(cursor), { seq: 12, place })
      assert.strictEqual(cursorsOf("next", "s").read(cursor), "other-life")
      assert.strictEqual(cursorsOf("life", "t").read(cursor), "other-session")
      for (const damaged of [`${cursor} `, `${cursor}.`, cursor.slice(2), `x${cursor}`]) {
        assert.strictEqual(read(damaged), "invalid", damaged)
      }
    }
    for (const cursor of ["", "5", "f.life...s", "f.life.-1..s", "f.life.1e3..s", "f.life.9999999999999999..s"]) {
      assert.strictEqual(read(cursor), "invalid", cursor)
    }
  })

  it("STR-01 any history of frames and drafts leaves what a plain list would", () => {
    const step = fc.record({
      entry: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
      size: fc.nat({ max: 400 }),
      settles: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
    })
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 200 }),
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 700, max: 4_000 }),
        fc.nat({ max: 250 }),
        fc.integer({ min: 1, max: 30 }),
        (steps, frames, bytes, after, limit) => {
          const ring = ringOf(frames, bytes)
          let list: Array<{ seq: number; size: number; entry: string | undefined }> = []
          let evicted = 0
          for (const [i, { entry, settles, size }] of steps.entries()) {
            const seq = i + 1
            const kept = ring.append(event("x".repeat(size), { entry }), seq, 0)
            if (entry !== undefined) list = list.filter((one) => one.entry !== entry)
            list.push({ seq, size: kept.size, entry: kept.kind === "resync-required" ? undefined : entry })
            const total = () => list.reduce((sum, one) => sum + one.size, 0)
            while (list.length > frames || total() > bytes) evicted = list.shift()!.seq
            if (settles !== undefined) {
              ring.dropDraft(settles)
              list = list.filter((one) => one.entry !== settles)
            }
            assert.deepStrictEqual([ring.length, ring.bytes, ring.evictedThrough], [list.length, total(), evicted])
          }
          const expected = list.map(({ seq }) => seq).filter((seq) => seq > after)
          assert.deepStrictEqual(numbers(ring, after, limit), after < evicted ? undefined : expected.slice(0, limit))
        },
      ),
    )
  })

  it("counts bytes as an encoder does", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        assert.strictEqual(utf8Length(text), new TextEncoder().encode(text).byteLength)
      }),
    )
  })
})
