import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import type { WorkspaceRequest } from "@skein/core/fork"
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { worktrees } from "../src/index.ts"
import type { WantedWorktree } from "../src/index.ts"
import { newDirectory, treeOf } from "./directory.ts"
import { git, looksOf, newRepository, write } from "./repository.ts"

const run = Effect.runPromise

const place = (repository = newRepository(), below = "") => {
  const directory = join(newDirectory(), "work trees")
  const hooks = worktrees({ directory })
  const request = (wanted: WantedWorktree = {}, operation = "fork_1"): WorkspaceRequest => ({
    operation,
    sessionId: "ses_2",
    source: { sessionId: "ses_1", workspace: join(repository, below) },
    wanted: { ...wanted },
  })
  return { repository, directory, hooks, request, path: join(directory, "fork_1") }
}

const failure = async (effect: Effect.Effect<unknown, unknown> | Promise<unknown>) => {
  try {
    await (Effect.isEffect(effect) ? run(effect) : effect)
  } catch (thrown) {
    return thrown as Error & { readonly _tag: string }
  }
  throw new Error("it did not fail")
}

describe("FRK-04 a worktree for a fork", () => {
  it("has what the source has committed, on a branch of its own, and the source is as it was", async () => {
    const { hooks, path, repository, request } = place()
    const before = looksOf(repository)
    expect(await run(hooks.prepare(request()))).toEqual({
      workspace: path,
      runLocation: { kind: "new-worktree", branch: "skein/fork_1", parentRepository: repository },
    })
    expect(treeOf(path)).toEqual({ "a.txt": "a\n 644", src: null, "src/b.txt": "b\n 644" })
    expect(git(path, "rev-parse", "--abbrev-ref", "HEAD")).toBe("skein/fork_1")
    const after = looksOf(repository)
    expect([after.head, after.status, after.staged]).toEqual([before.head, before.status, before.staged])
    expect(after.branches).toEqual([...before.branches, expect.stringMatching(/^refs\/heads\/skein\/fork_1 /)])
  })

  it("is where its source is, below the top", async () => {
    const { hooks, path, request } = place(newRepository(), "src")
    expect(await run(hooks.prepare(request()))).toMatchObject({ workspace: join(path, "src") })
  })

  it("is where its source is, though nothing there is committed", async () => {
    const repository = newRepository()
    mkdirSync(join(repository, "new"))
    const { hooks, path, request } = place(repository, "new")
    await run(hooks.prepare(request()))
    expect(treeOf(path)).toHaveProperty("new", null)
  })

  it("may come from a worktree, and from a path with links", async () => {
    const { hooks, path, repository, request } = place()
    const link = join(newDirectory(), "link")
    symlinkSync(repository, link)
    await run(hooks.prepare({ ...request(), source: { sessionId: "ses_1", workspace: join(link, "src") } }))
    expect(existsSync(join(path, "src/b.txt"))).toBe(true)
    write(path, "a.txt", "in the fork\n")
    git(path, "commit", "--quiet", "--all", "--message=Second")
    const of = { sessionId: "ses_2", workspace: path }
    const { workspace } = await run(hooks.prepare({ ...request({}, "fork_2"), source: of }))
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("in the fork\n")
    await run(hooks.remove(request({}, "fork_2")))
    expect(looksOf(repository).worktrees).not.toContain("fork_2")
  })

  it("has the branch and the beginning that were asked for", async () => {
    const { hooks, path, repository, request } = place()
    git(repository, "tag", "v1")
    write(repository, "a.txt", "later\n")
    git(repository, "commit", "--quiet", "--all", "--message=Second")
    const { runLocation } = await run(hooks.prepare(request({ branch: "try/another-way", from: "v1" })))
    expect(runLocation?.branch).toBe("try/another-way")
    expect(readFileSync(join(path, "a.txt"), "utf8")).toBe("a\n")
    expect(git(repository, "rev-parse", "try/another-way")).toBe(git(repository, "rev-parse", "v1"))
  })

  const dirty = () => {
    const repository = newRepository({ "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n", ".gitignore": "ignored\n" })
    write(repository, "a.txt", "changed\n")
    write(repository, "b.txt", "staged\n")
    git(repository, "add", "b.txt")
    rmSync(join(repository, "c.txt"))
    write(repository, "new file", "new\n")
    write(repository, "ignored", "secret\n")
    return repository
  }

  it("leaves changes that are not committed where they are", async () => {
    const { hooks, path, repository, request } = place(dirty())
    const before = looksOf(repository)
    await run(hooks.prepare(request()))
    expect(git(path, "status", "--porcelain")).toBe("")
    expect(treeOf(path)).toMatchObject({ "a.txt": "a\n 644", "b.txt": "b\n 644", "c.txt": "c\n 644" })
    expect(looksOf(repository)).toMatchObject({ status: before.status, staged: before.staged })
  })

  it("has a copy of changes that are not committed where it is asked for, and they are as they were", async () => {
    const { hooks, path, repository, request } = place(dirty(), "")
    const before = looksOf(repository)
    const files = treeOf(repository)
    await run(hooks.prepare(request({ changes: "copy" })))
    const { ignored: _, ...copied } = files
    expect(treeOf(path)).toEqual(copied)
    expect(git(path, "rev-parse", "HEAD")).toBe(git(repository, "rev-parse", "HEAD"))
    expect(git(path, "diff", "--cached")).toBe("")
    expect(
      git(path, "status", "--porcelain")
        .split("\n")
        .map((line) => line.trim()),
    ).toEqual(["M a.txt", "M b.txt", "D c.txt", '?? "new file"'])
    expect(looksOf(repository)).toMatchObject({ status: before.status, staged: before.staged, head: before.head })
    expect(treeOf(repository)).toEqual(files)
    expect(readdirSync(join(repository, ".git")).filter((name) => name.includes("skein"))).toEqual([])
  })

  it("is the same when it is asked for again, with what was done in it since", async () => {
    const { hooks, path, request } = place()
    const first = await run(hooks.prepare(request()))
    write(path, "a.txt", "work\n")
    expect(await run(hooks.prepare(request()))).toEqual(first)
    expect(readFileSync(join(path, "a.txt"), "utf8")).toBe("work\n")
  })

  it("is made again where somebody has removed it meanwhile", async () => {
    const { hooks, path, request } = place()
    await run(hooks.prepare(request()))
    rmSync(path, { recursive: true })
    await run(hooks.prepare(request()))
    expect(git(path, "status", "--porcelain")).toBe("")
  })

  it("begins with the same commit when it is asked for again, though the source has moved on", async () => {
    const { directory, hooks, path, repository, request } = place()
    await run(hooks.prepare(request()))
    const commit = git(path, "rev-parse", "HEAD")
    write(repository, "a.txt", "later\n")
    git(repository, "commit", "--quiet", "--all", "--message=Second")
    const note = join(directory, ".skein/fork_1.json")
    writeFileSync(note, readFileSync(note, "utf8").replace('"ready":true', '"ready":false'))
    await run(hooks.prepare(request()))
    expect(git(path, "rev-parse", "HEAD")).toBe(commit)
  })
})

