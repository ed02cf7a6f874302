/**
 * Tools to break a good backend in one place.
 */
import { Backend } from "@skein/core/storage"
import type {
  Engine,
  EngineRead,
  Machine,
  ReadStep,
  Schema,
  StorageReason,
  StoredRow,
  WriteStep,
} from "@skein/core/storage"
import * as Effect from "effect/Effect"

export type Good = Backend["Service"]
type Run = Engine["run"]

/** What is done to what passes between a machine and its engine. Everything left out passes as it is. */
export interface Change {
  readonly open?: (schema: Schema) => Schema
  readonly read?: (read: EngineRead) => EngineRead
  readonly rows?: (rows: ReadonlyArray<StoredRow>, read: EngineRead) => ReadonlyArray<StoredRow>
  readonly answers?: (answers: ReadonlyArray<ReadonlyArray<StoredRow>>) => ReadonlyArray<ReadonlyArray<StoredRow>>
  readonly write?: (step: WriteStep) => WriteStep
  readonly end?: (failure: StorageReason | undefined) => StorageReason | undefined
}

/** The backend with a change applied to every run. */
export const changed = (good: Good, change: Change): Good =>
  driven(
    good,
    (run) => (machine, options, done) => {
      run(changedMachine(machine, change), options, (failure) => done((change.end ?? same)(failure)))
    },
    change.open,
  )

/** The backend with its `run` replaced, for each opening anew. */
export const driven = (good: Good, drive: (run: Run) => Run, schemaOf: (schema: Schema) => Schema = same): Good =>
  Backend.of({
    capabilities: good.capabilities,
    open: (schema) =>
      Effect.map(good.open(schemaOf(schema)), (engine) => ({ ...engine, run: drive(engine.run.bind(engine)) })),
  })

const same = <A>(value: A): A => value

const changedMachine = (machine: Machine, change: Change): Machine => {
  const { answers: changeAnswers = same, read = same, rows: changeRows = same, write = same } = change
  let asked: ReadStep["reads"] = []
  return {
    next: (answers) => {
      const given = answers && changeAnswers(answers.map((rows, i) => changeRows(rows, asked[i]!)))
      const step = machine.next(given)
      if (step._tag === "Write") return write(step)
      asked = step.reads
      return { _tag: "Read", reads: step.reads.map(read) }
    },
  }
}

export const nothing: WriteStep = { _tag: "Write", removals: [], rows: [] }

/** A machine that reads once. */
export const reading = (
  reads: ReadStep["reads"],
  take: (answers: ReadonlyArray<ReadonlyArray<StoredRow>>) => void,
): Machine => ({
  next: (answers) => {
    if (answers === undefined) return { _tag: "Read", reads }
    take(answers)
    return nothing
  },
})

/** A machine that only writes. */
export const writing = (step: WriteStep): Machine => ({ next: () => step })

/** Drives a machine and hands its writes over instead of making them. */
export const withheld = (machine: Machine, take: (step: WriteStep) => void): Machine => ({
  next: (answers) => {
    const step = machine.next(answers)
    if (step._tag === "Read") return step
    take(step)
    return nothing
  },
})
