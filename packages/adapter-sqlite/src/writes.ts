/**
 * Applies what a machine has decided to write, in its order.
 *
 * Guarantee: an update that finds no row is an error, not silence. Where no index field changed, only the JSON is
 * written, so that no index is touched.
 */
import type { AnyTable, RangeRemoval, RowWrite, WriteStep } from "@skein/core/storage"
import { boundValues, conditions, formOf, isEmpty } from "./bounds.ts"
import type { BoundsForm } from "./bounds.ts"
import type { Connection } from "./connection.ts"
import type { SqlValue, Statement } from "./driver.ts"
import { indexedBy, orderColumn, quoted } from "./layout.ts"

/** All writes of one connection. */
export class Writes {
  readonly #connection: Connection
  readonly #tables = new Map<AnyTable, TableWrites>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  apply({ removals, rows }: WriteStep): void {
    for (const removal of removals) this.table(removal.table).removeRange(removal)
    for (const row of rows) this.table(row.table).write(row)
  }

  table(table: AnyTable): TableWrites {
    const known = this.#tables.get(table)
    if (known !== undefined) return known
    const writes = new TableWrites(this.#connection, table)
    this.#tables.set(table, writes)
    return writes
  }
}

type Kind = "Insert" | "Put" | "Update" | "UpdateJson" | "Remove"

class TableWrites {
  readonly #connection: Connection
  readonly #table: AnyTable
  readonly #statements = new Map<Kind, Statement>()

  constructor(connection: Connection, table: AnyTable) {
    this.#connection = connection
    this.#table = table
  }

  write(row: RowWrite): void {
    if (row._tag === "Remove") {
      this.#statement("Remove").run(row.key)
      return
    }
    const { bytes, columns, json, key } = row
    const values: Array<SqlValue> = []
    if (row._tag !== "Update") {
      values.push(...key, ...columns, json)
      if (this.#table.bytes !== undefined) values.push(bytes ?? null)
      this.#statement(row._tag).run(values)
      return
    }
    if (row.columnsChanged) values.push(...columns)
    values.push(json)
    if (this.#table.bytes !== undefined) values.push(bytes ?? null)
    values.push(...key)
    const changed = this.#statement(row.columnsChanged ? "Update" : "UpdateJson").run(values)
    if (changed === 0) throw new Error(`${this.#table.name} has no row ${JSON.stringify(key)} to update`)
  }

  removeRange(removal: RangeRemoval): void {
    if (isEmpty(removal)) return
    const form = formOf(removal)
    this.#connection.statement(removalSql(this.#table, form)).run(boundValues(removal, form))
  }

  #statement(kind: Kind): Statement {
    const known = this.#statements.get(kind)
    if (known !== undefined) return known
    const statement = this.#connection.statement(writeSql[kind](this.#table))
    this.#statements.set(kind, statement)
    return statement
  }
}

const keyNames = (table: AnyTable) => table.key.map(({ name }) => quoted(name))
const columnNames = (table: AnyTable) => table.columns.map(({ name }) => quoted(name))
const bodyNames = (table: AnyTable) => (table.bytes === undefined ? [`"json"`] : [`"json"`, `"bytes"`])

const insertSql = (table: AnyTable): string => {
  const names = [...keyNames(table), ...columnNames(table), ...bodyNames(table)]
  return `INSERT INTO ${quoted(table.name)} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`
}

const updateSql = (table: AnyTable, names: ReadonlyArray<string>): string => {
  const changes = names.map((name) => `${name} = ?`).join(", ")
  return `UPDATE ${quoted(table.name)} SET ${changes} ${whereKey(table)}`
}

const whereKey = (table: AnyTable) =>
  `WHERE ${keyNames(table)
    .map((name) => `${name} = ?`)
    .join(" AND ")}`

/** The statement that makes one kind of change, for any table. */
export const writeSql: Readonly<Record<Kind, (table: AnyTable) => string>> = {
  Insert: insertSql,
  Put: (table) => {
    const changes = [...columnNames(table), ...bodyNames(table)].map((name) => `${name} = excluded.${name}`)
    return `${insertSql(table)} ON CONFLICT (${keyNames(table).join(", ")}) DO UPDATE SET ${changes.join(", ")}`
  },
  Update: (table) => updateSql(table, [...columnNames(table), ...bodyNames(table)]),
  UpdateJson: (table) => updateSql(table, bodyNames(table)),
  Remove: (table) => `DELETE FROM ${quoted(table.name)} ${whereKey(table)}`,
}

/** Without bounds, SQLite drops all rows at once. */
export const removalSql = (table: AnyTable, form: BoundsForm): string => {
  const where = conditions(
    form,
    (at) => orderColumn(table, undefined, at),
    () => "?",
  )
  if (where.length === 0) return `DELETE FROM ${quoted(table.name)}`
  return `DELETE FROM ${quoted(table.name)} ${indexedBy(table, undefined)} WHERE ${where.join(" AND ")}`
}
