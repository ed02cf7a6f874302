/**
 * JSON values: the only thing a row is made of.
 *
 * Guarantee: a value that passes `problemIn` is given back by `JSON.parse(JSON.stringify(value))` exactly: every string
 * to the code unit, own keys named `__proto__` included. Negative zero becomes zero. What would be lost or changed on
 * the way (undefined, NaN, dates, class instances, holes, cycles) is a problem with a path.
 */

export type Json = string | number | boolean | null | JsonArray | JsonObject
export type JsonArray = ReadonlyArray<Json>
export interface JsonObject {
  readonly [key: string]: Json
}

/** Why a value is not JSON, and where. */
export interface JsonProblem {
  /** Path from the value, such as `.parts[2].text`; empty for the value itself. */
  readonly path: string
  readonly value: unknown
  readonly problem: string
}

/** Deeper values are refused: engines and `JSON.stringify` recurse. */
export const maxDepth = 500

/** What becomes of a property that is `undefined`: it is a problem, or counts as absent, as for `JSON.stringify`. */
export type OfUndefined = "refused" | "absent"

/** The first thing in `value` that is not JSON, or `undefined` when all of it is. */
export const problemIn = (value: unknown, ofUndefined: OfUndefined = "refused"): JsonProblem | undefined =>
  isJson(value, 0) ? undefined : walk(value, undefined, 0, ofUndefined)

/** Whether all of it is JSON, without remembering the way: almost all values are, and nothing is made for them. */
const isJson = (value: unknown, depth: number): boolean => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true
    case "number":
      return Number.isFinite(value)
    case "object":
      if (value === null) return true
      if (depth >= maxDepth) return false
      return Array.isArray(value) ? isJsonArray(value, depth) : isJsonObject(value as Record<string, unknown>, depth)
    default:
      return false
  }
}

const isJsonArray = (array: ReadonlyArray<unknown>, depth: number): boolean => {
  for (let i = 0; i < array.length; i++) if (!isJson(array[i], depth + 1)) return false
  return true
}

const isJsonObject = (object: Record<string, unknown>, depth: number): boolean => {
  if (!isPlain(object)) return false
  // What is inherited is looked at as well, and then at worst again.
  for (const key in object) {
    const item = object[key]
    if (typeof item !== "string" && typeof item !== "boolean" && !isJson(item, depth + 1)) return false
  }
  return true
}

/** A plain object of another realm has a prototype of its own, whose prototype is null. */
const isPlain = (object: object): boolean => {
  const proto: unknown = Object.getPrototypeOf(object)
  return proto === null || Object.getPrototypeOf(proto) === null
}

/** The way to a value, kept as a chain and only written out when there is a problem. */
interface Path {
  readonly parent: Path | undefined
  readonly step: string | number
}

const walk = (
  value: unknown,
  path: Path | undefined,
  depth: number,
  ofUndefined: OfUndefined,
): JsonProblem | undefined => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined
    case "number":
      return Number.isFinite(value) ? undefined : report(path, value, "must be a finite number")
    case "object":
      if (value === null) return undefined
      if (depth >= maxDepth) return report(path, value, `must not nest deeper than ${maxDepth} levels`)
      return Array.isArray(value)
        ? walkArray(value, path, depth, ofUndefined)
        : walkObject(value, path, depth, ofUndefined)
    default:
      return report(path, value, `must be JSON, not ${typeof value}`)
  }
}

const walkArray = (
  array: ReadonlyArray<unknown>,
  path: Path | undefined,
  depth: number,
  ofUndefined: OfUndefined,
): JsonProblem | undefined => {
  for (let i = 0; i < array.length; i++) {
    const item = array[i]
    if (typeof item === "string") continue
    const problem = walk(item, { parent: path, step: i }, depth + 1, ofUndefined)
    if (problem !== undefined) return problem
  }
  return undefined
}

const walkObject = (
  object: object,
  path: Path | undefined,
  depth: number,
  ofUndefined: OfUndefined,
): JsonProblem | undefined => {
  if (!isPlain(object)) {
    return report(path, object, `must be a plain object, not ${object.constructor?.name || "an instance"}`)
  }
  for (const key of Object.keys(object)) {
    const item = (object as Record<string, unknown>)[key]
    if (typeof item === "string" || (item === undefined && ofUndefined === "absent")) continue
    const problem = walk(item, { parent: path, step: key }, depth + 1, ofUndefined)
    if (problem !== undefined) return problem
  }
  return undefined
}

const report = (path: Path | undefined, value: unknown, problem: string): JsonProblem => {
  let text = ""
  for (let at = path; at !== undefined; at = at.parent) {
    text = (typeof at.step === "number" ? `[${at.step}]` : `.${at.step}`) + text
  }
  return { path: text, value, problem }
}

/** A copy that shares nothing with a value that is JSON; a property that is `undefined` is left out. */
export const copyJson = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(copyJson)
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const item = copyJson((value as Record<string, unknown>)[key])
    if (item === undefined) continue
    if (key === "__proto__") Object.defineProperty(copy, key, { value: item, ...ownData })
    else copy[key] = item
  }
  return copy
}

const ownData = { enumerable: true, configurable: true, writable: true }
