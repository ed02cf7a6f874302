/**
 * The rules of model history: what is replayed, where it may be compacted, and what of it may be amended.
 *
 * A compaction is an entry like any other, and so is an amendment. It says where the replay begins, or how a tool result
 * is given; it belongs to its branch, and going back before it brings the originals back, for they never left.
 */
import * as Data from "effect/Data"
import { requireWhole } from "../message/large.ts"
import { EntryTable, TreeTable } from "../message/model.ts"
import type { Amendment, Compaction, EntryRef, EntryRow } from "../message/model.ts"
import { entriesAt, isOnPath, positionsOf, readPath } from "../message/path.ts"
import type { Path, Stretch } from "../message/path.ts"
import { comesBefore, isReplayed, isSamePlace, placeKey } from "../message/placement.ts"
import type { NewEntry, Placement } from "../message/placement.ts"
import { expectHead, placeAtHead, refOf, requireEntry, standing, writeAtHead } from "../message/program.ts"
import type { Standing } from "../message/program.ts"
import type { ActiveTurn, SessionRow } from "../session/model.ts"
import { IdConflict, requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { InvalidInput } from "../storage/error.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Handle, Unreadable } from "../storage/transaction.ts"
import { canonical } from "../value.ts"
import { requireWriter } from "../turn/fence.ts"
import { TurnTable } from "../turn/model.ts"
import type { TurnRow } from "../turn/model.ts"
import { roundAround } from "./boundary.ts"
import type { UsesOf } from "./boundary.ts"
import type { ToolResultPart } from "./dialect.ts"
import type { Ending } from "./pairing.ts"
import { readStretches, splitAt } from "./stretches.ts"

/** The place cannot be a boundary. `nearest` is a message that can, where there is one. Nothing was written. */
export class InvalidBoundary extends Data.TaggedError("InvalidBoundary")<{
  readonly sessionId: string
  /** The message that was asked for; `null` is the head. */
  readonly boundary: string | null
  readonly problem: string
  readonly nearest?: string
}> {
  override get message() {
    const advice = this.nearest === undefined ? "" : `; ${this.nearest} would do`
    return `${this.boundary ?? "the head"} cannot be a boundary: it ${this.problem}${advice}`
  }
}

/** What is to be replayed: a summary, and the stretches of the path that follow it. */
export interface HistoryPlan {
  readonly session: SessionRow
  /** `historyVersion` as a reader sees it: the session's, with the redactions of its tree. */
  readonly version: number
  readonly summary: Readonly<EntryRow> | undefined
  /** Positions, oldest first. Not all entries on them are replayed. */
  readonly stretches: ReadonlyArray<Stretch>
  /** A compaction that cannot be read: then everything is replayed. */
  readonly unreadable: Unreadable | undefined
  readonly degraded: boolean
  /** By place of a message, how its tool results are given, the newest last. */
  readonly amendments: ReadonlyMap<string, ReadonlyArray<Amendment>>
  /** By turn, how those of the session ended that did not come to their own end; the newest 500. */
  readonly endings: ReadonlyMap<string, Ending>
}

/** Reads where the replay begins. */
export const plan = fn(function* (tx, scope: Scope, sessionId: string) {
  const session = yield* requireSession(scope, sessionId)
  const { treeId } = session
  const stands = yield* standing(session)
  const [tree, broken] = yield* tx.all([
    tx.get(TreeTable, [treeId]),
    tx.range(TurnTable, "byBroken", { prefix: [sessionId], reverse: true, unreadable: "keep" }),
  ])
  const compaction = yield* lastCompaction(treeId, stands)
  const summary = compaction === undefined || isUnreadable(compaction) ? undefined : compaction
  const start = summary && beginOf(summary)
  const path: Path = yield* readPath(treeId, stands.head, stands.facts, isBefore(start))
  const stretches = positionsOf(path, start)
  const amendments = yield* readAmendments(treeId, stands, stretches)
  const result: HistoryPlan = {
    session,
    version: session.historyVersion + (tree?.redactions ?? 0),
    summary,
    stretches,
    amendments: byMessage(amendments),
    unreadable: compaction !== undefined && isUnreadable(compaction) ? compaction : undefined,
    degraded: stands.degraded,
    endings: endingsOf(broken),
  }
  return result
})

const endingsOf = (turns: ReadonlyArray<Readonly<TurnRow> | Unreadable>): ReadonlyMap<string, Ending> =>
  new Map(
    turns.flatMap((turn): ReadonlyArray<[string, Ending]> => {
      const outcome = isUnreadable(turn) ? undefined : turn.outcome
      return outcome === "aborted" || outcome === "failed" || outcome === "interrupted"
        ? [[(turn as TurnRow).id, outcome]]
        : []
    }),
  )

/** The amendments on stretches of a path, oldest first. A path without any pays nothing for them. */
const readAmendments = fn(function* (tx, treeId: string, { facts }: Standing, stretches: ReadonlyArray<Stretch>) {
  const last = facts.lastAmendment
  const [first] = stretches
  if (last === undefined || first === undefined || comesBefore(last, { branch: first.branch, pos: first.from }))
    return []
  const found: Array<Array<Readonly<EntryRow>>> = stretches.map(() => [])
  let open: ReadonlyArray<Stretch & { readonly at: number }> = stretches.map((stretch, at) => ({ ...stretch, at }))
  while (open.length > 0) {
    const windows: ReadonlyArray<ReadonlyArray<Readonly<EntryRow> | Unreadable>> = yield* tx.all(
      open.map(({ branch, from, to }) =>
        tx.range(EntryTable, "byAmendment", {
          from: [treeId, branch, from],
          to: [treeId, branch, to],
          unreadable: "keep",
        }),
      ),
    )
    const rest: Array<Stretch & { readonly at: number }> = []
    for (const [i, window] of windows.entries()) {
      const stretch = open[i]!
      for (const row of window) if (!isUnreadable(row)) found[stretch.at]!.push(row)
      const end = window.at(-1)
      if (window.length < maxRange || end === undefined) continue
      rest.push({ ...stretch, from: (isUnreadable(end) ? Number(end.key[2]) : end.pos) + 1 })
    }
    open = rest
  }
  return found.flat()
})

const byMessage = (rows: ReadonlyArray<Readonly<EntryRow>>): HistoryPlan["amendments"] => {
  const amendments = new Map<string, Array<Amendment>>()
  for (const { amendment } of rows) {
    if (amendment === undefined) continue
    const known = amendments.get(placeKey(amendment.of))
    if (known === undefined) amendments.set(placeKey(amendment.of), [amendment])
    else known.push(amendment)
  }
  return amendments
}

/** The compaction that rules at a place, or what is left of it. */
const lastCompaction = fn(function* (_tx, treeId: string, { facts }: Standing) {
  const at = facts.lastCompaction
  return at && (yield* entriesAt(treeId, [at]))[0]
})

/** Where the replay after a compaction begins. */
const beginOf = (compaction: Readonly<EntryRow>): EntryRef => compaction.compaction?.keepFrom ?? refOf(compaction)

/** Whether a step of a path is before the branch of a place, so that the whole of that branch was read. */
const isBefore =
  (place: EntryRef | undefined) =>
  (step: { readonly branch: number }): boolean =>
    place !== undefined && step.branch < place.branch

export interface NewCompaction {
  readonly entry: NewEntry
  readonly summary: string
  readonly keepFrom: string | undefined
  readonly method: string | undefined
  readonly tokensBefore: number | undefined
  readonly tokensAfter: number | undefined
  readonly operationId: string | undefined
}

/** Appends a compaction at the head. Nobody said anything: activity stays. */
export const compact = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  wanted: NewCompaction,
  { epoch, expectedHead }: { readonly epoch: number | undefined; readonly expectedHead: string | null | undefined },
  usesOf: UsesOf,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  const turn = yield* requireWriter(session, epoch)
  yield* expectHead(session, { expectedHead })
  const stands = yield* standing(session)
  const last = yield* lastCompaction(session.treeId, stands)
  const previous = last === undefined || isUnreadable(last) ? undefined : last
  const keepFrom = wanted.keepFrom === undefined ? undefined : yield* requireEntry(session, wanted.keepFrom)
  yield* checkBoundary(session, stands, keepFrom, previous && beginOf(previous), usesOf)
  const placement = yield* placeAtHead(session)
  const compaction = compactionOf(wanted, keepFrom, previous?.compaction)
  return writeAside(tx, session, placement, { ...wanted.entry, compaction }, turn, now)
})

