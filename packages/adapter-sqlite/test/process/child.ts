/**
 * Runs a script of this directory in a process of its own.
 */
import { execFile, spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const argumentsOf = (script: string, args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const file = fileURLToPath(new URL(script, import.meta.url))
  return ["--expose-gc", "--import", "tsx", "-C", "@skein/source", file, ...args]
}

/** Answers what the script printed: one JSON value. */
const run = (script: string, args: ReadonlyArray<string>): Promise<unknown> =>
  new Promise((resolve, reject) => {
    execFile(process.execPath, argumentsOf(script, args), { timeout: 60_000 }, (error, printed, complaints) => {
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

/** A script that goes on until it is killed, at the latest when the test ends. */
export interface Running extends AsyncDisposable {
  /** The next line that it prints: one JSON value. */
  readonly next: () => Promise<unknown>
  /** Lets it go on: it waits for a line before each step. */
  readonly step: () => void
  readonly signal: (name: "SIGSTOP" | "SIGCONT") => void
  /** Ends it as the system would, and waits until it is gone. */
  readonly kill: () => Promise<void>
}

export const start = (script: string, ...args: ReadonlyArray<string>): Running => {
  const child: ChildProcess = spawn(process.execPath, argumentsOf(script, args), {
    stdio: ["pipe", "pipe", "inherit"],
  })
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const gone = once(child, "exit")
  const kill = async () => {
    child.kill("SIGKILL")
    await gone
  }
  return {
    next: async () => {
      const { done, value } = await lines.next()
      if (done === true) throw new Error(`${script} ended`)
      return JSON.parse(value) as unknown
    },
    step: () => void child.stdin!.write("\n"),
    signal: (name) => void child.kill(name),
    kill,
    [Symbol.asyncDispose]: kill,
  }
}
