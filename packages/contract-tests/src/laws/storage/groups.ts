/**
 * Groups: programs that wait are committed together, as if they had run one after another.
 */
import { Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { equal } from "../../equal.ts"
import { law } from "../../law.ts"
import { outcomesOf } from "../../outcome.ts"
import { openStorage, read, transact, withStorage } from "../../storage.ts"
import { Account, account, deposit, getNote, insertAll, Note, note, rangeOf, removeAccount, schema } from "./tables.ts"

const notes = Effect.map(read(rangeOf(Note, "key")), (rows) => rows.map(({ n }) => n))
const names = Effect.map(read(rangeOf(Account, "byName")), (rows) => rows.map(({ id, name }) => `${id} ${name}`))

export const groupLaws = [
  law("STO-04 programs that wait see one another's writes, in the order they were called", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        const programs = [
          insertAll(Account, [account("a")]),
          ...Array.from({ length: 9 }, () => deposit("a", 1)),
          removeAccount("a"),
          deposit("a", 1),
          insertAll(Account, [account("a", { balance: 100 })]),
          deposit("a", 1),
        ]
        equal(yield* outcomesOf(programs.map((program) => transact<unknown, unknown>(program))), [
          { done: undefined },
          ...Array.from({ length: 9 }, (_, i) => ({ done: i + 1 })),
          { done: undefined },
          { failed: "no such account" },
          { done: undefined },
          { done: 101 },
        ])
        equal(yield* read(rangeOf(Account, "key")), [account("a", { balance: 101 })])
      }),
    ),
  ),

  law("STO-04 a range read in a group has what its neighbours wrote, in its place and within the limit", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(
          insertAll(
            Note,
            [2, 4, 6, 8].map((n) => note(n, { rank: n })),
          ),
        )
        const page = (order: "key" | "byRank", reverse: boolean) =>
          Tx.make(function* (tx) {
            return (yield* tx.range(Note, order, { limit: 3, reverse })).map(({ n }) => n)
          })
        const change = Tx.make(function* (tx) {
          yield* tx.get(Note, ["a", 6])
          tx.remove(Note, ["a", 2])
          tx.insert(Note, note(5, { rank: 9 }))
          tx.update(Note, ["a", 6], (row) => ({ ...row, rank: 1 }))
        })
        const programs = [change, page("key", false), page("key", true), page("byRank", false), page("byRank", true)]
        equal(yield* outcomesOf(programs.map((program) => transact<unknown, unknown>(program))), [
          { done: undefined },
          { done: [4, 5, 6] },
          { done: [8, 6, 5] },
          { done: [6, 4, 8] },
          { done: [5, 8, 4] },
        ])
      }),
    ),
  ),

  law("STO-04 each program of a group fails alone", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(insertAll(Account, [account("old", { name: "taken" })]))
        const programs = [
          insertAll(Note, [note(1)]),
          Tx.make(function* (tx) {
            tx.insert(Note, note(2))
            return yield* tx.fail("stop")
          }),
          Tx.make(function* (tx) {
            tx.insert(Note, note(3))
            throw new Error("boom")
          }),
          insertAll(Note, [note(4, { body: [undefined] })]),
          insertAll(Note, [note(5), note(1)].toReversed()),
          insertAll(Account, [account("new", { name: "taken" })]),
          insertAll(Account, [account("x", { name: "free" })]),
          insertAll(Account, [account("y", { name: "free" })]),
          insertAll(Note, [note(6)]),
        ]
        equal(yield* outcomesOf(programs.map((program) => transact<unknown, unknown>(program))), [
          { done: undefined },
          { failed: "stop" },
          { defect: "boom" },
          { failed: "InvalidInput" },
          { failed: "Constraint" },
          { failed: "Constraint" },
          { done: undefined },
          { failed: "Constraint" },
          { done: undefined },
        ])
        equal(yield* notes, [1, 6])
        equal(yield* names, ["x free", "old taken"])
      }),
    ),
  ),

  law("STO-04 nobody is answered from a write that the engine then refuses", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(insertAll(Account, [account("old", { name: "taken" })]))
        const refused = Tx.make(function* (tx) {
          tx.insert(Account, account("new", { name: "taken" }))
          tx.insert(Note, note(1))
        })
        const restsOnIt = Tx.make(function* (tx) {
          const found = yield* tx.get(Note, ["a", 1])
          if (found !== undefined) return yield* tx.fail("it was there")
          return "it was not there"
        })
        equal(
          yield* outcomesOf([refused, restsOnIt, getNote(1)].map((program) => transact<unknown, unknown>(program))),
          [{ failed: "Constraint" }, { done: "it was not there" }, { done: undefined }],
        )
      }),
    ),
  ),

  law("STO-04 a refusal is not lost because a later program of the group frees the key or the value", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(insertAll(Account, [account("a", { name: "Ann" }), account("b")]))
        const programs = [
          insertAll(Account, [account("c", { name: "Ann" })]),
          insertAll(Account, [account("b")]),
          removeAccount("a"),
          Tx.make(function* (tx) {
            tx.removeRange(Account, { prefix: ["b"] })
          }),
          insertAll(Account, [account("b", { name: "Ann" })]),
        ]
        equal(yield* outcomesOf(programs.map((program) => transact(program))), [
          { failed: "Constraint" },
          { failed: "Constraint" },
          { done: undefined },
          { done: undefined },
          { done: undefined },
        ])
        equal(yield* names, ["b Ann"])
      }),
    ),
  ),

  law("STO-04 a unique value may pass from row to row within a group", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        yield* transact(insertAll(Account, [account("a", { name: "Ann" }), account("b", { name: "Bob" })]))
        const whoIs = (name: string) =>
          Tx.make(function* (tx) {
            return (yield* tx.find(Account, "byName", [name]))?.id
          })
        const programs = [
          whoIs("Ann"),
          deposit("a", 1),
          removeAccount("a"),
          whoIs("Ann"),
          insertAll(Account, [account("a", { name: "Art" })]),
          whoIs("Ann"),
          whoIs("Art"),
          insertAll(Account, [account("c", { name: "Ann" })]),
          whoIs("Ann"),
        ]
        equal(yield* outcomesOf(programs.map((program) => transact<unknown, unknown>(program))), [
          { done: "a" },
          { done: 1 },
          { done: undefined },
          { done: undefined },
          { done: undefined },
          { done: undefined },
          { done: "a" },
          { done: undefined },
          { done: "c" },
        ])
        equal(yield* names, ["c Ann", "a Art", "b Bob"])
      }),
    ),
  ),

  law("STO-04 both durabilities are accepted, alone and mixed, and what was answered is there for others", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* openStorage(store, { schema })
        const other = yield* openStorage(store, { schema })
        for (const [n, durability] of (["strict", "relaxed"] as const).entries()) {
          yield* storage.transact(insertAll(Note, [note(n)]), { durability })
          equal(yield* other.read(getNote(n)), note(n), `a ${durability} write, read by another storage`)
        }
        const mixed = Array.from({ length: 12 }, (_, i) =>
          storage.transact(insertAll(Note, [note(10 + i)]), { durability: i % 3 === 0 ? "strict" : "relaxed" }),
        )
        equal(
          (yield* outcomesOf(mixed)).every((outcome) => "done" in outcome),
          true,
          "whether all were done",
        )
        equal((yield* other.read(rangeOf(Note, "key"))).length, 14)
      }),
    ),
  ),

  law("STO-04 programs that write megabytes, and more programs than fit one group, all get through", (store) =>
    withStorage(store, { schema, verify: false })(
      Effect.gen(function* () {
        const large = "x".repeat(1_500_000)
        const heavy = [1, 2, 3, 4, 5].map((n) => insertAll(Note, [note(-n, { body: large })]))
        const many = Array.from({ length: 600 }, (_, n) => insertAll(Note, [note(n, { rank: n })]))
        const outcomes = yield* outcomesOf([...heavy, ...many].map((program) => transact(program)))
        equal(
          outcomes.filter((outcome) => !("done" in outcome)),
          [],
          "what failed",
        )
        equal((yield* read(rangeOf(Note, "byRank", { from: [100] }))).length, 500)
        equal((yield* read(getNote(-5)))?.body, large)
      }),
    ),
  ),
]
