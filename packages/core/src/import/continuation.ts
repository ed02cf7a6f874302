/**
 * Continuations: staged messages that only go on behind the end of a branch are put there, as if they had been appended.
 *
 * Guarantee: nothing of a message changes but its place. Sessions that are imported again and again therefore do not
 * get a branch each time. What is more than `mostMoved` messages stays a branch of its own: it would not fit a commit.
 */
import { BlobUseTable } from "../attachment/model.ts"
import { stow } from "../message/large.ts"
import { BranchTable, EntryTable } from "../message/model.ts"
import type { BranchRow, EntryRef, EntryRow } from "../message/model.ts"
import { place } from "../message/placement.ts"
import type { NewEntry } from "../message/placement.ts"
import { placeBehind } from "../message/program.ts"
import type { SessionRow } from "../session/model.ts"
import { fn, isUnreadable } from "../storage/transaction.ts"
import type { Handle } from "../storage/transaction.ts"

/** How many messages change their place in one commit. */
const mostMoved = 200

export interface Continuation {
  /** The branch on which they are staged, and the end of the one that they go to. */
  readonly staged: Readonly<BranchRow>
  readonly behind: EntryRef
  /** The messages at their new places. */
  readonly rows: ReadonlyArray<EntryRow>
}

/** Where staged messages are to go; `undefined` when they stay a branch. */
export const planContinuation = fn(function* (tx, session: SessionRow, branches: ReadonlyArray<Readonly<BranchRow>>) {
  const [staged, ...others] = branches
  if (staged === undefined || others.length > 0 || staged.parent === 0) return undefined
  const { branch, forkAt, parent, treeId } = staged
  const [before, found] = yield* tx.all([
    tx.get(EntryTable, [treeId, parent, forkAt]),
    tx.range(EntryTable, "key", { prefix: [treeId, branch], limit: mostMoved + 1, unreadable: "keep" }),
  ])
  const entries = found.filter((row): row is Readonly<EntryRow> => !isUnreadable(row))
  if (before === undefined || found.length > mostMoved || entries.length < found.length) return undefined
  const placement = yield* placeBehind(session, before, before.facts)
  if (placement.opens !== undefined) return undefined
  const behind: EntryRef = { branch: parent, pos: forkAt }
  const moving = entries.map((row) => movedEntry(row, branch, behind))
  const continuation: Continuation = { staged, behind, rows: place(placement, moving) }
  return continuation
})

/** An entry without its place; a compaction keeps from where its tail will be. */
const movedEntry = (row: Readonly<EntryRow>, branch: number, behind: EntryRef): NewEntry => {
  const { branch: _branch, facts: _facts, pos: _pos, prompt: _prompt, shown: _shown, treeId: _treeId, ...entry } = row
  const keepFrom = entry.compaction?.keepFrom
  if (entry.compaction === undefined || keepFrom?.branch !== branch) return entry
  const kept: EntryRef = { branch: behind.branch, pos: behind.pos + keepFrom.pos }
  return { ...entry, compaction: { ...entry.compaction, keepFrom: kept } }
}

/** Puts them there. */
export const applyContinuation = (tx: Handle, { rows, staged }: Continuation, now: number): void => {
  const { branch, treeId } = staged
  tx.removeRange(EntryTable, { prefix: [treeId, branch] })
  // What they use goes along.
  tx.removeRange(BlobUseTable, { prefix: [treeId, branch] })
  tx.remove(BranchTable, [treeId, branch])
  for (const row of rows) tx.insert(EntryTable, row)
  for (const row of rows) stow(tx, row, now)
}