describe("FRK-04 what cannot be made is refused, and nothing is changed by it", () => {
  const field = (name: string) => ({ _tag: "InvalidInput", field: `options.workspace.${name}` })
  it.each<[string, WantedWorktree, object]>([
    ["a branch that is there", { branch: "main" }, field("branch")],
    ["a branch with an impossible name", { branch: "a..b" }, field("branch")],
    ["a branch that would be an option", { branch: "-f" }, field("branch")],
    ["a branch that means another", { branch: "@{-1}" }, field("branch")],
    ["a beginning that is no commit", { from: "nowhere" }, field("from")],
    ["a beginning that would be an option", { from: "--all" }, field("from")],
    ["changes onto another commit", { from: "main", changes: "copy" }, field("changes")],
    ["changes that mean nothing", { changes: "burn" as "copy" }, field("changes")],
    ["a field that nobody knows", { colour: "red" } as WantedWorktree, field("colour")],
  ])("%s", async (_, wanted, error) => {
    const { hooks, path, repository, request } = place()
    const before = looksOf(repository)
    expect(await failure(hooks.prepare(request(wanted)))).toMatchObject(error)
    await run(hooks.remove(request(wanted)))
    expect(looksOf(repository)).toEqual(before)
    expect(existsSync(path)).toBe(false)
  })

  it("a source without a directory, without a repository, without a commit, or that is gone", async () => {
    const { hooks, request } = place()
    const of = (workspace?: string) =>
      failure(
        hooks.prepare({
          ...request(),
          source: { sessionId: "ses_1", ...(workspace === undefined ? {} : { workspace }) },
        }),
      )
    const empty = newDirectory()
    git(empty, "init", "--quiet")
    expect(await of()).toMatchObject({ _tag: "WorktreeFault", problem: "works in no directory" })
    expect(await of(newDirectory())).toMatchObject({ _tag: "WorktreeFault", problem: "is in no git repository" })
    expect(await of("/projects/that never was")).toMatchObject({ _tag: "WorktreeFault", problem: "is not there" })
    expect(await of(empty)).toMatchObject({ _tag: "InvalidInput", field: "options.workspace.from" })
  })

  it("a directory that is there already, and stays", async () => {
    const { hooks, path, repository, request } = place()
    git(repository, "worktree", "add", "--quiet", "-b", "theirs", path)
    const before = looksOf(repository)
    expect(await failure(hooks.prepare(request()))).toMatchObject({
      _tag: "WorktreeFault",
      path,
      problem: "is there already",
    })
    await run(hooks.remove(request()))
    expect(looksOf(repository)).toEqual(before)
  })

  it("a git that is not there", async () => {
    const { directory, request } = place()
    const hooks = worktrees({ directory, git: "git-that-is-not-there" })
    expect(await failure(hooks.prepare(request()))).toMatchObject({
      _tag: "WorktreeFault",
      problem: expect.stringContaining("ENOENT"),
    })
  })

  it("what belongs to another repository by the environment", async () => {
    const other = newRepository()
    const { hooks, path, repository, request } = place()
    process.env["GIT_DIR"] = join(other, ".git")
    try {
      await run(hooks.prepare(request()))
    } finally {
      delete process.env["GIT_DIR"]
    }
    expect(looksOf(repository).worktrees).toContain(path)
    expect(looksOf(other).worktrees).not.toContain(path)
  })
})

