/**
 * Rendering: stored entries in, what the model is given out.
 *
 * Each body is read through the dialect it was stored in. A body that is in the reader's own format, and of which nothing
 * had to be repaired, leaves as it is: the same value, never re-encoded. Everything else becomes generic messages and is
 * written by the reader's dialect.
 *
 * Guarantee: calls and results are paired (see `pairing.ts`), every string is well-formed UTF-16, and every difference
 * between what was stored and what is given is in `repairs`. A body that cannot be read is skipped and reported, whatever
 * its dialect does, and the rest is served. Rendering the messages again, as bodies of the reader's dialect, gives them
 * unchanged.
 *
 * Pure: nothing that is stored is changed, and the same entries always give the same messages.
 */
import type { Amendment } from "../message/model.ts"
import type { Json } from "../storage/json.ts"
import { amended } from "./amendment.ts"
import type { Dialect, Dialects, GenericMessage, Readable, Role, Unreadable } from "./dialect.ts"
import { pair } from "./pairing.ts"
import type { Ending, PairingEntry, PairingItem, PairingOptions, Repair, RepairKind } from "./pairing.ts"
import type { ToolUse } from "./rounds.ts"
import { wellFormed, wellFormedText } from "./well-formed.ts"

/** A stored message. */
export interface MessageEntry {
  readonly id: string
  readonly role: Role
  readonly body: Json
  /** Name of the dialect of the body. */
  readonly dialect: string
  /** When it was stored, in milliseconds since 1970, for formats whose messages carry a time. */
  readonly at?: number
  /** Ids of calls that wait for an answer (`needs_input`): they stay open. */
  readonly pendingCalls?: ReadonlyArray<string>
  /** How its turn ended, where it did not simply complete: why a result may be missing. */
  readonly ending?: Ending
  /** Its calls and results, where the body is not loaded. */
  readonly uses?: ReadonlyArray<ToolUse>
  /** How its tool results are given, the newest last. */
  readonly amendments?: ReadonlyArray<Amendment>
}

/** A compaction: what stands for everything before it. */
export interface SummaryEntry {
  readonly id: string
  readonly summary: string
  readonly at?: number
}

export type RenderEntry = MessageEntry | SummaryEntry

export type RenderRepair = Repair<
  | RepairKind
  /** The body could not be read. It is not given. */
  | "unreadable"
  /** Lone surrogates were replaced by U+FFFD. */
  | "well-formed"
  /** The reader's format has no way to say it. */
  | "left-out"
  /** A tool result is given as somebody amended it. */
  | "amended"
>

export interface Rendered<M> {
  readonly messages: Array<M>
  readonly repairs: ReadonlyArray<RenderRepair>
}

/**
 * Renders the entries of a path, oldest first, for a reader of `reader`.
 *
 * @param dialects  those that entries may be in; the reader's need not be among them
 */
export const render = <M>(entries: ReadonlyArray<RenderEntry>, reader: Dialect<M>, dialects: Dialects): Rendered<M> => {
  const { pieces, repairs } = readEntries(entries, reader, dialects)
  const rendered = renderPieces(pieces, reader)
  return { messages: rendered.messages, repairs: [...repairs, ...rendered.repairs] }
}

/** An entry that was read. */
export interface Piece<M> extends PairingEntry {
  readonly messages: ReadonlyArray<GenericMessage>
  /** Present where the reader may be given the body itself. */
  readonly native?: M
}

/** Reads entries; those that cannot be read are left out and reported. */
export const readEntries = <M>(
  entries: ReadonlyArray<RenderEntry>,
  reader: Dialect<M>,
  dialects: Dialects,
): { readonly pieces: ReadonlyArray<Piece<M>>; readonly repairs: ReadonlyArray<RenderRepair> } => {
  const repairs: Array<RenderRepair> = []
  const pieces = entries.flatMap((entry) => {
    const piece = "summary" in entry ? summaryPiece(entry, reader) : messagePiece(entry, reader, dialects, repairs)
    return piece === undefined ? [] : [piece]
  })
  return { pieces, repairs }
}

/** The messages of one entry; none where it cannot be read. */
export const messagesOf = (
  entry: MessageEntry,
  reader: Dialect<unknown>,
  dialects: Dialects,
): ReadonlyArray<GenericMessage> => readEntries([entry], reader, dialects).pieces.flatMap(({ messages }) => messages)

