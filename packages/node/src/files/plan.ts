/**
 * Plans: what becomes of files when turns are taken back.
 *
 * A file goes back to what the oldest of the turns found, if nobody else has touched it: what is there now is what the
 * newest left, and what each found is what the one before it left.
 */
import { createHash } from "node:crypto"
import { lstat, readdir } from "node:fs/promises"
import { join } from "node:path"
import { ifThere } from "../disk.ts"
import { isInPlace } from "./place.ts"
import { readRecord } from "./record.ts"
import type { ChangedFile } from "./record.ts"
import { isFile, isSame, keptAt, stateOf } from "./state.ts"
import type { State } from "./state.ts"

/** What is to become of a file. */
export interface Step {
  readonly path: string
  readonly from: State
  readonly to: State
  /** The directory in which the content of `to` is kept. */
  readonly kept: string
  /** Of a file that is to be removed: the directory above it that stays though it may be empty then. */
  readonly directory: string | undefined
  readonly conflict: string | undefined
}

export interface Steps {
  /** By path. */
  readonly steps: ReadonlyArray<Step>
  readonly unknown: ReadonlyArray<string>
  readonly hash: string
}

/**
 * @param root   the workspace, its links resolved
 * @param turns  ids, the newest first
 * @param directoryOf  where what is kept of a turn is
 */
export const planSteps = async (
  root: string,
  turns: ReadonlyArray<string>,
  directoryOf: (turn: string) => string,
): Promise<Steps> => {
  const steps = new Map<string, Step>()
  const unknown: Array<string> = []
  for (const turn of turns) {
    const directory = directoryOf(turn)
    const record = await readRecord(directory)
    if (record === undefined) unknown.push(turn)
    for (const [path, file] of record?.files ?? []) {
      const newer = steps.get(path)
      const from = newer === undefined ? await stateOf(join(root, path)) : newer.from
      const conflict = newer?.conflict ?? conflictOf(file, newer === undefined ? from : newer.to, newer !== undefined)
      steps.set(path, { path, from, to: file.before, kept: directory, directory: file.directory, conflict })
    }
  }
  // What is as it is to be needs nothing, whoever has made it so.
  const wanted = [...steps.values()].filter(({ from, to }) => !isSame(from, to))
  const removed = new Set(wanted.filter(({ to }) => to === null).map(({ path }) => path))
  const checked = await Promise.all(wanted.map((step) => checkStep(root, step, removed)))
  const sorted = checked.toSorted((one, other) => (one.path < other.path ? -1 : 1))
  return { steps: sorted, unknown, hash: hashOf(root, turns, sorted, unknown) }
}

/** @param found  what is there now, or what a newer one of the turns found */
const conflictOf = (file: ChangedFile, found: State, isNewer: boolean): string | undefined => {
  if (file.after === undefined) return "was being changed when its turn was cut off"
  if (!isSame(file.after, found))
    return isNewer ? "was changed by somebody else between the turns" : "was changed since"
  return file.disturbed === true ? "was changed by somebody else while its turn ran" : undefined
}

const checkStep = async (root: string, step: Step, removed: ReadonlySet<string>): Promise<Step> => {
  const { kept, path, to } = step
  if (step.conflict !== undefined) return step
  if (!(await isInPlace(root, path))) return { ...step, conflict: "is behind a link that was not there" }
  if (to === null) return step
  if (!isFile(to)) return { ...step, conflict: "was no file before" }
  if (!(await isVacant(root, path, removed))) return { ...step, conflict: "is a directory now" }
  const isKept = (await ifThere(lstat(keptAt(kept, to)))) !== undefined
  return isKept ? step : { ...step, conflict: "was something of which nothing is kept any more" }
}

/** Whether no directory is in the place of a file, or one that holds nothing but files that are going to be removed. */
const isVacant = async (root: string, path: string, removed: ReadonlySet<string>): Promise<boolean> => {
  const found = await ifThere(lstat(join(root, path)))
  if (found?.isDirectory() !== true) return true
  const held = await readdir(join(root, path), { withFileTypes: true })
  const vacant = held.map((one) =>
    one.isDirectory() ? isVacant(root, `${path}/${one.name}`, removed) : removed.has(`${path}/${one.name}`),
  )
  return (await Promise.all(vacant)).every(Boolean)
}

const hashOf = (root: string, ...plan: ReadonlyArray<unknown>): string =>
  createHash("sha256")
    .update(JSON.stringify([root, ...plan]))
    .digest("hex")
