/**
 * What a host answers that was asked through something it has given.
 */
import * as Effect from "effect/Effect"

/** An effect or a promise, as the host likes. */
export type Answer<A> = Effect.Effect<A, unknown> | PromiseLike<A>

/** What a host answers, as an effect. One that throws fails. */
export const asked = <A>(question: () => Answer<A>): Effect.Effect<A, unknown> =>
  Effect.suspend(() => {
    const answer = question()
    return Effect.isEffect(answer) ? answer : Effect.tryPromise({ try: () => answer, catch: (cause) => cause })
  }).pipe(Effect.catchDefect(Effect.fail))

export const problemOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
