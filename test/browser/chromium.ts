/**
 * Chromium without a window, on a profile of its own, for the time of a test file.
 */
import { readdirSync, readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { chromium } from "playwright-core"
import type { BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe } from "vitest"
import { bundle } from "./bundle.ts"
import { chromiumPath, isCi } from "./installed.ts"
import { servePage } from "./server.ts"

export interface Browser {
  /** Opens one more page of the origin. All pages share its storage. */
  readonly open: () => Promise<Page>
  /** Ends the browser as a crash would, lets `between` change the profile, and starts it again. */
  readonly crash: (between?: (profile: string) => void | Promise<void>) => Promise<void>
  /** Takes away all that is stored for the origin, as a user or an eviction would. */
  readonly clearStorage: (page: Page) => Promise<void>
}

/**
 * A group of tests in Chromium. Where there is none the group is skipped, and its title says so; on CI it fails.
 */
export const inChromium = (title: string, tests: (browser: Browser) => void): void => {
  const isMissing = chromiumPath() === undefined
  const reason = isMissing ? " [Chromium is not installed: npm run browsers]" : ""
  describe.skipIf(isMissing && !isCi())(`${title}${reason}`, { timeout: 60_000 }, () => {
    let running: Awaited<ReturnType<typeof start>> | undefined
    const current = () => {
      if (running === undefined) throw new Error("the browser was not started")
      return running
    }
    beforeAll(async () => {
      running = await start()
    }, 60_000)
    afterAll(() => running?.stop())
    tests({
      open: () => current().open(),
      crash: (between) => current().crash(between),
      clearStorage: (page) => current().clearStorage(page),
    })
  })
}

const start = async () => {
  const executable = chromiumPath()
  if (executable === undefined) throw new Error("Chromium is not installed: npm run browsers")
  const server = await servePage(await bundle("page/main.ts"))
  const profile = await mkdtemp(join(tmpdir(), "skein-chromium-"))
  const origin = new URL(server.url).origin
  let context = await launch(executable, profile)

  const storageOf = async (page: Page) => {
    // What a session asks for holds until the session ends, so it stays.
    const session = await context.newCDPSession(page)
    return {
      limit: (quotaSize?: number) =>
        session.send("Storage.overrideQuotaForOrigin", { origin, ...(quotaSize !== undefined && { quotaSize }) }),
      clear: () => session.send("Storage.clearDataForOrigin", { origin, storageTypes: "indexeddb" }),
    }
  }

  return {
    open: async () => {
      const page = await context.newPage()
      const { limit } = await storageOf(page)
      await page.exposeFunction("limitStorage", limit)
      await page.goto(server.url)
      return page
    },
    clearStorage: async (page: Page) => {
      await (await storageOf(page)).clear()
    },
    crash: async (between?: (profile: string) => void | Promise<void>) => {
      killAllOf(profile)
      await context.close().catch(() => {})
      // They point to the process that is gone, and a new one would not start beside it.
      for (const lock of ["SingletonLock", "SingletonCookie", "SingletonSocket"])
        await rm(join(profile, lock), { force: true })
      await between?.(profile)
      context = await launch(executable, profile)
    },
    stop: async () => {
      await context.close()
      await server.close()
      await rm(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const flags = [
  // Containers have no user namespaces, and what is opened are our own pages only.
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
]

/** A context that is not persistent would keep IndexedDB in memory. */
const launch = (executablePath: string, profile: string): Promise<BrowserContext> =>
  chromium.launchPersistentContext(profile, { executablePath, headless: true, args: flags })

/** Kills every process of the browser that runs on this profile, all at once. */
const killAllOf = (profile: string): void => {
  for (const entry of readdirSync("/proc")) {
    const pid = Number(entry)
    if (!Number.isInteger(pid)) continue
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8")
      if (command.includes(profile)) process.kill(pid, "SIGKILL")
    } catch {
      // It ended between the listing and now.
    }
  }
}
