/**
 * Public input: checked against a schema before anything else happens.
 *
 * Guarantee: what is wrong is refused with `InvalidInput` that names field and value, and nothing was written.
 */
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { conforms } from "./conforms.ts"
import { InvalidInput } from "./storage/error.ts"
import { problemIn } from "./storage/json.ts"

/** Checks `value`. Fields are named from `name` on: `filter.limit`. */
export const checkInput = <Schema extends z.ZodMiniType>(
  schema: Schema,
  value: unknown,
  name: string,
): Effect.Effect<z.output<Schema>, InvalidInput> => {
  const parsed = parseInput(schema, value, name)
  return parsed instanceof InvalidInput ? Effect.fail(parsed) : Effect.succeed(parsed)
}

/** As `checkInput`, at once: the value, or what is wrong with it. */
export const parseInput = <Schema extends z.ZodMiniType>(
  schema: Schema,
  value: unknown,
  name: string,
): z.output<Schema> | InvalidInput => {
  if (conforms(schema, value)) return value as z.output<Schema>
  const checked = z.safeParse(schema, value)
  if (checked.success) return checked.data
  const issue = checked.error.issues[0]!
  const unknownKey = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined
  const path = [...issue.path, ...(unknownKey === undefined ? [] : [unknownKey])]
  const given = path.reduce<unknown>((at, step) => (at as Record<PropertyKey, unknown> | undefined)?.[step], value)
  return new InvalidInput({ field: [name, ...path].map(String).join("."), value: given, problem: problemOf(issue) })
}

/** What is wrong, in words that end a sentence. */
const problemOf = (issue: z.core.$ZodIssue): string => {
  switch (issue.code) {
    case "unrecognized_keys":
      return "is not a known field"
    case "invalid_type":
      return `must be ${issue.expected}`
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`
    case "too_small":
      return `must be at least ${issue.minimum}`
    case "too_big":
      return `must be at most ${issue.maximum}`
    case "custom":
      return issue.message
    default:
      return `is not valid: ${issue.message}`
  }
}

/**
 * Checks that a value is JSON, and says where it is not. A property that is `undefined` counts as absent, for SDKs spell
 * out what they leave open; it has to be left out of what is stored.
 */
export const checkJson = (value: unknown, name: string): Effect.Effect<void, InvalidInput> => {
  const problem = jsonProblem(value, name)
  return problem === undefined ? Effect.void : Effect.fail(problem)
}

/** As `checkJson`, at once. */
export const jsonProblem = (value: unknown, name: string): InvalidInput | undefined => {
  const found = problemIn(value, "absent")
  return found && new InvalidInput({ field: `${name}${found.path}`, value: found.value, problem: found.problem })
}

/** A NUL, or half of a surrogate pair: what some engines cut or replace. */
const unfit = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

/** Text that people read, such as a title: any characters but those that some engines would change. */
export const Text = z.string().check(z.refine((text) => !unfit.test(text), "must be well-formed text without NUL"))

/** By what it can do, since a signal may be of another realm or library. */
export const isSignal = (value: unknown): boolean => {
  if (typeof value !== "object" || value === null) return false
  const { aborted, addEventListener, throwIfAborted } = value as Partial<AbortSignal>
  return typeof aborted === "boolean" && typeof addEventListener === "function" && typeof throwIfAborted === "function"
}
