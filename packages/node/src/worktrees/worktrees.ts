/**
 * Git worktrees as the workspaces of forks: Skein's `Workspaces` for Node. FRK-04
 *
 * Guarantee: what is going to be made for an operation is noted before any of it is made. So `prepare`, called again after
 * a crash, gives the worktree that is there or makes it anew, and `remove` takes back exactly what was made, however much
 * of it. Neither touches a branch, a worktree or a directory that was there before. What somebody has not committed is
 * never deleted, unless `release` is told to; a branch with commits of its own stays. The source is only read.
 *
 * Not promised: files that git ignores. They are not carried over, and go with their worktree.
 */
import { randomUUID } from "node:crypto"
import { copyFile, lstat, readdir, readFile, realpath, rm } from "node:fs/promises"
import { basename, dirname, join, relative, resolve, sep } from "node:path"
import { InvalidInput } from "@skein/core/storage"
import type { PreparedWorkspace, WorkspaceRequest, Workspaces } from "@skein/core/fork"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { codeOf, ifThere, makeDirectory } from "../disk.ts"
import { GitFailed, gitWith, ifSo } from "./git.ts"
import type { Git } from "./git.ts"
import { dropNote, readNote, writeNote } from "./note.ts"
import type { Note } from "./note.ts"

/** No worktree can be made or removed there, as things are. Nothing that somebody did is gone. */
export class WorktreeFault extends Data.TaggedError("WorktreeFault")<{
  /** In words that end a sentence about the path: "is no git repository". */
  readonly problem: string
  readonly path: string
  readonly cause?: unknown
}> {
  override get message() {
    return `${this.path} ${this.problem}`
  }
}

export interface WorktreeOptions {
  /** The directory that worktrees are made in, each under the name of its operation. Made where it is missing. */
  readonly directory: string
  /** What the names of new branches begin with. Default `skein/`. */
  readonly branchPrefix?: string
  /** The program. Default `git`, from the path. */
  readonly git?: string
}

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

export interface ReleaseOptions {
  /** Deletes what is not committed. Default `false`: it is refused where there is such. */
  readonly force?: boolean
}

export interface Worktrees extends Workspaces {
  readonly prepare: (request: WorkspaceRequest) => Effect.Effect<PreparedWorkspace, InvalidInput | WorktreeFault>
  readonly remove: (request: WorkspaceRequest) => Effect.Effect<void, WorktreeFault>
  /**
   * Removes the worktree of a session that is no longer needed, and its branch if it has no commits of its own.
   *
   * @param workspace  the workspace of the session, or any path in its worktree. It is gone: succeeds.
   * @throws WorktreeFault  something in it is not committed, and `force` is not given; or it was not made here
   */
  readonly release: (workspace: string, options?: ReleaseOptions) => Promise<void>
}

const Wanted = z.strictObject({
  branch: z.optional(z.string()),
  from: z.optional(z.string()),
  changes: z.optional(z.enum(["leave", "copy"])),
})

/**
 * Makes workspaces for forks as git worktrees.
 *
 * @example
 * const skein = await Skein.open(sqlite({ url: "file:chat.db" }), {
 *   workspaces: worktrees({ directory: "/home/ada/worktrees" }),
 * })
 * const fork = await skein.forks.fork(session.id, { workspace: { changes: "copy" } })
 */
