/**
 * Runs a script of this directory in a process of its own. It is bundled first, for there will be many of it.
 */
import { execFile } from "node:child_process"
import { createRequire } from "node:module"
import { join } from "node:path"
import process from "node:process"
import { fileURLToPath, pathToFileURL } from "node:url"
import { build } from "esbuild"
import type { Plugin } from "esbuild"
import { newDirectory } from "../directory.ts"

/** What cannot be bundled is found where it is installed. */
const native: Plugin = {
  name: "native",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^libsql$/ }, ({ path }) => ({
      path: pathToFileURL(createRequire(import.meta.url).resolve(path)).href,
      external: true,
    })),
}

export const bundle = async (script: string): Promise<string> => {
  const outfile = join(newDirectory(), "script.mjs")
  await build({
    entryPoints: [fileURLToPath(new URL(script, import.meta.url))],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    conditions: ["@skein/source"],
    plugins: [native],
  })
  return outfile
}

/** What a bundled script printed, or `undefined` where it was killed. */
export const runScript = (
  file: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {},
): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const options = { timeout: 60_000, env: { ...process.env, ...env } }
    execFile(process.execPath, [file, ...args], options, (error, printed, complaints) => {
      if (error === null) resolve(printed.trim())
      else if (error.signal === "SIGKILL") resolve(undefined)
      else reject(new Error(`${args.join(" ")}: ${error.message}\n${complaints}`))
    })
  })
