/**
 * What a program reads and, from what it was answered, decides to write: in full, without a choice left.
 *
 * Both the program under test and the oracle act on this; neither may know how the other carries it out. It keeps the
 * rules of programs (one write a key, ranges first, unique values stay), so that what remains is what engines must do.
 */
import { ints, isInt, storedValues, texts } from "./model.ts"
import type {
  BoundsSpec,
  EndSpec,
  FieldName,
  IndexSpec,
  Numbers,
  ProgramSpec,
  ReadSpec,
  RowSpec,
  TableSpec,
} from "./model.ts"
import { fieldNames } from "./model.ts"

export type Value = string | number
/** Rows have some of the fields, a counter, and perhaps a note and bytes. */
export interface Row {
  readonly a?: number
  readonly b?: number
  readonly c?: number
  readonly s?: string
  readonly t?: string
  readonly u?: string
  readonly count: number
  readonly note?: unknown
  readonly blob?: Uint8Array
}

export interface Bounds {
  readonly prefix?: ReadonlyArray<Value>
  readonly from?: ReadonlyArray<Value>
  readonly after?: ReadonlyArray<Value>
  readonly to?: ReadonlyArray<Value>
  readonly before?: ReadonlyArray<Value>
}

/** `table` is a place in the history's tables. `index` is a place in its indexes; absent stands for the key. */
export type Read =
  | { readonly do: "get"; readonly table: number; readonly key: ReadonlyArray<Value> }
  | { readonly do: "find"; readonly table: number; readonly index: number; readonly values: ReadonlyArray<Value> }
  | {
      readonly do: "range"
      readonly table: number
      readonly index: number | undefined
      readonly bounds: Bounds
      readonly reverse: boolean
      readonly limit: number | undefined
    }
export type Write =
  | { readonly do: "insert" | "put"; readonly table: number; readonly key: ReadonlyArray<Value>; readonly row: Row }
  | {
      readonly do: "update"
      readonly table: number
      readonly key: ReadonlyArray<Value>
      readonly change: (row: Row) => Row
    }
  | { readonly do: "remove"; readonly table: number; readonly key: ReadonlyArray<Value> }
  | { readonly do: "removeRange"; readonly table: number; readonly bounds: Bounds }

/** What one read was answered: a row or nothing, or a list of rows. */
export type Answer = Row | undefined | ReadonlyArray<Row>

const nth = <A>(items: ReadonlyArray<A>, n: number): A => items[n % items.length]!

/** A field's value as a key needs it, from what may also be asked for. */
const asked = (name: FieldName, values: Numbers): Value => {
  const n = values[fieldNames.indexOf(name)]!
  return isInt(name) ? nth(ints, n) : nth(texts, n)
}

/** A field's value as a row has it; the last number leaves the field out. */
const stored = (name: FieldName, values: Numbers): Value | undefined => {
  const n = values[fieldNames.indexOf(name)]! % (storedValues + 1)
  return n === storedValues ? undefined : isInt(name) ? ints[n] : texts[n]
}

export const keyOf = (table: TableSpec, row: Row): ReadonlyArray<Value> => table.key.map((name) => row[name]!)

/** The fields that an order sorts by: those of an index and, unless it is unique, the rest of the key. */
export const orderOf = (table: TableSpec, index: IndexSpec | undefined) => {
  const key = table.key.map((name) => ({ name, desc: false }))
  if (index === undefined) return key
  const rest = key.filter(({ name }) => !index.fields.some((field) => field.name === name))
  return index.unique ? index.fields : [...index.fields, ...rest]
}

