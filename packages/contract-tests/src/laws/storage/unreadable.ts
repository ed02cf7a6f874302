/**
 * Rows that are stored and cannot be read.
 */
import { int, table, text, Tx } from "@skein/core/storage"
import type { AnyTable } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { equal } from "../../equal.ts"
import { law, lawWith } from "../../law.ts"
import type { Store } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { read, schemaOf, transact, withStorage } from "../../storage.ts"
import { spoil } from "./rows.ts"
import { Account, account, getNote, insertAll, Note, note, numbersOf, schema } from "./tables.ts"

/** A list of numbers with a mark in the place of what cannot be read. */
const listed = (order: "key" | "byRank", reverse = false) =>
  Tx.make(function* (tx) {
    const rows = yield* tx.range(Note, order, { reverse, unreadable: "keep" })
    return rows.map((row) => (Tx.isUnreadable(row) ? `unreadable ${row.table} ${row.key}` : row.n))
  })

const stay = Effect.gen(function* () {
  equal(yield* read(listed("key")), [1, "unreadable note a,2", 3], "the list by key")
  equal(yield* read(listed("key", true)), [3, "unreadable note a,2", 1], "the list in reverse")
  equal(yield* read(listed("byRank")), [3, "unreadable note a,2", 1], "the list by index")
})

const threeNotes = (store: Store) =>
  withStorage(store, { schema })(
    transact(
      insertAll(
        Note,
        [1, 2, 3].map((n) => note(n, { rank: -n })),
      ),
    ),
  )

const afterDamage = (store: Store) =>
  withStorage(store, { schema })(
    Effect.gen(function* () {
      yield* stay
      const error = yield* Effect.flip(read(getNote(2)))
      equal("reason" in error && [error.reason._tag, "table" in error.reason && error.reason.table], [
        "Corrupt",
        "note",
      ])
      equal(yield* outcomeOf(read(numbersOf("key"))), { failed: "Corrupt" }, "a list that does not ask to keep them")
      equal(yield* read(numbersOf("key", { after: ["a", 2] })), [3], "a list beside it")
      equal(yield* read(getNote(1)), note(1, { rank: -1 }), "its neighbour")
      yield* transact(insertAll(Note, [note(4)]))
      equal(yield* outcomeOf(transact(insertAll(Note, [note(2)]))), { failed: "Constraint" }, "an insert at its key")
    }),
  )

const written = (of: AnyTable) => schemaOf(of, Note)

export const unreadableLaws = [
  law("STO-09, A22 one unreadable row stands in its place, fails a read of it alone, and hides nothing", (store) =>
    Effect.gen(function* () {
      for (const json of ["{ no JSON", "", "[]", "null", `{"rank":"no number"}`]) {
        const other = yield* store.fresh
        yield* threeNotes(other)
        yield* spoil(other, schema, Note, ["a", 2], json)
        yield* afterDamage(other)
      }
    }).pipe(Effect.scoped),
  ),

  lawWith(
    { needs: ["damage"] },
    "STO-09, A22 a row damaged from outside is told from its neighbours just so",
    (store) =>
      Effect.gen(function* () {
        yield* threeNotes(store)
        yield* store.damage("note", ["a", 2])
        yield* afterDamage(store)
      }),
  ),

  law("STO-09 nothing deletes an unreadable row but a removal; a put replaces it", (store) =>
    Effect.gen(function* () {
      yield* threeNotes(store)
      yield* spoil(store, schema, Note, ["a", 2], "{")
      yield* withStorage(store, { schema })(
        Effect.gen(function* () {
          const update = Tx.make(function* (tx) {
            yield* tx.range(Note, "key", { unreadable: "keep" })
            tx.update(Note, ["a", 2], (row) => row)
          })
          equal(yield* outcomeOf(transact(update)), { defect: `update of an unreadable row: note ["a",2]` })
          yield* stay
        }),
      )
      yield* withStorage(store, { schema })(stay)
      yield* withStorage(store, { schema })(
        Effect.gen(function* () {
          yield* transact(
            Tx.make(function* (tx) {
              tx.put(Note, note(2, { rank: 5 }))
            }),
          )
          equal(yield* read(listed("byRank")), [3, 1, 2])
        }),
      )
      yield* spoil(store, schema, Note, ["a", 2], "{")
      yield* withStorage(store, { schema })(
        Effect.gen(function* () {
          yield* transact(
            Tx.make(function* (tx) {
              tx.remove(Note, ["a", 2])
            }),
          )
          equal(yield* read(listed("byRank")), [3, 1])
        }),
      )
    }),
  ),

  law("STO-09 an unreadable row keeps its unique values", (store) =>
    Effect.gen(function* () {
      yield* withStorage(store, { schema })(transact(insertAll(Account, [account("a", { name: "Ann" })])))
      yield* spoil(store, schema, Account, ["a"], "{")
      yield* withStorage(store, { schema })(
        Effect.gen(function* () {
          const ann = Tx.make(function* (tx) {
            return yield* tx.find(Account, "byName", ["Ann"])
          })
          equal(yield* outcomeOf(read(ann)), { failed: "Corrupt" })
          equal(yield* outcomeOf(transact(insertAll(Account, [account("b", { name: "Ann" })]))), {
            failed: "Constraint",
          })
        }),
      )
    }),
  ),

  law("STO-09 a row that a stricter schema does not admit is unreadable, and readable again under its own", (store) =>
    Effect.gen(function* () {
      const key = [text("shelf"), int("n")] as const
      const Loose = table("thing", { row: z.object({ shelf: z.string(), n: z.number(), size: z.unknown() }), key })
      const Strict = table("thing", { row: z.object({ shelf: z.string(), n: z.number(), size: z.number() }), key })
      const rows = [3, "three", null].map((size, n) => ({ shelf: "a", n, size }))
      yield* withStorage(store, { schema: written(Loose) })(transact(insertAll(Loose, rows)))
      const strict = Tx.make(function* (tx) {
        const found = yield* tx.range(Strict, "key", { unreadable: "keep" })
        return found.map((row) => (Tx.isUnreadable(row) ? row.problem.slice(0, 4) : row.size))
      })
      equal(yield* withStorage(store, { schema: written(Strict) })(read(strict)), [3, "size", "size"])
      const loose = Tx.make(function* (tx) {
        return yield* tx.range(Loose, "key", {})
      })
      equal(yield* withStorage(store, { schema: written(Loose) })(read(loose)), rows)
    }),
  ),
]
