/**
 * The journal of head moves: undo, redo, "what I had on Tuesday".
 */
import * as z from "zod/mini"
import { EntryRef } from "../message/model.ts"
import { int, table, text } from "../storage/table.ts"

/** How many moves of a session are kept. */
export const keptMoves = 1_000

export const MoveReason = z.enum(["checkout", "edit", "retry", "rewind", "undo", "redo", "delete-branch", "import"])
export type MoveReason = z.output<typeof MoveReason>

export const HeadMoveRow = z.object({
  sessionId: z.string(),
  n: z.number(),
  from: EntryRef,
  to: EntryRef,
  reason: MoveReason,
  at: z.number(),
  author: z.optional(z.string()),
  /** The move that this one takes back, or makes again. */
  of: z.optional(z.number()),
  /** What undo and redo would have acted on before this move: where they go on after it is taken back. */
  undoBefore: z.optional(z.number()),
  redoBefore: z.optional(z.number()),
})
export type HeadMoveRow = z.output<typeof HeadMoveRow>

export const HeadMoveTable = table("head_move", {
  row: HeadMoveRow,
  key: [text("sessionId"), int("n")],
  ownedBy: "session",
})
