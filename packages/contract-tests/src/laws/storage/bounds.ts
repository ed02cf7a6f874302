/**
 * Ranges: bounds of every kind on both ends, prefix, direction and limit, over keys and indexes.
 *
 * The expected rows come from a filter over all rows that is written down here once more, in the words of the
 * specification.
 */
import { descInt, index, int, table, text, Tx } from "@skein/core/storage"
import type { Key } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { equal, show } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { read, schemaOf, transact, withStorage } from "../../storage.ts"
import { insertAll, Note, note, numbersOf, schema } from "./tables.ts"

const Cell = table("cell", {
  row: z.object({ word: z.string(), n: z.number(), up: z.number(), down: z.number() }),
  key: [text("word"), int("n")],
  indexes: { upwards: index(text("word"), int("up")), downwards: index(text("word"), descInt("down")) },
})
interface Cell {
  readonly word: string
  readonly n: number
  readonly up: number
  readonly down: number
}
type Order = "key" | "upwards" | "downwards"
type Bounds = Tx.Bounds<readonly [string, number]>

const cells: ReadonlyArray<Cell> = ["", "a", "ab", "b"].flatMap((word) =>
  [-1, 0, 2].map((n) => ({ word, n, up: n, down: n })),
)

/** Whether a place comes before, in or after what a bound stands for: all places that begin with it. */
const side = (order: Order, { n, word }: Cell, [boundWord, boundN]: Key): number => {
  if (boundWord !== undefined && word !== boundWord) return word < boundWord ? -1 : 1
  if (boundN === undefined || n === boundN) return 0
  return n < Number(boundN) === (order !== "downwards") ? -1 : 1
}

const expected = (order: Order, { after, before, from, limit, prefix, reverse, to }: Bounds): ReadonlyArray<Cell> => {
  const sorted = cells.toSorted((a, b) => side(order, a, [b.word, b.n]))
  const found = sorted.filter(
    (cell) =>
      (prefix === undefined || side(order, cell, prefix) === 0) &&
      (from === undefined || side(order, cell, from) >= 0) &&
      (after === undefined || side(order, cell, after) > 0) &&
      (to === undefined || side(order, cell, to) <= 0) &&
      (before === undefined || side(order, cell, before) < 0),
  )
  return (reverse === true ? found.toReversed() : found).slice(0, limit)
}

/** Starts of every length, of places that are occupied and of places between. */
type Start = readonly [] | readonly [string] | readonly [string, number]
const starts: ReadonlyArray<Start> = [
  [],
  [""],
  ["a"],
  ["aa"],
  ["b"],
  ["a", -1],
  ["ab", 0],
  ["ab", 1],
  ["b", 2],
  ["c", 0],
]
const prefixes: ReadonlyArray<Start | undefined> = [undefined, ["ab"], ["ab", 0], ["aa"]]

const beginsWith = (start: Start, prefix: Start) =>
  start.length >= prefix.length && prefix.every((part, i) => part === start[i])

/** Every choice of prefix, lower and upper bound, each inclusive, exclusive or absent. */
const everyBounds: ReadonlyArray<Bounds> = prefixes.flatMap((prefix) => {
  const usable = starts.filter((start) => prefix === undefined || beginsWith(start, prefix))
  const lower = [{}, ...usable.flatMap((start) => [{ from: start }, { after: start }])]
  const upper = [{}, ...usable.flatMap((start) => [{ to: start }, { before: start }])]
  const given = prefix === undefined ? {} : { prefix }
  return lower.flatMap((low) => upper.map((high): Bounds => ({ ...given, ...low, ...high })))
})

const ways: ReadonlyArray<Bounds> = [{}, { reverse: true }, { limit: 2 }, { limit: 2, reverse: true }]

/** Many ranges in one step, since each program costs an engine a transaction. */
const atOnce = 100

const holdsFor =
  (order: Order): Law["run"] =>
  (store) =>
    withStorage(store, { schema: schemaOf(Cell) })(
      Effect.gen(function* () {
        yield* transact(insertAll(Cell, cells))
        const asked = everyBounds.flatMap((bounds) => ways.map((way) => ({ ...bounds, ...way })))
        for (let i = 0; i < asked.length; i += atOnce) {
          const some = asked.slice(i, i + atOnce)
          const answers = yield* read(
            Tx.make(function* (tx) {
              return yield* tx.all(some.map((bounds) => tx.range(Cell, order, bounds)))
            }),
          )
          some.forEach((bounds, at) => equal(answers[at], expected(order, bounds), () => `${order} ${show(bounds)}`))
        }
      }),
    )

