/**
 * The few things this adapter asks of a SQLite library, so that another library can take its place.
 *
 * What a driver guarantees:
 * - rows are arrays, text is a string, blobs are bytes, integers are numbers;
 * - a statement that has answered or failed holds no lock, except that one which failed with BUSY may stay half-way
 *   until it is run again: `Connection` sees to it that only `exec`, or the first statement of a transaction, can;
 * - `exec` leaves nothing behind, whatever happens;
 * - a value that is not a `SqlValue` is thrown back, never stored as something else.
 */

/** What SQLite stores. */
export type SqlValue = string | number | null | Uint8Array
export type SqlRow = ReadonlyArray<SqlValue>

/** Compiled once, run many times. */
export interface Statement {
  /** Runs a statement that returns no rows, and says how many it changed. */
  run(values: ReadonlyArray<SqlValue>): number
  /** The first row. */
  get(values: ReadonlyArray<SqlValue>): SqlRow | undefined
  all(values: ReadonlyArray<SqlValue>): ReadonlyArray<SqlRow>
}

export interface DriverConnection {
  /** Runs one or more statements and ignores their rows. */
  exec(sql: string): void
  prepare(sql: string): Statement
  readonly inTransaction: boolean
  close(): void
}

/** Opens a `file:` URI of SQLite, or `:memory:`. Waits for no lock. */
export type Driver = (uri: string) => DriverConnection
