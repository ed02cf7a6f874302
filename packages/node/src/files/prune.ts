/**
 * Pruning: forgetting what is kept of old turns and runs.
 */
import { lstat, readdir, rm, rmdir } from "node:fs/promises"
import { join } from "node:path"
import { ifThere } from "../disk.ts"
import { readRecord, recordFile } from "./record.ts"
import { forgetRun, readRun } from "./run.ts"

/** In the directory of a session, the one that holds its runs. No id has a dot. */
export const runsDirectory = ".runs"

/** Forgets at most `limit` turns that were recorded before a time, the oldest first, and all runs of before it. */
export const prune = async (base: string, before: number, limit: number): Promise<number> => {
  const old: Array<{ readonly directory: string; readonly at: number }> = []
  for (const session of await directoriesIn(base)) {
    for (const directory of await directoriesIn(join(base, session))) {
      const at = directory === runsDirectory ? before : await timeOf(join(base, session, directory), readRecord)
      if (at < before) old.push({ directory: join(base, session, directory), at })
    }
    const runs = join(base, session, runsDirectory)
    for (const run of await directoriesIn(runs)) {
      if ((await timeOf(join(runs, run), readRun)) < before) await forgetRun(join(runs, run))
    }
  }
  const forgotten = old.toSorted((one, other) => one.at - other.at).slice(0, limit)
  for (const { directory } of forgotten) {
    // The record first: a turn of which half is kept is one of which nothing is known.
    await rm(join(directory, recordFile), { force: true })
    await rm(directory, { recursive: true, force: true })
  }
  for (const session of await directoriesIn(base)) {
    await rmdir(join(base, session, runsDirectory)).catch(() => undefined)
    await rmdir(join(base, session)).catch(() => undefined)
  }
  return forgotten.length
}

const directoriesIn = async (path: string): Promise<ReadonlyArray<string>> => {
  const found = await ifThere(readdir(path, { withFileTypes: true }))
  return (found ?? []).filter((one) => one.isDirectory()).map(({ name }) => name)
}

/** When something was written, as it says itself, or as its directory does where it is damaged. */
const timeOf = async (
  directory: string,
  read: (directory: string) => Promise<{ readonly at: number } | undefined>,
): Promise<number> => (await read(directory))?.at ?? (await ifThere(lstat(directory)))?.mtimeMs ?? Infinity
