/**
 * From a message as a caller gives it to an entry as it is stored.
 *
 * Guarantee: bodies are stored exactly as they were given; a property that is `undefined` counts as absent. The dialect is
 * asked who speaks and what a person would read, and never changes a body.
 */
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { problemInFiles } from "../attachment/files.ts"
import { isId, unfitId } from "../id.ts"
import type { Ids } from "../id.ts"
import { jsonProblem, parseInput } from "../input.ts"
import { previewOf } from "../session/preview.ts"
import type { SkeinSettings } from "../settings.ts"
import { InvalidInput } from "../storage/error.ts"
import { copyJson } from "../storage/json.ts"
import type { Json } from "../storage/json.ts"
import { Format, Role } from "./model.ts"
import { measured } from "./large.ts"
import { isPrompt } from "./placement.ts"
import type { NewEntry } from "./placement.ts"
import { asked, textOf } from "./text.ts"

/**
 * A message to append. `body` is both shown and replayed; `display` alone is never replayed, `model` alone is never
 * shown; `display` and `model` together are two pictures of one message.
 */
export const MessageInput = z.strictObject({
  body: z.optional(z.unknown()),
  display: z.optional(z.unknown()),
  model: z.optional(z.unknown()),
  /** Who speaks. Default: what the dialect reads in the body. */
  role: z.optional(Role),
  /** Unique in the conversation's tree. Default: the body's own id where its dialect knows one, else minted. */
  id: z.optional(z.string()),
  /** What the bodies mean. Default: the dialect that the store was opened with. */
  format: z.optional(Format),
  /** Any JSON, kept exactly and never looked into. */
  metadata: z.optional(z.unknown()),
  /** Where it came from, such as `cli` or the name of a channel. */
  source: z.optional(z.string()),
  sourceContext: z.optional(z.unknown()),
  /** What comes with it: files as `attachments.put` gives them, and any JSON of the host's. */
  attachments: z.optional(z.array(z.unknown())),
  /** The turn that it is said for. What a running turn writes belongs to that one. */
  turn: z.optional(z.string()),
  /** When it was said, in milliseconds since 1970. Default: now. */
  createdAt: z.optional(z.number().check(z.int(), z.nonnegative())),
})
export type MessageInput = z.output<typeof MessageInput>

const jsonFields = ["body", "display", "model", "metadata", "sourceContext", "attachments"] as const
const bodyFields = ["body", "display", "model"] as const

/** What entries are made with: the dialects, and the source of ids. */
export interface Makers {
  readonly settings: SkeinSettings
  readonly ids: typeof Ids.Service
}

/**
 * Checks a message and makes it an entry. `name` is what errors call it.
 *
 * Plain code but for the id: one effect a check would cost an append more than all the checks.
 */
export const toEntry = (
  { ids, settings }: Makers,
  input: MessageInput,
  now: number,
  name: string,
): Effect.Effect<NewEntry, InvalidInput> => {
  const checked = checkMessage(settings, input, name)
  if (checked instanceof InvalidInput) return Effect.fail(checked)
  const { id, message, role } = checked
  const made = (own: string) => measured(settings, entryOf(settings, message, own, role, now))
  return id === undefined ? Effect.map(ids.mint("msg_"), made) : Effect.succeed(made(id))
}

/** As `toEntry`, at once, and not measured: `id` is the entry's where the message says none. */
export const toEntryWithId = (
  settings: SkeinSettings,
  input: MessageInput,
  id: string,
  now: number,
  name: string,
): NewEntry | InvalidInput => {
  const checked = checkMessage(settings, input, name)
  if (checked instanceof InvalidInput) return checked
  return entryOf(settings, checked.message, checked.id ?? id, checked.role, now)
}

interface CheckedMessage {
  readonly message: MessageInput
  /** Its own, or what the dialect reads in the body. */
  readonly id: string | undefined
  readonly role: Role
}

const checkMessage = (settings: SkeinSettings, input: MessageInput, name: string): CheckedMessage | InvalidInput => {
  const message = parseInput(MessageInput, input, name)
  if (message instanceof InvalidInput) return message
  const problem =
    problemInBodies(message, name) ?? problemInFiles(settings.limits, message.attachments ?? [], `${name}.attachments`)
  if (problem !== undefined) return problem
  const dialectName = message.format?.dialect ?? settings.dialect.name
  const dialect = settings.dialects.get(dialectName)
  const body = (message.body ?? message.model ?? message.display) as Json
  const role = message.role ?? asked(() => dialect?.role(body))
  if (role === undefined) {
    const missing = `must be given: ${dialectName} does not see in the body who speaks`
    return new InvalidInput({ field: `${name}.role`, value: undefined, problem: missing })
  }
  const unfit = (["id", "turn"] as const).find((field) => message[field] !== undefined && !isId(message[field]))
  if (unfit !== undefined) return unfitId(`${name}.${unfit}`, message[unfit])
  return { message, role, id: message.id ?? asked(() => dialect?.id?.(body)) }
}

const entryOf = (settings: SkeinSettings, message: MessageInput, id: string, role: Role, now: number): NewEntry => {
  const entry: NewEntry = {
    id,
    kind: "message",
    role,
    createdAt: message.createdAt ?? now,
    format: message.format ?? { dialect: settings.dialect.name, version: settings.dialect.version },
  }
  // Copied at once: what the caller does with its message afterwards is its own affair.
  for (const field of jsonFields) if (message[field] !== undefined) copyField(entry, message, field)
  if (entry.attachments?.length === 0) delete entry.attachments
  if (message.source !== undefined) entry.source = message.source
  if (message.turn !== undefined) entry.turn = message.turn
  if (isPrompt(entry)) entry.preview = previewOf(textOf(settings, entry))
  return entry
}

const copyField = <Field extends (typeof jsonFields)[number]>(to: NewEntry, from: MessageInput, field: Field): void => {
  to[field] = copyJson(from[field]) as NewEntry[Field]
}

/** What is wrong with the bodies of a message, and with whatever else in it is free JSON. */
const problemInBodies = (message: MessageInput, name: string): InvalidInput | undefined => {
  const { body, display, model } = message
  const refuse = (field: string, value: unknown, problem: string) =>
    new InvalidInput({ field: `${name}.${field}`, value, problem })
  if (body === undefined && display === undefined && model === undefined) {
    return refuse("body", undefined, "must be given, or display, or model")
  }
  if (body !== undefined && (display !== undefined || model !== undefined)) {
    return refuse("body", body, "is both display and model: give either it or those")
  }
  for (const field of jsonFields) {
    if (message[field] === undefined) continue
    const problem = jsonProblem(message[field], `${name}.${field}`)
    if (problem !== undefined) return problem
  }
  const empty = bodyFields.find((field) => message[field] === null)
  return empty && refuse(empty, null, "must not be null: leave it out")
}
