/**
 * How laws open a store with the services of core.
 */
import { layer } from "@skein/core"
import type { LayerOptions, Services } from "@skein/core"
import type { InvalidInput, StorageError } from "@skein/core/storage"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Store } from "./law.ts"

export type ServiceOptions = LayerOptions

/** Opens the store with all services until the scope ends. Opening it again meanwhile gives others on the same rows. */
export const openServices = (
  store: Pick<Store, "backend">,
  options: ServiceOptions = {},
): Effect.Effect<Context.Context<Services>, InvalidInput | StorageError, Scope.Scope> =>
  Layer.build(Layer.fresh(Layer.provide(layer({ verify: true, ...options }), Layer.fresh(store.backend))))

/** Opens the store for one effect, with all services, and closes it afterwards. Programs run in verifying mode. */
export const withServices =
  (store: Pick<Store, "backend">, options: ServiceOptions = {}) =>
  <A, E>(effect: Effect.Effect<A, E, Services | Scope.Scope>): Effect.Effect<A, E | InvalidInput | StorageError> =>
    Effect.scoped(Effect.flatMap(openServices(store, options), (context) => Effect.provide(effect, context)))
