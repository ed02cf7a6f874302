import { assert, it } from "@effect/vitest"
import { Storage, table, text, Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as z from "zod/mini"
import { naive } from "../support/naive-backend.ts"
import type { Naive } from "../support/naive-backend.ts"

const Note = table("note", { row: z.object({ id: z.string() }), key: [text("id")] })
const schema = { version: 1, oldestReader: 1, oldestWriter: 1, tables: [Note], migrations: [] }
const add = Tx.fn(function* (tx, id: string) {
  tx.insert(Note, { id })
})
const list = Tx.make(function* (tx) {
  return (yield* tx.range(Note, "key", {})).map(({ id }) => id)
})

const on = <A, E>(body: (storage: Storage["Service"], engine: Naive) => Effect.Effect<A, E>) => {
  const engine = naive()
  return Storage.use((storage) => body(storage, engine)).pipe(
    Effect.provide(Layer.provide(Storage.layer(schema), engine.layer)),
  )
}

const noPrograms: ReadonlyArray<unknown> = [undefined, null, 5, "text", {}, [], [add("a")], () => add("a")]

it.effect("API-06 what is no program is refused by name, and neither ends the store nor writes", () =>
  on((storage, engine) =>
    Effect.gen(function* () {
      for (const given of noPrograms) {
        const program = given as Tx.Tx<unknown>
        for (const call of [() => storage.transact(program), () => storage.read(program)]) {
          assert.deepInclude(yield* Effect.flip(call()), { _tag: "InvalidInput", field: "program", value: given })
        }
      }
      assert.lengthOf(engine.runs, 0)
      yield* storage.transact(add("a"))
      assert.deepStrictEqual(yield* storage.read(list), ["a"])
    }),
  ),
)

const wrongOptions: ReadonlyArray<readonly [unknown, string]> = [
  [{ durability: "Strict" }, "options.durability"],
  [{ durability: null }, "options.durability"],
  [{ durabilty: "relaxed" }, "options.durabilty"],
  [null, "options"],
  ["relaxed", "options"],
  [[], "options"],
]

it.effect("STO-04 a durability or an option that is unknown is refused, and never weakens a commit in silence", () =>
  on((storage, engine) =>
    Effect.gen(function* () {
      for (const [options, field] of wrongOptions) {
        const refused = yield* Effect.flip(storage.transact(add("a"), options as { readonly durability: "strict" }))
        assert.deepInclude(refused, { _tag: "InvalidInput", field })
      }
      assert.deepStrictEqual(yield* storage.read(list), [])
      yield* storage.transact(add("a"), {})
      yield* storage.transact(add("b"), { durability: "relaxed" })
      assert.deepStrictEqual(
        engine.runs.filter(({ mode }) => mode === "write").map(({ durability }) => durability),
        ["strict", "relaxed"],
      )
    }),
  ),
)
