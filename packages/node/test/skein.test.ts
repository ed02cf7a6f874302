import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { sqlite } from "@skein/adapter-sqlite"
import { Skein } from "@skein/core"
import { expect, it } from "vitest"
import { fileHistory, worktrees } from "../src/index.ts"
import { newDirectory } from "./directory.ts"
import { git, looksOf, newRepository, write } from "./repository.ts"

const open = async () => {
  const [directory, repository] = [newDirectory(), newRepository()]
  const files = fileHistory({ directory })
  const workspaces = worktrees({ directory: join(directory, "worktrees") })
  const url = `file:${join(directory, "chat.db")}`
  const skein = await Skein.open(sqlite({ url }), { fileHistory: files, onDelete: [files], workspaces })
  await skein.sessions.create({ id: "ses_1", workspace: repository, title: "Source" })
  return { skein, directory, files, repository }
}

type Opened = Awaited<ReturnType<typeof open>>

/** A turn that answers a prompt and writes a file. */
const turn = ({ files, skein }: Opened, session: string, workspaceDir: string, prompt: string, text: string) =>
  skein.turns.run(
    session,
    { prompt: { id: prompt, body: { role: "user", content: prompt } } },
    async ({ id, settle }) => {
      await files.change({ sessionId: session, turnId: id, workspaceDir }, ["a.txt"], async () => {
        writeFileSync(join(workspaceDir, "a.txt"), text)
      })
      await settle({ role: "assistant", content: text })
    },
  )

it("FRK-04 RWD-05 a fork works in a worktree of its own, and its files go back with it", async () => {
  const opened = await open()
  const { repository, skein } = opened
  await turn(opened, "ses_1", repository, "u1", "one\n")
  const fork = await skein.forks.fork("ses_1", { workspace: { branch: "another-way", changes: "copy" } })
  const place = fork.workspaceDir!
  expect(fork.runLocation).toEqual({ kind: "new-worktree", branch: "another-way", parentRepository: repository })
  expect(git(place, "status", "--porcelain")).toBe("M a.txt")
  const read = (directory: string) => readFileSync(join(directory, "a.txt"), "utf8")

  await turn(opened, fork.id, place, "u2", "two\n")
  await turn(opened, fork.id, place, "u3", "three\n")
  expect([read(repository), read(place)]).toEqual(["one\n", "three\n"])
  await skein.rewinds.rewind(fork.id, "u2")
  expect([read(repository), read(place)]).toEqual(["one\n", "one\n"])
  await skein.close()
})

it("RWD-05 a file that somebody changed since keeps head and files where they are", async () => {
  const opened = await open()
  const { repository, skein } = opened
  await turn(opened, "ses_1", repository, "u1", "one\n")
  write(repository, "a.txt", "mine\n")
  const { head } = await skein.sessions.get("ses_1")
  const plan = await skein.rewinds.plan("ses_1", "u1")
  expect(plan.files).toMatchObject({ conflicts: 1, effects: [{ path: "a.txt", conflict: "was changed since" }] })
  await expect(skein.rewinds.rewind("ses_1", "u1")).rejects.toMatchObject({ _tag: "FileRewindFailed" })
  expect((await skein.sessions.get("ses_1")).head).toBe(head)
  expect(readFileSync(join(repository, "a.txt"), "utf8")).toBe("mine\n")
  await skein.close()
})

it("FRK-04 a fork that cannot be made leaves nothing", async () => {
  const { repository, skein } = await open()
  const before = looksOf(repository)
  const refused = skein.forks.fork("ses_1", { workspace: { branch: "main" } })
  await expect(refused).rejects.toMatchObject({ _tag: "WorkspaceFailed", problem: expect.stringContaining("main") })
  expect(looksOf(repository)).toEqual(before)
  expect((await skein.sessions.list()).sessions).toHaveLength(1)
  expect(existsSync(join(repository, ".git/worktrees"))).toBe(false)
  await skein.close()
})

it("DEL-01 what is kept of the files of a session goes with it", async () => {
  const opened = await open()
  const { directory, repository, skein } = opened
  await skein.sessions.create({ id: "ses_2", workspace: repository })
  for (const session of ["ses_1", "ses_2"]) await turn(opened, session, repository, `u_${session}`, `${session}\n`)
  const deletion = await skein.sessions.delete("ses_1")
  expect(deletion.failures).toEqual([])
  expect(readdirSync(join(directory, ".file-recovery"))).toEqual(["ses_2"])
  expect(readFileSync(join(repository, "a.txt"), "utf8")).toBe("ses_2\n")
  await skein.close()
})
