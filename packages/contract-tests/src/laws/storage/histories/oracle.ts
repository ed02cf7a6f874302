/**
 * What a history must come to: plain arrays of rows, and programs that run one after another.
 */
import { inBounds, keyOf, orderOf, readOf, writesOf } from "./decide.ts"
import type { Answer, Read, Row, Value, Write } from "./decide.ts"
import type { IndexSpec, ProgramSpec, TableSpec } from "./model.ts"

export type Ending =
  | { readonly done: ReadonlyArray<Answer> }
  | { readonly failed: string; readonly answers?: ReadonlyArray<Answer> }
  | { readonly defect: string }

export class Oracle {
  readonly #specs: ReadonlyArray<TableSpec>
  #rows: ReadonlyArray<ReadonlyArray<Row>>

  constructor(specs: ReadonlyArray<TableSpec>) {
    this.#specs = specs
    this.#rows = specs.map(() => [])
  }

  run(program: ProgramSpec): Ending {
    const reads = program.reads.map((spec) => readOf(this.#specs, spec))
    const answers = reads.map((read) => this.read(read))
    const writes = writesOf(this.#specs, program, reads, answers)
    if (program.end === "fail") return { failed: "stop", answers }
    if (program.end === "throw") return { defect: "boom" }
    if (writes.some(isBad)) return { failed: "InvalidInput" }
    const after = this.#after(writes)
    if (after === undefined) return { failed: "Constraint" }
    this.#rows = after
    return { done: answers }
  }

  read(read: Read): Answer {
    const spec = this.#specs[read.table]!
    const rows = this.#rows[read.table]!
    if (read.do === "get") return rows.find((row) => same(keyOf(spec, row), read.key))
    if (read.do === "find") {
      return rows.find((row) => {
        const place = placeIn(spec.indexes[read.index]!.fields, row)
        return place !== undefined && same(place, read.values)
      })
    }
    const order = orderOf(spec, read.index === undefined ? undefined : spec.indexes[read.index])
    const found = rows
      .flatMap((row) => {
        const place = placeIn(order, row)
        return place !== undefined && inBounds(order, place, read.bounds) ? [{ place, row }] : []
      })
      .toSorted((left, right) => compare(order, left.place, right.place))
      .map(({ row }) => row)
    return (read.reverse ? found.toReversed() : found).slice(0, read.limit)
  }

  /** The rows once the writes are made, or nothing where one of them is refused. */
  #after(writes: ReadonlyArray<Write>): ReadonlyArray<ReadonlyArray<Row>> | undefined {
    const tables = this.#rows.map((rows) => [...rows])
    for (const write of writes) {
      const spec = this.#specs[write.table]!
      const rows = tables[write.table]!
      if (write.do === "removeRange") {
        const order = orderOf(spec, undefined)
        tables[write.table] = rows.filter((row) => !inBounds(order, keyOf(spec, row), write.bounds))
      }
      if (write.do === "remove") tables[write.table] = rows.filter((row) => !same(keyOf(spec, row), write.key))
    }
    for (const write of writes) {
      if (write.do === "removeRange" || write.do === "remove") continue
      const spec = this.#specs[write.table]!
      const rows = tables[write.table]!
      const at = rows.findIndex((row) => same(keyOf(spec, row), write.key))
      if (write.do === "update") rows[at] = write.change(rows[at]!)
      else if (write.do === "put" && at >= 0) rows[at] = write.row
      else if (at >= 0 || clashes(spec, rows, write.row)) return undefined
      else rows.push(write.row)
    }
    return tables
  }
}

const isBad = (write: Write) => "row" in write && Array.isArray(write.row.note) && Number.isNaN(write.row.note[0])

const same = (left: ReadonlyArray<Value>, right: ReadonlyArray<Value>) => left.every((part, i) => part === right[i])

/** The values that a row is sorted by; nothing where it lacks one. */
const placeIn = (fields: IndexSpec["fields"], row: Row): ReadonlyArray<Value> | undefined => {
  const place = fields.map(({ name }) => row[name])
  return place.every((part) => part !== undefined) ? (place as ReadonlyArray<Value>) : undefined
}

const clashes = (spec: TableSpec, rows: ReadonlyArray<Row>, row: Row) =>
  spec.indexes.some(({ fields, unique }) => {
    const place = unique ? placeIn(fields, row) : undefined
    return place !== undefined && rows.some((other) => same(placeIn(fields, other) ?? [Number.NaN], place))
  })

const compare = (order: IndexSpec["fields"], left: ReadonlyArray<Value>, right: ReadonlyArray<Value>): number => {
  const at = left.findIndex((part, i) => part !== right[i])
  if (at < 0) return 0
  const isSmaller = left[at]! < right[at]!
  return isSmaller === order[at]!.desc ? 1 : -1
}
