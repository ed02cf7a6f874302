/**
 * Child processes, from the side of those who start them. `child.ts` is the other side.
 *
 * A child loads, says that it is ready and waits, so that several can be let loose at the same moment. All children of
 * this process are killed when it ends, and each that lives for too long.
 */
import { fork } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { mkdirSync, renameSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { buildSync } from "esbuild"

/** What a child says. */
export type FromChild =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "News"; readonly news: unknown }
  | { readonly _tag: "Done"; readonly result: unknown }

export interface Child {
  readonly ready: Promise<void>
  /** Lets a child go that is ready. */
  readonly go: () => void
  /** The first thing that it reports on its way. Rejects when it ends without. */
  readonly news: Promise<unknown>
  /** Calls `hear` with everything that it reports on its way from now on. */
  readonly listen: (hear: (news: unknown) => void) => void
  /** What it reports at the end. Rejects when it ends without. */
  readonly result: Promise<unknown>
  /** `kill -9`. Resolves when the system has let go of everything that the process held. */
  readonly kill: () => Promise<void>
  /** Takes the processor from it, where it is. */
  readonly freeze: () => void
  /** Gives it the processor back. */
  readonly thaw: () => void
  /** How it ended: an exit code or the name of a signal. */
  readonly ended: Promise<number | string>
}

/** How long a child may live, in milliseconds. */
const longestLife = 5 * 60_000

const running = new Set<ChildProcess>()
const files = new Map<string, string>()
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL")
})

/**
 * A child's program as one file, compiled when this process starts the first one. Hundreds are started: a loader that
 * compiles at each start would take most of their time, and hundreds of files, or a map of the sources, most of the rest.
 */
const compiled = (name: string): string => {
  const known = files.get(name)
  if (known !== undefined) return known
  const file = fileURLToPath(new URL(`dist/${name}.mjs`, import.meta.url))
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL(`${name}.child.ts`, import.meta.url))],
    write: false,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "es2022",
    conditions: ["@skein/source"],
    external: ["libsql"],
  })
  // Another run may be starting the same file: it is replaced at once, never half.
  const draft = `${file}.${process.pid}`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(draft, outputFiles[0]!.contents)
  renameSync(draft, file)
  files.set(name, file)
  return file
}

/** Starts `test/chaos/<name>.child.ts`. */
export const start = (name: string, options: unknown): Child => {
  const child = fork(compiled(name), [JSON.stringify(options)], {
    execArgv: [],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  })
  running.add(child)
  const tooLong = setTimeout(() => child.kill("SIGKILL"), longestLife).unref()
  let complaint = ""
  child.stderr!.on("data", (text) => (complaint += String(text)))
  const ended = new Promise<number | string>((resolve) => {
    child.on("close", (code, signal) => {
      running.delete(child)
      clearTimeout(tooLong)
      resolve(code ?? signal ?? "unknown")
    })
  })
  /** The first message that fits. A child that is killed on purpose may never send it, and then nobody asks. */
  const said = <A>(pick: (message: FromChild) => { readonly said: A } | undefined): Promise<A> => {
    const found = new Promise<A>((resolve, reject) => {
      child.on("message", (message: FromChild) => {
        const picked = pick(message)
        if (picked !== undefined) resolve(picked.said)
      })
      void ended.then((how) => reject(new Error(`${name} ended with ${how} ${complaint}`)))
    })
    found.catch(() => {})
    return found
  }
  return {
    ready: said((message) => (message._tag === "Ready" ? { said: undefined } : undefined)),
    go: () => void child.send("go"),
    news: said((message) => (message._tag === "News" ? { said: message.news } : undefined)),
    listen: (hear) => {
      child.on("message", (message: FromChild) => {
        if (message._tag === "News") hear(message.news)
      })
    },
    result: said((message) => (message._tag === "Done" ? { said: message.result } : undefined)),
    kill: async () => {
      child.kill("SIGKILL")
      await ended
    },
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    ended,
  }
}

/** Starts children, waits until all are ready, lets them go together, and gives what each reports at the end. */
export const race = async (name: string, options: ReadonlyArray<unknown>): Promise<ReadonlyArray<unknown>> => {
  const children = options.map((one) => start(name, one))
  await Promise.all(children.map(({ ready }) => ready))
  for (const { go } of children) go()
  return Promise.all(children.map(({ result }) => result))
}

/** Calls `work` with 0, 1, 2 … on two lanes, until it says that there is no more, and gives what it said before. */
export const countUp = async <A>(work: (n: number) => Promise<A | undefined>): Promise<ReadonlyArray<A>> => {
  const found: Array<A> = []
  let next = 0
  let isOver = false
  const lane = async () => {
    while (!isOver) {
      const one = await work(next++)
      if (one === undefined) isOver = true
      else found.push(one)
    }
  }
  await Promise.all([lane(), lane()])
  return found
}
