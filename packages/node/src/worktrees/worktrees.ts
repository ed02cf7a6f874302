/**
 * Git worktrees as the workspaces of forks: Skein's `Workspaces` for Node. FRK-04
 *
 * Guarantee: what is going to be made for an operation is noted before any of it is made. So `prepare`, called again after
 * a crash, gives the worktree that is there or makes it anew, and `remove` takes back exactly what was made, however much
 * of it. Neither touches a branch, a worktree or a directory that was there before. What somebody has not committed is
 * never deleted, unless `release` is told to; a branch with commits of its own stays. The files, index and branches of the
 * source are only read.
 *
 * Not promised: files that git ignores. They are not carried over, and go with their worktree.
 */
import { lstat, realpath } from "node:fs/promises"
import { join, relative, resolve, sep } from "node:path"
import type { PreparedWorkspace, WorkspaceRequest, Workspaces } from "@skein/core/fork"
import { InvalidInput } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { codeOf, ifThere } from "../disk.ts"
import { WorktreeFault } from "./fault.ts"
import { GitFailed, gitWith } from "./git.ts"
import { make, planNote } from "./make.ts"
import { dropNote, readNote, writeNote } from "./note.ts"
import type { Note } from "./note.ts"
import { takeBack } from "./take-back.ts"
import { isWorktree } from "./trees.ts"

export interface WorktreeOptions {
  /** The directory that worktrees are made in, each under the name of its operation. Made where it is missing. */
  readonly directory: string
  /** What the names of new branches begin with. Default `skein/`. */
  readonly branchPrefix?: string
  /** The program. Default `git`, from the path. */
  readonly git?: string
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