/** Writes at the head what nobody said: activity stays. */
const writeAside = (
  tx: Handle,
  session: SessionRow,
  placement: Placement,
  entry: NewEntry,
  turn: ActiveTurn | undefined,
  now: number,
): EntryRow => writeAtHead(tx, session, placement, [entry], turn, now, false)[0]!

const compactionOf = (
  { method, operationId, summary, tokensAfter, tokensBefore }: NewCompaction,
  keepFrom: EntryRef | undefined,
  previous: Compaction | undefined,
): Compaction => {
  const savedNothing = tokensBefore !== undefined && tokensAfter !== undefined && tokensAfter >= tokensBefore
  const compaction: Compaction = { summary, savedNothing: savedNothing ? (previous?.savedNothing ?? 0) + 1 : 0 }
  if (keepFrom !== undefined) compaction.keepFrom = refOf(keepFrom)
  if (method !== undefined) compaction.method = method
  if (tokensBefore !== undefined) compaction.tokensBefore = tokensBefore
  if (tokensAfter !== undefined) compaction.tokensAfter = tokensAfter
  if (operationId !== undefined) compaction.operationId = operationId
  return compaction
}

/**
 * Fails with `InvalidBoundary` where the replay may not begin: HIS-03.
 *
 * @param keepFrom  the entry that it would begin with; absent: nothing before the head is kept
 * @param floor     where it begins now, if not with the first entry
 */
