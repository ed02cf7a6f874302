import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as z from "zod/mini"
import { Storage, StorageError, table, text, Tx, unique } from "../../src/storage/index.ts"
import { naive } from "../support/naive-backend.ts"

const Person = table("person", {
  row: z.object({ id: z.string(), name: z.optional(z.string()), extra: z.optional(z.unknown()) }),
  key: [text("id")],
  indexes: { byName: unique(text("name")) },
})
const schema = { version: 1, oldestReader: 1, oldestWriter: 1, tables: [Person], migrations: [] }

const insert = (id: string, name: string) =>
  Tx.make(function* (tx) {
    tx.insert(Person, { id, name })
  })
const remove = (id: string) =>
  Tx.make(function* (tx) {
    tx.remove(Person, [id])
  })
const touch = (id: string) =>
  Tx.make(function* (tx) {
    yield* tx.get(Person, [id])
    tx.update(Person, [id], (row) => ({ ...row, extra: 1 }))
  })
const named = (name: string) =>
  Tx.make(function* (tx) {
    return (yield* tx.find(Person, "byName", [name]))?.id
  })

/** Runs the programs as one group on a store that has Ann as `a` and Bob as `b`; answers values and reasons. */
const asGroup = (programs: ReadonlyArray<Tx.Tx<unknown, unknown>>) =>
  Storage.use((storage) =>
    Effect.gen(function* () {
      for (const program of [insert("a", "Ann"), insert("b", "Bob")]) yield* storage.transact(program)
      const exits = yield* Effect.all(
        programs.map((program) => Effect.exit(storage.transact(program))),
        { concurrency: "unbounded" },
      )
      return exits.map((exit) => {
        if (Exit.isSuccess(exit)) return exit.value
        const error = Cause.squash(exit.cause)
        return error instanceof StorageError ? error.reason._tag : String(error)
      })
    }),
  ).pipe(Effect.provide(Layer.provide(Storage.layer(schema, { verify: true }), naive().layer)))

describe("unique values in a group", () => {
  it.effect("STO-04 a value is not found by the row that had it, once its key holds another", () =>
    Effect.gen(function* () {
      const answers = yield* asGroup([remove("a"), insert("a", "Art"), named("Ann"), named("Art")])
      assert.deepStrictEqual(answers, [undefined, undefined, undefined, "a"])
    }),
  )

  it.effect("STO-04 a value is free once the row that had it is removed, whoever had written it", () =>
    Effect.gen(function* () {
      const answers = yield* asGroup([touch("a"), remove("a"), insert("a", "Art"), insert("c", "Ann"), named("Ann")])
      assert.deepStrictEqual(answers, [undefined, undefined, undefined, undefined, "c"])
    }),
  )

  it.effect("STO-04 a program that removes a range may use its values again", () =>
    Effect.gen(function* () {
      const replace = Tx.make(function* (tx) {
        tx.removeRange(Person, { prefix: ["a"] })
        tx.insert(Person, { id: "c", name: "Ann" })
      })
      assert.deepStrictEqual(yield* asGroup([touch("a"), replace, named("Ann")]), [undefined, undefined, "c"])
    }),
  )

  it.effect("STO-04 a refusal of a row that takes a removed one's place is not lost either", () =>
    Effect.gen(function* () {
      const answers = yield* asGroup([remove("a"), insert("a", "Bob"), remove("b"), named("Bob")])
      assert.deepStrictEqual(answers, [undefined, "Constraint", undefined, undefined])
    }),
  )
})

describe("values", () => {
  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  for (const [name, extra] of [
    ["a bigint", 1n],
    ["a cycle", cycle],
  ] as const) {
    it.effect(`STO-05 ${name} is refused with InvalidInput where programs run twice, too`, () =>
      Effect.gen(function* () {
        const program = Tx.make(function* (tx) {
          tx.insert(Person, { id: "c", extra })
        })
        assert.match(String((yield* asGroup([program]))[0]), /InvalidInput/)
      }),
    )
  }
})
