/**
 * git, run as a program: without a shell, without asking anybody anything, and with words that do not depend on a language.
 */
import { execFile } from "node:child_process"
import process from "node:process"

/** git said no, or could not be run. */
export class GitFailed extends Error {
  override readonly name = "GitFailed"
  readonly code: number | string | undefined
  constructor(args: ReadonlyArray<string>, said: string, code: number | string | undefined) {
    super(`git ${args[0] ?? ""}: ${said.trim() || `it ended with ${String(code)}`}`)
    this.code = code
  }
}

/** What somebody may have set for another repository. */
const forOthers =
  /^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|PREFIX|NAMESPACE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES)$/

const environment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !forOthers.test(name))),
  LC_ALL: "C",
  GIT_TERMINAL_PROMPT: "0",
})

export interface Git {
  /** What git prints, without the line break at the end. */
  readonly text: (directory: string, args: ReadonlyArray<string>, more?: GitOptions) => Promise<string>
  /** What git prints, byte for byte. */
  readonly bytes: (directory: string, args: ReadonlyArray<string>) => Promise<Buffer>
}

export interface GitOptions {
  /** The file of the index to be used instead of the one that people see. */
  readonly index?: string
}

const mostPrinted = 256 * 1024 * 1024

export const gitWith = (program: string): Git => {
  const run = (directory: string, args: ReadonlyArray<string>, { index }: GitOptions = {}) =>
    new Promise<Buffer>((resolve, reject) => {
      const env = { ...environment(), ...(index === undefined ? {} : { GIT_INDEX_FILE: index }) }
      const options = { cwd: directory, env, encoding: "buffer", maxBuffer: mostPrinted, windowsHide: true } as const
      execFile(program, args, options, (error, printed, complaints) => {
        if (error === null) resolve(printed)
        else reject(new GitFailed(args, complaints.toString() || error.message, error.code ?? undefined))
      })
    })
  return {
    bytes: run,
    text: async (directory, args, more) => (await run(directory, args, more)).toString().replace(/\r?\n$/, ""),
  }
}

/** The answer, or `undefined` where git says no. That it could not be run is no answer. */
export const ifSo = async <A>(answer: Promise<A>): Promise<A | undefined> => {
  try {
    return await answer
  } catch (thrown) {
    if (thrown instanceof GitFailed && typeof thrown.code === "number") return undefined
    throw thrown
  }
}