const checkBoundary = fn(function* (
  tx,
  session: SessionRow,
  { facts, head }: Standing,
  keepFrom: Readonly<EntryRow> | undefined,
  floor: EntryRef | undefined,
  usesOf: UsesOf,
) {
  const { id: sessionId, treeId } = session
  const refuse = (problem: string, nearest: string | undefined) =>
    tx.fail(
      new InvalidBoundary({
        sessionId,
        boundary: keepFrom?.id ?? null,
        problem,
        ...(nearest === undefined ? {} : { nearest }),
      }),
    )
  const oldest = keepFrom !== undefined && floor !== undefined && comesBefore(keepFrom, floor) ? keepFrom : floor
  const path: Path = yield* readPath(treeId, head, facts, isBefore(oldest))
  if (keepFrom !== undefined && !isOnPath(path, keepFrom)) return yield* refuse("is not on the path", undefined)
  if (keepFrom !== undefined && floor !== undefined && comesBefore(keepFrom, floor)) {
    const [begin] = yield* entriesAt(treeId, [floor])
    const nearest = begin === undefined || isUnreadable(begin) ? undefined : begin.id
    return yield* refuse("is before what the previous compaction kept", nearest)
  }
  const replayed = positionsOf(path, floor)
  const { before, behind } = keepFrom === undefined ? { before: replayed, behind: [] } : splitAt(replayed, keepFrom)
  const round = yield* roundAround(treeId, before, behind, usesOf)
  if (round !== undefined) return yield* refuse("is inside a tool round", round.id)
})

/**
 * The compaction that an operation has already made, asked for where it could not be made again: `undefined` when there
 * is none, `IdConflict` when the operation made another one.
 */
export const findCompaction = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  { entry: { id }, keepFrom, method, summary }: NewCompaction,
) {
  const { treeId } = yield* requireSession(scope, sessionId)
  const stored = yield* tx.find(EntryTable, "byId", [treeId, id])
  if (stored === undefined) return undefined
  const kept = keepFrom === undefined ? undefined : yield* tx.find(EntryTable, "byId", [treeId, keepFrom])
  const made = stored.compaction
  const isSame = made?.summary === summary && made.method === method && isSamePlace(made.keepFrom, kept)
  return isSame ? stored : yield* tx.fail(new IdConflict({ id }))
})

