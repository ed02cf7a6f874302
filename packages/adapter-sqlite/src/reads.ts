/**
 * Answers what a machine asks for.
 *
 * Guarantee: every read is served by the key or the index it names, in order, without sorting in SQLite; the statements
 * are compiled once. Ranges of one form that are asked for together go in one statement, each with its own limit.
 */
import { compare, Corrupt } from "@skein/core/storage"
import type { AnyTable, EngineRead, Index, Key, RangeRead, StoredRow } from "@skein/core/storage"
import type { TextDecoder } from "node:util"
import { boundValues, formAmongOthers, formLimit, formOf, isEmpty, sharedParts } from "./bounds.ts"
import type { Bounds, BoundsForm } from "./bounds.ts"
import { isTooBig } from "./classify.ts"
import type { Connection } from "./connection.ts"
import type { SqlValue, Statement } from "./driver.ts"
import { orderOf } from "./layout.ts"
import { getSql, joinedRangeSql, manyRangesSql, singleRowsSql } from "./read-sql.ts"
import type { RangeForm } from "./read-sql.ts"
import { decoded, linesOf, makeDecoder, partsAt, plainBytes, recordShape, splitRecord } from "./record.ts"

type Rows = ReadonlyArray<StoredRow>

/** All reads of one connection. */
export class Reads {
  readonly #connection: Connection
  readonly #decoder = makeDecoder()
  readonly #tables = new Map<AnyTable, TableReads>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** The rows of each read, in the order of the reads. */
  answer(reads: ReadonlyArray<EngineRead>): ReadonlyArray<Rows> {
    if (reads.length === 1) return [this.#rows(reads[0]!)]
    const answers: Array<Rows> = Array.from({ length: reads.length })
    for (const { limit, members, range } of this.#grouped(reads, answers)) {
      if (members.length === 1) {
        answers[members[0]!] = this.#rows(reads[members[0]!]!)
        continue
      }
      const found = range.rowsOfMany(
        members.map((at) => reads[at] as RangeRead),
        limit,
      )
      members.forEach((at, i) => {
        answers[at] = found[i]!
      })
    }
    return answers
  }

  /** Answers the reads that stand alone, and gathers the ranges that differ in values only. */
  #grouped(reads: ReadonlyArray<EngineRead>, answers: Array<Rows>): Iterable<RangeGroup> {
    const groups: Array<RangeGroup> = []
    reads.forEach((read, at) => {
      if (read._tag !== "Range" || isEmpty(read)) {
        answers[at] = this.#rows(read)
        return
      }
      const range = this.#table(read.table).range(formAmongOthers(read), read.index, read.reverse)
      const limit = range.effectiveLimit(read)
      const known = groups.find((group) => group.range === range && group.limit === limit)
      if (known === undefined) groups.push({ range, limit, members: [at] })
      else known.members.push(at)
    })
    return groups
  }

  #rows(read: EngineRead): Rows {
    const table = this.#table(read.table)
    switch (read._tag) {
      case "Get":
        return table.get(read.key)
      case "Find": {
        const bound = { key: read.values, inclusive: true }
        const bounds = { lower: bound, upper: bound }
        return table.range(formOf(bounds), read.index, false).rows(bounds, 1)
      }
      case "Range":
        return isEmpty(read) ? [] : table.range(formOf(read), read.index, read.reverse).rows(read, read.limit)
    }
  }

  #table(table: AnyTable): TableReads {
    const known = this.#tables.get(table)
    if (known !== undefined) return known
    const reads = new TableReads(this.#connection, this.#decoder, table)
    this.#tables.set(table, reads)
    return reads
  }
}

interface RangeGroup {
  readonly range: RangeReads
  readonly limit: number
  /** Which of the reads belong to it. */
  readonly members: Array<number>
}

class TableReads {
  readonly #connection: Connection
  readonly #decoder: TextDecoder
  readonly #table: AnyTable
  readonly #orders = new Map<Index | undefined, Map<number, RangeReads>>()
  #get: Statement | undefined

  constructor(connection: Connection, decoder: TextDecoder, table: AnyTable) {
    this.#connection = connection
    this.#decoder = decoder
    this.#table = table
  }

