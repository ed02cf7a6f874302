/**
 * A test's page as one script, built from sources as a user's bundler would build it.
 */
import { build } from "esbuild"
import { fileURLToPath } from "node:url"

/** `entry` is relative to this folder. */
export const bundle = async (entry: string): Promise<string> => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(entry, import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    platform: "browser",
    conditions: ["@skein/source"],
    sourcemap: "inline",
    logLevel: "warning",
  })
  return outputFiles[0]!.text
}
