/**
 * Cuts: behind which message a path may end, for a fork, or for a head that goes back.
 *
 * Guarantee: no tool call is parted from its result. Where a path may not be cut, the nearest message is named behind
 * which it may be.
 *
 * What is read depends on the length of a turn, and not on that of the conversation: a round is looked for between the
 * prompt that a turn began with and the next such prompt, and no further than a thousand places either way.
 */
import type { EntryRef, EntryRow, Facts } from "../message/model.ts"
import { entriesAt, isOnPath, lastEntries, positionsOf, readOrdinals, readPath, reaches } from "../message/path.ts"
import type { Path } from "../message/path.ts"
import { comesBefore, isDisplayed, isReplayed, isSamePlace } from "../message/placement.ts"
import { placeBefore, standing } from "../message/program.ts"
import { placeOfRow } from "../message/tree.ts"
import type { SessionRow } from "../session/model.ts"
import { fn, isUnreadable } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import { newest, oldest, roundReach } from "./boundary.ts"
import type { UsesOf } from "./boundary.ts"
import { InvalidBoundary } from "./program.ts"
import { roundsOf } from "./rounds.ts"
import { inParts, readStretches, splitAt } from "./stretches.ts"

/** Fails with `InvalidBoundary` where the path may not end with this entry of the session: FRK-02. */
export const checkCut = fn(function* (tx, session: SessionRow, entry: Readonly<EntryRow>, usesOf: UsesOf) {
  const turn = yield* readTurn(session, entry, usesOf)
  const problem = problemOf(entry) ?? (turn.parts(turn.at) ? "is inside a tool round" : undefined)
  if (problem === undefined) return
  const nearest = nearestCut(turn)
  return yield* tx.fail(
    new InvalidBoundary({
      sessionId: session.id,
      boundary: entry.id,
      problem,
      ...(nearest !== undefined && { nearest: nearest.id }),
    }),
  )
})

/**
 * The last message behind which the path may be cut, of those that are wanted; `undefined`: there is none, so that only
 * the root is left.
 */
export const lastCut = fn(function* (
  _tx,
  session: SessionRow,
  usesOf: UsesOf,
  isWanted: (entry: Readonly<EntryRow>) => boolean = () => true,
) {
  const { treeId } = session
  let end: EntryRef = (yield* standing(session)).head
  for (let turns = 0; end.branch !== 0 && turns < mostTurns; turns++) {
    const [last]: ReadonlyArray<Row | undefined> = yield* entriesAt(treeId, [end])
    if (last === undefined) return undefined
    if (isUnreadable(last)) {
      end = yield* placeBefore(end, treeId)
      continue
    }
    const turn: TurnOnPath = yield* readTurn(session, last, usesOf)
    for (let i = turn.at; i >= 0; i--) {
      const row = turn.rows[i]!
      if (isCut(row) && isWanted(row) && !turn.parts(i)) return row
    }
    const { first } = turn
    if (first === undefined) return undefined
    end = yield* placeBefore(first, treeId)
  }
  return undefined
})

/** How many turns back it is looked for. */
const mostTurns = 100

type Row = Readonly<EntryRow> | Unreadable

/** What lies between two prompts of a path that turns began with, oldest first. */
interface TurnOnPath {
  /** The prompt that it began with. `undefined`: nobody had said anything. */
  readonly first: Readonly<EntryRow> | undefined
  readonly rows: ReadonlyArray<Row>
  /** Which of them is asked about. */
  readonly at: number
  /** Whether a cut behind one of them would part a call from its result, or from one that is still to come. */
  readonly parts: (at: number) => boolean
}

/** Reads the turn that an entry is in: what was said while it ran is part of it. */
const readTurn = fn(function* (_tx, session: SessionRow, entry: Readonly<EntryRow>, usesOf: UsesOf) {
  const { treeId } = session
  const first = yield* firstPrompt(treeId, entry.facts)
  const path = yield* pathOver(session, entry, first)
  const next = yield* nextPrompt(treeId, path, entry.facts.prompts + 1)
  const all = positionsOf(path, first)
  const stretches = next === undefined ? all : splitAt(all, next).before
  const { before, behind } = splitAt(stretches, entry)
  const rows: Array<Row> = []
  for (const part of inParts([...newest(before, roundReach), ...oldest(behind, roundReach)])) {
    rows.push(...(yield* readStretches(treeId, part)))
  }
  const at = rows.findIndex((row) => isSamePlace(placeOfRow(row), entry))
  const turn: TurnOnPath = { first, rows, at, parts: partedBy(session, rows, next === undefined, usesOf) }
  return turn
})

