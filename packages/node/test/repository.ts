/**
 * Repositories to try things on, and git itself to ask what became of them.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import process from "node:process"
import { newDirectory } from "./directory.ts"

/** Whoever runs the tests may have settings of their own. */
const settings = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.com",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.com",
}
Object.assign(process.env, settings)

export const git = (directory: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("git", args, { cwd: directory, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()

export const write = (directory: string, path: string, text: string): void => {
  mkdirSync(dirname(join(directory, path)), { recursive: true })
  writeFileSync(join(directory, path), text)
}

/** A repository with a commit, its directory has a space in its name. */
export const newRepository = (
  files: Readonly<Record<string, string>> = { "a.txt": "a\n", "src/b.txt": "b\n" },
): string => {
  const path = join(newDirectory(), "a repository")
  mkdirSync(path)
  git(path, "init", "--quiet", "--initial-branch=main")
  for (const [file, text] of Object.entries(files)) write(path, file, text)
  git(path, "add", "--all")
  git(path, "commit", "--quiet", "--message=First", "--allow-empty")
  return path
}

/** What a repository is to whoever looks at it: branches, worktrees, what it has checked out and what is not committed. */
export const looksOf = (repository: string) => ({
  branches: git(repository, "for-each-ref", "--format=%(refname) %(objectname)").split("\n"),
  worktrees: git(repository, "worktree", "list", "--porcelain"),
  head: git(repository, "symbolic-ref", "HEAD"),
  status: git(repository, "status", "--porcelain"),
  staged: git(repository, "diff", "--cached"),
})
