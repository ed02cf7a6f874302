/**
 * Storage in a SQLite file.
 *
 * Guarantee: what was acknowledged as `strict` is on disk; what was acknowledged as `relaxed` outlives the process, and a
 * power cut may take the newest of it, never a hole. Several processes may use one file. Other programs can read it: keys
 * and index fields are real columns beside the row's JSON, in tables and indexes named as they are declared.
 *
 * Not promised: anything on a network file system, where SQLite's locks may not hold.
 */
import { Backend } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { reasonOf } from "./classify.ts"
import { makeEngine } from "./engine.ts"
import { host } from "./host.ts"
import { libsql } from "./libsql.ts"
import { openStore } from "./open.ts"
import { settingsOf } from "./options.ts"
import type { Options } from "./options.ts"

export type { Options }

/**
 * Makes the adapter as a value, for callers who manage its life themselves. Nothing is touched before `open`, which is
 * also what fails, with a sentence that says what to do, when an option makes no sense.
 *
 * @example
 * const backend = make({ url: "file:chat.db" })
 * const storage = Storage.layer(schema).pipe(Layer.provide(Layer.succeed(Backend, backend)))
 */
export const make = (options: Options): Backend["Service"] => {
  const settings = settingsOf(options)
  const isFile = "location" in settings && settings.location._tag === "File"
  return Backend.of({
    capabilities: {
      durable: isFile,
      multiProcess: isFile,
      blocking: true,
      groupPrograms: 64,
      // Looked up by whoever asks: nothing is, before a store is opened.
      get host() {
        return isFile ? host() : undefined
      },
    },
    open: (schema) =>
      Effect.try({
        try: () => {
          if (!("location" in settings)) throw settings
          return makeEngine(openStore(libsql, settings, schema))
        },
        catch: (thrown) => reasonOf(thrown, "open", schema.tables),
      }),
  })
}

/**
 * Storage in a SQLite file.
 *
 * @example
 * const skein = await Skein.open(sqlite({ url: "file:chat.db" }))
 */
export const sqlite = (options: Options): Layer.Layer<Backend> => Layer.succeed(Backend, make(options))
