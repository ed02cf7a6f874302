/**
 * How an effect ended, as plain data that can be compared.
 */
import { StorageError } from "@skein/core/storage"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"

/** `failed` is the tag of the error: the reason of a `StorageError`, the `_tag` of any other. */
export type Outcome<A> = { readonly done: A } | { readonly failed: string } | { readonly defect: string }

/** Never fails. */
export const outcomeOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Outcome<A>, never, R> =>
  Effect.map(Effect.exit(effect), (exit): Outcome<A> => {
    if (exit._tag === "Success") return { done: exit.value }
    const thrown = Cause.squash(exit.cause)
    if (Cause.hasDies(exit.cause)) return { defect: thrown instanceof Error ? thrown.message : String(thrown) }
    return { failed: tagOf(thrown) }
  })

/** Several effects at once, begun in their order. */
export const outcomesOf = <A, E, R>(
  effects: ReadonlyArray<Effect.Effect<A, E, R>>,
): Effect.Effect<Array<Outcome<A>>, never, R> => Effect.all(effects.map(outcomeOf), { concurrency: "unbounded" })

export const tagOf = (error: unknown): string => {
  if (error instanceof StorageError) return error.reason._tag
  const tag: unknown = typeof error === "object" && error !== null && "_tag" in error ? error._tag : undefined
  return typeof tag === "string" ? tag : String(error)
}
