/**
 * Runs a script of this directory in a process of its own, and answers what it printed: one JSON value.
 */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"

const run = (script: string, args: ReadonlyArray<string>): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const file = fileURLToPath(new URL(script, import.meta.url))
    const flags = ["--expose-gc", "--import", "tsx", "-C", "@skein/source"]
    execFile(process.execPath, [...flags, file, ...args], { timeout: 60_000 }, (error, printed, complaints) => {
      if (error === null) resolve(JSON.parse(printed))
      else reject(new Error(`${script} ${args.join(" ")}: ${error.message}\n${complaints}`))
    })
  })

/** `count` processes at the same time; each is told its number. */
export const runMany = async <A>(
  count: number,
  script: string,
  ...args: ReadonlyArray<string>
): Promise<ReadonlyArray<A>> =>
  (await Promise.all(Array.from({ length: count }, (_, n) => run(script, [...args, String(n)])))) as ReadonlyArray<A>
