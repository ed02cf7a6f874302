/**
 * The path: from a head back to the root, over the branches it crosses.
 *
 * Guarantee: a path is read in strides of 64 branches, and only as far as the caller asks. It ends: a parent's number is
 * smaller than its child's, and rows that say otherwise are `Corrupt`, not a loop.
 */
import { Corrupt, StorageError } from "../storage/error.ts"
import { fn } from "../storage/transaction.ts"
import { BranchTable, EntryTable, root, trailLength } from "./model.ts"
import type { BranchRow, EntryRef, Facts, TrailStep } from "./model.ts"

/** A path as far as it was read: its steps from the head back. */
export interface Path {
  readonly steps: ReadonlyArray<TrailStep>
  /** Whether the last step begins at the root. If not, the last step only tells where the one before it begins. */
  readonly complete: boolean
}

const empty: Path = { steps: [], complete: true }

/** Rows that contradict one another. Only a damaged store has them. */
const contradiction = (treeId: string, branch: number, detail: string) =>
  new StorageError({
    operation: "read",
    reason: new Corrupt({ table: BranchTable.name, key: [treeId, branch], detail: `branch ${branch} ${detail}` }),
  })

/**
 * Reads the path of a place.
 *
 * @param facts   facts of the path at `head`; only `displays` and `prompts` are used
 * @param enough  whether a step that was reached is far enough back
 */
export const readPath = fn(function* (
  tx,
  treeId: string,
  head: EntryRef,
  facts: Pick<Facts, "displays" | "prompts">,
  enough: (step: TrailStep) => boolean,
) {
  if (head.branch === 0) return empty
  const { displays, prompts } = facts
  const steps: Array<TrailStep> = [{ branch: head.branch, upTo: head.pos, displays, prompts }]
  for (;;) {
    const last = steps.at(-1)!
    const branch: Readonly<BranchRow> | undefined = yield* tx.get(BranchTable, [treeId, last.branch])
    if (branch === undefined) return yield* tx.fail(contradiction(treeId, last.branch, "is named but does not exist"))
    for (const step of branch.trail) {
      if (step.branch >= steps.at(-1)!.branch || step.branch < 1) {
        return yield* tx.fail(contradiction(treeId, branch.branch, "has an ancestor that is not older than itself"))
      }
      steps.push(step)
    }
    const path: Path = { steps, complete: branch.trail.length < trailLength }
    if (path.complete || enough(steps.at(-1)!)) return path
  }
})

/** The steps of a path with the ordinals at which each begins, for `displays` or for `prompts`. */
const stretches = ({ complete, steps }: Path, ordinal: "displays" | "prompts") =>
  steps.slice(0, complete ? steps.length : -1).map((step, i) => ({
    branch: step.branch,
    first: (steps[i + 1]?.[ordinal] ?? 0) + 1,
    last: step[ordinal],
  }))

/**
 * The entries of a path whose ordinal lies between two, oldest first: what people see by `byShown`, prompts by
 * `byPrompt`. One step, whatever the number of branches.
 */
export const readOrdinals = fn(function* (
  tx,
  treeId: string,
  path: Path,
  index: "byShown" | "byPrompt",
  from: number,
  to: number,
) {
  const wanted = stretches(path, index === "byShown" ? "displays" : "prompts")
    .map(({ branch, first, last }) => ({ branch, first: Math.max(first, from), last: Math.min(last, to) }))
    .filter(({ first, last }) => first <= last)
    .toReversed()
  const rows = yield* tx.all(
    wanted.map(({ branch, first, last }) =>
      tx.range(EntryTable, index, {
        from: [treeId, branch, first],
        to: [treeId, branch, last],
        unreadable: "keep",
      }),
    ),
  )
  return rows.flat()
})

/** What stands at each of these places: an entry, one that cannot be read, or nothing. */
export const entriesAt = fn(function* (tx, treeId: string, places: ReadonlyArray<EntryRef>) {
  const found = yield* tx.all(
    places.map(({ branch, pos }) =>
      tx.range(EntryTable, "key", { from: [treeId, branch, pos], to: [treeId, branch, pos], unreadable: "keep" }),
    ),
  )
  return found.map(([entry]) => entry)
})

/** The last entry of each branch. */
export const lastEntries = fn(function* (tx, treeId: string, branches: ReadonlyArray<number>) {
  const found = yield* tx.all(
    branches.map((branch) =>
      tx.range(EntryTable, "key", { prefix: [treeId, branch], reverse: true, limit: 1, unreadable: "keep" }),
    ),
  )
  return found.map(([entry]) => entry)
})

/** A run of positions on one branch. */
export interface Stretch {
  readonly branch: number
  readonly from: number
  readonly to: number
}

/** The positions of a path, oldest first, from `start` on (inclusive) or from the root. */
export const positionsOf = ({ complete, steps }: Path, start?: EntryRef): ReadonlyArray<Stretch> => {
  const read = steps.slice(0, complete ? steps.length : -1)
  return read
    .filter((step) => start === undefined || step.branch >= start.branch)
    .map((step) => ({ branch: step.branch, from: step.branch === start?.branch ? start.pos : 1, to: step.upTo }))
    .toReversed()
}

/** Whether a place is on a path that was read back to its branch. */
export const isOnPath = ({ steps }: Path, { branch, pos }: EntryRef): boolean =>
  branch === 0 || steps.some((step) => step.branch === branch && pos >= 1 && pos <= step.upTo)

/** The place that an entry of a path follows on it. */
export const placeBefore = ({ steps }: Path, { branch, pos }: EntryRef): EntryRef => {
  if (pos > 1) return { branch, pos: pos - 1 }
  const parent = steps[steps.findIndex((step) => step.branch === branch) + 1]
  return parent === undefined ? root : { branch: parent.branch, pos: parent.upTo }
}

/** Far enough to tell whether `ref` is on the path. */
export const reaches =
  (ref: EntryRef) =>
  (step: TrailStep): boolean =>
    step.branch <= ref.branch
