/**
 * Unique indexes: a value stands once, whoever wrote it and when.
 */
import { Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { equal } from "../../equal.ts"
import { law } from "../../law.ts"
import { outcomeOf, outcomesOf } from "../../outcome.ts"
import { openStorage, read, transact, withStorage } from "../../storage.ts"
import { Account, account, insertAll, rangeOf, removeAccount, schema } from "./tables.ts"

const named = (name: string) =>
  Tx.make(function* (tx) {
    return (yield* tx.find(Account, "byName", [name]))?.id
  })
const numbered = (bank: string, number: number) =>
  Tx.make(function* (tx) {
    return (yield* tx.find(Account, "byNumber", [bank, number]))?.id
  })
const refused = { failed: "Constraint" }

export const uniquenessLaws = [
  law("STO-02 a taken unique value is refused with Constraint, and nothing of its commit is written", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(insertAll(Account, [account("a", { name: "Ann", bank: "b", number: 1 })]))
        const clashes = [
          account("x", { name: "Ann" }),
          account("x", { bank: "b", number: 1 }),
          account("x", { name: "Bob", bank: "b", number: 1 }),
        ]
        for (const clash of clashes) {
          equal(yield* outcomeOf(transact(insertAll(Account, [account("w"), clash, account("y")]))), refused)
        }
        equal(
          (yield* read(rangeOf(Account, "key"))).map(({ id }) => id),
          ["a"],
        )
        equal(yield* read(named("Ann")), "a")
        equal(yield* read(named("Bob")), undefined, "a name whose row was refused")
      }),
    ),
  ),

  law("STO-02 unique values are compared exactly, all fields together", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        const names = ["", " ", "Ann", "ann", "Ann ", " Ann", "ANN", "0", "00", "Ann%", "An_"]
        const rows = names.map((name, i) => account(`n${i}`, { name }))
        const pairs = [
          ["b", 1],
          ["b", 2],
          ["c", 1],
          ["b1", 1],
          ["b", -1],
        ] as const
        const numbers = pairs.map(([bank, number], i) => account(`p${i}`, { bank, number }))
        yield* transact(insertAll(Account, [...rows, ...numbers]))
        for (const [i, name] of names.entries()) equal(yield* read(named(name)), `n${i}`, `whose name is "${name}"`)
        for (const [i, [bank, number]] of pairs.entries()) equal(yield* read(numbered(bank, number)), `p${i}`)
        equal(yield* read(named("aNN")), undefined)
        equal(yield* read(numbered("c", 2)), undefined)
      }),
    ),
  ),

  law("STO-02 any number of rows may lack a unique field, or one of two", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        const rows = ["a", "b", "c", "d"].map((id, i) => account(id, i % 2 === 0 ? { bank: "same" } : { number: 7 }))
        yield* transact(insertAll(Account, rows))
        equal((yield* read(rangeOf(Account, "key"))).length, 4)
        equal(yield* read(rangeOf(Account, "byNumber")), [], "the index of both fields")
      }),
    ),
  ),

  law("STO-02 a unique value is free again once its row is removed, in the same commit too", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(insertAll(Account, [account("a", { name: "Ann" })]))
        yield* transact(removeAccount("a"))
        equal(yield* read(named("Ann")), undefined)
        yield* transact(insertAll(Account, [account("b", { name: "Ann" })]))
        yield* transact(
          Tx.make(function* (tx) {
            tx.insert(Account, account("c", { name: "Ann" }))
            tx.remove(Account, ["b"])
          }),
        )
        equal(yield* read(named("Ann")), "c")
        yield* transact(
          Tx.make(function* (tx) {
            tx.removeRange(Account, { prefix: ["c"] })
            tx.insert(Account, account("c", { name: "Cleo" }))
            tx.insert(Account, account("d", { name: "Ann" }))
          }),
        )
        equal([yield* read(named("Ann")), yield* read(named("Cleo"))], ["d", "c"])
      }),
    ),
  ),

  law("STO-02 updates leave unique values alone and findable", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(insertAll(Account, [account("a", { name: "Ann" }), account("b", { name: "Bob" })]))
        const rich = Tx.make(function* (tx) {
          const found = yield* tx.find(Account, "byName", ["Bob"])
          if (found === undefined) return yield* tx.fail("nobody" as const)
          tx.update(Account, [found.id], (row) => ({ ...row, balance: 9 }))
          return found.id
        })
        equal(yield* transact(rich), "b")
        equal(
          (yield* read(rangeOf(Account, "byBalance"))).map(({ id }) => id),
          ["b", "a"],
        )
        equal(yield* read(named("Bob")), "b")
        const renaming = Tx.make(function* (tx) {
          yield* tx.get(Account, ["a"])
          tx.update(Account, ["a"], (row) => ({ ...row, name: "Eve" }))
        })
        equal(yield* outcomeOf(transact(renaming)), {
          defect: "a unique value never changes after insert: account.byName",
        })
        equal([yield* read(named("Ann")), yield* read(named("Eve"))], ["a", undefined])
      }),
    ),
  ),

  law("STO-02 of many who want one unique value at once, in one storage or two, one gets it", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const storages = [yield* openStorage(store, { schema }), yield* openStorage(store, { schema })]
        const claims = Array.from({ length: 20 }, (_, i) =>
          storages[i % 2]!.transact(insertAll(Account, [account(`c${i}`, { name: "wanted" })])),
        )
        const outcomes = yield* outcomesOf(claims)
        equal(outcomes.filter((outcome) => "done" in outcome).length, 1, "the number of winners")
        equal(outcomes.filter((outcome) => "failed" in outcome && outcome.failed === "Constraint").length, 19)
        const winner = `c${outcomes.findIndex((outcome) => "done" in outcome)}`
        for (const storage of storages) {
          equal(yield* storage.read(named("wanted")), winner)
          equal((yield* storage.read(rangeOf(Account, "key"))).length, 1)
        }
      }),
    ),
  ),
]
