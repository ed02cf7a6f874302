/**
 * What opencode's JSON is read with: nothing in it is taken for granted.
 */
import type { Json, JsonObject } from "@skein/core/storage"

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The object in a field, or an empty one. */
export const objectIn = (from: JsonObject, field: string): JsonObject => {
  const value = from[field]
  return isObject(value) ? value : {}
}

/** The text in a field, if it is text and not empty. */
export const textIn = (from: JsonObject, field: string): string | undefined => {
  const value = from[field]
  return typeof value === "string" && value !== "" ? value : undefined
}

/** Those of the fields that are there. */
export const pick = (from: JsonObject, ...fields: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(
    fields.flatMap((field): ReadonlyArray<[string, Json]> => {
      const value = from[field]
      return value === undefined || value === null ? [] : [[field, value]]
    }),
  )

/** Milliseconds since 1970, whole and not negative; `undefined` where it is no time. */
export const timeOf = (value: Json | undefined): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(Math.trunc(value)) && value >= 0 ? Math.trunc(value) : undefined

/** The JSON object in a text, or in words why there is none. */
export const parseObject = (text: string): JsonObject | string => {
  try {
    const value = JSON.parse(text) as Json
    return isObject(value) ? value : "is no JSON object"
  } catch {
    return "is not JSON"
  }
}
