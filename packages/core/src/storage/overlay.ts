/**
 * What a group of programs knows beyond the engine: the rows it has read, and the rows it is about to write.
 *
 * Guarantee: a read through the overlay gives what the engine would give if the writes absorbed so far had been made.
 * Each changed row is written once, however many programs changed it.
 */
import type { EngineRead, RangeRead, RowWrite, StoredRow, WriteStep } from "./backend.ts"
import { decode } from "./decode.ts"
import { Constraint, InvalidInput } from "./error.ts"
import { problemIn } from "./json.ts"
import type { LocalRemoval, LocalWrite, Row, Run, View } from "./run.ts"
import { within } from "./run.ts"
import { rowJson } from "./schema.ts"
import { columnsOf, compare, keyId, placeIn } from "./table.ts"
import type { AnyTable, Index, Key, KeyPart } from "./table.ts"
import { TxDefect } from "./transaction.ts"
import type { Unreadable } from "./transaction.ts"
import { isUnreadable } from "./transaction.ts"

/** What is known of one row. */
interface Cell {
  readonly table: AnyTable
  readonly key: Key
  readonly id: string
  /** The row now; undefined when it is absent or removed. */
  row: Row | Unreadable | undefined
  /** How it has to be written; undefined when it is as the engine has it. */
  change: "Insert" | "Update" | "Put" | "Remove" | undefined
  json: string
  bytes: Uint8Array | undefined
  columns: ReadonlyArray<KeyPart | null>
  /** The columns as the engine has them, where that is known. */
  storedColumns: ReadonlyArray<KeyPart | null> | undefined
  /** The last run that was given this row. */
  reader: Run | undefined
}

/** A write of a program that has ended well, checked and measured. */
interface EncodedWrite {
  readonly write: LocalWrite
  readonly json: string
  readonly bytes: Uint8Array | undefined
  readonly columns: ReadonlyArray<KeyPart | null>
}

/** The program removes from a table in which this group has inserted: it must begin the next group. */
export const regroup = Symbol("regroup")

/** A range read that is being answered: what is still missing, and what is there so far. */
interface Progress {
  readonly read: RangeRead
  asked: RangeRead
  readonly kept: Array<Placed>
}
interface Placed {
  readonly place: Key
  readonly row: Row | Unreadable
}

export class Overlay implements View {
  readonly #tables = new Map<AnyTable, Map<string, Cell>>()
  readonly #changed = new Map<AnyTable, Array<Cell>>()
  readonly #removals: Array<LocalRemoval> = []
  readonly #unique = new UniqueValues()
  /** Tables with an insert that the engine has not yet admitted, and may refuse. */
  readonly #unverified = new Set<AnyTable>()
  readonly #freeze: boolean
  /** Characters of JSON and bytes to be written. */
  size = 0
  rowsRead = 0

  /** A group that writes nothing has nothing to remember: what the engine gives is handed on. */
  readonly #remembers: boolean

  constructor({ freeze, remembers }: { readonly freeze: boolean; readonly remembers: boolean }) {
    this.#freeze = freeze
    this.#remembers = remembers
  }

  rowReadBy(run: Run, table: AnyTable, id: string): unknown {
    const cell = this.#tables.get(table)?.get(id)
    return cell?.reader === run ? cell.row : undefined
  }

  /**
   * Answers reads for a run. Yields what the engine has to be asked, and is sent its rows.
   */
  *answer(
    run: Run,
    reads: ReadonlyArray<EngineRead>,
  ): Generator<ReadonlyArray<EngineRead>, Array<Array<Row | Unreadable>>, ReadonlyArray<ReadonlyArray<StoredRow>>> {
    const answers = new Array<Array<Row | Unreadable>>(reads.length)
    let waiting: Array<{ readonly at: number; readonly asked: EngineRead; readonly progress: Progress | undefined }> =
      []
    for (let at = 0; at < reads.length; at++) {
      const read = reads[at]!
      if (read._tag === "Range") {
        const asked = this.#widened(read)
        if (read.limit === 0) answers[at] = []
        else waiting.push({ at, asked, progress: { read, asked, kept: [] } })
        continue
      }
      const known = this.#knownPoint(read)
      if (known === undefined) waiting.push({ at, asked: read, progress: undefined })
      else answers[at] = this.#give(run, known)
    }
    while (waiting.length > 0) {
      const given = yield waiting.map(({ asked }) => asked)
      const again: typeof waiting = []
      for (let i = 0; i < waiting.length; i++) {
        const { asked, at, progress } = waiting[i]!
        const rows = given[i]!
        this.rowsRead += rows.length
        if (!this.#remembers) answers[at] = rows.map((row) => decode(asked.table, row, this.#freeze))
        else if (progress === undefined) answers[at] = this.#give(run, this.#learnPoint(asked, rows[0]))
        else {
          const done = this.#merge(run, progress, rows)
          if (done === undefined) again.push({ at, asked: progress.asked, progress })
          else answers[at] = done
        }
      }
      waiting = again
    }
    return answers
  }

  #cells(table: AnyTable): Map<string, Cell> {
    let cells = this.#tables.get(table)
    if (cells === undefined) this.#tables.set(table, (cells = new Map()))
    return cells
  }

