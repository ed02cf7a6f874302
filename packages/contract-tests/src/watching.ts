/**
 * How laws look at what changes.
 */
import { Backend } from "@skein/core/storage"
import type { Schema, StorageReason } from "@skein/core/storage"
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { NotApplicable } from "./law.ts"
import type { Store } from "./law.ts"

/** Asks for the next value of a stream, and waits for it. Until it is asked, nothing is looked at. */
export const follow = <A, E, R>(
  stream: Stream.Stream<A, E, R>,
): Effect.Effect<Effect.Effect<A, E | Cause.Done<void>, R>, never, R | Scope.Scope> =>
  Effect.map(Stream.toPull(stream), (pull) => Effect.map(pull, ([value]) => value))

/** Makes a law not apply to engines that do not notice what others commit. */
export const requireWatch = (
  store: Pick<Store, "backend">,
  schema: Schema,
): Effect.Effect<void, NotApplicable | StorageReason> =>
  Effect.scoped(
    Effect.gen(function* () {
      const backend = Context.get(yield* Layer.build(Layer.fresh(store.backend)), Backend)
      const engine = yield* Effect.acquireRelease(backend.open(schema), (engine) => engine.close)
      if (engine.watch === undefined) {
        return yield* new NotApplicable({ reason: "the engine does not notice what others commit" })
      }
    }),
  )
