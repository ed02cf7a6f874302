/**
 * Rows on their way out of SQLite, as text: the fields of a row one a line, its JSON last.
 *
 * A range leaves SQLite as one value, all its rows joined, since handing over each cell by itself costs more than SQLite
 * needs to find it. The value leaves as bytes, since a driver may abort the process over text that is not UTF-8.
 *
 * Guarantee: damage is contained. JSON as it is written holds no line break, so lines that do not add up mean a damaged
 * or hand-edited row; such a range is read row by row, where the first lines are the key and whatever follows is the
 * JSON. JSON that is not UTF-8 is handed over as the bytes it is.
 */
import type { AnyTable, Index, Key, KeyPart } from "@skein/core/storage"
import { TextDecoder } from "node:util"
import type { SqlValue } from "./driver.ts"
import { orderColumn, orderOf, quoted } from "./layout.ts"

/** Where a part of a key or of a place is found: among the range's shared parts, or on a line of the record. */
interface Source {
  readonly isShared: boolean
  readonly at: number
  readonly isNumber: boolean
}

/** What a record holds, for ranges whose first parts are shared by all rows: those are known and not read again. */
export interface RecordShape {
  readonly columns: ReadonlyArray<string>
  readonly key: ReadonlyArray<Source>
  readonly place: ReadonlyArray<Source> | undefined
}

export const recordShape = (table: AnyTable, index: Index | undefined, shared: number): RecordShape => {
  const order = orderOf(table, index)
  const ordered = order.map((_, i) => orderColumn(table, index, i))
  const columns: Array<string> = []
  const sourceOf = (column: string, kind: string): Source => {
    const isNumber = kind !== "text"
    const inOrder = ordered.indexOf(column)
    if (inOrder >= 0 && inOrder < shared) return { isShared: true, at: inOrder, isNumber }
    const known = columns.indexOf(column)
    return { isShared: false, at: known < 0 ? columns.push(column) - 1 : known, isNumber }
  }
  return {
    key: table.key.map(({ kind, name }) => sourceOf(quoted(name), kind)),
    place: index === undefined ? undefined : order.map(({ kind }, i) => sourceOf(ordered[i]!, kind)),
    columns,
  }
}

const lineBreak = "char(10)"

/** A record as an SQL expression. `from` qualifies the columns, as in `t.`. */
export const recordSql = ({ columns }: RecordShape, from = ""): string =>
  [...columns.map((column) => from + column), jsonSql(from)].join(` || ${lineBreak} || `)

/** In a damaged file even a column that cannot be NULL may be. */
export const jsonSql = (from = ""): string => `coalesce(${from}"json", '')`

/** How many records there are, and all of them joined, as two SQL expressions. */
export const joinedSql = (record: string): string => `count(*), CAST(group_concat(${record}, ${lineBreak}) AS BLOB)`

/** The lines of joined records of `width` lines each, or `undefined` when they do not add up. */
export const linesOf = (
  decoder: TextDecoder,
  [count, joined]: ReadonlyArray<SqlValue>,
  width: number,
): ReadonlyArray<string> | undefined => {
  if (count === 0) return []
  const text = decoded(decoder, joined)
  if (typeof text !== "string") return undefined
  const lines = text.split("\n")
  return lines.length === (count as number) * width ? lines : undefined
}

/** A key or a place of the record that begins at a line. */
export const partsAt = (
  sources: ReadonlyArray<Source>,
  shared: Key,
  lines: ReadonlyArray<string>,
  start: number,
): Key => {
  const parts: Array<KeyPart> = []
  for (const { at, isNumber, isShared } of sources) {
    if (isShared) parts.push(shared[at]!)
    else parts.push(isNumber ? Number(lines[start + at]) : lines[start + at]!)
  }
  return parts
}

/** One record that was read by itself: its lines, and its JSON whatever that is. */
export const splitRecord = (
  decoder: TextDecoder,
  bytes: Uint8Array,
  { columns }: RecordShape,
): { readonly lines: ReadonlyArray<string>; readonly json: string | Uint8Array } => {
  const lines: Array<string> = []
  let start = 0
  for (let i = 0; i < columns.length; i++) {
    const end = bytes.indexOf(10, start)
    lines.push(lossy(bytes.subarray(start, end)))
    start = end + 1
  }
  return { lines, json: decoded(decoder, bytes.subarray(start)) }
}

/** Strict, so that what is not UTF-8 is noticed; and it takes nothing for a mark of byte order. */
export const makeDecoder = (): TextDecoder => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Text, or the bytes themselves when they are not UTF-8 or are longer than a string can be. */
export const decoded = (decoder: TextDecoder, value: SqlValue | undefined): string | Uint8Array => {
  const bytes = value as Uint8Array
  try {
    return decoder.decode(bytes)
  } catch {
    return plainBytes(bytes)
  }
}

const lossy = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

/** Drivers answer with a subclass of `Uint8Array`. */
export const plainBytes = (bytes: Uint8Array): Uint8Array =>
  new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
