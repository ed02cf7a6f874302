import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as z from "zod/mini"
import { Backend, int, Storage, table, Tx, Unknown } from "../../src/storage/index.ts"
import type { StorageReason } from "../../src/storage/index.ts"
import { naive } from "../support/naive-backend.ts"

const Row = table("row", { row: z.object({ n: z.number() }), key: [int("n")] })
const schema = { version: 1, oldestReader: 1, oldestWriter: 1, tables: [Row], migrations: [] }

const insert = (n: number) =>
  Tx.make(function* (tx) {
    tx.insert(Row, { n })
  })
const list = Tx.make(function* (tx) {
  return (yield* tx.range(Row, "key", {})).map(({ n }) => n)
})

/** A backend whose next runs end before they have begun. */
const failing = (reasons: Array<StorageReason>) =>
  Layer.effect(
    Backend,
    Effect.map(Backend, (backend) =>
      Backend.of({
        ...backend,
        open: (asked) =>
          Effect.map(backend.open(asked), (engine) => ({
            ...engine,
            run: (machine, options, done) => {
              const reason = reasons.shift()
              return reason === undefined ? engine.run(machine, options, done) : done(reason)
            },
          })),
      }),
    ),
  ).pipe(Layer.provide(naive().layer))

it.effect("STO-07 a run that fails before it begins is answered to one program, and the next ones try again", () =>
  Storage.use((storage) =>
    Effect.gen(function* () {
      const exits = yield* Effect.all(
        [1, 2, 3].map((n) => Effect.exit(storage.transact(insert(n)))),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [false, true, true])
      assert.deepStrictEqual(yield* storage.read(list), [2, 3])
    }),
  ).pipe(Effect.provide(Layer.provide(Storage.layer(schema), failing([new Unknown({})])))),
)
