/**
 * What a user may say about a store, checked before anything is opened.
 */
import { Unavailable } from "@skein/core/storage"
import { locate } from "./location.ts"
import type { Location } from "./location.ts"

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
  /**
   * What the file may grow to, in bytes, counted in pages of 4 KiB. A commit that needs more fails with `Full` and
   * writes nothing; reading goes on. A file that is larger already does not shrink. Default: what the disk holds.
   */
  readonly maxBytes?: number
}

/** Options that make sense. */
export interface Settings {
  readonly location: Location
  readonly cacheBytes: number
  readonly maxBytes: number | undefined
}

/** The settings, or a sentence about the option that makes no sense. */
export const settingsOf = (options: Options): Settings | Unavailable => {
  // Without types the options may be left out altogether.
  const { cacheBytes = 16 * 1_024 * 1_024, maxBytes, url }: Partial<Options> = options ?? {}
  for (const [name, bytes] of Object.entries({ cacheBytes, maxBytes })) {
    if (bytes === undefined || (Number.isSafeInteger(bytes) && bytes > 0)) continue
    return new Unavailable({ detail: `${name} must be a whole number of bytes, more than 0 (got ${String(bytes)})` })
  }
  const location = locate(url)
  return location._tag === "Unavailable" ? location : { location, cacheBytes, maxBytes }
}
