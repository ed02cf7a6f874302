/**
 * Nothing is ever half done (A25, MSG-02, STO-02): whatever fails, and wherever a process stops, the store is as it was
 * before the operation or as it is after it; and after `recover` nothing runs that nobody runs (A26).
 */
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import type { Backend } from "@skein/core/storage"
import { CommitUncertain, StorageError, Unavailable } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { Maintenance } from "../../packages/core/src/maintenance/service.ts"
import { canonical } from "../../packages/core/src/value.ts"
import { crashing } from "./crash.ts"
import { inDirectory } from "./directory.ts"
import { faulty } from "./faults.ts"
import type { Fault } from "./faults.ts"
import { copyStore, inspectFile } from "./file.ts"
import { beginning } from "./operations.ts"
import type { Operation } from "./operations.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { countUp, start } from "./processes.ts"
import type { StoreRows } from "./rows.ts"
import { openFile, openStore } from "./store.ts"
import type { Store } from "./store.ts"

export interface StepOptions {
  readonly path: string
  readonly operation: string
  /** After which of its statements it is killed; 0: before the first. */
  readonly step: number
}

const prepare = async (store: Store, { prepare }: Operation): Promise<void> => {
  await store.run(beginning)
  if (prepare !== undefined) await store.run(prepare)
}

const times = new Set(
  [
    "createdAt updatedAt activityAt at startedAt endedAt finishedAt runningSince duration until",
    "enqueuedAt claimedUntil expiresAt since due redacted checkAt",
  ].flatMap((names) => names.split(" ")),
)

/** What ids are made of that are minted. */
const minted = /[0-9a-f]{32}/g

/** Rows without what differs from run to run: times, and minted ids. */
const comparable = (rows: StoreRows): unknown => {
  // Forks are of the tree of their source.
  const roots = rows.sessions.filter(({ base }) => base === undefined)
  const names = new Map(roots.map(({ id, treeId }) => [treeId, `the tree of ${id}`]))
  const change = (name: string, value: unknown) => {
    if (times.has(name)) return 0
    if (value instanceof Uint8Array) return Buffer.from(value).toString("base64")
    if (name === "treeId") return names.get(String(value))
    return typeof value === "string" ? value.replaceAll(minted, "") : value
  }
  return Object.values(rows).map((list: ReadonlyArray<unknown>) =>
    list.map((row) => canonical(JSON.parse(JSON.stringify(row, change)))).toSorted(),
  )
}

/** The engine refuses at every row that an operation writes, and the answer gets lost. */
export const refusals = async (backend: () => Layer.Layer<Backend>, operation: Operation): Promise<Outcome> => {
  const twin = faulty(backend())
  const model = openStore(twin.backend)
  await prepare(model, operation)
  await model.run(operation.run)
  // What the operation writes, before what follows it.
  const count = twin.rowsWritten()
  if (operation.whenLost !== undefined) await model.run(operation.whenLost)
  const after = await model.rows()
  await model.close()

  const { backend: struck, rowsWritten, strike } = faulty(backend())
  const store = openStore(struck)
  await prepare(store, operation)
  const before = await store.rows()
  const failures: Array<string> = []
  const reason = new Unavailable({ detail: "the disk is gone" })
  for (let k = 0; k <= count; k++) {
    const failure = await struckBy(store, operation, strike, { _tag: "Refused", after: k, reason })
    const where = `${operation.name}, refused after ${k} of ${count} rows:`
    failures.push(
      ...unless(failure === reason._tag, `${where} it ended with ${failure}`),
      ...unless(isDeepStrictEqual(await store.rows(), before), `${where} the store has changed`),
    )
  }
  const uncertain = new CommitUncertain({ detail: "the answer was lost" })
  const lost = await struckBy(store, operation, strike, { _tag: "Lost", reason: uncertain })
  const rows = await store.rows()
  failures.push(
    ...unless(lost === uncertain._tag, `${operation.name}, its answer lost: it ended with ${lost}`),
    ...unless(
      isDeepStrictEqual(comparable(rows), comparable(after)),
      `${operation.name}: with its answer lost the store is another than without`,
    ),
    ...unless(rowsWritten() > 0, `${operation.name}: nothing was written before`),
    ...(await store.problems()),
  )
  await store.close()
  return { figures: `${operation.name}: ${count + 2} faults`, failures }
}

/** How an operation ended under a fault. */
const struckBy = async (
  store: Store,
  { run }: Operation,
  strike: (fault: Fault | undefined) => void,
  fault: Fault,
): Promise<string> => {
  strike(fault)
  try {
    await store.run(run)
    return "success"
  } catch (failure) {
    return failure instanceof StorageError ? failure.reason._tag : String(failure)
  } finally {
    strike(undefined)
  }
}

