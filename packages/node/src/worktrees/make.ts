/**
 * Making worktrees: what was asked for, what will be made of it, and making it.
 */
import { lstat, realpath } from "node:fs/promises"
import { dirname, join, relative } from "node:path"
import type { WorkspaceRequest } from "@skein/core/fork"
import { InvalidInput } from "@skein/core/storage"
import * as z from "zod/mini"
import { ifThere, makeDirectory } from "../disk.ts"
import { WorktreeFault } from "./fault.ts"
import { ifSo } from "./git.ts"
import type { Git } from "./git.ts"
import type { Note } from "./note.ts"
import { tipOf, treeOfFiles } from "./trees.ts"

/** What may be given as `workspace` to `fork`. */
export interface WantedWorktree {
  /** The name of the new branch. Default: the prefix and the operation. One that is there is refused. */
  readonly branch?: string
  /** What it begins with: a branch, a tag, a commit. Default: what the source has checked out. */
  readonly from?: string
  /**
   * What becomes of changes in the source that are not committed. `leave`: they are not in the new worktree. `copy`: they
   * are there, too, not committed either; files that git ignores are not. Default `leave`.
   */
  readonly changes?: "leave" | "copy"
}

const Wanted = z.strictObject({
  branch: z.optional(z.string()),
  from: z.optional(z.string()),
  changes: z.optional(z.enum(["leave", "copy"])),
})

/** Decides what is to be made. */
export const planNote = async (
  git: Git,
  base: string,
  branchPrefix: string,
  { operation, source, wanted }: WorkspaceRequest,
): Promise<Note> => {
  const { branch = branchPrefix + operation, changes = "leave", from = "HEAD" } = checkWanted(wanted)
  if (source.workspace === undefined) {
    throw new WorktreeFault({ path: source.sessionId, problem: "works in no directory" })
  }
  const workspace = await ifThere(realpath(source.workspace))
  if (workspace === undefined) throw new WorktreeFault({ path: source.workspace, problem: "is not there" })
  const repository = await ifSo(git.text(workspace, ["rev-parse", "--path-format=absolute", "--show-toplevel"]))
  if (repository === undefined) throw new WorktreeFault({ path: workspace, problem: "is in no git repository" })
  const common = await git.text(workspace, ["rev-parse", "--path-format=absolute", "--git-common-dir"])

  const isName = (await ifSo(git.text(workspace, ["check-ref-format", "--branch", branch]))) === branch
  if (!isName) throw refuse("branch", branch, "is no name for a branch")
  if ((await tipOf(git, common, branch)) !== undefined) throw refuse("branch", branch, "is there already")
  const commit = await ifSo(
    git.text(workspace, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${from}^{commit}`]),
  )
  if (commit === undefined) throw refuse("from", from, "is no commit")
  if (from !== "HEAD" && changes === "copy") throw refuse("changes", changes, "cannot be copied onto another commit")

  const path = join(base, operation)
  if ((await ifThere(lstat(path))) !== undefined) throw new WorktreeFault({ path, problem: "is there already" })
  const tree =
    changes === "copy"
      ? await treeOfFiles(git, repository)
      : await git.text(workspace, ["rev-parse", `${commit}^{tree}`])
  const below = relative(await realpath(repository), workspace)
  return { version: 1, repository, common, path, below, branch, commit, tree, ready: false }
}

const checkWanted = (wanted: WorkspaceRequest["wanted"]): z.output<typeof Wanted> => {
  const checked = z.safeParse(Wanted, wanted)
  if (checked.success) return checked.data
  const issue = checked.error.issues[0]!
  const field = issue.code === "unrecognized_keys" ? issue.keys[0]! : issue.path.join(".")
  const problem = issue.code === "unrecognized_keys" ? "is not a known field" : issue.message
  throw refuse(field, wanted[field], problem)
}

const refuse = (field: string, value: unknown, problem: string) =>
  new InvalidInput({ field: `options.workspace.${field}`, value, problem })

/** Makes what a note says, of which nothing is there. */
export const make = async (git: Git, { below, branch, commit, common, path, tree }: Note): Promise<void> => {
  await makeDirectory(dirname(path))
  await git.text(common, ["worktree", "add", "--quiet", "-b", branch, path, commit])
  await git.text(path, ["read-tree", "-u", "--reset", tree])
  // What was not committed in the source is not committed here either, and not marked to be.
  await git.text(path, ["reset", "--quiet"])
  await makeDirectory(join(path, below))
}
