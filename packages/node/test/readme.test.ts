import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import { afterAll, expect, it } from "vitest"

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8")
// Inside the package, so that it knows itself by its name.
const directory = join(import.meta.dirname, "readme-run")
afterAll(() => rmSync(directory, { recursive: true, force: true }))

it("API-01 the example of the README runs, and prints what it says", { timeout: 60_000 }, () => {
  const [, code, prints] = /^```ts\n([^]*?)^```\n\n```text\n([^]*?)^```$/m.exec(readme)!
  mkdirSync(directory, { recursive: true })
  const file = join(directory, "example.mts")
  writeFileSync(file, code!)
  const options = ["--import", "tsx", "-C", "@skein/source", file]
  const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined }
  expect(execFileSync(process.execPath, options, { encoding: "utf8", env })).toBe(prints)
})
