/**
 * Bounds as key ranges.
 *
 * Parts are numbers or strings, both of which sort before any array. So a key followed by an empty array comes after every
 * key that begins with it, and before all others.
 */
import type { Bound, Key } from "@skein/core/storage"

/** The platform's key ranges and its comparison of keys. */
export interface KeyRanges {
  readonly factory: IDBFactory
  readonly keyRange: typeof IDBKeyRange
}

const all = (key: Key): IDBValidKey => [...key]
const beyond = (key: Key): IDBValidKey => [...key, []]

/** The range between two bounds: `undefined` when it is everything, `"nothing"` when the bounds leave no room. */
export const rangeBetween = (
  { factory, keyRange }: KeyRanges,
  lower: Bound | undefined,
  upper: Bound | undefined,
): IDBKeyRange | "nothing" | undefined => {
  const low = lower && (lower.inclusive ? all(lower.key) : beyond(lower.key))
  const high = upper && (upper.inclusive ? beyond(upper.key) : all(upper.key))
  const excludesHigh = upper !== undefined && !upper.inclusive
  if (low === undefined) return high === undefined ? undefined : keyRange.upperBound(high, excludesHigh)
  if (high === undefined) return keyRange.lowerBound(low)
  // The platform throws for such a range. It is a fair question with an empty answer.
  const order = factory.cmp(low, high)
  if (order > 0 || (order === 0 && excludesHigh)) return "nothing"
  return keyRange.bound(low, high, false, excludesHigh)
}
