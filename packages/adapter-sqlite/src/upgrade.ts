/**
 * Makes the tables of a file what is declared.
 *
 * Guarantee: afterwards the file cannot be told from one that was new, but for tables that others declared. The caller's
 * transaction makes it all or nothing. No row is lost: one that cannot be read is carried over to the byte, and where
 * that is impossible, since its key would have to change, the upgrade fails.
 */
import { rememberedSchema } from "@skein/core/storage"
import type { AnyTable, Key, Schema, TableRebuild } from "@skein/core/storage"
import { TextDecoder } from "node:util"
import { remember } from "./bookkeeping.ts"
import type { Verdict } from "./bookkeeping.ts"
import type { Connection } from "./connection.ts"
import type { SqlValue } from "./driver.ts"
import { createStatements, quoted } from "./layout.ts"
import { decoded, makeDecoder, plainBytes } from "./record.ts"
import { insertSql } from "./writes.ts"

/** Settings that an upgrade needs and that cannot change in a transaction: views of other people keep their names. */
export const upgradeSettings = "PRAGMA legacy_alter_table = ON"

export const upgrade = (
  connection: Connection,
  schema: Schema,
  { plan, stored }: Extract<Verdict, { readonly _tag: "Upgrade" }>,
): void => {
  for (const table of plan.create) create(connection, table)
  for (const rebuild of plan.rebuild) rebuildTable(connection, rebuild)
  remember(connection, rememberedSchema(schema, stored))
}

const create = (connection: Connection, table: AnyTable): void => {
  for (const statement of createStatements(table)) connection.exec(statement)
}

/** Moves the old table aside, so that the new one is created by the very text that creates it in a new store. */
const rebuildTable = (connection: Connection, rebuild: TableRebuild): void => {
  const { name } = rebuild.table
  const aside = `skein_old_${name}`
  const indexes = connection.all(
    "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
    name,
  )
  for (const [index] of indexes) connection.exec(`DROP INDEX ${quoted(String(index))}`)
  connection.exec(`ALTER TABLE ${quoted(name)} RENAME TO ${quoted(aside)}`)
  create(connection, rebuild.table)
  copyRows(connection, aside, rebuild)
  connection.exec(`DROP TABLE ${quoted(aside)}`)
}

/** How many rows are held in memory at a time. */
const page = 100

const copyRows = (connection: Connection, aside: string, rebuild: TableRebuild): void => {
  const decoder = makeDecoder()
  const insert = connection.statement(insertSql(rebuild.table))
  const select = connection.statement(selectSql(connection, aside, rebuild))
  for (let after: SqlValue = Number.MIN_SAFE_INTEGER; ;) {
    const rows = select.all([after, page])
    for (const [rowId, bytes, json, ...parts] of rows) {
      const key: Key = parts.map((part) => (part instanceof Uint8Array ? new TextDecoder().decode(part) : part!))
      const upgraded = rebuild.row(key, decoded(decoder, json))
      if (upgraded === "unreadable") keepAsItIs(connection, aside, rebuild, rowId!)
      else if (upgraded !== undefined) {
        const values: Array<SqlValue> = [...upgraded.key, ...upgraded.columns, upgraded.json]
        if (rebuild.table.bytes !== undefined) values.push(bytes instanceof Uint8Array ? plainBytes(bytes) : null)
        insert.run(values)
      }
    }
    if (rows.length < page) return
    after = rows.at(-1)![0]!
  }
}

/** Text is read as bytes, since it may be damaged. */
const selectSql = (connection: Connection, aside: string, { storedKey, table }: TableRebuild): string => {
  const parts = storedKey
    .map(quoted)
    .map((part) => `CASE typeof(${part}) WHEN 'text' THEN CAST(${part} AS BLOB) ELSE ${part} END`)
  const columns = ["rowid", bytesSql(connection, aside, table), `CAST("json" AS BLOB)`, ...parts]
  return `SELECT ${columns.join(", ")} FROM ${quoted(aside)} WHERE rowid > ? ORDER BY rowid LIMIT ?`
}

/** The bytes of the old table, if it had any. */
const bytesSql = (connection: Connection, aside: string, table: AnyTable): string => {
  const hasBytes = connection.all("SELECT 1 FROM pragma_table_info(?) WHERE name = 'bytes'", aside).length > 0
  return hasBytes && table.bytes !== undefined ? `"bytes"` : "NULL"
}

const keepAsItIs = (
  connection: Connection,
  aside: string,
  { storedKey, table }: TableRebuild,
  rowId: SqlValue,
): void => {
  const names = [...storedKey.map(quoted), `"json"`]
  const values = [...storedKey.map(quoted), `coalesce(CAST("json" AS TEXT), '')`]
  if (table.bytes !== undefined) {
    names.push(`"bytes"`)
    values.push(bytesSql(connection, aside, table))
  }
  connection
    .statement(
      `INSERT INTO ${quoted(table.name)} (${names.join(", ")})
       SELECT ${values.join(", ")} FROM ${quoted(aside)} WHERE rowid = ?`,
    )
    .run([rowId])
}
