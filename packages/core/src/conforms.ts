/**
 * A quick way to see that a value conforms to a zod schema.
 *
 * Guarantee: `true` means that zod accepts the value as it is. `false` means that zod has to be asked: the value may be
 * wrong, or the schema may do what is not known here. Checking a row this way makes nothing and costs a tenth.
 */
import type * as z from "zod/mini"

type Check = (value: unknown) => boolean

const checks = new WeakMap<object, Check>()

export const conforms = (schema: z.core.$ZodType, value: unknown): boolean => checkOf(schema)(value)

const checkOf = (schema: z.core.$ZodType): Check => {
  const known = checks.get(schema)
  if (known !== undefined) return known
  const check = compile((schema as z.core.$ZodTypes)._zod.def)
  checks.set(schema, check)
  return check
}

const askZod: Check = () => false
const anything: Check = () => true
const isString: Check = (value) => typeof value === "string"
const isNumber: Check = (value) => Number.isFinite(value)
const isBoolean: Check = (value) => typeof value === "boolean"

const optionalString: Check = (value) => value === undefined || isString(value)
const optionalNumber: Check = (value) => value === undefined || isNumber(value)

/** Most fields share these few functions: the fewer there are, the more of them is still at hand. */
const optional = (inner: Check): Check => {
  if (inner === isString) return optionalString
  return inner === isNumber ? optionalNumber : (value) => value === undefined || inner(value)
}

const compile = (def: z.core.$ZodTypes["_zod"]["def"]): Check => {
  if (def.checks !== undefined && def.checks.length > 0) return askZod
  switch (def.type) {
    case "string":
      return "format" in def || def.coerce === true ? askZod : isString
    case "number":
      return "format" in def || def.coerce === true ? askZod : isNumber
    case "boolean":
      return def.coerce === true ? askZod : isBoolean
    case "unknown":
      return anything
    case "enum": {
      const values = new Set<unknown>(Object.values(def.entries))
      return (value) => values.has(value)
    }
    case "literal": {
      const values = new Set<unknown>(def.values)
      return (value) => values.has(value)
    }
    case "optional": {
      const inner = checkOf(def.innerType)
      return inner === anything ? anything : optional(inner)
    }
    case "nullable": {
      const inner = checkOf(def.innerType)
      return (value) => value === null || inner(value)
    }
    case "array": {
      const element = checkOf(def.element)
      return (value) => Array.isArray(value) && value.every(element)
    }
    case "object":
      return compileObject(def)
    default:
      return askZod
  }
}

/** The fields of an object in its own order, and the check of each. */
interface Shape {
  readonly names: ReadonlyArray<string>
  readonly checks: ReadonlyArray<Check>
}

/** How many shapes of one kind of object are remembered: with and without what only some have. */
const manyShapes = 4

/**
 * Objects of one kind mostly have the same fields in the same order: the shapes that were seen last are remembered, so
 * that the next object is checked in one walk over it, without looking anything up.
 */
const compileObject = (def: z.core.$ZodObjectDef): Check => {
  const checks = new Map(Object.entries(def.shape).map(([name, schema]) => [name, checkOf(schema)]))
  const required = [...checks.keys()].filter((name) => !checks.get(name)!(undefined))
  // Without a catch-all zod drops what it does not know from its copy; the value itself is what is used here.
  const other = def.catchall === undefined ? anything : askZod
  const seen: Array<Shape> = []
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false
    const object = value as Record<string, unknown>
    for (let i = 0; i < seen.length; i++) if (fits(object, seen[i]!)) return true
    const names = Object.keys(object)
    const shape = { names, checks: names.map((name) => checks.get(name) ?? other) }
    if (!required.every((name) => Object.hasOwn(object, name)) || !fits(object, shape)) return false
    if (seen.unshift(shape) > manyShapes) seen.pop()
    return true
  }
}

const fits = (object: Readonly<Record<string, unknown>>, { checks, names }: Shape): boolean => {
  let i = 0
  for (const name in object) {
    if (name !== names[i] || !checks[i]!(object[name])) return false
    i++
  }
  return i === names.length
}
