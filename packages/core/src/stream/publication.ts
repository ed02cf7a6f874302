/**
 * What hosts publish: checked, and copied as text.
 */
import * as z from "zod/mini"
import { isId, unfitId } from "../id.ts"
import { jsonProblem, parseInput, Text } from "../input.ts"
import { InvalidInput } from "../storage/error.ts"
import type { NewFrame } from "./frame.ts"

/** What a host publishes. */
export interface Publication {
  /** Its identity, 1 to 200 characters: while a frame with it is kept, it is published once. Default: a new one. */
  readonly id?: string
  /** Default `runtime-event`. */
  readonly kind?: "runtime-event" | "action-required"
  /** The turn that it is of. Absent: it is of the session. */
  readonly turn?: string
  /** Of a delta: the message that it is a part of, and where in it. */
  readonly entry?: string
  readonly offset?: number
  readonly data: unknown
}

/** The frame that is published, or what is wrong with it. `name` is what errors call it. */
export const toPublished = (given: Publication, name = "frame"): NewFrame | InvalidInput => {
  const input = parseInput(PublicationInput, given, name)
  if (input instanceof InvalidInput) return input
  const { data, entry, id, kind = "runtime-event", offset, turn } = input
  const wrong =
    unfit(`${name}.turn`, turn) ??
    unfit(`${name}.entry`, entry) ??
    unfitDelta(name, input) ??
    unfitName(`${name}.id`, id) ??
    jsonProblem(data, `${name}.data`)
  return wrong ?? { id, kind, turn, entry, offset, json: JSON.stringify(data) }
}

/** Without checks of its own, which cost more than all else: a frame is checked for each word of an answer. */
const PublicationInput = z.strictObject({
  id: z.optional(z.string()),
  kind: z.optional(z.enum(["runtime-event", "action-required"])),
  turn: z.optional(z.string()),
  entry: z.optional(z.string()),
  offset: z.optional(z.number()),
  data: z.unknown(),
})

const unfit = (field: string, id: string | undefined) => (id === undefined || isId(id) ? undefined : unfitId(field, id))

const Identity = Text.check(z.minLength(1), z.maxLength(200))
const unfitName = (field: string, id: string | undefined): InvalidInput | undefined => {
  const checked = id === undefined ? undefined : parseInput(Identity, id, field)
  return checked instanceof InvalidInput ? checked : undefined
}

const unfitDelta = (name: string, input: z.output<typeof PublicationInput>): InvalidInput | undefined => {
  const { entry, kind, offset } = input
  if (entry === undefined && offset === undefined) return undefined
  const refuse = (field: string, value: unknown, problem: string) => new InvalidInput({ field, value, problem })
  if (entry === undefined || offset === undefined) return refuse(name, input, "must have entry and offset, or neither")
  const isOffset = Number.isSafeInteger(offset) && offset >= 0
  if (!isOffset) return refuse(`${name}.offset`, offset, "must be a whole number from 0 on")
  return kind === "action-required" ? refuse(`${name}.kind`, kind, "must be runtime-event of a delta") : undefined
}
