/**
 * A history on the store under test: real tables, real programs, all clients at once.
 */
import { descInt, index, int, table, text, Tx, unique } from "@skein/core/storage"
import type { AnyTable, InvalidInput, Schema, Storage, StorageError } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as z from "zod/mini"
import type { Store } from "../../../law.ts"
import { outcomeOf } from "../../../outcome.ts"
import { openStorage, schemaOf } from "../../../storage.ts"
import { readOf, writesOf } from "./decide.ts"
import type { Answer, Read, Row, Write } from "./decide.ts"
import { isInt } from "./model.ts"
import type { FieldName, History, ProgramSpec, StepSpec, TableSpec } from "./model.ts"
import type { Ending } from "./oracle.ts"

const number = z.optional(z.number())
const string = z.optional(z.string())
const AnyRow = z.object({
  a: number,
  b: number,
  c: number,
  s: string,
  t: string,
  u: string,
  count: z.number(),
  note: z.optional(z.unknown()),
  blob: z.optional(z.custom<Uint8Array>((value) => value instanceof Uint8Array)),
})

/** `int` and `text` know the names of their fields one by one; here the names are data. */
const keyField = (name: FieldName) => (isInt(name) ? int(name as "a") : text(name as "s"))

const tableOf = (spec: TableSpec, at: number): AnyTable =>
  table(`table${at}`, {
    row: AnyRow,
    key: spec.key.map(keyField),
    indexes: Object.fromEntries(
      spec.indexes.map((one, i) => {
        const fields = one.fields.map(({ desc, name }) => (desc ? descInt(name as "a") : keyField(name)))
        return [`index${i}`, one.unique ? unique(...fields) : index(...fields)]
      }),
    ),
    ...(spec.bytes && { bytes: "blob" }),
  })

/**
 * Counts the commits of a history with two storages, in the store itself: the order in which they were made can be had
 * from nowhere else.
 */
const Clock = table("clock", { row: z.object({ id: z.number(), commits: z.number() }), key: [int("id")] })

/** One step as it went. */
export interface Played {
  readonly step: StepSpec
  readonly ending: Ending
  /** Its place in the order of all steps. */
  readonly place: number
  /** Whether it has a place of its own, or only read between two that have. */
  readonly committed: boolean
  /** Places below this one were answered before it was called. */
  readonly floor: number
}

interface Opened {
  readonly tables: ReadonlyArray<AnyTable>
  readonly schema: Schema
}

/** The tables of a history, declared. */
export const declare = (history: History): Opened => {
  const tables = history.tables.map(tableOf)
  return { tables, schema: schemaOf(...tables, Clock) }
}

export const play = (
  store: Store,
  history: History,
  { schema, tables }: Opened,
): Effect.Effect<ReadonlyArray<Played>, StorageError | InvalidInput, Scope.Scope> =>
  Effect.gen(function* () {
    const first = yield* openStorage(store, { schema })
    const storages = [first, history.shared ? yield* openStorage(store, { schema }) : first] as const
    if (history.shared) yield* first.transact(startClock)
    const played: Array<Played> = []
    let runs = 0
    let floor = 0
    const playAll = (steps: ReadonlyArray<StepSpec>) =>
      Effect.forEach(steps, (step) =>
        Effect.gen(function* () {
          const witness = { place: 0, committed: false }
          const program = programOf(history, tables, step, witness, () => runs++)
          const before = floor
          const ending = yield* endingOf(storages[step.storage], step, history.shared, program)
          // Without a clock every run has a place of its own, in the order in which they were.
          const committed = history.shared ? witness.committed && "done" in ending : true
          floor = Math.max(floor, witness.place + (committed ? 1 : 0))
          played.push({ step, ending, place: witness.place, committed, floor: before })
        }),
      )
    yield* playAll(history.before)
    yield* Effect.forEach(history.clients, playAll, { concurrency: "unbounded" })
    yield* Effect.forEach(storages, (storage) => storage.close)
    return played
  })

