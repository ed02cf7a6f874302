/**
 * Query views: one row a question, with what a person sees of the steps between the question and its answer.
 */
import * as z from "zod/mini"
import { table, text } from "../storage/table.ts"

/** How many questions one turn may have running at a time. */
export const mostRunning = 100

export const QueryViewRow = z.object({
  sessionId: z.string(),
  /** The question as a key: see `key`. */
  queryKey: z.string(),
  /** The same as it was given. */
  question: z.string(),
  /** The turn that began or resumed it last. */
  turn: z.string(),
  epoch: z.number(),
  /** When it was begun for the first time. */
  startedAt: z.number(),
  /** Present while it runs: then its turn runs, and has it among its `views`. */
  runningSince: z.optional(z.number()),
  /** When it was finished last. Absent while it runs. */
  finishedAt: z.optional(z.number()),
  /** Milliseconds that it ran, up to `runningSince` where it runs. */
  duration: z.number(),
  /** Somebody wants to see the steps, also when they are finished. */
  expanded: z.boolean(),
})
export type QueryViewRow = z.output<typeof QueryViewRow>

export const QueryViewTable = table("query_view", {
  row: QueryViewRow,
  key: [text("sessionId"), text("queryKey")],
  ownedBy: "session",
})