/** Renders what was read. See `PairingOptions` for `used`. */
export const renderPieces = <M>(
  pieces: ReadonlyArray<Piece<M>>,
  reader: Dialect<M>,
  options: Pick<PairingOptions, "used"> = {},
): Rendered<M> => {
  const items = pieces.flatMap((entry) => entry.messages.map((message) => ({ entry, message })))
  const paired = pair(items, { ...options, resultsInside: reader.resultsInside === true })
  const repairs: Array<RenderRepair> = [...paired.repairs]
  return { messages: write(paired.items, reader, repairs), repairs }
}

const summaryPiece = <M>(entry: SummaryEntry, reader: Dialect<M>): Piece<M> => {
  const summary = reader.summary(wellFormedText(entry.summary), facts(entry))
  return { id: entry.id, messages: [{ ...facts(entry), role: "user", content: [] }], native: summary }
}

const messagePiece = <M>(
  entry: MessageEntry,
  reader: Dialect<M>,
  dialects: Dialects,
  repairs: Array<RenderRepair>,
): Piece<M> | undefined => {
  const { id } = entry
  const body = wellFormed(entry.body)
  const stored = readBody(entry, body, reader, dialects)
  if ("unreadable" in stored) {
    repairs.push({ entry: id, kind: "unreadable", detail: stored.unreadable })
    return undefined
  }
  const given = entry.amendments && amended(stored.messages, entry.amendments)
  const reading = given === undefined || given.results.length === 0 ? stored : { messages: given.messages }
  for (const result of given?.results ?? []) repairs.push({ entry: id, kind: "amended", detail: result })
  if (body !== entry.body) {
    repairs.push({ entry: id, kind: "well-formed", detail: "Lone surrogates in its text are replaced by U+FFFD." })
  }
  return {
    id,
    ...reading,
    ...(entry.pendingCalls === undefined ? {} : { pendingCalls: entry.pendingCalls.map(wellFormedText) }),
    ...(entry.ending === undefined ? {} : { ending: entry.ending }),
  }
}

const facts = ({ id, at }: RenderEntry) => (at === undefined ? { id } : { id, at })

const readBody = <M>(
  entry: MessageEntry,
  body: Json,
  reader: Dialect<M>,
  dialects: Dialects,
): Readable<M> | Unreadable => {
  const isReaders = entry.dialect === reader.name
  const own = isReaders ? reader : dialects.get(entry.dialect)
  if (own === undefined) return { unreadable: `no dialect is named ${entry.dialect}` }
  try {
    const reading = own.read(body, entry.role)
    if ("unreadable" in reading) return reading
    const messages = reading.messages.map((message) => ({ ...facts(entry), ...message }))
    return isReaders ? { ...(reading as Readable<M>), messages } : { messages }
  } catch (thrown) {
    // A dialect may be the caller's. One that throws must not cost the rest of the conversation.
    return { unreadable: `the dialect ${entry.dialect} failed: ${String(thrown)}` }
  }
}

/** Gives bodies as they are where that is possible, and has the dialect write what stands between them. */
const write = <M>(
  items: ReadonlyArray<PairingItem<Piece<M>>>,
  reader: Dialect<M>,
  repairs: Array<RenderRepair>,
): Array<M> => {
  const out: Array<M> = []
  let run: Array<PairingItem<Piece<M>>> = []
  const endRun = () => {
    if (run.length === 0) return
    const written = reader.write(run.map((item) => item.message))
    out.push(...written.messages)
    for (const { message, what } of written.lost) {
      const entry = run.find((item) => item.message === message)?.entry.id ?? ""
      repairs.push({ entry, kind: "left-out", detail: `The format ${reader.name} has no way to say ${what}.` })
    }
    run = []
  }
  for (let i = 0; i < items.length;) {
    const item = items[i]!
    const { native, messages } = item.entry
    if (native !== undefined && isWhole(items, i, reader)) {
      endRun()
      out.push(native)
      i += messages.length
    } else {
      run.push(item)
      i++
    }
  }
  endRun()
  return out
}

/** Whether at `start` the messages of an entry stand as they were read, none missing and none added. */
const isWhole = <M>(items: ReadonlyArray<PairingItem<Piece<M>>>, start: number, reader: Dialect<M>): boolean => {
  const { messages } = items[start]!.entry
  if (messages.some((message, i) => items[start + i]?.message !== message)) return false
  const isTool = (at: number) => items[at]?.message.role === "tool"
  const end = start + messages.length
  if (reader.resultsTogether === true && ((isTool(start - 1) && isTool(start)) || (isTool(end - 1) && isTool(end)))) {
    return false
  }
  const answers = messages.at(-1)?.role === "assistant" || messages.at(-1)?.role === "tool"
  return reader.resultsInside !== true || !answers || !isTool(end)
}
