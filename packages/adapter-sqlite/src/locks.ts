/**
 * Locks with names, for all processes that use one database: a file for each that is held, in a directory beside it.
 *
 * SQLite itself locks the file, by a transaction that lasts as long as the lock. The system lets go of it when the process
 * ends, however it ends; and other connections of the same process are kept out, too. (A socket would need the event loop,
 * a short path, and another way on Windows.)
 *
 * Guarantee: whether a lock is held is told from the system's lock alone. A file that nobody has locked means nothing; it
 * is removed by whoever meets it, and the directory with the last one. Asking whether a lock is held creates nothing.
 *
 * Not promised: anything on a network file system, as for the database.
 */
import type { LockPlace } from "@skein/core/storage"
import { existsSync, mkdirSync, readdirSync, realpathSync, rmdirSync, statSync, unlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { classify } from "./classify.ts"
import type { Driver, DriverConnection } from "./driver.ts"

/** How many files of holders that may be gone are looked at when a first lock is taken. */
const sweptAtOnce = 50

/** How often a lock is tried while others remove its file, or its directory. */
const attempts = 20

/** The locks beside a database that exists, however its path is spelled. */
export const locksBeside = (driver: Driver, path: string): LockPlace => {
  const directory = `${realpathSync.native(path)}-locks`
  // Two names that differ in capitals are two files, also where the file system sees no difference.
  const fileOf = (name: string) => join(directory, name.replaceAll(/[A-Z]/g, "=$&"))
  let swept = false

  const sweep = () => {
    if (swept) return
    swept = true
    for (const file of readdirSync(directory).slice(0, sweptAtOnce)) {
      tried(() => isLocked(driver, join(directory, file)))
    }
  }

  return {
    take: (name) => {
      const file = fileOf(name)
      const connection = locked(driver, file)
      if (connection === undefined) return
      tried(sweep)
      return () => remove(file, connection)
    },
    isHeld: (name) => isLocked(driver, fileOf(name)),
  }
}

/** A connection that has locked the file for itself; `undefined` where another one has. */
const locked = (driver: Driver, file: string): DriverConnection | undefined => {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    mkdirSync(dirname(file), { recursive: true })
    const seen = identityOf(file)
    const connection = opened(driver, file, "rwc", () => attempt < attempts)
    if (connection === undefined) continue
    if (!began(connection, "BEGIN EXCLUSIVE")) return
    // The lock is good if the file stood there before it was opened and stands there still: then others open the same
    // one. The first attempt merely creates it.
    if (seen !== undefined && seen === identityOf(file)) return connection
    close(connection)
  }
}

/** Whether a connection has locked the file. A file that none has locked is removed. */
const isLocked = (driver: Driver, file: string): boolean => {
  if (!existsSync(file)) return false
  const connection = opened(driver, file, "rw", () => !existsSync(file))
  if (connection === undefined) return false
  // What others ask at the same moment must not look like a lock, so this asks for what can be shared.
  if (!began(connection, "BEGIN; PRAGMA schema_version")) return true
  connection.exec("ROLLBACK")
  if (began(connection, "BEGIN IMMEDIATE")) remove(file, connection)
  return false
}

/** A connection to the file. One that cannot be opened throws, unless `isGone` says that there is nothing to open. */
const opened = (
  driver: Driver,
  file: string,
  mode: "rw" | "rwc",
  isGone: () => boolean,
): DriverConnection | undefined => {
  try {
    return driver(`${pathToFileURL(file).href}?mode=${mode}`)
  } catch (thrown) {
    if (!isGone()) throw thrown
    return undefined
  }
}

/** Begins a transaction. Where others are in its way, or it fails, the connection is closed. */
const began = (connection: DriverConnection, begin: string): boolean => {
  try {
    // Nothing is ever written to the file, and nothing shall lie beside it.
    connection.exec(`PRAGMA journal_mode = MEMORY; ${begin}`)
    return true
  } catch (thrown) {
    close(connection)
    if (classify(thrown, "begin")._tag === "Busy") return false
    throw thrown
  }
}

const close = (connection: DriverConnection): void => {
  if (connection.inTransaction) connection.exec("ROLLBACK")
  connection.close()
}

/** Removes a file that the connection has locked, and the directory with the last one. */
const remove = (file: string, connection: DriverConnection): void => {
  // While it is locked, so that nobody loses a lock with it. Where an open file cannot be removed, right afterwards, which
  // fails there while anybody else has it open.
  const isRemoved = tried(() => unlinkSync(file))
  close(connection)
  if (!isRemoved) tried(() => unlinkSync(file))
  tried(() => rmdirSync(dirname(file)))
}

const tried = (work: () => void): boolean => {
  try {
    work()
    return true
  } catch {
    return false
  }
}

/** Tells a file from every other that had, has or will have its path. */
const identityOf = (file: string): string | undefined => {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.dev}.${stats.ino}.${stats.birthtimeNs}`
}