describe("FRK-04 a worktree is taken back", () => {
  it("with its branch, as if it had never been, also twice, and where there was none", async () => {
    const { directory, hooks, repository, request } = place()
    const before = looksOf(repository)
    await run(hooks.remove(request()))
    await run(hooks.prepare(request({ changes: "copy" })))
    await run(hooks.remove(request()))
    await run(hooks.remove(request()))
    expect(looksOf(repository)).toEqual(before)
    expect(treeOf(directory)).toEqual({ ".skein": null })
    expect(existsSync(join(repository, ".git/worktrees/fork_1"))).toBe(false)
  })

  it.each<[string, (path: string) => void]>([
    ["a file that was changed", (path) => write(path, "a.txt", "work\n")],
    ["a file that was added", (path) => write(path, "work.txt", "work\n")],
    ["a file that was removed", (path) => rmSync(join(path, "a.txt"))],
    [
      "a file that was staged",
      (path) => {
        write(path, "a.txt", "work\n")
        git(path, "add", "a.txt")
      },
    ],
    [
      "a file that was changed on top of a commit",
      (path) => {
        write(path, "a.txt", "work\n")
        git(path, "commit", "--quiet", "--all", "--message=Work")
        write(path, "a.txt", "more work\n")
      },
    ],
  ])("only where nothing is in it that somebody did not commit: %s", async (_, work) => {
    const { hooks, path, repository, request } = place()
    await run(hooks.prepare(request({ changes: "copy" })))
    work(path)
    const [before, files] = [looksOf(repository), treeOf(path)]
    const ways = [() => run(hooks.remove(request())), () => hooks.release(path), () => hooks.release(join(path, "src"))]
    for (const way of ways) {
      expect(await failure(way())).toMatchObject({
        _tag: "WorktreeFault",
        path,
        problem: expect.stringContaining("not committed"),
      })
    }
    expect(looksOf(repository)).toEqual(before)
    expect(treeOf(path)).toEqual(files)
    await hooks.release(path, { force: true })
    expect(existsSync(path)).toBe(false)
    await hooks.release(path)
  })

  it("and its branch stays where there are commits on it", async () => {
    const { hooks, path, repository, request } = place()
    await run(hooks.prepare(request()))
    write(path, "a.txt", "work\n")
    git(path, "commit", "--quiet", "--all", "--message=Work")
    const commit = git(path, "rev-parse", "HEAD")
    await hooks.release(path)
    expect(existsSync(path)).toBe(false)
    expect(git(repository, "rev-parse", "skein/fork_1")).toBe(commit)
  })

  it("only where it was made here", async () => {
    const { directory, hooks, repository } = place()
    const theirs = join(directory, "theirs")
    git(repository, "worktree", "add", "--quiet", "-b", "theirs", theirs)
    for (const path of [theirs, repository, newDirectory()]) {
      expect(await failure(hooks.release(path, { force: true }))).toMatchObject({
        _tag: "WorktreeFault",
        problem: "is no worktree that was made here",
      })
    }
    expect(existsSync(theirs)).toBe(true)
  })

  it("leaves worktrees of others that cannot be seen just now", async () => {
    const { hooks, repository, request } = place()
    const away = join(newDirectory(), "away")
    git(repository, "worktree", "add", "--quiet", "-b", "theirs", away)
    rmSync(away, { recursive: true })
    await run(hooks.prepare(request()))
    await run(hooks.remove(request()))
    expect(looksOf(repository).worktrees).toContain(away)
  })

  it("though the directory of its source is gone", async () => {
    const { hooks, repository, request } = place()
    await run(hooks.prepare(request({}, "fork_1")))
    const nested = {
      ...request({}, "fork_2"),
      source: { sessionId: "ses_2", workspace: (await run(hooks.prepare(request()))).workspace },
    }
    await run(hooks.prepare(nested))
    await hooks.release(nested.source.workspace)
    await run(hooks.remove(nested))
    expect(looksOf(repository).worktrees.match(/^worktree /gm)).toHaveLength(1)
  })

  describe("half made", () => {
    const half = async (undo: (path: string, repository: string) => void) => {
      const here = place(newRepository({ "a.txt": "a long line of text\n", "b.txt": "b\n" }))
      await run(here.hooks.prepare(here.request()))
      const note = join(here.directory, ".skein/fork_1.json")
      writeFileSync(note, readFileSync(note, "utf8").replace('"ready":true', '"ready":false'))
      undo(here.path, here.repository)
      return here
    }
    const states: ReadonlyArray<readonly [string, (path: string, repository: string) => void]> = [
      ["files are missing", (path) => rmSync(join(path, "a.txt"))],
      ["a file was cut off", (path) => truncateSync(join(path, "a.txt"), 7)],
      ["a file is empty", (path) => truncateSync(join(path, "a.txt"), 0)],
      ["its index is missing", (_, repository) => rmSync(join(repository, ".git/worktrees/fork_1/index"))],
      [
        "git still has it locked",
        (_, repository) => writeFileSync(join(repository, ".git/worktrees/fork_1/locked"), "initializing"),
      ],
      [
        "git has not written what it checks out",
        (path, repository) => {
          for (const name of ["a.txt", "b.txt"]) rmSync(join(path, name))
          rmSync(join(repository, ".git/worktrees/fork_1/HEAD"))
          writeFileSync(join(repository, ".git/worktrees/fork_1/locked"), "initializing")
        },
      ],
      [
        "git has not written where it is",
        (path, repository) => {
          rmSync(path, { recursive: true })
          mkdirSync(path)
          for (const name of ["HEAD", "gitdir", "commondir", "index"])
            rmSync(join(repository, ".git/worktrees/fork_1", name))
          writeFileSync(join(repository, ".git/worktrees/fork_1/locked"), "initializing")
        },
      ],
      [
        "there is a branch and nothing else",
        (path, repository) => {
          git(repository, "worktree", "remove", "--force", path)
        },
      ],
      [
        "there is nothing",
        (path, repository) => {
          git(repository, "worktree", "remove", "--force", path)
          git(repository, "branch", "--delete", "--force", "skein/fork_1")
        },
      ],
    ]

    it.each(states)("is taken back: %s", async (_, undo) => {
      const { directory, hooks, path, repository, request } = await half(undo)
      await run(hooks.remove(request()))
      expect(existsSync(path)).toBe(false)
      expect(treeOf(directory)).toEqual({ ".skein": null })
      expect(looksOf(repository)).toMatchObject({ branches: [expect.stringContaining("main")], status: "" })
      expect(looksOf(repository).worktrees).not.toContain("fork_1")
      expect(existsSync(join(repository, ".git/worktrees/fork_1"))).toBe(false)
    })

    it.each(states)("is finished: %s", async (_, undo) => {
      const { hooks, path, repository, request } = await half(undo)
      await run(hooks.prepare(request()))
      expect(git(path, "status", "--porcelain")).toBe("")
      expect(treeOf(path)).toEqual({ "a.txt": "a long line of text\n 644", "b.txt": "b\n 644" })
      expect(readdirSync(join(repository, ".git/worktrees"))).toEqual(["fork_1"])
      expect(looksOf(repository).worktrees).not.toContain("locked")
    })

    it.each<[string, (path: string) => void]>([
      ["a file of somebody's", (path) => write(path, "mine.txt", "mine\n")],
      ["a file that somebody changed", (path) => write(path, "a.txt", "mine\n")],
    ])("is left alone where there is %s", async (_, work) => {
      const { hooks, path, request } = await half(work)
      const files = treeOf(path)
      expect(await failure(hooks.remove(request()))).toMatchObject({ _tag: "WorktreeFault", path })
      expect(await failure(hooks.prepare(request()))).toMatchObject({ _tag: "WorktreeFault", path })
      expect(treeOf(path)).toEqual(files)
    })
  })
})
