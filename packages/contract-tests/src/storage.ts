/**
 * How laws open a store.
 */
import { makeStorage, Storage } from "@skein/core/storage"
import type { AnyTable, Schema, StorageError, StorageOptions, Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Store } from "./law.ts"

export interface OpenOptions extends StorageOptions {
  readonly schema: Schema
}

/** Opens the store until the scope ends. Opening it again meanwhile gives another storage on the same rows. */
export const openStorage = (
  store: Pick<Store, "backend">,
  { schema, ...options }: OpenOptions,
): Effect.Effect<Storage["Service"], StorageError, Scope.Scope> =>
  Effect.flatMap(Layer.build(Layer.fresh(store.backend)), (context) =>
    Effect.provide(makeStorage(schema, { verify: true, ...options }), context),
  )

/**
 * Opens the store for one effect and closes it afterwards. Programs run in verifying mode unless the options say
 * otherwise: rows are frozen, and every program runs twice to see that it is pure.
 */
export const withStorage =
  (store: Pick<Store, "backend">, options: OpenOptions) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | StorageError, Exclude<R, Storage | Scope.Scope>> =>
    Effect.scoped(
      Effect.flatMap(openStorage(store, options), (storage) => Effect.provideService(effect, Storage, storage)),
    ) as Effect.Effect<A, E | StorageError, Exclude<R, Storage | Scope.Scope>>

/** A schema of version 1 that admits everybody. */
export const schemaOf = (...tables: ReadonlyArray<AnyTable>): Schema => ({
  version: 1,
  oldestReader: 1,
  oldestWriter: 1,
  tables,
  migrations: [],
})

/** Runs a program on the storage that is provided. */
export const transact = <A, E>(program: Tx.Tx<A, E>) => Storage.use((storage) => storage.transact(program))
/** Runs a program that only reads on the storage that is provided. */
export const read = <A, E>(program: Tx.Tx<A, E>) => Storage.use((storage) => storage.read(program))
