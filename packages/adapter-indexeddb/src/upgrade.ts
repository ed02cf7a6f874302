/**
 * Compares a database with a schema, and creates and rebuilds object stores where they differ.
 *
 * Which schema a database was created from is remembered in an object store of its own. The database's version number
 * does not say it: it only counts the changes of structure.
 *
 * Guarantee: an upgrade is one transaction, and fails as a whole. Rows are copied in pages, so that a large table need not
 * fit in memory.
 */
import { Constraint, Corrupt, planUpgrade, rememberedSchema, VersionMismatch } from "@skein/core/storage"
import type { Key, Schema, StorageReason, StoredSchema, TableRebuild, UpgradePlan } from "@skein/core/storage"
import { classify, isAbort } from "./error.ts"
import type { KeyRanges } from "./range.ts"
import { createStore, recordOf } from "./record.ts"
import type { StoredRecord } from "./record.ts"

/** The object store of what is remembered. No table is called so: `#` is not for names. */
const bookkeeping = "#schema"
const schemaKey = "schema"

const pageLength = 500

/** What a database was created from, and what has to be done to it. */
export interface Comparison {
  readonly remembered: StoredSchema | undefined
  readonly plan: UpgradePlan
}

/**
 * Compares a database with a schema. `begin` opens a transaction on an object store, and is not called for an empty
 * database. Answers within a request's success event, or at once.
 */
export const compareWith = (
  schema: Schema,
  db: IDBDatabase,
  begin: (store: string) => IDBTransaction,
  give: (compared: Comparison | Corrupt) => void,
): void => {
  const { objectStoreNames } = db
  if (objectStoreNames.length === 0) return give({ remembered: undefined, plan: planUpgrade(schema, undefined) })
  if (!objectStoreNames.contains(bookkeeping)) {
    return give(new Corrupt({ detail: `the database ${db.name} belongs to another program` }))
  }
  const request: IDBRequest<StoredSchema | undefined> = begin(bookkeeping).objectStore(bookkeeping).get(schemaKey)
  request.addEventListener("success", () => give(comparison(schema, request.result)))
}

const comparison = (schema: Schema, remembered: StoredSchema | undefined): Comparison | Corrupt => {
  const detail = "what the store remembers of its schema is damaged"
  if (remembered === undefined) return new Corrupt({ detail })
  try {
    return { remembered, plan: planUpgrade(schema, remembered) }
  } catch (cause) {
    return new Corrupt({ detail, cause })
  }
}

/** Where an upgrade takes place. */
export interface UpgradeSite {
  readonly db: IDBDatabase
  readonly transaction: IDBTransaction
  readonly schema: Schema
  readonly ranges: KeyRanges
  /** Ends the upgrade, and with it the transaction. */
  readonly fail: (reason: StorageReason) => void
}

/** Makes the database what the schema declares. The transaction ends by itself when all is done. */
export const upgrade = (site: UpgradeSite): void => {
  const { db, fail, schema, transaction } = site
  compareWith(
    schema,
    db,
    () => transaction,
    guarded(site, (compared: Comparison | Corrupt) => {
      if (compared instanceof Corrupt) return fail(compared)
      const { plan, remembered } = compared
      if (plan._tag === "Current") return
      if (plan._tag === "Newer") return fail(new VersionMismatch({ found: plan.found, supported: schema.version }))
      if (remembered === undefined) db.createObjectStore(bookkeeping)
      for (const table of plan.create) createStore(db, table, table.name)
      transaction.objectStore(bookkeeping).put(rememberedSchema(schema, remembered), schemaKey)
      for (const rebuild of plan.rebuild) startRebuild(site, rebuild)
    }),
  )
}

/** The rest of an upgrade may go wrong within an event, where nobody would catch it. */
const guarded =
  <A>({ fail }: UpgradeSite, work: (given: A) => void) =>
  (given: A): void => {
    try {
      work(given)
    } catch (thrown) {
      fail(thrown instanceof Corrupt ? thrown : classify(thrown, "open"))
    }
  }

/** Copies a table, page by page, into a new object store that then takes the place of the old one. */
const startRebuild = (site: UpgradeSite, rebuild: TableRebuild): void => {
  const { db, ranges, transaction } = site
  const { table } = rebuild
  const old = transaction.objectStore(table.name)
  const fresh = createStore(db, table, `${table.name}#new`)
  const copyAfter = (last: Key | undefined) => {
    const rest = last === undefined ? undefined : ranges.keyRange.lowerBound([...last], true)
    const page: IDBRequest<Array<StoredRecord>> = old.getAll(rest, pageLength)
    const copyPage = guarded(site, () => {
      for (const record of page.result) copy(site, rebuild, record, fresh)
      if (page.result.length === pageLength) return copyAfter(page.result.at(-1)!.k)
      db.deleteObjectStore(table.name)
      fresh.name = table.name
    })
    page.addEventListener("success", copyPage)
  }
  copyAfter(undefined)
}

const copy = (
  { fail }: UpgradeSite,
  { row, table }: TableRebuild,
  record: StoredRecord,
  fresh: IDBObjectStore,
): void => {
  const upgraded = row(record.k, record.j)
  if (upgraded === undefined) return
  const bytes = table.bytes === undefined ? undefined : record.b
  const content =
    upgraded === "unreadable" ? { key: record.k, json: record.j, columns: table.columns.map(() => null) } : upgraded
  const request = fresh.add(recordOf(table, { ...content, bytes }))
  request.addEventListener("error", () => {
    if (isAbort(request.error)) return
    const reason = classify(request.error, "open")
    fail(reason._tag === "Constraint" ? new Constraint({ table: table.name, cause: request.error }) : reason)
  })
}
