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
  isId(value) ? Effect.succeed(value) : Effect.fail(unfitId(field, value))

/** What is said of a value that cannot be an id. */
export const unfitId = (field: string, value: unknown): InvalidInput =>
  new InvalidInput({ field, value, problem: "must be 1 to 128 characters of A–Z, a–z, 0–9, _ and -" })

/** Where new ids come from. Replace it to make tests repeatable, or to mint ids of your own. */
export class Ids extends Context.Reference<{ readonly mint: (prefix: string) => Effect.Effect<string> }>(
  "@skein/core/Ids",
  {
    defaultValue: () => {
      const uuid = uuids()
      return { mint: (prefix) => Effect.sync(() => prefix + uuid()) }
    },
  },
) {}

/**
 * Version 4 UUIDs (RFC 9562: 122 random bits) as hexadecimal digits without dashes.
 *
 * They are made 64 at a time: asking the system for random bytes, and writing them as digits, costs little more for many
 * than for one.
 */
const uuids = (): (() => string) => {
  const bytes = new Uint8Array(64 * 16)
  let digits = ""
  let used = 0
  return () => {
    if (used === digits.length) {
      crypto.getRandomValues(bytes)
      for (let at = 0; at < bytes.length; at += 16) {
        bytes[at + 6] = (bytes[at + 6]! & 0x0f) | 0x40
        bytes[at + 8] = (bytes[at + 8]! & 0x3f) | 0x80
      }
      digits = bytesToHex(bytes)
      used = 0
    }
    return digits.slice(used, (used += 32))
  }
}
