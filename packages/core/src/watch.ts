/**
 * Watching: what a read answers, now and whenever it has changed.
 *
 * Guarantee: the first value comes at once. Each value is what one read saw, and whatever was committed before it is
 * pulled is in it, or in a later one. A value that says the same as the one before is left out; parts that say the same
 * are the same objects. At most thirty values come in a second, however many commits there are, and who pulls slowly gets
 * fewer, never older ones. It ends when the store is closed.
 *
 * Not promised: a value for each commit. While somebody watches a store that other processes may use, a timer looks for
 * their commits, and the process goes on.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ChangedRow } from "./storage/changes.ts"
import type { Storage } from "./storage/storage.ts"
import { sharing } from "./value.ts"

/** The shortest time between two values, in milliseconds: at most thirty of them are in a second. */
export const watchInterval = 34

export interface Watched<A, E> {
  /** Reads it. The value before is given so that what has not changed need not be read again. */
  readonly look: (before: A | undefined) => Effect.Effect<A, E>
  /** Whether the value may depend on this row. */
  readonly concerns: (row: ChangedRow) => boolean
  /** Runs until nobody watches any more, and calls `tell` when something else has changed on which the value depends. */
  readonly listen?: (tell: () => void) => Effect.Effect<void, never, Scope.Scope>
}

export const watch = <A, E>(
  storage: Storage["Service"],
  { concerns, listen = () => Effect.void, look }: Watched<A, E>,
): Stream.Stream<A, E> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const news = Latch.makeUnsafe(true)
      const tell = () => void news.openUnsafe()
      let hasEnded = false
      const listenToChanges = Stream.runForEach(storage.changes, (change) =>
        Effect.sync(() => {
          if (change._tag === "Changed" || change.rows.some(concerns)) tell()
        }),
      )
      const end = Effect.sync(() => {
        hasEnded = true
        tell()
      })
      // Begun before the first look, so that nothing falls between.
      yield* Effect.forkScoped(Effect.ensuring(listenToChanges, end), { startImmediately: true })
      yield* listen(tell)

      let before: A | undefined
      let next = 0
      const pull = Effect.gen(function* () {
        for (;;) {
          yield* news.await
          const early = next - (yield* Clock.currentTimeMillis)
          // Not longer, for the clock may have been put back.
          if (early > 0 && !hasEnded) yield* Effect.sleep(Math.min(early, watchInterval))
          if (hasEnded && before !== undefined) return yield* Cause.done()
          news.closeUnsafe()
          const looked = yield* Effect.result(look(before))
          if (looked._tag === "Failure") {
            // A later look than the close is no failure; a first one is.
            const hasClosed = before !== undefined && !(yield* storage.isOpen)
            return yield* hasClosed ? Cause.done() : Effect.fail(looked.failure)
          }
          next = (yield* Clock.currentTimeMillis) + watchInterval
          const value = sharing(before, looked.success)
          if (value === before) continue
          before = value
          return [value] as const
        }
      })
      return Stream.fromPull(Effect.succeed(pull))
    }),
  )
