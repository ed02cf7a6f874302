/**
 * Turns as callers see them.
 */
import type { SessionFailure } from "../session/model.ts"
import { totalsOf } from "../usage/totals.ts"
import type { UsageTotals } from "../usage/totals.ts"
import type { TurnOutcome, TurnRow } from "./model.ts"

/** One run of the agent. Times are milliseconds since 1970. */
export interface TurnRecord {
  readonly id: string
  readonly sessionId: string
  /** Counts the turns of the session from 1, and is the fence of what this one writes. */
  readonly epoch: number
  /** The instance that runs or ran it, and its host. */
  readonly owner: string
  readonly host: string
  /** What it began with. */
  readonly start: TurnRow["start"]
  readonly startedAt: number
  readonly endedAt?: number
  /** How long it ran, in milliseconds; one that was found dead ran for as long as anything was heard of it. */
  readonly duration?: number
  /** Absent while it runs. */
  readonly outcome?: TurnOutcome
  /** Why it ended so: `crash-recovery`, `taken-over`, or what was said to `abort`. */
  readonly reason?: string
  readonly error?: SessionFailure
  /** Ids of the first and the last message that it wrote, where they are known and still there. */
  readonly first?: string
  readonly last?: string
  /** What its model calls used. */
  readonly usage: UsageTotals
}

/** @param ids  of the first and the last entry */
export const toTurnRecord = (
  row: Readonly<TurnRow>,
  ids: { readonly first?: string | undefined; readonly last?: string | undefined } = {},
): TurnRecord => {
  const { duration, endedAt, epoch, error, host, id, outcome, owner, reason, sessionId, start, startedAt } = row
  return {
    id,
    sessionId,
    epoch,
    owner,
    host,
    start,
    startedAt,
    usage: totalsOf(row.usage),
    ...(endedAt !== undefined && { endedAt }),
    ...(duration !== undefined && { duration }),
    ...(outcome !== undefined && { outcome }),
    ...(reason !== undefined && { reason }),
    ...(error !== undefined && { error: { ...error } }),
    ...(ids.first !== undefined && { first: ids.first }),
    ...(ids.last !== undefined && { last: ids.last }),
  }
}
