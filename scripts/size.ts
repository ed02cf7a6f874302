/**
 * What Skein adds to a page.
 *
 * Two bundles are built in the same run, as a browser build would (esbuild, minified, gzip -9): `test/size/page.ts`, which
 * uses the session and message services on the memory adapter, and a floor that imports from effect and zod exactly the
 * members that the page's bundle uses of them after tree shaking, and nothing else. The difference is ours: it may not
 * exceed the budget. Exits with 1 where it does.
 */
import { gzipSync } from "node:zlib"
import { build } from "esbuild"

/** Of what is ours in the page, in bytes after gzip. */
const budget = 18_000

const libraries = ["effect", "zod"]

const bundle = async (
  input: { readonly file: string } | { readonly source: string },
  external: ReadonlyArray<string>,
) => {
  const { outputFiles } = await build({
    ...("file" in input
      ? { entryPoints: [input.file] }
      : { stdin: { contents: input.source, resolveDir: process.cwd() } }),
    bundle: true,
    write: false,
    minify: external.length === 0,
    format: "esm",
    platform: "browser",
    target: "es2022",
    conditions: ["@skein/source"],
    external: [...external],
    legalComments: "none",
  })
  return outputFiles[0]!.text
}

const gzipped = (code: string) => gzipSync(code, { level: 9 }).byteLength

/**
 * The members of library modules that a bundle uses, read from its text: with the libraries left out, esbuild keeps their
 * imports as they are written, and only what survived tree shaking still refers to them.
 */
const libraryMembers = (code: string): ReadonlyMap<string, ReadonlySet<string>> => {
  const members = new Map<string, Set<string>>()
  const add = (module: string, names: Iterable<string>) => {
    members.set(module, new Set([...(members.get(module) ?? []), ...names]))
  }
  for (const [, name, module] of code.matchAll(/^import \* as (\w+) from "([^"]+)";$/gm)) {
    add(
      module!,
      Array.from(code.matchAll(new RegExp(`\\b${name}\\.(\\w+)`, "g")), ([, member]) => member!),
    )
  }
  for (const [, names, module] of code.matchAll(/^import \{([^}]+)\} from "([^"]+)";$/gm)) {
    add(
      module!,
      names!.split(",").map((name) => name.trim().split(" ")[0]!),
    )
  }
  return members
}

/** A program that needs these members and does nothing with them. */
const floorSource = (members: ReadonlyMap<string, ReadonlySet<string>>): string => {
  const modules = [...members].filter(([, names]) => names.size > 0)
  return [
    ...modules.map(([module], i) => `import * as m${i} from ${JSON.stringify(module)}`),
    `globalThis.floor = [${modules.flatMap(([, names], i) => [...names].map((name) => `m${i}.${name}`)).join(", ")}]`,
  ].join("\n")
}

const external = libraries.flatMap((library) => [library, `${library}/*`])
const page = { file: "test/size/page.ts" }
const members = libraryMembers(await bundle(page, external))
const floor = { source: floorSource(members) }

const pageBytes = gzipped(await bundle(page, []))
const floorBytes = gzipped(await bundle(floor, []))
const ours = pageBytes - floorBytes

for (const [module, names] of [...members].toSorted())
  console.log(`${module.padEnd(24)} ${[...names].toSorted().join(" ")}`)
console.log()
console.log(`page   ${pageBytes.toLocaleString("en").padStart(7)} bytes`)
console.log(`floor  ${floorBytes.toLocaleString("en").padStart(7)} bytes, effect and zod as the page uses them`)
console.log(`ours   ${ours.toLocaleString("en").padStart(7)} bytes, of ${budget.toLocaleString("en")} allowed`)
process.exitCode = ours <= budget ? 0 : 1
