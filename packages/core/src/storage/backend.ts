/**
 * The port: what an engine has to do, and all that an adapter has to write.
 *
 * An adapter stores rows of declared tables. It runs a `Machine`, which asks for rows step by step and ends with the
 * writes, inside one transaction of the engine. It knows no session, no group, no retry and no overlay: those are
 * `Storage`, on top.
 *
 * What an adapter guarantees:
 * - all reads of one machine see one state, and nobody else's commit falls between its reads and its writes;
 * - the writes are applied together or not at all, in the order of `WriteStep`;
 * - `done()` is called once, and without a failure only after the commit is as durable as was asked;
 * - a failure says what happened. `CommitUncertain` is the only one after which the writes may be there.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { StorageReason } from "./error.ts"
import type { AnyTable, Index, Key, KeyPart } from "./table.ts"
import type { Schema } from "./schema.ts"

/** What differs between adapters, as facts. Tests and services read these, never an adapter's name. */
export interface Capabilities {
  /** Whether a commit outlives the process. */
  readonly durable: boolean
  /** Whether several processes, or tabs, may open one store at the same time. */
  readonly multiProcess: boolean
  /** Whether the engine blocks the thread while it works. Groups then also end after 5 ms. */
  readonly blocking: boolean
  /** How many programs one transaction may carry. */
  readonly groupPrograms: number
  /**
   * The name of what has one wall clock: this machine, or the origin of a page. Leases of owners with the same name are
   * judged by the time, others by watching them. Default: nothing is known, and each opening is watched by the others.
   */
  readonly host?: string | undefined
  /** How long the lease of a turn is, in milliseconds: longer where timers are slowed down. Default 30,000. */
  readonly lease?: number
}

/**
 * Locks with names, apart from rows and transactions, which the system lets go of when their holder is gone, however it
 * went. They prove that an owner is dead before its lease has run out. Names are 1 to 128 of `A–Z a–z 0–9 _ -`.
 */
export interface EngineLocks {
  /**
   * Takes a lock until the scope closes, the engine is closed, or the process ends. `Busy` at once while anybody holds it,
   * this engine included: waiting is done above.
   */
  readonly hold: (name: string) => Effect.Effect<void, StorageReason, Scope.Scope>
  /** Whether anybody holds it, in any process and through any open engine. Fails where that cannot be told. */
  readonly isHeld: (name: string) => Effect.Effect<boolean, StorageReason>
}

/** `strict` is on disk before success is reported; `relaxed` may lose the newest commits to a power cut. */
export type Durability = "strict" | "relaxed"

/** A row as the engine holds it. The JSON is unread: it may be damaged, and finding out is core's work. */
export interface StoredRow {
  readonly key: Key
  /** The row's JSON text without its key fields; something else where the store was damaged. */
  readonly json: unknown
  readonly bytes?: Uint8Array | undefined
  /** The row's place in the index that was read. Absent when the key was read. */
  readonly place?: Key | undefined
}

/** One end of a range. A key shorter than the order stands for all that begin with it. */
export interface Bound {
  readonly key: Key
  readonly inclusive: boolean
}

/** What a machine asks for. Keys are as engines hold them: `desc int` negated. */
export type EngineRead =
  | { readonly _tag: "Get"; readonly table: AnyTable; readonly key: Key }
  | { readonly _tag: "Find"; readonly table: AnyTable; readonly index: Index; readonly values: Key }
  | RangeRead

/** Rows between two bounds, in the order of the key (`index` undefined) or of an index, at most `limit`. */
export interface RangeRead {
  readonly _tag: "Range"
  readonly table: AnyTable
  readonly index: Index | undefined
  readonly lower: Bound | undefined
  readonly upper: Bound | undefined
  readonly reverse: boolean
  readonly limit: number
}

/** All rows of a table whose key lies between the bounds are to go. */
export interface RangeRemoval {
  readonly table: AnyTable
  readonly lower: Bound | undefined
  readonly upper: Bound | undefined
}

