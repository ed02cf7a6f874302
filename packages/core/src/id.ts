/**
 * Identifiers: what callers may give, and what is minted for them.
 *
 * Guarantee: every id is 1 to 128 of `A–Z a–z 0–9 _ -`, case-sensitive, on every adapter. Nothing in skein sorts or
 * compares ids, so that it does not matter whose clock or which machine made them.
 */
import { bytesToHex } from "@noble/hashes/utils.js"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { InvalidInput } from "./storage/error.ts"

const form = /^[A-Za-z0-9_-]{1,128}$/

export const isId = (value: unknown): value is string => typeof value === "string" && form.test(value)

/** Refuses what cannot be an id: SES-02. */
export const checkId = (field: string, value: unknown): Effect.Effect<string, InvalidInput> =>
  isId(value)
    ? Effect.succeed(value)
    : Effect.fail(new InvalidInput({ field, value, problem: "must be 1 to 128 characters of A–Z, a–z, 0–9, _ and -" }))

/** Where new ids come from. Replace it to make tests repeatable, or to mint ids of your own. */
export class Ids extends Context.Reference<{ readonly mint: (prefix: string) => Effect.Effect<string> }>(
  "@skein/core/Ids",
  {
    defaultValue: () => {
      const random = randomBytes()
      return { mint: (prefix) => Effect.sync(() => prefix + uuid(random())) }
    },
  },
) {}

/** Gives 16 random bytes at a time, to be used at once. Asking the system costs the same for many as for a few. */
const randomBytes = (): (() => Uint8Array) => {
  const pool = new Uint8Array(16 * 64)
  let used = pool.length
  return () => {
    if (used === pool.length) {
      crypto.getRandomValues(pool)
      used = 0
    }
    return pool.subarray(used, (used += 16))
  }
}

/** 122 random bits as the hexadecimal digits of a version 4 UUID (RFC 9562), without dashes. */
const uuid = (bytes: Uint8Array): string => {
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytesToHex(bytes)
}
