/**
 * JSON values: compared, told apart by a digest, and copied.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"

/**
 * One text for a JSON value: the same for equal values, whatever the order of the keys in their objects, and another one
 * for others. A property that is `undefined` counts as absent.
 */
export const canonical = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const fields = value as Readonly<Record<string, unknown>>
  const given = Object.keys(fields).filter((name) => fields[name] !== undefined)
  return `{${given
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${canonical(fields[name])}`)
    .join()}}`
}

/** The value in 128 bits, as hexadecimal digits: what is kept to tell whether another value is the same. */
export const digest = (value: unknown): string =>
  bytesToHex(sha256(new TextEncoder().encode(canonical(value)))).slice(0, 32)

type Copy<T> = T extends object ? { [Name in keyof T]: Exclude<T[Name], undefined> } : T

/** A copy that shares nothing with the value, and has no property that is `undefined`. */
export const copyOf = <T>(json: T): Copy<T> => JSON.parse(JSON.stringify(json)) as Copy<T>

/**
 * `next`, made of parts of `before` wherever they say the same; `before` itself where all of it does. What stands in a
 * list with an id is found by it, wherever it has moved. Both are JSON, but for properties that are `undefined`.
 */
export const sharing = <A>(before: unknown, next: A): A => {
  if (typeof before !== "object" || typeof next !== "object" || before === null || next === null) return next
  if (before === next || Array.isArray(before) !== Array.isArray(next)) return next
  const shared = Array.isArray(next)
    ? sharingItems(before as ReadonlyArray<unknown>, next)
    : Object.fromEntries(Object.entries(next).map(([name, value]) => [name, sharing(own(before, name), value)]))
  if (hasSameParts(before, shared)) return before as A
  return hasSameParts(next, shared) ? next : (shared as A)
}

const hasSameParts = (one: object, other: object): boolean => {
  const names = Object.keys(other)
  const isSame = (name: string) => Object.hasOwn(one, name) && own(one, name) === own(other, name)
  return names.length === Object.keys(one).length && names.every(isSame)
}

const sharingItems = (before: ReadonlyArray<unknown>, next: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const known = new Map(before.map((item) => [idOf(item), item]))
  return next.map((item, i) => {
    const id = idOf(item)
    return sharing(id === undefined ? before[i] : known.get(id), item)
  })
}

const idOf = (item: unknown): unknown => (typeof item === "object" && item !== null ? own(item, "id") : undefined)

const own = (of: object, name: string): unknown => (Object.hasOwn(of, name) ? Reflect.get(of, name) : undefined)
