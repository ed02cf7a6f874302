/**
 * The bounds of a range as SQL.
 *
 * Ranges that differ in values alone have one *form*, a small number, and are served by one compiled statement. The form
 * counts the leading parts in which both bounds agree: these are compared for equality, which is what lets an index go
 * straight to the rows; what is left of a bound becomes one comparison, of a row value where it has several parts.
 */
import type { Bound, KeyPart } from "@skein/core/storage"

export interface Bounds {
  readonly lower: Bound | undefined
  readonly upper: Bound | undefined
}

/** Nothing begins with the empty key and is yet beyond it. */
export const isEmpty = ({ lower, upper }: Bounds): boolean => excludesAll(lower) || excludesAll(upper)

const excludesAll = (bound: Bound | undefined) => bound !== undefined && bound.key.length === 0 && !bound.inclusive

/** Lengths of keys and orders take four bits. */
export type BoundsForm = number

export const formOf = (bounds: Bounds): BoundsForm => makeForm(bounds, equalParts(bounds))

/**
 * The form of a range that is asked for together with others: its last part stays an interval, even where that holds one
 * value, so that runs of one entry are read by the same statement as longer ones.
 */
export const formAmongOthers = (bounds: Bounds): BoundsForm => {
  const longest = Math.max(lengthOf(bounds.lower), lengthOf(bounds.upper))
  return makeForm(bounds, Math.max(0, Math.min(equalParts(bounds), longest - 1)))
}

const makeForm = ({ lower, upper }: Bounds, equal: number): BoundsForm => {
  const open = (lower?.inclusive === false ? 1 : 0) | (upper?.inclusive === false ? 2 : 0)
  return equal | (lengthOf(lower) << 4) | (lengthOf(upper) << 8) | (open << 12)
}

const lengthOf = (bound: Bound | undefined) => (bound === undefined ? 0 : bound.key.length)

/** How many forms there are: a caller that tells more ranges apart counts on from here. */
export const formLimit: BoundsForm = 1 << 14

/** How many leading parts every row of the range shares with both bounds. */
export const sharedParts = (form: BoundsForm): number => form & 15

const equalParts = ({ lower, upper }: Bounds): number => {
  if (lower === undefined || upper === undefined) return 0
  // The last part of an exclusive bound is not itself in the range.
  const length = Math.min(
    lower.inclusive ? lower.key.length : lower.key.length - 1,
    upper.inclusive ? upper.key.length : upper.key.length - 1,
  )
  let equal = 0
  while (equal < length && lower.key[equal] === upper.key[equal]) equal++
  return equal
}

/** The conditions of a form, given its columns and one place for each of `boundValues`. */
export const conditions = (
  form: BoundsForm,
  column: (at: number) => string,
  place: (value: number) => string,
): ReadonlyArray<string> => {
  const equal = sharedParts(form)
  const lowerLength = (form >> 4) & 15
  const upperLength = (form >> 8) & 15
  const found: Array<string> = []
  for (let i = 0; i < equal; i++) found.push(`${column(i)} = ${place(i)}`)
  const compare = (operator: string, length: number, firstValue: number) => {
    const count = length - equal
    if (count <= 0) return
    const columns = Array.from({ length: count }, (_, i) => column(equal + i))
    const places = Array.from({ length: count }, (_, i) => place(firstValue + i))
    found.push(
      count === 1
        ? `${columns[0]} ${operator} ${places[0]}`
        : `(${columns.join(", ")}) ${operator} (${places.join(", ")})`,
    )
  }
  compare(form & (1 << 12) ? ">" : ">=", lowerLength, equal)
  compare(form & (2 << 12) ? "<" : "<=", upperLength, lowerLength)
  return found
}

/** The values of a range, in the order of its form's places. */
export const boundValues = ({ lower, upper }: Bounds, form: BoundsForm): Array<KeyPart> => {
  const values: Array<KeyPart> = lower === undefined ? [] : [...lower.key]
  if (upper !== undefined) for (let i = sharedParts(form); i < upper.key.length; i++) values.push(upper.key[i]!)
  return values
}
