/**
 * Entries in the order of their places, in chunks of bounded length.
 *
 * Guarantee: seeking compares O(log n) places, and an insertion or removal moves at most one chunk, wherever it falls.
 * An entry behind all others only extends the last chunk. Places are distinct: callers
 * look before they insert or remove.
 *
 * Not promised: that chunks stay full. Removals leave them short, and only an empty chunk goes.
 */
import { compare } from "@skein/core/storage"
import type { Bound, Key } from "@skein/core/storage"

export interface Placed {
  readonly place: Key
}

export interface Span {
  readonly lower: Bound | undefined
  readonly upper: Bound | undefined
  readonly reverse: boolean
  readonly limit: number
}

/** Before the entry at `at` of a chunk. The end of the list is the chunk that would come next. */
interface Position {
  readonly chunk: number
  readonly at: number
}

/** Splicing an array of this length costs less than the comparisons that led to it. */
const chunkLength = 256

export class SortedList<Entry extends Placed> {
  readonly #chunks: Array<Array<Entry>> = []

  /** The entry at a place, as a list of at most one. */
  find(place: Key): ReadonlyArray<Entry> {
    const { at, chunk } = this.#seek(place, false)
    const entry = this.#chunks[chunk]?.[at]
    return entry !== undefined && compare(entry.place, place) === 0 ? [entry] : []
  }

  /** Adds an entry at a place that is free. */
  insert(entry: Entry): void {
    const last = this.#chunks.at(-1)
    if (last === undefined || compare(last.at(-1)!.place, entry.place) < 0) {
      if (last === undefined || last.length >= chunkLength) this.#chunks.push([entry])
      else last.push(entry)
      return
    }
    const { at, chunk } = this.#seek(entry.place, false)
    const entries = this.#chunks[chunk]!
    entries.splice(at, 0, entry)
    if (entries.length > chunkLength) this.#chunks.splice(chunk + 1, 0, entries.splice(chunkLength >> 1))
  }

  /** Takes out the entry at a place that is occupied. */
  remove(place: Key): void {
    const { at, chunk } = this.#seek(place, false)
    const entries = this.#chunks[chunk]!
    if (entries.length === 1) this.#chunks.splice(chunk, 1)
    else entries.splice(at, 1)
  }

  range({ limit, lower, reverse, upper }: Span): Array<Entry> {
    const from = lower === undefined ? { chunk: 0, at: 0 } : this.#seek(lower.key, !lower.inclusive)
    const to = upper === undefined ? { chunk: this.#chunks.length, at: 0 } : this.#seek(upper.key, upper.inclusive)
    return reverse ? this.#backward(from, to, limit) : this.#forward(from, to, limit)
  }

  #forward(from: Position, to: Position, limit: number): Array<Entry> {
    const found: Array<Entry> = []
    let { at, chunk } = from
    while (found.length < limit && isBefore({ chunk, at }, to)) {
      const entries = this.#chunks[chunk]!
      if (at < entries.length) found.push(entries[at++]!)
      else {
        chunk++
        at = 0
      }
    }
    return found
  }

  #backward(from: Position, to: Position, limit: number): Array<Entry> {
    const found: Array<Entry> = []
    let { at, chunk } = to
    while (found.length < limit && isBefore(from, { chunk, at })) {
      if (at > 0) found.push(this.#chunks[chunk]![--at]!)
      else at = this.#chunks[--chunk]!.length
    }
    return found
  }

  /** The first entry that is not before `key`, or with `beyond` the first after all that begin with it. */
  #seek(key: Key, beyond: boolean): Position {
    const isReached = (entry: Entry) => {
      const order = compare(entry.place, key)
      return beyond ? order > 0 : order >= 0
    }
    const chunk = firstIndex(this.#chunks.length, (i) => isReached(this.#chunks[i]!.at(-1)!))
    const entries = this.#chunks[chunk]
    return { chunk, at: entries === undefined ? 0 : firstIndex(entries.length, (i) => isReached(entries[i]!)) }
  }
}

const isBefore = (a: Position, b: Position): boolean => a.chunk < b.chunk || (a.chunk === b.chunk && a.at < b.at)

/** The first index for which `holds` is true, of a test that stays true once it is; `length` when it never is. */
const firstIndex = (length: number, holds: (index: number) => boolean): number => {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
