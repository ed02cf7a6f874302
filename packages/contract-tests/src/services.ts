/**
 * How laws open a store with the services of core.
 */
import { layer } from "@skein/core"
import type { LayerOptions, Services } from "@skein/core"
import type { StorageError } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Store } from "./law.ts"

export interface ServiceOptions extends LayerOptions {}

/** Opens the store for one effect, with all services, and closes it afterwards. Programs run in verifying mode. */
export const withServices =
  (store: Pick<Store, "backend">, options: ServiceOptions = {}) =>
  <A, E>(effect: Effect.Effect<A, E, Services | Scope.Scope>): Effect.Effect<A, E | StorageError> =>
    Effect.scoped(
      Effect.provide(
        effect,
        Layer.fresh(Layer.provide(layer({ verify: true, ...options }), Layer.fresh(store.backend))),
      ),
    )
