/**
 * Storage in a SQLite file.
 *
 * Guarantee: what was acknowledged as `strict` is on disk; what was acknowledged as `relaxed` outlives the process, and a
 * power cut may take the newest of it, never a hole. Several processes may use one file. Other programs can read it: keys
 * and index fields are real columns beside the row's JSON, in tables and indexes named as they are declared.
 *
 * Not promised: speed on a network file system, where SQLite's locks may not hold at all.
 */
import { Backend } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { reasonOf } from "./classify.ts"
import { makeEngine } from "./engine.ts"
import { libsql } from "./libsql.ts"
import { locate } from "./location.ts"
import { openStore } from "./open.ts"

/** Options of the SQLite adapter. */
export interface Options {
  /**
   * Where the database is: `file:chat.db`, `file:///var/lib/chat.db`, or `:memory:` for one that is gone when closed.
   *
   * A file is created when it is not there; its directory is not. `?mode=rw` never creates, and `?mode=ro` only reads:
   * writing then fails with `Unavailable`. In a path, `%`, `#` and `?` are written `%25`, `%23` and `%3f`. Remote
   * databases are not supported yet.
   */
  readonly url: string
  /** Memory for pages of the file, in bytes, for each of two connections. Default 16 MiB. */
  readonly cacheBytes?: number
  /** What the file may grow to, in bytes. A commit that needs more fails with `Full`. Default: what the disk holds. */
  readonly maxBytes?: number
}

/**
 * Makes the adapter as a value, for callers who manage its life themselves. Nothing is touched before `open`.
 *
 * @throws nothing: a `url` that cannot be opened fails `open`, with a sentence that says what to do
 */
export const make = ({ cacheBytes = 16 * 1_024 * 1_024, maxBytes, url }: Options): Backend["Service"] => {
  const location = locate(url)
  const isFile = location._tag === "File"
  return Backend.of({
    capabilities: { durable: isFile, multiProcess: isFile, blocking: true, groupPrograms: 64 },
    open: (schema) =>
      Effect.try({
        try: () => {
          if (location._tag === "Unavailable") throw location
          return makeEngine(openStore(libsql, location, { cacheBytes, maxBytes }, schema))
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
