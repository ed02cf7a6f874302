/**
 * A backend that fails on purpose, on any engine: by means of the port alone.
 */
import { Backend } from "@skein/core/storage"
import type { Machine, RowWrite, StorageReason, WriteStep } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** What befalls a commit. */
export type Fault =
  /** The engine meets something that it cannot do after it has applied so many rows. Nothing may stay. */
  | { readonly _tag: "Refused"; readonly after: number; readonly reason: StorageReason }
  /** The commit is made, and nobody is told. */
  | { readonly _tag: "Lost"; readonly reason: StorageReason }

export interface Faulty {
  readonly backend: Layer.Layer<Backend>
  /** Strikes the commits from now on that write anything, until it is taken away by `undefined`. */
  readonly strike: (fault: Fault | undefined) => void
  /** How many rows the last commit wrote that was not struck. */
  readonly rowsWritten: () => number
}

export const faulty = (backend: Layer.Layer<Backend>): Faulty => {
  let fault: Fault | undefined
  let rowsWritten = 0
  /** A row that is there: to insert it again is what an engine cannot do. */
  let taken: Extract<RowWrite, { readonly _tag: "Insert" }> | undefined

  const spoil = (step: WriteStep): WriteStep => {
    if (fault?._tag !== "Refused") return step
    if (taken === undefined) throw new Error("there must be a row before the engine can refuse one")
    return { ...step, rows: [...step.rows.slice(0, fault.after), taken] }
  }
  const striking = Effect.gen(function* () {
    const { capabilities, open } = yield* Backend
    return Backend.of({
      capabilities,
      open: (schema) =>
        Effect.map(open(schema), (engine) => ({
          ...engine,
          run: (machine, options, done) => {
            let written: WriteStep | undefined
            const struck: Machine = {
              next: (answers) => {
                const step = machine.next(answers)
                if (step._tag === "Read" || isEmpty(step)) return step
                written = step
                return spoil(step)
              },
            }
            engine.run(struck, options, (failure) => {
              if (written === undefined) return done(failure)
              if (fault !== undefined) return done(unexpected(fault, failure) ?? fault.reason)
              rowsWritten = written.rows.length
              taken ??= firstInsert(written)
              done(failure)
            })
          },
        })),
    })
  })
  return {
    backend: Layer.provide(Layer.effect(Backend, striking), backend),
    strike: (next) => {
      fault = next
    },
    rowsWritten: () => rowsWritten,
  }
}

const isEmpty = ({ removals, rows }: WriteStep) => removals.length === 0 && rows.length === 0

const firstInsert = ({ rows }: WriteStep) =>
  rows.find((row): row is Extract<RowWrite, { readonly _tag: "Insert" }> => row._tag === "Insert")

/** An engine that does not do what the fault needs would make a test pass that proves nothing. */
const unexpected = (fault: Fault, failure: StorageReason | undefined): StorageReason | undefined => {
  const isRefused = failure?._tag === "Constraint"
  if (isRefused === (fault._tag === "Refused")) return undefined
  throw new Error(`a commit that was to be ${fault._tag} ended with ${failure?._tag ?? "success"}`)
}
