/**
 * Pairing: tool calls and results leave in pairs, whatever was stored.
 *
 * Providers refuse a conversation in which a call has no result, a result has no call, or two calls share an id. Crashes,
 * aborts, rewinds and late results leave such conversations behind. What is stored is not touched; what is replayed is
 * repaired here.
 *
 * Guarantee, of the answer:
 * - Each call has exactly one result. It stands directly after the message with the call, together with the other results
 *   of that message; results of calls that the provider runs itself stay in the assistant message they came in.
 * - A call that waits for an answer may have none, and then none is made up for it.
 * - No two calls have the same id, save calls that wait: theirs stays as it is, for the answer will name it.
 * - A message that needed no repair is the same object as before. Pairing the answer again changes nothing.
 * - Each difference between what was given and the answer is a repair.
 *
 * Not promised: that what a call did is known. Where a result is made up, it says that it is not.
 */
import type { GenericMessage, GenericPart, ToolCallPart, ToolResultPart } from "./dialect.ts"

/** How the turn of an entry ended, where it did not simply complete. */
export type Ending = "interrupted" | "aborted" | "failed"

/** What pairing has to know about the entry of a message. */
export interface PairingEntry {
  readonly id: string
  /** Ids of calls that wait for an answer from outside and stay open. */
  readonly pendingCalls?: ReadonlyArray<string>
  /** Why a call of this entry may have no result. */
  readonly ending?: Ending
}

export interface PairingItem<Entry extends PairingEntry = PairingEntry> {
  readonly entry: Entry
  readonly message: GenericMessage
}

export type RepairKind =
  /** A call had no result: an error that says why stands in its place. */
  | "synthesised"
  /** A result stood elsewhere and was put next to its call. */
  | "moved"
  /** A second result of one call was left out. */
  | "dropped-duplicate"
  /** A result of no known call was left out. */
  | "dropped-orphan"
  /** A call had the id of an earlier one: it and its result got another. */
  | "renamed"

export interface Repair<Kind extends string = RepairKind> {
  /** The entry whose message is not given as it was stored. */
  readonly entry: string
  readonly kind: Kind
  readonly callId?: string
  readonly detail: string
}

export interface Paired<Entry extends PairingEntry = PairingEntry> {
  readonly items: ReadonlyArray<PairingItem<Entry>>
  readonly repairs: ReadonlyArray<Repair>
}

export interface PairingOptions {
  /**
   * Default `false`. When true, a result of the provider's own stays where it is in the entry of its call only: formats
   * that have results inside the message of the call cannot say it elsewhere.
   */
  readonly resultsInside?: boolean
  /**
   * Ids that calls before these have: no call here gets one of them. The ids that calls here leave under are added, so
   * that a long conversation can be paired in parts that hold whole rounds, with the answer it would have as a whole.
   * Default: none.
   */
  readonly used?: Set<string>
}

/** Pairs calls and results in messages that are given in the order they are replayed in. */
export const pair = <Entry extends PairingEntry>(
  items: ReadonlyArray<PairingItem<Entry>>,
  { resultsInside = false, used = new Set() }: PairingOptions = {},
): Paired<Entry> => {
  const repairs: Array<Repair> = []
  const slots = items.map((item) => slotOf(item))
  const calls = match(slots, repairs, resultsInside)
  if (calls.length === 0 && repairs.length === 0) return { items, repairs }
  nameApart(calls, used, repairs)
  return { items: arrange(slots, repairs), repairs }
}

/** A message on its way through: what becomes of each of its parts. */
interface Slot<Entry extends PairingEntry> {
  readonly item: PairingItem<Entry>
  readonly parts: Array<Slotted<Entry>>
  readonly calls: Array<Call<Entry>>
}

interface Slotted<Entry extends PairingEntry> {
  readonly slot: Slot<Entry>
  readonly part: GenericPart
  /** The call that this part makes or answers. A result without one is left out. */
  call?: Call<Entry>
}

interface Call<Entry extends PairingEntry> {
  readonly slot: Slot<Entry>
  readonly part: ToolCallPart
  /** The id it leaves under. */
  id: string
  answer?: Answer<Entry>
}

interface Answer<Entry extends PairingEntry> {
  readonly slot: Slot<Entry>
  readonly part: ToolResultPart
  /** The provider ran the call, and the result stays in the assistant message that it came in. */
  readonly inline: boolean
}

const slotOf = <Entry extends PairingEntry>(item: PairingItem<Entry>): Slot<Entry> => {
  const slot: Slot<Entry> = { item, parts: [], calls: [] }
  slot.parts.push(...item.message.content.map((part) => ({ slot, part })))
  return slot
}

