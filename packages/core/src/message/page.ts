/**
 * Pages of a path: which part of it is asked for, and the cursors that say where a page began and ended.
 *
 * A cursor names session, place and ordinal. It may be given wherever a message id may: no id holds a dot.
 */
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { InvalidCursor } from "../cursor.ts"
import { isId } from "../id.ts"
import type { InvalidInput } from "../storage/error.ts"
import { isUnreadable } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import type { EntryRow } from "./model.ts"
import type { Anchor, WindowOf } from "./program.ts"

const limitTo500 = (preset: number) => z._default(z.number().check(z.int(), z.minimum(1), z.maximum(500)), preset)

export const PageQuery = z
  .strictObject({
    before: z.optional(z.string()),
    after: z.optional(z.string()),
    around: z.optional(z.string()),
    limit: limitTo500(80),
  })
  .check(
    z.refine(
      ({ after, around, before }) => [after, around, before].filter((one) => one !== undefined).length <= 1,
      "takes one of before, after and around",
    ),
  )
export type PageQuery = z.output<typeof PageQuery>

export const PathOptions = z.strictObject({ limit: limitTo500(80) })
export const PromptsQuery = z.strictObject({ before: z.optional(z.string()), limit: limitTo500(50) })

/** The ordinals that a query wants, given its anchor's and all that are shown. */
export const windowOf =
  ({ after, before, limit }: PageQuery): WindowOf =>
  (anchor, { from: first, to: last }) => {
    if (anchor === undefined) return { from: Math.max(first, last - limit + 1), to: last }
    if (before !== undefined) return { from: Math.max(first, anchor - limit), to: anchor - 1 }
    const from = Math.max(first, after === undefined ? anchor - Math.floor(limit / 2) : anchor + 1)
    return { from, to: Math.min(last, from + limit - 1) }
  }

/** The first `limit` ordinals behind an anchor, or from the beginning. */
export const windowFrom =
  (limit: number): WindowOf =>
  (anchor, { from: first, to: last }) => {
    const from = Math.max(first, (anchor ?? 0) + 1)
    return { from, to: Math.min(last, from + limit - 1) }
  }

export const cursorOf = (sessionId: string, row: EntryRow | Unreadable, shown: number): string => {
  const [branch, pos] = isUnreadable(row) ? [row.key[1], row.key[2]] : [row.branch, row.pos]
  return `p.${branch}.${pos}.${shown}.${sessionId}`
}

/** Where a page begins, unless it begins with the first message. */
export const cursorBefore = (
  sessionId: string,
  page: { readonly first: number; readonly from: number; readonly rows: ReadonlyArray<EntryRow | Unreadable> },
) => {
  const { first, from, rows } = page
  return from > first && rows[0] !== undefined ? { before: cursorOf(sessionId, rows[0], from) } : {}
}

/** Reads what a page is asked for before, after or around. */
export const toAnchor = (sessionId: string, given: string): Effect.Effect<Anchor, InvalidCursor | InvalidInput> => {
  if (isId(given)) return Effect.succeed({ _tag: "Message", id: given })
  const [, branch, pos, shown, of] = /^p\.(\d{1,15})\.(\d{1,15})\.(\d{1,15})\.([\w-]+)$/.exec(given) ?? []
  if (of === undefined)
    return Effect.fail(new InvalidCursor({ cursor: given, problem: "is neither a message id nor a cursor" }))
  if (of !== sessionId) return Effect.fail(new InvalidCursor({ cursor: given, problem: "belongs to another session" }))
  const ref = { branch: Number(branch), pos: Number(pos) }
  return Effect.succeed({ _tag: "Place", ref, shown: Number(shown), cursor: given })
}