/** A crash at every statement of an operation: what each one leaves is opened. */
export const crashes = (operation: Operation): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const { after, before, copies } = await crashing(directory, {
      prepare: (store) => prepare(store, operation),
      before: (store) => store.rows(),
      run: (store) => store.run(operation.run),
      after: (store) => store.rows(),
    })
    const failures: Array<string> = []
    let seen = before
    for (const [step, file] of copies.entries()) {
      const where = `${operation.name}, stopped after ${step} of ${copies.length - 1} statements:`
      const { problems, rows } = inspectFile(file)
      failures.push(...problems.map((problem) => `${where} ${problem}`))
      if (isDeepStrictEqual(rows, after)) seen = after
      if (!isDeepStrictEqual(rows, seen)) failures.push(`${where} the store is neither as before nor as after`)
      const later = [...(await completes(file, operation, after)), ...(await afterRecovery(file))]
      failures.push(...later.map((problem) => `${where} ${problem}`))
    }
    failures.push(...unless(seen === after, `${operation.name}: what it did is not on disk at its end`))
    return { figures: `${operation.name}: ${copies.length} crashes`, failures }
  })

/** A new process finds what is there and goes on: where the operation is missing, it can be done. */
const completes = async (path: string, operation: Operation, after: StoreRows): Promise<ReadonlyArray<string>> => {
  const isDone = isDeepStrictEqual(inspectFile(path).rows, after)
  const store = openFile(path)
  try {
    if (!isDone) await store.run(operation.run)
    return unless(isDeepStrictEqual(comparable(await store.rows()), comparable(after)), "it cannot be done afterwards")
  } catch (failure) {
    return [`it cannot be done afterwards: ${String(failure)}`]
  } finally {
    await store.close()
  }
}

/** What does not hold once another process has recovered what is in a file. */
const afterRecovery = async (path: string): Promise<ReadonlyArray<string>> => {
  const store = openFile(path)
  await store.run(Effect.flatMap(Effect.service(Maintenance), (maintenance) => maintenance.recover()))
  await store.close()
  const { problems, rows } = inspectFile(path)
  const running = rows.sessions.filter(({ activeTurn }) => activeTurn !== undefined).map(({ id }) => id)
  return [...problems, ...unless(running.length === 0, `${running.join()} still runs after recovery`)]
}

/** What a process does before it is killed: where it begins, and what the store may be then. */
interface Target {
  readonly operation: Operation
  readonly directory: string
  /** The file to begin with. */
  readonly path: string
  readonly before: StoreRows
  /** As it is after each of its commits. */
  readonly later: ReadonlyArray<StoreRows>
}

const withTarget = <A>(operation: Operation, use: (target: Target) => Promise<A>): Promise<A> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const before = await rowsAfter(path, (store) => prepare(store, operation))
    const later: Array<StoreRows> = []
    for (const work of [operation.run, ...(operation.first === undefined ? [] : [operation.first])]) {
      later.push(
        await rowsAfter(copyStore(path, join(directory, `model-${later.length}.db`)), (store) => store.run(work)),
      )
    }
    return use({ operation, directory, path, before, later })
  })

/** What stands in a file after something was done to it and it was closed. */
const rowsAfter = async (path: string, work: (store: Store) => Promise<unknown>): Promise<StoreRows> => {
  const store = openFile(path)
  await work(store)
  await store.close()
  return inspectFile(path).rows
}

/** The same with a real process and a real `kill -9`, at one statement. `undefined`: it has fewer statements. */
const killOnce = async (target: Target, step: number): Promise<ReadonlyArray<string> | undefined> => {
  const { before, directory, later, operation } = target
  const path = copyStore(target.path, join(directory, `${step}.db`))
  const options: StepOptions = { path, operation: operation.name, step }
  const child = start("half-done", options)
  await child.ready
  child.go()
  if ((await child.ended) === 0) return undefined
  const { problems, rows } = inspectFile(path)
  const isLater = later.some((one) => isDeepStrictEqual(comparable(rows), comparable(one)))
  const isWhole = isDeepStrictEqual(rows, before) || isLater
  return [
    ...problems,
    ...unless(isWhole, "the store is neither as before nor as after"),
    ...(await afterRecovery(path)),
  ].map((problem) => `${operation.name}, killed after ${step} statements: ${problem}`)
}

export const killedAt = (operation: Operation, step: number): Promise<ReadonlyArray<string> | undefined> =>
  withTarget(operation, (target) => killOnce(target, step))

/** Kills a process at every statement of every operation. */
export const killedEverywhere = async (operations: ReadonlyArray<Operation>): Promise<Outcome> => {
  const found: Array<ReadonlyArray<string>> = []
  for (const operation of operations) {
    found.push(...(await withTarget(operation, (target) => countUp((step) => killOnce(target, step)))))
  }
  return {
    figures: `${operations.length} operations killed at ${found.length} statements`,
    failures: found.flat(),
  }
}
