/**
 * What each kind of write does, to the row and to the indexes.
 */
import { Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { equal } from "../../equal.ts"
import { law } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { read, transact, withStorage } from "../../storage.ts"
import { Account, account, getNote, insertAll, Note, note, numbersOf, rangeOf, schema } from "./tables.ts"

const put = (row: Note) =>
  Tx.make(function* (tx) {
    tx.put(Note, row)
  })
const remove = (...numbers: ReadonlyArray<number>) =>
  Tx.make(function* (tx) {
    for (const n of numbers) tx.remove(Note, ["a", n])
  })
const update = (n: number, change: (row: Note) => Note) =>
  Tx.make(function* (tx) {
    yield* tx.get(Note, ["a", n])
    tx.update(Note, ["a", n], change)
  })
const removeRange = (bounds: Tx.KeyBounds<readonly [string, number]>) =>
  Tx.make(function* (tx) {
    tx.removeRange(Note, bounds)
  })

export const writingLaws = [
  law("STO-02 an insert adds a row; one whose key is taken fails with Constraint and leaves the row", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(insertAll(Note, [note(1, { tag: "first" })]))
        equal(yield* outcomeOf(transact(insertAll(Note, [note(1, { tag: "second" })]))), { failed: "Constraint" })
        equal(yield* read(rangeOf(Note, "key")), [note(1, { tag: "first" })])
        equal(yield* read(numbersOf("byTag", { prefix: ["second"] })), [], "the index")
      }),
    ),
  ),

  law("STO-02 a put adds or replaces a whole row, in the indexes too", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(put(note(1, { tag: "old", rank: 1, body: "gone" })))
        equal(yield* read(getNote(1)), note(1, { tag: "old", rank: 1, body: "gone" }))
        yield* transact(put(note(1, { tag: "new" })))
        equal(yield* read(getNote(1)), note(1, { tag: "new" }))
        equal(yield* read(numbersOf("byTag")), [1])
        equal(yield* read(numbersOf("byTag", { prefix: ["old"] })), [], "its old place")
        equal(yield* read(numbersOf("byRank")), [], "an index it left")
      }),
    ),
  ),

  law("STO-02 an update that moves index fields moves the row in exactly those indexes", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        const places = Effect.gen(function* () {
          return [
            yield* read(numbersOf("byRank", { prefix: [1] })),
            yield* read(numbersOf("byRank", { prefix: [2] })),
            yield* read(numbersOf("byTag", { prefix: ["x"] })),
            yield* read(numbersOf("newest", { prefix: ["x", 1] })),
            yield* read(numbersOf("newest", { prefix: ["x", 2] })),
          ]
        })
        yield* transact(insertAll(Note, [note(1, { tag: "x", rank: 1 })]))
        equal(yield* places, [[1], [], [1], [1], []], "after the insert")
        yield* transact(update(1, (row) => ({ ...row, body: "only the body" })))
        equal(yield* places, [[1], [], [1], [1], []], "after an update of the body")
        yield* transact(update(1, (row) => ({ ...row, rank: 2 })))
        equal(yield* places, [[], [1], [1], [], [1]], "after an update of the rank")
        yield* transact(update(1, ({ tag: _tag, ...row }) => row))
        equal(yield* places, [[], [1], [], [], []], "after the tag went")
        yield* transact(update(1, (row) => ({ ...row, tag: "x", rank: 1 })))
        equal(yield* places, [[1], [], [1], [1], []], "after both came back")
        equal(yield* read(getNote(1)), note(1, { tag: "x", rank: 1, body: "only the body" }))
      }),
    ),
  ),

  law("STO-02 updates of one row in one program add up, also of a row it has just inserted", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(
          Tx.make(function* (tx) {
            tx.insert(Account, account("a", { balance: 1 }))
            for (const by of [2, 3]) tx.update(Account, ["a"], (row) => ({ ...row, balance: row.balance + by }))
          }),
        )
        yield* transact(
          Tx.make(function* (tx) {
            yield* tx.get(Account, ["a"])
            for (const by of [10, 20]) tx.update(Account, ["a"], (row) => ({ ...row, balance: row.balance + by }))
          }),
        )
        equal(yield* read(rangeOf(Account, "byBalance")), [account("a", { balance: 36 })])
      }),
    ),
  ),

  law("STO-02 a removed row is gone from every order, and its key is free", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(
          insertAll(
            Note,
            [1, 2, 3].map((n) => note(n, { tag: "t", rank: n })),
          ),
        )
        yield* transact(remove(2, 99))
        for (const order of ["key", "byRank", "byTag"] as const) equal(yield* read(numbersOf(order)), [1, 3], order)
        equal(yield* read(getNote(2)), undefined)
        yield* transact(insertAll(Note, [note(2, { rank: -5 })]))
        equal(yield* read(numbersOf("byRank")), [2, 1, 3])
        equal(yield* read(numbersOf("byTag")), [1, 3], "an index it is not in any more")
      }),
    ),
  ),

  law("STO-02 removeRange removes what lies between its bounds and nothing else", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        const all = ["a", "aa", "b"].flatMap((shelf) => [1, 2, 3, 4].map((n) => ({ shelf, n, rank: n })))
        const keys = (rows: ReadonlyArray<Note>) => rows.map(({ n, shelf }) => `${shelf}${n}`)
        const cases: ReadonlyArray<readonly [Tx.KeyBounds<readonly [string, number]>, (row: Note) => boolean]> = [
          [{ prefix: ["a"], from: ["a", 2], to: ["a", 3] }, ({ n, shelf }) => shelf === "a" && n >= 2 && n <= 3],
          [{ prefix: ["a"], after: ["a", 2], before: ["a", 4] }, ({ n, shelf }) => shelf === "a" && n === 3],
          [{ prefix: ["a"] }, ({ shelf }) => shelf === "a"],
          [{ prefix: ["aa"], from: ["aa", 3] }, ({ n, shelf }) => shelf === "aa" && n >= 3],
          [{ prefix: ["aa"], after: ["aa", 3] }, ({ n, shelf }) => shelf === "aa" && n > 3],
          [{ prefix: ["aa"], to: ["aa", 2] }, ({ n, shelf }) => shelf === "aa" && n <= 2],
          [{ prefix: ["aa"], before: ["aa", 2] }, ({ n, shelf }) => shelf === "aa" && n < 2],
          [
            { from: ["a", 4], to: ["aa", 1] },
            ({ n, shelf }) => (shelf === "a" && n === 4) || (shelf === "aa" && n === 1),
          ],
          [{ after: ["a"], before: ["b"] }, ({ shelf }) => shelf === "aa"],
          [{ prefix: ["c"] }, () => false],
          [{ from: ["b"], to: ["a"] }, () => false],
          [{}, () => true],
        ]
        for (const [bounds, isGone] of cases) {
          yield* transact(removeRange({}))
          yield* transact(insertAll(Note, all))
          yield* transact(removeRange(bounds))
          const left = all.filter((row) => !isGone(row))
          equal(keys(yield* read(rangeOf(Note, "key"))), keys(left), `what ${JSON.stringify(bounds)} leaves`)
          equal((yield* read(rangeOf(Note, "byRank"))).length, left.length, `the index after ${JSON.stringify(bounds)}`)
        }
      }),
    ),
  ),

  law("STO-02 removeRange removes however many rows there are", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        const many = Array.from({ length: 1_200 }, (_, n) => note(n, { rank: n }))
        yield* transact(insertAll(Note, [...many, note(1, { shelf: "b", rank: 1 })]))
        yield* transact(removeRange({ prefix: ["a"] }))
        equal(yield* read(numbersOf("key")), [1])
        equal(yield* read(numbersOf("byRank")), [1])
      }),
    ),
  ),

  law("STO-02 within one commit removals come first: what is removed may be written anew", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(
          insertAll(
            Note,
            [1, 2, 3].map((n) => note(n, { tag: "old", rank: n })),
          ),
        )
        yield* transact(
          Tx.make(function* (tx) {
            tx.removeRange(Note, { prefix: ["a"] })
            tx.insert(Note, note(2, { tag: "new" }))
            tx.put(Note, note(4, { tag: "new" }))
          }),
        )
        equal(yield* read(rangeOf(Note, "key")), [note(2, { tag: "new" }), note(4, { tag: "new" })])
        equal(yield* read(numbersOf("byTag")), [2, 4])
        equal(yield* read(numbersOf("byRank")), [])
      }),
    ),
  ),

  law("STO-02 a commit writes all of its tables or, when one row is refused, none", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(insertAll(Account, [account("taken")]))
        yield* transact(insertAll(Note, [note(1, { tag: "kept", rank: 1 }), note(2)]))
        const batch = (id: string) =>
          Tx.make(function* (tx) {
            yield* tx.get(Note, ["a", 1])
            tx.update(Note, ["a", 1], ({ rank: _rank, ...row }) => ({ ...row, tag: "changed" }))
            tx.remove(Note, ["a", 2])
            tx.insert(Note, note(3))
            tx.insert(Account, account(`before ${id}`))
            tx.insert(Account, account(id))
            tx.insert(Account, account(`after ${id}`))
          })
        equal(yield* outcomeOf(transact(batch("taken"))), { failed: "Constraint" })
        equal(yield* read(rangeOf(Note, "key")), [note(1, { tag: "kept", rank: 1 }), note(2)], "after a refusal")
        equal(yield* read(numbersOf("byRank")), [1], "the index after a refusal")
        equal(yield* read(rangeOf(Account, "key")), [account("taken")], "after a refusal")

        equal(yield* outcomeOf(transact(batch("free"))), { done: undefined })
        equal(yield* read(rangeOf(Note, "key")), [note(1, { tag: "changed" }), note(3)])
        equal(
          (yield* read(rangeOf(Account, "key"))).map(({ id }) => id),
          ["after free", "before free", "free", "taken"],
        )
      }),
    ),
  ),

  law("STO-02 a failure, a thrown defect and a forbidden write keep nothing", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(insertAll(Note, [note(1, { tag: "kept" })]))
        const writes = (tx: Tx.Handle) => {
          tx.update(Note, ["a", 1], (row) => ({ ...row, tag: "changed" }))
          tx.insert(Note, note(2))
        }
        const failing = Tx.make(function* (tx) {
          yield* tx.get(Note, ["a", 1])
          writes(tx)
          return yield* tx.fail("stop")
        })
        const throwing = Tx.make(function* (tx) {
          yield* tx.get(Note, ["a", 1])
          writes(tx)
          throw new Error("boom")
        })
        equal(yield* outcomeOf(transact(failing)), { failed: "stop" })
        equal(yield* outcomeOf(transact(throwing)), { defect: "boom" })
        equal(yield* outcomeOf(read(insertAll(Note, [note(2)]))), {
          defect: "a read-only program may not write: use transact",
        })
        equal(yield* read(rangeOf(Note, "key")), [note(1, { tag: "kept" })])
      }),
    ),
  ),

  law("STO-02 a program that writes nothing commits, and answers what it read", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(insertAll(Note, [note(1)]))
        equal(yield* transact(getNote(1)), note(1))
        equal(yield* transact(Tx.succeed(7)), 7)
        equal(yield* read(Tx.succeed(8)), 8)
      }),
    ),
  ),
]