  /** The cell that answers a point read without the engine, if there is one. */
  #knownPoint(read: Exclude<EngineRead, RangeRead>): Cell | undefined {
    const { table } = read
    if (read._tag === "Find") return this.#unique.holder(table, read.index, read.values)
    const cell = this.#cells(table).get(keyId(read.key))
    if (cell !== undefined) return cell
    return this.#isRemoved(table, read.key) ? this.#absent(table, read.key) : undefined
  }

  #learnPoint(read: EngineRead, stored: StoredRow | undefined): Cell | undefined {
    if (stored === undefined) return read._tag === "Get" ? this.#absent(read.table, read.key) : undefined
    const cell = this.#learn(read.table, stored)
    // A row that this group wrote would have been known by its value: what the engine found is what it was before.
    return read._tag === "Find" && cell.change !== undefined ? undefined : cell
  }

  /** Remembers that there is no such row. */
  #absent(table: AnyTable, key: Key): Cell {
    const cell = newCell(table, key, keyId(key), undefined)
    this.#cells(table).set(cell.id, cell)
    return cell
  }

  /** Remembers a row that the engine gave, unless a newer one is known. */
  #learn(table: AnyTable, stored: StoredRow): Cell {
    const cells = this.#cells(table)
    const id = keyId(stored.key)
    const known = cells.get(id)
    if (known !== undefined) return known
    const removed = this.#isRemoved(table, stored.key)
    const cell = newCell(table, stored.key, id, removed ? undefined : decode(table, stored, this.#freeze))
    cells.set(id, cell)
    return cell
  }

  #isRemoved(table: AnyTable, key: Key): boolean {
    return (
      this.#removals.length > 0 && this.#removals.some((removal) => removal.table === table && within(removal, key))
    )
  }

  #give(run: Run, cell: Cell | undefined): Array<Row | Unreadable> {
    if (cell === undefined) return []
    cell.reader = run
    return cell.row === undefined ? [] : [cell.row]
  }

  /** Asks for as many rows more as changed rows of this group might stand in the way. */
  #widened(read: RangeRead): RangeRead {
    const changed = this.#changed.get(read.table)?.length ?? 0
    return changed === 0 ? read : { ...read, limit: read.limit + changed }
  }

  /** Merges what the engine gave with what this group changed. Undefined: the engine must be asked again. */
  #merge(run: Run, progress: Progress, stored: ReadonlyArray<StoredRow>): Array<Row | Unreadable> | undefined {
    const { asked, kept, read } = progress
    const changed = this.#changed.get(read.table)
    if (changed === undefined && this.#removals.length === 0) {
      return stored.map((one) => {
        const cell = this.#learn(read.table, one)
        cell.reader = run
        return cell.row!
      })
    }
    for (const one of stored) {
      const cell = this.#learn(read.table, one)
      if (cell.change !== undefined || cell.row === undefined) continue
      cell.reader = run
      kept.push({ place: one.place ?? one.key, row: cell.row })
    }
    const last = stored.at(-1)
    if (last !== undefined && stored.length >= asked.limit && kept.length < read.limit) {
      const bound = { key: last.place ?? last.key, inclusive: false }
      progress.asked = read.reverse ? { ...asked, upper: bound } : { ...asked, lower: bound }
      return undefined
    }
    // Rows that the engine still has lie beyond all that it gave, so the first `limit` of the union are right.
    const merged = kept.slice()
    for (const cell of changed ?? []) {
      if (cell.row === undefined || isUnreadable(cell.row)) continue
      const place = read.index === undefined ? cell.key : placeIn(read.index, cell.key, cell.columns)
      if (place === undefined || !within(read, place)) continue
      cell.reader = run
      merged.push({ place, row: cell.row })
    }
    const direction = read.reverse ? -1 : 1
    if (merged.length > kept.length) merged.sort((a, b) => direction * compare(a.place, b.place))
    return merged.slice(0, read.limit).map(({ row }) => row)
  }

  /**
   * Takes over the writes of a program that has ended well.
   *
   * Throws `InvalidInput` for a value that cannot be stored, `Constraint` for a clash that this group knows of, and
   * `regroup` when the program must begin the next group. Then nothing was taken over.
   */
  absorb(run: Run): void {
    if (run.writes.length === 0 && run.removals.length === 0) return
    if (this.#unverified.size > 0) this.#refuseRemovalBesideInsert(run)
    const encoded = run.writes.map((write) => this.#encode(write))
    this.#checkClashes(run, encoded)
    for (const removal of run.removals) this.#absorbRemoval(removal)
    for (const one of encoded) this.#absorbWrite(one)
  }

  /** A refused insert must be refused also when a later program frees the key or the value it was refused for. */
  #refuseRemovalBesideInsert(run: Run): void {
    const removesBeside =
      run.removals.some(({ table }) => this.#unverified.has(table)) ||
      run.writes.some(({ kind, table }) => kind === "remove" && this.#unverified.has(table))
    if (removesBeside) throw regroup
  }

  #encode(write: LocalWrite): EncodedWrite {
    const { row, table } = write
    if (row === undefined) return { write, json: "", bytes: undefined, columns: [] }
    let bytes: Uint8Array | undefined
    let checked = row
    if (table.bytes !== undefined) {
      const given = row[table.bytes]
      if (given !== undefined && !(given instanceof Uint8Array)) {
        throw new InvalidInput({ field: `${table.name}.${table.bytes}`, value: given, problem: "must be a Uint8Array" })
      }
      bytes = given
      const { [table.bytes]: _bytes, ...rest } = row
      checked = rest
    }
    const problem = problemIn(checked)
    if (problem !== undefined) {
      throw new InvalidInput({ field: `${table.name}${problem.path}`, value: problem.value, problem: problem.problem })
    }
    return { write, json: rowJson(table, row), bytes, columns: columnsOf(table, row) }
  }

  #checkClashes(run: Run, encoded: ReadonlyArray<EncodedWrite>): void {
    for (const { columns, write } of encoded) {
      const { id, key, kind, table } = write
      const cell = this.#tables.get(table)?.get(id)
      if (kind === "insert") {
        if (cell?.row !== undefined && !removes(run, cell)) throw new Constraint({ table: table.name })
        for (const index of table.indexes) {
          if (!index.unique) continue
          const place = placeIn(index, key, columns)
          if (place === undefined) continue
          const holder = this.#unique.holder(table, index, place)
          if (holder !== undefined && !removes(run, holder)) {
            throw new Constraint({ table: table.name, index: index.name })
          }
        }
      } else if (kind === "update" && cell !== undefined) {
        this.#refuseUniqueChange(cell, columns)
      }
    }
  }

  #refuseUniqueChange(cell: Cell, columns: ReadonlyArray<KeyPart | null>): void {
    const { key, table } = cell
    for (const index of table.indexes) {
      if (!index.unique) continue
      const before = placeIn(index, key, this.#columnsOf(cell))
      const after = placeIn(index, key, columns)
      const same = before === undefined ? after === undefined : after !== undefined && compare(before, after) === 0
      if (!same) throw new TxDefect(`a unique value never changes after insert: ${table.name}.${index.name}`)
    }
  }

  /** The columns of a cell's row, worked out when first needed. */
  #columnsOf(cell: Cell): ReadonlyArray<KeyPart | null> {
    if (cell.change !== undefined || cell.row === undefined || isUnreadable(cell.row)) return cell.columns
    return (cell.storedColumns ??= columnsOf(cell.table, cell.row))
  }

  #absorbRemoval(removal: LocalRemoval): void {
    for (const cell of this.#tables.get(removal.table)?.values() ?? []) {
      if (cell.row !== undefined && within(removal, cell.key)) this.#change(cell, "Remove", undefined)
    }
    this.#removals.push(removal)
  }

  #absorbWrite(encoded: EncodedWrite): void {
    const { write } = encoded
    const { id, key, kind, table } = write
    const cells = this.#cells(table)
    let cell = cells.get(id)
    if (cell === undefined) cells.set(id, (cell = newCell(table, key, id, undefined)))
    if (kind === "remove") return this.#change(cell, "Remove", undefined)
    if (kind === "insert") {
      // After a removal in this group the engine may still have the row when it is written again.
      const change = cell.change === "Remove" ? "Put" : "Insert"
      if (change === "Insert" || table.indexes.some((index) => index.unique)) this.#unverified.add(table)
      this.#change(cell, change, encoded)
    } else if (kind === "put") {
      this.#change(cell, cell.change === "Insert" ? "Insert" : "Put", encoded)
    } else {
      this.#columnsOf(cell)
      this.#change(cell, cell.change ?? "Update", encoded)
    }
    this.#unique.add(cell)
  }

  #change(cell: Cell, change: NonNullable<Cell["change"]>, encoded: EncodedWrite | undefined): void {
    if (cell.change === undefined) {
      const changed = this.#changed.get(cell.table)
      if (changed === undefined) this.#changed.set(cell.table, [cell])
      else changed.push(cell)
    }
    if (change === "Remove") this.#unique.remove(cell)
    cell.change = change
    cell.row = encoded?.write.row
    cell.json = encoded?.json ?? ""
    cell.bytes = encoded?.bytes
    cell.columns = encoded?.columns ?? []
    this.size += cell.json.length + (cell.bytes?.length ?? 0)
  }

  /** All that the group writes, each row once. */
  writes(): WriteStep {
    const removed: Array<RowWrite> = []
    const rows: Array<RowWrite> = []
    for (const cells of this.#changed.values()) {
      for (const cell of cells) {
        const { bytes, columns, json, key, storedColumns, table } = cell
        if (cell.change === "Remove") removed.push({ _tag: "Remove", table, key })
        else {
          const columnsChanged = storedColumns === undefined || columns.some((part, i) => part !== storedColumns[i])
          rows.push({ _tag: cell.change!, table, key, json, bytes, columns, columnsChanged, storedColumns })
        }
      }
    }
    return { _tag: "Write", removals: this.#removals, rows: removed.length === 0 ? rows : [...removed, ...rows] }
  }
}

