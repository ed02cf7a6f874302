/**
 * Runs what has to hold in a real browser: the tests of `test/browser`, in Chromium.
 *
 * Says first which browsers are there. Where Chromium is missing and this may be changed (Debian or Ubuntu, as root), it
 * is installed from the distribution's own packages; anywhere else nothing is touched.
 *
 *   npm run browsers                 the tests, also those that `npm test` leaves out for they take long; their figures last
 *   npm run browsers -- --install    only have a browser; for a fresh machine, before `npm test`
 *
 * Exits with 1 when a test fails, or when there is no Chromium to run them in. `--install` alone forgives the latter
 * where nobody asked for the proof, that is, outside CI.
 */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { chromiumPath, installedBrowsers, isCi } from "../test/browser/installed.ts"

const onlyInstall = process.argv.includes("--install")

const run = (command: string, args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}): boolean =>
  spawnSync(command, args, { stdio: "inherit", env: { ...process.env, ...env } }).status === 0

/** Why Chromium cannot be installed here, or `undefined` when it can. */
const installObstacle = (): string | undefined => {
  if (!existsSync("/usr/bin/apt-get")) return "this system has no apt-get"
  if (process.getuid?.() !== 0) return "installing needs root: apt-get install chromium"
  return undefined
}

const install = (): void => {
  const quiet = { DEBIAN_FRONTEND: "noninteractive" }
  // The lists of a fresh machine are empty or old, and an old list names packages that are gone.
  run("apt-get", ["update", "-qq"], quiet)
  run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "chromium"], quiet)
}

if (chromiumPath() === undefined) {
  const obstacle = installObstacle()
  if (obstacle === undefined) install()
  else console.log(`Chromium is missing and stays so: ${obstacle}`)
}
for (const { name, path } of installedBrowsers()) console.log(`${name.padEnd(10)} ${path ?? "not installed"}`)

if (chromiumPath() === undefined) {
  console.log("no Chromium: nothing can be proved about a browser")
  process.exitCode = onlyInstall && !isCi() ? 0 : 1
} else if (!onlyInstall) {
  process.exitCode = run("npx", ["vitest", "run", "--project", "test", "test/browser"], { SKEIN_THOROUGH: "1" }) ? 0 : 1
}
