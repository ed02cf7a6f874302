/**
 * Opening and closing, once and many times.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { equal } from "../../equal.ts"
import { law } from "../../law.ts"
import { outcomeOf, outcomesOf } from "../../outcome.ts"
import { openStorage, read, transact, withStorage } from "../../storage.ts"
import { Account, account, File, getNote, insertAll, Note, note, numbersOf, rangeOf, schema } from "./tables.ts"

export const lifeLaws = [
  law("STO-10 a store that was closed is found again as it was", (store) =>
    Effect.gen(function* () {
      const notes = [note(1, { tag: "t", rank: 2 }), note(2, { body: { deep: [null] } })]
      const files = [{ path: "f", size: 1, content: Uint8Array.of(0, 255) }]
      yield* withStorage(store, { schema })(
        Effect.gen(function* () {
          yield* transact(insertAll(Note, notes))
          yield* transact(insertAll(Account, [account("a", { name: "Ann" })]))
          yield* transact(insertAll(File, files))
        }),
      )
      for (const time of ["the first", "the second"]) {
        yield* withStorage(store, { schema })(
          Effect.gen(function* () {
            equal(yield* read(rangeOf(Note, "key")), notes, `the notes, ${time} time`)
            equal(yield* read(numbersOf("byRank")), [1], `the index, ${time} time`)
            equal(yield* read(rangeOf(File, "key")), files, `the files, ${time} time`)
            const again = yield* outcomeOf(transact(insertAll(Account, [account("b", { name: "Ann" })])))
            equal(again, { failed: "Constraint" }, `the unique index, ${time} time`)
          }),
        )
      }
    }),
  ),

  law("STO-10 close waits for what was called before it, and what was answered is there afterwards", (store) =>
    Effect.gen(function* () {
      const outcomes = yield* Effect.scoped(
        Effect.gen(function* () {
          const storage = yield* openStorage(store, { schema })
          const fibers = yield* Effect.forEach(Array.from({ length: 50 }), (_, n) =>
            Effect.forkChild(storage.transact(insertAll(Note, [note(n)])), { startImmediately: true }),
          )
          const reader = yield* Effect.forkChild(storage.read(numbersOf("key")), { startImmediately: true })
          yield* storage.close
          equal("done" in (yield* outcomeOf(Fiber.join(reader))), true, "whether the read was answered")
          return yield* outcomesOf(fibers.map(Fiber.join))
        }),
      )
      equal(
        outcomes.every((outcome) => "done" in outcome),
        true,
        "whether all were answered",
      )
      const found = yield* withStorage(store, { schema })(read(numbersOf("key")))
      equal(found.length, 50, "how many notes are there in a new opening")
    }),
  ),

  law("STO-10 after close every call fails with Closed, and closing again is safe, also at once", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* openStorage(store, { schema })
        yield* storage.transact(insertAll(Note, [note(1)]))
        yield* Effect.all([storage.close, storage.close, storage.close], { concurrency: "unbounded" })
        yield* storage.close
        equal(yield* outcomeOf(storage.transact(insertAll(Note, [note(2)]))), { failed: "Closed" })
        equal(yield* outcomeOf(storage.read(getNote(1))), { failed: "Closed" })
        const others = yield* openStorage(store, { schema })
        equal(yield* others.read(numbersOf("key")), [1])
      }),
    ),
  ),

  law("STO-10 a store may be open several times, and closing one leaves the others", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const [first, second, third] = [
          yield* openStorage(store, { schema }),
          yield* openStorage(store, { schema }),
          yield* openStorage(store, { schema }),
        ]
        yield* first.transact(insertAll(Note, [note(1)]))
        yield* second.close
        equal(yield* third.read(numbersOf("key")), [1])
        yield* third.transact(insertAll(Note, [note(2)]))
        equal(yield* first.read(numbersOf("key")), [1, 2])
      }),
    ),
  ),

  law("STO-10 leaving the scope closes", (store) =>
    Effect.gen(function* () {
      const left = yield* Effect.scoped(openStorage(store, { schema }))
      equal(yield* outcomeOf(left.read(getNote(1))), { failed: "Closed" })
      equal(yield* outcomeOf(left.transact(getNote(1))), { failed: "Closed" })
    }),
  ),

  law("STO-01 two stores have nothing in common", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const other = yield* store.fresh
        yield* withStorage(store, { schema })(transact(insertAll(Note, [note(1)])))
        equal(yield* withStorage(other, { schema })(read(numbersOf("key"))), [])
      }),
    ),
  ),
]
