/**
 * A directory of one test file, removed when its tests are over, and what is in it.
 */
import { createHash } from "node:crypto"
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { afterAll } from "vitest"
import { execute } from "./sql.ts"

export const directory = mkdtempSync(join(tmpdir(), "skein-sqlite-"))

afterAll(() => rmSync(directory, { recursive: true, force: true }))

let files = 0

/** The path of a file that does not exist yet. */
export const newFile = (): string => join(directory, `${++files}.db`)

/**
 * A copy of a database as it lies on the disk when every process has closed it. The original may stay open for a while:
 * a connection ends when its statements are collected as garbage.
 */
export const closedCopy = (path: string): string => {
  execute(path, "PRAGMA wal_checkpoint(TRUNCATE)")
  const copy = newFile()
  copyFileSync(path, copy)
  return copy
}

/** The content of a file and of all that lies beside it under its name, as hashes by suffix; of directories, a list. */
export const filesOf = (path: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(dirname(path))
      .filter((name) => name.startsWith(basename(path)))
      .toSorted()
      .map((name) => [name.slice(basename(path).length), contentOf(join(dirname(path), name))]),
  )

const contentOf = (path: string): string =>
  statSync(path).isDirectory() ? readdirSync(path).toSorted().join() : hashOf(readFileSync(path))

const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex")
