/**
 * Query views as callers see them.
 */
import type { QueryViewRow } from "./model.ts"

/** How the steps of a question are shown. All times are milliseconds since 1970. */
export interface QueryView {
  readonly queryKey: string
  /** The turn that started it last. */
  readonly turn: string
  readonly state: "running" | "finished"
  /** Whether its steps are hidden: they are finished, and nobody unfolded them. */
  readonly folded: boolean
  readonly expanded: boolean
  /** When it was started for the first time. */
  readonly startedAt: number
  /** Since when it runs. Absent: it is finished. */
  readonly runningSince?: number
  /** When it was finished last. Absent: it runs. */
  readonly finishedAt?: number
  /** Milliseconds that it ran in all its turns; without what passed since `runningSince`. */
  readonly duration: number
}

export const toView = (row: Readonly<QueryViewRow>): QueryView => {
  const { duration, expanded, finishedAt, question, runningSince, startedAt, turn } = row
  return {
    queryKey: question,
    turn,
    state: runningSince === undefined ? "finished" : "running",
    folded: runningSince === undefined && !expanded,
    expanded,
    startedAt,
    ...(runningSince !== undefined && { runningSince }),
    ...(finishedAt !== undefined && { finishedAt }),
    duration,
  }
}
