/**
 * Runs: taking changes back, and taking that back.
 *
 * Guarantee: before the first file is touched, what every file is and what it is to become are on the disk. Each file
 * changes from the one to the other at once. So whenever a run is cut off, `undoRun` makes every file what it was, and may
 * itself be cut off and called again. A file that is neither the one nor the other was written by somebody else, and is
 * left alone.
 */
import { createHash } from "node:crypto"
import { rename, rm, rmdir, unlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { FileFault } from "@skein/core/rewind"
import * as z from "zod/mini"
import { copyWhole, ifThere, makeDirectory, readJson, syncDirectory, writeWhole } from "../disk.ts"
import { directoryAbove, isInPlace } from "./place.ts"
import type { Step } from "./plan.ts"
import { isSame, keep, keptAt, State, stateOf } from "./state.ts"

const RunFile = z.strictObject({
  path: z.string(),
  from: State,
  to: State,
  /** Where the content of `to` is. */
  kept: z.string(),
  /** The directories that stay though they may be empty, when the file is removed by the run, or by its rollback. */
  directory: z.optional(z.string()),
  directoryBefore: z.optional(z.string()),
})
type RunFile = z.output<typeof RunFile>

const Run = z.strictObject({
  version: z.literal(1),
  id: z.string(),
  at: z.number(),
  root: z.string(),
  files: z.array(RunFile),
})
export type Run = z.output<typeof Run>

export const runFile = "run.json"

export const readRun = async (directory: string): Promise<Run | undefined> => {
  const read = z.safeParse(Run, await readJson(join(directory, runFile)))
  return read.success ? read.data : undefined
}

/** Notes what a run is going to do, and keeps what it is going to overwrite. */
export const beginRun = async (
  directory: string,
  { at, id, root }: Pick<Run, "at" | "id" | "root">,
  steps: ReadonlyArray<Step>,
): Promise<Run> => {
  await makeDirectory(directory)
  const files: Array<RunFile> = []
  for (const { directory: stays, from, kept, path, to } of steps) {
    const found = await keep(join(root, path), directory)
    if (!isSame(found, from)) throw changed(path)
    files.push({
      path,
      from,
      to,
      kept,
      ...(stays === undefined ? {} : { directory: stays }),
      ...(from === null ? { directoryBefore: await directoryAbove(root, path) } : {}),
    })
  }
  const run: Run = { version: 1, id, at, root, files }
  await writeWhole(join(directory, runFile), JSON.stringify(run))
  return run
}

const changed = (path: string) => new FileFault({ path, problem: "was changed since" })

/** Makes every file what it is to become. */
export const doRun = async (run: Run): Promise<void> => {
  const moves = run.files.map(({ directory, from, kept, path, to }): Move => ({
    path,
    from,
    to,
    kept,
    stays: directory,
  }))
  for (const { from, path } of moves) {
    if (!isSame(await stateOf(join(run.root, path)), from)) throw changed(path)
  }
  await moveAll(run, moves)
}

/** Looks whether every file is what it was to become. */
export const checkRun = async ({ files, root }: Run): Promise<void> => {
  for (const { path, to } of files) {
    if (!isSame(await stateOf(join(root, path)), to)) {
      throw new FileFault({ path, problem: "is not what it was to become" })
    }
  }
}

/** Makes every file what it was before the run. @param directory  that of the run */
export const undoRun = async (directory: string, run: Run): Promise<void> => {
  const moves: Array<Move> = []
  for (const { directoryBefore: stays, from, path, to } of run.files) {
    await ifThere(rm(temporaryOf(run, path), { force: true }))
    const now = await stateOf(join(run.root, path))
    // Of a file that is gone again, or was not made yet, directories may be there.
    if (!isSame(now, to) && (now !== null || from !== null)) continue
    moves.push({ path, from: now, to: from, kept: directory, stays })
  }
  await moveAll(run, moves)
}

/** Forgets a run: first what makes it one, so that no half of it is ever done again. */
export const forgetRun = async (directory: string): Promise<void> => {
  await rm(join(directory, runFile), { force: true })
  await rm(directory, { recursive: true, force: true })
}

/** A file on its way. */
interface Move {
  readonly path: string
  readonly from: State
  readonly to: State
  readonly kept: string
  /** Directories that stay though they may be empty when the file is gone. */
  readonly stays: string | undefined
}

/** Removals come first: what is put somewhere may need the place. */
const moveAll = async (run: Run, moves: ReadonlyArray<Move>): Promise<void> => {
  const touched = new Set<string>()
  for (const move of moves) if (move.to === null) await removeFile(run, move, touched)
  for (const move of moves) if (move.to !== null) await putFile(run, move, move.to, touched)
  for (const directory of touched) await ifThere(syncDirectory(directory))
}

const removeFile = async ({ root }: Run, move: Move, touched: Set<string>): Promise<void> => {
  const { path, stays = "" } = move
  await lookAgain(root, move)
  await ifThere(unlink(join(root, path)))
  let above = dirname(path)
  while (above !== "." && above !== stays && (await isRemoved(join(root, above)))) above = dirname(above)
  touched.add(join(root, above))
}

/** The last look, so that what somebody writes meanwhile is not overwritten. */
const lookAgain = async (root: string, { from, path }: Move): Promise<void> => {
  if (!(await isInPlace(root, path))) throw new FileFault({ path, problem: "is behind a link that was not there" })
  if (!isSame(await stateOf(join(root, path)), from)) throw changed(path)
}

/** Removes a directory if nothing is in it. */
const isRemoved = async (directory: string): Promise<boolean> => {
  try {
    await rmdir(directory)
    return true
  } catch {
    return false
  }
}

const putFile = async (run: Run, move: Move, state: NonNullable<State>, touched: Set<string>): Promise<void> => {
  const { kept, path } = move
  const target = join(run.root, path)
  await makeDirectory(dirname(target))
  const temporary = temporaryOf(run, path)
  try {
    await copyWhole(keptAt(kept, state), temporary, state.mode)
    await lookAgain(run.root, move)
    await rename(temporary, target)
  } finally {
    await rm(temporary, { force: true })
  }
  touched.add(dirname(target))
}

/** Beside the file, for a rename is at once only there; under a name that the next process knows. */
const temporaryOf = ({ id, root }: Run, path: string): string => {
  const name = createHash("sha256").update(`${id}\0${path}`).digest("hex").slice(0, 24)
  return join(root, dirname(path), `.skein-${name}.tmp`)
}