export const boundsLaws = [
  law("STO-03 a range over the key gives what its bounds say, for every kind of bound", holdsFor("key")),
  law("STO-03 a range over an index gives what its bounds say, for every kind of bound", holdsFor("upwards")),
  law("STO-03 bounds on a desc int are meant in its own direction, for every kind of bound", holdsFor("downwards")),

  law("STO-03 a limit counts from the end the range begins at, and may be 0", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(
          insertAll(
            Note,
            [1, 2, 3, 4, 5].map((n) => note(n, { rank: -n })),
          ),
        )
        equal(yield* read(numbersOf("key", { limit: 2 })), [1, 2])
        equal(yield* read(numbersOf("key", { limit: 2, reverse: true })), [5, 4])
        equal(yield* read(numbersOf("key", { after: ["a", 2], limit: 2 })), [3, 4])
        equal(yield* read(numbersOf("key", { before: ["a", 4], limit: 2, reverse: true })), [3, 2])
        equal(yield* read(numbersOf("byRank", { limit: 2 })), [5, 4])
        equal(yield* read(numbersOf("byRank", { limit: 2, reverse: true })), [1, 2])
        equal(yield* read(numbersOf("key", { limit: 0 })), [])
        equal(yield* read(numbersOf("key", { limit: 500, prefix: [] })), [1, 2, 3, 4, 5])
      }),
    ),
  ),

  law("STO-03 no range gives more than 500 rows, and a walk by key meets every row once", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        const all = Array.from({ length: 1_201 }, (_, n) => n)
        yield* transact(
          insertAll(
            Note,
            all.map((n) => note(n, { rank: n % 7 })),
          ),
        )
        equal((yield* read(numbersOf("key"))).length, 500, "the length of a range without a limit")
        const walked: Array<number> = []
        for (let page = yield* read(numbersOf("key")); page.length > 0;) {
          walked.push(...page)
          page = yield* read(numbersOf("key", { after: ["a", walked.at(-1)!] }))
        }
        equal(walked, all, "a walk by key")
        const byRank: Array<readonly [number, number]> = []
        const step = (bounds: Tx.Bounds<readonly [number, string, number]>) =>
          Tx.make(function* (tx) {
            const notes = yield* tx.range(Note, "byRank", { ...bounds, limit: 300 })
            return notes.map(({ n, rank = -1 }) => [rank, n] as const)
          })
        for (let page = yield* read(step({})); page.length > 0;) {
          byRank.push(...page)
          const [rank, n] = byRank.at(-1)!
          page = yield* read(step({ after: [rank, "a", n] }))
        }
        const sorted = all.map((n) => [n % 7, n] as const).toSorted(([a, m], [b, n]) => a - b || m - n)
        equal(byRank, sorted, "a walk by index")
      }),
    ),
  ),

  law("STO-03 several reads in one step are answered each in its place", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(
          insertAll(
            Note,
            [1, 2, 3].map((n) => note(n, { tag: "t", rank: n })),
          ),
        )
        const answers = yield* read(
          Tx.make(function* (tx) {
            return yield* tx.all([
              tx.get(Note, ["a", 2]),
              tx.range(Note, "newest", { prefix: ["t"], limit: 2 }),
              tx.get(Note, ["a", 9]),
              tx.range(Note, "key", { from: ["b"] }),
              tx.get(Note, ["a", 2]),
            ])
          }),
        )
        const two = note(2, { tag: "t", rank: 2 })
        equal(answers, [two, [note(3, { tag: "t", rank: 3 }), two], undefined, [], two])
      }),
    ),
  ),

  law("STO-03 a bound that does not fit its order is refused, and so is a limit over 500", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(insertAll(Note, [note(1)]))
        equal(yield* outcomeOf(read(numbersOf("key", { from: ["ü"] }))), { failed: "InvalidInput" })
        equal(yield* outcomeOf(read(numbersOf("key", { to: ["a", 0.5] }))), { failed: "InvalidInput" })
        const { defect } = { defect: "", ...(yield* outcomeOf(read(numbersOf("key", { limit: 501 })))) }
        equal(defect, "a range gives 0 to 500 rows, not 501: note")
      }),
    ),
  ),
]
