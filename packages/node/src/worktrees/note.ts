/**
 * Notes: what is about to be made for an operation, on the disk before any of it is made.
 *
 * A note tells whoever comes after a crash what there may be, where, and that it is ours. It is removed last.
 */
import { join } from "node:path"
import * as z from "zod/mini"
import { readJson, removeWhole, writeWhole } from "../disk.ts"

const Note = z.strictObject({
  version: z.literal(1),
  /** The top directory of the working tree that the source is in. */
  repository: z.string(),
  /** The repository's own directory, which all its working trees share: it stays when `repository` goes. */
  common: z.string(),
  /** The new worktree. */
  path: z.string(),
  /** Where in it the session works, with the separators of the system. `""`: at its top. */
  below: z.string(),
  branch: z.string(),
  /** What the branch begins with. */
  commit: z.string(),
  /** What the files are made: the tree of the commit, or one with what was not committed yet. */
  tree: z.string(),
  /** It is made, all of it. */
  ready: z.boolean(),
})
export type Note = z.output<typeof Note>

const fileOf = (directory: string, operation: string) => join(directory, ".skein", `${operation}.json`)

export const readNote = async (directory: string, operation: string): Promise<Note | undefined> => {
  const read = z.safeParse(Note, await readJson(fileOf(directory, operation)))
  return read.success ? read.data : undefined
}

export const writeNote = (directory: string, operation: string, note: Note): Promise<void> =>
  writeWhole(fileOf(directory, operation), JSON.stringify(note))

export const dropNote = (directory: string, operation: string): Promise<void> =>
  removeWhole(fileOf(directory, operation))
