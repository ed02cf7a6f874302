/**
 * Applies what a machine has decided to write, in its order.
 *
 * Guarantee: an update that finds no row is an error, not silence. Of the columns only those that changed are written, so
 * that no index is touched for nothing.
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

/** All columns: what is written when it is not known which of them changed. */
const everyColumn = -1

class TableWrites {
  readonly #connection: Connection
  readonly #table: AnyTable
  readonly #statements = new Map<RowWrite["_tag"], Statement>()
  /** By which columns they write: one bit a column. */
  readonly #updates = new Map<number, Statement>()

  constructor(connection: Connection, table: AnyTable) {
    this.#connection = connection
    this.#table = table
  }

  write(row: RowWrite): void {
    switch (row._tag) {
      case "Remove":
        this.#statement(row._tag).run(row.key)
        return
      case "Update":
        this.#update(row)
        return
      default: {
        const values: Array<SqlValue> = [...row.key, ...row.columns]
        this.#statement(row._tag).run(this.#withBody(values, row))
      }
    }
  }

  removeRange(removal: RangeRemoval): void {
    if (isEmpty(removal)) return
    const form = formOf(removal)
    this.#connection.statement(removalSql(this.#table, form)).run(boundValues(removal, form))
  }

  #update(row: StoringWrite): void {
    const changes = changedColumns(row)
    const values = this.#withBody(
      row.columns.filter((_, at) => isAmong(changes, at)),
      row,
    )
    values.push(...row.key)
    let statement = this.#updates.get(changes)
    if (statement === undefined) {
      statement = this.#connection.statement(updateSql(this.#table, changes))
      this.#updates.set(changes, statement)
    }
    if (statement.run(values) === 0)
      throw new Error(`${this.#table.name} has no row ${JSON.stringify(row.key)} to update`)
  }

  #withBody(values: Array<SqlValue>, { bytes, json }: StoringWrite): Array<SqlValue> {
    values.push(json)
    if (this.#table.bytes !== undefined) values.push(bytes ?? null)
    return values
  }

  #statement(tag: keyof typeof writeSql): Statement {
    const known = this.#statements.get(tag)
    if (known !== undefined) return known
    const statement = this.#connection.statement(writeSql[tag](this.#table))
    this.#statements.set(tag, statement)
    return statement
  }
}

type StoringWrite = Exclude<RowWrite, { readonly _tag: "Remove" }>

/** The columns that differ from the stored row: writing another would rewrite its indexes for nothing. */
const changedColumns = ({ columns, columnsChanged, storedColumns }: StoringWrite): number => {
  if (!columnsChanged) return 0
  // More columns than a number has bits are written together.
  if (storedColumns === undefined || columns.length > 30) return everyColumn
  let changes = 0
  for (let at = 0; at < columns.length; at++) if (columns[at] !== storedColumns[at]) changes |= 1 << at
  return changes
}

const isAmong = (changes: number, at: number) => changes === everyColumn || (changes & (1 << at)) !== 0

const keyNames = (table: AnyTable) => table.key.map(({ name }) => quoted(name))
const columnNames = (table: AnyTable) => table.columns.map(({ name }) => quoted(name))
const bodyNames = (table: AnyTable) => (table.bytes === undefined ? [`"json"`] : [`"json"`, `"bytes"`])

export const insertSql = (table: AnyTable): string => {
  const names = [...keyNames(table), ...columnNames(table), ...bodyNames(table)]
  return `INSERT INTO ${quoted(table.name)} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`
}

/** Writes the body, and of the columns those that changed. */
export const updateSql = (table: AnyTable, changes: number): string => {
  const names = [...columnNames(table).filter((_, at) => isAmong(changes, at)), ...bodyNames(table)]
  return `UPDATE ${quoted(table.name)} SET ${names.map((name) => `${name} = ?`).join(", ")} ${whereKey(table)}`
}

const whereKey = (table: AnyTable) =>
  `WHERE ${keyNames(table)
    .map((name) => `${name} = ?`)
    .join(" AND ")}`

/** The statements that do not depend on what changed. */
export const writeSql = {
  Insert: insertSql,
  Put: (table: AnyTable): string => {
    const changes = [...columnNames(table), ...bodyNames(table)].map((name) => `${name} = excluded.${name}`)
    return `${insertSql(table)} ON CONFLICT (${keyNames(table).join(", ")}) DO UPDATE SET ${changes.join(", ")}`
  },
  Remove: (table: AnyTable): string => `DELETE FROM ${quoted(table.name)} ${whereKey(table)}`,
} as const

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
