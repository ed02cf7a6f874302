/**
 * Time in laws.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** Runs an effect while the clock shows `time`, in milliseconds since 1970. Waits stay real. */
export const atTime =
  (time: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Effect.service(Clock.Clock), (real) =>
      Effect.provideService(effect, Clock.Clock, {
        currentTimeMillisUnsafe: () => time,
        currentTimeMillis: Effect.succeed(time),
        currentTimeNanosUnsafe: () => BigInt(time) * 1_000_000n,
        currentTimeNanos: Effect.succeed(BigInt(time) * 1_000_000n),
        monotonicTimeNanosUnsafe: () => real.monotonicTimeNanosUnsafe(),
        monotonicTimeNanos: real.monotonicTimeNanos,
        sleep: (duration) => real.sleep(duration),
      }),
    )
