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
