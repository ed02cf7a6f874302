/**
 * Storage: runs transaction programs over any backend.
 *
 * Guarantee: `transact` is serialisable and all-or-nothing. When it succeeds the writes are as durable as was asked;
 * when it fails or is interrupted before the commit, nothing was written; an interruption during the commit waits for
 * its outcome. Programs that wait are committed together, and each fails alone. After `CommitUncertain`, and only then,
 * the writes may be there.
 *
 * Not promised: an order between calls that were not awaited one after another, or that a program runs only once.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { parseInput } from "../input.ts"
import { WriteOptionsInput } from "../write-options.ts"
import type { TransactOptions } from "../write-options.ts"
import { Backend } from "./backend.ts"
import type { Capabilities, Durability, Engine, WriteStep, Space } from "./backend.ts"
import { makeChangeFeed } from "./changes.ts"
import type { Change, ChangedRow, WatchOthers } from "./changes.ts"
import { Closed, InvalidInput, StorageError } from "./error.ts"
import type { StorageOperation, StorageReason } from "./error.ts"
import { makeGroup } from "./group.ts"
import type { Group, GroupFacts, Result } from "./group.ts"
import { locksOf } from "./locks.ts"
import type { Locks } from "./locks.ts"
import { backoff, defaultBusyBudget, retryWhileBusy } from "./retry.ts"
import type { Schema } from "./schema.ts"
import type { AnyTable } from "./table.ts"
import { annotated, span } from "./span.ts"
import type { Notice, Tx } from "./transaction.ts"
import { makeTurnTaking } from "./turn-taking.ts"

export interface StorageOptions {
  /** How long a call waits for other writers before it fails with `Busy`, in milliseconds. Default 5,000. */
  readonly busyBudget?: number
  /** For tests. Default `false`. When true, rows are frozen and every program runs twice to see that it is pure. */
  readonly verify?: boolean
}

export type { TransactOptions }

export class Storage extends Context.Service<
  Storage,
  {
    readonly capabilities: Capabilities
    /**
     * Runs a program and commits its writes.
     *
     * @throws InvalidInput `program` is none, an option is unknown, a row is not JSON, or a key or index field is not
     * what its table says
     * @throws StorageError `Busy` after the retry budget; `Constraint` when an insert met a taken key or unique value
     */
    readonly transact: <A, E>(
      program: Tx<A, E>,
      options?: TransactOptions,
    ) => Effect.Effect<A, E | InvalidInput | StorageError>
    /** Runs a program that only reads, on one snapshot, beside writers where the engine can. */
    readonly read: <A, E>(program: Tx<A, E>) => Effect.Effect<A, E | InvalidInput | StorageError>
    /**
     * What each commit changed, from now on; ends when the storage is closed. `Changed` where it is not known what: others
     * have committed, in this process, another one or another tab, or too much has happened since it was last asked.
     */
    readonly changes: Stream.Stream<Change>
    /**
     * Calls `listener`, until the scope closes, with what each commit of this process meant: after it is durable, in commit
     * order, before anybody who took part is answered. It must not throw and should be quick: whoever writes waits for it.
     */
    readonly observe: (listener: NoticeListener) => Effect.Effect<void, never, Scope.Scope>
    /** The tables that the store was opened with. */
    readonly tables: ReadonlyArray<AnyTable>
    /** What the store takes, and how much of that is free; `undefined`: the engine does not say. */
    readonly space: Effect.Effect<Space | undefined, StorageError>
    /** Gives room back that is free, and says whether the engine can. Nothing else is done meanwhile. */
    readonly compact: Effect.Effect<boolean, StorageError>
    /** The engine's locks, where it has any. */
    readonly locks: Locks | undefined
    /** Whether calls are taken: false once it is being closed. */
    readonly isOpen: Effect.Effect<boolean>
    /** Lets what is in flight end, then releases the engine. Later calls fail with `Closed`. Closing twice is safe. */
    readonly close: Effect.Effect<void>
  }
>()("@skein/core/storage/Storage") {
  /** Opens a backend with the tables of `schema`; the scope of the layer closes it. */
  static readonly layer = (schema: Schema, options?: StorageOptions): Layer.Layer<Storage, StorageError, Backend> =>
    Layer.effect(Storage, makeStorage(schema, options))
}

export type NoticeListener = (notices: ReadonlyArray<Notice>) => void

/** A group ends when it has this much to write: characters of JSON and bytes. */
export const maxGroupSize = 4 * 1024 * 1024

