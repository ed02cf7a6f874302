/**
 * What a reader of the stream reads from the store: one state of the session, and what is stored behind an anchor.
 */
import type { EntryRef, EntryRow, Facts, TrailStep } from "../message/model.ts"
import { EntryTable } from "../message/model.ts"
import { entriesAt, isOnPath, readOrdinals, readPath, reaches } from "../message/path.ts"
import type { Path } from "../message/path.ts"
import { isDisplayed } from "../message/placement.ts"
import { headId, standing } from "../message/program.ts"
import type { ActiveTurn, SessionRow } from "../session/model.ts"
import { requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { fn, isUnreadable } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import type { StorePlace } from "./cursor.ts"
import { TurnTable } from "../turn/model.ts"
import type { TurnRow } from "../turn/model.ts"

/** Behind what a reader wants to go on. */
export type Anchor =
  | StorePlace
  /** Behind a message that it has as it stays: one that is still being written comes again. */
  | { readonly _tag: "Settled"; readonly id: string }
  /** Behind the head. */
  | { readonly _tag: "Head" }
  /** Behind an ordinal among what people see, on the path as it was after so many moves of the head. */
  | {
      readonly _tag: "Ordinal"
      readonly shown: number
      readonly moves: number
      readonly open: ReadonlyArray<string>
    }

export type Row = Readonly<EntryRow> | Unreadable

/** A session at one revision. */
export interface Snapshot {
  readonly _tag: "Snapshot"
  readonly treeId: string
  readonly revision: number
  /** The message at the head, `null` at the root. */
  readonly head: string | null
  readonly headVersion: number
  readonly moves: number
  readonly path: Path
  /** Messages before the anchor, or at it, that the reader has seen being written. */
  readonly open: ReadonlyArray<Readonly<EntryRow>>
  /** What people see and the reader has not got: these ordinals. */
  readonly from: number
  readonly to: number
  /** The first of it. */
  readonly rows: ReadonlyArray<Row>
  /** What the running turn is still writing. */
  readonly drafts: ReadonlyArray<Row>
  /** The turn that runs. */
  readonly turn: ActiveTurn | undefined
  /** The turn that the reader follows, where it is over. */
  readonly ended: TurnRow | undefined
}

/** There is nothing behind the anchor, for it is not on the path. */
export interface Lost {
  readonly _tag: "Lost"
  readonly reason: "missing" | "rewound"
}

/** The session is at the revision that is known. */
export interface Unchanged {
  readonly _tag: "Unchanged"
  readonly turn: ActiveTurn | undefined
}

export interface Wanted {
  readonly anchor: Anchor
  /** How many rows come with the snapshot. */
  readonly limit: number
  /** The revision that the reader knows. */
  readonly known?: number
  /** The turn that it follows. Default: the one that runs, else the last one. */
  readonly epoch?: number
}

/** Reads the session, and what a reader has not got, in one state. */
export const snapshot = fn(function* (tx, scope: Scope, sessionId: string, wanted: Wanted) {
  const { anchor, epoch, known, limit } = wanted
  const session = yield* requireSession(scope, sessionId)
  const { activeTurn: turn, headVersion, moves, revision, treeId } = session
  if (revision === known) {
    const unchanged: Unchanged = { _tag: "Unchanged", turn }
    return unchanged
  }
  const { facts, head } = yield* standing(session)
  const from = yield* firstBehind(session, head, facts, anchor)
  if (typeof from === "string") {
    const lost: Lost = { _tag: "Lost", reason: from }
    return lost
  }
  const to = facts.displays
  const seen = "open" in anchor ? anchor.open : []
  const stored = yield* tx.all(seen.map((id) => tx.find(EntryTable, "byId", [treeId, id])))
  // What was not stored when it was seen is behind the anchor by now.
  const open = stored.filter((row) => row !== undefined).filter(({ shown = from }) => shown < from)
  const isEnough = (step: TrailStep) => step.displays < from && open.every((row) => reaches(row)(step))
  const path = yield* readPath(treeId, head, facts, isEnough)
  const rows: ReadonlyArray<Row> = yield* rowsOf(treeId, path, from, Math.min(to, from + limit - 1))
  const drafts = turn === undefined ? [] : yield* entriesAt(treeId, turn.drafts)
  const followed = epoch ?? session.epoch
  const isOver = followed > 0 && turn?.epoch !== followed
  const ended = isOver ? yield* tx.get(TurnTable, [sessionId, followed]) : undefined
  const found: Snapshot = {
    _tag: "Snapshot",
    treeId,
    revision,
    head: headId(session),
    headVersion,
    moves,
    path,
    open: open.filter((row) => isOnPath(path, row)),
    from,
    to,
    rows,
    drafts: drafts.filter((row) => row !== undefined),
    turn,
    ended,
  }
  return found
})

/** What people see between two ordinals of a path. */
export const rowsOf = fn(function* (_tx, treeId: string, path: Path, from: number, to: number) {
  return from > to ? [] : yield* readOrdinals(treeId, path, "byShown", from, to)
})

/** The first ordinal behind an anchor, or why there is none. */
const firstBehind = fn(function* (tx, session: SessionRow, head: EntryRef, facts: Facts, anchor: Anchor) {
  const end = facts.displays + 1
  if (anchor._tag === "Head") return end
  if (anchor._tag === "Ordinal") {
    return anchor.moves === session.moves ? anchor.shown + 1 : ("rewound" as const)
  }
  if (anchor._tag === "Turn") {
    const first = session.activeTurn?.first
    const [entry] = first === undefined ? [] : yield* entriesAt(session.treeId, [first])
    return entry === undefined || isUnreadable(entry) ? end : before(entry) + 1
  }
  if (anchor.id === undefined) return 1
  const entry = yield* tx.find(EntryTable, "byId", [session.treeId, anchor.id])
  if (entry === undefined) return "missing" as const
  const path = yield* readPath(session.treeId, head, facts, reaches(entry))
  if (!isOnPath(path, entry)) return "rewound" as const
  const comesAgain = anchor._tag === "Settled" && entry.draft === true
  return (comesAgain ? before(entry) : entry.facts.displays) + 1
})

/** The last ordinal before an entry. */
const before = (entry: EntryRow): number => entry.facts.displays - (isDisplayed(entry) ? 1 : 0)

/** A turn, by its id; `undefined` before it has begun. */
export const turnById = fn(function* (tx, scope: Scope, sessionId: string, turnId: string) {
  yield* requireSession(scope, sessionId)
  return yield* tx.find(TurnTable, "byId", [sessionId, turnId])
})
