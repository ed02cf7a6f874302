/**
 * Fields: small helpers for reading JSON of a known format, and for carrying what a format says beyond the generic parts.
 *
 * A format keeps its further fields in the metadata of a part or message, under its own name. They are back in place when
 * the same format writes it again; other formats pass them on unread.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import type { Json, JsonArray, JsonObject } from "../../storage/json.ts"
import type { FilePart, GenericMessage, GenericPart, ProviderMetadata, Role, ToolResultPart } from "../dialect.ts"

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const isArray = (value: Json | undefined): value is JsonArray => Array.isArray(value)

export const isString = (value: Json | undefined): value is string => typeof value === "string"

export const isRole = (value: Json | undefined): value is Role =>
  value === "system" || value === "user" || value === "assistant" || value === "tool"

/** An id that an entry can have too. */
export const usableId = (value: Json | undefined): string | undefined =>
  isString(value) && /^[A-Za-z0-9_-]{1,128}$/.test(value) ? value : undefined

/** The object without some of its fields. */
export const without = (object: JsonObject, ...fields: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([field]) => !fields.includes(field)))

const isEmpty = (object: JsonObject): boolean => Object.keys(object).length === 0

/** Metadata made of a provider's own, as a message carries it, and of fields that only `format` knows. */
export const metadata = (
  format: string,
  fields: JsonObject,
  carried?: Json,
): { readonly providerMetadata?: ProviderMetadata } => {
  const owners = isObject(carried) ? Object.entries(carried).filter(isOwner) : []
  if (!isEmpty(fields)) owners.push([format, fields])
  return owners.length === 0 ? {} : { providerMetadata: Object.fromEntries(owners) }
}

const isOwner = (entry: [string, Json]): entry is [string, JsonObject] => isObject(entry[1])

/** The fields that `format` put aside. */
export const ownFields = (from: { readonly providerMetadata?: ProviderMetadata }, format: string): JsonObject =>
  from.providerMetadata?.[format] ?? {}

/** Everybody's metadata but that of the formats named, or `undefined` when there is none. */
export const othersMetadata = (
  from: { readonly providerMetadata?: ProviderMetadata },
  ...formats: ReadonlyArray<string>
): JsonObject | undefined => {
  const others = without(from.providerMetadata ?? {}, ...formats)
  return isEmpty(others) ? undefined : others
}

/** What a file is, and where. */
export type FilePlace = Pick<FilePart, "mime"> & ({ readonly data: string } | { readonly url: string })

/** A file whose place is a URL, or base64 where it is a data URL that says no more than `mime`. */
export const fileAt = (mime: string, url: string): FilePlace => {
  const start = `data:${mime};base64,`
  return url.startsWith(start) ? { mime, data: url.slice(start.length) } : { mime, url }
}

/** The URL of a file: its own, or a data URL. */
export const urlOf = (file: FilePart): string => file.url ?? `data:${file.mime};base64,${file.data}`

/** How a part that a format cannot say is named in a report. */
export const describePart = (part: GenericPart): string => {
  switch (part.type) {
    case "text":
      return "text"
    case "reasoning":
      return "a thought"
    case "file":
      return `a file (${part.mime})`
    case "tool-call":
      return `the call ${part.id}`
    case "tool-result":
      return `the result of call ${part.callId}`
    case "other":
      return `a part that only the format ${part.format} knows`
  }
}

/**
 * The messages of one body that may hold what an assistant said and what tools answered: cut where results of tools begin
 * and end. What a tool says beside its results stays with them.
 */
export const messagesOf = (
  content: ReadonlyArray<GenericPart>,
  said: Role,
  about: Omit<GenericMessage, "role" | "content">,
): ReadonlyArray<GenericMessage> =>
  runsOf(content, said).map((run) => ({ role: roleOf(run, said), content: run, ...about }))

const runsOf = (content: ReadonlyArray<GenericPart>, said: Role): ReadonlyArray<ReadonlyArray<GenericPart>> => {
  if (said === "tool" || !content.some(isToolsResult)) return [content]
  const runs: Array<Array<GenericPart>> = []
  for (const part of content) {
    const run = runs.at(-1)
    if (run !== undefined && run.some(isToolsResult) === isToolsResult(part)) run.push(part)
    else runs.push([part])
  }
  return runs
}

/** Results of a provider's own calls stand in the assistant's message. */
const isToolsResult = (part: GenericPart): boolean => part.type === "tool-result" && part.providerExecuted !== true

/** Only assistants call and only tools answer: a message that does so is theirs whatever it says. */
const roleOf = (content: ReadonlyArray<GenericPart>, said: Role): Role => {
  if (content.some((part) => part.type === "tool-call")) return "assistant"
  return content.length > 0 && content.every((part) => part.type === "tool-result") ? "tool" : said
}

/** The result as text, for formats that have no other. */
export const outputText = ({ output }: ToolResultPart): string => (isString(output) ? output : JSON.stringify(output))

/** The result in the words of a format that can say more of it than others can read; `undefined` where it needs none. */
export const exactIn = ({ exact }: ToolResultPart, format: string): Json | undefined =>
  exact?.format === format ? exact.value : undefined

/** The id of a call as a provider takes it: its own or, where the provider would refuse that, one that is made of it. */
export const acceptedId = (id: string, accepted: RegExp): string =>
  accepted.test(id) ? id : `call_${bytesToHex(sha256(utf8ToBytes(id))).slice(0, 24)}`

/** JSON that is a format's own goes back as it came, as whatever the format takes it for. */
export const asRead = <T>(value: Json): T => value as unknown as T
