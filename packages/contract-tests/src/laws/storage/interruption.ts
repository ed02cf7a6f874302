/**
 * Interruption: all or nothing, and settled once the interruption has returned.
 */
import { Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { check, equal } from "../../equal.ts"
import { law } from "../../law.ts"
import { makeRandom } from "../../random.ts"
import { openStorage } from "../../storage.ts"
import { Account, account, getAccount, insertAll, Note, note, rangeOf, schema } from "./tables.ts"

/** Writes to three rows of two tables: a note, an account, and the counter. */
const record = (n: number) =>
  Tx.make(function* (tx) {
    const counter = yield* tx.get(Account, ["counter"])
    const taken = yield* tx.range(Note, "key", { from: ["a", n], to: ["a", n] })
    if (counter === undefined || taken.length > 0) return yield* tx.fail("recorded already" as const)
    tx.insert(Note, note(n, { rank: n }))
    tx.insert(Account, account(`n${n}`, { name: `name ${n}` }))
    tx.update(Account, ["counter"], (row) => ({ ...row, balance: row.balance + 1 }))
    return n
  })

/** Which numbers are stored, in each of the places where they should be. */
const recorded = Tx.make(function* (tx) {
  const notes = yield* tx.range(Note, "byRank", {})
  const accounts = yield* tx.range(Account, "byName", {})
  const counter = yield* tx.get(Account, ["counter"])
  return {
    notes: notes.map(({ n }) => n),
    accounts: accounts.map(({ id }) => Number(id.slice(1))).toSorted((a, b) => a - b),
    counter: counter?.balance,
  }
})

const rounds = 60
const atOnce = 5

export const interruptionLaws = [
  law(
    "STO-02, A25 a program interrupted at any moment is stored entirely or not at all, and nothing changes later",
    (store) =>
      Effect.scoped(
        Effect.gen(function* () {
          const random = makeRandom(store.seed)
          const storage = yield* openStorage(store, { schema })
          yield* storage.transact(insertAll(Account, [account("counter")]))
          const stored: Array<number> = []
          for (let round = 0; round < rounds; round++) {
            const numbers = Array.from({ length: atOnce }, (_, i) => round * atOnce + i)
            const fibers = yield* Effect.forEach(numbers, (n) =>
              Effect.forkChild(storage.transact(record(n)), { startImmediately: random.nat(2) === 0 }),
            )
            const interrupted = numbers.map(() => random.nat(3) > 0)
            // From the very moment of the call to some milliseconds later.
            yield* random.nat(2) === 0 ? Effect.yieldNow : Effect.sleep(random.nat(3_000) / 1_000)
            yield* Effect.forEach(fibers, (fiber, i) => (interrupted[i] ? Fiber.interrupt(fiber) : Effect.void), {
              concurrency: "unbounded",
            })
            const exits = yield* Effect.forEach(fibers, (fiber, i) =>
              interrupted[i] ? Fiber.await(fiber) : Effect.exit(Fiber.join(fiber)),
            )
            const now = yield* storage.read(recorded)
            equal(now.accounts, now.notes, "the accounts beside the notes")
            equal(now.counter, now.notes.length, "the counter beside the notes")
            for (const [i, n] of numbers.entries()) {
              if (exits[i]?._tag === "Success" || !interrupted[i]) check(now.notes.includes(n), `${n} was lost`)
              if (now.notes.includes(n)) stored.push(n)
            }
            equal(now.notes, stored, "what is stored, after round " + round)
          }
        }),
      ),
  ),

  law("STO-02 a program interrupted before its turn writes nothing, and its neighbours get through", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* openStorage(store, { schema })
        yield* storage.transact(insertAll(Account, [account("counter")]))
        const fibers = yield* Effect.forEach([1, 2, 3], (n) =>
          Effect.forkChild(storage.transact(record(n)), { startImmediately: true }),
        )
        yield* Fiber.interrupt(fibers[1]!)
        equal([yield* Fiber.join(fibers[0]!), yield* Fiber.join(fibers[2]!)], [1, 3])
        equal(yield* storage.read(recorded), { notes: [1, 3], accounts: [1, 3], counter: 2 })
        equal(yield* storage.read(getAccount("n2")), undefined)
      }),
    ),
  ),

  law("STO-02 an interrupted read leaves the storage in order", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* openStorage(store, { schema })
        yield* storage.transact(
          insertAll(
            Note,
            Array.from({ length: 500 }, (_, n) => note(n)),
          ),
        )
        for (let i = 0; i < 20; i++) {
          const fiber = yield* Effect.forkChild(storage.read(rangeOf(Note, "key")), { startImmediately: true })
          if (i % 2 === 0) yield* Effect.yieldNow
          yield* Fiber.interrupt(fiber)
        }
        equal((yield* storage.read(rangeOf(Note, "key"))).length, 500)
        yield* storage.close
      }),
    ),
  ),
]
