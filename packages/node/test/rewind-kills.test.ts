import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { sqlite } from "@skein/adapter-sqlite"
import { Skein } from "@skein/core"
import { beforeAll, expect, it } from "vitest"
import { fileHistory } from "../src/index.ts"
import { newDirectory, treeOf } from "./directory.ts"
import { bundle, runScript } from "./process/child.ts"

let script: string
beforeAll(async () => {
  script = await bundle("rewind.ts")
})

/** A session with two turns that change files. */
const place = async () => {
  const [directory, workspace] = [newDirectory(), newDirectory()]
  const files = fileHistory({ directory })
  const url = `file:${join(directory, "chat.db")}`
  const path = (name: string) => join(workspace, name)
  writeFileSync(path("changed"), "0")
  writeFileSync(path("removed"), "0")
  const before = treeOf(workspace)
  const skein = await Skein.open(sqlite({ url }), { fileHistory: files })
  await skein.sessions.create({ id: "ses_1", workspace })
  for (const n of [1, 2]) {
    const prompt = { id: `u${n}`, body: { role: "user", content: "Go on" } }
    await skein.turns.run("ses_1", { prompt }, async (turn) => {
      const changing = { sessionId: "ses_1", turnId: turn.id, workspaceDir: workspace }
      await files.change(changing, ["changed", "removed", `made${n}`], async () => {
        writeFileSync(path("changed"), `${n}`)
        writeFileSync(path(`made${n}`), `${n}`)
        rmSync(path("removed"), { force: true })
      })
      await turn.settle({ role: "assistant", content: "Done" })
    })
  }
  const { head } = await skein.sessions.get("ses_1")
  await skein.close()
  return { directory, workspace, files, url, before, after: treeOf(workspace), head }
}

it(
  "RWD-05 a process that dies at any step of a rewind leaves head and files together once recovered",
  { timeout: 240_000 },
  async () => {
    const whole = await place()
    const count = Number(await runScript(script, [whole.url, whole.directory, "0", "before"]))
    expect(count).toBeGreaterThan(15)
    expect(treeOf(whole.workspace)).toEqual(whole.before)

    const deaths = Array.from({ length: count }, (_, i) => [`${i + 1}`, "before"]).concat([[`${count}`, "behind"]])
    const dieNext = async (): Promise<void> => {
      const death = deaths.pop()
      if (death === undefined) return
      const { after, before, directory, files, head, url, workspace } = await place()
      expect(await runScript(script, [url, directory, ...death])).toBeUndefined()
      const skein = await Skein.open(sqlite({ url }), { fileHistory: files })
      await skein.turns.recover()
      const found = await skein.sessions.get("ses_1")
      expect([found.head, treeOf(workspace)], `died ${death.join(" ")}`).toEqual([head, after])
      await skein.rewinds.rewind("ses_1", "u1")
      expect(treeOf(workspace), `died ${death.join(" ")}`).toEqual(before)
      expect((await skein.sessions.get("ses_1")).head).toBeNull()
      await skein.close()
      return dieNext()
    }
    await Promise.all([dieNext(), dieNext(), dieNext()])
  },
)
