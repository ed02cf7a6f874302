/**
 * How a declared table lies in the file: real columns for the key and the index fields, the row's JSON, its bytes.
 *
 * Guarantee: a declaration gives the same text in every store, so an upgraded store cannot be told from a new one, and
 * other programs can read it (`sqlite3`, Datasette). Names are the declared ones; a `desc int` column holds the negated
 * value and ends in `_desc`; the index `byId` of the table `entry` is `entry_byId`.
 *
 * Rows are kept in rowid tables: they are wide, and in a table without rowids inner pages would carry them.
 */
import type { AnyTable, Field, FieldKind, Index } from "@skein/core/storage"

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const typeOf = (kind: FieldKind) => (kind === "text" ? "TEXT" : "INTEGER")

/** The statements that create a table and its indexes. */
export const createStatements = (table: AnyTable): ReadonlyArray<string> => [
  createTable(table),
  ...table.indexes.map((index) => createIndex(table, index)),
]

const createTable = (table: AnyTable): string => {
  const lines = [
    ...table.key.map(({ kind, name }) => `${quoted(name)} ${typeOf(kind)} NOT NULL`),
    ...table.columns.map(({ kind, name }) => `${quoted(name)} ${typeOf(kind)}`),
    `"json" TEXT NOT NULL`,
    ...(table.bytes === undefined ? [] : [`"bytes" BLOB`]),
    `PRIMARY KEY (${table.key.map(({ name }) => quoted(name)).join(", ")})`,
  ]
  return `CREATE TABLE ${quoted(table.name)} (\n  ${lines.join(",\n  ")}\n) STRICT`
}

/** Rows that lack a field are not in the index, which keeps it small where few rows have it. */
const createIndex = (table: AnyTable, index: Index): string => {
  const kind = index.unique ? "UNIQUE INDEX" : "INDEX"
  const columns = index.parts.map((_, i) => orderColumn(table, index, i)).join(", ")
  const present = presence(table, index)
  const where = present.length === 0 ? "" : ` WHERE ${present.join(" AND ")}`
  return `CREATE ${kind} ${quoted(indexName(table, index))} ON ${quoted(table.name)} (${columns})${where}`
}

export const indexName = (table: AnyTable, index: Index): string => `${table.name}_${index.name}`

/** The conditions that a row meets which is in the index. A query has to repeat them to be answered by it. */
export const presence = (table: AnyTable, index: Index): ReadonlyArray<string> =>
  index.parts.flatMap(({ from }, i) => (from === "key" ? [] : [`${orderColumn(table, index, i)} IS NOT NULL`]))

/** What rows are ordered by, over the key or over an index. */
export const orderOf = (table: AnyTable, index: Index | undefined): ReadonlyArray<Field> =>
  index === undefined ? table.key : index.order

/** The column that holds one part of an order, ready for SQL. */
export const orderColumn = (table: AnyTable, index: Index | undefined, at: number): string => {
  if (index === undefined) return quoted(table.key[at]!.name)
  const part = index.parts[at]!
  return quoted(part.from === "key" ? table.key[part.at]!.name : table.columns[part.at]!.name)
}

/**
 * Names the one index that may serve an order, so that no statistics and no other index can change how a read is made.
 * A key of one whole number is the rowid itself and has no index.
 */
export const indexedBy = (table: AnyTable, index: Index | undefined): string => {
  if (index !== undefined) return `INDEXED BY ${quoted(indexName(table, index))}`
  const isRowId = table.key.length === 1 && table.key[0]!.kind === "int"
  return isRowId ? "NOT INDEXED" : `INDEXED BY ${quoted(`sqlite_autoindex_${table.name}_1`)}`
}
