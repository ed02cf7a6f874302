/**
 * Waiting for a store that another writer holds.
 *
 * Guarantee: no wait blocks the thread, waits are jittered so that writers do not march in step, and all of them
 * together stay within a budget.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** How long a call may wait for other writers before it fails with `Busy`, in milliseconds. */
export const defaultBusyBudget = 5_000

/** The next wait, in milliseconds: 1 to 8 at first, growing to 50. */
export const backoff = (attempt: number): Effect.Effect<number> =>
  Effect.map(Random.next, (random) => 1 + random * (Math.min(50, 8 * 1.5 ** attempt) - 1))

/** Runs `attempt` again while it fails with what `isBusy` says, until the budget is spent. */
export const retryWhileBusy = <A, E, R>(
  attempt: Effect.Effect<A, E, R>,
  isBusy: (error: E) => boolean,
  budget: number,
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const deadline = (yield* Clock.currentTimeMillis) + budget
    for (let n = 0; ; n++) {
      const exit = yield* Effect.exit(attempt)
      const failure = exit._tag === "Failure" ? exit.cause.reasons.find((reason) => reason._tag === "Fail") : undefined
      const now = yield* Clock.currentTimeMillis
      if (failure === undefined || !isBusy(failure.error) || now >= deadline) return yield* exit
      yield* Effect.sleep(Math.min(yield* backoff(n), deadline - now))
    }
  })
