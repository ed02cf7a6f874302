/**
 * What git knows of a worktree and what is in it. Nothing that people see is changed by looking.
 */
import { randomUUID } from "node:crypto"
import { copyFile, lstat, rm } from "node:fs/promises"
import { join } from "node:path"
import { ifThere } from "../disk.ts"
import { ifSo } from "./git.ts"
import type { Git } from "./git.ts"
import type { Note } from "./note.ts"

/** The commit of a branch; `undefined` where there is none. */
export const tipOf = (git: Git, common: string, branch: string): Promise<string | undefined> =>
  ifSo(git.text(common, ["rev-parse", "--verify", "--quiet", `refs/heads/${branch}`]))

/** Whether the worktree of a note is there, and a worktree. */
export const isWorktree = async (git: Git, { path }: Note): Promise<boolean> => {
  // Where it is none git would find whatever repository is around it.
  if ((await ifThere(lstat(join(path, ".git")))) === undefined) return false
  return (await ifSo(git.text(path, ["rev-parse", "--verify", "--quiet", "HEAD"]))) !== undefined
}

/** The tree of what is in a working tree, whatever of it is committed. The index that people see is not touched. */
export const treeOfFiles = async (git: Git, worktree: string): Promise<string> => {
  const theirs = await git.text(worktree, ["rev-parse", "--path-format=absolute", "--git-path", "index"])
  const index = `${theirs}.skein-${randomUUID()}`
  try {
    // A copy knows which files are unchanged, and which are left out on purpose.
    if ((await ifThere(copyFile(theirs, index).then(() => true))) !== true) {
      await git.text(worktree, ["read-tree", "HEAD"], { index })
    }
    await git.text(worktree, ["add", "--all", "--", "."], { index })
    return await git.text(worktree, ["write-tree"], { index })
  } finally {
    await rm(index, { force: true })
    await rm(`${index}.lock`, { force: true })
  }
}
