/**
 * The rows of one table, in the order of its key and of each of its indexes.
 *
 * Guarantee: a change that is refused has changed nothing, and every other change hands out what takes it back. Nothing
 * is shared by reference: rows are JSON text, keys are frozen copies, bytes are copied on the way in and out.
 */
import { Constraint, placeIn } from "@skein/core/storage"
import type { AnyTable, EngineRead, Index, Key, KeyPart, RangeRemoval, StoredRow } from "@skein/core/storage"
import { SortedList } from "./sorted-list.ts"

/** What is stored of a row besides its key. */
interface Content {
  readonly json: string
  readonly bytes: Uint8Array | undefined
  readonly columns: ReadonlyArray<KeyPart | null>
}

/** A row. Index entries point to it, so that a change of its JSON alone need not find them. */
interface Cell {
  readonly key: Key
  content: Content
}

interface Entry {
  readonly place: Key
  readonly cell: Cell
}

/** Takes a change back. To be called at most once, the newest change first. */
export type Undo = () => void

export class TableData {
  readonly table: AnyTable
  readonly #rows = new SortedList<Entry>()
  readonly #indexes: ReadonlyMap<string, SortedList<Entry>>
  #size = 0

  constructor(table: AnyTable) {
    this.table = table
    this.#indexes = new Map(table.indexes.map((index) => [index.name, new SortedList<Entry>()]))
  }

  /** How much the rows hold: UTF-16 units of JSON plus bytes. */
  get size(): number {
    return this.#size
  }

  answer(read: EngineRead): ReadonlyArray<StoredRow> {
    const index = read._tag === "Get" ? undefined : read.index
    const entries = index === undefined ? this.#rows : this.#entriesOf(index)
    const found =
      read._tag === "Range" ? entries.range(read) : entries.find(read._tag === "Get" ? read.key : read.values)
    return found.map(({ cell, place }) => ({
      key: cell.key,
      json: cell.content.json,
      bytes: copied(cell.content.bytes),
      place: index === undefined ? undefined : place,
    }))
  }

  keysIn({ lower, upper }: Pick<RangeRemoval, "lower" | "upper">): ReadonlyArray<Key> {
    return this.#rows.range({ lower, upper, reverse: false, limit: Infinity }).map(({ place }) => place)
  }

  /** Throws `Constraint` when the key or a unique value is taken. */
  insert(key: Key, content: Content): Undo {
    if (this.#cellAt(key) !== undefined) throw new Constraint({ table: this.table.name })
    const cell: Cell = { key: Object.freeze([...key]), content: owned(content) }
    this.#assertUnique(cell, content)
    this.#putIn(cell)
    return () => this.#takeOut(cell)
  }

  /** Replaces a row that is there. Throws `Constraint` when a unique value is taken. */
  update(key: Key, content: Content): Undo {
    const cell = this.#cellAt(key)
    if (cell === undefined) throw new Error(`update of an absent row: ${this.table.name} ${JSON.stringify(key)}`)
    this.#assertUnique(cell, content)
    const before = cell.content
    this.#replace(cell, owned(content))
    return () => this.#replace(cell, before)
  }

  put(key: Key, content: Content): Undo {
    return this.#cellAt(key) === undefined ? this.insert(key, content) : this.update(key, content)
  }

  /** Removes a row. One that is absent stays so. */
  remove(key: Key): Undo {
    const cell = this.#cellAt(key)
    if (cell === undefined) return () => {}
    this.#takeOut(cell)
    return () => this.#putIn(cell)
  }

  #cellAt(key: Key): Cell | undefined {
    return this.#rows.find(key)[0]?.cell
  }

  #entriesOf(index: Index): SortedList<Entry> {
    const entries = this.#indexes.get(index.name)
    if (entries === undefined) throw new Error(`table ${this.table.name} has no index ${index.name}`)
    return entries
  }

  #assertUnique(cell: Cell, { columns }: Content): void {
    for (const index of this.table.indexes) {
      const place = index.unique ? placeIn(index, cell.key, columns) : undefined
      const holder = place === undefined ? undefined : this.#entriesOf(index).find(place)[0]?.cell
      if (holder !== undefined && holder !== cell) {
        throw new Constraint({ table: this.table.name, index: index.name })
      }
    }
  }

  #putIn(cell: Cell): void {
    this.#rows.insert({ place: cell.key, cell })
    this.#enterIndexes(cell)
    this.#size += sizeOf(cell.content)
  }

  #takeOut(cell: Cell): void {
    this.#rows.remove(cell.key)
    this.#leaveIndexes(cell)
    this.#size -= sizeOf(cell.content)
  }

  #replace(cell: Cell, after: Content): void {
    const before = cell.content
    const moves = before.columns.some((column, i) => column !== after.columns[i])
    if (moves) this.#leaveIndexes(cell)
    cell.content = after
    if (moves) this.#enterIndexes(cell)
    this.#size += sizeOf(after) - sizeOf(before)
  }

  #enterIndexes(cell: Cell): void {
    for (const index of this.table.indexes) {
      const place = placeIn(index, cell.key, cell.content.columns)
      if (place !== undefined) this.#entriesOf(index).insert({ place: Object.freeze(place), cell })
    }
  }

  #leaveIndexes(cell: Cell): void {
    for (const index of this.table.indexes) {
      const place = placeIn(index, cell.key, cell.content.columns)
      if (place !== undefined) this.#entriesOf(index).remove(place)
    }
  }
}

const sizeOf = ({ bytes, json }: Content): number => json.length + (bytes?.byteLength ?? 0)

const owned = ({ bytes, columns, json }: Content): Content => ({ json, bytes: copied(bytes), columns: [...columns] })

/** `slice` would not do: a Buffer's shares memory with the original. */
const copied = (bytes: Uint8Array | undefined): Uint8Array | undefined =>
  bytes === undefined ? undefined : new Uint8Array(bytes)
