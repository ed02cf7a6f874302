/**
 * Where the bytes of a store are.
 */
import * as Effect from "effect/Effect"
import { sizeOf } from "../deletion/removal.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import type { Storage } from "../storage/storage.ts"
import { keyOf } from "../storage/table.ts"
import type { AnyTable, Key, Table } from "../storage/table.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"

export interface TableStats {
  readonly table: string
  readonly rows: number
  /** Of its rows: characters of JSON, and bytes. What the engine takes beside that is not counted. */
  readonly bytes: number
}

export interface StoreStats {
  /** All tables, the largest first. */
  readonly tables: ReadonlyArray<TableStats>
  readonly rows: number
  readonly bytes: number
  /** What the store takes on disk, or in memory, and how much of that is free. Absent: the engine does not say. */
  readonly space?: { readonly bytes: number; readonly free: number }
}

type Walked = Table<string, Record<string, unknown>, readonly [string], Record<never, never>>

/** Rows that hold bytes may be large. */
const fewRows = 8

const page = fn(function* (tx, of: Walked, last: Key | undefined, limit: number) {
  return yield* tx.range(of, "key", {
    ...(last !== undefined && { after: last as readonly [string] }),
    limit,
    unreadable: "keep",
  })
})

const statsOf = Effect.fnUntraced(function* (storage: Storage["Service"], of: AnyTable) {
  const limit = of.bytes === undefined ? maxRange : fewRows
  let rows = 0
  let bytes = 0
  let last: Key | undefined
  for (;;) {
    const found = yield* storage.read(page(of as unknown as Walked, last, limit))
    rows += found.length
    for (const row of found) if (!isUnreadable(row)) bytes += sizeOf(of, row)
    const end = found.at(-1)
    if (end === undefined || found.length < limit) {
      const stats: TableStats = { table: of.name, rows, bytes }
      return stats
    }
    last = isUnreadable(end) ? end.key : keyOf(of, end)
  }
})

/** Reads everything, page by page. */
export const storeStats = (storage: Storage["Service"]): Effect.Effect<StoreStats, InvalidInput | StorageError> =>
  Effect.gen(function* () {
    const tables: Array<TableStats> = []
    for (const of of storage.tables) tables.push(yield* statsOf(storage, of))
    const space = yield* storage.space
    const stats: StoreStats = {
      tables: tables.toSorted((a, b) => b.bytes - a.bytes),
      rows: tables.reduce((sum, { rows }) => sum + rows, 0),
      bytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
      ...(space !== undefined && { space }),
    }
    return stats
  })
