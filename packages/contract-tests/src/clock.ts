/**
 * Time in laws.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { changed } from "./engine.ts"
import type { Openable } from "./engine.ts"

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

const showing = (time: number, real: Clock.Clock): Clock.Clock =>
  clockOf(
    () => time,
    () => time,
    (duration) => real.sleep(duration),
  )

/** A clock by what it shows, in milliseconds. */
const clockOf = (wall: () => number, steady: () => number, sleep: Clock.Clock["sleep"]): Clock.Clock => ({
  currentTimeMillisUnsafe: wall,
  currentTimeMillis: Effect.sync(wall),
  currentTimeNanosUnsafe: () => nanosOf(wall()),
  currentTimeNanos: Effect.sync(() => nanosOf(wall())),
  monotonicTimeNanosUnsafe: () => nanosOf(steady()),
  monotonicTimeNanos: Effect.sync(() => nanosOf(steady())),
  sleep,
})

const nanosOf = (milliseconds: number): bigint => BigInt(Math.round(milliseconds * 1_000)) * 1_000n

/** Time that passes when a law says so: the clocks, and all that sleeps by them. */
export interface Time {
  /** Runs an effect by this time. What it opens goes on living by it. */
  readonly during: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** As `during`, where the wall clock shows so many milliseconds more, or fewer. */
  readonly ahead: (milliseconds: number) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** The store, whose work has to be done before time passes. */
  readonly of: <S extends Openable>(store: S) => S
  /** Lets milliseconds pass. Who sleeps is woken when it is due, and does what it does before more time passes. */
  readonly pass: (milliseconds: number) => Effect.Effect<void>
  /** Sets the wall clock forward, or back. No time passes. */
  readonly jump: (milliseconds: number) => Effect.Effect<void>
  /** Waits until nothing more happens unless time passes. */
  readonly settle: Effect.Effect<void>
  /** How many sleep. */
  readonly sleepers: () => number
}

interface Sleeper {
  readonly until: number
  readonly wake: () => void
}

/** How often everybody else has had their turn, and nobody the engine, when nothing more will happen. */
const quietTurns = 25

/**
 * The clock of effect's tests moves wall and monotonic time together, and does not wait for engines that work beside the
 * event loop.
 */
export const makeTime: Effect.Effect<Time> = Effect.map(Effect.service(Clock.Clock), (real) => {
  let steady = 0
  // Some day of 2026, so that what is stored looks like what it is.
  let jumped = 1_780_000_000_000
  let running = 0
  const sleepers = new Set<Sleeper>()
  const wall = () => steady + jumped
  const sleep: Clock.Clock["sleep"] = (duration) => {
    const milliseconds = Duration.toMillis(duration)
    if (milliseconds <= 0) return Effect.yieldNow
    return Effect.callback((resume) => {
      const sleeper: Sleeper = { until: steady + milliseconds, wake: () => resume(Effect.void) }
      sleepers.add(sleeper)
      return Effect.sync(() => sleepers.delete(sleeper))
    })
  }
  const settle = Effect.gen(function* () {
    for (let quiet = 0; quiet < quietTurns; quiet++) {
      yield* Effect.yieldNow
      while (running > 0) {
        quiet = 0
        yield* real.sleep(Duration.millis(1))
      }
    }
  })
  const pass = (milliseconds: number) =>
    Effect.gen(function* () {
      const end = steady + milliseconds
      yield* settle
      for (;;) {
        const next = Math.min(...[...sleepers].map(({ until }) => until))
        if (next > end) break
        steady = Math.max(steady, next)
        for (const sleeper of sleepers) {
          if (sleeper.until > steady) continue
          sleepers.delete(sleeper)
          sleeper.wake()
        }
        yield* settle
      }
      steady = end
    })
  const ahead = (milliseconds: number) => {
    const clock = clockOf(
      () => wall() + milliseconds,
      () => steady,
      sleep,
    )
    return <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideService(effect, Clock.Clock, clock)
  }
  return {
    during: ahead(0),
    ahead,
    of: (store) =>
      changed(store, {
        run: (run) => (machine, options, done) => {
          running++
          run(machine, options, (failure) => {
            running--
            done(failure)
          })
        },
      }),
    pass,
    jump: (milliseconds) =>
      Effect.sync(() => {
        jumped += milliseconds
      }),
    settle,
    sleepers: () => sleepers.size,
  }
})
