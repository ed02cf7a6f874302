/**
 * Everything that belongs before a commit, one step after the other, with the time each took. What a step prints is shown
 * where it fails; of the others the last line. All steps run, so that one look shows all that is wrong.
 *
 *   npm run check
 *   npm run check -- lint types    only these
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

interface Step {
  readonly name: string
  readonly commands: ReadonlyArray<string>
}

const packages = readdirSync("packages").map((name) => `packages/${name}`)
const tarballs = mkdtempSync(join(tmpdir(), "skein-check-"))

/** A command for every package's tarball, as a registry would hand it out. */
const eachTarball = (command: (tarball: string) => string): ReadonlyArray<string> => [
  `npm pack --workspaces --silent --pack-destination ${tarballs}`,
  ...packages.map((directory) => command(`${tarballs}/skein-${directory.slice("packages/".length)}-*.tgz`)),
]

const steps: ReadonlyArray<Step> = [
  { name: "lint", commands: ["npm run -s lint"] },
  { name: "format", commands: ["oxfmt --check"] },
  { name: "build", commands: ["npm run -s build"] },
  { name: "types", commands: ["npm run -s types"] },
  { name: "publint", commands: eachTarball((tarball) => `publint ${tarball} --strict`) },
  { name: "attw", commands: eachTarball((tarball) => `attw ${tarball} --profile esm-only --quiet`) },
  { name: "knip", commands: ["knip --no-config-hints"] },
  { name: "spec", commands: ["npm run -s spec"] },
  // Growth shows here. The budget of a whole page is `npm run size`: it is not kept yet, and would hide all else.
  { name: "size", commands: ["size-limit --silent"] },
  { name: "packaging", commands: ["vitest run --config test/packaging/vitest.config.ts"] },
  { name: "test", commands: ["npm run -s test"] },
]

const run = (command: string) => {
  const { status, stdout, stderr } = spawnSync(command, {
    shell: true,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
    maxBuffer: 1 << 28,
  })
  return {
    passed: status === 0,
    output: `${stderr}${stdout}`.trimEnd(),
    lastLine: stdout.trimEnd().split("\n").at(-1) ?? "",
  }
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !steps.some((step) => step.name === name))
if (unknown.length > 0) throw new Error(`no such step: ${unknown.join(", ")}`)

const start = performance.now()
const failed: Array<string> = []
for (const { name, commands } of steps.filter((step) => asked.length === 0 || asked.includes(step.name))) {
  const stepStart = performance.now()
  const results = commands.map(run)
  const seconds = ((performance.now() - stepStart) / 1000).toFixed(1)
  const broken = results.filter((result) => !result.passed)
  for (const { output } of broken) console.log(`\n${output}\n`)
  console.log(
    `${broken.length === 0 ? "ok    " : "FAILED"} ${name.padEnd(10)} ${seconds.padStart(6)} s   ${results.at(-1)?.lastLine}`,
  )
  if (broken.length > 0) failed.push(name)
}
rmSync(tarballs, { recursive: true })

const total = ((performance.now() - start) / 1000).toFixed(1)
console.log(failed.length === 0 ? `all passed in ${total} s` : `failed in ${total} s: ${failed.join(", ")}`)
process.exitCode = failed.length === 0 ? 0 : 1
