/**
 * Runs machines on an open file: reads on one connection, writes on the other.
 *
 * Guarantee: a run is one transaction of SQLite from its first read to its COMMIT, and `done` is called when that has
 * returned. Nothing waits: a store that somebody else is writing to is `Busy` at once. A run works on the tables it was
 * compiled for: when another process has upgraded them, it fails before the machine has begun.
 */
import { Closed, ownLocks } from "@skein/core/storage"
import type { Engine, LockPlace, Machine, RunOptions, Schema, StorageReason } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { judge } from "./bookkeeping.ts"
import { reasonOf } from "./classify.ts"
import type { Stage } from "./classify.ts"
import type { Connection } from "./connection.ts"
import type { SqlValue } from "./driver.ts"
import { Reads } from "./reads.ts"
import { Writes } from "./writes.ts"

export interface Store {
  readonly schema: Schema
  readonly writer: Connection
  /** The same as `writer` in memory, where a second connection would be a second database. */
  readonly reader: Connection
  /** `schema_version` of the layout that was judged: SQLite changes it with every change of a table or an index. */
  readonly layout: number
  readonly lockPlace: LockPlace
}

const layoutSql = "PRAGMA schema_version"

/** Identifies the layout as this transaction sees it. */
export const layoutOf = (connection: Connection): number => connection.value(layoutSql) as number

/** How often somebody who listens looks whether others have committed, in milliseconds. */
const watchEvery = 250

/**
 * A number that changes when another connection has committed, and not when this one has. It is asked in a transaction
 * whose first statement is that of every run, since one that fails with BUSY must be sure to run again.
 */
const commitsOfOthers = (connection: Connection): SqlValue | undefined => {
  try {
    connection.beginRead()
    layoutOf(connection)
    return connection.value("PRAGMA data_version")
  } catch {
    return undefined
  } finally {
    connection.rollback()
  }
}

/** One connection and what was compiled for it. */
interface Lane {
  readonly connection: Connection
  readonly reads: Reads
  readonly writes: Writes
}

const makeLane = (connection: Connection): Lane => ({
  connection,
  reads: new Reads(connection),
  writes: new Writes(connection),
})

interface Lanes {
  readonly write: Lane
  readonly read: Lane
}

export const makeEngine = ({ layout, lockPlace, reader, schema, writer }: Store): Engine => {
  const locks = ownLocks(lockPlace, (thrown) => reasonOf(thrown, "open"))
  let judged = layout
  const write = makeLane(writer)
  // Let go of when closed: a library may keep files open as long as anything that was compiled can still be reached.
  let lanes: Lanes | undefined = { write, read: reader === writer ? write : makeLane(reader) }

  /**
   * The first statement of every transaction. It also takes the snapshot, so that a busy store is met before the machine
   * has begun, and by a statement that the next run is sure to run again.
   */
  const checkLayout = (connection: Connection): void => {
    const found = layoutOf(connection)
    if (found === judged) return
    if (judge(connection, schema)._tag === "Upgrade") {
      throw new Closed({ detail: "another program has changed the tables of the store" })
    }
    judged = found
  }

  const failureOf = (
    { connection, reads, writes }: Lane,
    machine: Machine,
    { durability, mode }: RunOptions,
  ): StorageReason | undefined => {
    let stage: Stage = "begin"
    try {
      if (mode === "read") connection.beginRead()
      else connection.beginWrite(durability)
      checkLayout(connection)
      stage = "read"
      let step = machine.next()
      while (step._tag === "Read") step = machine.next(reads.answer(step.reads))
      stage = "write"
      writes.apply(step)
      stage = "commit"
      connection.commit()
      return undefined
    } catch (thrown) {
      const reason = reasonOf(thrown, stage, schema.tables)
      connection.rollback()
      return reason
    }
  }

  /** Something that is asked of SQLite itself, outside of transactions. */
  const asked = <A>(lane: keyof Lanes, question: (lane: Lane) => A): Effect.Effect<A, StorageReason> =>
    Effect.suspend(() => {
      if (lanes === undefined) return Effect.fail(new Closed({}))
      try {
        return Effect.succeed(question(lanes[lane]))
      } catch (thrown) {
        return Effect.fail(reasonOf(thrown, "commit", schema.tables))
      }
    })

  return {
    run: (machine, options, done) =>
      done(lanes === undefined ? new Closed({}) : failureOf(lanes[options.mode], machine, options)),
    locks,
    watch: Effect.fnUntraced(function* (changed) {
      // The writer sees its own commits as its own, which the reader does not.
      const look = () => lanes && commitsOfOthers(lanes.write.connection)
      let seen = look()
      for (;;) {
        yield* Effect.sleep(watchEvery)
        const found = look() ?? seen
        if (found !== seen) changed()
        seen = found
      }
    }),
    space: asked("read", ({ connection }) => {
      const pageSize = connection.value("PRAGMA page_size") as number
      const pages = connection.value("PRAGMA page_count") as number
      return { bytes: pages * pageSize, free: (connection.value("PRAGMA freelist_count") as number) * pageSize }
    }),
    compact: asked("write", ({ connection }) => {
      connection.exec("VACUUM")
      // What was written anew stands in the log as well, until that is moved into the file.
      connection.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    }),
    close: Effect.sync(() => {
      lanes = undefined
      locks.close()
      closeConnections(writer, reader)
    }),
  }
}

/** Moves the log into the file where nobody else needs it, and never fails: what is committed is committed. */
const closeConnections = (writer: Connection, reader: Connection): void => {
  if (reader !== writer) reader.close()
  try {
    writer.exec("PRAGMA wal_checkpoint(TRUNCATE)")
  } catch {
    // Another process reads or writes, or the file is read-only. Whoever closes last moves the log.
  }
  writer.close()
}
