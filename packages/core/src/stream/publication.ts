/**
 * What hosts publish: checked, and copied as text.
 */
import * as z from "zod/mini"
import { isId } from "../id.ts"
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
export const toPublished = (given: Publication, name = "frame"): Omit<NewFrame, "createdAt"> | InvalidInput => {
  const input = parseInput(PublicationInput, given, name)
  if (input instanceof InvalidInput) return input
  const problem = jsonProblem(input.data, `${name}.data`)
  if (problem !== undefined) return problem
  const { data, kind = "runtime-event", ...frame } = input
  return { ...frame, kind, json: JSON.stringify(data) }
}

const Id = z.string().check(z.refine(isId, "must be 1 to 128 characters of A–Z, a–z, 0–9, _ and -"))

const PublicationInput = z
  .strictObject({
    id: z.optional(Text.check(z.minLength(1), z.maxLength(200))),
    kind: z.optional(z.enum(["runtime-event", "action-required"])),
    turn: z.optional(Id),
    entry: z.optional(Id),
    offset: z.optional(z.int().check(z.nonnegative())),
    data: z.unknown(),
  })
  .check(
    z.refine(
      ({ entry, offset }) => (entry === undefined) === (offset === undefined),
      "must have entry and offset, or neither",
    ),
    z.refine(
      ({ entry, kind }) => entry === undefined || kind !== "action-required",
      "must be a runtime-event to be a delta",
    ),
  )
