/**
 * Well-formed text: what may leave for a model.
 *
 * A string that was cut inside a UTF-16 pair cannot be sent as UTF-8, and one such string makes a provider refuse the
 * whole conversation, on every later turn. What is stored stays exact; what is replayed goes through here.
 *
 * Guarantee: in the answer every string, keys included, is well-formed UTF-16. A value that already was is the answer
 * itself, not a copy. No key is lost: two keys that become equal are told apart by further U+FFFD.
 */
import type { Json, JsonObject } from "../storage/json.ts"

const replacement = "\uFFFD"

// With the `u` flag a surrogate that has its other half is no surrogate but part of a character.
const loneSurrogate = /\p{Surrogate}/u
const loneSurrogates = /\p{Surrogate}/gu

/** The text with U+FFFD in the place of each lone surrogate. */
export const wellFormedText = (text: string): string =>
  loneSurrogate.test(text) ? text.replace(loneSurrogates, replacement) : text

/** The value with well-formed text only. */
export const wellFormed = (value: Json): Json => {
  if (typeof value === "string") return wellFormedText(value)
  if (typeof value !== "object" || value === null) return value
  return isArray(value) ? wellFormedArray(value) : wellFormedObject(value)
}

const isArray = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)

const wellFormedArray = (array: ReadonlyArray<Json>): Json => {
  const items = array.map(wellFormed)
  return items.every((item, i) => item === array[i]) ? array : items
}

const wellFormedObject = (object: JsonObject): Json => {
  let same = true
  const taken = new Set<string>()
  const entries = Object.entries(object).map(([key, value]): [string, Json] => {
    let name = wellFormedText(key)
    while (name !== key && (taken.has(name) || Object.hasOwn(object, name))) name += replacement
    taken.add(name)
    const item = wellFormed(value)
    same &&= name === key && item === value
    return [name, item]
  })
  // Built from entries, so that a key named __proto__ stays a key.
  return same ? object : Object.fromEntries(entries)
}
