/**
 * Events of a running agent, and what they mean: from what a caller gives to what the program of a turn takes.
 */
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { checkInput, checkJson, Text } from "../input.ts"
import { toEntryWithId } from "../message/body.ts"
import type { Makers, MessageInput } from "../message/body.ts"
import { measured } from "../message/large.ts"
import { InvalidInput } from "../storage/error.ts"
import type { Json } from "../storage/json.ts"
import { toPublished } from "../stream/publication.ts"
import type { Publication } from "../stream/publication.ts"
import { toCall } from "../usage/input.ts"
import type { UsageInput } from "../usage/input.ts"
import type { NewCall } from "../usage/program.ts"
import { markOf } from "./applied.ts"
import type { EventMark } from "./applied.ts"
import type { Projected, Projection } from "./project.ts"

/** One thing that a running agent told. `D` is the caller's own. */
export interface TurnEvent<D = Json> {
  /** Tells it from all other events of its turn: 1 to 1,000 characters. */
  readonly id: string
  /** Counts the events of its turn from 1, without gaps. */
  readonly sequence: number
  /** The epoch of its turn. */
  readonly epoch: number
  /** What happened, as JSON. */
  readonly data: D
}

/** A frame of the turn, whose identity is the event's. */
export type EventFrame = Omit<Publication, "id" | "turn">

/** What an event means. All of it is written in one commit, in this order. */
export interface Meaning<M = MessageInput> {
  /** The message that was being written, as it stays; without an id the last one that is being written. */
  readonly settle?: M
  /** Messages that are said besides. */
  readonly entries?: ReadonlyArray<M>
  /** The message that is being written, as it is by now. */
  readonly draft?: M
  /** Model calls; without a `turnId` they are the turn's. */
  readonly usage?: UsageInput | ReadonlyArray<UsageInput>
  /** What readers of the live stream are told. */
  readonly frame?: EventFrame
}

/** What an event means, to the caller's own agent. Pure: it may be asked of an event that turns out to be a repetition. */
export type Mapper<D, M = MessageInput> = (event: TurnEvent<D>) => Meaning<M> | undefined

/** An event as the program takes it. */
export interface CheckedEvent {
  readonly epoch: number
  readonly event: EventMark & { readonly id: string }
  readonly projection: Projection
}

/** Checks an event, asks the mapper what it means, and makes the entries of that. */
export const toProjection = Effect.fnUntraced(function* (
  makers: Makers,
  given: TurnEvent<unknown>,
  mapper: Mapper<unknown>,
  now: number,
) {
  const { data, epoch, id, sequence } = yield* checkInput(TurnEventInput, given, "event")
  yield* checkJson(data, "event.data")
  yield* checkInput(MapperInput, mapper, "mapper")
  const meaning = yield* checkInput(MeaningInput, mapper(given) ?? {}, "meaning")
  const { draft, entries, frame, settle, usage } = meaning
  const published = frame === undefined ? undefined : toPublished(frame, "meaning.frame")
  if (published instanceof InvalidInput) return yield* Effect.fail(published)
  const made = (message: unknown, name: string) => toProjected(makers, message as MessageInput, now, `meaning.${name}`)
  const projection: Projection = {
    settle: settle === undefined ? undefined : yield* made(settle, "settle"),
    entries: yield* Effect.forEach(entries ?? [], (message, i) => made(message, `entries[${i}]`)),
    draft: draft === undefined ? undefined : yield* made(draft, "draft"),
    calls: yield* toCalls(usage),
    frame: published,
  }
  for (const name of ["settle", "draft"] as const) {
    if (projection[name]?.entry.role !== "user") continue
    const problem = "must not be user: what a user says is among the entries"
    return yield* Effect.fail(new InvalidInput({ field: `meaning.${name}.role`, value: "user", problem }))
  }
  const checked: CheckedEvent = { epoch, event: { ...markOf(sequence, id, data), id }, projection }
  return checked
})

const toProjected = Effect.fnUntraced(function* (
  { ids, settings }: Makers,
  message: MessageInput,
  now: number,
  name: string,
) {
  const minted = yield* ids.mint("msg_")
  const entry = toEntryWithId(settings, message, minted, now, name)
  if (entry instanceof InvalidInput) return yield* Effect.fail(entry)
  const projected: Projected = { entry: measured(settings, entry), isNamed: entry.id !== minted }
  return projected
})

const toCalls = Effect.fnUntraced(function* (usage: unknown) {
  const calls: Array<NewCall> = []
  const given: ReadonlyArray<unknown> = usage === undefined ? [] : Array.isArray(usage) ? usage : [usage]
  for (const [i, one] of given.entries()) {
    const call = toCall(one as UsageInput, Array.isArray(usage) ? `meaning.usage[${i}]` : "meaning.usage")
    if (call instanceof InvalidInput) return yield* Effect.fail(call)
    calls.push(call)
  }
  return calls
})

/** Whose frame it is says the event. */
const isOfTurn = (frame: unknown): boolean =>
  typeof frame !== "object" || frame === null || (!("id" in frame) && !("turn" in frame))

const TurnEventInput = z.strictObject({
  id: Text.check(z.minLength(1), z.maxLength(1_000)),
  sequence: z.int().check(z.positive()),
  epoch: z.int().check(z.positive()),
  data: z.unknown(),
})
const MapperInput = z.custom((mapper) => typeof mapper === "function", "must be a function of an event")
const MeaningInput = z.strictObject({
  settle: z.optional(z.unknown()),
  entries: z.optional(z.array(z.unknown())),
  draft: z.optional(z.unknown()),
  usage: z.optional(z.unknown()),
  frame: z.optional(z.custom<EventFrame>(isOfTurn, "is the event's: leave out id and turn")),
})
