/**
 * The schema of a store: who may open it, and how older rows become today's.
 */
import { descInt, index, int, table, text, Tx, unique } from "@skein/core/storage"
import type { AnyTable, JsonObject, Migration, Schema, StorageError } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as z from "zod/mini"
import { check, equal } from "../../equal.ts"
import { law, lawWith } from "../../law.ts"
import type { Store } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { openStorage, read, schemaOf, transact, withStorage } from "../../storage.ts"
import { spoil } from "./rows.ts"
import { insertAll, Note, note, numbersOf, rangeOf } from "./tables.ts"

/** The table of version 1. */
const Old = table("book", {
  row: z.object({ shelf: z.string(), n: z.number(), title: z.string(), pages: z.optional(z.number()) }),
  key: [text("shelf"), int("n")],
  indexes: { byPages: index(int("pages")) },
})
const books = [
  { shelf: "a", n: 1, title: "Emma", pages: 474 },
  { shelf: "a", n: 2, title: "Ulysses", pages: 732 },
  { shelf: "b", n: -3, title: "Untitled" },
  { shelf: "b", n: 10, title: "drop me", pages: 1 },
]

/** What it has become in version 2: another key, other and unique indexes, other fields, and a bytes field. */
const New = table("book", {
  row: z.object({
    n: z.number(),
    place: z.string(),
    heading: z.string(),
    pages: z.optional(z.number()),
    printed: z.number(),
    cover: z.optional(z.custom<Uint8Array>((value) => value instanceof Uint8Array)),
  }),
  key: [int("n"), text("place")],
  indexes: {
    byPages: index(descInt("pages")),
    byHeading: unique(text("heading")),
    byPlace: index(text("place"), int("printed")),
  },
  bytes: "cover",
})
const Shelf = table("shelf", { row: z.object({ name: z.string() }), key: [text("name")] })

const renamed: Migration = {
  version: 2,
  table: "book",
  change: ({ n, pages, shelf, title }): JsonObject | undefined => {
    if (title === "drop me") return undefined
    const kept = { n: n!, place: shelf!, heading: title!, printed: 0 }
    return pages === undefined ? kept : { ...kept, pages }
  },
}
const newBooks = [
  { n: -3, place: "b", heading: "Untitled", printed: 0 },
  { n: 1, place: "a", heading: "Emma", pages: 474, printed: 0 },
  { n: 2, place: "a", heading: "Ulysses", pages: 732, printed: 0 },
]

const versioned = (
  version: number,
  tables: ReadonlyArray<AnyTable>,
  migrations: ReadonlyArray<Migration> = [],
  oldestWriter = version,
): Schema => ({ version, oldestReader: oldestWriter, oldestWriter, tables, migrations })

const first = versioned(1, [Old])
const second = versioned(2, [New, Shelf], [renamed])

/** Everything in the tables of a schema, by key and by every index, both ways. Tables here are small. */
const contents = ({ tables }: Schema) =>
  Tx.make(function* (tx) {
    const found: Record<string, unknown> = {}
    for (const one of tables) {
      for (const order of ["key", ...one.indexes.map(({ name }) => name)]) {
        for (const reverse of [false, true]) {
          found[`${one.name} by ${order}${reverse ? " in reverse" : ""}`] = yield* tx.range(one, order, { reverse })
        }
      }
    }
    return found
  })

const filled = (store: Store) => withStorage(store, { schema: first })(transact(insertAll(Old, books)))

/** Counts up: a migration that shows how often it was applied. */
const Counter = table("counter", {
  row: z.object({ id: z.string(), value: z.number() }),
  key: [text("id")],
})
const counting = (version: number, by: (value: number) => number): Migration => ({
  version,
  table: "counter",
  change: (row) => ({ ...row, value: by(Number(row["value"])) }),
})
const counters = Array.from({ length: 20 }, (_, i) => ({ id: `c${i}`, value: 1 }))
const values = Tx.make(function* (tx) {
  return (yield* tx.range(Counter, "key", {})).map(({ value }) => value)
})

/** Opens and tells how it failed, if it did. */
const opening = (store: Store, schema: Schema): Effect.Effect<StorageError | undefined, never, Scope.Scope> =>
  Effect.match(openStorage(store, { schema }), { onSuccess: () => undefined, onFailure: (error) => error })

const refuses = (store: Store) =>
  Effect.gen(function* () {
    const error = yield* Effect.scoped(opening(store, first))
    const reason = error?.reason
    check(reason?._tag === "VersionMismatch", `a newer store is refused with ${reason?._tag ?? "nothing"}`)
    if (reason?._tag === "VersionMismatch") equal([reason.found, reason.supported], [2, 1], "the versions it names")
    check(error?.message.includes("upgrade this program") === true, `the message says what to do: ${error?.message}`)
  })

