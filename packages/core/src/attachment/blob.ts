/**
 * Blobs as values: their names, and JSON as bytes.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, concatBytes } from "@noble/hashes/utils.js"

/** The name of a blob by the hash of its bytes. */
export const hashName = (hash: Uint8Array): string => `sha256-${bytesToHex(hash)}`

export const isHashName = (value: unknown): value is string =>
  typeof value === "string" && /^sha256-[0-9a-f]{64}$/.test(value)

/** Names a blob by its bytes. */
export const nameOf = (bytes: Uint8Array): string => hashName(sha256(bytes))

/** JSON as bytes. Half a surrogate pair is escaped in it, so that nothing is lost. */
export const jsonBytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))

/** JSON from its bytes. Throws where they are something else. */
export const fromJsonBytes = (chunks: ReadonlyArray<Uint8Array>): unknown => {
  // A character may lie across two chunks.
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(concatBytes(...chunks)))
}

/**
 * The JSON of a value as bytes, where there are more than `limit`; `undefined` where it is smaller. Almost all values are
 * far smaller, which is seen without making their text.
 */
export const bytesOver = (value: unknown, limit: number): Uint8Array | undefined => {
  if (room(value, limit) >= 0) return undefined
  const text = JSON.stringify(value)
  // No UTF-16 unit needs more than three bytes.
  if (text.length * 3 <= limit) return undefined
  const bytes = new TextEncoder().encode(text)
  return bytes.length > limit ? bytes : undefined
}

/** What is left of `limit` bytes when a value is written that needs as many as a value of its kind may; below 0: too few. */
const room = (value: unknown, limit: number): number => {
  if (limit < 0) return limit
  // An escaped unit is six characters, a number at most 25.
  if (typeof value === "string") return limit - 6 * value.length - 3
  if (typeof value !== "object" || value === null) return limit - 26
  let left = limit - 3
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && left >= 0; i++) left = room(value[i], left)
    return left
  }
  const object = value as Readonly<Record<string, unknown>>
  for (const name in object) {
    left = room(object[name], left - 6 * name.length - 4)
    if (left < 0) return left
  }
  return left
}
