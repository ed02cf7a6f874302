/**
 * The change feed of one storage.
 */
import { Tx } from "@skein/core/storage"
import type { Change, Storage } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { check, equal } from "../../equal.ts"
import { law } from "../../law.ts"
import { outcomeOf, outcomesOf } from "../../outcome.ts"
import { openStorage } from "../../storage.ts"
import { requireWatch } from "../../watching.ts"
import { Account, account, deposit, getAccount, insertAll, Note, note, numbersOf, schema } from "./tables.ts"

/** Listens from now on, until the storage is closed. */
const listen = (storage: Storage["Service"]) =>
  Effect.forkChild(Stream.runCollect(storage.changes), { startImmediately: true })

/** One line a row: `written note a,1`. */
const lines = (change: Change): ReadonlyArray<string> =>
  change._tag === "Changed"
    ? ["changed"]
    : change.rows.map(({ key, kind, table }) => `${kind} ${table} ${key ?? "several"}`)

export const changeLaws = [
  law("STO-06 changes announces table and key of each commit, in commit order, and ends with the storage", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* openStorage(store, { schema })
        yield* storage.transact(insertAll(Note, [note(0)]))
        const listener = yield* listen(storage)
        yield* storage.transact(insertAll(Note, [note(1), note(2)]))
        yield* storage.transact(
          Tx.make(function* (tx) {
            yield* tx.get(Note, ["a", 1])
            tx.update(Note, ["a", 1], (row) => ({ ...row, rank: 1 }))
            tx.insert(Account, account("x"))
          }),
        )
        yield* storage.transact(
          Tx.make(function* (tx) {
            tx.remove(Note, ["a", 2])
          }),
        )
        yield* storage.transact(
          Tx.make(function* (tx) {
            tx.removeRange(Account, { prefix: ["x"] })
          }),
        )
        yield* storage.close
        equal((yield* Fiber.join(listener)).map(lines), [
          ["written note a,1", "written note a,2"],
          ["written note a,1", "written account x"],
          ["removed note a,2"],
          ["removed account several"],
        ])
      }),
    ),
  ),

  law("STO-06 what wrote nothing is not announced: reads, failures, refusals", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* openStorage(store, { schema })
        yield* storage.transact(insertAll(Account, [account("a", { name: "Ann" })]))
        const listener = yield* listen(storage)
        yield* storage.read(getAccount("a"))
        yield* storage.transact(getAccount("a"))
        yield* outcomeOf(storage.transact(deposit("nobody", 1)))
        yield* outcomeOf(storage.transact(insertAll(Account, [account("b", { name: "Ann" })])))
        yield* outcomesOf(
          [insertAll(Note, [note(1), note(1)]), insertAll(Note, [note(2)])].map((one) => storage.transact(one)),
        )
        yield* storage.close
        equal((yield* Fiber.join(listener)).map(lines), [["written note a,2"]])
      }),
    ),
  ),

  law("STO-06 a change is announced once it can be read, and every listener gets all of them", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* openStorage(store, { schema })
        const other = yield* openStorage(store, { schema })
        yield* storage.transact(insertAll(Account, [account("a")]))
        let announced = 0
        const reader = yield* Effect.forkChild(
          Stream.runForEach(storage.changes, () =>
            Effect.gen(function* () {
              announced++
              const balance = (yield* other.read(getAccount("a")))?.balance ?? 0
              check(balance >= announced, `change ${announced} was announced while the balance was ${balance}`)
            }),
          ),
          { startImmediately: true },
        )
        const counter = yield* listen(storage)
        for (let i = 0; i < 20; i++) yield* storage.transact(deposit("a", 1))
        yield* storage.close
        yield* Fiber.join(reader)
        equal(announced, 20, "the number of changes announced")
        equal((yield* Fiber.join(counter)).length, 20, "the number that the second listener got")
      }),
    ),
  ),

  law(
    "STO-06 what others commit is told as Changed, in its place among the own commits, and own commits never are",
    (store) =>
      Effect.scoped(
        Effect.gen(function* () {
          yield* requireWatch(store, schema)
          const [own, other] = [yield* openStorage(store, { schema }), yield* openStorage(store, { schema })]
          const write = (storage: Storage["Service"], n: number) =>
            Effect.andThen(storage.transact(insertAll(Note, [note(n)])), TestClock.adjust("1 second"))
          yield* write(other, 0)
          const listener = yield* listen(own)
          yield* write(own, 1)
          yield* write(own, 2)
          yield* write(other, 3)
          yield* write(own, 4)
          yield* Effect.andThen(other.read(numbersOf("key")), TestClock.adjust("1 second"))
          yield* write(own, 5)
          yield* write(other, 6)
          yield* own.close
          equal((yield* Fiber.join(listener)).flatMap(lines), [
            "written note a,1",
            "written note a,2",
            "changed",
            "written note a,4",
            "written note a,5",
            "changed",
          ])
        }),
      ).pipe(Effect.provide(TestClock.layer())),
  ),

  law("STO-06 whoever listens hears that others have committed, whether early or late, and nothing of what", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        yield* requireWatch(store, schema)
        const [own, other] = [yield* openStorage(store, { schema }), yield* openStorage(store, { schema })]
        const early = yield* listen(own)
        yield* TestClock.adjust("1 second")
        const late = yield* listen(own)
        const commits = Array.from({ length: 20 }, (_, n) => other.transact(insertAll(Note, [note(n)])))
        yield* Effect.all(commits, { concurrency: "unbounded" })
        yield* TestClock.adjust("1 second")
        yield* own.close
        for (const listener of [early, late]) {
          equal([...new Set((yield* Fiber.join(listener)).flatMap(lines))], ["changed"], "what is heard")
        }
      }),
    ).pipe(Effect.provide(TestClock.layer())),
  ),
]
