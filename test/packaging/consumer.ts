/**
 * A project outside the workspace that has the packages as a registry would hand them out: unpacked from their tarballs,
 * and beside each only what its manifest declares. Nothing is downloaded.
 */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"

export interface Consumer {
  readonly directory: string
  readonly packages: ReadonlyArray<string>
  readonly remove: () => void
}

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

const installed = (name: string) => resolve("node_modules", name)

const link = (name: string, modules: string) => {
  const path = join(modules, name)
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(installed(name), path)
}

export const manifest = (consumer: Consumer, name: string): Manifest =>
  JSON.parse(readFileSync(join(consumer.directory, "node_modules", name, "package.json"), "utf8"))

export const makeConsumer = (): Consumer => {
  const directory = mkdtempSync(join(tmpdir(), "skein-consumer-"))
  const modules = join(directory, "node_modules")
  const packed: ReadonlyArray<{ readonly filename: string; readonly name: string }> = JSON.parse(
    execFileSync("npm", ["pack", "--workspaces", "--json", "--pack-destination", directory], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  )
  const consumer = {
    directory,
    packages: packed.map(({ name }) => name),
    remove: () => rmSync(directory, { recursive: true }),
  }
  for (const { filename, name } of packed) {
    const target = join(modules, name)
    mkdirSync(target, { recursive: true })
    execFileSync("tar", ["xzf", join(directory, filename), "--strip-components=1", "-C", target])
    const { dependencies, peerDependencies } = manifest(consumer, name)
    for (const dependency of Object.keys({ ...dependencies, ...peerDependencies })) {
      if (!consumer.packages.includes(dependency)) link(dependency, join(target, "node_modules"))
    }
  }
  link("effect", modules)
  return consumer
}

/** Every name a package can be imported by, the members of a `./*` pattern one by one. */
export const entries = (consumer: Consumer, name: string): ReadonlyArray<string> => {
  const root = join(consumer.directory, "node_modules", name)
  const specifier = (subpath: string) => name + subpath.slice(".".length)
  return Object.entries(manifest(consumer, name).exports)
    .flatMap(([subpath, target]) => {
      if (typeof target === "string") return []
      if (!subpath.includes("*")) return [specifier(subpath)]
      return readdirSync(join(root, "dist"))
        .filter((folder) => existsSync(join(root, target.default.replace("*", folder))))
        .map((folder) => specifier(subpath.replace("*", folder)))
    })
    .toSorted()
}
