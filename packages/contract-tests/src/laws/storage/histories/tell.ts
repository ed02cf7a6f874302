/**
 * A history in words, for whoever has to find out what went wrong in it.
 */
import { show } from "../../../equal.ts"
import { boundsOf, keyOf, newRow, orderOf, readOf } from "./decide.ts"
import type { Bounds, Read } from "./decide.ts"
import { fieldNames } from "./model.ts"
import type { History, ProgramSpec, StepSpec, TableSpec, WriteSpec } from "./model.ts"
import { isRead } from "./subject.ts"

export const tell = (history: History): string => {
  const { before, clients, shared, tables } = history
  return [
    ...tables.map((table, i) => `table ${i}: ${tellTable(table)}`),
    ...(shared ? ["two storages on one store"] : []),
    ...before.map((step) => `before: ${tellStep(history, step)}`),
    ...clients.flatMap((steps, i) => steps.map((step) => `client ${i}: ${tellStep(history, step)}`)),
  ].join("\n")
}

const tellTable = ({ bytes, indexes, key }: TableSpec): string => {
  const fields = (all: ReadonlyArray<{ readonly name: string; readonly desc: boolean }>) =>
    all.map(({ desc, name }) => (desc ? `${name} desc` : name)).join(", ")
  const told = indexes.map((one, i) => `${one.unique ? "unique" : "index"} ${i} (${fields(one.fields)})`)
  return [`key (${key.join(", ")})`, ...told, ...(bytes ? ["with bytes"] : [])].join(", ")
}

export const tellStep = ({ shared, tables }: History, step: StepSpec): string => {
  const { durability, program, storage } = step
  const called = isRead(step, shared) ? "read" : `transact ${durability}`
  return `${called}${shared ? ` on storage ${storage}` : ""}: ${tellProgram(tables, program)}`
}

const tellProgram = (tables: ReadonlyArray<TableSpec>, { end, reads, together, writes }: ProgramSpec): string => {
  const asked = reads.map((spec) => tellRead(readOf(tables, spec)))
  const grouped = together && asked.length > 1 ? [`all of [${asked.join("; ")}]`] : asked
  return [...grouped, ...writes.map((write) => tellWrite(tables, write)), end].join("; ")
}

const tellBounds = (bounds: Bounds): string =>
  Object.entries(bounds)
    .map(([name, values]) => ` ${name} ${show(values)}`)
    .join("")

const tellRead = (read: Read): string => {
  if (read.do === "get") return `get ${read.table} ${show(read.key)}`
  if (read.do === "find") return `find ${read.table} by unique ${read.index} ${show(read.values)}`
  const order = read.index === undefined ? "key" : `index ${read.index}`
  const limit = read.limit === undefined ? "" : ` limit ${read.limit}`
  return `range ${read.table} by ${order}${tellBounds(read.bounds)}${read.reverse ? " reverse" : ""}${limit}`
}

const tellWrite = (tables: ReadonlyArray<TableSpec>, spec: WriteSpec): string => {
  if (spec.do === "update") {
    const set = spec.fields.map((name) => `${name} ${spec.row.values[fieldNames.indexOf(name)]}`).join(", ")
    return `update row ${spec.seen} of those read (${set}, note ${show(spec.row.note)}, bytes ${spec.row.blob})`
  }
  const at = spec.table % tables.length
  const table = tables[at]!
  if (spec.do === "removeRange")
    return `removeRange ${at}${tellBounds(boundsOf(orderOf(table, undefined), spec.bounds))}`
  if (spec.do === "remove") {
    const unseen = newRow(table, { values: spec.values, note: undefined, blob: 0 }, 0)
    const key = `${at} ${show(keyOf(table, unseen))}`
    return spec.seen === undefined ? `remove ${key}` : `remove row ${spec.seen} of those read, or ${key}`
  }
  const { count: _count, ...row } = newRow(table, spec.row, 0)
  return `${spec.do} ${at} ${show(row)}`
}
