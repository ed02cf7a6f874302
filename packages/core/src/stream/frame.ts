/**
 * Frames: pieces of live output, as they go to readers.
 *
 * The data of a frame is kept as JSON text, and every reader is given a copy of its own: nobody who publishes or reads can
 * change what others get.
 *
 * What a reader shows is a fold over frames, by message id: `durable-message`, `message-committed` and `messages-replaced`
 * give whole messages that stay as they are; a draft gives a whole message that is still being written; a delta gives what
 * goes at an offset of one. A delta that begins behind what is there is part of a draft or a message that follows.
 */
import type { MoveReason } from "../head/model.ts"
import { unplaced } from "../message/record.ts"
import type { Message } from "../message/record.ts"
import type { NewEntry } from "../message/placement.ts"
import type { QueryView } from "../query-view/record.ts"
import type { SessionFailure, SessionStatus } from "../session/model.ts"
import type { TurnOutcome, TurnRow } from "../turn/model.ts"

/** Why a reader cannot be given what follows. Read the messages again, then go on behind the last one. */
export type ResyncReason =
  /** It is no cursor, or none that was given out. */
  | "invalid"
  /** It is of another session, or of another process or an earlier life of this one. */
  | "other-session"
  | "other-life"
  /** What follows it is not kept any more. */
  | "evicted"
  /** The reader was slower than what is kept reaches back. */
  | "too-slow"
  /** What comes now is larger than all that is kept. */
  | "too-large"
  /** There is no such message, or it is not on the path any more. */
  | "missing"
  | "rewound"
  /** Another process has gone on with the session since. */
  | "elsewhere"
  /** The turn has shown no sign of life for two leases, and nobody has ended it. */
  | "owner-gone"

interface FrameOf<Kind extends string, Data> {
  /** The same for the same frame, however often and in whatever stream it is given. */
  readonly id: string
  readonly sessionId: string
  readonly kind: Kind
  /** The turn that it is of. Absent: it is of the session. */
  readonly turn?: string
  /** Give it as `afterCursor` to go on behind this frame. */
  readonly cursor: string
  /** The revision of the session that it came with, where a commit made it. */
  readonly revision?: number
  /** In milliseconds since 1970. */
  readonly createdAt: number
  /** False: it was read from the store, and did not come as it happened. */
  readonly live: boolean
  readonly data: Data
}

/** A message without its place: while it is being written it may have none. */
export type Draft<M = unknown> = Omit<Message<M>, "branch">

export type Frame<M = unknown> =
  /** What was published. */
  | (FrameOf<"runtime-event", unknown> & { readonly entry?: undefined; readonly offset?: undefined })
  /** A delta: `data` goes into the message `entry` at `offset`. */
  | (FrameOf<"runtime-event", unknown> & { readonly entry: string; readonly offset: number })
  /** A draft: all that there is of the message `entry` by now. */
  | (FrameOf<"runtime-event", { readonly message: Draft<M> }> & { readonly entry: string; readonly offset?: undefined })
  /** Somebody has to decide something. */
  | FrameOf<"action-required", unknown>
  | FrameOf<"session-status", { readonly status: SessionStatus; readonly error?: SessionFailure }>
  /** The turn is over: nothing of it follows. */
  | FrameOf<"turn-terminal", Terminal>
  /** Messages were stored, or settled, in the order of the path. */
  | FrameOf<"message-committed", { readonly messages: ReadonlyArray<Message<M>> }>
  /** Messages that were there have another content now. */
  | FrameOf<"messages-replaced", { readonly messages: ReadonlyArray<Message<M>> }>
  /** The head was moved: the path ends at `to` now, `null` is before the first message. */
  | FrameOf<
      "messages-rewound",
      { readonly from: string | null; readonly to: string | null; readonly reason: MoveReason }
    >
  | FrameOf<"query-view", QueryView>
  /** A message that was stored before. */
  | FrameOf<"durable-message", { readonly message: Message<M> }>
  /** The last frame of its stream: something is missing. Read the messages again. */
  | FrameOf<"resync-required", { readonly reason: ResyncReason }>

export type FrameKind = Frame["kind"]

export interface Terminal {
  readonly epoch: number
  readonly outcome: TurnOutcome
  readonly reason?: string
  readonly error?: SessionFailure
  readonly startedAt: number
  readonly endedAt?: number
  /** How long it ran, in milliseconds. */
  readonly duration?: number
}

