import { suite } from "@skein/contract-tests/suite"
import { rmSync } from "node:fs"
import { sqlite } from "../src/index.ts"
import { libsql } from "../src/libsql.ts"
import { filesOf, newFile } from "./directory.ts"
import { execute, query } from "./sql.ts"

const megabyte = 1024 * 1024
const place = (options: { readonly maxBytes?: number } = {}) => {
  const path = newFile()
  return { path, backend: sqlite({ url: `file:${path}`, ...options }) }
}

suite("sqlite", {
  fresh: () => place(),
  small: () => place({ maxBytes: 4 * megabyte }),
  dispose: ({ path }) => {
    for (const suffix of Object.keys(filesOf(path))) rmSync(path + suffix)
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