/** One changed row. */
export type RowWrite =
  | { readonly _tag: "Remove"; readonly table: AnyTable; readonly key: Key }
  | {
      /**
       * `Insert`: the key and the unique values must be free, else `Constraint`.
       * `Update`: the row is there; its unique values did not change. `Put`: whether it is there is not known.
       */
      readonly _tag: "Insert" | "Update" | "Put"
      readonly table: AnyTable
      readonly key: Key
      readonly json: string
      readonly bytes: Uint8Array | undefined
      /** One value for each of the table's `columns`. */
      readonly columns: ReadonlyArray<KeyPart | null>
      /** On `Update`: whether any column differs from the stored row. Where not, only the JSON needs writing. */
      readonly columnsChanged: boolean
      /** On `Update`, where known: the columns of the stored row, so that only those that differ need writing. */
      readonly storedColumns?: ReadonlyArray<KeyPart | null> | undefined
    }

export interface ReadStep {
  readonly _tag: "Read"
  readonly reads: ReadonlyArray<EngineRead>
}
/** The end of a machine: ranges go first, then removed rows, then the others, in the order given. */
export interface WriteStep {
  readonly _tag: "Write"
  readonly removals: ReadonlyArray<RangeRemoval>
  readonly rows: ReadonlyArray<RowWrite>
}

/**
 * What an adapter drives. The first call has no answers; each `Read` step is answered, read by read, with the rows
 * found. After `Write` the machine is over. It never throws and never waits.
 */
export interface Machine {
  next(answers?: ReadonlyArray<ReadonlyArray<StoredRow>>): ReadStep | WriteStep
}

export interface RunOptions {
  /** `read` machines end with an empty `Write`; the engine may run them beside a writer, on one snapshot. */
  readonly mode: "read" | "write"
  readonly durability: Durability
}

/** What a store takes, and how much of that is free, in bytes. */
export interface Space {
  readonly bytes: number
  readonly free: number
}

/** An open store. */
export interface Engine {
  /**
   * Drives one machine in one transaction, and calls `done` once: with nothing after a commit, else with why there was
   * none. `Busy` when the transaction could not begin: the machine must then be untouched. Never waits for a lock
   * longer than a few milliseconds: waiting is done above. Several `read` runs may overlap; `write` runs never do.
   */
  run(machine: Machine, options: RunOptions, done: (failure?: StorageReason) => void): void
  /** Absent: the engine has none, and only leases tell who is alive. */
  readonly locks?: EngineLocks
  /**
   * Calls `changed` soon after somebody else has committed: another process, another tab, another opening of the store in
   * this process, but not this engine. It runs until it is interrupted and never waits in vain before it has begun to
   * look, so that what is committed after its start is noticed. A hint: it may come once for many commits, or for none.
   * Run only while somebody listens. Absent: the commits of others are not noticed.
   */
  readonly watch?: (changed: () => void) => Effect.Effect<never>
  /** What the store takes, and how much of it is free, in bytes. Absent: the engine does not say. */
  readonly space?: Effect.Effect<Space, StorageReason>
  /** Gives room back that is free. It may take long, and nothing else is done meanwhile. Absent: there is none to give. */
  readonly compact?: Effect.Effect<void, StorageReason>
  /** Releases everything. Called once, after the last run has ended. */
  readonly close: Effect.Effect<void>
}

/**
 * An engine that can be opened. Adapters export a function that returns `Layer<Backend>`.
 *
 * `open` creates what the schema declares, upgrades an older store in one transaction, and refuses a newer one with
 * `VersionMismatch` without changing a byte. It fails with `Busy` rather than waiting for a lock: `Storage` tries again.
 */
export class Backend extends Context.Service<
  Backend,
  {
    readonly capabilities: Capabilities
    readonly open: (schema: Schema) => Effect.Effect<Engine, StorageReason>
  }
>()("@skein/core/storage/Backend") {}
