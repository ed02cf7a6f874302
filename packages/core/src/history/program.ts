/**
 * The rules of model history: what is replayed, and where it may be compacted.
 *
 * A compaction is an entry like any other. It says where the replay begins, it belongs to its branch, and going back
 * before it brings the originals back, for they never left.
 */
import * as Data from "effect/Data"
import { EntryTable, TreeTable } from "../message/model.ts"
import type { Compaction, EntryRef, EntryRow } from "../message/model.ts"
import { isOnPath, positionsOf, readPath } from "../message/path.ts"
import type { Path, Stretch } from "../message/path.ts"
import { advance, isReplayed } from "../message/placement.ts"
import type { NewEntry } from "../message/placement.ts"
import { expectHead, placeAtHead, refOf, requireEntry, standing, writeEntries } from "../message/program.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { isUnreadable, make, maxRange } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import type { ToolSpan } from "./tool-span.ts"
import { openCalls } from "./tool-span.ts"

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
}

/** Reads where the replay begins. */
export const plan = (scope: Scope, sessionId: string) =>
  make(function* (tx) {
    const session = yield* requireSession(scope, sessionId)
    const { treeId } = session
    const { degraded, facts, head } = yield* standing(session)
    const at = facts.lastCompaction
    const [tree, [compaction]] = yield* tx.all([
      tx.get(TreeTable, [treeId]),
      tx.range(EntryTable, "key", {
        from: [treeId, at?.branch ?? 0, at?.pos ?? 0],
        to: [treeId, at?.branch ?? 0, at?.pos ?? 0],
        unreadable: "keep",
      }),
    ])
    const readable = compaction === undefined || isUnreadable(compaction) ? undefined : compaction
    const start = readable && (readable.compaction?.keepFrom ?? refOf(readable))
    const path: Path = yield* readPath(
      treeId,
      head,
      facts,
      (step) => start !== undefined && step.branch <= start.branch,
    )
    const result: HistoryPlan = {
      session,
      version: session.historyVersion + (tree?.redactions ?? 0),
      summary: readable,
      stretches: positionsOf(path, start),
      unreadable: compaction !== undefined && isUnreadable(compaction) ? compaction : undefined,
      degraded,
    }
    return result
  })

/** Splits stretches into parts that one read may give. */
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
export const readStretches = (treeId: string, stretches: ReadonlyArray<Stretch>) =>
  make(function* (tx) {
    const rows = yield* tx.all(
      stretches.map(({ branch, from, to }) =>
        tx.range(EntryTable, "key", { from: [treeId, branch, from], to: [treeId, branch, to], unreadable: "keep" }),
      ),
    )
    return rows.flat()
  })

/** Which calls an entry makes and answers. Pure: the dialects are known before. */
export type SpanOf = (entry: EntryRow) => ToolSpan

export interface NewCompaction {
  readonly entry: NewEntry
  readonly summary: string
  readonly keepFrom: string | undefined
  readonly method: string | undefined
  readonly tokensBefore: number | undefined
  readonly tokensAfter: number | undefined
  readonly operationId: string | undefined
}

/** How many entries a tool round is looked for in. */
const roundReach = 100

/** Appends a compaction at the head. */
export const compact = (
  scope: Scope,
  sessionId: string,
  wanted: NewCompaction,
  expectedHead: string | null | undefined,
  spanOf: SpanOf,
  now: number,
) =>
  make(function* (tx) {
    const session = yield* requireSession(scope, sessionId)
    yield* expectHead(session, { expectedHead })
    const previous = yield* lastCompaction(session)
    const keepFrom = wanted.keepFrom === undefined ? undefined : yield* requireEntry(session, wanted.keepFrom)
    yield* checkBoundary(session, keepFrom, previous, spanOf)
    const placement = yield* placeAtHead(session)
    const compaction = compactionOf(wanted, keepFrom, previous?.compaction)
    const rows = writeEntries(tx, placement, [{ ...wanted.entry, compaction }], now)
    tx.update(SessionTable, [sessionId], (row) => advance(row, rows, now))
    return rows[0]!
  })

const lastCompaction = (session: SessionRow) =>
  make(function* (tx) {
    const { facts } = yield* standing(session)
    const at = facts.lastCompaction
    return at && (yield* tx.get(EntryTable, [session.treeId, at.branch, at.pos]))
  })

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

