/**
 * The statements that read.
 *
 * Guarantee: each names the index that serves it and asks for that index's order, so that SQLite has no choice and sorts
 * nothing, forwards or backwards.
 */
import type { AnyTable, Index } from "@skein/core/storage"
import { conditions, sharedParts } from "./bounds.ts"
import type { BoundsForm } from "./bounds.ts"
import { indexedBy, orderColumn, orderOf, presence, quoted } from "./layout.ts"
import { joinedSql, jsonSql, recordShape, recordSql } from "./record.ts"

/** What ranges have in common that are read by one statement. */
export interface RangeForm {
  readonly table: AnyTable
  readonly index: Index | undefined
  readonly form: BoundsForm
  readonly reverse: boolean
}

export const getSql = (table: AnyTable): string => {
  const bytes = table.bytes === undefined ? "" : `, "bytes"`
  const where = table.key.map(({ name }) => `${quoted(name)} = ?`).join(" AND ")
  return `SELECT CAST(${jsonSql()} AS BLOB)${bytes} FROM ${quoted(table.name)} WHERE ${where}`
}

/** The rest of a query of one range, from FROM on. */
const selection = ({ form, index, reverse, table }: RangeForm, alias: string, place: (value: number) => string) => {
  const column = (at: number) => `${alias}.${orderColumn(table, index, at)}`
  const present = index === undefined ? [] : presence(table, index).map((condition) => `${alias}.${condition}`)
  const where = [...conditions(form, column, place), ...present].join(" AND ")
  // The shared parts are the same in all rows; the rest is the order of the index.
  const order = orderOf(table, index)
    .map((_, i) => (reverse ? `${column(i)} DESC` : column(i)))
    .slice(sharedParts(form))
  return [
    `FROM ${quoted(table.name)} AS ${alias} ${indexedBy(table, index)}`,
    ...(where === "" ? [] : [`WHERE ${where}`]),
    ...(order.length === 0 ? [] : [`ORDER BY ${order.join(", ")}`]),
    "LIMIT ?",
  ].join(" ")
}

const recordOf = ({ form, index, table }: RangeForm, from = "") =>
  recordSql(recordShape(table, index, sharedParts(form)), from)

/** One value for the whole range. */
export const joinedRangeSql = (common: RangeForm): string =>
  `SELECT ${joinedSql("record")} FROM (SELECT ${recordOf(common, "t.")} AS record ${selection(common, "t", () => "?")})`

/** One row a row, for bytes, and for what does not come apart. */
export const singleRowsSql = (common: RangeForm): string => {
  const bytes = common.table.bytes === undefined ? "" : `, t."bytes"`
  return `SELECT CAST(${recordOf(common, "t.")} AS BLOB)${bytes} ${selection(common, "t", () => "?")}`
}

/** One value for many ranges, whose bounds come as JSON; each record begins with the number of its range. */
export const manyRangesSql = (common: RangeForm): string => {
  const rows = `SELECT x.rowid ${selection(common, "x", (value) => `(r.value ->> ${value})`)}`
  const record = `r.key || char(10) || ${recordOf(common, "t.")}`
  const source = `json_each(?) AS r CROSS JOIN ${quoted(common.table.name)} AS t`
  return `SELECT ${joinedSql(record)} FROM ${source} WHERE t.rowid IN (${rows})`
}
