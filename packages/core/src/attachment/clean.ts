/**
 * Cleaning up: frees the blobs that nothing has used for an hour. `maintenance.run` calls it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import type { Storage } from "../storage/storage.ts"
import { freeBlobs } from "./program.ts"

/** What a clean-up freed. */
export interface Cleaned {
  readonly blobs: number
  readonly bytes: number
}

/** Frees what is due, in steps. */
export const cleanBlobs = (storage: Storage["Service"]): Effect.Effect<Cleaned, InvalidInput | StorageError> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    let cleaned: Cleaned = { blobs: 0, bytes: 0 }
    for (;;) {
      // A step that a power cut takes back is taken again.
      const { blobs, bytes, isDone } = yield* storage.transact(freeBlobs(now), { durability: "relaxed" })
      cleaned = { blobs: cleaned.blobs + blobs, bytes: cleaned.bytes + bytes }
      if (isDone) return cleaned
    }
  })
