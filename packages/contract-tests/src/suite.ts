/**
 * The laws as vitest tests.
 */
import * as Effect from "effect/Effect"
import { describe, test } from "vitest"
import { obstacle } from "./harness.ts"
import type { Harness, Place } from "./harness.ts"
import type { Law } from "./law.ts"
import { laws as allLaws } from "./laws/index.ts"
import { chosen, trialSettings } from "./report.ts"
import type { Options } from "./report.ts"
import { limitOf, tryLaw } from "./trial.ts"

interface Environment {
  readonly process?: { readonly env: Readonly<Record<string, string | undefined>> }
}

/** `SKEIN_SEED` repeats a run, `SKEIN_RUNS` makes random laws try more cases. */
const fromEnvironment = (): Options => {
  const env = (globalThis as Environment).process?.env ?? {}
  return {
    ...(env["SKEIN_SEED"] !== undefined && { seed: Number(env["SKEIN_SEED"]) }),
    ...(env["SKEIN_RUNS"] !== undefined && { runs: Number(env["SKEIN_RUNS"]) }),
  }
}

/**
 * Registers one test a law. A law that does not apply is registered as skipped, with the reason in its title.
 *
 * @example
 * suite("my adapter", { fresh: () => ({ backend: myAdapter({ path: newPath() }) }) })
 */
export const suite = <P extends Place>(
  name: string,
  harness: Harness<P>,
  options: Options = {},
  laws: ReadonlyArray<Law> = allLaws,
): void => {
  const asked = { ...options, ...fromEnvironment() }
  const settings = trialSettings(asked)
  describe(`the contract on ${name}`, () => {
    for (const law of chosen(asked, laws)) {
      const reason = obstacle(law, harness)
      const register = reason === undefined ? test : test.skip
      const title = reason === undefined ? law.name : `${law.name} [${reason}]`
      register(title, { timeout: limitOf(law, settings) + 5_000 }, async ({ skip }) => {
        const result = await Effect.runPromise(tryLaw(law, harness, settings))
        if (result.status === "not applicable") skip(result.reason)
        if (result.status === "failed") throw result.error
      })
    }
  })
}