export const boundsOf = (order: ReadonlyArray<{ readonly name: FieldName }>, spec: BoundsSpec): Bounds => {
  const length = spec.prefix % (order.length + 1)
  const valuesFrom = (values: Numbers, from: number, to: number) =>
    order.slice(from, to).map(({ name }) => asked(name, values))
  const prefix = valuesFrom(spec.prefixValues, 0, length)
  const end = ({ kind, parts, values }: EndSpec, inclusive: "from" | "to", exclusive: "after" | "before"): Bounds => {
    if (kind === "none") return {}
    const beyond = length + (parts % (order.length - length + 1))
    const bound = [...prefix, ...valuesFrom(values, length, beyond)]
    return { [kind === "inclusive" ? inclusive : exclusive]: bound }
  }
  return {
    ...(length > 0 && { prefix }),
    ...end(spec.lower, "from", "after"),
    ...end(spec.upper, "to", "before"),
  }
}

/** One read in full. A look-up by unique index in a table that has none is one by key. */
export const readOf = (tables: ReadonlyArray<TableSpec>, spec: ReadSpec): Read => {
  const at = spec.table % tables.length
  const table = tables[at]!
  const byKey = (values: Numbers): Read => ({ do: "get", table: at, key: table.key.map((name) => asked(name, values)) })
  if (spec.do === "get") return byKey(spec.values)
  if (spec.do === "find") {
    const unique = table.indexes.flatMap((index, i) => (index.unique ? [i] : []))
    if (unique.length === 0) return byKey(spec.values)
    const index = nth(unique, spec.index)
    const values = table.indexes[index]!.fields.map(({ name }) => asked(name, spec.values))
    return { do: "find", table: at, index, values }
  }
  const index =
    spec.order % (table.indexes.length + 1) === 0 ? undefined : (spec.order % (table.indexes.length + 1)) - 1
  const order = orderOf(table, index === undefined ? undefined : table.indexes[index])
  const { limit, reverse } = spec
  return {
    do: "range",
    table: at,
    index,
    bounds: boundsOf(order, spec.bounds),
    reverse,
    limit: limit > 5 ? undefined : limit,
  }
}

interface Seen {
  readonly table: number
  readonly row: Row
}

const rowsOf = (answer: Answer): ReadonlyArray<Row> =>
  answer === undefined ? [] : Array.isArray(answer) ? answer : [answer as Row]

/** Every field that a unique index of the table has. */
const fixedFields = (table: TableSpec): ReadonlyArray<FieldName> =>
  table.indexes.filter(({ unique }) => unique).flatMap(({ fields }) => fields.map(({ name }) => name))

export const newRow = (table: TableSpec, { blob, note, values }: RowSpec, count: number): Row => {
  const row: Record<string, unknown> = { count }
  for (const name of fieldNames) {
    const value = stored(name, values) ?? (table.key.includes(name) ? (isInt(name) ? ints[0] : texts[0]) : undefined)
    if (value !== undefined) row[name] = value
  }
  if (note !== undefined) row["note"] = note
  if (table.bytes && blob > 0) row["blob"] = new Uint8Array(blob).fill(blob)
  return row as unknown as Row
}

const changed = (table: TableSpec, fields: ReadonlyArray<FieldName>, spec: RowSpec, row: Row): Row => {
  const fresh = newRow(table, spec, row.count + 1)
  const { blob: _blob, note: _note, ...rest } = row
  const result: Record<string, unknown> = { ...rest, count: fresh.count }
  for (const name of fields) {
    if (table.key.includes(name) || fixedFields(table).includes(name)) continue
    if (fresh[name] === undefined) delete result[name]
    else result[name] = fresh[name]
  }
  // A note of nothing keeps the old one, so that updates of every extent occur.
  const note = fresh.note ?? row.note
  if (note !== undefined) result["note"] = note
  const blob = fields.length % 2 === 0 ? row.blob : fresh.blob
  if (blob !== undefined) result["blob"] = blob
  return result as unknown as Row
}

/** Whether a key lies in bounds over the key. */
export const inBounds = (
  order: ReadonlyArray<{ readonly desc: boolean }>,
  place: ReadonlyArray<Value>,
  { after, before, from, prefix, to }: Bounds,
): boolean => {
  /** Where the place stands to a bound: before, in, or after all places that begin with it. */
  const side = (bound: ReadonlyArray<Value>): number => {
    const at = bound.findIndex((part, i) => part !== place[i])
    if (at < 0) return 0
    const isSmaller = place[at]! < bound[at]!
    return isSmaller === order[at]!.desc ? 1 : -1
  }
  return (
    (prefix === undefined || side(prefix) === 0) &&
    (from === undefined || side(from) >= 0) &&
    (after === undefined || side(after) > 0) &&
    (to === undefined || side(to) <= 0) &&
    (before === undefined || side(before) < 0)
  )
}

