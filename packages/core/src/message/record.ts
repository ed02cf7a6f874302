/**
 * Messages as callers see them.
 */
import { isUnreadable } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import type { Amendment, BodyBlob, Compaction, EntryKind, EntryRow, Format, Large, Link, Role } from "./model.ts"
import { displayOf, modelOf } from "./placement.ts"
import type { NewEntry } from "./placement.ts"

/** One thing that happened in a conversation, as it is stored. `display` and `model` are the same body where one serves. */
export interface Message<M = unknown> {
  readonly id: string
  readonly kind: EntryKind
  readonly role: Role
  /** What people see. Absent: nobody does, or it is large. */
  readonly display?: M
  /** What the model is given. Absent: nothing, or it is large. */
  readonly model?: M
  /** In lists and pages, the bodies that are too large for them: `get`, `getMany` and `stream` give the message with them. */
  readonly large?: {
    readonly display?: BodyBlob
    readonly model?: BodyBlob
    /** The beginning of what people see. */
    readonly text: string
  }
  readonly format?: Format
  readonly metadata?: unknown
  readonly source?: string
  readonly sourceContext?: unknown
  /** What came with it, where it was sent from a queue. */
  readonly attachments?: ReadonlyArray<unknown>
  /** When it was said, in milliseconds since 1970. For showing: nothing is ordered by it. */
  readonly createdAt: number
  /** The turn it belongs to. */
  readonly turn?: string
  /** True while it is being written: its bodies will change. */
  readonly draft?: true
  /** How it came to its end, where that was not its own: with a turn that was aborted, failed, or found dead. */
  readonly cut?: "aborted" | "failed" | "interrupted"
  /** When its content was redacted, in milliseconds since 1970. */
  readonly redacted?: number
  readonly compaction?: Pick<Compaction, "summary" | "method" | "tokensBefore" | "tokensAfter">
  /** How the model is given the tool results of another message, from here on. */
  readonly amendment?: Omit<Amendment, "of">
  /** What it leads to, as that was when it was put here; it may have gone since. */
  readonly link?: Link
  /** The branch it is on. */
  readonly branch: number
  /** What is wrong with it, where the stored row cannot be read: it then stands in its place without a body. */
  readonly unreadable?: string
}

export const toMessage = (row: EntryRow | Unreadable): Message =>
  isUnreadable(row) ? placeholder(row) : Object.assign(unplaced(row), { branch: row.branch })

/** A message as it is before it has a place. */
export const unplaced = (row: NewEntry): Omit<Message, "branch"> => {
  const { compaction, createdAt, format, id, kind, metadata, role } = row
  const message: { -readonly [Key in keyof Message as Exclude<Key, "branch">]: Message[Key] } = {
    id,
    kind,
    role,
    createdAt,
  }
  const shown = displayOf(row)
  const replayed = modelOf(row)
  if (shown !== undefined && shown !== null) message.display = shown
  if (replayed !== undefined && replayed !== null) message.model = replayed
  if (row.large !== undefined && (shown === null || replayed === null)) message.large = largeOf(row, row.large)
  if (format !== undefined) message.format = format
  if (metadata !== undefined) message.metadata = metadata
  if (row.source !== undefined) message.source = row.source
  if (row.sourceContext !== undefined) message.sourceContext = row.sourceContext
  if (row.attachments !== undefined) message.attachments = row.attachments
  if (row.turn !== undefined) message.turn = row.turn
  if (row.draft === true) message.draft = true
  if (row.cut !== undefined) message.cut = row.cut
  if (row.redacted !== undefined) message.redacted = row.redacted
  if (compaction !== undefined) {
    const { method, summary, tokensAfter, tokensBefore } = compaction
    message.compaction = {
      summary,
      ...(method === undefined ? {} : { method }),
      ...(tokensBefore === undefined ? {} : { tokensBefore }),
      ...(tokensAfter === undefined ? {} : { tokensAfter }),
    }
  }
  if (row.amendment !== undefined) {
    const { of: _of, ...amendment } = row.amendment
    message.amendment = amendment
  }
  if (row.link !== undefined) message.link = row.link
  return message
}

/** What stands for bodies that are elsewhere. */
const largeOf = ({ body, display, model }: NewEntry, large: Large): NonNullable<Message["large"]> => {
  const shown = body === null ? large.body : display === null ? large.display : undefined
  const replayed = body === null ? large.body : model === null ? large.model : undefined
  return {
    text: large.text,
    ...(shown !== undefined && { display: { ...shown } }),
    ...(replayed !== undefined && { model: { ...replayed } }),
  }
}

/** What stands for a row that cannot be read: its place is known, its content is not. */
const placeholder = (row: Unreadable): Message => ({
  id: unreadableId(row),
  kind: "message",
  role: "system",
  createdAt: 0,
  branch: Number(row.key[1]),
  unreadable: row.problem,
})

/** The name of an entry that cannot be read: its place, for its id is not known. */
export const unreadableId = ({ key }: Unreadable): string => `unreadable_${key[1]}_${key[2]}`