export const worktrees = ({ branchPrefix = "skein/", directory, git: program = "git" }: WorktreeOptions): Worktrees => {
  const git = gitWith(program)
  const base = resolve(directory)

  const prepare = async (request: WorkspaceRequest): Promise<PreparedWorkspace> => {
    const { operation } = request
    const known = await readNote(base, operation)
    if (known?.ready === true && (await isWorktree(git, known))) return answerOf(known)
    // What is half made says nothing of how far it came.
    if (known !== undefined) await takeBack(git, known, false)
    const note = known ?? (await planNote(git, base, branchPrefix, request))
    await writeNote(base, operation, { ...note, ready: false })
    await make(git, note)
    await writeNote(base, operation, { ...note, ready: true })
    return answerOf(note)
  }

  const remove = async (operation: string, force: boolean): Promise<void> => {
    const note = await readNote(base, operation)
    if (note !== undefined) await takeBack(git, note, force)
    await dropNote(base, operation)
  }

  return {
    prepare: (request) => attempt(base, () => prepare(request)),
    remove: ({ operation }) =>
      Effect.catchTag(
        attempt(base, () => remove(operation, false)),
        "InvalidInput",
        Effect.die,
      ),
    release: (workspace, { force = false } = {}) =>
      Effect.runPromise(
        attempt(base, async () => {
          const path = (await ifThere(realpath(workspace))) ?? resolve(workspace)
          const tops = [base, (await ifThere(realpath(base))) ?? base]
          const operation = tops.map((top) => relative(top, path).split(sep)[0]!).find((name) => isOperation.test(name))
          const isOurs = operation !== undefined && (await readNote(base, operation)) !== undefined
          if (isOurs) return remove(operation, force)
          if ((await ifThere(lstat(path))) === undefined) return
          throw new WorktreeFault({ path: workspace, problem: "is no worktree that was made here" })
        }),
      ),
  }
}

const isOperation = /^[A-Za-z0-9_-]+$/

const answerOf = ({ below, branch, path, repository }: Note): PreparedWorkspace => ({
  workspace: join(path, below),
  runLocation: { kind: "new-worktree", branch, parentRepository: repository },
})

/** Decides what is to be made. */
const planNote = async (
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

/** The commit of a branch; `undefined` where there is none. */
const tipOf = (git: Git, common: string, branch: string): Promise<string | undefined> =>
  ifSo(git.text(common, ["rev-parse", "--verify", "--quiet", `refs/heads/${branch}`]))

/** The tree of what is in a working tree, whatever of it is committed. The index that people see is not touched. */
const treeOfFiles = async (git: Git, worktree: string): Promise<string> => {
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

const make = async (git: Git, { below, branch, commit, common, path, tree }: Note): Promise<void> => {
  await makeDirectory(dirname(path))
  await git.text(common, ["worktree", "add", "--quiet", "-b", branch, path, commit])
  await git.text(path, ["read-tree", "-u", "--reset", tree])
  // What was not committed in the source is not committed here either, and not marked to be.
  await git.text(path, ["reset", "--quiet"])
  await makeDirectory(join(path, below))
}

/** Whether the worktree of a note is there, and a worktree. */
const isWorktree = async (git: Git, { path }: Note): Promise<boolean> => {
  // Where it is none git would find whatever repository is around it.
  if ((await ifThere(lstat(join(path, ".git")))) === undefined) return false
  return (await ifSo(git.text(path, ["rev-parse", "--verify", "--quiet", "HEAD"]))) !== undefined
}

/** Removes what was made of a note, however much of it. */
const takeBack = async (git: Git, note: Note, force: boolean): Promise<void> => {
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

/** Runs to its end once it has begun: two must never be at one worktree. */
const attempt = <A>(path: string, body: () => Promise<A>): Effect.Effect<A, InvalidInput | WorktreeFault> =>
  Effect.tryPromise({ try: body, catch: (thrown) => thrown }).pipe(
    Effect.catch((thrown) => {
      if (thrown instanceof InvalidInput || thrown instanceof WorktreeFault) return Effect.fail(thrown)
      const problem =
        thrown instanceof GitFailed
          ? `cannot be used (${thrown.message})`
          : `cannot be used (${String(codeOf(thrown))})`
      return thrown instanceof GitFailed || codeOf(thrown) !== undefined
        ? Effect.fail(new WorktreeFault({ path, problem, cause: thrown }))
        : Effect.die(thrown)
    }),
    Effect.uninterruptible,
  )
