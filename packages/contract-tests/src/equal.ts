/**
 * Deep equality of rows and answers, with a message that says where they differ.
 */

/** Something is not as a law says. */
export class Difference extends Error {
  override readonly name = "Difference"
}

/**
 * Throws unless `actual` and `expected` are alike: arrays in order, objects by own keys, bytes by content. `what` says
 * what was compared; as a function it is asked only when it is needed.
 */
export const equal = (actual: unknown, expected: unknown, what: string | (() => string) = "the answer"): void => {
  const found = difference(actual, expected, "")
  if (found === undefined) return
  const at = found.path === "" ? "" : ` at ${found.path}`
  const name = typeof what === "string" ? what : what()
  throw new Difference(`${name}${at} is ${show(found.actual)} and should be ${show(found.expected)}`)
}

/** Throws unless the condition holds. */
export const check = (condition: boolean, problem: string): void => {
  if (!condition) throw new Difference(problem)
}

interface Found {
  readonly path: string
  readonly actual: unknown
  readonly expected: unknown
}

const difference = (actual: unknown, expected: unknown, path: string): Found | undefined => {
  if (Object.is(actual, expected)) return undefined
  const here = { path, actual, expected }
  if (typeof actual !== "object" || typeof expected !== "object" || actual === null || expected === null) return here
  if (kindOf(actual) !== kindOf(expected)) return here
  const left = actual as Record<string, unknown>
  const right = expected as Record<string, unknown>
  const keys = new Set([...Object.keys(left), ...Object.keys(right)])
  for (const key of keys) {
    if (!Object.hasOwn(left, key) || !Object.hasOwn(right, key)) return here
    const step = Array.isArray(actual) ? `[${key}]` : `.${key}`
    const found = difference(left[key], right[key], path + step)
    if (found !== undefined) return found
  }
  return undefined
}

const kindOf = (value: object): string =>
  Array.isArray(value) ? "array" : value instanceof Uint8Array ? "bytes" : "object"

/** A picture of any value, short enough for a message, in which every character can be told. */
export const show = (value: unknown): string => {
  const text = JSON.stringify(value, (_key, one: unknown) => {
    if (typeof one === "number" && (!Number.isFinite(one) || Object.is(one, -0)))
      return Object.is(one, -0) ? "-0" : `${one}`
    if (typeof one === "bigint" || typeof one === "function" || one === undefined) return String(one)
    return one instanceof Uint8Array ? `bytes ${Array.from(one.subarray(0, 32)).join(" ")}` : one
  })
  return text.length > 600 ? `${text.slice(0, 600)}… (${text.length} characters)` : text
}
