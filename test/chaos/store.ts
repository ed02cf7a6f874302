/**
 * A store with all services on any backend, as tests use it: effects in, promises out.
 */
import { Backend, Storage } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { sqlite } from "@skein/adapter-sqlite"
import { layer } from "../../packages/core/src/services.ts"
import type { LayerOptions, Services } from "../../packages/core/src/services.ts"
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

export const openStore = (backend: Layer.Layer<Backend>, options?: LayerOptions): Store => {
  const runtime = ManagedRuntime.make(Layer.provide(layer(options), backend))
  const rows = () => runtime.runPromise(Effect.flatMap(Effect.service(Storage), rowsOfStorage))
  return {
    run: (effect) => runtime.runPromise(effect),
    rows,
    problems: async () => problemsIn(await rows()),
    close: () => runtime.dispose(),
  }
}

interface FileOptions extends LayerOptions {
  /** The length of the lease of its turns, in milliseconds. Absent: as long as the engine says. */
  readonly lease?: number | undefined
}

export const openFile = (path: string, { lease, ...options }: FileOptions = {}): Store => {
  const backend = sqlite({ url: `file:${path}` })
  return openStore(lease === undefined ? backend : withLease(backend, lease), options)
}

/** The backend as one whose owners are given up sooner, or later. */
const withLease = (backend: Layer.Layer<Backend>, lease: number): Layer.Layer<Backend> =>
  Layer.effect(
    Backend,
    Effect.map(Effect.service(Backend), ({ capabilities, open }) =>
      Backend.of({ open, capabilities: { ...capabilities, lease } }),
    ),
  ).pipe(Layer.provide(backend))
