/**
 * A row of the table: two figures, their ratio, and the budget that the ratio has to keep.
 */
import { interleave, mean, p50 } from "./measure.ts"
import type { Pair, Rounds, Times } from "./measure.ts"

/** What the ratio of ours to the baseline may be. */
export type Budget = { readonly atMost: number } | { readonly atLeast: number }

export interface Row {
  readonly name: string
  readonly unit: "µs" | "ms" | "/s" | "rows" | "bytes" | "MiB"
  readonly ours: number
  /** What ours is measured against. */
  readonly baseline: number
  readonly ratio: number
  /** The same of the means; of figures that were counted there are none. */
  readonly mean?: { readonly ours: number; readonly baseline: number; readonly ratio: number }
  /** Absent: the row only informs. */
  readonly budget?: Budget
  /** Why the budget is not judged here, where it is not. */
  readonly exempt?: string
  /** Facts about how it was measured. */
  readonly note?: string
}

/** Whether the budget is kept, as far as there is one to keep. */
export const holds = ({ budget, exempt, ratio }: Row): boolean =>
  budget === undefined ||
  exempt !== undefined ||
  ("atMost" in budget ? ratio <= budget.atMost : ratio >= budget.atLeast)

/** What a suite of rows is given. */
export interface Bench {
  /** A directory of its own, on the disk that is measured. */
  readonly directory: string
  /** Fewer rounds, for a quick look. */
  readonly quick: boolean
  /** How many rounds: the full number, or a part of it when only a quick look is wanted. */
  readonly rounds: (full: number) => number
}

/** Rows that are measured on the same stores. One file of `rows/` each. */
export interface Suite {
  readonly name: string
  readonly run: (bench: Bench) => Promise<ReadonlyArray<Row>>
}

interface Description extends Pick<Row, "name" | "note" | "exempt"> {
  readonly unit: "µs" | "ms"
  readonly budget?: Budget
}

/** Measures a row of which both sides take time. */
export const compare = async (description: Description, pair: Pair, rounds: Rounds): Promise<Row> =>
  rowOf(description, await interleave(pair, rounds))

/** A row of times that were measured. */
export const rowOf = (description: Description, times: { readonly ours: Times; readonly baseline: Times }): Row => {
  const scale = description.unit === "µs" ? 1_000 : 1
  const both = (of: (times: Times) => number) => {
    const ours = of(times.ours) * scale
    const baseline = of(times.baseline) * scale
    return { ours, baseline, ratio: ours / baseline }
  }
  return { ...description, ...both(p50), mean: both(mean) }
}
