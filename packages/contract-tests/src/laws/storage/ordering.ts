/**
 * One order on all engines: of keys, of indexes, of what has no place in one.
 */
import { descInt, index, int, table, text } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { equal } from "../../equal.ts"
import { law } from "../../law.ts"
import { makeRandom } from "../../random.ts"
import { read, schemaOf, transact, withStorage } from "../../storage.ts"
import { insertAll, Note, note, numbersOf, rangeOf, schema } from "./tables.ts"

const largest = Number.MAX_SAFE_INTEGER
const numbers = [
  -largest,
  -4_294_967_297,
  -2_147_483_649,
  -256,
  -10,
  -9,
  -1,
  0,
  1,
  2,
  9,
  10,
  255,
  2_147_483_648,
  largest,
]

/** Every printable character, and words that differ where collations fail: case, length, trailing blanks, digits. */
const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(0x20 + i))
const words = [
  "",
  "a ",
  "a!",
  "aB",
  "aa",
  "ab",
  "ab ",
  "a~",
  "A",
  "Ab",
  "AB",
  "10",
  "9",
  "09",
  "%5",
  "_x",
  "'q'",
  '"q"',
  "\\n",
]
const texts = [...new Set([...printable, ...words])]
const byCodeUnit = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

const Place = table("place", {
  row: z.object({ id: z.number(), word: z.string(), up: z.optional(z.number()), down: z.optional(z.number()) }),
  key: [int("id")],
  indexes: {
    byWord: index(text("word")),
    byNumber: index(int("up")),
    largestFirst: index(descInt("down")),
    mixed: index(int("up"), descInt("down"), text("word")),
    newestIds: index(text("word"), descInt("id")),
  },
})
const place = <Rest extends object>(id: number, rest: Rest) => ({ id, word: "w", ...rest })

/** Names that are words of SQL, or that an engine may use itself. */
const Reserved = table("order", {
  row: z.object({
    group: z.string(),
    key: z.number(),
    select: z.number(),
    where: z.string(),
    blob: z.optional(z.custom<Uint8Array>((value) => value instanceof Uint8Array)),
    value: z.optional(z.string()),
    rowid: z.optional(z.number()),
  }),
  key: [text("group"), int("key")],
  indexes: { index: index(descInt("select"), text("where")), table: index(text("value")), rowid: index(int("rowid")) },
  bytes: "blob",
})

/** A schema whose tables and fields are named like object members. */
const Members = table("constructor", {
  row: z.object({ toString: z.string(), valueOf: z.number() }),
  key: [text("toString")],
  indexes: { hasOwnProperty: index(descInt("valueOf")) },
})

