/**
 * A store with all services on any backend, as tests use it: effects in, promises out.
 */
import type { Backend } from "@skein/core/storage"
import { Storage } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { sqlite } from "@skein/adapter-sqlite"
import { layer } from "../../packages/core/src/services.ts"
import type { Services } from "../../packages/core/src/services.ts"
import { problemsIn } from "./invariants.ts"
import { rowsOfStorage } from "./rows.ts"
import type { StoreRows } from "./rows.ts"

export interface Store {
  /** Rejects with what the effect fails with. */
  readonly run: <A, E>(effect: Effect.Effect<A, E, Services>) => Promise<A>
  readonly rows: () => Promise<StoreRows>
  /** What does not hold of its rows: see `invariants.ts`. */
  readonly problems: () => Promise<ReadonlyArray<string>>
  readonly close: () => Promise<void>
}

export const openStore = (backend: Layer.Layer<Backend>): Store => {
  const runtime = ManagedRuntime.make(Layer.provide(layer(), backend))
  const rows = () => runtime.runPromise(Effect.flatMap(Effect.service(Storage), rowsOfStorage))
  return {
    run: (effect) => runtime.runPromise(effect),
    rows,
    problems: async () => problemsIn(await rows()),
    close: () => runtime.dispose(),
  }
}

export const openFile = (path: string): Store => openStore(sqlite({ url: `file:${path}` }))
