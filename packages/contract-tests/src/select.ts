/**
 * Which laws to run.
 */
import type { Law } from "./law.ts"

/**
 * The laws whose name begins with one of the selectors, in their order. A selector that matches none is a mistake and
 * throws: what selects nothing must not look like success.
 */
export const select = (laws: ReadonlyArray<Law>, selectors: ReadonlyArray<string>): ReadonlyArray<Law> => {
  for (const selector of selectors) {
    if (!laws.some((law) => law.name.startsWith(selector))) throw new Error(`no law begins with ${selector}`)
  }
  return laws.filter((law) => selectors.some((selector) => law.name.startsWith(selector)))
}
