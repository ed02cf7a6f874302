/**
 * What only a real browser can do to a store: several tabs, quotas, clearing, crashes and damaged files.
 */
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "vitest"
import type { Page } from "playwright-core"
import { inChromium } from "./chromium.ts"

const openStore = (page: Page, name: string, version = 1) =>
  page.evaluate(([name, version]) => skein.openStore(name, version), [name, version] as const)
const appendRows = (page: Page, count: number, name: string) =>
  page.evaluate(([count, name]) => skein.appendRows(count, name), [count, name] as const)
const storedRows = (page: Page) => page.evaluate(() => skein.storedRows())
/** What `storedRows` answers when `count` rows were appended and none was lost. */
const dense = (count: number) => ({ numbers: Array.from({ length: count }, (_, n) => n + 1), next: count + 1 })

/** Overwrites the files that say where everything else is. */
const damage = (directory: string): void => {
  for (const database of readdirSync(directory).filter((name) => name.endsWith(".leveldb"))) {
    for (const file of readdirSync(join(directory, database))) {
      if (/^(CURRENT|MANIFEST)/.test(file)) writeFileSync(join(directory, database, file), "damaged")
    }
  }
}

inChromium("a store in IndexedDB, in Chromium", (browser) => {
  it("STO-02, A32 two tabs that append at the same time share one dense sequence", async () => {
    const tabs = [await browser.open(), await browser.open()]
    for (const tab of tabs) assert.strictEqual(await openStore(tab, "two tabs"), "done")
    await Promise.all(tabs.map((tab, n) => appendRows(tab, 100, `tab ${n}`)))
    for (const tab of tabs) assert.deepStrictEqual(await storedRows(tab), dense(200))
  })

  it("STO-08 a tab with newer code upgrades at once; the older tab is closed, and refused when it opens again", async () => {
    const [older, newer] = [await browser.open(), await browser.open()]
    assert.strictEqual(await openStore(older, "upgraded"), "done")
    await appendRows(older, 3, "in time")
    assert.strictEqual(await openStore(newer, "upgraded", 2), "done")
    assert.strictEqual(await appendRows(older, 1, "too late"), "Closed")
    assert.strictEqual(await storedRows(older), "Closed")
    assert.strictEqual(await openStore(older, "upgraded"), "VersionMismatch")
    assert.deepStrictEqual(await storedRows(newer), dense(3))
  })

  it("STO-07 a store that is cleared while it is open fails with Closed, and opens again empty", async () => {
    const page = await browser.open()
    await openStore(page, "cleared")
    await appendRows(page, 3, "before")
    await browser.clearStorage(page)
    assert.strictEqual(await appendRows(page, 1, "after"), "Closed")
    assert.strictEqual(await openStore(page, "cleared"), "done")
    assert.deepStrictEqual(await storedRows(page), dense(0))
  })

  it("STO-07 a store whose files were damaged is reported as Reset once, and then opens empty", async () => {
    const page = await browser.open()
    await openStore(page, "damaged")
    await appendRows(page, 3, "before")
    await browser.crash((profile) => damage(join(profile, "Default", "IndexedDB")))
    const again = await browser.open()
    assert.strictEqual(await openStore(again, "damaged"), "Reset")
    assert.strictEqual(await openStore(again, "damaged"), "done")
    assert.deepStrictEqual(await storedRows(again), dense(0))
  })

  it.each(["relaxed", "strict"] as const)(
    "STO-04 nothing that was acknowledged is lost when the browser is killed while appending, %s",
    async (durability) => {
      const page = await browser.open()
      await openStore(page, durability)
      const acknowledged = await appendingUntil(page, 200, durability)
      await browser.crash()
      const again = await browser.open()
      await openStore(again, durability)
      const found = await storedRows(again)
      if (typeof found === "string") assert.fail(found)
      assert.isAtLeast(found.numbers.length, acknowledged())
      assert.deepStrictEqual(found, dense(found.numbers.length))
    },
  )
})

inChromium("a store in IndexedDB with little room, in Chromium", (browser) => {
  it("STO-07, A29 a full store refuses with Full, keeps what it has, and goes on when there is room", async () => {
    const page = await browser.open()
    // Once the origin has a database, Chromium looks at the limit only every half minute.
    await page.evaluate("limitStorage(8 * 1024 * 1024)")
    await openStore(page, "full")
    const { refusal, stored } = await page.evaluate(() => skein.fillStore())
    assert.strictEqual(refusal, "Full")
    assert.isAbove(stored, 0)
    assert.deepStrictEqual(await storedRows(page), dense(stored))
    await page.evaluate("limitStorage()")
    assert.strictEqual(await appendRows(page, 1, "there is room"), "done")
    assert.deepStrictEqual(await storedRows(page), dense(stored + 1))
  })
})

/** Has a page append until `count` rows are acknowledged, and go on. Answers how many are, at the time of asking. */
const appendingUntil = (page: Page, count: number, durability: "relaxed" | "strict"): Promise<() => number> =>
  new Promise((resolve, reject) => {
    let acknowledged = 0
    const acknowledge = (n: number) => {
      acknowledged = n
      if (n === count) resolve(() => acknowledged)
    }
    page
      .exposeFunction("acknowledge", acknowledge)
      .then(() => page.evaluate((durability) => skein.appendUntilKilled(durability), durability))
      .catch(reject)
  })
