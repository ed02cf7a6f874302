/**
 * A law: one thing that every adapter must do, as plain data.
 *
 * Guarantee: a law needs no test runner, no `node:` and no page. It is given a store that nobody else uses, and it
 * succeeds or fails; what it needs beyond the port it declares, so that a store without it is told apart from one that
 * breaks the law.
 */
import type { Backend, Key } from "@skein/core/storage"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** What a law may need beyond the port. A harness offers each under the same name. */
export type Need = "small" | "damage" | "holdWriteLock" | "picture"

/** A store under test, as laws see it. */
export interface Store {
  /** Each build of this layer opens the same store. */
  readonly backend: Layer.Layer<Backend>
  /** Another store, new and empty; gone with the scope. */
  readonly fresh: Effect.Effect<Store, never, Scope.Scope>
  /** Decides everything that is random in a law. The same seed gives the same choices. */
  readonly seed: number
  /** How many random cases a law tries. */
  readonly runs: number
  /** Milliseconds that a law may take. */
  readonly limit: number
  /** Whether a random law that is broken looks for a small case that shows it. */
  readonly shrink: boolean
  /** Replaces what is stored of a row by something that is no JSON text. While nobody has the store open. */
  readonly damage: (table: string, key: Key) => Effect.Effect<void>
  /** Keeps all others from writing until the scope ends. */
  readonly holdWriteLock: Effect.Effect<void, never, Scope.Scope>
  /** All that is stored, as one text: equal when nothing was changed. While nobody has the store open. */
  readonly picture: Effect.Effect<string>
}

/** What a law fails with when it finds, while it runs, that it does not apply to this store. Nothing is wrong then. */
export class NotApplicable extends Data.TaggedError("NotApplicable")<{ readonly reason: string }> {}

export interface Law {
  /** Begins with the identifiers it proves, and states the fact. */
  readonly name: string
  readonly needs: ReadonlyArray<Need>
  /** Whether it takes seconds and much memory. */
  readonly slow: boolean
  readonly run: (store: Store) => Effect.Effect<void, unknown>
}

export interface LawOptions {
  /** Default: nothing beyond the port. With `small` the store is one of little room. */
  readonly needs?: ReadonlyArray<Need>
  /** Default `false`. */
  readonly slow?: boolean
}

/** A law that every store can be held to. */
export const law = (name: string, run: Law["run"]): Law => lawWith({}, name, run)

/** A law for stores that offer what it needs. */
export const lawWith = ({ needs = [], slow = false }: LawOptions, name: string, run: Law["run"]): Law => ({
  name,
  needs,
  slow,
  run,
})
