/**
 * Operations: what was done under a name that its caller may use again, so that asking twice does it once; and what is
 * being done in several commits with something in between that no commit can do, so that whoever comes after a crash
 * finishes it or takes it back.
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
  /** What came of it, or is known of it so far: whoever writes it knows its shape. */
  result: z.unknown(),
  /** When it is forgotten. What is not finished is not, whatever this says. */
  expiresAt: z.number(),
  /** While it is not finished: what kind of operation it is. */
  unfinished: z.optional(z.string()),
  /** How far an unfinished one has got. */
  stage: z.optional(z.string()),
  /** The instance that is at it, and until when others leave it to it unless it is known to be gone. */
  owner: z.optional(z.string()),
  until: z.optional(z.number()),
  /** A place of a tree that it needs while it is not finished: it stays as if a session were forked from it. */
  treeId: z.optional(z.string()),
  baseBranch: z.optional(z.number()),
  basePos: z.optional(z.number()),
})
export type OperationRow = z.output<typeof OperationRow>

export const OperationTable = table("operation", {
  row: OperationRow,
  key: [text("id")],
  indexes: {
    byExpiry: index(int("expiresAt")),
    byUnfinished: index(text("unfinished")),
    byBase: index(text("treeId"), int("baseBranch"), int("basePos")),
  },
})
