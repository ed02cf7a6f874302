/**
 * Rows as IndexedDB holds them, and the object stores that hold them.
 *
 * One object store a table, under the table's name. A record carries its key, its JSON text, its bytes if it has any, and
 * its place in each index, so that the browser sorts exactly by what core declared. A row that is not in an index lacks
 * the property.
 */
import { placeIn } from "@skein/core/storage"
import type { AnyTable, Index, Key, KeyPart, StoredRow } from "@skein/core/storage"

/** Names are short: they are stored with every row. */
export interface StoredRecord {
  readonly k: Key
  readonly j: unknown
  readonly b?: Uint8Array
  /** `i0`, `i1`, …: the place in each index, in the order of declaration. */
  readonly [place: `i${number}`]: Key
}

/** The property that holds a row's place in an index. Numbered, since an index may have a name that is no key path. */
const placeProperty = (table: AnyTable, index: Index) => `i${table.indexes.indexOf(index)}` as const

/** Creates the object store of a table. Only while the structure may change. */
export const createStore = (db: IDBDatabase, table: AnyTable, name: string): IDBObjectStore => {
  const store = db.createObjectStore(name, { keyPath: "k" })
  for (const index of table.indexes) {
    store.createIndex(index.name, placeProperty(table, index), { unique: index.unique })
  }
  return store
}

interface Content {
  readonly key: Key
  readonly json: unknown
  readonly bytes: Uint8Array | undefined
  readonly columns: ReadonlyArray<KeyPart | null>
}

export const recordOf = (table: AnyTable, { bytes, columns, json, key }: Content): StoredRecord => {
  const record: { -readonly [Name in keyof StoredRecord]: StoredRecord[Name] } = { k: key, j: json }
  // A view is stored with all of the memory it looks at.
  if (bytes !== undefined) record.b = new Uint8Array(bytes)
  for (const index of table.indexes) {
    const place = placeIn(index, key, columns)
    if (place !== undefined) record[placeProperty(table, index)] = place
  }
  return record
}

export const storedRow = (table: AnyTable, index: Index | undefined, record: StoredRecord): StoredRow => ({
  key: record.k,
  json: record.j,
  bytes: record.b,
  place: index === undefined ? undefined : record[placeProperty(table, index)],
})
