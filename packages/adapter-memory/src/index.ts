/**
 * Storage in memory: sorted lists of rows that last as long as the process.
 *
 * Guarantee: behaves as the adapters that keep data on disk do, in order, atomicity, uniqueness, upgrades and errors; so
 * what was tested on it holds on them. Values are stored as JSON text and never shared.
 *
 * Not promised: durability. `strict` and `relaxed` are the same here.
 */
import { Backend } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Database } from "./database.ts"
import { makeEngine, reasonOf } from "./engine.ts"

/** Options of the adapter in memory. */
export interface Options {
  /**
   * How much the rows may hold together, in UTF-16 units of JSON plus bytes. A commit that would exceed it fails with
   * `Full` and writes nothing; reading and removing go on. Default: no limit.
   */
  readonly capacity?: number
}

/**
 * Makes one empty database as a value. Opening it again, also while it is open, finds the same data: this is how a test
 * or a program "restarts" on memory.
 *
 * @example
 * const backend = yield* make()
 * const first = openStorage(Layer.succeed(Backend, backend))
 * const second = openStorage(Layer.succeed(Backend, backend)) // the same rows
 */
export const make = ({ capacity = Infinity }: Options = {}): Effect.Effect<Backend["Service"]> =>
  Effect.sync(() => {
    const database = new Database()
    return Backend.of({
      // Whoever opens it is in this process, by whatever name.
      capabilities: { durable: false, multiProcess: false, blocking: true, groupPrograms: 512, host: "memory" },
      open: (schema) =>
        Effect.try({
          try: () => {
            database.upgrade(schema)
            return makeEngine(database, capacity)
          },
          catch: reasonOf,
        }),
    })
  })

/**
 * Storage in memory, for tests, prototypes and what may be forgotten. Each build of this layer is a new, empty database.
 *
 * @example
 * const skein = await Skein.open(memory())
 */
export const memory = (options?: Options): Layer.Layer<Backend> => Layer.effect(Backend, make(options))
