/**
 * Which requirements have a test.
 *
 * `docs/spec.md` and `docs/cases.md` give the identifiers, the titles of the tests name those they prove, and
 * `docs/pending.json` lists the ones that have no test yet. The list may only shrink: an identifier with a test must have
 * left it, one without must still be on it, and none may come back.
 *
 *   npm run spec              check, print what is missing, exit 1 where the list is wrong
 *   npm run spec -- --write   first take those off the list that have a test by now
 */
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"

const pendingFile = "docs/pending.json"

const identifier = String.raw`(?:[A-Z]{3}-\d{2}|A\d{2})`

/** A string that begins with identifiers and goes on: the title of a test. */
const title = new RegExp(String.raw`["'\x60](${identifier}(?:(?:, | and | )${identifier})*)[ :,]`, "g")

/** A test that does not run, or is expected to fail, proves nothing. */
const proofless = /\.(?:skip|todo|fails)\b[^\n]{0,40}\(\s*$/

const comment = /^\s*(?:\/\/|\*|\/\*)/

/** The identifiers a specification defines: `- STO-01 …` in one, `### A01 · …` in the other, in their order. */
const defined = (specification: string, cases: string): ReadonlyArray<string> => [
  ...Array.from(specification.matchAll(/^- ([A-Z]{3}-\d{2}) /gm), (match) => match[1]!),
  ...Array.from(cases.matchAll(/^### (A\d{2}) /gm), (match) => match[1]!),
]

/** The identifiers that the titles in a test file name. */
const cited = (source: string): ReadonlyArray<string> => {
  const code = source
    .split("\n")
    .filter((line) => !comment.test(line))
    .join("\n")
  return Array.from(code.matchAll(title))
    .filter((match) => !proofless.test(code.slice(0, match.index)))
    .flatMap((match) => match[1]!.match(new RegExp(identifier, "g")) ?? [])
}

const testFiles = (): ReadonlyArray<string> =>
  ["packages", "test"]
    .flatMap((root) => readdirSync(root, { recursive: true, encoding: "utf8" }).map((file) => join(root, file)))
    .filter((file) => file.endsWith(".ts") && !/(?:^|\/)(?:node_modules|dist|fixtures)\//.test(file))
    .filter((file) => /^(?:test|packages\/[^/]+\/test|packages\/contract-tests\/src)\//.test(file))

const git = (...args: ReadonlyArray<string>): string | undefined => {
  try {
    return execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
  } catch {
    return undefined
  }
}

/**
 * The list and the specification as they last were: at HEAD where the list has been edited since, otherwise before the
 * commit that last changed it. Undefined outside a repository, in a shallow clone, and for the first version.
 */
const before = (now: string) => {
  const head = git("show", `HEAD:${pendingFile}`)
  const commit = head !== now ? "HEAD" : `${git("log", "-1", "--format=%H", "--", pendingFile)?.trim()}~`
  const at = (file: string) => git("show", `${commit}:${file}`)
  const list = at(pendingFile)
  return list === undefined
    ? undefined
    : {
        pending: JSON.parse(list) as ReadonlyArray<string>,
        known: defined(at("docs/spec.md") ?? "", at("docs/cases.md") ?? ""),
      }
}

const { values: options } = parseArgs({ options: { write: { type: "boolean", default: false } } })

const identifiers = defined(readFileSync("docs/spec.md", "utf8"), readFileSync("docs/cases.md", "utf8"))
const proofs = new Map<string, Set<string>>()
for (const file of testFiles()) {
  for (const id of cited(readFileSync(file, "utf8"))) {
    proofs.set(id, (proofs.get(id) ?? new Set()).add(file))
  }
}

if (options.write) {
  const listed: ReadonlyArray<string> = JSON.parse(readFileSync(pendingFile, "utf8"))
  const rest = listed.filter((id) => !proofs.has(id))
  writeFileSync(pendingFile, `${JSON.stringify(rest, null, 2)}\n`)
}

const pendingText = readFileSync(pendingFile, "utf8")
const pending: ReadonlyArray<string> = JSON.parse(pendingText)
const earlier = before(pendingText)

const problems = [
  ...[...proofs]
    .filter(([id]) => !identifiers.includes(id))
    .map(([id, files]) => `${id} is named by ${[...files].join(", ")} and defined nowhere`),
  ...pending.filter((id) => !identifiers.includes(id)).map((id) => `${id} is pending and defined nowhere`),
  ...pending
    .filter((id) => proofs.has(id))
    .map((id) => `${id} has a test (${[...proofs.get(id)!].join(", ")}): take it off ${pendingFile}`),
  ...identifiers
    .filter((id) => !proofs.has(id) && !pending.includes(id))
    .map((id) => `${id} has no test and is not pending`),
  ...pending
    .filter((id) => earlier !== undefined && earlier.known.includes(id) && !earlier.pending.includes(id))
    .map((id) => `${id} had left ${pendingFile} and may not come back`),
]

const group = (id: string) => (id.includes("-") ? id.slice(0, 3) : "A")
for (const name of new Set(identifiers.map(group))) {
  const members = identifiers.filter((id) => group(id) === name)
  const missing = members.filter((id) => !proofs.has(id))
  const without = missing.length === 0 ? "" : `  without a test: ${missing.map((id) => id.slice(-2)).join(" ")}`
  console.log(`${name.padEnd(4)}${String(members.length - missing.length).padStart(3)} of ${members.length}${without}`)
}
for (const problem of problems) console.log(`wrong: ${problem}`)
console.log(
  `${identifiers.length} identifiers, ${identifiers.filter((id) => proofs.has(id)).length} with a test, ` +
    `${pending.length} pending, ${problems.length} wrong`,
)
process.exitCode = problems.length === 0 ? 0 : 1