/**
 * Decides which result answers which call: the latest call before it that has that id and no answer yet. Going through
 * the messages in order gives results that directly follow their call precedence over those that come late.
 */
const match = <Entry extends PairingEntry>(
  slots: ReadonlyArray<Slot<Entry>>,
  repairs: Array<Repair>,
  resultsInside: boolean,
): ReadonlyArray<Call<Entry>> => {
  const calls: Array<Call<Entry>> = []
  const unanswered = new Map<string, Array<Call<Entry>>>()
  for (const slot of slots) {
    for (const slotted of slot.parts) {
      const { part } = slotted
      if (part.type === "tool-call") {
        const call: Call<Entry> = { slot, part, id: part.id }
        slotted.call = call
        slot.calls.push(call)
        calls.push(call)
        const same = unanswered.get(part.id)
        if (same === undefined) unanswered.set(part.id, [call])
        else same.push(call)
      } else if (part.type === "tool-result") {
        const same = unanswered.get(part.callId)
        const call = same === undefined ? undefined : takeAnswered(same)
        if (call === undefined) {
          repairs.push(dropped(slot.item.entry, part, same !== undefined))
        } else {
          const near = !resultsInside || slot.item.entry === call.slot.item.entry
          call.answer = { slot, part, inline: near && isProviders(call.part, part, slot.item.message) }
          slotted.call = call
        }
      }
    }
  }
  return calls
}

/** Of one message with several calls of one id the first comes first; of several messages the latest. */
const takeAnswered = <Entry extends PairingEntry>(same: Array<Call<Entry>>): Call<Entry> | undefined => {
  let at = same.length - 1
  while (at > 0 && same[at - 1]?.slot === same[at]?.slot) at--
  return same.splice(Math.max(at, 0), 1)[0]
}

const dropped = (entry: PairingEntry, part: ToolResultPart, known: boolean): Repair => ({
  entry: entry.id,
  kind: known ? "dropped-duplicate" : "dropped-orphan",
  callId: part.callId,
  detail: known ? "The call already has a result." : "No call of this id comes before this result.",
})

/**
 * Gives each call whose id an earlier one has already used another id. Which one depends on what comes before it and on
 * calls that wait, so that what is said later does not change what the model was given before.
 */
const nameApart = <Entry extends PairingEntry>(
  calls: ReadonlyArray<Call<Entry>>,
  taken: Set<string>,
  repairs: Array<Repair>,
): void => {
  for (const call of calls) if (waits(call)) taken.add(call.id)
  const copies = new Map<string, number>()
  for (const call of calls) {
    if (waits(call)) continue
    const { id } = call.part
    if (taken.has(id)) {
      let copy = copies.get(id) ?? 1
      do call.id = `${id}_${++copy}`
      while (taken.has(call.id))
      copies.set(id, copy)
      repairs.push({
        entry: call.slot.item.entry.id,
        kind: "renamed",
        callId: id,
        detail: `Another call has this id; this one is replayed as ${call.id}.`,
      })
    }
    taken.add(call.id)
  }
}

const waits = <Entry extends PairingEntry>(call: Call<Entry>): boolean =>
  call.answer === undefined && (call.slot.item.entry.pendingCalls?.includes(call.part.id) ?? false)

const isProviders = (call: ToolCallPart, result: ToolResultPart, { role }: GenericMessage): boolean =>
  call.providerExecuted === true && result.providerExecuted === true && role === "assistant"

const inline = <Entry extends PairingEntry>(call: Call<Entry>): boolean => call.answer?.inline === true

const arrange = <Entry extends PairingEntry>(
  slots: ReadonlyArray<Slot<Entry>>,
  repairs: Array<Repair>,
): ReadonlyArray<PairingItem<Entry>> => {
  const out: Array<PairingItem<Entry>> = []
  const emit = (slot: Slot<Entry>, keep: (slotted: Slotted<Entry>) => boolean): void => {
    const message = rewritten(slot, keep)
    if (message !== undefined) out.push(message === slot.item.message ? slot.item : { ...slot.item, message })
  }
  for (let i = 0; i < slots.length;) {
    const slot = slots[i++]!
    emit(slot, (slotted) => slotted.part.type !== "tool-result" || inlineResult(slotted))
    if (slot.calls.length === 0) continue

    const near = new Set<Slot<Entry>>()
    for (let next = slots[i]; next !== undefined && isAfter(next); next = slots[++i]) {
      near.add(next)
      emit(next, (slotted) => slotted.part.type !== "tool-result" || slotted.call?.slot === slot)
    }
    out.push(...moved(slot, near, repairs), ...synthesised(slot, repairs))
  }
  return out
}

