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

const compile = (def: z.core.$ZodTypes["_zod"]["def"]): Check => {
  if (def.checks !== undefined && def.checks.length > 0) return askZod
  switch (def.type) {
    case "string":
      return "format" in def || def.coerce === true ? askZod : (value) => typeof value === "string"
    case "number":
      return "format" in def || def.coerce === true ? askZod : (value) => Number.isFinite(value)
    case "boolean":
      return def.coerce === true ? askZod : (value) => typeof value === "boolean"
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
      return inner === anything ? anything : (value) => value === undefined || inner(value)
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

interface FieldCheck {
  readonly name: string
  readonly check: Check
  /** Whether it may be absent. */
  readonly optional: boolean
}

const compileObject = (def: z.core.$ZodObjectDef): Check => {
  const fields = Object.entries(def.shape).flatMap(([name, schema]): ReadonlyArray<FieldCheck> => {
    const check = checkOf(schema)
    return check === anything ? [] : [{ name, check, optional: check(undefined) }]
  })
  const known = new Set(Object.keys(def.shape))
  // Without a catch-all zod drops what it does not know from its copy; the value itself is what is used here.
  const admits: Check =
    def.catchall === undefined ? anything : (value) => Object.keys(value as object).every((name) => known.has(name))
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false
    for (const { check, name, optional } of fields) {
      const field = (value as Record<string, unknown>)[name]
      if (field === undefined ? !optional : !check(field)) return false
    }
    return admits(value)
  }
}
