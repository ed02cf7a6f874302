/**
 * One law on one fresh store.
 *
 * Guarantee: a trial ends, whatever the adapter does; one that waits for ever fails when its time is over. A failure
 * names the seed that repeats it.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { makeStore, obstacle } from "./harness.ts"
import type { Harness, Place, Settings } from "./harness.ts"
import { NotApplicable } from "./law.ts"
import type { Law } from "./law.ts"

/** How one law ended. */
export type Result = {
  readonly law: string
  readonly milliseconds: number
} & (
  | { readonly status: "passed" }
  | { readonly status: "failed"; readonly error: Error }
  | { readonly status: "not applicable"; readonly reason: string }
)

/** A law does not hold. */
export class BrokenLaw extends Error {
  override readonly name = "BrokenLaw"
  constructor(law: string, seed: number, cause: unknown) {
    super(`${law}\n${cause instanceof Error ? cause.message : String(cause)}\n(seed ${seed})`, { cause })
  }
}

/** Milliseconds that a law may take: those that are slow take their time. */
export const limitOf = ({ slow }: Law, { limit }: Pick<Settings, "limit">): number => (slow ? 3 * limit : limit)

export const tryLaw = <P extends Place>(law: Law, harness: Harness<P>, settings: Settings): Effect.Effect<Result> =>
  Effect.gen(function* () {
    const reason = obstacle(law, harness)
    if (reason !== undefined) return { law: law.name, milliseconds: 0, status: "not applicable", reason }
    const started = yield* Clock.currentTimeMillis
    // Detached, for a commit that is never answered cannot be interrupted either.
    const running = yield* Effect.forkDetach(
      Effect.scoped(Effect.flatMap(makeStore(harness, settings, law.needs), law.run)),
    )
    const limit = limitOf(law, settings)
    const exit = yield* Effect.timeoutOrElse(Fiber.await(running), {
      duration: limit,
      orElse: () => Effect.exit(Effect.fail(new Error(`it did not end within ${limit} ms`))),
    })
    const milliseconds = (yield* Clock.currentTimeMillis) - started
    if (exit._tag === "Success") return { law: law.name, milliseconds, status: "passed" }
    const failure = Cause.squash(exit.cause)
    if (failure instanceof NotApplicable) {
      return { law: law.name, milliseconds, status: "not applicable", reason: `not applicable: ${failure.reason}` }
    }
    const error = new BrokenLaw(law.name, settings.seed, failure)
    return { law: law.name, milliseconds, status: "failed", error }
  })
