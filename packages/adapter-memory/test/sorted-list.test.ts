import { assert, it } from "@effect/vitest"
import { seedOfRun } from "../../../test/port/seed.ts"
import { randomFrom } from "../../../test/port/random.ts"
import { SortedList } from "../src/sorted-list.ts"

const all = { lower: undefined, upper: undefined, limit: Infinity }

it("STO-03 a sorted list keeps order over many chunks, with insertions and removals anywhere", () => {
  const seed = seedOfRun()
  const random = randomFrom(seed)
  const list = new SortedList<{ readonly place: readonly [string, number] }>()
  const present = new Set<number>()
  for (let step = 0; step < 20_000; step++) {
    const n = Math.floor(random() * 4_000)
    const isThere = list.find(["s", n]).length === 1
    assert.strictEqual(isThere, present.has(n), `seed ${seed}, step ${step}`)
    if (isThere) {
      list.remove(["s", n])
      present.delete(n)
    } else {
      list.insert({ place: ["s", n] })
      present.add(n)
    }
  }
  const expected = [...present].toSorted((a, b) => a - b)
  const forward = list.range({ ...all, reverse: false }).map(({ place }) => place[1])
  const backward = list.range({ ...all, reverse: true }).map(({ place }) => place[1])
  assert.deepStrictEqual(forward, expected, `seed ${seed}`)
  assert.deepStrictEqual(backward, expected.toReversed(), `seed ${seed}`)
  for (let i = 0; i < 200; i++) {
    const [low, high] = [Math.floor(random() * 4_000), Math.floor(random() * 4_000)]
    const span = {
      lower: { key: ["s", low], inclusive: random() < 0.5 },
      upper: { key: ["s", high], inclusive: random() < 0.5 },
      reverse: random() < 0.5,
      limit: 300,
    }
    const found = list.range(span).map(({ place }) => place[1])
    const within = expected.filter(
      (n) => (n > low || (n === low && span.lower.inclusive)) && (n < high || (n === high && span.upper.inclusive)),
    )
    if (span.reverse) within.reverse()
    assert.deepStrictEqual(found, within.slice(0, 300), `seed ${seed}, ${JSON.stringify(span)}`)
  }
})
