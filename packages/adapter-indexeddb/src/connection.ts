/**
 * An open database, and why it no longer is one.
 *
 * Guarantee: never stands in the way of another opener. When one wants to upgrade or delete the store, this connection
 * closes as soon as the transactions it has begun are over; they still complete.
 */
import { Closed } from "@skein/core/storage"

export interface Connection {
  readonly db: IDBDatabase
  /** Set once the connection has ended, by whomever. */
  readonly ended: () => Closed | undefined
  readonly close: () => void
}

export const connect = (db: IDBDatabase): Connection => {
  let ended: Closed | undefined
  const end = (detail?: string) => {
    ended ??= new Closed(detail === undefined ? {} : { detail })
    db.close()
  }
  db.addEventListener("versionchange", () => end("another opener upgrades or deletes the store"))
  db.addEventListener("close", () => end("the browser closed the store"))
  return { db, ended: () => ended, close: () => end() }
}
