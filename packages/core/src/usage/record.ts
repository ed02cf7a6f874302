/**
 * Calls as callers see them.
 */
import { copyOf } from "../value.ts"
import type { CallOutcome, Tokens, UsageRow } from "./model.ts"

/** A model call, as it is counted. */
export interface UsageCall extends Tokens {
  readonly callId: string
  readonly sessionId: string
  readonly turnId?: string
  readonly entryId?: string
  readonly provider: string
  readonly model: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly outcome: CallOutcome
  /** In billionths of `currency`. `null`: not known. */
  readonly cost: number | null
  readonly currency?: string
  /** Who said what it cost: the caller, or a table of prices. */
  readonly pricedBy?: "caller" | "table"
  readonly raw?: unknown
}

export const toUsageCall = (row: Readonly<UsageRow>): UsageCall => {
  const { at, callId, cost, currency, entryId, model, outcome, pricedBy, provider, raw, sessionId, turn } = row
  const { cacheRead, cacheWrite, input, output, reasoning } = row
  return {
    callId,
    sessionId,
    ...(turn !== "" && { turnId: turn }),
    ...(entryId !== undefined && { entryId }),
    provider,
    model,
    at,
    outcome,
    input,
    output,
    reasoning,
    cacheRead,
    cacheWrite,
    cost,
    ...(currency !== undefined && { currency }),
    ...(pricedBy !== undefined && { pricedBy }),
    ...(raw !== undefined && { raw: copyOf(raw) }),
  }
}
