/**
 * Taking worktrees back, however much of them was made, and nothing that somebody did.
 */
import { lstat, readdir, readFile, rm } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { ifThere } from "../disk.ts"
import { WorktreeFault } from "./fault.ts"
import { ifSo } from "./git.ts"
import type { Git } from "./git.ts"
import type { Note } from "./note.ts"
import { isWorktree, tipOf, treeOfFiles } from "./trees.ts"

/** Removes what was made of a note, however much of it. */
export const takeBack = async (git: Git, note: Note, force: boolean): Promise<void> => {
  const { branch, commit, common, path } = note
  const isThere = (await ifThere(lstat(path))) !== undefined
  if ((await ifThere(lstat(common))) === undefined) {
    if (isThere && !force) throw new WorktreeFault({ path, problem: "belongs to a repository that is gone" })
    return rm(path, { recursive: true, force: true })
  }
  if (isThere && !force) await refuseToLose(git, note)
  await rm(path, { recursive: true, force: true })
  // git keeps a worktree locked while it makes it, and one that was cut off stays so: twice `--force` is for these.
  await ifSo(git.text(common, ["worktree", "remove", "--force", "--force", path]))
  await removeBeginning(note)
  // Only the branch as it was made: commits are work.
  if ((await tipOf(git, common, branch)) === commit) {
    await git.text(common, ["update-ref", "-d", `refs/heads/${branch}`, commit])
  }
}

/** Removes what git has of a worktree that was cut off before git itself knew of it. */
const removeBeginning = async ({ common, path }: Note): Promise<void> => {
  const beginning = join(common, "worktrees", basename(path))
  const place = await ifThere(readFile(join(beginning, "gitdir"), "utf8"))
  if (place === undefined || dirname(place.trim()) === path) await rm(beginning, { recursive: true, force: true })
}

/** Fails where something is there that this did not make. */
const refuseToLose = async (git: Git, note: Note): Promise<void> => {
  const { commit, path, ready, tree } = note
  const remains = (problem: string) => new WorktreeFault({ path, problem })
  if (!(await isWorktree(git, note))) {
    if (await isEmpty(path)) return
    throw remains("is no worktree any more, and not empty")
  }
  const head = await git.text(path, ["rev-parse", "HEAD"])
  const now = await treeOfFiles(git, path)
  const changed =
    ready || head !== commit
      ? await differing(git, path, head === commit ? tree : head, now)
      : await strange(git, path, [tree, commit], now)
  if (changed.length > 0) {
    const names = changed.slice(0, 3).join(", ") + (changed.length > 3 ? " …" : "")
    throw remains(`has changes that are not committed: ${names}`)
  }
}

const differing = async (git: Git, path: string, made: string, now: string, ...more: ReadonlyArray<string>) => {
  const printed = await git.text(path, ["diff-tree", "-r", "-z", "--name-only", "--no-renames", ...more, made, now])
  return printed.split("\0").filter((file) => file !== "")
}

/** What is in a worktree that was not finished, and was not going to be. It may lack anything. */
const strange = async (git: Git, path: string, made: ReadonlyArray<string>, now: string) => {
  const lists = await Promise.all(made.map((tree) => differing(git, path, tree, now, "--diff-filter=AMT")))
  const differs = lists[0]!.filter((file) => lists.every((list) => list.includes(file)))
  const halves = await Promise.all(differs.map((file) => isHalf(git, path, made, file)))
  return differs.filter((_, i) => !halves[i])
}

/** Whether a file is the beginning of what was to be in it: the system went down while git wrote it. */
const isHalf = async (git: Git, path: string, made: ReadonlyArray<string>, file: string): Promise<boolean> => {
  const content = await ifThere(readFile(join(path, file)))
  const whole = await Promise.all(
    made.map((tree) => ifSo(git.bytes(path, ["cat-file", "--filters", `${tree}:${file}`]))),
  )
  return content !== undefined && whole.some((one) => one?.subarray(0, content.length).equals(content) === true)
}

/** Whether a directory holds nothing, or nothing but what makes it a worktree. */
const isEmpty = async (path: string): Promise<boolean> => {
  const names = await readdir(path)
  if (names.some((name) => name !== ".git")) return false
  return names.length === 0 || (await lstat(join(path, ".git"))).isFile()
}
