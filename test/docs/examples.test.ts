/**
 * The examples of the documentation: each block of TypeScript is run as it stands, and prints what the block of text
 * behind it says. There has to be one.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const guides = join("docs", "guides")
const pages = ["README.md", ...readdirSync(guides).map((name) => join(guides, name))]

interface Example {
  readonly line: number
  readonly code: string
  readonly prints: string | undefined
}

const examplesOf = (page: string): ReadonlyArray<Example> => {
  const text = readFileSync(page, "utf8")
  return Array.from(text.matchAll(/^```ts\n([^]*?)^```\n(?:\n```text\n([^]*?)^```\n)?/gm), (found) => ({
    line: text.slice(0, found.index).split("\n").length,
    code: found[1]!,
    prints: found[2],
  }))
}

let directory: string
// Inside the workspace, so that the packages resolve as they do for the other tests.
beforeAll(() => void (directory = mkdtempSync(join("test", "docs", "run-"))))
afterAll(() => rmSync(directory, { recursive: true }))

it.each(["Skein.open(", "Layer.provide("])("API-01 the README has an example of both faces: %s", (face) => {
  expect(examplesOf("README.md").some(({ code }) => code.includes(face))).toBe(true)
})

describe.each(pages)("%s", (page) => {
  it.each(examplesOf(page))(
    "API-01 the example at line $line runs, and prints what it says",
    async (example) => {
      const file = join(directory, `${basename(page, ".md")}-${example.line}.mts`)
      writeFileSync(file, example.code)
      const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", "-C", "@skein/source", file], {
        env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined },
      })
      expect(stdout).toBe(example.prints)
    },
    30_000,
  )
})
