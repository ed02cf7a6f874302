/**
 * Removing much in small steps: as much as one commit may take away, and where entries end that nobody needs.
 */
import { applyRelease, nothingReleased, planRelease } from "../attachment/program.ts"
import type { Release } from "../attachment/program.ts"
import { BranchTable, EntryTable } from "../message/model.ts"
import type { EntryRow } from "../message/model.ts"
import type { AnyTable } from "../storage/table.ts"
import { fn, isUnreadable } from "../storage/transaction.ts"
import type { Handle, Unreadable } from "../storage/transaction.ts"

/** How many rows one commit removes at most, and how much they hold: one row may hold more. */
export const maxRemoved = { rows: 500, size: 4 * 1024 * 1024 }

/** What a commit may still remove. A program makes one when it begins. */
export class Room {
  #rows = maxRemoved.rows
  #size = maxRemoved.size
  #isUsed = false
  #isClosed = false

  /** How many rows to look at next: few, for they may be large. */
  get window(): number {
    return Math.min(this.#rows, windowSize)
  }

  /** Whether nothing more goes in. */
  get isFull(): boolean {
    return this.#isClosed || this.#rows <= 0 || this.#size <= 0
  }

  /** Takes a row in, if there is room for it. The first one always finds some; after one that does not, none does. */
  takes(of: AnyTable, row: Readonly<Record<string, unknown>> | Unreadable): boolean {
    const size = isUnreadable(row) ? 0 : sizeOf(of, row)
    this.#isClosed = this.isFull || (this.#isUsed && size > this.#size)
    if (this.#isClosed) return false
    this.#isUsed = true
    this.#rows--
    this.#size -= size
    return true
  }
}

const windowSize = 50

/** How many branches are looked at at a time. */
export const branchWindow = 50

/** About what a row takes, in characters and bytes. */
export const sizeOf = (of: AnyTable, row: Readonly<Record<string, unknown>>): number => {
  if (of.bytes === undefined) return JSON.stringify(row).length
  const { [of.bytes]: bytes, ...rest } = row
  return JSON.stringify(rest).length + (bytes instanceof Uint8Array ? bytes.byteLength : 0)
}

/** The end of a branch that goes. */
export interface Ending {
  readonly treeId: string
  readonly branch: number
  /** The first position that goes; absent: nothing does. */
  readonly from: number | undefined
  readonly entries: number
  /** Whether this is all of what is to go. */
  readonly isAll: boolean
  /** The blobs that it uses. */
  readonly release: Release
}

/** Reads how much of a branch goes with this commit, from the tip down, of what is behind `keepUpTo`. */
export const planEnding = fn(function* (tx, treeId: string, branch: number, keepUpTo: number, room: Room) {
  let from: number | undefined
  let entries = 0
  const ending = fn(function* (_tx, isAll: boolean) {
    const release = from === undefined ? nothingReleased : yield* planRelease(treeId, branch, { from })
    const found: Ending = { treeId, branch, from, entries, isAll, release }
    return found
  })
  for (;;) {
    const limit = room.window
    const rows: ReadonlyArray<Readonly<EntryRow> | Unreadable> = yield* tx.range(EntryTable, "key", {
      prefix: [treeId, branch],
      after: [treeId, branch, keepUpTo],
      ...(from !== undefined && { before: [treeId, branch, from] as const }),
      reverse: true,
      limit: limit + 1,
      unreadable: "keep",
    })
    for (const row of rows.slice(0, limit)) {
      if (!room.takes(EntryTable, row)) return yield* ending(false)
      from = isUnreadable(row) ? Number(row.key[2]) : row.pos
      entries++
    }
    if (rows.length <= limit) return yield* ending(true)
    if (room.isFull) return yield* ending(false)
  }
})

/** Removes ends of branches of a tree, with what their entries use, and the branches of which nothing is left. */
export const removeEndings = (
  tx: Handle,
  treeId: string,
  endings: ReadonlyArray<Ending>,
  gone: ReadonlySet<number>,
  now: number,
): void => {
  for (const { branch, from, release } of endings) {
    if (from !== undefined) tx.removeRange(EntryTable, { prefix: [treeId, branch], from: [treeId, branch, from] })
    applyRelease(tx, release, now)
  }
  for (const branch of gone) tx.remove(BranchTable, [treeId, branch])
}
