/**
 * Everything that a store holds, table by table.
 */
import { Storage, Tx } from "@skein/core/storage"
import type { AnyTable, Key, Table } from "@skein/core/storage"
import { keyOf } from "@skein/core/storage"
import * as Effect from "effect/Effect"

export type Rows = ReadonlyArray<Readonly<Record<string, unknown>>>

/** Any table, as far as reading it in the order of its key goes. */
type Walked = Table<string, Record<string, unknown>, readonly [string], Record<never, never>>

const allOf = (of: AnyTable) =>
  Storage.use((storage) =>
    Effect.gen(function* () {
      const rows: Array<Readonly<Record<string, unknown>>> = []
      let last: Key | undefined
      for (;;) {
        const page = yield* storage.read(pageOf(of as unknown as Walked, last))
        rows.push(...page)
        if (page.length < 500) return rows
        last = keyOf(of, page.at(-1)!)
      }
    }),
  )

const pageOf = Tx.fn(function* (tx, of: Walked, last: Key | undefined) {
  return yield* tx.range(of, "key", last === undefined ? {} : { after: last as readonly [string] })
})

/** All rows of all tables, by the name of the table. */
export const everything = Storage.use((storage) =>
  Effect.gen(function* () {
    const found: Record<string, Rows> = {}
    for (const of of storage.tables) found[of.name] = yield* allOf(of)
    return found
  }),
)

/** How many rows each table has, those that have none left out. */
export const counts = Effect.map(everything, (found) =>
  Object.fromEntries(
    Object.entries(found).flatMap(([name, { length }]) => (length === 0 ? [] : [[name, length] as const])),
  ),
)

/** How many rows each of some tables has. */
export const countsOf = (...names: ReadonlyArray<string>) =>
  Effect.map(everything, (found) => names.map((name) => found[name]!.length))

/** Tables of which a row names one of these, anywhere in it. */
export const naming = (found: Record<string, Rows>, ...ids: ReadonlyArray<string>): ReadonlyArray<string> =>
  Object.entries(found)
    .flatMap(([name, rows]) =>
      rows.some((row) => ids.some((id) => JSON.stringify(row).includes(JSON.stringify(id)))) ? [name] : [],
    )
    .toSorted()
