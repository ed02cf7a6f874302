/**
 * What commits mean, told to listeners in this process: the notices that programs of skein send with `tx.notify`.
 *
 * Guarantee: a notice comes from the commit that did what it says, after it is durable and in commit order. `revision` is
 * greater than the session's was before that commit and at most what it is after it, so that whoever has read a session
 * at a revision knows which notices it contains.
 */
import type { MoveReason } from "./head/model.ts"
import type { EntryRow } from "./message/model.ts"
import type { QueryViewRow } from "./query-view/model.ts"
import type { SessionFailure, SessionStatus } from "./session/model.ts"
import type { NewFrame } from "./stream/frame.ts"
import type { TurnRow } from "./turn/model.ts"

interface OfSession {
  readonly sessionId: string
  readonly revision: number
}

/** It moved the head, or left it where it was. */
interface OfHead extends OfSession {
  /** The session's after it. */
  readonly headVersion: number
}

/** Entries were stored settled, or were settled now; in the order of the path. */
export interface EntriesCommitted extends OfHead {
  readonly _tag: "EntriesCommitted"
  readonly treeId: string
  readonly entries: ReadonlyArray<Readonly<EntryRow>>
  /** They are not on the path of the session. */
  readonly beside?: true
  /** They were there before, settled, with another content. */
  readonly replaced?: true
  /** That content is to be seen by nobody any more. */
  readonly redacted?: true
}

/** An entry that is still being written was stored for the first time, or again. */
export interface DraftStored extends OfHead {
  readonly _tag: "DraftStored"
  readonly entry: Readonly<EntryRow>
}

/** The head was moved by somebody. Ends are message ids, `null` is the root. */
export interface HeadWasMoved extends OfHead {
  readonly _tag: "HeadWasMoved"
  readonly reason: MoveReason
  readonly from: string | null
  readonly to: string | null
}

export interface TurnBegan extends OfSession {
  readonly _tag: "TurnBegan"
  readonly turn: Readonly<TurnRow>
}

/** The last notice of its turn, but for what comes next in the session. */
export interface TurnEnded extends OfSession {
  readonly _tag: "TurnEnded"
  readonly turn: Readonly<TurnRow>
}

/** Somebody asked a running turn to stop. */
export interface AbortRequested extends OfSession {
  readonly _tag: "AbortRequested"
  readonly epoch: number
  readonly reason?: string
}

export interface StatusChanged extends OfSession {
  readonly _tag: "StatusChanged"
  readonly status: SessionStatus
  readonly error?: SessionFailure
}

/** What happened to an item of a queue. */
export interface QueueChanged extends OfSession {
  readonly _tag: "QueueChanged"
  /** Absent where it is the queue as a whole: `paused`, `resumed`, `reordered`. */
  readonly itemId?: string
  readonly reason:
    | "enqueued"
    | "replaced"
    | "claimed"
    | "cancelled"
    | "expired"
    | "accepted"
    | "injected"
    | "rejected"
    | "requeued"
    | "updated"
    | "reordered"
    | "paused"
    | "resumed"
}

/** A model call was recorded, recorded again with more, priced anew, or erased. */
export interface UsageRecorded {
  readonly _tag: "UsageRecorded"
  readonly callId: string
  readonly sessionId: string
  /** Whom the session belongs to. */
  readonly owner?: string
}

/** The inner steps of a question were begun, finished or unfolded. */
export interface QueryViewChanged extends OfSession {
  readonly _tag: "QueryViewChanged"
  readonly view: Readonly<QueryViewRow>
}

/** An event of a running turn was applied, and readers are to be told this. */
export interface EventProjected {
  readonly _tag: "EventProjected"
  readonly sessionId: string
  readonly frame: NewFrame
}

/** The session is gone, with all that could be said of it. */
export interface SessionWasDeleted {
  readonly _tag: "SessionWasDeleted"
  readonly sessionId: string
  readonly deletedAt: number
}

export type SessionNotice =
  | EntriesCommitted
  | DraftStored
  | HeadWasMoved
  | TurnBegan
  | TurnEnded
  | AbortRequested
  | StatusChanged
  | QueueChanged
  | UsageRecorded
  | QueryViewChanged
  | EventProjected
  | SessionWasDeleted
