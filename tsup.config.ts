import { existsSync, readdirSync, readFileSync } from "node:fs"
import { defineConfig } from "tsup"

interface Manifest {
  readonly exports: Record<string, string | { readonly "@skein/source": string }>
}

/** The source file of every public entry of a package, the members of a `./*` pattern one by one. */
const entries = (directory: string): ReadonlyArray<string> => {
  const manifest: Manifest = JSON.parse(readFileSync(`${directory}/package.json`, "utf8"))
  return Object.values(manifest.exports)
    .flatMap((target) => (typeof target === "string" ? [] : [target["@skein/source"]]))
    .flatMap((source) =>
      source.includes("*") ? readdirSync(`${directory}/src`).map((name) => source.replace("*", name)) : [source],
    )
    .map((source) => `${directory}/${source.slice("./".length)}`)
    .filter((source) => existsSync(source))
}

/**
 * JavaScript only; `tsc -b` writes the declarations into the same folders. Hence no `clean`, which would remove them, and
 * no bundling of what is installed beside a package, which would give a program two copies of core's classes.
 */
export default defineConfig(
  readdirSync("packages").map((name) => ({
    name,
    entry: Object.fromEntries(
      entries(`packages/${name}`).map((file) => [file.slice(`packages/${name}/src/`.length, -".ts".length), file]),
    ),
    outDir: `packages/${name}/dist`,
    format: "esm" as const,
    target: "es2022",
    splitting: true,
    sourcemap: true,
    dts: false,
    clean: false,
    skipNodeModulesBundle: true,
    silent: true,
  })),
)
