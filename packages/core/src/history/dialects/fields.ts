/**
 * Fields: small helpers for reading JSON of a known format, and for carrying what a format says beyond the generic parts.
 *
 * A format keeps its further fields in the metadata of a part or message, under its own name. They are back in place when
 * the same format writes it again; other formats pass them on unread.
 */
import type { Json, JsonArray, JsonObject } from "../../storage/json.ts"
import type { FilePart, GenericPart, ProviderMetadata, Role } from "../dialect.ts"

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

/** A file whose place is a URL, or base64 where it is a data URL that says no more than `mime`. */
export const fileAt = (mime: string, url: string): Pick<FilePart, "mime"> & ({ data: string } | { url: string }) => {
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
