import { chmodSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { sqlite } from "@skein/adapter-sqlite"
import { Skein } from "@skein/core"
import { beforeAll, expect, it } from "vitest"
import { worktrees } from "../src/index.ts"
import { newDirectory, treeOf } from "./directory.ts"
import { bundle, runScript } from "./process/child.ts"
import { git, looksOf, newRepository, write } from "./repository.ts"

let script: string
let program: string
beforeAll(async () => {
  script = await bundle("fork.ts")
  // Stands for git, counts, and ends whoever has called it: before git has done anything, or behind it.
  program = join(newDirectory(), "git")
  writeFileSync(
    program,
    `#!/bin/sh
n=$(($(cat "$COUNT_GIT") + 1))
echo $n > "$COUNT_GIT"
if [ "$n before" = "$DIE_GIT" ]; then kill -9 $PPID; exit 1; fi
git "$@"
code=$?
if [ "$n behind" = "$DIE_GIT" ]; then kill -9 $PPID; fi
exit $code
`,
  )
  chmodSync(program, 0o755)
})

const place = async () => {
  const repository = newRepository()
  write(repository, "a.txt", "not committed\n")
  write(repository, "new.txt", "new\n")
  const directory = join(newDirectory(), "work trees")
  const url = `file:${join(newDirectory(), "chat.db")}`
  const workspaces = worktrees({ directory })
  const skein = await Skein.open(sqlite({ url }), { workspaces })
  await skein.sessions.create({ id: "ses_1", workspace: repository, title: "Source" })
  await skein.messages.append("ses_1", { role: "user", content: "Hello" })
  await skein.messages.append("ses_1", { role: "assistant", content: "Hi" })
  await skein.close()
  return { repository, directory, url, workspaces, counted: join(newDirectory(), "count") }
}

type Place = Awaited<ReturnType<typeof place>>

/** Forks in a process that dies as it is told; `undefined`: it died. */
const fork = async ({ counted, directory, url }: Place, gitCall: string, change: string) => {
  writeFileSync(counted, "0")
  return runScript(script, [url, directory, program, ...change.split(" ")], { COUNT_GIT: counted, DIE_GIT: gitCall })
}

/** Recovers, and holds what is there against what may be: a whole fork, or no trace of one. Then forks again. */
const check = async (
  at: string,
  { directory, repository, url, workspaces }: Place,
  before: ReturnType<typeof looksOf>,
) => {
  const skein = await Skein.open(sqlite({ url }), { workspaces })
  try {
    const listed = async () => (await skein.sessions.list()).sessions.filter(({ id }) => id !== "ses_1")
    const isWhole = async () => {
      const [session] = await listed()
      expect(treeOf(session!.workspaceDir!), `died at ${at}`).toEqual({
        "a.txt": "not committed\n 644",
        "new.txt": "new\n 644",
        src: null,
        "src/b.txt": "b\n 644",
      })
      expect(git(session!.workspaceDir!, "diff", "--cached"), `died at ${at}`).toBe("")
      expect(looksOf(repository).worktrees.match(/^worktree /gm), `died at ${at}`).toHaveLength(2)
    }
    // Before anybody has recovered anything no half of a fork is in a list.
    if ((await listed()).length > 0) await isWhole()
    await skein.turns.recover()
    const found = await listed()
    if (found.length === 0) {
      expect(looksOf(repository), `died at ${at}`).toEqual(before)
      expect(
        Object.keys(treeOf(directory)).filter((name) => name !== ".skein"),
        `died at ${at}`,
      ).toEqual([])
    } else await isWhole()
    await skein.forks.fork("ses_1", { workspace: { changes: "copy" }, operationId: "once" })
    expect(await listed(), `died at ${at}`).toHaveLength(1)
    await isWhole()
  } finally {
    await skein.close()
  }
}

it(
  "FRK-04 a process that dies at any step of git or of its own leaves a whole fork or, once recovered, no trace of one",
  { timeout: 240_000 },
  async () => {
    const whole = await place()
    const changes = Number(await fork(whole, "", "0 before"))
    const calls = Number(readFileSync(whole.counted, "utf8"))
    expect([calls, changes].every((count) => count > 8)).toBe(true)
    const deaths = [
      ...Array.from({ length: calls }, (_, i) => [`${i + 1} before`, "0 before"] as const),
      // Behind one call is before the next one, but for the last.
      [`${calls} behind`, "0 before"] as const,
      ...Array.from({ length: changes }, (_, i) => ["", `${i + 1} before`] as const),
    ]
    const dieNext = async (): Promise<void> => {
      const death = deaths.pop()
      if (death === undefined) return
      const at = `git ${death[0]}, disk ${death[1]}`
      const one = await place()
      const before = looksOf(one.repository)
      expect(await fork(one, death[0]!, death[1]!), `died at ${at}`).toBeUndefined()
      await check(at, one, before)
      return dieNext()
    }
    await Promise.all([dieNext(), dieNext(), dieNext()])
  },
)
