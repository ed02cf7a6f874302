/**
 * What a session's row knows of its queue: pure functions over it, for whoever changes what the queue rests on.
 *
 * Guarantee: `due` is there while an item may be dispatched: something waits, nothing is paused, no turn runs. It says
 * since when, or for a claimed item when its claim ends; so one index finds the sessions that have work, oldest first.
 */
import type { PauseCause, QueueState, SessionRow } from "../session/model.ts"

/** The row with `due` as it follows from turn and queue. Comes last in every change of either. */
export const withDue = (row: SessionRow): SessionRow => {
  const { due: _due, ...rest } = row
  const { activeTurn, queue } = row
  return queue === undefined || queue.pause !== undefined || activeTurn !== undefined
    ? rest
    : { ...rest, due: queue.since }
}

/** The row with its queue as it is now, paused as `pause` says. One in which nothing waits is forgotten. */
export const withQueue = (row: SessionRow, state: QueueState): SessionRow => {
  const { queue: _queue, ...rest } = row
  return withDue(state.items === 0 ? rest : { ...rest, queue: state })
}

/** The row with its queue paused. Nothing waits: the row as it was. The first pause stays. */
export const paused = (row: SessionRow, cause: PauseCause, turn: string | undefined, now: number): SessionRow => {
  const { queue } = row
  if (queue === undefined || queue.pause !== undefined) return row
  return withDue({ ...row, queue: { ...queue, pause: { cause, at: now, ...(turn !== undefined && { turn }) } } })
}

/** The row with its queue no longer paused. */
export const resumed = (row: SessionRow): SessionRow => {
  if (row.queue === undefined) return row
  const { pause: _pause, ...queue } = row.queue
  return withDue({ ...row, queue })
}

/** The row of which no question is open any more: what was paused for it goes on. */
export const answered = (row: SessionRow): SessionRow =>
  row.queue?.pause?.cause === "needs-input" ? resumed(row) : row
