/**
 * Tool rounds across a prompt: the user may say something while tools run.
 *
 * Guarantee: no call stays on the path whose result leaves it. A call that has no result is in nobody's way: none will come
 * once the head has gone back. What is read depends on the length of a turn, and not on that of the conversation.
 */
import type { Stand } from "../head/program.ts"
import { newest, oldest, readReplayed, roundReach } from "../history/boundary.ts"
import type { UsesOf } from "../history/boundary.ts"
import { roundsOf } from "../history/rounds.ts"
import { root } from "../message/model.ts"
import type { EntryRef, EntryRow } from "../message/model.ts"
import { entriesAt, positionsOf, readPath, reaches } from "../message/path.ts"
import type { Path } from "../message/path.ts"
import { placeBefore } from "../message/program.ts"
import { fn, isUnreadable } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"

type Row = Readonly<EntryRow> | Unreadable

/** A tool round that reaches over a prompt, and the prompt that its turn began with. */
export interface Across {
  readonly begunBy: string | undefined
}

/**
 * The tool round that reaches over `prompt`; `undefined`: none does.
 *
 * @param path  as far back as the prompt
 * @param at    the place before it
 */
export const roundAcross = fn(function* (_tx, treeId: string, path: Path, prompt: EntryRef, at: Stand, usesOf: UsesOf) {
  if (at.ref.branch === 0) return undefined
  const first = yield* firstPrompt(treeId, at)
  const before: Path = yield* readPath(treeId, at.ref, at.facts, reaches(first ?? root))
  const earlier = yield* readReplayed(treeId, newest(positionsOf(before, first), roundReach))
  const isOpen = roundsOf(earlier.map(usesOf)).some(({ result }) => result === undefined)
  if (!isOpen) return undefined
  const later = yield* readReplayed(treeId, oldest(positionsOf(path, prompt), roundReach))
  const rounds = roundsOf([...earlier, ...later].map(usesOf))
  const isAcross = rounds.some(({ call, result = 0 }) => call < earlier.length && result >= earlier.length)
  const across: Across = { begunBy: first?.id }
  return isAcross ? across : undefined
})

/** The prompt that a turn began with which goes on at a place: the last one that was not said while it ran. */
const firstPrompt = fn(function* (_tx, treeId: string, at: Stand) {
  let last = at.facts.lastPrompt
  while (last !== undefined) {
    const [prompt]: ReadonlyArray<Row | undefined> = yield* entriesAt(treeId, [last])
    if (prompt === undefined || isUnreadable(prompt)) return undefined
    if (prompt.turn === undefined || prompt.startsTurn === true) return prompt
    const [before]: ReadonlyArray<Row | undefined> = yield* entriesAt(treeId, [yield* placeBefore(prompt, treeId)])
    last = before === undefined || isUnreadable(before) ? undefined : before.facts.lastPrompt
  }
  return undefined
})
