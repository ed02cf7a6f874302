/**
 * The rules of going back: the head moves to the place before something that the user said.
 *
 * A rewind is a move of the head and what follows from it, in one commit: display and model history, for both are the
 * path; a turn that is still running, which ends first; items of the queue that were tied to what left. Nothing is deleted,
 * and what is read does not depend on how much leaves.
 */
import { applyNewMove, planLeaving, standAt } from "../head/program.ts"
import type { Move, Moved, Stand } from "../head/program.ts"
import type { UsesOf } from "../history/boundary.ts"
import { problemOf } from "../history/cut.ts"
import { InvalidBoundary } from "../history/program.ts"
import { root } from "../message/model.ts"
import type { EntryRef, EntryRow, Facts } from "../message/model.ts"
import { isOnPath, placeBefore, readOrdinals, readPath, reaches } from "../message/path.ts"
import type { Path } from "../message/path.ts"
import { comesBefore, isSamePlace } from "../message/placement.ts"
import { expectHead, headId, refOf, requireEntry, standing } from "../message/program.ts"
import type { ExpectedHead } from "../message/program.ts"
import { OperationTable, receiptsKept } from "../operation/model.ts"
import { readReceipt } from "../operation/program.ts"
import { applyCancelling, planCancelling } from "../queue/ties.ts"
import type { Cancelling } from "../queue/ties.ts"
import type { SessionRow } from "../session/model.ts"
import { IdConflict, OperationConflict, requireSession } from "../session/program.ts"
import { hiddenOf } from "../session/shown.ts"
import type { Scope } from "../session/program.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Handle, Unreadable } from "../storage/transaction.ts"
import { firstOf } from "../turn/fence.ts"
import { TurnTable } from "../turn/model.ts"
import type { TurnRow } from "../turn/model.ts"
import { applyEnd, planEnd, planSibling } from "../turn/program.ts"
import type { EndPlan, Sibling } from "../turn/program.ts"
import { digest } from "../value.ts"
import { roundAcross } from "./round.ts"
import type { Across } from "./round.ts"

/** How much leaves the path. */
export interface LeavingCounts {
  readonly entries: number
  /** Entries that people see. */
  readonly messages: number
  readonly prompts: number
  readonly turns: number
}

/** Where a head goes that goes back, and what that means. */
export interface Way {
  readonly session: SessionRow
  /** Before which the head is to stand. */
  readonly prompt: Readonly<EntryRow>
  readonly to: Stand
  /** The path of the session, read as far back as the prompt. */
  readonly path: Path
  readonly counts: LeavingCounts
  readonly cancelling: Cancelling | undefined
}

/** Reads and decides where a head goes that goes back before something that the user said. RWD-02 */
export const planWay = fn(function* (_tx, session: SessionRow, messageId: string, usesOf: UsesOf, now: number) {
  const { facts, path, prompt } = yield* requirePrompt(session, messageId)
  const to = yield* standBefore(session, path, prompt)
  const round: Across | undefined = yield* roundAcross(session.treeId, path, prompt, to, usesOf)
  if (round !== undefined) return yield* refuse(session, prompt, "is inside a tool round", round.begunBy)
  const cancelling = yield* planCancelling(session, leavesFrom(path, prompt), now)
  const way: Way = { session, prompt, to, path, counts: countsBetween(facts, to.facts), cancelling }
  return way
})

/** Something that the user said and can see, on the path of the session. */
const requirePrompt = fn(function* (_tx, session: SessionRow, messageId: string) {
  const prompt = yield* requireEntry(session, messageId)
  const { facts, head } = yield* standing(session)
  const path: Path = yield* readPath(session.treeId, head, facts, reaches(prompt))
  const problem = isOnPath(path, prompt) ? problemAsTarget(session, prompt) : "is not on the path"
  if (problem === undefined) return { prompt, facts, path }
  const first = hiddenOf(session).prompts + 1
  const wanted = Math.max(prompt.facts.prompts, first)
  const nearest = facts.prompts < first ? undefined : yield* promptNumber(session.treeId, head, facts, wanted)
  return yield* refuse(session, prompt, problem, nearest?.id)
})

