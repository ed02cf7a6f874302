import { suite } from "@skein/contract-tests/suite"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"
import { sqlite } from "../src/index.ts"
import { libsql } from "../src/libsql.ts"
import { filesOf } from "./directory.ts"
import { execute, query } from "./sql.ts"

// In memory where the system has such a place: the laws make hundreds of stores, and what a disk promises when the power
// fails cannot be seen from here.
const directory = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "skein-contract-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

let files = 0
const place = (options: { readonly maxBytes?: number } = {}) => {
  const path = join(directory, `${++files}.db`)
  return { path, backend: sqlite({ url: `file:${path}`, ...options }) }
}

suite("sqlite", {
  fresh: () => place(),
  small: () => place({ maxBytes: 4 * 1024 * 1024 }),
  dispose: ({ path }) => {
    for (const suffix of Object.keys(filesOf(path))) rmSync(path + suffix, { recursive: true })
  },
  damage: ({ path }, table, key) => {
    const columns = query(path, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", table)
    const where = columns.map(([name], i) => `"${name}" = '${key[i]}'`).join(" AND ")
    execute(path, `UPDATE "${table}" SET json = CAST(x'00ff' AS TEXT) WHERE ${where}`)
  },
  holdWriteLock: ({ path }) => {
    const other = libsql(`file:${path}`)
    other.exec("BEGIN IMMEDIATE")
    return () => {
      other.exec("ROLLBACK")
      other.close()
    }
  },
  picture: ({ path }) => JSON.stringify(filesOf(path)),
})
