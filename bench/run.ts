/**
 * Measures one suite, in a process of its own, and prints its rows as JSON.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Bench } from "./row.ts"
import { suites } from "./suites.ts"

const [name, speed] = process.argv.slice(2)
const suite = suites.find((one) => one.name === name)
if (suite === undefined) throw new Error(`no suite ${name}`)
const quick = speed === "quick"

const directory = mkdtempSync(join(tmpdir(), "skein-bench-"))
const bench: Bench = { directory, quick, rounds: (full) => (quick ? Math.max(10, Math.ceil(full / 10)) : full) }
try {
  console.log(JSON.stringify(await suite.run(bench)))
} finally {
  rmSync(directory, { recursive: true, force: true })
}
