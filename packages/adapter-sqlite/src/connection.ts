/**
 * One connection to a database: its settings, its transactions and its compiled statements.
 *
 * Guarantee: after a failed `begin` nothing is open and nothing is half-way, so that the next transaction is real. This
 * is why transactions begin and end by `exec`: a compiled BEGIN that fails with BUSY stays in progress, and what is
 * written after it is acknowledged and lost.
 *
 * No lock is waited for. Waiting belongs to `Storage`, which does it without blocking the event loop.
 */
import type { Durability } from "@skein/core/storage"
import type { Driver, DriverConnection, SqlRow, SqlValue, Statement } from "./driver.ts"

/** What each `Durability` asks of SQLite. */
const synchronous = { strict: "FULL", relaxed: "NORMAL" } as const

export class Connection {
  readonly #connection: DriverConnection
  readonly #statements = new Map<string, Statement>()
  #durability: Durability | undefined

  constructor(driver: Driver, uri: string) {
    this.#connection = driver(uri)
  }

  exec(sql: string): void {
    this.#connection.exec(sql)
  }

  /** The statement, compiled once in the life of the connection. */
  statement(sql: string): Statement {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#connection.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  all(sql: string, ...values: ReadonlyArray<SqlValue>): ReadonlyArray<SqlRow> {
    return this.statement(sql).all(values)
  }

  /** The first column of the first row. */
  value(sql: string): SqlValue | undefined {
    return this.statement(sql).get([])?.[0]
  }

  /** Begins a transaction that reads one state. */
  beginRead(): void {
    this.#connection.exec("BEGIN")
  }

  /** Begins a transaction that holds the one write lock. */
  beginWrite(durability: Durability): void {
    // The setting may only change outside a transaction. It costs a few microseconds, against a flush of the disk.
    if (this.#durability !== durability) {
      this.#connection.exec(`PRAGMA synchronous = ${synchronous[durability]}`)
      this.#durability = durability
    }
    this.#connection.exec("BEGIN IMMEDIATE")
  }

  commit(): void {
    this.#connection.exec("COMMIT")
  }

  /** Ends the transaction, if one is open: some failures have ended it already. Never throws. */
  rollback(): void {
    try {
      if (this.#connection.inTransaction) this.#connection.exec("ROLLBACK")
    } catch {
      // The failure that led here is the one to report. If a transaction is still open, the next one cannot begin.
    }
  }

  close(): void {
    this.#statements.clear()
    this.#connection.close()
  }
}
