/**
 * Machines written by hand, to drive an engine without `Storage` on top.
 */
import type { Backend } from "@skein/core/storage"
import { columnsOf, keyOf, rowJson } from "@skein/core/storage"
import type {
  AnyTable,
  Bound,
  Durability,
  Engine,
  EngineRead,
  Key,
  Machine,
  RangeRead,
  RangeRemoval,
  RowWrite,
  StorageReason,
  StoredRow,
} from "@skein/core/storage"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"

/** One check of an adapter. Fails, or throws, when the adapter does not do what its name says. */
export interface Check {
  readonly name: string
  readonly run: (backend: Layer.Layer<Backend, StorageReason>) => Effect.Effect<void, unknown>
}

export interface Writes {
  readonly removals?: ReadonlyArray<RangeRemoval>
  readonly rows?: ReadonlyArray<RowWrite>
}

type Answers = ReadonlyArray<ReadonlyArray<StoredRow>>
/** Yields reads, is sent their rows, and returns what to write. */
export type Body = () => Generator<ReadonlyArray<EngineRead>, Writes, Answers>

export const machine = (body: Body): Machine => {
  const steps = body()
  return {
    next: (answers = []) => {
      const step = steps.next(answers)
      return step.done
        ? { _tag: "Write", removals: step.value.removals ?? [], rows: step.value.rows ?? [] }
        : { _tag: "Read", reads: step.value }
    },
  }
}

/** Runs a machine that may write. */
export const commit = (
  engine: Engine,
  body: Body,
  durability: Durability = "strict",
): Effect.Effect<void, StorageReason> => drive(engine, body, "write", durability)

/** Writes without reading first. */
export const write = (engine: Engine, writes: Writes): Effect.Effect<void, StorageReason> =>
  commit(engine, function* () {
    return writes
  })

/** The answers to some reads, of one state. */
export const read = (engine: Engine, ...reads: ReadonlyArray<EngineRead>): Effect.Effect<Answers, StorageReason> =>
  Effect.suspend(() => {
    let answers: Answers = []
    const asking: Body = function* () {
      answers = yield reads
      return {}
    }
    return Effect.map(drive(engine, asking, "read", "relaxed"), () => answers)
  })

const drive = (engine: Engine, body: Body, mode: "read" | "write", durability: Durability) =>
  Effect.callback<void, StorageReason>((resume) => {
    let calls = 0
    engine.run(machine(body), { mode, durability }, (failure) => {
      if (++calls > 1) throw new Error("done was called twice")
      resume(failure === undefined ? Effect.void : Effect.fail(failure))
    })
  })

type AnyRow = Readonly<Record<string, unknown>>
/** A write that stores a row. */
type Storing = Exclude<RowWrite, { readonly _tag: "Remove" }>

export const insert = (table: AnyTable, row: AnyRow): Storing => rowWrite("Insert", table, row)
export const update = (table: AnyTable, row: AnyRow): Storing => rowWrite("Update", table, row)
export const put = (table: AnyTable, row: AnyRow): Storing => rowWrite("Put", table, row)
export const remove = (table: AnyTable, key: Key): RowWrite => ({ _tag: "Remove", table, key })

const rowWrite = (tag: Storing["_tag"], table: AnyTable, row: AnyRow): Storing => ({
  _tag: tag,
  table,
  key: keyOf(table, row),
  json: rowJson(table, row),
  bytes: table.bytes === undefined ? undefined : (row[table.bytes] as Uint8Array | undefined),
  columns: columnsOf(table, row),
  columnsChanged: true,
})

export const get = (table: AnyTable, ...key: Key): EngineRead => ({ _tag: "Get", table, key })

export const find = (table: AnyTable, index: string, ...values: Key): EngineRead => ({
  _tag: "Find",
  table,
  index: table.indexes.find(({ name }) => name === index)!,
  values,
})

export interface RangeOptions {
  readonly index?: string
  readonly lower?: Bound
  readonly upper?: Bound
  readonly reverse?: boolean
  readonly limit?: number
}

export const range = (table: AnyTable, options: RangeOptions = {}): RangeRead => ({
  _tag: "Range",
  table,
  index: table.indexes.find(({ name }) => name === options.index),
  lower: options.lower,
  upper: options.upper,
  reverse: options.reverse ?? false,
  limit: options.limit ?? 500,
})

export const from = (...key: Key): Bound => ({ key, inclusive: true })
export const after = (...key: Key): Bound => ({ key, inclusive: false })
/** The same bound seen from above: up to and with all that begin with the key. */
export const upTo = from
export const before = after

/** What a stored row says, as a plain object without its place. */
export const plain = (row: StoredRow): unknown => ({ key: row.key, ...(JSON.parse(String(row.json)) as object) })

/** Fails with both values when they are not the same JSON. */
export const expectSame = (actual: unknown, expected: unknown, what: string): Effect.Effect<void, Error> => {
  const [got, wanted] = [JSON.stringify(actual), JSON.stringify(expected)]
  return got === wanted ? Effect.void : Effect.fail(new Error(`${what}: got ${got}, expected ${wanted}`))
}
