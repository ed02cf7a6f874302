/**
 * Runs laws without a test runner, in Node or in a page.
 */
import * as Effect from "effect/Effect"
import type { Harness, Place, Settings } from "./harness.ts"
import type { Law } from "./law.ts"
import { laws as allLaws } from "./laws/index.ts"
import { select } from "./select.ts"
import { tryLaw } from "./trial.ts"
import type { Result } from "./trial.ts"

export interface Options {
  /** Beginnings of the names of the laws to run. Default: all. One that matches none throws. */
  readonly only?: ReadonlyArray<string>
  /** Default `false`. When true, laws that take seconds and much memory are left out. */
  readonly quick?: boolean
  /** Decides all random choices. Default: a new one each time; failures name it. */
  readonly seed?: number
  /** How many random cases a law tries. Default 200. */
  readonly runs?: number
  /** Default `true`: a random law that is broken looks for a small case that shows it, which may take a while. */
  readonly shrink?: boolean
  /** Milliseconds after which a law has failed; a slow one has three times as long. Default 60,000, and more in proportion where `runs` is over 200. */
  readonly limit?: number
}

/** The laws that the options ask for. */
export const chosen = ({ only, quick = false }: Options, laws: ReadonlyArray<Law> = allLaws): ReadonlyArray<Law> =>
  (only === undefined ? laws : select(laws, only)).filter((law) => !(quick && law.slow))

/** Settings with every default filled in. */
export const trialSettings = (options: Options): Settings => {
  const { runs = 200, seed = Math.floor(Math.random() * 2 ** 31), shrink = true } = options
  const { limit = 60_000 * Math.max(1, runs / 200) } = options
  return { limit, runs, seed, shrink }
}

/**
 * Holds the stores of a harness to the laws, one after another, and answers one result a law, in order. A broken law is
 * a result; only a selector that matches nothing rejects.
 *
 * @example
 * const results = await report({ fresh: () => ({ backend: myAdapter({ path: newPath() }) }) })
 * for (const result of results) console.log(result.status, result.law)
 */
export const report = async <P extends Place>(
  harness: Harness<P>,
  options: Options = {},
  laws: ReadonlyArray<Law> = allLaws,
): Promise<ReadonlyArray<Result>> => {
  const settings = trialSettings(options)
  return Effect.runPromise(Effect.forEach(chosen(options, laws), (law) => tryLaw(law, harness, settings)))
}
