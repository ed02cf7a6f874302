/**
 * A SQLite file as another program sees it: by the raw engine, on a connection that never wrote.
 *
 * What a store says of itself proves nothing about what is on disk, so everything here that is claimed about a file is
 * read from outside.
 */
import { copyFileSync, existsSync } from "node:fs"
import Database from "libsql"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import type { AnyTable } from "@skein/core/storage"
import { coreTables } from "../../packages/core/src/schema.ts"
import { problemsIn } from "./invariants.ts"
import { gather } from "./rows.ts"
import type { StoreRows } from "./rows.ts"

export interface FileReport {
  readonly rows: StoreRows
  /** Damage, columns that are not what the row beside them says, and every invariant that does not hold. */
  readonly problems: ReadonlyArray<string>
}

/** Looks at a file that other connections may be using. */
export const inspectFile = (path: string): FileReport =>
  withFile(path, (database) => {
    const problems: Array<string> = []
    const integrity = database.prepare("PRAGMA integrity_check").raw(true).all() as ReadonlyArray<[string]>
    for (const [line] of integrity) if (line !== "ok") problems.push(`integrity_check: ${line}`)
    // All tables as they were at one moment.
    database.exec("BEGIN")
    const rows = Effect.runSync(gather((table) => Effect.sync(() => readTable(database, table, problems))))
    database.exec("COMMIT")
    problems.push(...problemsIn(rows))
    return { rows, problems }
  })

/** Opens a file for one look. */
export const withFile = <A>(path: string, look: (database: Database.Database) => A): A => {
  const database = new Database(path, { timeout: 1_000 })
  try {
    database.exec("PRAGMA query_only = ON")
    return look(database)
  } finally {
    database.close()
  }
}

/** The rows of a table, joined with their keys; what is wrong with them is added to `problems`. */
const readTable = (database: Database.Database, table: AnyTable, problems: Array<string>): ReadonlyArray<unknown> => {
  const key = table.key.map(({ name }) => name)
  const bytes = table.bytes === undefined ? [] : ["bytes"]
  const names = [...key, ...table.columns.map(({ name }) => name), ...bytes, "json"]
  const columns = names.map((name) => `"${name}"`).join(", ")
  const order = key.map((name) => `"${name}"`).join(", ")
  const found = database.prepare(`SELECT ${columns} FROM "${table.name}" ORDER BY ${order}`).raw(true).all()
  return (found as ReadonlyArray<ReadonlyArray<unknown>>).map((values) => {
    const keyParts = values.slice(0, key.length)
    const row = {
      ...JSON.parse(String(values.at(-1))),
      ...(table.bytes !== undefined && { [table.bytes]: new Uint8Array(values.at(-2) as Uint8Array) }),
      ...Object.fromEntries(key.map((name, i) => [name, keyParts[i]])),
    } as Record<string, unknown>
    const name = `${table.name} ${JSON.stringify(keyParts)}`
    const checked = z.safeParse(table.row, row)
    if (!checked.success) problems.push(`${name} is not what its table says: ${checked.error.message}`)
    for (const [i, column] of table.columns.entries()) {
      const stored = values[key.length + i]
      const declared = row[column.field] ?? null
      const expected = column.kind === "desc int" && typeof declared === "number" ? 0 - declared : declared
      if (stored !== expected) problems.push(`${name}: ${column.name} is ${String(stored)}, not ${String(expected)}`)
    }
    return row
  })
}

/** Copies a store with its log, as a process that stops now leaves it. */
export const copyStore = (from: string, to: string): string => {
  copyFileSync(from, to)
  if (existsSync(`${from}-wal`)) copyFileSync(`${from}-wal`, `${to}-wal`)
  return to
}

/** How many rows each of skein's tables holds. */
export const countRows = (path: string): Readonly<Record<string, number>> =>
  withFile(path, (database) =>
    Object.fromEntries(
      coreTables.map(({ name }) => {
        const row = database.prepare(`SELECT count(*) FROM "${name}"`).raw(true).get() as readonly [number]
        return [name, row[0]]
      }),
    ),
  )

/** Whether somebody is in the midst of a commit. */
export const isBeingWritten = (path: string): boolean => {
  const database = new Database(path, { timeout: 0 })
  try {
    database.exec("BEGIN IMMEDIATE; ROLLBACK")
    return false
  } catch {
    return true
  } finally {
    database.close()
  }
}