/** What a frame is made of, before it has a cursor. */
export interface NewFrame {
  /** Default: the cursor. */
  readonly id?: string | undefined
  readonly kind: FrameKind
  readonly turn?: string | undefined
  readonly entry?: string | undefined
  readonly offset?: number | undefined
  readonly revision?: number | undefined
  /** Its data, as JSON text. */
  readonly json: string
  /** Of a draft: from where on in `json` two of one entry are compared. */
  readonly contentAt?: number | undefined
  /** What a commit stored: the ids of messages that people see on the path, and the ordinal of the last of them. */
  readonly committed?: Committed | undefined
}

export interface Committed {
  readonly ids: ReadonlyArray<string>
  readonly last: number
}

/** A frame as it is kept. */
export interface Kept extends Omit<NewFrame, "id"> {
  /** Its number: later frames of the process have higher ones. 0: it is from the store. */
  readonly seq: number
  readonly id: string
  readonly sessionId: string
  readonly cursor: string
  readonly createdAt: number
  readonly live: boolean
  /** The newest revision of the session that was known when it came. */
  readonly since: number
  /** How many bytes it counts as: its data as JSON in UTF-8, and what comes with it. */
  readonly size: number
}

/** What a frame has beside its data, in bytes of JSON: about so much. */
export const envelope = 256

/** Where and when a frame comes. */
export type Place = Pick<Kept, "seq" | "sessionId" | "cursor" | "createdAt" | "live" | "since">

export const keep = (frame: NewFrame, { createdAt, cursor, live, seq, sessionId, since }: Place): Kept => {
  const { committed, contentAt, entry, id, json, kind, offset, revision, turn } = frame
  return {
    seq,
    id: id ?? cursor,
    sessionId,
    kind,
    turn,
    entry,
    offset,
    cursor,
    revision,
    createdAt,
    live,
    json,
    contentAt,
    committed,
    since,
    size: utf8Length(json) + envelope,
  }
}

/** A frame as a reader gets it: one of its own. */
export const toFrame = (kept: Kept): Frame => {
  const { createdAt, cursor, entry, id, json, kind, live, offset, revision, sessionId, turn } = kept
  const frame: Record<string, unknown> = { id, sessionId, kind, cursor, createdAt, live }
  if (turn !== undefined) frame["turn"] = turn
  if (entry !== undefined) frame["entry"] = entry
  if (offset !== undefined) frame["offset"] = offset
  if (revision !== undefined) frame["revision"] = revision
  frame["data"] = JSON.parse(json)
  return frame as unknown as Frame
}

/** Whether it is a draft: all there is of an entry by now. */
export const isDraft = ({ entry, offset }: Kept): boolean => entry !== undefined && offset === undefined

/** Whether two drafts of one entry say the same; when they were made does not count. */
export const isSameDraft = (a: Kept, b: Kept): boolean => a.json.slice(a.contentAt) === b.json.slice(b.contentAt)

/** How many bytes a text has in UTF-8. Half a surrogate pair, which JSON text escapes, is not in it. */
export const utf8Length = (text: string): number => {
  let length = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    // A pair is two units and four bytes.
    if (unit > 0x7f) length += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1
  }
  return length
}

/** An entry that is still being written, as the frame that says what there is of it. */
export const draftFrame = (entry: NewEntry): NewFrame => {
  const { createdAt, id, kind, role, ...content } = unplaced(entry)
  const head = `{"message":${JSON.stringify({ id, kind, role, createdAt })}`
  return {
    kind: "runtime-event",
    turn: entry.turn,
    entry: id,
    json: `${head.slice(0, -1)},${JSON.stringify(content).slice(1)}}`,
    contentAt: head.length,
  }
}

export const terminalFrame = (row: TurnRow): NewFrame => {
  const { duration, endedAt, epoch, error, id, outcome, reason, startedAt } = row
  return {
    id: `turn-terminal.${id}`,
    kind: "turn-terminal",
    turn: id,
    json: JSON.stringify({ epoch, outcome, reason, error, startedAt, endedAt, duration }),
  }
}

export const resyncFrame = (reason: ResyncReason): NewFrame => ({
  kind: "resync-required",
  json: JSON.stringify({ reason }),
})
