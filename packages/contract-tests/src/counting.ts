/**
 * A backend that counts what is read from it.
 */
import type { Backend, Machine } from "@skein/core/storage"
import type * as Layer from "effect/Layer"
import { changed } from "./engine.ts"

export interface Counted {
  readonly backend: Layer.Layer<Backend>
  /** Rows that the engine gave, by table, since the last `reset`. */
  readonly rows: (table: string) => number
  /** Reads that the engine was asked for, by table, since the last `reset`. */
  readonly reads: (table: string) => number
  readonly reset: () => void
}

export const counting = (backend: Layer.Layer<Backend>): Counted => {
  const rows = new Map<string, number>()
  const reads = new Map<string, number>()
  const add = (counts: Map<string, number>, table: string, count: number) =>
    counts.set(table, (counts.get(table) ?? 0) + count)
  const counted = (machine: Machine): Machine => {
    let asked: ReadonlyArray<string> = []
    return {
      next: (answers) => {
        answers?.forEach((given, i) => add(rows, asked[i]!, given.length))
        const step = machine.next(answers)
        asked = step._tag === "Read" ? step.reads.map(({ table }) => table.name) : []
        for (const table of asked) add(reads, table, 1)
        return step
      },
    }
  }
  return {
    rows: (table) => rows.get(table) ?? 0,
    reads: (table) => reads.get(table) ?? 0,
    reset: () => {
      rows.clear()
      reads.clear()
    },
    ...changed({ backend }, { run: (run) => (machine, options, done) => run(counted(machine), options, done) }),
  }
}