const startClock = Tx.make(function* (tx) {
  tx.insert(Clock, { id: 0, commits: 0 })
})

/** Without a clock nothing says between which commits a read had its snapshot, so that it goes in line with the others. */
export const isRead = ({ program, read }: StepSpec, shared: boolean): boolean =>
  shared && read && program.writes.length === 0

interface Failed {
  readonly answers: ReadonlyArray<Answer>
}

const endingOf = (
  storage: Storage["Service"],
  step: StepSpec,
  shared: boolean,
  program: Tx.Tx<ReadonlyArray<Answer>, Failed>,
): Effect.Effect<Ending> => {
  const {
    durability,
    program: { end },
  } = step
  const call = isRead(step, shared) ? storage.read(program) : storage.transact(program, { durability })
  if (end !== "fail") return outcomeOf(call)
  return Effect.map(outcomeOf(Effect.flip(call)), (outcome): Ending => {
    if (!("done" in outcome)) return outcome
    return "answers" in outcome.done ? { failed: "stop", answers: outcome.done.answers } : { failed: outcome.done._tag }
  })
}

const programOf = (
  history: History,
  tables: ReadonlyArray<AnyTable>,
  { program }: StepSpec,
  witness: { place: number; committed: boolean },
  nextRun: () => number,
): Tx.Tx<ReadonlyArray<Answer>, Failed> =>
  Tx.make(function* (tx) {
    const reads = program.reads.map((spec) => readOf(history.tables, spec))
    const clock = history.shared ? yield* tx.get(Clock, [0]) : undefined
    const answers = yield* answersTo(tables, reads, program)
    // The last run is the one that counts; what it notes changes nothing that it does.
    witness.place = clock?.commits ?? nextRun()
    const writes = writesOf(history.tables, program, reads, answers)
    witness.committed = writes.length > 0
    for (const write of writes) name(tx, tables[write.table]!, write)
    if (history.shared && writes.length > 0) {
      tx.update(Clock, [0], ({ commits, id }) => ({ id, commits: commits + 1 }))
    }
    if (program.end === "fail") return yield* tx.fail<Failed>({ answers })
    if (program.end === "throw") throw new Error("boom")
    return answers
  })

const answersTo = (tables: ReadonlyArray<AnyTable>, reads: ReadonlyArray<Read>, { together }: ProgramSpec) =>
  Tx.make(function* (tx) {
    if (together) return (yield* tx.all(reads.map((read) => ask(tx, tables, read)))) as ReadonlyArray<Answer>
    const answers: Array<Answer> = []
    for (const read of reads) answers.push((yield* ask(tx, tables, read)) as Answer)
    return answers
  })

/** One read as a step. What the types say of indexes and bounds is data here, hence the casts. */
export const ask = (tx: Tx.Handle, tables: ReadonlyArray<AnyTable>, read: Read): Tx.Query<unknown> => {
  const of = tables[read.table]!
  if (read.do === "get") return tx.get(of, read.key)
  if (read.do === "find") return tx.find(of, `index${read.index}` as never, read.values as never)
  const { bounds, index, limit, reverse } = read
  const all = { ...bounds, reverse, ...(limit !== undefined && { limit }) }
  return tx.range(of, index === undefined ? "key" : `index${index}`, all as Tx.Bounds<readonly []>)
}

const name = (tx: Tx.Handle, of: AnyTable, write: Write): void => {
  switch (write.do) {
    case "insert":
      return tx.insert(of, write.row)
    case "put":
      return tx.put(of, write.row)
    case "update":
      tx.update(of, write.key, (row) => write.change(row as Row))
      return
    case "remove":
      return tx.remove(of, write.key)
    case "removeRange":
      return tx.removeRange(of, write.bounds as Tx.KeyBounds<readonly []>)
  }
}