interface Job {
  readonly program: Tx<unknown, unknown>
  readonly durability: Durability
  readonly answer: (result: Result, group: GroupFacts) => void
  state: "waiting" | "running" | "ended" | "cancelled"
  /** Runs in a group of its own, since its group was refused. */
  alone: boolean
  /** When it first met a busy store, in milliseconds of the clock. */
  busySince: number | undefined
  /** Called when it has ended, for a caller that was interrupted meanwhile. */
  onEnd: (() => void) | undefined
}

interface ReadJob {
  readonly program: Tx<unknown, unknown>
}

export const makeStorage = (
  schema: Schema,
  options: StorageOptions = {},
): Effect.Effect<Storage["Service"], StorageError, Backend | Scope.Scope> =>
  Effect.gen(function* () {
    const backend = yield* Backend
    const { busyBudget = defaultBusyBudget, verify = false } = options
    const engine = yield* retryWhileBusy(backend.open(schema), (reason) => reason._tag === "Busy", busyBudget).pipe(
      Effect.mapError((reason) => new StorageError({ operation: "open", reason })),
    )
    const context = yield* Effect.context<never>()
    const clock = yield* Clock.Clock
    const { capabilities } = backend
    const connected = connect(engine, capabilities, {
      busyBudget,
      verify,
      now: () => clock.currentTimeMillisUnsafe(),
      after: (attempt, work) =>
        void Effect.runForkWith(context)(
          Effect.andThen(Effect.flatMap(backoff(attempt), Effect.sleep), Effect.sync(work)),
        ),
      watchOthers: (changed) => {
        const watching = Effect.runForkWith(context)(engine.watch?.(changed) ?? Effect.void)
        return () => watching.interruptUnsafe()
      },
    })
    const { changes, isOpen, observe, read, transact } = connected
    const release = yield* Effect.cached(connected.release)
    const close = Effect.andThen(connected.refuseCalls, release)
    yield* Effect.addFinalizer(() => close)
    const locks = engine.locks && locksOf(engine.locks, busyBudget)
    const whileOpen = <A>(operation: "read" | "commit", work: Effect.Effect<A, StorageReason>) =>
      Effect.flatMap(isOpen, (isTaken) => (isTaken ? work : Effect.fail(new Closed({})))).pipe(
        (once) => retryWhileBusy(once, (reason) => reason._tag === "Busy", busyBudget),
        Effect.mapError((reason) => new StorageError({ operation, reason })),
      )
    return Storage.of({
      capabilities,
      transact,
      read,
      changes,
      observe,
      tables: schema.tables,
      space: whileOpen("read", engine.space ?? Effect.succeed(undefined)),
      compact: whileOpen("commit", Effect.as(engine.compact ?? Effect.void, engine.compact !== undefined)),
      locks,
      isOpen,
      close,
    })
  })

interface Connection {
  readonly busyBudget: number
  readonly verify: boolean
  readonly now: () => number
  /** Runs `work` after the wait that fits the attempt. */
  readonly after: (attempt: number, work: () => void) => void
  readonly watchOthers: WatchOthers
}

interface Connected extends Pick<Storage["Service"], "transact" | "read" | "changes" | "observe" | "isOpen"> {
  readonly refuseCalls: Effect.Effect<void>
  /** Waits for what is in flight, then releases the engine. */
  readonly release: Effect.Effect<void>
}

