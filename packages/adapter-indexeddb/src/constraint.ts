/**
 * Which key or unique value was taken: the browser does not say, save in messages that differ.
 */
import { compare, Constraint, placeIn } from "@skein/core/storage"
import type { Key, RowWrite, StorageReason } from "@skein/core/storage"
import type { Connection } from "./connection.ts"

/** A write that was refused because its key or a unique value is taken, and the browser's error. */
export interface Refused {
  readonly write: Exclude<RowWrite, { readonly _tag: "Remove" }>
  readonly cause: unknown
}

/**
 * Looks, once the refused transaction is rolled back, at what stands in the write's way. Only a name is at stake: where
 * nothing is found, because both rows came in one batch or the other is gone by now, the table alone is named.
 */
export const nameConstraint = (
  { db }: Connection,
  { cause, write }: Refused,
  done: (reason: StorageReason) => void,
): void => {
  const { columns, key, table } = write
  const finish = (index?: string) =>
    done(new Constraint({ table: table.name, cause, ...(index !== undefined && { index }) }))
  let transaction: IDBTransaction
  try {
    transaction = db.transaction(table.name, "readonly")
  } catch {
    // The connection was closed meanwhile.
    return finish()
  }
  const store = transaction.objectStore(table.name)
  const ownRow = store.getKey([...key])
  const holders = table.indexes.flatMap((index) => {
    const place = index.unique ? placeIn(index, key, columns) : undefined
    return place === undefined ? [] : [{ index, request: store.index(index.name).getKey([...place]) }]
  })
  transaction.addEventListener("abort", () => finish())
  transaction.addEventListener("complete", () => {
    if (write._tag === "Insert" && ownRow.result !== undefined) return finish()
    const holder = holders.find(({ request: { result } }) => result !== undefined && compare(result as Key, key) !== 0)
    finish(holder?.index.name)
  })
}
