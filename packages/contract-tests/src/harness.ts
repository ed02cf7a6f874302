/**
 * What an adapter's author gives: how to make a store, and what can be done to it from outside.
 *
 * Only `fresh` is needed. Each of the others makes further laws applicable.
 */
import type { Backend, Key } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Law, Need, Store } from "./law.ts"

type Awaitable<A> = A | PromiseLike<A>

/** One store: the layer that opens it, and whatever else the harness has to know of it (a path, a name). */
export interface Place {
  /** Each build of this layer opens the same store. */
  readonly backend: Layer.Layer<Backend>
}

export interface Harness<P extends Place = Place> {
  /** Makes a store that is new and empty. */
  readonly fresh: () => Awaitable<P>
  /** Makes one that has room for 1 MiB of rows, and not for 32 MiB. */
  readonly small?: () => Awaitable<P>
  /** Takes a store away that is no longer used. */
  readonly dispose?: (place: P) => Awaitable<void>
  /** Replaces what is stored of a row by something that is no JSON text. Called while nobody has the store open. */
  readonly damage?: (place: P, table: string, key: Key) => Awaitable<void>
  /**
   * Takes the store's write lock, as another program would, and answers how to let go. Meanwhile the adapter's runs end
   * with `Busy`; where the engine itself lets writers wait in line, leave this out.
   */
  readonly holdWriteLock?: (place: P) => Awaitable<() => Awaitable<void>>
  /** All that is stored, as one text: equal when nothing was changed. Called while nobody has the store open. */
  readonly picture?: (place: P) => Awaitable<string>
}

/** What a trial goes by. `Store` says what each means. */
export interface Settings {
  readonly seed: number
  readonly runs: number
  readonly limit: number
  readonly shrink: boolean
}

/** Why a law does not apply to the stores of this harness; `undefined` when it does. */
export const obstacle = <P extends Place>(law: Law, harness: Harness<P>): string | undefined => {
  const missing = law.needs.filter((need) => harness[need] === undefined)
  return missing.length === 0 ? undefined : `not applicable: the harness has no ${missing.join(", no ")}`
}

/** A store as laws see it, made by the harness; it goes with the scope. */
export const makeStore = <P extends Place>(
  harness: Harness<P>,
  settings: Settings,
  needs: ReadonlyArray<Need> = [],
): Effect.Effect<Store, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      awaited(() => (needs.includes("small") ? offered(harness, "small")() : harness.fresh())),
      (place) => awaited(() => harness.dispose?.(place)),
    ),
    (place): Store => ({
      ...settings,
      backend: place.backend,
      fresh: makeStore(harness, settings),
      damage: (table, key) => awaited(() => offered(harness, "damage")(place, table, key)),
      holdWriteLock: Effect.asVoid(
        Effect.acquireRelease(
          awaited(() => offered(harness, "holdWriteLock")(place)),
          (letGo) => awaited(letGo),
        ),
      ),
      picture: awaited(() => offered(harness, "picture")(place)),
    }),
  )

/** Runs a function of the harness. What it throws is a mistake in the harness, not a broken law. */
const awaited = <A>(work: () => Awaitable<A>): Effect.Effect<A> => Effect.promise(async () => work())

const offered = <P extends Place, Name extends Need>(
  harness: Harness<P>,
  name: Name,
): NonNullable<Harness<P>[Name]> => {
  const found = harness[name]
  if (found === undefined) throw new Error(`a law uses ${name} and does not say that it needs it`)
  return found
}
