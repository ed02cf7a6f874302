/**
 * Where a store is: the `url` option, understood before anything is opened.
 *
 * A URL that means something else to SQLite than to its reader (a host, a fragment, a parameter that changes what a file
 * is) is refused with a sentence, rather than opened as another file than was meant.
 */
import { Unavailable } from "@skein/core/storage"
import { realpathSync, statSync } from "node:fs"
import { dirname } from "node:path"

export type Location = { readonly _tag: "Memory" } | FileLocation

export interface FileLocation {
  readonly _tag: "File"
  /** The path as the file system knows it. */
  readonly path: string
  /** A URI of the file for SQLite. A database is created only with mode `rwc`. */
  readonly uri: (parameters: string) => string
  readonly mode: "ro" | "rw" | "rwc"
}

/** Understands a URL, or says why not. */
export const locate = (url: unknown): Location | Unavailable => {
  if (typeof url !== "string" || url.includes("\0")) return refusal("url must be a file: URL, or :memory:")
  if (url === ":memory:") return { _tag: "Memory" }
  if (/^(https?|wss?|libsql):/i.test(url)) {
    return refusal(`${url} is a remote database, which is not supported yet: give a file: URL`)
  }
  if (!url.startsWith("file:"))
    return refusal(`${JSON.stringify(url)} is no file: URL: write file:chat.db, or :memory:`)
  const [location, query, ...more] = url.slice("file:".length).split("?")
  if (url.includes("#") || more.length > 0) return refusal(`${url}: in a path, write # as %23 and ? as %3f`)
  if (/^\/\/(?!\/|localhost\/)/.test(location!)) {
    return refusal(`${url} names a host: write file:chat.db, or file:///path/to/chat.db`)
  }
  const mode = query === undefined ? "rwc" : /^mode=(ro|rw|rwc)$/.exec(query)?.[1]
  if (mode === undefined) return refusal(`${url}: mode=ro, mode=rw and mode=rwc are the only parameters`)
  const path = pathOf(location!)
  if (path === undefined) return refusal(`${url}: in a path, write % as %25`)
  if (path === "") return refusal(`${url} has no path`)
  return {
    _tag: "File",
    path,
    uri: (parameters) => `file:${location}?${parameters}`,
    mode: mode as FileLocation["mode"],
  }
}

const refusal = (detail: string) => new Unavailable({ detail })

const pathOf = (location: string): string | undefined => {
  try {
    return decodeURIComponent(location.replace(/^\/\/(localhost)?/, "")).replace(/^\/(?=[a-z]:)/i, "")
  } catch {
    return undefined
  }
}

export type FileState = "missing" | "directory" | "empty" | "present"

export const fileState = ({ path }: FileLocation): FileState => {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return "missing"
  return stats.isDirectory() ? "directory" : stats.size === 0 ? "empty" : "present"
}

/** How much the files beside a database hold: what is committed but not moved into it, and what has to be taken back. */
export const besides = ({ path }: FileLocation): { readonly log: number; readonly journal: number } => {
  const file = realpathSync(path)
  const size = (suffix: string) => statSync(file + suffix, { throwIfNoEntry: false })?.size ?? 0
  return { log: size("-wal"), journal: size("-journal") }
}

/** Why a file could not be opened, as far as looking at it tells. */
export const whyUnavailable = (location: FileLocation): string => {
  const { mode, path } = location
  const directory = dirname(path)
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) {
    return `the directory ${directory} does not exist: create it first`
  }
  switch (fileState(location)) {
    case "directory":
      return `${path} is a directory: name a file in it`
    case "missing":
      return mode === "rwc"
        ? `${path} could not be created`
        : `${path} does not exist, and mode=${mode} creates nothing`
    default:
      return `${path} could not be opened`
  }
}
