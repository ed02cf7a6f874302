/**
 * One read of a machine as requests of a transaction.
 *
 * Guarantee: one request a read, wherever the browser can read backwards; nothing is waited for but requests. Rows are
 * always fetched in bulk: walking 80 of them with a cursor takes four times as long.
 */
import type { EngineRead, StoredRow } from "@skein/core/storage"
import { rangeBetween } from "./range.ts"
import type { KeyRanges } from "./range.ts"
import { storedRow } from "./record.ts"
import type { StoredRecord } from "./record.ts"

type Source = IDBObjectStore | IDBIndex

/** Newer browsers take a direction with `getAll`. They are those that have `getAllRecords`. */
interface BackwardSource {
  readonly getAllRecords: unknown
  getAll(options: {
    readonly query: IDBKeyRange | undefined
    readonly count: number
    readonly direction: "prev"
  }): IDBRequest<Array<StoredRecord>>
}

const readsBackwards = (source: object): source is BackwardSource => "getAllRecords" in source

/** The largest count that the platform takes. */
const maxCount = 2 ** 32 - 1

/**
 * Issues a read, whose rows `give` gets from a request's success event. `false`, and nothing issued, when its bounds or
 * its limit leave no room for a row.
 */
export const ask = (
  transaction: IDBTransaction,
  ranges: KeyRanges,
  read: EngineRead,
  give: (rows: ReadonlyArray<StoredRow>) => void,
): boolean => {
  const store = transaction.objectStore(read.table.name)
  const index = read._tag === "Get" ? undefined : read.index
  const source: Source = index === undefined ? store : store.index(index.name)
  const giveRecords = (records: ReadonlyArray<StoredRecord>) =>
    give(records.map((record) => storedRow(read.table, index, record)))

  if (read._tag !== "Range") {
    const request: IDBRequest<StoredRecord | undefined> = source.get([
      ...(read._tag === "Get" ? read.key : read.values),
    ])
    request.addEventListener("success", () => giveRecords(request.result === undefined ? [] : [request.result]))
    return true
  }
  const range = rangeBetween(ranges, read.lower, read.upper)
  // The platform takes a count of zero for no limit.
  if (range === "nothing" || read.limit === 0) return false
  const count = Math.min(read.limit, maxCount)
  if (!read.reverse) getAll(source, range, count, giveRecords)
  else if (readsBackwards(source)) {
    const request = source.getAll({ query: range, count, direction: "prev" })
    request.addEventListener("success", () => giveRecords(request.result))
  } else lastOf(source, ranges, range, count, giveRecords)
  return true
}

const getAll = (
  source: Source,
  range: IDBKeyRange | undefined,
  count: number | undefined,
  give: (records: Array<StoredRecord>) => void,
): void => {
  const request: IDBRequest<Array<StoredRecord>> = source.getAll(range, count)
  request.addEventListener("success", () => give(request.result))
}

/** The last `count` records of a range, last first: jumps to the first of them with a cursor over keys, then reads on. */
const lastOf = (
  source: Source,
  { keyRange }: KeyRanges,
  range: IDBKeyRange | undefined,
  count: number,
  give: (records: ReadonlyArray<StoredRecord>) => void,
): void => {
  const giveFrom = (part: IDBKeyRange | undefined) =>
    getAll(source, part, undefined, (records) => give(records.toReversed()))
  const request = source.openKeyCursor(range, "prev")
  let isAtFirst = count === 1
  request.addEventListener("success", () => {
    const cursor = request.result
    // Fewer records than asked for, so all of them.
    if (cursor === null) return giveFrom(range)
    if (isAtFirst) {
      const upper: unknown = range?.upper
      return giveFrom(
        upper === undefined
          ? keyRange.lowerBound(cursor.key)
          : keyRange.bound(cursor.key, upper, false, range!.upperOpen),
      )
    }
    isAtFirst = true
    cursor.advance(count - 1)
  })
}