/** The writes of a program, ranges first, each key written once (but for updates of it). */
export const writesOf = (
  tables: ReadonlyArray<TableSpec>,
  program: ProgramSpec,
  reads: ReadonlyArray<Read>,
  answers: ReadonlyArray<Answer>,
): ReadonlyArray<Write> => {
  const seen: ReadonlyArray<Seen> = reads.flatMap(({ table }, i) => rowsOf(answers[i]).map((row) => ({ table, row })))
  /** What was read flows into what is written, so that a wrong answer spreads. */
  const sum = seen.reduce((total, { row }) => (total + row.count) % 1_000, 1)
  const removals: Array<Write> = []
  const writes: Array<Write> = []
  const written = new Map<string, Write["do"]>()
  const idOf = (table: number, key: ReadonlyArray<Value>) => JSON.stringify([table, key])
  const isFree = (table: number, key: ReadonlyArray<Value>) => !written.has(idOf(table, key))
  const name = (write: Exclude<Write, { readonly do: "removeRange" }>) => {
    written.set(idOf(write.table, write.key), write.do)
    writes.push(write)
  }
  for (const spec of program.writes) {
    if (spec.do !== "removeRange") continue
    const at = spec.table % tables.length
    removals.push({ do: "removeRange", table: at, bounds: boundsOf(orderOf(tables[at]!, undefined), spec.bounds) })
  }
  const isRemoved = (table: number, key: ReadonlyArray<Value>) =>
    removals.some(
      (removal) =>
        removal.do === "removeRange" &&
        removal.table === table &&
        inBounds(orderOf(tables[table]!, undefined), key, removal.bounds),
    )
  for (const spec of program.writes) {
    if (spec.do === "removeRange") continue
    if (spec.do === "update") {
      // An update might mend the bad value before anybody looks at it.
      if (seen.length === 0 || program.end === "bad value") continue
      const { row, table } = nth(seen, spec.seen)
      const key = keyOf(tables[table]!, row)
      const before = written.get(idOf(table, key))
      const mayUpdate = before === "remove" ? false : before !== undefined || !isRemoved(table, key)
      if (mayUpdate) {
        const change = (one: Row) => changed(tables[table]!, spec.fields, spec.row, one)
        written.set(idOf(table, key), before ?? "update")
        writes.push({ do: "update", table, key, change })
      }
      continue
    }
    const at = spec.table % tables.length
    const table = tables[at]!
    if (spec.do === "remove") {
      const target = spec.seen === undefined || seen.length === 0 ? undefined : nth(seen, spec.seen)
      const [where, key] =
        target === undefined
          ? [at, table.key.map((name) => asked(name, spec.values))]
          : [target.table, keyOf(tables[target.table]!, target.row)]
      if (isFree(where, key)) name({ do: "remove", table: where, key })
      continue
    }
    const row = newRow(table, spec.row, sum)
    const key = keyOf(table, row)
    // Tables with a unique index have no put.
    const kind = fixedFields(table).length > 0 ? "insert" : spec.do
    if (isFree(at, key)) name({ do: kind, table: at, key, row })
  }
  return program.end === "bad value" ? [...removals, ...withBadValue(writes)] : [...removals, ...writes]
}

/** The first row that is written gets a note that is no JSON. */
const withBadValue = (writes: ReadonlyArray<Write>): ReadonlyArray<Write> => {
  const at = writes.findIndex((write) => write.do === "insert" || write.do === "put")
  return writes.map((write, i) =>
    i === at && (write.do === "insert" || write.do === "put")
      ? { ...write, row: { ...write.row, note: [Number.NaN] } }
      : write,
  )
}