/** Whether a turn began with a prompt, or it was said while no turn ran. */
const beginsTurn = ({ startsTurn, turn }: Readonly<EntryRow>): boolean => turn === undefined || startsTurn === true

/** The prompt that a turn began with which goes on at a place with these facts. */
export const firstPrompt = fn(function* (_tx, treeId: string, { lastPrompt }: Pick<Facts, "lastPrompt">) {
  let last = lastPrompt
  while (last !== undefined) {
    const [prompt]: ReadonlyArray<Row | undefined> = yield* entriesAt(treeId, [last])
    if (prompt === undefined || isUnreadable(prompt)) return undefined
    if (beginsTurn(prompt)) return prompt
    const [before]: ReadonlyArray<Row | undefined> = yield* entriesAt(treeId, [yield* placeBefore(prompt, treeId)])
    last = before === undefined || isUnreadable(before) ? undefined : before.facts.lastPrompt
  }
  return undefined
})

/** The first prompt of a path from a number on that a turn began with. */
const nextPrompt = fn(function* (_tx, treeId: string, path: Path, from: number) {
  for (let number = from; ; number++) {
    const [prompt]: ReadonlyArray<Row> = yield* readOrdinals(treeId, path, "byPrompt", number, number)
    if (prompt === undefined) return undefined
    if (isUnreadable(prompt)) return placeOfRow(prompt)
    if (beginsTurn(prompt)) return prompt
  }
})

/** The path of the session where an entry is on it, else the path to the end of its branch; as far back as `first`. */
const pathOver = fn(function* (_tx, session: SessionRow, entry: Readonly<EntryRow>, first: EntryRef | undefined) {
  const { treeId } = session
  const enough = reaches(first ?? { branch: 0, pos: 0 })
  const { facts, head } = yield* standing(session)
  const path: Path = yield* readPath(treeId, head, facts, enough)
  if (isOnPath(path, entry)) return path
  const [end] = yield* lastEntries(treeId, [entry.branch])
  const last = end === undefined || isUnreadable(end) ? entry : end
  return yield* readPath(treeId, last, last.facts, enough)
})

const partedBy = (
  { activeTurn, waiting }: SessionRow,
  rows: ReadonlyArray<Row>,
  isNewest: boolean,
  usesOf: UsesOf,
): TurnOnPath["parts"] => {
  const rounds = roundsOf(rows.map((row) => (isUnreadable(row) || !isReplayed(row) ? [] : usesOf(row))))
  const lastAnswer = rows.findLastIndex((row) => !isUnreadable(row) && row.role === "assistant")
  /** Whether a result may still come. Those of a turn that is over will not. */
  const isOpen = (call: number): boolean => {
    const row = rows[call] as Readonly<EntryRow>
    if (row.turn === undefined) return isNewest && call >= lastAnswer
    const waits = waiting?.from !== undefined && !comesBefore(row, waiting.from)
    return row.turn === activeTurn?.id || waits
  }
  return (at) => rounds.some(({ call, result }) => call <= at && (result === undefined ? isOpen(call) : result > at))
}

/** The message nearest to the one that is asked about behind which the path may be cut; of two the earlier. */
const nearestCut = ({ at, parts, rows }: TurnOnPath): Readonly<EntryRow> | undefined => {
  const cuts = rows.flatMap((row, i) => (isCut(row) && !parts(i) ? [{ row, far: Math.abs(i - at) }] : []))
  return cuts.toSorted((a, b) => a.far - b.far)[0]?.row
}

/** Whether it is an entry behind which a path may be cut, rounds aside. */
const isCut = (row: Row): row is Readonly<EntryRow> => !isUnreadable(row) && problemOf(row) === undefined

/** Why an entry is none that a path may be cut at, rounds aside. */
export const problemOf = (entry: Readonly<EntryRow>): string | undefined => {
  if (entry.kind !== "message") return `is no message, but of kind ${entry.kind}`
  if (entry.draft === true) return "is still being written"
  return isDisplayed(entry) ? undefined : "is hidden"
}
