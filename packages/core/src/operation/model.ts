/**
 * Operations: what was done under a name that its caller may use again, so that asking twice does it once; and what is
 * being done in several commits with something in between that no commit can do, so that whoever comes after a crash
 * finishes it or takes it back.
 */
import * as z from "zod/mini"
import { index, int, table, text } from "../storage/table.ts"

/** How long it is remembered what was done, in milliseconds: 30 days. */
export const receiptsKept = 30 * 24 * 60 * 60 * 1_000

/** An instance that holds something by a lease, told alive from dead as the owner of a turn is. */
export const Holder = z.object({
  owner: z.string(),
  /** Whose wall clock `until` was read from. */
  host: z.string(),
  /** Counts renewals of the lease. */
  beat: z.number(),
  /** The length of the lease, and when it ends, in milliseconds. */
  lease: z.number(),
  until: z.number(),
})
export type Holder = z.output<typeof Holder>

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
  /** Who is at it, while it is not finished. */
  holder: z.optional(Holder),
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
    bySession: index(text("sessionId")),
    byUnfinished: index(text("unfinished")),
    byBase: index(text("treeId"), int("baseBranch"), int("basePos")),
  },
})
