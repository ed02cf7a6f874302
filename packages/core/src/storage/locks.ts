/**
 * Locks with names, apart from rows and transactions: they prove that somebody is gone before anything has timed out.
 *
 * Guarantee: nobody takes a lock that is held. It is held until its scope closes, the store is closed or the process
 * ends, however that ends; and as long as the process is there, however long it stands still.
 *
 * Not promised: an order among those who wait for one.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { checkId } from "../id.ts"
import type { EngineLocks } from "./backend.ts"
import { Busy, Closed, StorageError } from "./error.ts"
import type { InvalidInput, StorageReason } from "./error.ts"
import { retryWhileBusy } from "./retry.ts"

/** The locks of a store. Names are as ids: 1 to 128 of `A–Z a–z 0–9 _ -`. */
export interface Locks {
  /**
   * Takes a lock until the scope closes. While somebody holds it, the holder of this name in this process included, it is
   * tried again.
   *
   * @throws StorageError  `Busy`: it was held for the whole retry budget
   */
  readonly hold: (name: string) => Effect.Effect<void, InvalidInput | StorageError, Scope.Scope>
  /**
   * Whether anybody holds it, in any process.
   *
   * @throws StorageError  that cannot be told
   */
  readonly isHeld: (name: string) => Effect.Effect<boolean, InvalidInput | StorageError>
}

/** What the locks of an engine are to those above. */
export const locksOf = ({ hold, isHeld }: EngineLocks, busyBudget: number): Locks => {
  const named = <A, R>(name: string, effect: Effect.Effect<A, StorageReason, R>) =>
    Effect.andThen(
      checkId("name", name),
      Effect.mapError(effect, (reason) => new StorageError({ operation: "lock", reason })),
    )
  return {
    hold: (name) =>
      named(
        name,
        retryWhileBusy(hold(name), (reason) => reason._tag === "Busy", busyBudget),
      ),
    isHeld: (name) => named(name, isHeld(name)),
  }
}

/** What is done about one lock where that takes no waiting. Both may throw a `StorageReason`. */
export interface LockPlace {
  /** Takes it and answers how to let go; `undefined` where somebody holds it. */
  readonly take: (name: string) => (() => void) | undefined
  readonly isHeld: (name: string) => boolean
}

export interface OwnLocks extends EngineLocks {
  /** Lets go of all that this engine holds. Later calls fail with `Closed`. */
  readonly close: () => void
}

/** The locks of one engine: what it holds at a place, and lets go of when it is closed. */
export const ownLocks = (place: LockPlace, reasonOf: (thrown: unknown) => StorageReason): OwnLocks => {
  const held = new Map<string, () => void>()
  let open = true
  const attempt = <A>(work: () => A): Effect.Effect<A, StorageReason> =>
    Effect.suspend((): Effect.Effect<A, StorageReason> =>
      open ? Effect.try({ try: work, catch: reasonOf }) : Effect.fail(new Closed({})),
    )
  const take = (name: string) =>
    Effect.flatMap(
      attempt(() => place.take(name)),
      (letGo) => {
        if (letGo === undefined) return Effect.fail(new Busy({ detail: `the lock ${name} is held` }))
        held.set(name, letGo)
        return Effect.void
      },
    )
  const letGo = (name: string) => {
    held.get(name)?.()
    held.delete(name)
  }
  return {
    hold: (name) => Effect.acquireRelease(take(name), () => Effect.sync(() => letGo(name))),
    isHeld: (name) => attempt(() => place.isHeld(name)),
    close: () => {
      open = false
      for (const name of held.keys()) letGo(name)
    },
  }
}

/** A place that ends with its process: the names that are held, by all who share this set. */
export const lockPlace = (held: Set<string> = new Set()): LockPlace => ({
  take: (name) => {
    if (held.has(name)) return
    held.add(name)
    return () => held.delete(name)
  },
  isHeld: (name) => held.has(name),
})
