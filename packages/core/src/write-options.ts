/**
 * The options that every writing call takes.
 */
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { checkInput } from "./input.ts"
import type { InvalidInput } from "./storage/error.ts"
import type { TransactOptions } from "./storage/storage.ts"

const WriteOptionsInput = z.strictObject({ durability: z.optional(z.enum(["strict", "relaxed"])) })

export const checkWriteOptions = (options: TransactOptions): Effect.Effect<TransactOptions, InvalidInput> =>
  Effect.as(checkInput(WriteOptionsInput, options, "options"), options)
