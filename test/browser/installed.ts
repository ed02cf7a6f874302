/**
 * Which browsers this machine has, and where. Looked up by path: nothing is started.
 */
import { existsSync } from "node:fs"

export interface InstalledBrowser {
  readonly name: "Chromium" | "Firefox" | "WebKitGTK"
  /** Absent when it is not installed in a place known here. */
  readonly path: string | undefined
}

const places = {
  Chromium: [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  ],
  Firefox: ["/usr/bin/firefox-esr", "/usr/bin/firefox"],
  WebKitGTK: ["/usr/bin/WebKitWebDriver"],
} as const

export const installedBrowsers = (): ReadonlyArray<InstalledBrowser> =>
  (["Chromium", "Firefox", "WebKitGTK"] as const).map((name) => ({
    name,
    path: places[name].find((path) => existsSync(path)),
  }))

/** The Chromium that tests run in; `SKEIN_CHROMIUM` names another executable. */
export const chromiumPath = (): string | undefined =>
  process.env["SKEIN_CHROMIUM"] ?? installedBrowsers().find(({ name }) => name === "Chromium")?.path

/** Whether a missing browser is a failure: there, nobody looks at what was skipped. */
export const isCi = (): boolean => process.env["CI"] !== undefined && process.env["CI"] !== "false"
