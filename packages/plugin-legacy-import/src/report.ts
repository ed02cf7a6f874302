/**
 * What an import did, and what it could not do.
 *
 * Guarantee: everything that a source has and the store has not is in here, each with its place and the reason; where
 * something is missing, `partial` says so.
 */
import type { Remark } from "@skein/core/import"

/**
 * `failed`: it is not here, or not what is new of it; the remark says why. It is tried again next time. `deleted`: it was
 * here, and somebody has deleted it.
 */
export type Outcome = "created" | "updated" | "unchanged" | "failed" | "deleted"

/** How many messages the source has, how many of them are here, and how many of those are new. */
export interface MessageCounts {
  readonly source: number
  readonly stored: number
  readonly added: number
  /** How many were here once and have been deleted. */
  readonly deleted: number
}

export interface SessionReport {
  /** The id at the source. */
  readonly id: string
  /** The id here. Absent: the session is not here. */
  readonly sessionId?: string
  readonly outcome: Outcome
  readonly messages: MessageCounts
  readonly remarks: ReadonlyArray<Remark>
  /** Whether something of it is missing here. */
  readonly partial: boolean
}

export interface ImportReport {
  readonly source: string
  readonly sessions: ReadonlyArray<SessionReport>
  /** Remarks on what is no session that could be read. */
  readonly remarks: ReadonlyArray<Remark>
  readonly outcomes: Readonly<Record<Outcome, number>>
  readonly messages: MessageCounts
  /** Whether something of the source is missing here. */
  readonly partial: boolean
}

const isLost = ({ kind }: Remark): boolean => kind === "lost"

/** A report that says whether it is partial: the counts differ, or something of a message is missing. */
export const withPartial = (report: Omit<SessionReport, "partial">): SessionReport => {
  const { deleted, source, stored } = report.messages
  return { ...report, partial: stored + deleted < source || report.remarks.some(isLost) }
}

/** One report of many. */
export const summarise = (
  source: string,
  sessions: ReadonlyArray<SessionReport>,
  remarks: ReadonlyArray<Remark>,
): ImportReport => {
  const outcomes = { created: 0, updated: 0, unchanged: 0, failed: 0, deleted: 0 }
  const messages = { source: 0, stored: 0, added: 0, deleted: 0 }
  for (const session of sessions) {
    outcomes[session.outcome]++
    messages.source += session.messages.source
    messages.stored += session.messages.stored
    messages.added += session.messages.added
    messages.deleted += session.messages.deleted
  }
  const partial = remarks.some(isLost) || sessions.some((session) => session.partial)
  return { source, sessions, remarks, outcomes, messages, partial }
}
