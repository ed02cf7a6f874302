/**
 * Messages as callers see them.
 */
import { isUnreadable } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import type { Amendment, Compaction, EntryKind, EntryRow, Format, Role } from "./model.ts"
import type { NewEntry } from "./placement.ts"

/** One thing that happened in a conversation, as it is stored. `display` and `model` are the same body where one serves. */
export interface Message<M = unknown> {
  readonly id: string
  readonly kind: EntryKind
  readonly role: Role
  /** What people see. Absent: nobody does. */
  readonly display?: M
  /** What the model is given. Absent: nothing. */
  readonly model?: M
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
  readonly compaction?: Pick<Compaction, "summary" | "method" | "tokensBefore" | "tokensAfter">
  /** How the model is given the tool results of another message, from here on. */
  readonly amendment?: Omit<Amendment, "of">
  /** The branch it is on. */
  readonly branch: number
  /** What is wrong with it, where the stored row cannot be read: it then stands in its place without a body. */
  readonly unreadable?: string
}

export const toMessage = (row: EntryRow | Unreadable): Message =>
  isUnreadable(row) ? placeholder(row) : Object.assign(unplaced(row), { branch: row.branch })

/** A message as it is before it has a place. */
export const unplaced = (row: NewEntry): Omit<Message, "branch"> => {
  const { body, compaction, createdAt, display, format, id, kind, metadata, model, role } = row
  const message: { -readonly [Key in keyof Message as Exclude<Key, "branch">]: Message[Key] } = {
    id,
    kind,
    role,
    createdAt,
  }
  const shown = body ?? display
  const replayed = body ?? model
  if (shown !== undefined) message.display = shown
  if (replayed !== undefined) message.model = replayed
  if (format !== undefined) message.format = format
  if (metadata !== undefined) message.metadata = metadata
  if (row.source !== undefined) message.source = row.source
  if (row.sourceContext !== undefined) message.sourceContext = row.sourceContext
  if (row.attachments !== undefined) message.attachments = row.attachments
  if (row.turn !== undefined) message.turn = row.turn
  if (row.draft === true) message.draft = true
  if (row.cut !== undefined) message.cut = row.cut
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
  return message
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
