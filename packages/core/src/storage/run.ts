/**
 * One run of one program: the handle it works with, the rules it must keep, and the writes it has named.
 *
 * Guarantee: a rule that was broken ends the program with a `TxDefect`, also when the program catches it. Writes stay
 * here until the program has ended well.
 */
import type { EngineRead } from "./backend.ts"
import { checkedKey, checkedStart, compare, indexNamed, keyId, keyOf } from "./table.ts"
import type { AnyTable, Field, Key } from "./table.ts"
import { isUnreadable, maxRange, TxDefect } from "./transaction.ts"
import type { Bounds, EngineBounds, Handle, Instruction, KeyBounds, Notice, SingleRead, Tx } from "./transaction.ts"

export type Row = Readonly<Record<string, unknown>>

/** One row that a program changes. `row` is undefined when it is removed. */
export interface LocalWrite {
  readonly kind: "insert" | "put" | "update" | "remove"
  readonly table: AnyTable
  readonly key: Key
  readonly id: string
  row: Row | undefined
}

export interface LocalRemoval extends EngineBounds {
  readonly table: AnyTable
}

/** The rows a run may update: those it was given. */
export interface View {
  /** The row as the group knows it, if this run has read it. */
  rowReadBy(run: Run, table: AnyTable, id: string): unknown
}

export type Outcome = { readonly _tag: "Done"; readonly value: unknown } | Instruction

export class Run implements Handle {
  readonly removals: Array<LocalRemoval> = []
  readonly writes: Array<LocalWrite> = []
  readonly notices: Array<Notice> = []
  readonly #written = new Map<AnyTable, Map<string, LocalWrite>>()
  readonly #view: View
  readonly #mayWrite: boolean
  // oxlint-disable-next-line no-explicit-any
  readonly #iterator: Iterator<any, unknown, any>
  /** Steps that were made and not yet run. */
  #pending = 0
  #open = true
  #defect: TxDefect | undefined

  constructor(program: Tx<unknown, unknown>, view: View, mode: "read" | "write") {
    this.#view = view
    this.#mayWrite = mode === "write"
    this.#iterator = program[Symbol.iterator]()
  }

  /** Feeds the answer to the last read and goes on to the next outcome. Throws what the program throws. */
  next(answer?: unknown): Outcome {
    try {
      let result = this.#iterator.next(answer)
      while (!result.done && (result.value as Instruction | undefined)?._tag === "Self") {
        result = this.#iterator.next(this)
      }
      if (this.#defect !== undefined) throw this.#defect
      if (result.done) {
        this.#open = false
        if (this.#pending > 0) this.#broken("a read or a failure was made but not run: `yield*` is missing")
        return { _tag: "Done", value: result.value }
      }
      const instruction: Instruction | undefined = result.value
      if (!isInstruction(instruction)) return this.#broken("a program may only yield* storage reads and programs")
      if (instruction._tag === "Fail") this.#open = false
      return instruction
    } catch (thrown) {
      this.#open = false
      throw this.#defect ?? thrown
    }
  }

  // The methods below are typed by `Handle`; rows are opaque here.
  // oxlint-disable no-explicit-any

  get(table: AnyTable, key: Key): any {
    this.#alive()
    return this.#single({ _tag: "Get", table, key: checkedKey(table, key) }, true, false)
  }

  find(table: AnyTable, name: string, values: Key): any {
    this.#alive()
    const index = indexNamed(table, name)
    if (!index.unique || values.length !== index.fields.length) {
      this.#broken(`find needs a unique index and all of its values: ${table.name}.${name}`)
    }
    return this.#single({ _tag: "Find", table, index, values: checkedStart(table, index.fields, values) }, true, false)
  }

  range(table: AnyTable, order: string, bounds: Bounds<Key>): any {
    this.#alive()
    const index = order === "key" ? undefined : indexNamed(table, order)
    const limit = bounds.limit ?? maxRange
    if (!Number.isInteger(limit) || limit < 0 || limit > maxRange) {
      this.#broken(`a range gives 0 to ${maxRange} rows, not ${limit}: ${table.name}`)
    }
    const read: EngineRead = {
      _tag: "Range",
      table,
      index,
      ...this.#bounds(table, index?.order ?? table.key, bounds),
      reverse: bounds.reverse ?? false,
      limit,
    }
    return this.#single(read, false, bounds.unreadable === "keep")
  }

  all(queries: ReadonlyArray<{ readonly "~read": SingleRead }>): any {
    this.#alive()
    this.#pending -= queries.length
    return this.#step({ _tag: "All", reads: queries.map((query) => query["~read"]) })
  }

  fail(error: unknown): any {
    this.#alive()
    return this.#step({ _tag: "Fail", error })
  }

  insert(table: AnyTable, row: any): void {
    this.#write("insert", table, row as Row)
  }

  put(table: AnyTable, row: any): void {
    if (table.indexes.some((index) => index.unique)) {
      this.#broken(`put into ${table.name}, which has a unique index: use insert, or get and update`)
    }
    this.#write("put", table, row as Row)
  }

  update(table: AnyTable, key: Key, change: (row: any) => any): any {
    this.#writing()
    const checked = checkedKey(table, key)
    const id = keyId(checked)
    const local = this.#written.get(table)?.get(id)
    const row = local === undefined ? this.#view.rowReadBy(this, table, id) : local.row
    const what = `${table.name} ${JSON.stringify(checked)}`
    if (row === undefined || (local === undefined && this.#isRemoved(table, checked))) {
      this.#broken(`update of a row that this program did not read, or that is absent: ${what}`)
    }
    if (isUnreadable(row)) this.#broken(`update of an unreadable row: ${what}`)
    const changed = change(row) as Row
    if (keyId(keyOf(table, changed)) !== id) this.#broken(`update may not change the key: ${what}`)
    if (local === undefined) this.#remember({ kind: "update", table, key: checked, id, row: changed })
    else local.row = changed
    return changed
  }

  remove(table: AnyTable, key: Key): void {
    this.#writing()
    const checked = checkedKey(table, key)
    this.#once(table, checked, { kind: "remove", table, key: checked, id: keyId(checked), row: undefined })
  }

  removeRange(table: AnyTable, bounds: KeyBounds<Key>): void {
    this.#writing()
    if (this.#written.has(table)) this.#broken(`removeRange comes before other writes of its table: ${table.name}`)
    this.removals.push({ table, ...this.#bounds(table, table.key, bounds) })
  }

  // oxlint-enable no-explicit-any

  notify(notice: Notice): void {
    this.#writing()
    this.notices.push(notice)
  }

  #write(kind: "insert" | "put", table: AnyTable, row: Row): void {
    this.#writing()
    const key = keyOf(table, row)
    this.#once(table, key, { kind, table, key, id: keyId(key), row })
  }

  #once(table: AnyTable, key: Key, write: LocalWrite): void {
    if (this.#written.get(table)?.has(write.id)) {
      this.#broken(`${write.kind} of a row that this program already wrote: ${table.name} ${JSON.stringify(key)}`)
    }
    this.#remember(write)
  }

  #remember(write: LocalWrite): void {
    let rows = this.#written.get(write.table)
    if (rows === undefined) this.#written.set(write.table, (rows = new Map()))
    rows.set(write.id, write)
    this.writes.push(write)
  }

  #isRemoved(table: AnyTable, key: Key): boolean {
    return this.removals.some((removal) => removal.table === table && within(removal, key))
  }

  /** Turns bounds into engine form, and refuses those that do not begin with the prefix. */
  #bounds(table: AnyTable, order: ReadonlyArray<Field>, bounds: KeyBounds<Key>): EngineBounds {
    const { after, before, from, prefix = [], to } = bounds
    if ((from !== undefined && after !== undefined) || (to !== undefined && before !== undefined)) {
      this.#broken(`a range has one lower and one upper bound: ${table.name}`)
    }
    const start = checkedStart(table, order, prefix)
    const bound = (inclusive: Key | undefined, exclusive: Key | undefined) => {
      const given = inclusive ?? exclusive
      if (given === undefined) return start.length === 0 ? undefined : { key: start, inclusive: true }
      const key = checkedStart(table, order, given)
      if (key.length < start.length || compare(key, start) !== 0) {
        this.#broken(`a bound must begin with the prefix: ${table.name} ${JSON.stringify(given)}`)
      }
      return { key, inclusive: inclusive !== undefined }
    }
    return { lower: bound(from, after), upper: bound(to, before) }
  }

  #single(read: EngineRead, one: boolean, keepUnreadable: boolean): Step {
    const single: SingleRead = { _tag: "Single", read, one, keepUnreadable }
    return this.#step(single)
  }

