import { chmodSync, cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { beforeAll, describe, expect, it } from "vitest"
import { fileHistory } from "../src/index.ts"
import { newDirectory, treeOf } from "./directory.ts"
import { bundle, runScript } from "./process/child.ts"

const run = Effect.runPromise

let script: string
beforeAll(async () => {
  script = await bundle("take-back.ts")
})

/** Two turns that create, change and remove files, and what was before and after them. */
const prepare = async () => {
  const [directory, workspaceDir] = [newDirectory(), newDirectory()]
  const files = fileHistory({ directory })
  const path = (name: string) => join(workspaceDir, name)
  writeFileSync(path("changed"), "0")
  mkdirSync(path("d"))
  writeFileSync(path("d/removed"), "0")
  chmodSync(path("d/removed"), 0o440)
  const before = treeOf(workspaceDir)
  const turn = (turnId: string) => ({ sessionId: "ses_1", turnId, workspaceDir })
  await files.change(turn("t1"), ["changed", "new/made"], async () => {
    writeFileSync(path("changed"), "1")
    mkdirSync(path("new"))
    writeFileSync(path("new/made"), "1")
  })
  await files.change(turn("t2"), ["changed", "d/removed"], async () => {
    writeFileSync(path("changed"), "2")
    rmSync(path("d"), { recursive: true })
  })
  return { directory, workspaceDir, before, after: treeOf(workspaceDir) }
}

type Place = Awaited<ReturnType<typeof prepare>>

const copied = (place: Place): Place => {
  // What is kept of a turn names no place, so that a copy of all of it is a place of its own.
  const [directory, workspaceDir] = [newDirectory(), newDirectory()]
  cpSync(place.directory, directory, { recursive: true })
  cpSync(place.workspaceDir, workspaceDir, { recursive: true })
  return { ...place, directory, workspaceDir }
}

const attempt = (workspaceDir: string) => ({ sessionId: "ses_1", workspaceDir, turns: ["t2", "t1"], id: "run_1" })

/** Each change to the disk, and whether it is the last before the death or the first that is missing. */
const deaths = (count: number) =>
  Array.from({ length: count }, (_, i) => [i + 1, "before"] as const).concat([[count, "behind"] as never])

describe("RWD-05 a process that dies", () => {
  it(
    "while it takes turns back leaves nothing half done: whoever rolls back finds every file as it was",
    { timeout: 240_000 },
    async () => {
      const original = await prepare()
      const whole = copied(original)
      const count = Number(await runScript(script, [whole.directory, whole.workspaceDir, "apply", "0", "before"]))
      expect(count).toBeGreaterThan(20)
      expect(treeOf(whole.workspaceDir)).toEqual(whole.before)

      let midway = 0
      for (const [n, when] of deaths(count)) {
        const place = copied(original)
        const printed = await runScript(script, [place.directory, place.workspaceDir, "apply", String(n), when])
        expect(printed).toBeUndefined()
        const found = treeOf(place.workspaceDir)
        for (const [path, text] of Object.entries(found)) {
          if (text === null || path.includes(".skein-")) continue
          expect([place.before[path], place.after[path]], `${path} after death ${when} ${n}`).toContain(text)
        }
        if (JSON.stringify(found) !== JSON.stringify(place.after)) midway++
        await run(fileHistory(place).rollback(attempt(place.workspaceDir)))
        expect(treeOf(place.workspaceDir), `after death ${when} ${n}`).toEqual(place.after)
      }
      expect(midway).toBeGreaterThan(5)
    },
  )

  it("while it rolls back leaves what the next one finishes", { timeout: 240_000 }, async () => {
    const original = await prepare()
    const files = fileHistory(original)
    await run(files.apply(attempt(original.workspaceDir), (await run(files.plan(attempt(original.workspaceDir)))).hash))
    const roll = (place: Place, n: number, when: string) =>
      runScript(script, [place.directory, place.workspaceDir, "rollback", String(n), when])

    // The run names its workspace, so it is done over again in its own place.
    const again = async () => {
      await run(files.rollback(attempt(original.workspaceDir)))
      expect(treeOf(original.workspaceDir)).toEqual(original.after)
      await run(
        files.apply(attempt(original.workspaceDir), (await run(files.plan(attempt(original.workspaceDir)))).hash),
      )
      expect(treeOf(original.workspaceDir)).toEqual(original.before)
    }
    const count = Number(await roll(original, 0, "before"))
    expect(count).toBeGreaterThan(10)
    expect(treeOf(original.workspaceDir)).toEqual(original.after)
    for (const [n, when] of deaths(count)) {
      await again()
      expect(await roll(original, n, when)).toBeUndefined()
    }
    await again()
  })
})
