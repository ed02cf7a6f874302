/**
 * Chromium without a window, with a profile that lasts as long as the test.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { chromium } from "playwright-core"
import type { BrowserContext } from "playwright-core"
import { chromiumPath } from "./installed.ts"

export interface Profile {
  readonly directory: string
  readonly remove: () => Promise<void>
}

export const makeProfile = async (): Promise<Profile> => {
  const directory = await mkdtemp(join(tmpdir(), "skein-chromium-"))
  return { directory, remove: () => rm(directory, { recursive: true, force: true, maxRetries: 5 }) }
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

/** Starts a browser on a profile. A context that is not persistent would keep IndexedDB in memory. */
export const launch = (profile: Profile): Promise<BrowserContext> => {
  const executablePath = chromiumPath()
  if (executablePath === undefined) throw new Error("Chromium is not installed: npm run browsers")
  return chromium.launchPersistentContext(profile.directory, { executablePath, headless: true, args: flags })
}
