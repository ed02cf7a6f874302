/**
 * All services over the simplest backend, with programs run twice and rows frozen.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { layer } from "../../src/services.ts"
import type { LayerOptions, Services } from "../../src/services.ts"
import { naive } from "./naive-backend.ts"
import type { Naive } from "./naive-backend.ts"

/** Runs a body on a store: a new one, unless an engine is given. */
export const inStore = <A, E>(
  body: (engine: Naive) => Effect.Effect<A, E, Services>,
  options: LayerOptions = {},
  engine = naive(),
): Effect.Effect<A, E> =>
  Effect.provide(body(engine), layer({ verify: true, ...options }).pipe(Layer.provide(engine.layer), Layer.orDie))
