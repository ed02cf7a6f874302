/**
 * Operations: what was done under a name that its caller may use again, so that asking twice does it once.
 */
import * as z from "zod/mini"
import { index, int, table, text } from "../storage/table.ts"

/** How long it is remembered what was done, in milliseconds: 30 days. */
export const receiptsKept = 30 * 24 * 60 * 60 * 1_000

export const OperationRow = z.object({
  /** What was asked, by whom: made of names with `key`. */
  id: z.string(),
  sessionId: z.string(),
  /** What was asked for, to tell whether it is asked again or something else is. */
  digest: z.optional(z.string()),
  /** What came of it: whoever writes it knows its shape. */
  result: z.unknown(),
  expiresAt: z.number(),
})
export type OperationRow = z.output<typeof OperationRow>

export const OperationTable = table("operation", {
  row: OperationRow,
  key: [text("id")],
  indexes: { byExpiry: index(int("expiresAt")) },
})