export interface NewAmendment {
  readonly entry: NewEntry
  readonly amendment: Omit<Amendment, "of">
}

/** The tool results of an entry, as they are given with these amendments. Pure: the dialects are known before. */
export type ResultsOf = (entry: EntryRow, amendments: ReadonlyArray<Amendment>) => ReadonlyArray<ToolResultPart>

/**
 * Appends an amendment at the head, and answers it. Where the model is given the same as before nothing is written, and the
 * amendment that makes it so is answered, if there is one. HIS-04
 */
export const amend = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  wanted: NewAmendment,
  { epoch, expectedHead }: { readonly epoch: number | undefined; readonly expectedHead: string | null | undefined },
  resultsOf: ResultsOf,
  now: number,
) {
  const { call, message } = wanted.amendment
  const session = yield* requireSession(scope, sessionId)
  const turn = yield* requireWriter(session, epoch)
  yield* expectHead(session, { expectedHead })
  const entry = yield* requireEntry(session, message)
  const refuse = (problem: string) => tx.fail(new InvalidInput({ field: "input.message", value: message, problem }))
  if (entry.draft === true) return yield* refuse("is still being written")
  const full = yield* requireWhole(entry)
  const stored = isReplayed(entry) ? resultsOf(full, []) : []
  if (stored.length === 0) return yield* refuse("holds no tool result that the model is given")
  if (call !== undefined && !stored.some(({ callId }) => callId === call)) {
    const problem = `is answered by no tool result of ${message}`
    return yield* tx.fail(new InvalidInput({ field: "input.call", value: call, problem }))
  }
  const stands = yield* standing(session)
  const compaction = yield* lastCompaction(session.treeId, stands)
  const start = compaction === undefined || isUnreadable(compaction) ? undefined : beginOf(compaction)
  if (start !== undefined && comesBefore(entry, start)) return yield* refuse("was compacted: the model is not given it")
  const path: Path = yield* readPath(session.treeId, stands.head, stands.facts, isBefore(entry))
  if (!isOnPath(path, entry)) return yield* refuse("is not on the path")
  const rows = yield* readAmendments(session.treeId, stands, positionsOf(path, refOf(entry)))
  const own = rows.filter(({ amendment }) => isSamePlace(amendment?.of, entry))
  const before = own.flatMap(({ amendment }) => (amendment === undefined ? [] : [amendment]))
  const amendment: Amendment = { ...wanted.amendment, of: refOf(entry) }
  if (canonical(resultsOf(full, before)) === canonical(resultsOf(full, [...before, amendment]))) return own.at(-1)
  const placement = yield* placeAtHead(session)
  return writeAside(tx, session, placement, { ...wanted.entry, amendment }, turn, now)
})

/**
 * The amendment that an operation has already made, asked for where it could not be made again: `undefined` when there is
 * none, `IdConflict` when the operation made another one.
 */
export const findAmendment = fn(function* (tx, scope: Scope, sessionId: string, { amendment, entry }: NewAmendment) {
  const { treeId } = yield* requireSession(scope, sessionId)
  const stored = yield* tx.find(EntryTable, "byId", [treeId, entry.id])
  if (stored === undefined) return undefined
  const { of: _of, ...made } = stored.amendment ?? { of: undefined }
  return canonical(made) === canonical(amendment) ? stored : yield* tx.fail(new IdConflict({ id: entry.id }))
})

/** Part of what a plan found. What is not there any more may have gone with its session. */
export const part = fn(function* (_tx, scope: Scope, session: SessionRow, stretches: ReadonlyArray<Stretch>) {
  const rows = yield* readStretches(session.treeId, stretches)
  const wanted = stretches.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  if (rows.length < wanted) yield* requireSession(scope, session.id)
  return rows
})
