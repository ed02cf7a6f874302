/**
 * How fast the paths are where users wait, against hand-written code on the same engine. See README.md.
 *
 *   npm run bench                      all rows
 *   npm run bench -- read append       only suites with this in their names
 *   npm run bench -- --quick           fewer rounds, for a first look
 *   npm run bench -- --json rows.json  the rows as JSON too; `--json` alone prints nothing else
 *
 * Exits with 1 where a budget is not kept.
 */
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { holds } from "./row.ts"
import type { Row } from "./row.ts"
import { suites } from "./suites.ts"
import { heading, line } from "./table.ts"

const args = process.argv.slice(2)
const quick = args.includes("--quick")
const json = args.indexOf("--json")
const jsonFile = json >= 0 && args[json + 1]?.endsWith(".json") ? args[json + 1] : undefined
const asked = args.filter((arg) => !arg.startsWith("--") && arg !== jsonFile)
const chosen = suites.filter(({ name }) => asked.length === 0 || asked.some((part) => name.includes(part)))
if (chosen.length === 0) throw new Error(`no such suite; there are: ${suites.map(({ name }) => name).join(", ")}`)

/**
 * The sources are compiled first, as they are for publication. A loader that compiles while it runs adds to every function
 * that is made, which Skein does at each call and the baseline does not: it would be measured with it.
 */
const outfile = fileURLToPath(new URL("dist/run.mjs", import.meta.url))
await build({
  entryPoints: [fileURLToPath(new URL("run.ts", import.meta.url))],
  outfile,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "es2022",
  conditions: ["@skein/source"],
  external: ["effect/*", "zod/*", "@noble/*", "libsql"],
  sourcemap: true,
})

/** A process for each suite: what one leaves behind, compiled code and garbage, is not measured with the next. */
const measure = (name: string): ReadonlyArray<Row> => {
  const { status, stdout } = spawnSync(process.execPath, [outfile, name, ...(quick ? ["quick"] : [])], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  })
  if (status !== 0) throw new Error(`suite ${name} ended with ${status}`)
  return JSON.parse(stdout) as ReadonlyArray<Row>
}

const print = (text: string) => {
  if (json < 0 || jsonFile !== undefined) console.log(text)
}

const rows: Array<Row> = []
print(heading)
for (const { name } of chosen) {
  for (const row of measure(name)) {
    rows.push(row)
    print(line(row))
  }
}

const judged = rows.map((row) => ({ ...row, holds: holds(row) }))
const asJson = JSON.stringify(judged, undefined, 2)
if (jsonFile !== undefined) writeFileSync(jsonFile, `${asJson}\n`)
else if (json >= 0) console.log(asJson)

const broken = judged.filter((row) => !row.holds)
print(
  broken.length === 0
    ? `${rows.length} rows, all within budget`
    : `${rows.length} rows, over budget: ${broken.map(({ name }) => name).join("; ")}`,
)
process.exitCode = broken.length === 0 ? 0 : 1
