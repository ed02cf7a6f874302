/**
 * Tool rounds across a prompt: the user may say something while tools run.
 *
 * Guarantee: no call stays on the path whose result leaves it. A call that has no result is in nobody's way: none will come
 * once the head has gone back. What is read depends on the length of a turn, and not on that of the conversation.
 */
import type { Stand } from "../head/program.ts"
import { newest, oldest, readReplayed, roundReach } from "../history/boundary.ts"
import type { UsesOf } from "../history/boundary.ts"
import { firstPrompt } from "../history/cut.ts"
import { roundsOf } from "../history/rounds.ts"
import { root } from "../message/model.ts"
import type { EntryRow } from "../message/model.ts"
import { positionsOf, readPath, reaches } from "../message/path.ts"
import type { Path } from "../message/path.ts"
import { fn } from "../storage/transaction.ts"

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
export const roundAcross = fn(function* (
  _tx,
  treeId: string,
  path: Path,
  prompt: Readonly<EntryRow>,
  at: Stand,
  usesOf: UsesOf,
) {
  // What a turn has called that is over when another one begins, nobody answers any more.
  if (at.ref.branch === 0 || prompt.startsTurn === true) return undefined
  const first = yield* firstPrompt(treeId, at.facts)
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
