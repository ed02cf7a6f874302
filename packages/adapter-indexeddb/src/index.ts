/**
 * Storage in a browser's IndexedDB.
 *
 * Guarantee: every commit is one transaction of the browser, and is reported when that is complete. Tabs of one origin may
 * use a store at the same time. A store made by newer code is refused and left as it is; one that another tab upgrades is
 * let go at once, and later calls fail with `Closed`.
 *
 * Not promised: that the browser keeps the data. It may evict an origin as a whole, or the user may clear it.
 */
import { Backend, Unavailable } from "@skein/core/storage"
import type { StorageReason } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeEngine } from "./engine.ts"
import { openConnection } from "./open.ts"
import type { KeyRanges } from "./range.ts"

/** Options of the adapter for IndexedDB. */
export interface Options {
  /** Name of the database, unique in its origin. */
  readonly name: string
  /**
   * How long opening waits for the browser and for other tabs, in milliseconds. Then it fails: with `UpgradeBlocked` when
   * another tab keeps open a store that has to be upgraded, else with `Unavailable`. Default 10,000.
   */
  readonly openTimeout?: number
  /** Where databases are. Default: `indexedDB` of the global scope, looked up when the store is opened. */
  readonly factory?: IDBFactory
  /** Makes key ranges that `factory` takes. Default: `IDBKeyRange` of the global scope. */
  readonly keyRange?: typeof IDBKeyRange
}

/**
 * The adapter as a value, for callers who manage its life themselves. Opening it twice gives two connections to one store.
 */
export const make = (options: Options): Effect.Effect<Backend["Service"]> =>
  Effect.sync(() =>
    Backend.of({
      capabilities: {
        durable: true,
        multiProcess: true,
        blocking: false,
        groupPrograms: 512,
        // Pages of an origin are on one machine, and browsers let timers of those that nobody sees fire once a minute.
        host: (globalThis as Partial<typeof globalThis>).location?.origin,
        lease: 120_000,
      },
      open: Effect.fnUntraced(function* (schema) {
        if (typeof options?.name !== "string" || options.name === "") {
          return yield* Effect.fail(new Unavailable({ detail: "the option `name` must name the database" }))
        }
        const { name, openTimeout = 10_000, ...given } = options
        const ranges = yield* platform(given)
        const connection = yield* openConnection({ name, ranges, schema, timeout: openTimeout })
        return makeEngine(connection, ranges, schema)
      }),
    }),
  )

/**
 * Storage in the browser, under a name.
 *
 * @throws StorageError on opening: `Unavailable` where there is no IndexedDB or the browser refuses it, `UpgradeBlocked`,
 * `VersionMismatch`, `Corrupt`, `Full`, and `Reset` when the browser says that it has lost what was here
 *
 * @example
 * const skein = await Skein.open(indexeddb({ name: "chats" }))
 */
export const indexeddb = (options: Options): Layer.Layer<Backend> => Layer.effect(Backend, make(options))

const platform = ({
  factory,
  keyRange,
}: Pick<Options, "factory" | "keyRange">): Effect.Effect<KeyRanges, StorageReason> =>
  Effect.suspend(() => {
    const found = {
      factory: factory ?? (globalThis as Partial<typeof globalThis>).indexedDB,
      keyRange: keyRange ?? (globalThis as Partial<typeof globalThis>).IDBKeyRange,
    }
    return found.factory === undefined || found.keyRange === undefined
      ? Effect.fail(new Unavailable({ detail: "this environment has no IndexedDB" }))
      : Effect.succeed({ factory: found.factory, keyRange: found.keyRange })
  })
