/**
 * Boundaries: where the replay may begin.
 *
 * Guarantee: no call is parted from its result. What is behind a boundary is replayed without what is before it, and a
 * result without its call would be lost to the model.
 *
 * Not promised: that a round is seen which is longer than a thousand places on either side of the boundary.
 */
import type { EntryRow } from "../message/model.ts"
import type { Stretch } from "../message/path.ts"
import { isReplayed } from "../message/placement.ts"
import { fn, isUnreadable } from "../storage/transaction.ts"
import { roundsOf } from "./rounds.ts"
import type { ToolUse } from "./rounds.ts"
import { inParts, readStretches } from "./stretches.ts"

/** Which calls an entry makes and answers. Pure: the dialects are known before. */
export type UsesOf = (entry: EntryRow) => ReadonlyArray<ToolUse>

/** How many places a tool round is looked for in, on either side of a boundary. */
export const roundReach = 1_000

/**
 * The message that begins the tool round in which the boundary lies between `before` and `behind`; `undefined` where it
 * lies in none.
 */
export const roundAround = fn(function* (
  _tx,
  treeId: string,
  before: ReadonlyArray<Stretch>,
  behind: ReadonlyArray<Stretch>,
  usesOf: UsesOf,
) {
  const earlier = yield* readReplayed(treeId, newest(before, roundReach))
  const later = yield* readReplayed(treeId, oldest(behind, roundReach))
  return beginningOfRound([...earlier, ...later], earlier.length, usesOf)
})

const beginningOfRound = (
  entries: ReadonlyArray<Readonly<EntryRow>>,
  boundary: number,
  usesOf: UsesOf,
): Readonly<EntryRow> | undefined => {
  const rounds = roundsOf(entries.map(usesOf))
  const lastAnswer = entries.findLastIndex((entry) => entry.role === "assistant")
  // Once an assistant has gone on without a result, none will come.
  const parted = (at: number) =>
    rounds.find(({ call, result }) => call < at && (result === undefined ? call >= lastAnswer : result >= at))
  let begin = boundary
  // Where rounds overlap, the message that begins one may stand inside another.
  for (let round = parted(begin); round !== undefined; round = parted(begin)) begin = round.call
  return begin === boundary ? undefined : entries[begin]
}

/** The entries on stretches that are replayed, oldest first. */
export const readReplayed = fn(function* (_tx, treeId: string, stretches: ReadonlyArray<Stretch>) {
  const entries: Array<Readonly<EntryRow>> = []
  for (const part of inParts(stretches)) {
    for (const row of yield* readStretches(treeId, part)) {
      if (!isUnreadable(row) && isReplayed(row)) entries.push(row)
    }
  }
  return entries
})

/** The last positions of stretches. */
export const newest = (stretches: ReadonlyArray<Stretch>, count: number): ReadonlyArray<Stretch> => {
  const kept: Array<Stretch> = []
  let left = count
  for (const stretch of stretches.toReversed()) {
    if (left <= 0) break
    const from = Math.max(stretch.from, stretch.to - left + 1)
    kept.push({ ...stretch, from })
    left -= stretch.to - from + 1
  }
  return kept.toReversed()
}

/** The first positions of stretches. */
export const oldest = (stretches: ReadonlyArray<Stretch>, count: number): ReadonlyArray<Stretch> => {
  const kept: Array<Stretch> = []
  let left = count
  for (const stretch of stretches) {
    if (left <= 0) break
    const to = Math.min(stretch.to, stretch.from + left - 1)
    kept.push({ ...stretch, to })
    left -= to - stretch.from + 1
  }
  return kept
}
