/**
 * IndexedDB as a program in Node: the fast tier. It shows order, uniqueness and events as browsers have them, and nothing
 * about how long a transaction lives, quotas or lost connections.
 */
import { IDBFactory, IDBKeyRange } from "fake-indexeddb"
import { indexeddb } from "../src/index.ts"
import type { Options } from "../src/index.ts"

/** Each call has databases of its own. */
export const fakeOptions = (options?: Partial<Options>): Options => ({
  name: "test",
  factory: new IDBFactory(),
  keyRange: IDBKeyRange,
  ...options,
})

export const fakeIndexedDb = (options?: Partial<Options>) => indexeddb(fakeOptions(options))