const connect = (engine: Engine, capabilities: Capabilities, connection: Connection): Connected => {
  const { after, busyBudget, now, verify, watchOthers } = connection
  const turns = makeTurnTaking(capabilities.blocking)
  const feed = makeChangeFeed(watchOthers)
  const observers = new Set<NoticeListener>()
  const waiting = new Queue<Job>()
  const idleListeners: Array<() => void> = []
  let reading = 0
  let committing = false
  let waitingForLock = false
  let busyAttempts = 0
  let pumpScheduled = false
  let closing = false

  const schedulePump = () => {
    if (pumpScheduled || committing || waitingForLock) return
    pumpScheduled = true
    turns.soon(() => {
      pumpScheduled = false
      commitGroup()
    })
  }

  const isIdle = () => !committing && reading === 0 && waiting.first() === undefined
  const settleIdle = () => {
    if (isIdle()) for (const listener of idleListeners.splice(0)) listener()
  }

  /** Takes the programs that wait and commits them together. */
  const commitGroup = () => {
    while (waiting.first()?.state === "cancelled") waiting.shift()
    const first = waiting.first()
    if (first === undefined) return settleIdle()
    committing = true
    const durability = waiting.some(capabilities.groupPrograms, (job) => job.durability === "strict")
      ? "strict"
      : "relaxed"
    const started = turns.now()
    let taken = 0
    const group: Group<Job> = makeGroup<Job>({
      mode: "write",
      verify,
      programOf: (job) => job.program,
      take: (size) => {
        const job = nextWaiting()
        if (job === undefined || size >= maxGroupSize || taken >= (first.alone ? 1 : capabilities.groupPrograms)) return
        if (taken > 0 && (job.alone || (durability === "relaxed" && job.durability === "strict"))) return
        if (taken > 0 && capabilities.blocking && turns.now() - started > 5) return
        waiting.shift()
        taken++
        job.state = "running"
        return job
      },
      giveBack,
    })
    engine.run(group, { mode: "write", durability }, (failure) => {
      committing = false
      if (failure === undefined) committed(group)
      else refused(group, failure)
      schedulePump()
      settleIdle()
    })
  }

  const nextWaiting = (): Job | undefined => {
    while (waiting.first()?.state === "cancelled") waiting.shift()
    return waiting.first()
  }

  const giveBack = (job: Job) => {
    job.state = "waiting"
    waiting.unshift(job)
  }

  const committed = (group: Group<Job>) => {
    busyAttempts = 0
    const written = group.written()
    if (written.rows.length > 0 || written.removals.length > 0) feed.announce(() => changedRows(written))
    if (observers.size > 0) tellObservers(group)
    for (const { job, result } of group.members) end(job, result!, group)
  }

  const tellObservers = ({ members }: Group<Job>) => {
    const notices = members.flatMap(({ result }) => (result?._tag === "Success" ? result.notices : []))
    if (notices.length > 0) for (const observer of observers) observer(notices)
  }

  const refused = (group: Group<Job>, reason: StorageReason) => {
    const { members } = group
    if (reason._tag === "Busy") return waitForLock(group, reason)
    if (members.length === 0) return refusedUnbegun(group, reason)
    // One member may have been refused for its own fault: alone, each gets the answer that is its own.
    const mayBeOneMembersFault = reason._tag !== "CommitUncertain" && reason._tag !== "Closed"
    if (members.length > 1 && mayBeOneMembersFault) {
      for (const { job } of members.toReversed()) {
        job.alone = true
        giveBack(job)
      }
      return
    }
    for (const { job, result } of members) {
      // A lone program that failed by itself wrote nothing, so that its own answer stands.
      const failedByItself = members.length === 1 && result !== undefined && result._tag !== "Success"
      end(job, failedByItself ? result : storageFailure("commit", reason), group)
    }
  }

  /** The engine ended before it took anybody: whoever would have been first gets the answer, and the next one tries. */
  const refusedUnbegun = (group: Group<Job>, reason: StorageReason) => {
    const first = nextWaiting()
    if (first === undefined) return
    waiting.shift()
    end(first, storageFailure("commit", reason), group)
  }

  const waitForLock = (group: Group<Job>, reason: StorageReason) => {
    for (const { job } of group.members.toReversed()) giveBack(job)
    const time = now()
    for (const job of waiting.drain()) {
      job.busySince ??= time
      if (time - job.busySince < busyBudget || job.state === "cancelled") waiting.push(job)
      else end(job, storageFailure("commit", reason), group)
    }
    if (waiting.first() === undefined) return
    waitingForLock = true
    after(busyAttempts++, () => {
      waitingForLock = false
      commitGroup()
    })
  }

  const end = (job: Job, result: Result, group: GroupFacts) => {
    job.state = "ended"
    job.answer(result, group)
    job.onEnd?.()
  }

  const transact = <A, E>(
    program: Tx<A, E>,
    given: TransactOptions = {},
  ): Effect.Effect<A, E | InvalidInput | StorageError> =>
    Effect.callback<A, E | InvalidInput | StorageError>((resume) => {
      const options = isProgram(program) ? parseInput(WriteOptionsInput, given, "options") : noProgram(program)
      if (options instanceof InvalidInput) return resume(Effect.fail(options))
      if (closing) return resume(closed("commit"))
      const job: Job = {
        program,
        durability: options.durability ?? "strict",
        state: "waiting",
        alone: false,
        busySince: undefined,
        onEnd: undefined,
        answer: (result, group) => resume(reported(result as TypedResult<A, E>, group)),
      }
      waiting.push(job)
      schedulePump()
      return Effect.suspend(() => {
        if (job.state === "waiting") job.state = "cancelled"
        if (job.state !== "running") return Effect.void
        return Effect.callback<void>((ended) => {
          job.onEnd = () => ended(Effect.void)
        })
      })
    })

  const readOnce = <A, E>(program: Tx<A, E>): Effect.Effect<A, E | InvalidInput | StorageError> =>
    Effect.callback<A, E | InvalidInput | StorageError>((resume) => {
      if (!isProgram(program)) return resume(Effect.fail(noProgram(program)))
      if (closing) return resume(closed("read"))
      reading++
      const work = () => {
        let waits: ReadJob | undefined = { program }
        const group = makeGroup<ReadJob>({
          mode: "read",
          verify,
          programOf: (job) => job.program,
          take: () => {
            const job = waits
            waits = undefined
            return job
          },
          giveBack: () => {},
        })
        engine.run(group, { mode: "read", durability: "relaxed" }, (failure) => {
          reading--
          const result = failure === undefined ? group.members[0]!.result! : storageFailure("read", failure)
          resume(reported(result as TypedResult<A, E>, group))
          settleIdle()
        })
      }
      if (capabilities.blocking) turns.soon(work)
      else work()
    })

  const read = <A, E>(program: Tx<A, E>): Effect.Effect<A, E | InvalidInput | StorageError> =>
    Effect.catch(readOnce(program), (error) =>
      isBusy(error) ? retryWhileBusy(readOnce(program), isBusy, busyBudget) : Effect.fail(error),
    )

  return {
    transact: (program, options) => span("skein.storage.transact")(transact(program, options)),
    read: (program) => span("skein.storage.read")(read(program)),
    changes: feed.stream,
    observe: (listener) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => observers.add(listener)),
          () => Effect.sync(() => observers.delete(listener)),
        ),
      ),
    isOpen: Effect.sync(() => !closing),
    refuseCalls: Effect.sync(() => {
      closing = true
    }),
    release: Effect.callback<void>((resume) => {
      idleListeners.push(() => resume(Effect.void))
      settleIdle()
    }).pipe(Effect.andThen(Effect.sync(feed.end)), Effect.andThen(engine.close), Effect.uninterruptible),
  }
}

