/**
 * Sentences about what is stored and ought to be otherwise, and what is needed to find it out.
 */
import { isDeepStrictEqual } from "node:util"

export const show = (value: unknown) => JSON.stringify(value)

/** A problem, unless what is stored is what was worked out. */
export const differs = (of: string, stored: unknown, expected: unknown): ReadonlyArray<string> =>
  isDeepStrictEqual(stored, expected) ? [] : [`${of} is ${show(stored)}, but ought to be ${show(expected)}`]

/** Rows by what `keyOf` says of them, in their order. */
export const grouped = <A, K>(rows: ReadonlyArray<A>, keyOf: (row: A) => K): ReadonlyMap<K, ReadonlyArray<A>> => {
  const groups = new Map<K, Array<A>>()
  for (const row of rows) {
    const key = keyOf(row)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  return groups
}
