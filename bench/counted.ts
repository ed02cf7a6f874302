/**
 * A backend that counts what passes through it.
 */
import { Backend } from "@skein/core/storage"
import type { EngineRead, Machine, WriteStep } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** One transaction of the engine. */
export interface Run {
  readonly mode: "read" | "write"
  /** What was asked, step by step; a step of several reads is an `all`. */
  readonly steps: ReadonlyArray<ReadonlyArray<EngineRead>>
  readonly rowsRead: number
  readonly rowsWritten: number
}

export interface Counted {
  readonly backend: Layer.Layer<Backend>
  /** What has run since it was last asked. */
  readonly taken: () => ReadonlyArray<Run>
}

export const counted = (backend: Layer.Layer<Backend>): Counted => {
  let runs: Array<Run> = []
  const counting = Effect.gen(function* () {
    const { capabilities, open } = yield* Backend
    return Backend.of({
      capabilities,
      open: (schema) =>
        Effect.map(open(schema), (engine) => ({
          ...engine,
          run: (machine, options, done) => {
            const seen = watch(machine)
            engine.run(seen.machine, options, (failure) => {
              runs.push({ mode: options.mode, ...seen.figures() })
              done(failure)
            })
          },
        })),
    })
  })
  return {
    backend: Layer.provide(Layer.effect(Backend, counting), backend),
    taken: () => {
      const taken = runs
      runs = []
      return taken
    },
  }
}

const watch = (machine: Machine): { readonly machine: Machine; readonly figures: () => Omit<Run, "mode"> } => {
  const steps: Array<ReadonlyArray<EngineRead>> = []
  let rowsRead = 0
  let written: WriteStep | undefined
  return {
    machine: {
      next: (answers) => {
        for (const rows of answers ?? []) rowsRead += rows.length
        const step = machine.next(answers)
        if (step._tag === "Read") steps.push(step.reads)
        else written = step
        return step
      },
    },
    figures: () => ({ steps, rowsRead, rowsWritten: written?.rows.length ?? 0 }),
  }
}