  #step(instruction: Instruction): Step {
    this.#pending++
    return new Step(instruction, this)
  }

  /** Called by a step when it begins to run. */
  starting(instruction: Instruction, again: boolean): void {
    this.#alive()
    if (again) this.#broken(`a step runs once: make ${describe(instruction)} again`)
    this.#pending--
    if (instruction._tag !== "Fail" && (this.writes.length > 0 || this.removals.length > 0)) {
      this.#broken(`read after write: ${describe(instruction)} follows a write; move reads first`)
    }
  }

  #alive(): void {
    if (!this.#open) throw new TxDefect("this transaction is over: its handle was used outside its program")
  }

  #writing(): void {
    this.#alive()
    if (!this.#mayWrite) this.#broken("a read-only program may not write: use transact")
  }

  #broken(message: string): never {
    this.#defect = new TxDefect(message)
    throw this.#defect
  }
}

/** One instruction as an iterable: hands it out once, then ends with the answer. */
class Step {
  readonly #instruction: Instruction
  readonly #run: Run
  #asked = false
  constructor(instruction: Instruction, run: Run) {
    this.#instruction = instruction
    this.#run = run
  }
  get "~read"(): Instruction {
    return this.#instruction
  }
  [Symbol.iterator](): Step {
    this.#run.starting(this.#instruction, this.#asked)
    return this
  }
  next(answer: unknown): IteratorResult<Instruction, unknown> {
    if (this.#asked) return { done: true, value: answer }
    this.#asked = true
    return { done: false, value: this.#instruction }
  }
}

const isInstruction = (value: Instruction | undefined): value is Exclude<Instruction, { _tag: "Self" }> =>
  value?._tag === "Single" || value?._tag === "All" || value?._tag === "Fail"

const describe = (instruction: Instruction): string =>
  instruction._tag === "Single" ? `${instruction.read._tag.toLowerCase()} ${instruction.read.table.name}` : "all"

/** Whether a key, or a place in an index, lies between the bounds. */
export const within = ({ lower, upper }: EngineBounds, key: Key): boolean => {
  if (lower !== undefined) {
    const order = compare(key, lower.key)
    if (order < 0 || (order === 0 && !lower.inclusive)) return false
  }
  if (upper !== undefined) {
    const order = compare(key, upper.key)
    if (order > 0 || (order === 0 && !upper.inclusive)) return false
  }
  return true
}
