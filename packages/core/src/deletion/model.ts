/**
 * Deletions: the mark that a session which is gone leaves behind, and what is left to do until nothing else of it is there.
 */
import * as z from "zod/mini"
import { index, int, table, text } from "../storage/table.ts"

/** Whose branches are that belonged to a session which is being erased, while others see what it wrote. No id is like it. */
export const erasingId = (sessionId: string): string => `erase:${sessionId}`

/** Whose branches are that belonged to a session which was deleted, where others need a part of them. No id is like it. */
export const nobody = ":nobody"

export const TombstoneRow = z.object({
  /** The id of the session that was deleted. */
  id: z.string(),
  owner: z.optional(z.string()),
  deletedAt: z.number(),
  treeId: z.string(),
  /** Where children move up to that were not there, or not reached, when it was marked. Absent: nothing started it. */
  parentId: z.optional(z.string()),
  /** Branches of which it, or an operation of it, needed more than anybody else may. */
  bases: z.optional(z.array(z.number())),
  /** What it wrote is taken from others as well, which share it. */
  erase: z.optional(z.boolean()),
  /** Up to where the first branch that others share has been erased. */
  erased: z.optional(z.number()),
  /** Since when something is left to do. Absent: nothing is. */
  leftSince: z.optional(z.number()),
})
export type TombstoneRow = z.output<typeof TombstoneRow>

export const TombstoneTable = table("tombstone", {
  row: TombstoneRow,
  key: [text("id")],
  indexes: { byLeft: index(int("leftSince")) },
})