const inlineResult = <Entry extends PairingEntry>(slotted: Slotted<Entry>): boolean =>
  slotted.call !== undefined && inline(slotted.call)

/** Messages of tools that directly follow a call are where its results belong. */
const isAfter = <Entry extends PairingEntry>(slot: Slot<Entry>): boolean =>
  slot.item.message.role === "tool" && slot.calls.length === 0

/** The results of the calls of `slot` that stand elsewhere, one message for each one they come from. */
const moved = <Entry extends PairingEntry>(
  slot: Slot<Entry>,
  near: ReadonlySet<Slot<Entry>>,
  repairs: Array<Repair>,
): ReadonlyArray<PairingItem<Entry>> => {
  const sources = new Set<Slot<Entry>>()
  for (const call of slot.calls) {
    if (call.answer === undefined || inline(call) || near.has(call.answer.slot)) continue
    sources.add(call.answer.slot)
    repairs.push({
      entry: call.answer.slot.item.entry.id,
      kind: "moved",
      callId: call.part.id,
      detail: `The result stands next to its call in entry ${slot.item.entry.id}.`,
    })
  }
  return [...sources].flatMap((source) => {
    const belongs = (slotted: Slotted<Entry>) => slotted.part.type === "tool-result" && slotted.call?.slot === slot
    const taken = rewritten(source, (slotted) => belongs(slotted) && !inlineResult(slotted))
    if (taken === undefined) return []
    const message = asToolMessage(taken)
    return [message === source.item.message ? source.item : { ...source.item, message }]
  })
}

const asToolMessage = (message: GenericMessage): GenericMessage => {
  if (message.role === "tool") return message
  const { providerMetadata: _, ...rest } = message
  return { ...rest, role: "tool" }
}

/** One message with an error for each call of `slot` that has no result and waits for none. */
const synthesised = <Entry extends PairingEntry>(
  slot: Slot<Entry>,
  repairs: Array<Repair>,
): ReadonlyArray<PairingItem<Entry>> => {
  const { entry } = slot.item
  const missing = slot.calls.filter((call) => call.answer === undefined && !waits(call))
  if (missing.length === 0) return []
  const output = missingResult(entry.ending)
  repairs.push(
    ...missing.map((call): Repair => ({
      entry: entry.id,
      kind: "synthesised",
      callId: call.part.id,
      detail: output,
    })),
  )
  const content = missing.map((call): ToolResultPart => ({
    type: "tool-result",
    callId: call.id,
    name: call.part.name,
    output,
    isError: true,
  }))
  return [{ entry, message: { role: "tool", content } }]
}

/** What the model is told in the place of a result that does not exist. */
export const missingResult = (ending: Ending | undefined): string =>
  ending === undefined
    ? "The result of this call is missing. Whether it took effect is unknown."
    : `The run was ${endings[ending]} before this call gave a result. Whether it took effect is unknown.`

const endings: Readonly<Record<Ending, string>> = {
  interrupted: "interrupted",
  aborted: "aborted",
  failed: "ended by a failure",
}

/** The message with the parts that are kept, under the ids they leave with; `undefined` when nothing is left. */
const rewritten = <Entry extends PairingEntry>(
  slot: Slot<Entry>,
  keep: (slotted: Slotted<Entry>) => boolean,
): GenericMessage | undefined => {
  const kept = slot.parts.filter(keep)
  const content = kept.map(leaving)
  const { message } = slot.item
  if (kept.length === slot.parts.length && content.every((part, i) => part === message.content[i])) return message
  return content.length === 0 ? undefined : { ...message, content }
}

const leaving = <Entry extends PairingEntry>({ part, call }: Slotted<Entry>): GenericPart => {
  if (call === undefined) return part
  if (part.type === "tool-call") return leavingCall(part, call)
  if (part.type === "tool-result") return leavingResult(part, call)
  return part
}

const leavingCall = <Entry extends PairingEntry>(part: ToolCallPart, call: Call<Entry>): ToolCallPart => {
  if (part.providerExecuted === true && !inline(call) && !waits(call)) {
    // The provider's own record of such a call has no place for a result of ours, so it becomes an ordinary call.
    return { type: "tool-call", id: call.id, name: part.name, input: part.input }
  }
  return call.id === part.id ? part : { ...part, id: call.id }
}

const leavingResult = <Entry extends PairingEntry>(part: ToolResultPart, call: Call<Entry>): ToolResultPart => {
  if (part.providerExecuted === true && !inline(call)) {
    const { providerExecuted: _, providerMetadata: __, ...rest } = part
    return { ...rest, callId: call.id }
  }
  return call.id === part.callId ? part : { ...part, callId: call.id }
}