/** Fails with `InvalidBoundary` where the replay may not begin: HIS-03. */
const checkBoundary = (
  session: SessionRow,
  keepFrom: Readonly<EntryRow> | undefined,
  previous: Readonly<EntryRow> | undefined,
  spanOf: SpanOf,
) =>
  make(function* (tx) {
    const { id: sessionId, treeId } = session
    const { facts, head } = yield* standing(session)
    const refuse = (problem: string, nearest?: string) =>
      tx.fail(
        new InvalidBoundary({
          sessionId,
          boundary: keepFrom?.id ?? null,
          problem,
          ...(nearest === undefined ? {} : { nearest }),
        }),
      )
    const floor = previous && (previous.compaction?.keepFrom ?? refOf(previous))
    const lowest = Math.min(keepFrom?.branch ?? head.branch, floor?.branch ?? head.branch)
    const path: Path = yield* readPath(treeId, head, facts, (step) => step.branch <= lowest)
    if (keepFrom !== undefined && !isOnPath(path, keepFrom)) return yield* refuse("is not on the path")
    if (keepFrom !== undefined && floor !== undefined) {
      const begin = yield* tx.get(EntryTable, [treeId, floor.branch, floor.pos])
      if (begin !== undefined && keepFrom.facts.entries < begin.facts.entries) {
        return yield* refuse("is before what the previous compaction kept", begin.id)
      }
    }
    const round =
      keepFrom === undefined
        ? yield* roundAtHead(treeId, path, spanOf)
        : yield* roundAround(treeId, path, keepFrom, spanOf)
    if (round === undefined) return
    // A round that is kept from its call on stays whole.
    if (keepFrom === undefined || round.id !== keepFrom.id) return yield* refuse("is inside a tool round", round.id)
  })

/** The newest `count` positions of a path, oldest first. */
const newest = (path: Path, count: number): ReadonlyArray<Stretch> => {
  const kept: Array<Stretch> = []
  let left = count
  for (const stretch of positionsOf(path).toReversed()) {
    if (left <= 0) break
    const from = Math.max(stretch.from, stretch.to - left + 1)
    kept.push({ ...stretch, from })
    left -= stretch.to - from + 1
  }
  return kept.toReversed()
}

const readableOf = (rows: ReadonlyArray<Readonly<EntryRow> | Unreadable>) =>
  rows.filter((row): row is Readonly<EntryRow> => !isUnreadable(row) && isReplayed(row))

/** The message whose calls are still open at the end of the path, if it ends inside a tool round. */
const roundAtHead = (treeId: string, path: Path, spanOf: SpanOf) =>
  make(function* () {
    return openRound(readableOf(yield* readStretches(treeId, newest(path, roundReach))), spanOf)
  })

/** The message whose calls `boundary` answers, if it stands inside a tool round. */
const roundAround = (treeId: string, path: Path, boundary: Readonly<EntryRow>, spanOf: SpanOf) =>
  make(function* () {
    const { results } = spanOf(boundary)
    if (results.length === 0) return undefined
    const steps = path.steps
      .filter((step) => step.branch <= boundary.branch)
      .map((step) => (step.branch === boundary.branch ? { ...step, upTo: boundary.pos - 1 } : step))
    const before = readableOf(yield* readStretches(treeId, newest({ ...path, steps }, roundReach)))
    const caller = openRound(before, spanOf)
    return caller !== undefined && spanOf(caller).calls.some((call) => results.includes(call)) ? caller : undefined
  })

/** The message whose calls are open behind the last of `entries`: nothing but results may stand between. */
const openRound = (entries: ReadonlyArray<Readonly<EntryRow>>, spanOf: SpanOf): Readonly<EntryRow> | undefined => {
  const caller = entries.findLastIndex((entry) => {
    const { calls, results } = spanOf(entry)
    return calls.length > 0 || results.length === 0
  })
  const open = caller < 0 ? [] : openCalls(entries.slice(caller).map(spanOf))
  return open.length > 0 ? entries[caller] : undefined
}

/** A compaction that is already stored under its id, asked for after the engine refused the id. */
export const findCompaction = (scope: Scope, sessionId: string, id: string) =>
  make(function* (tx) {
    const session = yield* requireSession(scope, sessionId)
    return yield* tx.find(EntryTable, "byId", [session.treeId, id])
  })
