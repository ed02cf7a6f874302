/**
 * The driver for `libsql`, a synchronous SQLite for Node, Bun and Deno.
 *
 * Its traps, and where they are disarmed: a bound boolean aborts the process, and `undefined` or NaN become NULL (here:
 * every value is checked); text that is not UTF-8 aborts the process when it is read (`reads.ts` reads text as bytes);
 * a statement that failed with BUSY keeps later commits from being real until it runs again (`connection.ts`); a closed
 * connection keeps its files open until its statements are collected as garbage (`connection.ts` lets go of them).
 */
import Database from "libsql"
import type { Driver, SqlRow, SqlValue, Statement } from "./driver.ts"

export const libsql: Driver = (uri) => {
  const database = new Database(uri, { timeout: 0 })
  return {
    exec: (sql) => void database.exec(sql),
    prepare: (sql) => prepare(database, sql),
    get inTransaction() {
      return database.inTransaction
    },
    close: () => void database.close(),
  }
}

const prepare = (database: Database.Database, sql: string): Statement => {
  const statement = database.prepare<[ReadonlyArray<SqlValue>]>(sql)
  if (statement.reader) statement.raw(true)
  return {
    run: (values) => statement.run(checked(values)).changes,
    get: (values) => statement.get(checked(values)) as SqlRow | undefined,
    all: (values) => statement.all(checked(values)) as ReadonlyArray<SqlRow>,
  }
}

const checked = (values: ReadonlyArray<SqlValue>): ReadonlyArray<SqlValue> => {
  for (const value of values) {
    if (typeof value === "string" || value === null || value instanceof Uint8Array) continue
    if (!Number.isFinite(value)) throw new TypeError(`SQLite cannot store ${String(value)} (${typeof value})`)
  }
  return values
}