/** Whether it can be run at all. What it yields is seen when it runs. */
const isProgram = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  typeof (value as Partial<Tx<unknown>>)[Symbol.iterator] === "function"

const noProgram = (value: unknown) =>
  new InvalidInput({ field: "program", value, problem: "must be a transaction program: what Tx.make gives" })

type TypedResult<A, E> =
  | { readonly _tag: "Success"; readonly value: A }
  | { readonly _tag: "Failure"; readonly error: E }
  | { readonly _tag: "Defect"; readonly defect: unknown }

/** The caller's result, with what the group did as facts of the current span. */
const reported = <A, E>(result: TypedResult<A, E>, group: GroupFacts): Effect.Effect<A, E> => {
  if (result._tag === "Defect") return Effect.die(result.defect)
  const facts = () => ({
    "skein.group.programs": group.members.length,
    "skein.rows.read": group.rowsRead(),
    "skein.rows.written": group.written().rows.length,
  })
  return annotated(facts, result._tag === "Success" ? Effect.succeed(result.value) : Effect.fail(result.error))
}

const storageFailure = (operation: StorageOperation, reason: StorageReason): Result => ({
  _tag: "Failure",
  error: new StorageError({ operation, reason }),
})

const closed = (operation: StorageOperation) => Effect.fail(new StorageError({ operation, reason: new Closed({}) }))

const isBusy = (error: unknown) => error instanceof StorageError && error.reason._tag === "Busy"

const changedRows = ({ removals, rows }: WriteStep): ReadonlyArray<ChangedRow> => [
  ...removals.map(({ table }): ChangedRow => ({ table: table.name, kind: "removed" })),
  ...rows.map(({ _tag, key, table }): ChangedRow => ({
    table: table.name,
    key,
    kind: _tag === "Remove" ? "removed" : "written",
  })),
]

/** First in, first out, with room at the front for what has to go again. */
class Queue<T> {
  #items: Array<T> = []
  #head = 0
  first(): T | undefined {
    return this.#items[this.#head]
  }
  push(item: T): void {
    this.#items.push(item)
  }
  unshift(item: T): void {
    if (this.#head > 0) this.#items[--this.#head] = item
    else this.#items.unshift(item)
  }
  shift(): void {
    this.#head++
    if (this.#head === this.#items.length || this.#head > 1_024) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
  }
  /** Whether one of the first `count` items is such. */
  some(count: number, is: (item: T) => boolean): boolean {
    const end = Math.min(this.#items.length, this.#head + count)
    for (let i = this.#head; i < end; i++) if (is(this.#items[i]!)) return true
    return false
  }
  drain(): ReadonlyArray<T> {
    const items = this.#items.slice(this.#head)
    this.#items = []
    this.#head = 0
    return items
  }
}