export const versionLaws = [
  law("STO-08, A74 a newer store is refused with VersionMismatch, and is as it was", (store) =>
    Effect.gen(function* () {
      yield* withStorage(store, { schema: second })(transact(insertAll(New, newBooks)))
      yield* refuses(store)
      yield* refuses(store)
      const found = yield* withStorage(store, { schema: second })(read(rangeOf(New, "key")))
      equal(found, newBooks)
    }),
  ),

  lawWith({ needs: ["picture"] }, "STO-08, A74 refusing a newer store changes no byte of it", (store) =>
    Effect.gen(function* () {
      yield* withStorage(store, { schema: second })(transact(insertAll(New, newBooks)))
      const before = yield* store.picture
      yield* refuses(store)
      equal(yield* store.picture, before, "the picture of the store")
    }),
  ),

  law("STO-08 a newer store that admits older writers opens, and stays what it is", (store) =>
    Effect.gen(function* () {
      const older = versioned(1, [Counter])
      const newer = versioned(2, [Counter, Shelf], [counting(2, (value) => value * 10)], 1)
      yield* withStorage(store, { schema: older })(transact(insertAll(Counter, [{ id: "old", value: 1 }])))
      yield* withStorage(store, { schema: newer })(transact(insertAll(Shelf, [{ name: "kept" }])))
      yield* withStorage(store, { schema: older })(
        Effect.gen(function* () {
          equal(yield* read(values), [10])
          yield* transact(insertAll(Counter, [{ id: "z", value: 2 }]))
        }),
      )
      yield* withStorage(store, { schema: newer })(
        Effect.gen(function* () {
          equal(yield* read(values), [10, 2], "rows of both, none of them changed again")
          equal(yield* read(rangeOf(Shelf, "key")), [{ name: "kept" }], "a table that the older code does not know")
        }),
      )
    }),
  ),

  law(
    "STO-08 a newer store that admits older writers is refused all the same where a table of theirs has changed",
    (store) =>
      Effect.gen(function* () {
        const row = z.object({ id: z.string(), value: z.number() })
        const Indexed = table("counter", { row, key: [text("id")], indexes: { byValue: index(int("value")) } })
        const newer = versioned(2, [Indexed], [], 1)
        yield* withStorage(store, { schema: newer })(transact(insertAll(Indexed, counters)))
        const error = yield* Effect.scoped(opening(store, versioned(1, [Counter])))
        equal(error?.reason._tag, "VersionMismatch")
        equal((yield* withStorage(store, { schema: newer })(read(rangeOf(Indexed, "byValue")))).length, counters.length)
      }),
  ),

  law("STO-08, A75 an upgraded store equals a fresh one with the same rows, in every order", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        yield* filled(store)
        const upgraded = yield* withStorage(store, { schema: second })(read(contents(second)))
        const other = yield* store.fresh
        yield* withStorage(other, { schema: second })(transact(insertAll(New, newBooks.toReversed())))
        equal(upgraded, yield* withStorage(other, { schema: second })(read(contents(second))))
        equal(upgraded["book by key"], newBooks)

        for (const one of [store, other]) {
          yield* withStorage(one, { schema: second })(
            Effect.gen(function* () {
              const clash = { n: 50, place: "z", heading: "Emma", printed: 1 }
              equal(yield* outcomeOf(transact(insertAll(New, [clash]))), { failed: "Constraint" })
              yield* transact(
                insertAll(New, [{ ...clash, heading: "Persuasion", pages: 900, cover: Uint8Array.of(7) }]),
              )
              yield* transact(insertAll(Shelf, [{ name: "new" }]))
              equal(
                (yield* read(rangeOf(New, "byPages", { limit: 1 }))).map(({ n }) => n),
                [50],
              )
            }),
          )
        }
        const after = yield* withStorage(store, { schema: second })(read(contents(second)))
        equal(after, yield* withStorage(other, { schema: second })(read(contents(second))))
      }),
    ),
  ),

  law("STO-08 a new index is filled from the rows that are there, without a migration", (store) =>
    Effect.gen(function* () {
      const row = z.object({ id: z.string(), value: z.number(), name: z.optional(z.string()) })
      const Plain = table("counter", { row, key: [text("id")] })
      const Indexed = table("counter", {
        row,
        key: [text("id")],
        indexes: { byValue: index(descInt("value")), byName: unique(text("name")) },
      })
      const rows = [5, -1, 9].map((value, i) => ({ id: `c${i}`, value, name: `n${i}` }))
      yield* withStorage(store, { schema: versioned(1, [Plain]) })(transact(insertAll(Plain, rows)))
      yield* withStorage(store, { schema: versioned(1, [Indexed]) })(
        Effect.gen(function* () {
          equal(
            (yield* read(rangeOf(Indexed, "byValue"))).map(({ value }) => value),
            [9, 5, -1],
          )
          const clash = insertAll(Indexed, [{ id: "x", value: 0, name: "n1" }])
          equal(yield* outcomeOf(transact(clash)), { failed: "Constraint" })
        }),
      )
      equal(yield* withStorage(store, { schema: versioned(1, [Plain]) })(read(rangeOf(Plain, "key"))), rows)
    }),
  ),

  law("STO-08 migrations run in the order of their versions, each once, over several versions at a time", (store) =>
    Effect.gen(function* () {
      const migrations = [counting(3, (value) => value * 10), counting(2, (value) => value + 1)]
      const third = versioned(3, [Counter], migrations)
      yield* withStorage(store, { schema: versioned(1, [Counter]) })(transact(insertAll(Counter, counters)))
      for (const time of ["once", "twice"]) {
        const found = yield* withStorage(store, { schema: third })(read(values))
        equal(
          found,
          counters.map(() => 20),
          `the counters, opened ${time}`,
        )
      }
      yield* withStorage(store, { schema: third })(transact(insertAll(Counter, [{ id: "new", value: 7 }])))
      const found = yield* withStorage(store, { schema: third })(read(values))
      equal(found.at(-1), 7, "a row that was written in the new version")
    }),
  ),

  law("STO-08 a row that a migration fails on, or makes something of that is no JSON, is kept as it was", (store) =>
    Effect.gen(function* () {
      const odd: Migration = {
        version: 2,
        table: "counter",
        change: (row) => {
          if (row["id"] === "c1") throw new Error("this row is not expected")
          return { ...row, value: row["id"] === "c2" ? Number.NaN : 7 }
        },
      }
      const rows = ["c0", "c1", "c2", "c3"].map((id) => ({ id, value: 1 }))
      yield* withStorage(store, { schema: versioned(1, [Counter]) })(transact(insertAll(Counter, rows)))
      const found = yield* withStorage(store, { schema: versioned(2, [Counter], [odd]) })(read(values))
      equal(found, [7, 1, 1, 7])
    }),
  ),

  law("STO-08, A75 many who create a store at once all succeed, and share it", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const open = openStorage(store, { schema: schemaOf(Note) })
        const storages = yield* Effect.all([open, open, open, open, open], { concurrency: "unbounded" })
        yield* Effect.forEach(storages, (storage, n) => storage.transact(insertAll(Note, [note(n)])), {
          concurrency: "unbounded",
        })
        for (const storage of storages) equal(yield* storage.read(numbersOf("key")), [0, 1, 2, 3, 4])
      }),
    ),
  ),

  law("STO-08, A75 many who upgrade a store at once all succeed, and its rows are changed once", (store) =>
    Effect.gen(function* () {
      yield* withStorage(store, { schema: versioned(1, [Counter]) })(transact(insertAll(Counter, counters)))
      const upgraded = versioned(2, [Counter, Shelf], [counting(2, (value) => value + 1)])
      yield* Effect.scoped(
        Effect.gen(function* () {
          const open = openStorage(store, { schema: upgraded })
          const storages = yield* Effect.all([open, open, open, open, open], { concurrency: "unbounded" })
          for (const storage of storages)
            equal(
              yield* storage.read(values),
              counters.map(() => 2),
            )
        }),
      )
      equal(
        yield* withStorage(store, { schema: upgraded })(read(values)),
        counters.map(() => 2),
      )
    }),
  ),

  law("STO-08 tables that another program declared stay", (store) =>
    Effect.gen(function* () {
      yield* withStorage(store, { schema: schemaOf(Note) })(transact(insertAll(Note, [note(1)])))
      yield* withStorage(store, { schema: schemaOf(Counter) })(transact(insertAll(Counter, counters)))
      equal(yield* withStorage(store, { schema: schemaOf(Note) })(read(numbersOf("key"))), [1])
      const both = withStorage(store, { schema: schemaOf(Note, Counter) })
      equal((yield* both(read(values))).length, counters.length)
      equal(yield* both(read(numbersOf("key"))), [1])
    }),
  ),

  law("STO-08, STO-09 an upgrade keeps rows that cannot be read, and upgrades their neighbours", (store) =>
    Effect.gen(function* () {
      const row = { shelf: z.string(), n: z.number(), title: z.string(), pages: z.optional(z.number()) }
      const Retitled = table("book", {
        row: z.object({ ...row, length: z.optional(z.number()) }),
        key: [text("shelf"), int("n")],
        indexes: { byTitle: index(text("title")) },
      })
      const upper: Migration = {
        version: 2,
        table: "book",
        change: (book) => ({ ...book, title: String(book["title"]).toUpperCase() }),
      }
      yield* filled(store)
      yield* spoil(store, first, Old, ["a", 2], "{ no JSON")
      yield* withStorage(store, { schema: versioned(2, [Retitled], [upper]) })(
        Effect.gen(function* () {
          const titles = (order: "key" | "byTitle") =>
            Tx.make(function* (tx) {
              const rows = yield* tx.range(Retitled, order, { unreadable: "keep" })
              return rows.map((book) => (Tx.isUnreadable(book) ? `unreadable ${book.key}` : book.title))
            })
          equal(yield* read(titles("key")), ["EMMA", "unreadable a,2", "UNTITLED", "DROP ME"])
          equal(yield* read(titles("byTitle")), ["DROP ME", "EMMA", "UNTITLED"])
        }),
      )
    }),
  ),
]
