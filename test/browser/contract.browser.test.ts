/**
 * The contract of every adapter and the checks of the port, in a page of Chromium.
 */
import { laws } from "@skein/contract-tests"
import type { Law } from "@skein/contract-tests"
import { beforeAll, describe, expect, it } from "vitest"
import type { Page } from "playwright-core"
import { portChecks } from "../port/checks.ts"
import { seedOfRun } from "../port/seed.ts"
import { inChromium } from "./chromium.ts"
import type { Browser } from "./chromium.ts"

const seed = seedOfRun()
/** What a page can do to a store besides opening it. */
const offered = ["damage", "picture"]
/** Whether all that takes long is tried, too. */
const isThorough = process.env["SKEIN_THOROUGH"] !== undefined

inChromium("indexeddb, in Chromium", (browser) => {
  describe("the contract", () => {
    const page = pageOf(browser)
    for (const law of laws) {
      const { name } = law
      const reason = obstacle(law)
      it.skipIf(reason !== undefined)(`${name}${reason === undefined ? "" : ` [${reason}]`}`, async ({ skip }) => {
        const options = { seed, runs: 20 }
        const { broken, notApplicable } = await page().evaluate(([law, options]) => skein.contractTrial(law, options), [
          name,
          options,
        ] as const)
        if (notApplicable !== undefined) skip(notApplicable)
        expect(broken).toBeUndefined()
      })
    }
  })

  describe.each([
    ["the port", false],
    ["the port where a browser cannot read backwards in bulk", true],
  ])("%s", (_title, forwardOnly) => {
    const page = pageOf(browser)
    for (const { name } of portChecks(seed)) {
      it(`${name}`, async () => {
        const options = { forwardOnly, seed }
        const trial = await page().evaluate(([check, options]) => skein.portTrial(check, options), [
          name,
          options,
        ] as const)
        expect(trial).toBeUndefined()
      })
    }
  })
})

/** Why a law is not tried in a page. */
const obstacle = ({ needs, slow }: Law): string | undefined => {
  const missing = needs.filter((need) => !offered.includes(need))
  if (missing.length > 0) return `not applicable: the page has no ${missing.join(", no ")}`
  return slow && !isThorough ? "slow: npm run browsers tries it" : undefined
}

/** A page for the tests of one group. */
const pageOf = (browser: Browser) => {
  let page: Page
  beforeAll(async () => {
    page = await browser.open()
  }, 60_000)
  return () => page
}
