/**
 * Opens a store.
 *
 * Guarantee: a file that is not ours, or is newer than we are, is looked at without a trace: not a byte of it changes and
 * no file appears beside it. A store whose schema is current is opened without writing. Creation and upgrade are one
 * transaction under the write lock, and what is to be done is judged again inside it; so of processes that open together
 * one does it, and a crash leaves the old store.
 */
import { lockPlace, Unavailable } from "@skein/core/storage"
import type { Schema } from "@skein/core/storage"
import { judge } from "./bookkeeping.ts"
import { classify } from "./classify.ts"
import { Connection } from "./connection.ts"
import type { Driver } from "./driver.ts"
import { layoutOf } from "./engine.ts"
import type { Store } from "./engine.ts"
import { besides, fileState, whyUnavailable } from "./location.ts"
import type { FileLocation } from "./location.ts"
import { locksBeside } from "./locks.ts"
import type { Settings } from "./options.ts"
import { upgrade, upgradeSettings } from "./upgrade.ts"

/** Throws a `StorageReason`, or what the driver throws. */
export const openStore = (driver: Driver, settings: Settings, schema: Schema): Store => {
  const { location } = settings
  return location._tag === "Memory"
    ? openMemory(driver, settings, schema)
    : openFile(driver, location, settings, schema)
}

const openMemory = (driver: Driver, settings: Settings, schema: Schema): Store => {
  const writer = new Connection(driver, ":memory:")
  configure(writer, settings)
  return { schema, writer, reader: writer, layout: bringUpToDate(writer, schema), lockPlace: lockPlace() }
}

const openFile = (driver: Driver, location: FileLocation, settings: Settings, schema: Schema): Store => {
  lookAt(driver, location, schema)
  const mode = `mode=${location.mode}`
  const writer = connect(driver, location, mode)
  let reader: Connection | undefined
  try {
    configure(writer, settings)
    const layout = currentLayout(writer, location, schema)
    reader = connect(driver, location, mode)
    configure(reader, settings)
    reader.exec("PRAGMA query_only = ON")
    return { schema, writer, reader, layout, lockPlace: locksBeside(driver, location.path) }
  } catch (thrown) {
    writer.close()
    reader?.close()
    throw thrown
  }
}

/**
 * Judges what is there through a connection that leaves no trace, and throws when it must not be touched.
 *
 * An immutable file is read without locks and without its log, so this is only done when there is no log to read. What is
 * found on the way to a refusal may be half-written by another process, which then has left a log.
 */
const lookAt = (driver: Driver, location: FileLocation, schema: Schema): void => {
  const state = fileState(location)
  if (state === "directory") throw new Unavailable({ detail: whyUnavailable(location) })
  if (state !== "present") return
  const { journal, log } = besides(location)
  // An interrupted transaction has to be taken back before anybody can read, which only a writer can.
  if (journal > 0) return
  const connection = connect(driver, location, log > 0 ? "mode=ro" : "mode=ro&immutable=1")
  try {
    judge(connection, schema)
  } catch (thrown) {
    if (log > 0 || besides(location).log === 0) throw thrown
  } finally {
    connection.close()
  }
}

const connect = (driver: Driver, location: FileLocation, parameters: string): Connection => {
  try {
    return new Connection(driver, location.uri(parameters))
  } catch (cause) {
    const reason = classify(cause, "open")
    throw reason._tag === "Unavailable" ? new Unavailable({ cause, detail: whyUnavailable(location) }) : reason
  }
}

const pageSize = 4_096

/** None of these writes to the file. */
const configure = (connection: Connection, { cacheBytes, maxBytes }: Settings): void => {
  connection.exec(`
    PRAGMA cache_size = ${-Math.ceil(cacheBytes / 1_024)};
    PRAGMA temp_store = MEMORY;
    PRAGMA wal_autocheckpoint = 1000;
    PRAGMA journal_size_limit = ${64 * 1_024 * 1_024};
  `)
  if (maxBytes !== undefined) connection.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`)
}

/** Brings the file up to date if it is not, and identifies its layout. */
const currentLayout = (writer: Connection, location: FileLocation, schema: Schema): number => {
  const [verdict, layout] = inSnapshot(writer, () => [judge(writer, schema), layoutOf(writer)] as const)
  const isCurrent = verdict._tag === "Current"
  if (location.mode === "ro") {
    if (isCurrent) return layout
    throw new Unavailable({ detail: `${location.path} has to be upgraded, and mode=ro does not allow it` })
  }
  if (writer.value("PRAGMA journal_mode") !== "wal") useLog(writer, location)
  return isCurrent ? layout : bringUpToDate(writer, schema)
}

const inSnapshot = <A>(connection: Connection, look: () => A): A => {
  connection.beginRead()
  try {
    return look()
  } finally {
    connection.rollback()
  }
}

/** Write-ahead logging: readers and the writer do not wait for each other. The file remembers it. */
const useLog = (writer: Connection, { path }: FileLocation): void => {
  writer.exec("PRAGMA journal_mode = WAL")
  if (writer.value("PRAGMA journal_mode") !== "wal") {
    throw new Unavailable({ detail: `the file system of ${path} does not allow a write-ahead log` })
  }
}

/** Answers the layout that it made or found. Once it has committed, the next process may make another. */
const bringUpToDate = (writer: Connection, schema: Schema): number => {
  writer.exec(upgradeSettings)
  writer.beginWrite("strict")
  try {
    const verdict = judge(writer, schema)
    if (verdict._tag === "Upgrade") upgrade(writer, schema, verdict)
    const layout = layoutOf(writer)
    writer.commit()
    return layout
  } catch (thrown) {
    writer.rollback()
    throw thrown
  }
}
