/**
 * What the contract needs to know of this adapter, on any IndexedDB: the one of a browser or a program in Node.
 */
import type { Harness, Place } from "@skein/contract-tests"
import { indexeddb } from "../src/index.ts"

export interface Platform {
  readonly factory: IDBFactory
  readonly keyRange: typeof IDBKeyRange
}

interface Database extends Place {
  readonly name: string
}

/** Databases of this harness are called after it, and numbered. */
export const harnessOn = (platform: Platform, called: string): Harness<Database> => {
  let made = 0
  const open = (name: string) => succeeded(platform.factory.open(name))
  return {
    fresh: () => {
      const name = `${called} ${++made}`
      return { name, backend: indexeddb({ name, ...platform }) }
    },
    dispose: async ({ name }) => {
      await succeeded(platform.factory.deleteDatabase(name))
    },
    damage: async ({ name }, table, key) => {
      const db = await open(name)
      const store = db.transaction(table, "readwrite").objectStore(table)
      const record: object = await succeeded(store.get([...key]))
      await succeeded(store.put({ ...record, j: 42 }))
      db.close()
    },
    picture: async ({ name }) => {
      const db = await open(name)
      const stores = [...db.objectStoreNames]
      const transaction = db.transaction(stores)
      const contents = await Promise.all(stores.map((store) => succeeded(transaction.objectStore(store).getAll())))
      db.close()
      return JSON.stringify({ version: db.version, stores, contents })
    },
  }
}

const succeeded = <A>(request: IDBRequest<A>): Promise<A> =>
  new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result))
    request.addEventListener("error", () => reject(request.error ?? new Error("the request failed")))
  })
