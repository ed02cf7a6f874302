/**
 * Looking after a store again and again: one at a time, however many processes would.
 *
 * Guarantee: whoever is at it holds the store by a lease, as the owner of a turn does, that outlasts the wait for the next
 * round. The others look again after each wait, and take over when the holder is gone or has been silent for the lease.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import { StorageError } from "../storage/error.ts"
import type { InvalidInput } from "../storage/error.ts"
import type { Storage } from "../storage/storage.ts"
import type { Holder } from "../operation/model.ts"
import type { Instance } from "../turn/instance.ts"
import { keep, letGo } from "./program.ts"

interface Makers {
  readonly storage: Storage["Service"]
  readonly instance: Instance["Service"]
}

export const makeKeeping =
  ({ instance, storage }: Makers, round: Effect.Effect<unknown, InvalidInput | StorageError>) =>
  (every: number, signal: AbortSignal | undefined): Effect.Effect<void, InvalidInput | StorageError> => {
    const { host, owner } = instance
    const lease = Math.max(instance.lease, 2 * every)
    const holder = Effect.map(Clock.currentTimeMillis, (now): Holder => ({
      owner,
      host,
      beat: 0,
      lease,
      until: now + lease,
    }))
    const relaxed = { durability: "relaxed" } as const

    /** Whether this instance has the store, or takes it now. */
    const take = Effect.gen(function* () {
      const { before, isKept } = yield* storage.transact(keep(yield* holder, undefined), relaxed)
      if (isKept || before === undefined) return isKept
      if (!(yield* instance.judge(":maintenance", before)).isOver) return false
      return (yield* storage.transact(keep(yield* holder, before), relaxed)).isKept
    })
    const renewing = take.pipe(Effect.ignore, Effect.delay(lease / 3), Effect.forever)

    /** What fails now is done in the next round, unless the store is closed. */
    const once = Effect.gen(function* () {
      yield* instance.live
      if (yield* take) yield* Effect.raceFirst(round, renewing)
    }).pipe(
      Effect.as(true),
      Effect.catch((error) => Effect.succeed(!(error instanceof StorageError && error.reason._tag === "Closed"))),
    )

    return Effect.scoped(
      Effect.gen(function* () {
        const ended = Latch.makeUnsafe(false)
        const end = () => void ended.openUnsafe()
        if (signal !== undefined) {
          yield* Effect.acquireRelease(
            Effect.sync(() => signal.addEventListener("abort", end)),
            () => Effect.sync(() => signal.removeEventListener("abort", end)),
          )
        }
        yield* Effect.addFinalizer(() => Effect.ignore(storage.transact(letGo(owner), relaxed)))
        while (signal?.aborted !== true && (yield* once)) {
          yield* Effect.timeoutOption(ended.await, every)
        }
      }),
    )
  }