const problemAsTarget = ({ displayFrom }: SessionRow, entry: Readonly<EntryRow>): string | undefined => {
  if (displayFrom !== undefined && entry.facts.prompts <= displayFrom.prompts) {
    return "is before what this side conversation shows"
  }
  return problemOf(entry) ?? (entry.role === "user" ? undefined : "was not said by the user")
}

/** The prompt of a path that has this number, or the nearest number that there is. */
const promptNumber = fn(function* (_tx, treeId: string, head: EntryRef, facts: Facts, number: number) {
  const wanted = Math.min(Math.max(number, 1), facts.prompts)
  if (wanted === 0) return undefined
  const path: Path = yield* readPath(treeId, head, facts, (step) => step.prompts < wanted)
  const [found]: ReadonlyArray<Readonly<EntryRow> | Unreadable> = yield* readOrdinals(
    treeId,
    path,
    "byPrompt",
    wanted,
    wanted,
  )
  return found === undefined || isUnreadable(found) ? undefined : found
})

const refuse = fn(function* (tx, session: SessionRow, entry: EntryRow, problem: string, nearest: string | undefined) {
  const facts = { sessionId: session.id, boundary: entry.id, problem }
  return yield* tx.fail(new InvalidBoundary({ ...facts, ...(nearest !== undefined && { nearest }) }))
})

const standBefore = fn(function* (_tx, session: SessionRow, path: Path, prompt: Readonly<EntryRow>) {
  const to = yield* standAt(session, placeBefore(path, prompt))
  return to ?? (yield* refuse(session, prompt, "follows a message that is gone", undefined))
})

const leavesFrom =
  (path: Path, prompt: EntryRef) =>
  (place: EntryRef): boolean =>
    isOnPath(path, place) && !isSamePlace(place, root) && !comesBefore(place, prompt)

const countsBetween = (from: Facts, to: Facts): LeavingCounts => ({
  entries: from.entries - to.entries,
  messages: from.displays - to.displays,
  prompts: from.prompts - to.prompts,
  turns: from.turns - to.turns,
})

/** What of a plan was agreed to. */
export interface Agreed {
  readonly hash: string
  /** What was said of files. */
  readonly files: string | undefined
}

/** What a plan depends on, as text: the same as long as the rewind would do the same. */
export const hashOf = ({ cancelling, prompt, session }: Way, files: string | undefined): string => {
  const { epoch, headVersion, id, moves } = session
  const items = cancelling?.items.map((item) => item.id)
  return digest({ id, epoch, headVersion, moves, prompt: refOf(prompt), items, files })
}

const checkAgreed = fn(function* (tx, way: Way, { files, hash }: Agreed) {
  const actual = hashOf(way, files)
  if (actual === hash) return
  return yield* tx.fail(new OperationConflict({ id: way.session.id, field: "planHash", expected: hash, actual }))
})

/** A session whose turn is asked to stop, as it was before. */
export interface Seen {
  readonly turn: string
  readonly epoch: number
  readonly head: EntryRef
}

/** Whether nobody but the turn that was to stop has added to the path since: what it said last leaves with the rest. */
const isAsSeen = fn(function* (tx, session: SessionRow, { epoch, head }: Seen) {
  const turn = yield* tx.get(TurnTable, [session.id, epoch])
  const last = session.activeTurn?.last ?? turn?.last
  return isSamePlace(session.head, head) || (last !== undefined && isSamePlace(session.head, last))
})

/** What is to be done, apart from when. */
export interface Wanted {
  readonly prompt: string
  readonly expected: ExpectedHead
  readonly agreed: Agreed | undefined
}

/** Looks whether a rewind is to be had, and which turn has to stop first; `undefined`: none runs. */
export const foresee = fn(function* (
  _tx,
  scope: Scope,
  sessionId: string,
  wanted: Wanted,
  usesOf: UsesOf,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  yield* agreedWay(session, wanted, usesOf, now)
  const { activeTurn, head } = session
  const seen: Seen | undefined = activeTurn && { turn: activeTurn.id, epoch: activeTurn.epoch, head: refOf(head) }
  return seen
})

