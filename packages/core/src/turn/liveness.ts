/**
 * Who is still alive: whether the owner of a running turn may be given up.
 *
 * Guarantee: a turn whose owner renews its lease in time is never found over, as far as the clocks can be watched. One whose
 * owner the system knows to be gone is over at once; else its lease has to run out: by the wall clock where owner and
 * observer share one and it can be trusted, in all other cases by seeing the same beat for the length of one lease on the
 * observer's own monotonic clock. Process ids decide nothing.
 *
 * Not promised: that an owner that was given up stops. The epoch keeps it from writing.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Holder } from "../operation/model.ts"
import type { Storage } from "../storage/storage.ts"
import type { OwnerGone } from "./fence.ts"

export interface Verdict {
  /** Whether the turn may be ended by others. */
  readonly isOver: boolean
  readonly ownerGone: OwnerGone
}

/** What is held, such as a turn. `epoch`: which one of that name, where there are several one after another. */
export type Held = Holder & { readonly epoch?: number }

/** What the system said of owners at one moment: whoever judges many turns asks it once about each. */
export type Asked = Map<string, OwnerGone>

export interface Liveness {
  /** Judges who holds a turn, or something else under a name; it has to be read again when it is to be taken away. */
  readonly judge: (name: string, holder: Held, asked?: Asked) => Effect.Effect<Verdict>
}

/** How much the wall clock may run ahead of, or behind, the monotonic one before it is taken to have jumped. */
const largestDrift = 5_000
/** How long leases are not judged by a wall clock that has jumped: owners that live renew theirs meanwhile. */
const distrust = 10_000

/** The name of the lock that an instance holds while it may run turns. */
export const lockOf = (instance: string): string => `owner-${instance}`

/**
 * @param instance  this one, whose own turns are alive
 * @param host      whose wall clock this is
 * @param locks     those of the engine, which tell whether an owner on this host is gone
 */
export const makeLiveness = (
  instance: string,
  host: string,
  locks: Storage["Service"]["locks"],
): Effect.Effect<Liveness> =>
  Effect.gen(function* () {
    /** Since when a beat is seen unchanged, by the monotonic clock. */
    const seen = new Map<string, { readonly beat: number; readonly since: number }>()
    let wallAtStart = yield* Clock.currentTimeMillis
    let monotonicAtStart = yield* monotonic
    let distrustedUntil = 0
    /** Until when the clock may have jumped before it was watched: a machine that slept, and an owner that wakes up. */
    const watchedFrom = monotonicAtStart + distrust

    /** Notices a jump of the wall clock: it has moved otherwise than time has passed. */
    const readClocks = Effect.gen(function* () {
      const wall = yield* Clock.currentTimeMillis
      const steady = yield* monotonic
      if (Math.abs(wall - wallAtStart - (steady - monotonicAtStart)) > largestDrift) {
        wallAtStart = wall
        monotonicAtStart = steady
        distrustedUntil = steady + distrust
      }
      return { wall, steady }
    })

    /** Whether an owner on this host holds its lock. */
    const goneOf = (owner: string): Effect.Effect<OwnerGone> =>
      locks === undefined
        ? Effect.succeed("unknown")
        : Effect.match(locks.isHeld(lockOf(owner)), {
            onSuccess: (isHeld): OwnerGone => (isHeld ? "no" : "yes"),
            onFailure: (): OwnerGone => "unknown",
          })

    const askedOnce = (owner: string, asked: Asked): Effect.Effect<OwnerGone> => {
      const known = asked.get(owner)
      if (known !== undefined) return Effect.succeed(known)
      return Effect.tap(goneOf(owner), (gone) => Effect.sync(() => asked.set(owner, gone)))
    }

    const unchangedFor = (id: string, { beat }: Held, steady: number): number => {
      const before = seen.get(id)
      if (before?.beat === beat) return steady - before.since
      if (seen.size >= mostSeen) seen.clear()
      seen.set(id, { beat, since: steady })
      return 0
    }

    const judge = Effect.fnUntraced(function* (name: string, turn: Held, asked: Asked = new Map()) {
      const isNear = turn.host === host
      const ownerGone = turn.owner === instance ? "no" : isNear ? yield* askedOnce(turn.owner, asked) : "unknown"
      const { steady, wall } = yield* readClocks
      const isTrusted = steady >= distrustedUntil && (ownerGone !== "no" || steady >= watchedFrom)
      const unchanged = unchangedFor(`${name} ${turn.epoch ?? ""}`, turn, steady)
      // A lease that reaches further than it is long was written by a clock that was ahead.
      const isPlausible = turn.until <= wall + turn.lease
      const hasRunOut = isNear && isPlausible ? isTrusted && wall > turn.until : unchanged >= turn.lease
      const verdict: Verdict = { isOver: ownerGone === "yes" || hasRunOut, ownerGone }
      return verdict
    })
    return { judge }
  })

/** How many turns of others are watched at most. Forgetting one only means to wait for its lease anew. */
const mostSeen = 100_000

/** Milliseconds of a clock that never jumps. */
const monotonic = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))
