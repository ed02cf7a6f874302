/**
 * The options that every writing call takes.
 */
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { checkInput } from "./input.ts"
import type { Durability } from "./storage/backend.ts"
import type { InvalidInput } from "./storage/error.ts"

export interface TransactOptions {
  /** Default `"strict"`. */
  readonly durability?: Durability
}

/** Fields of the options that every writing call takes. */
export const writeFields = { durability: z.optional(z.enum(["strict", "relaxed"])) }

/** Fields of the options of calls that move the head, or rest on where it is. */
export const expectedFields = {
  expectedHead: z.optional(z.nullable(z.string())),
  expectedVersion: z.optional(z.int()),
}

/** What storage is told of the options of a writing call. */
export const writingOf = (durability: Durability | undefined): TransactOptions =>
  durability === undefined ? {} : { durability }

export const WriteOptionsInput = z.strictObject(writeFields)

export const checkWriteOptions = (options: TransactOptions): Effect.Effect<TransactOptions, InvalidInput> =>
  Effect.as(checkInput(WriteOptionsInput, options, "options"), options)
