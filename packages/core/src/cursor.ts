/**
 * Cursors: where a page of a list ended, as text that goes out to callers and comes back.
 *
 * Guarantee: a cursor is a place in the order, not a count, so that what is added or removed elsewhere shifts nothing.
 * It is bound to what was asked: with another filter, or for another list, it is refused.
 *
 * Not promised: its form. It is made of characters that need no escape in a URL.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { canonical } from "./value.ts"

/** The cursor is damaged, or was given out for another list or another filter. Begin again without it. */
export class InvalidCursor extends Data.TaggedError("InvalidCursor")<{
  readonly cursor: string
  readonly problem: string
}> {
  override get message() {
    return `the cursor ${this.problem}: begin again without it`
  }
}

/** A place in an order by time, newest first, then by id. */
export interface Place {
  readonly at: number
  readonly id: string
}

const form = /^([0-9a-z]{1,14})\.(-?\d{1,16})\.([A-Za-z0-9_-]{0,128})$/

/** What a cursor is bound to: the list it belongs to, and what was asked of it. */
export const bindingOf = (asked: unknown): string => hash(canonical(asked))

/**
 * A text in 64 bits, by two FNV-1a hashes. Enough to notice a mistake, and nothing is protected by it: whoever makes up
 * a cursor sees no session that the filter does not give anyway.
 */
const hash = (text: string): string => {
  let one = 0x811c9dc5
  let other = 0x01000193
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    one = Math.imul(one ^ unit, 0x01000193)
    other = Math.imul(other ^ (unit + i), 0x85ebca6b)
  }
  return (one >>> 0).toString(36) + (other >>> 0).toString(36)
}

export const cursorAt = (binding: string, { at, id }: Place): string => `${binding}.${at}.${id}`

/** The place that a cursor names. `undefined` stays `undefined`: the beginning. */
export const placeOf = (
  binding: () => string,
  cursor: string | undefined,
): Effect.Effect<Place | undefined, InvalidCursor> => {
  if (cursor === undefined) return Effect.undefined
  const refuse = (problem: string) => Effect.fail(new InvalidCursor({ cursor, problem }))
  const [, bound, at, id] = form.exec(cursor) ?? []
  if (bound === undefined || id === undefined || !Number.isSafeInteger(Number(at))) return refuse("is damaged")
  if (bound !== binding()) return refuse("belongs to another list or another filter")
  return Effect.succeed({ at: Number(at), id })
}
