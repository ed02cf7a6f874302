/**
 * Reading the stretches of a path, in parts that one read may give.
 */
import { EntryTable } from "../message/model.ts"
import type { EntryRef } from "../message/model.ts"
import type { Stretch } from "../message/path.ts"
import { fn, maxRange } from "../storage/transaction.ts"

/** Splits stretches into parts of at most 500 positions. */
export const inParts = (stretches: ReadonlyArray<Stretch>): ReadonlyArray<ReadonlyArray<Stretch>> => {
  const parts: Array<Array<Stretch>> = []
  let room = 0
  for (const { branch, from: first, to } of stretches) {
    for (let from = first; from <= to;) {
      if (room === 0) {
        parts.push([])
        room = maxRange
      }
      const end = Math.min(to, from + room - 1)
      parts.at(-1)!.push({ branch, from, to: end })
      room -= end - from + 1
      from = end + 1
    }
  }
  return parts
}

/** The entries on stretches, oldest first. At most 500 positions. */
export const readStretches = fn(function* (tx, treeId: string, stretches: ReadonlyArray<Stretch>) {
  const rows = yield* tx.all(
    stretches.map(({ branch, from, to }) =>
      tx.range(EntryTable, "key", { from: [treeId, branch, from], to: [treeId, branch, to], unreadable: "keep" }),
    ),
  )
  return rows.flat()
})

/** Stretches that are oldest first, cut before a place: what is before it, and what is at it or behind. */
export const splitAt = (
  stretches: ReadonlyArray<Stretch>,
  { branch, pos }: EntryRef,
): { readonly before: ReadonlyArray<Stretch>; readonly behind: ReadonlyArray<Stretch> } => {
  const before = stretches.filter((one) => one.branch <= branch)
  const behind = stretches.filter((one) => one.branch >= branch)
  return {
    before: before.map((one) => (one.branch === branch ? { ...one, to: Math.min(one.to, pos - 1) } : one)),
    behind: behind.map((one) => (one.branch === branch ? { ...one, from: Math.max(one.from, pos) } : one)),
  }
}
