/**
 * Sweeping: what time makes superfluous, taken away in small steps.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { cleanBlobs } from "../attachment/clean.ts"
import { asked } from "../host.ts"
import type { FileHistory } from "../rewind/file-history.ts"
import type { SkeinSettings } from "../settings.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import type { Storage } from "../storage/storage.ts"
import { expireItems, expireReceipts, findExpired } from "./program.ts"
import type { ExpiredPlace } from "./program.ts"

/** What a sweep has taken away. */
export interface Swept {
  /** Items of queues whose time was over. */
  readonly items: number
  /** Receipts of operations that were done 30 days ago. */
  readonly receipts: number
  /** Turns whose file changes can no longer be taken back: those older than a week. */
  readonly fileTurns: number
  /** Blobs that nothing uses any more, and their bytes. */
  readonly blobs: number
  readonly bytes: number
}

/** How long file changes can be taken back, in milliseconds: 7 days. And how many turns are forgotten at a time. */
export const fileChangesKept = 7 * 24 * 60 * 60 * 1_000
const fileBatch = 250

export const makeSweep = (
  storage: Storage["Service"],
  settings: SkeinSettings,
): Effect.Effect<Swept, InvalidInput | StorageError> => {
  const items = Effect.gen(function* () {
    let expired = 0
    let next: ExpiredPlace | undefined
    do {
      const now = yield* Clock.currentTimeMillis
      const page = yield* storage.read(findExpired(next, now))
      for (const id of page.sessions) expired += yield* storage.transact(expireItems(settings, id, now))
      next = page.next
    } while (next !== undefined)
    return expired
  })

  const receipts = Effect.gen(function* () {
    let forgotten = 0
    for (;;) {
      const { count, isAll } = yield* storage.transact(expireReceipts(yield* Clock.currentTimeMillis))
      forgotten += count
      if (isAll) return forgotten
    }
  })

  return Effect.gen(function* () {
    const swept: Swept = {
      items: yield* items,
      receipts: yield* receipts,
      ...(yield* cleanBlobs(storage)),
      fileTurns: settings.fileHistory === undefined ? 0 : yield* pruneFiles(settings.fileHistory),
    }
    return swept
  })
}

/** Forgets old changes of files. A host that cannot do so now is asked again the next time. */
const pruneFiles = Effect.fnUntraced(function* (fileHistory: FileHistory) {
  const before = (yield* Clock.currentTimeMillis) - fileChangesKept
  let forgotten = 0
  for (;;) {
    const pruned = yield* Effect.option(asked(() => fileHistory.prune(before, fileBatch)))
    const count = pruned._tag === "Some" ? pruned.value : 0
    forgotten += count
    if (count < fileBatch) return forgotten
  }
})
