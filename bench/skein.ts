/**
 * Our side: a store with all services, as a program opens it.
 */
import type { Backend } from "@skein/core/storage"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { sqlite } from "@skein/adapter-sqlite"
import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { layer } from "../packages/core/src/services.ts"
import type { Services } from "../packages/core/src/services.ts"
import { answer, sessionOf } from "./content.ts"

export interface OpenSkein {
  readonly run: <A, E>(effect: Effect.Effect<A, E, Services>) => Promise<A>
  readonly close: () => Promise<void>
}

/** Opens a backend with all services. */
export const open = (backend: Layer.Layer<Backend>): OpenSkein => {
  const runtime = ManagedRuntime.make(Layer.provide(layer(), backend))
  return { run: (effect) => runtime.runPromise(effect), close: () => runtime.dispose() }
}

/** A store with one conversation of 100 messages, open, and a copy of its file for a baseline. */
export const openBeside = async (directory: string): Promise<OpenSkein & { readonly copy: string }> => {
  const file = join(directory, "ours.db")
  const copy = join(directory, "raw.db")
  const filled = openFile(file)
  await filled.run(sessionOf("s1", 100, () => ({ body: answer })))
  await filled.close()
  copyFileSync(file, copy)
  return { ...openFile(file), copy }
}

export const openFile = (path: string): OpenSkein => open(sqlite({ url: `file:${path}` }))
