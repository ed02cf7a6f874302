/**
 * Serialisability: whatever happens at once ends as if it had happened one after another.
 */
import { Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { equal } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Store } from "../../law.ts"
import { makeRandom } from "../../random.ts"
import { openStorage } from "../../storage.ts"
import { Account, account, deposit, getAccount, insertAll, Note, note, rangeOf, schema } from "./tables.ts"

/** Two storages on the store, with accounts of balance 0. */
const twoStorages = (store: Store, ...ids: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const first = yield* openStorage(store, { schema })
    const second = yield* openStorage(store, { schema })
    yield* first.transact(
      insertAll(
        Account,
        ids.map((id) => account(id)),
      ),
    )
    return [first, second] as const
  })

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1)
const ascending = (numbers: ReadonlyArray<number>) => numbers.toSorted((a, b) => a - b)

/** Moves one unit from an account to another, each read in a step of its own. Answers the sum it saw. */
const transfer = (from: string, to: string) =>
  Tx.make(function* (tx) {
    const source = yield* tx.get(Account, [from])
    const target = yield* tx.get(Account, [to])
    if (source === undefined || target === undefined) return yield* tx.fail("an account is missing" as const)
    tx.update(Account, [from], (row) => ({ ...row, balance: row.balance - 1 }))
    tx.update(Account, [to], (row) => ({ ...row, balance: row.balance + 1 }))
    return source.balance + target.balance
  })

/** Reads two accounts, each alone and then by index: five steps that must see one state. */
const audit = Tx.make(function* (tx) {
  const a = yield* tx.get(Account, ["a"])
  const listed = yield* tx.range(Account, "byBalance", {})
  const b = yield* tx.get(Account, ["b"])
  const again = yield* tx.range(Account, "key", {})
  const notes = yield* tx.range(Note, "key", {})
  const sum = (rows: ReadonlyArray<{ readonly balance: number } | undefined>) =>
    rows.reduce((total, row) => total + (row?.balance ?? Number.NaN), 0)
  return [sum([a, b]), sum(listed), sum(again), notes.length % 2]
})

/** One after another, `times` times. */
const repeat = <A, E>(times: number, effect: Effect.Effect<A, E>) => Effect.forEach(upTo(times), () => effect)

export const concurrencyLaws = [
  law("STO-02, A33 a hundred programs at once on one storage lose nothing", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const [storage] = yield* twoStorages(store, "a")
        const answers = yield* Effect.all(
          upTo(100).map(() => storage.transact(deposit("a", 1))),
          {
            concurrency: "unbounded",
          },
        )
        equal(answers, upTo(100), "the balances they saw")
        equal(yield* storage.read(getAccount("a")), account("a", { balance: 100 }))
      }),
    ),
  ),

  law("STO-02, A32 two storages with a hundred racing programs each lose nothing", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const both = yield* twoStorages(store, "a")
        const answers = yield* Effect.all(
          upTo(100).flatMap(() => both.map((storage) => storage.transact(deposit("a", 1)))),
          { concurrency: "unbounded" },
        )
        equal(ascending(answers), upTo(200), "the balances they saw")
        for (const storage of both) equal(yield* storage.read(getAccount("a")), account("a", { balance: 200 }))
      }),
    ),
  ),

  law("STO-02, A32 two storages that write in turn, each waiting for its answer, lose nothing", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const both = yield* twoStorages(store, "a")
        const answers = yield* Effect.all(
          both.map((storage) => repeat(50, storage.transact(deposit("a", 1)))),
          { concurrency: "unbounded" },
        )
        equal(ascending(answers.flat()), upTo(100), "the balances they saw")
      }),
    ),
  ),

  law("STO-02 a program that reads in several steps writes from one state", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const both = yield* twoStorages(store, "a", "b", "c")
        const transfers = [transfer("a", "b"), transfer("b", "c"), transfer("c", "a"), transfer("b", "a")]
        const random = makeRandom(store.seed)
        const moves = upTo(60).map(() => random.pick(both).transact(random.pick(transfers)))
        yield* Effect.all(moves, { concurrency: 8 })
        const rows = yield* both[0].read(rangeOf(Account, "key"))
        equal(
          rows.reduce((total, { balance }) => total + balance, 0),
          0,
          "the sum of all balances",
        )
      }),
    ),
  ),

  law("STO-03 a read of several steps sees one snapshot while others commit", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const both = yield* twoStorages(store, "a", "b")
        let written = 0
        const twoNotes = Effect.suspend(() => {
          written++
          return both[1].transact(insertAll(Note, [note(written), note(-written)]))
        })
        // They go on for as long as anybody reads.
        const writers = yield* Effect.forEach([both[0].transact(transfer("a", "b")), twoNotes], (write) =>
          Effect.forkChild(Effect.forever(Effect.andThen(write, Effect.sleep(0)))),
        )
        const readers = both.flatMap((storage) => [storage.read(audit), storage.transact(audit)])
        const audits = yield* Effect.all(
          readers.map((reader) => repeat(20, reader)),
          { concurrency: "unbounded" },
        )
        for (const writer of writers) yield* Fiber.interrupt(writer)
        for (const seen of audits.flat()) equal(seen, [0, 0, 0, 0], "the sums of one snapshot")
      }),
    ),
  ),

  law("STO-02 what was answered is there for every later call, in every storage", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const [first, second] = yield* twoStorages(store, "a")
        for (const n of upTo(20)) {
          const [writer, reader] = n % 2 === 0 ? [first, second] : [second, first]
          yield* writer.transact(deposit("a", 1))
          equal(yield* reader.read(getAccount("a")), account("a", { balance: n }), "the other's read")
          equal(yield* reader.transact(getAccount("a")), account("a", { balance: n }), "the other's program")
          equal(yield* writer.read(getAccount("a")), account("a", { balance: n }), "its own read")
        }
      }),
    ),
  ),
]