/**
 * By unique value, the rows that a group wrote and that stand. Most groups never ask, so that values are entered when
 * somebody does.
 */
class UniqueValues {
  readonly #holders = new Map<string, Cell>()
  /** Rows whose values are not entered yet. */
  #waiting: Array<Cell> = []

  /** The row that holds a value. */
  holder(table: AnyTable, index: Index, place: Key): Cell | undefined {
    this.#enter()
    return this.#holders.size === 0 ? undefined : this.#holders.get(uniqueId(table, index, place))
  }

  /** Enters the values that a row has by now. */
  add(cell: Cell): void {
    this.#waiting.push(cell)
  }

  /** The unique values of a row that goes are free. */
  remove(cell: Cell): void {
    this.#enter()
    for (const id of uniqueIds(cell)) if (this.#holders.get(id) === cell) this.#holders.delete(id)
  }

  #enter(): void {
    for (const cell of this.#waiting) for (const id of uniqueIds(cell)) this.#holders.set(id, cell)
    if (this.#waiting.length > 0) this.#waiting = []
  }
}

/** The unique values of a row, each as one text. */
const uniqueIds = ({ columns, key, table }: Cell): ReadonlyArray<string> =>
  table.indexes.flatMap((index) => {
    const place = index.unique ? placeIn(index, key, columns) : undefined
    return place === undefined ? [] : [uniqueId(table, index, place)]
  })

const newCell = (table: AnyTable, key: Key, id: string, row: Row | Unreadable | undefined): Cell => ({
  table,
  key,
  id,
  row,
  change: undefined,
  json: "",
  bytes: undefined,
  columns: [],
  storedColumns: undefined,
  reader: undefined,
})

/** Whether a program takes this row away itself. */
const removes = (run: Run, { id, key, table }: Cell): boolean =>
  run.removals.some((removal) => removal.table === table && within(removal, key)) ||
  run.writes.some((write) => write.kind === "remove" && write.table === table && write.id === id)

const uniqueId = (table: AnyTable, index: Index, place: Key) => `${table.name}\0${index.name}\0${keyId(place)}`
