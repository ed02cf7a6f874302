/**
 * A SQLite library that is watched, and may fail or stop, at each statement.
 *
 * It stands between the adapter and the real library, so that everything above it is what users run.
 */
import { sqlite } from "@skein/adapter-sqlite"
import type { Options } from "@skein/adapter-sqlite"
import { Backend } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { reasonOf } from "../../packages/adapter-sqlite/src/classify.ts"
import type { Driver } from "../../packages/adapter-sqlite/src/driver.ts"
import { makeEngine } from "../../packages/adapter-sqlite/src/engine.ts"
import { libsql } from "../../packages/adapter-sqlite/src/libsql.ts"
import { openStore } from "../../packages/adapter-sqlite/src/open.ts"
import { settingsOf } from "../../packages/adapter-sqlite/src/options.ts"

/** A statement that may change something: all but those that are asked for rows. */
export interface Step {
  /** From 1, over all connections. */
  readonly n: number
  readonly sql: string
}

/** Stands around each step: runs it, or throws instead, or does something before or after. */
export type Around = <A>(step: Step, run: () => A) => A

/** The real library, with something around its steps. */
export const watched = (around: Around): Driver => {
  let n = 0
  return (uri) => {
    const real = libsql(uri)
    return {
      exec: (sql) => around({ n: ++n, sql }, () => real.exec(sql)),
      prepare: (sql) => {
        const statement = real.prepare(sql)
        return {
          run: (values) => around({ n: ++n, sql }, () => statement.run(values)),
          get: (values) => statement.get(values),
          all: (values) => statement.all(values),
        }
      },
      get inTransaction() {
        return real.inTransaction
      },
      close: () => real.close(),
    }
  }
}

/** The SQLite adapter, with a library of the caller's. */
export const sqliteWith = (driver: Driver, options: Options): Layer.Layer<Backend> => {
  const settings = settingsOf(options)
  return Layer.effect(
    Backend,
    Effect.map(Effect.service(Backend), ({ capabilities }) =>
      Backend.of({
        capabilities,
        open: (schema) =>
          Effect.try({
            try: () => {
              if (!("location" in settings)) throw settings
              return makeEngine(openStore(driver, settings, schema))
            },
            catch: (thrown) => reasonOf(thrown, "open", schema.tables),
          }),
      }),
    ),
  ).pipe(Layer.provide(sqlite(options)))
}
