/**
 * The simplest backend that could be right: one array a table, every read a filter and a sort. For tests of core.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Backend, compare, Constraint, keyId, placeIn } from "../../src/storage/index.ts"
import type {
  AnyTable,
  Bound,
  Engine,
  EngineRead,
  Index,
  Key,
  KeyPart,
  RowWrite,
  StorageReason,
  StoredRow,
  WriteStep,
} from "../../src/storage/index.ts"

interface Kept {
  readonly key: Key
  readonly json: string
  readonly bytes: Uint8Array | undefined
  readonly columns: ReadonlyArray<KeyPart | null>
}

export interface Naive {
  readonly layer: Layer.Layer<Backend>
  /** Reasons that the next runs end with, first come first served; `undefined` lets a run pass. */
  readonly failures: Array<StorageReason | undefined>
  readonly runs: Array<{ readonly mode: string; readonly durability: string; readonly rows: number }>
  readonly rows: (table: string) => ReadonlyArray<{ readonly key: Key; readonly json: string }>
  /** Damages a row's text. */
  readonly damage: (table: string, key: Key) => void
}

export const naive = (options: { readonly blocking?: boolean; readonly groupPrograms?: number } = {}): Naive => {
  const { blocking = false, groupPrograms = 64 } = options
  let tables = new Map<string, ReadonlyArray<Kept>>()
  const failures: Array<StorageReason | undefined> = []
  const runs: Array<{ mode: string; durability: string; rows: number }> = []
  const rowsOf = (table: AnyTable) => tables.get(table.name) ?? []
  const engine: Engine = {
    close: Effect.void,
    run: (machine, { durability, mode }, done) => {
      const failure = failures.shift()
      if (failure?._tag === "Busy") return done(failure)
      let step = machine.next()
      while (step._tag === "Read") step = machine.next(step.reads.map((read) => answer(rowsOf(read.table), read)))
      runs.push({ mode, durability, rows: step.rows.length })
      if (failure !== undefined) return done(failure)
      const before = tables
      tables = new Map(tables)
      const refused = write(tables, step)
      if (refused !== undefined) tables = before
      // A later turn, as engines that do not block have it.
      if (blocking) done(refused)
      else queueMicrotask(() => done(refused))
    },
  }
  return {
    failures,
    runs,
    rows: (table) => tables.get(table) ?? [],
    damage: (table, key) =>
      void tables.set(
        table,
        (tables.get(table) ?? []).map((row) => (compare(row.key, key) === 0 ? { ...row, json: "{" } : row)),
      ),
    layer: Layer.succeed(
      Backend,
      Backend.of({
        capabilities: { durable: false, multiProcess: false, blocking, groupPrograms },
        open: () => Effect.succeed(engine),
      }),
    ),
  }
}

const inside = (lower: Bound | undefined, upper: Bound | undefined, place: Key) => {
  const low = lower === undefined ? 1 : compare(place, lower.key)
  const high = upper === undefined ? -1 : compare(place, upper.key)
  return (low > 0 || (low === 0 && lower!.inclusive)) && (high < 0 || (high === 0 && upper!.inclusive))
}

const placeOf = (index: Index | undefined, row: Kept) =>
  index === undefined ? row.key : placeIn(index, row.key, row.columns)

const answer = (rows: ReadonlyArray<Kept>, read: EngineRead): ReadonlyArray<StoredRow> => {
  if (read._tag === "Get") return rows.filter((row) => keyId(row.key) === keyId(read.key))
  const placed = rows
    .map((row) => ({ ...row, place: placeOf(read._tag === "Find" ? read.index : read.index, row) }))
    .filter((row) => row.place !== undefined)
  if (read._tag === "Find") return placed.filter((row) => compare(row.place!, read.values) === 0)
  const hits = placed.filter((row) => inside(read.lower, read.upper, row.place!))
  hits.sort((a, b) => (read.reverse ? -1 : 1) * compare(a.place!, b.place!))
  return hits.slice(0, read.limit)
}

const write = (tables: Map<string, ReadonlyArray<Kept>>, step: WriteStep): Constraint | undefined => {
  for (const { lower, table, upper } of step.removals) {
    tables.set(
      table.name,
      (tables.get(table.name) ?? []).filter((row) => !inside(lower, upper, row.key)),
    )
  }
  for (const row of step.rows) {
    const refused = writeRow(tables, row)
    if (refused !== undefined) return refused
  }
  return undefined
}

const writeRow = (tables: Map<string, ReadonlyArray<Kept>>, row: RowWrite): Constraint | undefined => {
  const rows = tables.get(row.table.name) ?? []
  const others = rows.filter((one) => keyId(one.key) !== keyId(row.key))
  if (row._tag === "Remove") {
    tables.set(row.table.name, others)
    return undefined
  }
  if (row._tag === "Insert" && others.length < rows.length) return new Constraint({ table: row.table.name })
  for (const index of row.table.indexes) {
    if (!index.unique) continue
    const place = placeIn(index, row.key, row.columns)
    const taken = place && others.some((one) => keyId(placeIn(index, one.key, one.columns) ?? ["\0"]) === keyId(place))
    if (taken) return new Constraint({ table: row.table.name, index: index.name })
  }
  tables.set(row.table.name, [...others, row])
  return undefined
}
