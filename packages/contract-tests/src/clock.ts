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
        ...showing(time, real),
        monotonicTimeNanosUnsafe: () => real.monotonicTimeNanosUnsafe(),
        monotonicTimeNanos: real.monotonicTimeNanos,
      }),
    )

/** As `atTime`, on a machine that has run since 1970: the clock that never jumps shows the same. */
export const atSteadyTime =
  (time: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Effect.service(Clock.Clock), (real) =>
      Effect.provideService(effect, Clock.Clock, showing(time, real)),
    )

const showing = (time: number, real: Clock.Clock): Clock.Clock => {
  const nanos = BigInt(time) * 1_000_000n
  return {
    currentTimeMillisUnsafe: () => time,
    currentTimeMillis: Effect.succeed(time),
    currentTimeNanosUnsafe: () => nanos,
    currentTimeNanos: Effect.succeed(nanos),
    monotonicTimeNanosUnsafe: () => nanos,
    monotonicTimeNanos: Effect.succeed(nanos),
    sleep: (duration) => real.sleep(duration),
  }
}