/** Where the head goes, if all is as the caller has seen it. */
const agreedWay = fn(function* (
  _tx,
  session: SessionRow,
  { agreed, expected, prompt }: Wanted,
  usesOf: UsesOf,
  now: number,
) {
  yield* expectHead(session, expected)
  const way = yield* planWay(session, prompt, usesOf, now)
  if (agreed !== undefined) yield* checkAgreed(way, agreed)
  return way
})

/** What a rewind did. */
export interface Rewound extends Moved {
  /** How much left the path. */
  readonly left: LeavingCounts
  /** Items of the queue that were tied to what left. */
  readonly cancelled: ReadonlyArray<string>
  /** The turn that ran, and had to end for it. */
  readonly ended?: string
  /** The turns whose changes of files were taken back, the newest first. */
  readonly files?: ReadonlyArray<string>
}

/** A name under which a rewind is done once, and what tells it from another one. */
export interface Operation {
  readonly id: string
  readonly name: string
  readonly digest: string
}

/** What an operation has done already. `undefined`: nothing. */
export const findRewound = fn(function* (tx, scope: Scope, sessionId: string, operation: Operation, now: number) {
  yield* requireSession(scope, sessionId)
  const receipt = yield* readReceipt(operation.id, now)
  if (receipt === undefined) return undefined
  if (receipt.digest !== operation.digest) return yield* tx.fail(new IdConflict({ id: operation.name }))
  return receipt.result as Rewound
})

/** A rewind as it was read and decided. */
export interface RewindPlan {
  readonly way: Way
  /** What waited for an answer, which nobody can give it any more. */
  readonly leaving: ReadonlyArray<EntryRow>
  /** The turn that ends first. */
  readonly ending: EndPlan | undefined
}

/**
 * Reads and decides a rewind: everything that may refuse it.
 *
 * @param stopped  the turn that was asked to stop, with all that was agreed to: where it still runs it is ended
 */
export const planRewind = fn(function* (
  _tx,
  session: SessionRow,
  wanted: Wanted,
  stopped: Seen | undefined,
  usesOf: UsesOf,
  now: number,
) {
  const { activeTurn } = session
  const mayEnd = activeTurn !== undefined && activeTurn.epoch === stopped?.epoch
  const leaving = mayEnd ? [] : yield* planLeaving(session)
  const ending = mayEnd ? yield* planEnd(session, activeTurn) : undefined
  const isSettled = stopped !== undefined && (yield* isAsSeen(session, stopped))
  const way: Way = isSettled
    ? yield* planWay(session, wanted.prompt, usesOf, now)
    : yield* agreedWay(session, wanted, usesOf, now)
  const plan: RewindPlan = { way, leaving, ending }
  return plan
})

/** Why a turn ends for which the head goes back. */
export const rewound = "rewind"

/** What is written of a rewind beside the move. */
export interface Recorded {
  readonly stopped: Seen | undefined
  readonly operation: Operation | undefined
  /** Turns whose changes of files were taken back. */
  readonly files?: ReadonlyArray<string>
}

/** Writes a rewind, and what it did. */
export const applyRewind = (
  tx: Handle,
  { ending, leaving, way: { cancelling, counts, session, to } }: RewindPlan,
  { files, operation, stopped }: Recorded,
  move: Omit<Move, "reason">,
): Rewound => {
  const { at: now } = move
  if (cancelling !== undefined) applyCancelling(tx, cancelling)
  if (ending !== undefined) applyEnd(tx, session, ending, { outcome: "aborted", reason: rewound }, now)
  applyNewMove(tx, session, to, leaving, { ...move, reason: "rewind" })
  const result: Rewound = {
    from: headId(session),
    to: to.id ?? null,
    left: counts,
    cancelled: cancelling?.items.map(({ id }) => id) ?? [],
    ...(stopped !== undefined && { ended: stopped.turn }),
    ...(files !== undefined && { files }),
  }
  if (operation !== undefined) {
    const { digest, id } = operation
    tx.put(OperationTable, { id, sessionId: session.id, digest, result, expiresAt: now + receiptsKept })
  }
  return result
}

