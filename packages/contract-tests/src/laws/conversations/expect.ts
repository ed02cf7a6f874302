/**
 * What must be seen of a conversation, by the oracle.
 */
import { isLive, isPrompt, isShown, pathTo, placeOf, replay, textOf, withId } from "./oracle.ts"
import type { Entry, Talk } from "./oracle.ts"

/** Which messages are asked about, and how large pages are. */
export interface Sample {
  readonly limit: number
  /** Two messages that are there. Absent while there is none. */
  readonly pair: readonly [string, string] | undefined
  /** The first message that people see on the path, and another one on it. */
  readonly shown: readonly [string, string] | undefined
  /** Messages that are there, and such as are gone. */
  readonly ids: ReadonlyArray<string>
}

const idsOf = (entries: ReadonlyArray<Entry>) => entries.map(({ id }) => id)

export const sampleOf = (talk: Talk, limit: number): Sample => {
  const live = idsOf(talk.entries.filter(isLive))
  const shown = idsOf(pathTo(talk, talk.head).filter(isShown))
  // Any choice would do, as long as another step chooses otherwise.
  const any = (ids: ReadonlyArray<string>, step: number) => ids[(talk.entries.length * step) % ids.length]!
  return {
    limit,
    pair: live.length === 0 ? undefined : [any(live, 7), any(live, 5)],
    shown: shown.length === 0 ? undefined : [shown[0]!, any(shown, 3)],
    ids: [...new Set(idsOf(talk.entries)), "nobody"],
  }
}

export const expectedGlance = (talk: Talk) => {
  const path = pathTo(talk, talk.head)
  const prompts = path.filter(isPrompt)
  return {
    head: path.at(-1)?.id ?? null,
    headVersion: talk.headVersion,
    historyVersion: talk.historyVersion,
    counts: { entries: path.length, messages: path.filter(isShown).length, prompts: prompts.length, turns: 0 },
    preview: prompts.at(-1)?.draft?.text ?? "",
    path: idsOf(path.filter(isShown)),
    degraded: false,
    replayed: replay(talk),
  }
}

export const expectedPicture = (talk: Talk, { ids, limit, pair, shown }: Sample) => {
  const path = pathTo(talk, talk.head)
  const seen = idsOf(path.filter(isShown))
  const prompts = path.filter(isPrompt)
  const at = shown === undefined ? 0 : Math.max(0, seen.indexOf(shown[1]) - Math.floor(limit / 2))
  return {
    ...expectedGlance(talk),
    back: seen,
    on: seen,
    around: shown === undefined ? [] : seen.slice(at, at + limit),
    count: seen.length,
    prompts: idsOf(prompts).toReversed(),
    latestUserText: prompts.at(-1)?.draft?.text,
    streamed: seen,
    branches: talk.branches.map(({ name, number, run }) => {
      const way = pathTo(talk, run.at(-1)!)
      return {
        branch: number,
        name: name?.text,
        tip: way.at(-1)!.id,
        messages: way.filter(isShown).length,
        lastText: lastTextOf(way.filter((entry) => entry.branch === number)),
        current: path.at(-1)?.branch === number,
      }
    }),
    moves: talk.moves
      .map(({ from, reason, to }, i) => ({ n: i + 1, from: placeOf(talk, from), to: placeOf(talk, to), reason }))
      .toReversed(),
    there: ids.filter((id) => withId(talk, id) !== undefined),
    pair: pair === undefined ? undefined : expectedPair(talk, pair),
  }
}

const lastTextOf = (branch: ReadonlyArray<Entry>): string => {
  const last = branch.findLast(isShown)
  return last === undefined ? "" : textOf(last)
}

const expectedPair = (talk: Talk, pair: readonly [string, string]) => {
  const [one, other] = [withId(talk, pair[0])!, withId(talk, pair[1])!]
  const [way, otherWay] = [pathTo(talk, one.n), pathTo(talk, other.n)]
  const siblings = talk.entries.filter(
    (entry) => isLive(entry) && entry.before === one.before && (entry === one || isShown(entry)),
  )
  const ends = talk.branches.map(({ run }) => pathTo(talk, run.at(-1)!)).filter((end) => end.includes(one))
  // The longest way on, and of equal ones the newest.
  const deepest = ends.reduce((best, end) => (end.length >= best.length ? end : best), way)
  return {
    siblings: { ids: idsOf(siblings), index: siblings.indexOf(one) },
    path: idsOf(way.filter(isShown)),
    isAncestor: one !== other && otherWay.includes(one),
    common: way.findLast((entry) => otherWay.includes(entry))?.id,
    deepest: deepest.at(-1)!.id,
  }
}