export const orderingLaws = [
  law("STO-03 numbers in a key sort by value, negative ones and the largest included", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(
          insertAll(
            Note,
            makeRandom(store.seed)
              .shuffled(numbers)
              .map((n) => note(n)),
          ),
        )
        equal(yield* read(numbersOf("key")), numbers)
        equal(yield* read(numbersOf("key", { reverse: true })), numbers.toReversed())
      }),
    ),
  ),

  law("STO-03 text in a key sorts by code unit: every printable character, and the empty text", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        const rows = makeRandom(store.seed)
          .shuffled(texts)
          .map((shelf, n) => ({ shelf, n }))
        yield* transact(insertAll(Note, rows))
        const sorted = texts.toSorted(byCodeUnit)
        const shelves = (found: ReadonlyArray<{ readonly shelf: string }>) => found.map(({ shelf }) => shelf)
        equal(shelves(yield* read(rangeOf(Note, "key"))), sorted)
        equal(shelves(yield* read(rangeOf(Note, "key", { reverse: true }))), sorted.toReversed())
      }),
    ),
  ),

  law("STO-03 indexes sort like keys: text by code unit, int upwards, desc int downwards", (store) =>
    withStorage(store, { schema: schemaOf(Place) })(
      Effect.gen(function* () {
        const { shuffled } = makeRandom(store.seed)
        const byNumber = shuffled(numbers).map((value, id) => place(id, { up: value, down: value }))
        const byWord = shuffled(texts).map((word, i) => place(1_000 + i, { word }))
        yield* transact(insertAll(Place, [...byNumber, ...byWord]))
        const ups = (yield* read(rangeOf(Place, "byNumber"))).map(({ up }) => up)
        equal(ups, numbers, "the order of an int index")
        const downs = (yield* read(rangeOf(Place, "largestFirst"))).map(({ down }) => down)
        equal(downs, numbers.toReversed(), "the order of a desc int index")
        const sorted = (yield* read(rangeOf(Place, "byWord"))).filter(({ id }) => id >= 1_000).map(({ word }) => word)
        equal(sorted, texts.toSorted(byCodeUnit), "the order of a text index")
      }),
    ),
  ),

  law("STO-03 an index of several fields sorts by the first, then the next, each its own way", (store) =>
    withStorage(store, { schema: schemaOf(Place) })(
      Effect.gen(function* () {
        const rows = [1, -1].flatMap((up) =>
          [-5, 0, 5].flatMap((down) =>
            ["b", "a"].map((word, i) => place(up * 100 + down * 10 + i, { up, down, word })),
          ),
        )
        yield* transact(insertAll(Place, makeRandom(store.seed).shuffled(rows)))
        const expected = rows.toSorted((a, b) => a.up - b.up || b.down - a.down || byCodeUnit(a.word, b.word))
        equal(yield* read(rangeOf(Place, "mixed")), expected)
        equal(yield* read(rangeOf(Place, "mixed", { reverse: true })), expected.toReversed())
        const newest = rows.toSorted((a, b) => byCodeUnit(a.word, b.word) || b.id - a.id)
        equal(yield* read(rangeOf(Place, "newestIds")), newest, "an index that turns a key field round")
      }),
    ),
  ),

  law("STO-03 equal values in an index are ordered by the rest of the key", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        const rows = ["c", "a", "b"].flatMap((shelf) => [3, -2, 1].map((n) => ({ shelf, n, rank: 7, tag: "t" })))
        yield* transact(insertAll(Note, rows))
        const expected = rows.toSorted((a, b) => byCodeUnit(a.shelf, b.shelf) || a.n - b.n)
        for (const order of ["byRank", "newest", "byTag"] as const) {
          equal(yield* read(rangeOf(Note, order)), expected, `the order of ${order}`)
          equal(yield* read(rangeOf(Note, order, { reverse: true })), expected.toReversed(), `${order} in reverse`)
        }
      }),
    ),
  ),

  law("STO-03 a row that lacks a field of an index is not in it, and in the others", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(
          insertAll(Note, [note(1), note(2, { rank: 0 }), note(3, { tag: "" }), note(4, { rank: 0, tag: "" })]),
        )
        equal(yield* read(numbersOf("byRank")), [2, 4], "the index of rank")
        equal(yield* read(numbersOf("byTag")), [3, 4], "the index of tag")
        equal(yield* read(numbersOf("newest")), [4], "the index of both")
        equal(yield* read(numbersOf("newest", { prefix: [""] })), [4], "those with an empty tag")
        equal(yield* read(numbersOf("key")), [1, 2, 3, 4], "the table")
      }),
    ),
  ),

  law("STO-01 tables, fields and indexes may be named by any word", (store) =>
    withStorage(store, { schema: schemaOf(Reserved, Members) })(
      Effect.gen(function* () {
        const rows = [1, 2, 3].map((n) => ({
          group: "g",
          key: n,
          select: -n,
          where: `{${n}}`,
          blob: Uint8Array.of(n),
          value: `v${n}`,
          rowid: 10 - n,
        }))
        const members = [1, 2].map((n) => ({ toString: `t${n}`, valueOf: n }))
        yield* transact(insertAll(Reserved, rows))
        yield* transact(insertAll(Members, members))
        equal(yield* read(rangeOf(Reserved, "key")), rows)
        equal(yield* read(rangeOf(Reserved, "index", { from: [-2] })), rows.slice(1))
        equal(yield* read(rangeOf(Reserved, "table", { prefix: ["v2"] })), [rows[1]])
        equal(yield* read(rangeOf(Reserved, "rowid")), rows.toReversed())
        equal(yield* read(rangeOf(Members, "hasOwnProperty")), members.toReversed())
      }),
    ),
  ),
]
