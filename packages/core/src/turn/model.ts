/**
 * Turns: one run of the agent each, as it is kept when it is over. What a running one is judged by stands in the
 * session's row.
 */
import * as z from "zod/mini"
import { EntryRef } from "../message/model.ts"
import { SessionFailure } from "../session/model.ts"
import { index, int, table, text, unique } from "../storage/table.ts"
import { Spent } from "../usage/model.ts"

/** How a turn ended. */
export const TurnOutcome = z.enum(["completed", "failed", "aborted", "needs_input", "done", "interrupted"])
export type TurnOutcome = z.output<typeof TurnOutcome>

/** What was applied of the events of a turn: see `applied.ts`. */
export const Applied = z.object({
  /** The number of the last one; they count from 1. */
  last: z.number(),
  /** Digests of the newest, oldest first. */
  recent: z.array(z.string()),
})
export type Applied = z.output<typeof Applied>

export const TurnRow = z.object({
  sessionId: z.string(),
  /** Counts the turns of its session from 1. */
  epoch: z.number(),
  id: z.string(),
  /** The instance that ran it, and its host. */
  owner: z.string(),
  host: z.string(),
  /** What it began with. */
  start: z.enum(["prompt", "item", "edit", "retry", "answer", "none"]),
  startedAt: z.number(),
  endedAt: z.optional(z.number()),
  /** How long it ran, in milliseconds: one that was found dead, for as long as anything was heard of it. */
  duration: z.optional(z.number()),
  /** Absent while it runs. */
  outcome: z.optional(TurnOutcome),
  /** Why it ended so: `crash-recovery`, `taken-over`, or what was said to `abort`. */
  reason: z.optional(z.string()),
  error: z.optional(SessionFailure),
  /** The first and the last entry that it wrote. */
  first: z.optional(EntryRef),
  last: z.optional(EntryRef),
  /** Absent where it was not told by events. */
  applied: z.optional(Applied),
  /** What its model calls add up to, by currency. Absent: there were none. */
  usage: z.optional(z.array(Spent)),
  /** Present while it runs, so that running turns are found without looking at the others. */
  runningSince: z.optional(z.number()),
  /** The epoch again, of a turn that was aborted, failed, or was found dead: why calls of it have no result. */
  broken: z.optional(z.number()),
})
export type TurnRow = z.output<typeof TurnRow>

export const TurnTable = table("turn", {
  row: TurnRow,
  key: [text("sessionId"), int("epoch")],
  ownedBy: "session",
  indexes: {
    byId: unique(text("sessionId"), text("id")),
    byRunning: index(int("runningSince")),
    byBroken: index(text("sessionId"), int("broken")),
  },
})
