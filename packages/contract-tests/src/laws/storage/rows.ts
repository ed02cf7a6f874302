/**
 * Rows as laws put them past `Storage`, straight through the port: damaged ones.
 */
import { Backend, columnsOf } from "@skein/core/storage"
import type { AnyTable, Key, Machine, Schema, StorageReason, StoredRow } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import type { Store } from "../../law.ts"

/** Replaces the text of a row that is there. Its places in the indexes stay. While nobody has the store open. */
export const spoil = (
  store: Store,
  schema: Schema,
  table: AnyTable,
  key: Key,
  json: string,
): Effect.Effect<void, StorageReason> =>
  Effect.provide(
    Effect.gen(function* () {
      const backend = yield* Backend
      const engine = yield* backend.open(schema)
      yield* Effect.callback<void, StorageReason>((resume) =>
        engine.run(replaceText(table, key, json), { mode: "write", durability: "strict" }, (failure) =>
          resume(failure === undefined ? Effect.void : Effect.fail(failure)),
        ),
      )
      yield* engine.close
    }),
    store.backend,
  )

const replaceText = (table: AnyTable, key: Key, json: string): Machine => ({
  next: (answers) => {
    if (answers === undefined) return { _tag: "Read", reads: [{ _tag: "Get", table, key }] }
    const before = answers[0]![0]!
    const columns = columnsOf(table, rowOf(table, before))
    const write = { _tag: "Update", table, key, json, bytes: before.bytes, columns, columnsChanged: false } as const
    return { _tag: "Write", removals: [], rows: [write] }
  },
})

const rowOf = (table: AnyTable, { json, key }: StoredRow): Readonly<Record<string, unknown>> => ({
  ...(JSON.parse(String(json)) as object),
  ...Object.fromEntries(table.key.map(({ name }, i) => [name, key[i]])),
})