/** Moves the head before a prompt, with all that follows from it. Asked for again under one name, answers as before. */
export const rewind = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  wanted: Wanted,
  record: Recorded,
  usesOf: UsesOf,
  move: Omit<Move, "reason">,
) {
  const { operation, stopped } = record
  const before = operation && (yield* findRewound(scope, sessionId, operation, move.at))
  if (before !== undefined) return before
  const session = yield* requireSession(scope, sessionId)
  const plan: RewindPlan = yield* planRewind(session, wanted, stopped, usesOf, move.at)
  return applyRewind(tx, plan, record, move)
})

/** What a plan looks at, beside where the head goes. */
export interface Outlook {
  readonly way: Way
  /** The first things that leave that people see, oldest first. */
  readonly rows: ReadonlyArray<Readonly<EntryRow> | Unreadable>
  /** Turns that leave with all that they wrote, the newest first. */
  readonly turns: ReadonlyArray<Readonly<TurnRow>>
}

/** Reads what a rewind would do. */
export const look = fn(function* (_tx, scope: Scope, sessionId: string, prompt: string, usesOf: UsesOf, now: number) {
  const session = yield* requireSession(scope, sessionId)
  const way = yield* planWay(session, prompt, usesOf, now)
  const rows = yield* firstLeaving(way)
  const outlook: Outlook = { way, rows, turns: yield* leavingTurns(way, rows) }
  return outlook
})

/** How many of the messages that leave a plan shows. */
const shownOfPlan = 100

const firstLeaving = fn(function* (_tx, { path, prompt, session }: Way) {
  const first = prompt.facts.displays
  return yield* readOrdinals(session.treeId, path, "byShown", first, first + shownOfPlan - 1)
})

/**
 * The turns of a session of which everything leaves, the newest first.
 *
 * Those that may leave come after the first of them, as their epochs say; so no turn is looked at that ended before. A
 * turn in which the user said the prompt while it was running leaves in part, and is not among them.
 *
 * @param rows  the first things that leave
 */
const leavingTurns = fn(function* (
  tx,
  { path, prompt, session }: Way,
  rows: ReadonlyArray<Readonly<EntryRow> | Unreadable>,
) {
  const named = [...new Set(rows.flatMap((row) => (isUnreadable(row) || row.turn === undefined ? [] : [row.turn])))]
  const found = yield* tx.all(named.map((id) => tx.find(TurnTable, "byId", [session.id, id])))
  const oldest = Math.min(...found.map((turn) => turn?.epoch ?? Infinity))
  const leaves = leavesFrom(path, prompt)
  const turns: Array<Readonly<TurnRow>> = []
  let before: number | undefined
  for (;;) {
    const some: ReadonlyArray<Readonly<TurnRow> | Unreadable> = yield* tx.range(TurnTable, "key", {
      from: [session.id, Number.isFinite(oldest) ? oldest : 1],
      ...(before === undefined ? { to: [session.id] } : { before: [session.id, before] as const }),
      reverse: true,
      unreadable: "keep",
    })
    for (const turn of some) {
      if (isUnreadable(turn)) continue
      const first = firstOf(session, turn)
      if (first !== undefined && leaves(first)) turns.push(turn)
    }
    const last = some.at(-1)
    if (some.length < maxRange || last === undefined) return turns
    before = isUnreadable(last) ? Number(last.key[1]) : last.epoch
  }
})

/** Moves the head so that what is said next is a sibling of a message, and nothing else: RWD-04. */
export const stepBeside = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  sibling: Sibling,
  expected: ExpectedHead,
  move: Omit<Move, "reason">,
) {
  const session = yield* requireSession(scope, sessionId)
  const leaving = yield* planLeaving(session)
  yield* expectHead(session, expected)
  const planned = yield* planSibling(session, sibling)
  const from = headId(session)
  if (planned === undefined) {
    const stays: Moved = { from, to: from }
    return stays
  }
  applyNewMove(tx, session, planned.to, leaving, { ...move, reason: planned.reason })
  const moved: Moved = { from, to: planned.to.id ?? null }
  return moved
})
