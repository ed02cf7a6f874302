/**
 * One machine in one transaction.
 *
 * IndexedDB ends a transaction as soon as a callback returns with nothing asked. So nothing here waits: the reads of a
 * step are issued together, the machine goes on inside the success event of the last of them, and all of its writes are
 * issued before that event is over.
 *
 * Guarantee: success is reported on `complete` only. Whatever fails before the commit aborts the transaction, and the
 * abort is awaited. An error that may hide a commit is `CommitUncertain`.
 *
 * Not promised: how long the transaction waits for those of other tabs.
 */
import type { Machine, ReadStep, RowWrite, StorageReason, StoredRow, WriteStep } from "@skein/core/storage"
import type { Refused } from "./constraint.ts"
import { classify, isAbort } from "./error.ts"
import { rangeBetween } from "./range.ts"
import type { KeyRanges } from "./range.ts"
import { ask } from "./read.ts"
import { recordOf } from "./record.ts"

type Done = (failure?: StorageReason, refused?: Refused) => void
type Answers = ReadonlyArray<ReadonlyArray<StoredRow>>

export class Execution {
  readonly #transaction: IDBTransaction
  readonly #machine: Machine
  readonly #ranges: KeyRanges
  readonly #done: Done
  /** The writes of rows, to know which of them failed. */
  readonly #issued: Array<{ readonly request: IDBRequest; readonly write: Refused["write"] }> = []
  /** Why this transaction was given up here. */
  #gaveUp: StorageReason | undefined
  /** The first request that failed by itself. The browser then aborts the transaction. */
  #failed: IDBRequest | undefined
  #isCommitting = false
  #isOver = false

  constructor(transaction: IDBTransaction, machine: Machine, ranges: KeyRanges, done: Done) {
    this.#transaction = transaction
    this.#machine = machine
    this.#ranges = ranges
    this.#done = done
  }

  /** Begins, in the same turn in which the transaction was made. */
  start(): void {
    this.#transaction.addEventListener("complete", () => this.#finish())
    this.#transaction.addEventListener("abort", () => this.#aborted())
    this.#transaction.addEventListener("error", ({ target }) => {
      const request = target as IDBRequest
      if (!isAbort(request.error)) this.#failed ??= request
    })
    this.#advance()
  }

  /** Takes the machine as far as it gets without waiting. */
  #advance(answers?: Answers): void {
    try {
      let step = this.#machine.next(answers)
      while (step._tag === "Read") {
        const found = this.#ask(step)
        if (found === undefined) return
        step = this.#machine.next(found)
      }
      this.#write(step)
    } catch (thrown) {
      this.#giveUp(thrown)
    }
  }

  /** Issues the reads of a step. The answers, when there was nothing to wait for. */
  #ask({ reads }: ReadStep): Answers | undefined {
    const answers: Array<ReadonlyArray<StoredRow>> = reads.map(() => [])
    let pending = 0
    for (const [i, read] of reads.entries()) {
      const isPending = ask(this.#transaction, this.#ranges, read, (rows) => {
        answers[i] = rows
        if (--pending === 0) this.#advance(answers)
      })
      if (isPending) pending++
    }
    return pending === 0 ? answers : undefined
  }

  #write({ removals, rows }: WriteStep): void {
    if (removals.length === 0 && rows.length === 0) return this.#endUnchanged()
    for (const { lower, table, upper } of removals) {
      const store = this.#transaction.objectStore(table.name)
      const range = rangeBetween(this.#ranges, lower, upper)
      if (range === undefined) store.clear()
      else if (range !== "nothing") store.delete(range)
    }
    for (const row of rows) this.#issue(row)
    this.#isCommitting = true
    this.#transaction.commit()
  }

  #issue(write: RowWrite): void {
    const store = this.#transaction.objectStore(write.table.name)
    if (write._tag === "Remove") {
      store.delete([...write.key])
      return
    }
    const record = recordOf(write.table, write)
    this.#issued.push({ write, request: write._tag === "Insert" ? store.add(record) : store.put(record) })
  }

  /** Nothing was written, so nothing has to become durable, and the answers are known. */
  #endUnchanged(): void {
    this.#transaction.commit()
    this.#finish()
  }

  #giveUp(thrown: unknown): void {
    this.#gaveUp = classify(thrown, "run")
    this.#transaction.abort()
  }

  #finish(failure?: StorageReason, refused?: Refused): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#done(failure, refused)
  }

  #aborted(): void {
    const failed = this.#failed
    if (this.#gaveUp !== undefined) return this.#finish(this.#gaveUp)
    if (failed === undefined)
      return this.#finish(classify(this.#transaction.error, this.#isCommitting ? "commit" : "run"))
    const reason = classify(failed.error, "run")
    const write = reason._tag === "Constraint" && this.#issued.find(({ request }) => request === failed)?.write
    this.#finish(reason, write ? { write, cause: failed.error } : undefined)
  }
}