  get(key: Key): Rows {
    this.#get ??= this.#connection.statement(getSql(this.#table))
    const found = this.#get.get(key)
    if (found === undefined) return []
    return [{ key, json: decoded(this.#decoder, found[0]), bytes: bytesOf(found[1]) }]
  }

  /** The reads of all ranges that have this form, over one order and in one direction. */
  range(form: BoundsForm, index: Index | undefined, reverse: boolean): RangeReads {
    let forms = this.#orders.get(index)
    if (forms === undefined) this.#orders.set(index, (forms = new Map<number, RangeReads>()))
    const directed = reverse ? form + formLimit : form
    let reads = forms.get(directed)
    if (reads === undefined) {
      reads = new RangeReads(this.#connection, this.#decoder, { table: this.#table, index, form, reverse })
      forms.set(directed, reads)
    }
    return reads
  }
}

/** The ranges of one form. */
class RangeReads {
  readonly #decoder: TextDecoder
  readonly #common: RangeForm
  readonly #shape
  readonly #statement: (sql: (common: RangeForm) => string) => Statement
  #joined: Statement | undefined
  #single: Statement | undefined
  #many: Statement | undefined

  constructor(connection: Connection, decoder: TextDecoder, common: RangeForm) {
    this.#decoder = decoder
    this.#common = common
    this.#shape = recordShape(common.table, common.index, sharedParts(common.form))
    this.#statement = (sql) => connection.statement(sql(common))
  }

  rows(bounds: Bounds, limit: number): Rows {
    const { form, table } = this.#common
    const values: Array<SqlValue> = boundValues(bounds, form)
    values.push(sqlLimit(limit))
    const shared = bounds.lower === undefined ? [] : bounds.lower.key
    if (table.bytes !== undefined) return this.#rowByRow(values, shared)
    this.#joined ??= this.#statement(joinedRangeSql)
    const width = this.#shape.columns.length + 1
    const lines = this.#lines(this.#joined, values, width)
    if (lines === undefined) return this.#rowByRow(values, shared)
    const rows: Array<StoredRow> = []
    for (let start = 0; start < lines.length; start += width) rows.push(this.#row(lines, start, shared))
    return rows
  }

  /** The rows of ranges which all have this limit. */
  rowsOfMany(ranges: ReadonlyArray<Bounds>, limit: number): ReadonlyArray<Rows> {
    const { form, reverse, table } = this.#common
    if (table.bytes !== undefined) return ranges.map((range) => this.rows(range, limit))
    this.#many ??= this.#statement(manyRangesSql)
    const width = this.#shape.columns.length + 2
    const values = [JSON.stringify(ranges.map((range) => boundValues(range, form))), sqlLimit(limit)]
    const lines = this.#lines(this.#many, values, width)
    if (lines === undefined) return ranges.map((range) => this.rows(range, limit))
    const answers: Array<Array<StoredRow>> = ranges.map(() => [])
    for (let start = 0; start < lines.length; start += width) {
      const at = Number(lines[start])
      answers[at]!.push(this.#row(lines, start + 1, ranges[at]!.lower?.key ?? []))
    }
    // They come as they lie in the table, which mostly is in order already.
    const direction = reverse ? -1 : 1
    for (const rows of answers) rows.sort((a, b) => direction * compare(a.place ?? a.key, b.place ?? b.key))
    return answers
  }

  /** The limit of a range, or infinity where its bounds leave no room for more rows than that. */
  effectiveLimit({ limit, lower, upper }: RangeRead): number {
    const { form, index, table } = this.#common
    const { length } = orderOf(table, index)
    if (sharedParts(form) !== length - 1 || lower?.key.length !== length || upper?.key.length !== length) return limit
    const [first, last] = [lower.key[length - 1], upper.key[length - 1]]
    return typeof first === "number" && typeof last === "number" && last - first < limit ? Infinity : limit
  }

  /** The row whose record begins at a line. */
  #row(lines: ReadonlyArray<string>, start: number, shared: Key): StoredRow {
    return this.#rowWith(lines, start, shared, lines[start + this.#shape.columns.length], undefined)
  }

  #rowWith(
    lines: ReadonlyArray<string>,
    start: number,
    shared: Key,
    json: unknown,
    bytes: Uint8Array | undefined,
  ): StoredRow {
    const { key, place } = this.#shape
    return {
      key: partsAt(key, shared, lines, start),
      json,
      bytes,
      place: place === undefined ? undefined : partsAt(place, shared, lines, start),
    }
  }

  #lines(statement: Statement, values: ReadonlyArray<SqlValue>, width: number): ReadonlyArray<string> | undefined {
    try {
      return linesOf(this.#decoder, statement.get(values)!, width)
    } catch (thrown) {
      if (isTooBig(thrown)) return undefined
      throw thrown
    }
  }

  #rowByRow(values: ReadonlyArray<SqlValue>, shared: Key): Rows {
    this.#single ??= this.#statement(singleRowsSql)
    return this.#single.all(values).map(([record, bytes]) => {
      if (!(record instanceof Uint8Array)) {
        const { name } = this.#common.table
        throw new Corrupt({ table: name, detail: `a row of ${name} has lost its key` })
      }
      const { json, lines } = splitRecord(this.#decoder, record, this.#shape)
      return this.#rowWith(lines, 0, shared, json, bytesOf(bytes))
    })
  }
}

const sqlLimit = (limit: number) => (limit === Infinity ? -1 : limit)

const bytesOf = (value: SqlValue | undefined) => (value instanceof Uint8Array ? plainBytes(value) : undefined)
