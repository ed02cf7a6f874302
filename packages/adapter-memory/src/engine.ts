/**
 * Runs machines against the tables in memory.
 *
 * Guarantee: a machine runs from its first read to its last write without anything between, so all runs are serialised.
 * Writes that are refused are taken back before `done` is called.
 */
import { Closed, Constraint, Corrupt, Full, ownLocks, Unknown, VersionMismatch } from "@skein/core/storage"
import type { Engine, Machine, RowWrite, StorageReason, WriteStep } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import type { Database } from "./database.ts"
import type { Undo } from "./table-data.ts"

export const makeEngine = (database: Database, capacity: number): Engine => {
  const { layout } = database
  const locks = ownLocks(database.locks, reasonOf)
  const me = {}
  let open = true

  const failureOf = (machine: Machine): StorageReason | undefined => {
    if (!open) return new Closed({})
    if (database.layout !== layout) return new Closed({ detail: "the store was opened with a newer schema" })
    const undos: Array<Undo> = []
    try {
      apply(database, writesOf(database, machine), undos)
      if (undos.length > 0 && database.size > capacity) {
        throw new Full({ detail: `the rows would hold ${database.size}, more than the capacity of ${capacity}` })
      }
      if (undos.length > 0) for (const { by, changed } of database.watchers) if (by !== me) changed()
      return undefined
    } catch (thrown) {
      for (const undo of undos.toReversed()) undo()
      return reasonOf(thrown)
    }
  }

  return {
    run: (machine, _options, done) => done(failureOf(machine)),
    locks,
    watch: (changed) =>
      Effect.callback<never>(() => {
        const watcher = { by: me, changed }
        database.watchers.add(watcher)
        return Effect.sync(() => database.watchers.delete(watcher))
      }),
    close: Effect.sync(() => {
      open = false
      locks.close()
    }),
  }
}

/** What this package throws on purpose is a reason; anything else is a fault of it or of the machine. */
export const reasonOf = (thrown: unknown): StorageReason =>
  thrown instanceof Constraint ||
  thrown instanceof Corrupt ||
  thrown instanceof Full ||
  thrown instanceof VersionMismatch
    ? thrown
    : new Unknown({ cause: thrown })

/** Answers the machine's reads until it ends. */
const writesOf = (database: Database, machine: Machine): WriteStep => {
  let step = machine.next()
  while (step._tag === "Read") step = machine.next(step.reads.map((read) => database.data(read.table).answer(read)))
  return step
}

/** Applies the writes in order, and notes how to take back each that was done. */
const apply = (database: Database, { removals, rows }: WriteStep, undos: Array<Undo>): void => {
  for (const removal of removals) {
    const data = database.data(removal.table)
    for (const key of data.keysIn(removal)) undos.push(data.remove(key))
  }
  for (const row of rows) undos.push(write(database, row))
}

const write = (database: Database, row: RowWrite): Undo => {
  const data = database.data(row.table)
  switch (row._tag) {
    case "Insert":
      return data.insert(row.key, row)
    case "Update":
      return data.update(row.key, row)
    case "Put":
      return data.put(row.key, row)
    case "Remove":
      return data.remove(row.key)
  }
}
