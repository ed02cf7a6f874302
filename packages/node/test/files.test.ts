import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { FileFault } from "@skein/core/rewind"
import { InvalidInput } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"
import process from "node:process"
import { describe, expect, it } from "vitest"
import { fileHistory } from "../src/index.ts"
import type { Files } from "../src/index.ts"
import { newDirectory, treeOf } from "./directory.ts"

const run = Effect.runPromise

interface Place {
  readonly files: Files
  readonly directory: string
  readonly workspaceDir: string
  readonly write: (path: string, text: string) => void
  /** A turn that leaves files with these contents; `null` removes. */
  readonly turn: (turnId: string, contents: Readonly<Record<string, string | null>>) => Promise<void>
  readonly rewind: (...turns: ReadonlyArray<string>) => {
    sessionId: string
    workspaceDir: string
    turns: ReadonlyArray<string>
  }
}

const place = (): Place => {
  const [directory, workspaceDir] = [newDirectory(), newDirectory()]
  const files = fileHistory({ directory })
  const write = (path: string, text: string) => {
    mkdirSync(join(workspaceDir, path, ".."), { recursive: true })
    writeFileSync(join(workspaceDir, path), text)
  }
  return {
    files,
    directory,
    workspaceDir,
    write,
    turn: (turnId, contents) =>
      files.change({ sessionId: "ses_1", turnId, workspaceDir }, Object.keys(contents), async () => {
        for (const [path, text] of Object.entries(contents)) {
          if (text === null) rmSync(join(workspaceDir, path), { force: true })
        }
        for (const [path, text] of Object.entries(contents)) if (text !== null) write(path, text)
      }),
    rewind: (...turns) => ({ sessionId: "ses_1", workspaceDir, turns }),
  }
}

/** As a rewind does it. */
const takeBack = async ({ files, rewind }: Place, ...turns: ReadonlyArray<string>) => {
  const attempt = { ...rewind(...turns), id: `run_${turns.join("_")}` }
  const { hash } = await run(files.plan(attempt))
  await run(files.apply(attempt, hash))
  await run(files.verify(attempt))
  return attempt
}

const failure = async (promise: PromiseLike<unknown>) => {
  try {
    await promise
  } catch (thrown) {
    return thrown
  }
  throw new Error("it did not fail")
}

describe("RWD-05 files that turns changed", () => {
  it("are what they were before, in one turn or in several", async () => {
    const here = place()
    here.write("a.txt", "a0")
    here.write("src/b.txt", "b0")
    chmodSync(join(here.workspaceDir, "src/b.txt"), 0o755)
    const before = treeOf(here.workspaceDir)
    await here.turn("t1", { "a.txt": "a1", "new/deep/c.txt": "c1" })
    const between = treeOf(here.workspaceDir)
    await here.turn("t2", { "a.txt": "a2", "src/b.txt": null, "d.txt": "d2" })
    const { files, rewind } = here

    expect(await run(files.plan(rewind("t2")))).toMatchObject({
      effects: [
        { path: "a.txt", effect: "restored" },
        { path: "d.txt", effect: "removed" },
        { path: "src/b.txt", effect: "created" },
      ],
      files: 3,
      conflicts: 0,
      unknown: [],
    })
    const attempt = await takeBack(here, "t2")
    expect(treeOf(here.workspaceDir)).toEqual(between)
    await run(files.rollback(attempt))

    await takeBack(here, "t2", "t1")
    expect(treeOf(here.workspaceDir)).toEqual(before)
  })

  it("are what they are after a rollback, which may come again, or without an apply", async () => {
    const here = place()
    here.write("a.txt", "a0")
    await here.turn("t1", { "a.txt": null, "b/c.txt": "c1" })
    const after = treeOf(here.workspaceDir)
    await run(here.files.rollback({ ...here.rewind("t1"), id: "never" }))
    const attempt = await takeBack(here, "t1")
    expect(treeOf(here.workspaceDir)).not.toEqual(after)
    await run(here.files.rollback(attempt))
    expect(treeOf(here.workspaceDir)).toEqual(after)
    await run(here.files.rollback(attempt))
    expect(treeOf(here.workspaceDir)).toEqual(after)
    expect(readdirSync(join(here.directory, ".file-recovery/ses_1/.runs"))).toEqual([])
  })

  it("may take each other's place: a file where a directory was, and the other way round", async () => {
    const here = place()
    here.write("x", "file")
    here.write("y/z", "in a directory")
    const before = treeOf(here.workspaceDir)
    await here.turn("t1", { x: null, "y/z": null })
    rmSync(join(here.workspaceDir, "y"), { recursive: true })
    await here.turn("t2", { "x/inner": "deep", y: "file" })
    const after = treeOf(here.workspaceDir)
    const attempt = await takeBack(here, "t2", "t1")
    expect(treeOf(here.workspaceDir)).toEqual(before)
    await run(here.files.rollback(attempt))
    expect(treeOf(here.workspaceDir)).toEqual(after)
  })

  it("that somebody has restored by hand need nothing", async () => {
    const here = place()
    here.write("a.txt", "a0")
    await here.turn("t1", { "a.txt": "a1" })
    here.write("a.txt", "a0")
    expect(await run(here.files.plan(here.rewind("t1")))).toMatchObject({ effects: [], files: 0, conflicts: 0 })
    await takeBack(here, "t1")
  })

  it("are kept under the session and the turn, outside the workspace", async () => {
    const here = place()
    here.write("a.txt", "a0")
    await here.turn("t1", { "a.txt": "a1" })
    const kept = join(here.directory, ".file-recovery", "ses_1", "t1")
    expect(readdirSync(kept).map((name) => readFileSync(join(kept, name), "utf8"))).toContain("a0")
  })

  it("are recorded though what changed them failed, and its error is given", async () => {
    const here = place()
    here.write("a.txt", "a0")
    const boom = new Error("boom")
    const changing = here.files.change(
      { sessionId: "ses_1", turnId: "t1", workspaceDir: here.workspaceDir },
      ["a.txt"],
      async () => {
        here.write("a.txt", "half")
        throw boom
      },
    )
    expect(await failure(changing)).toBe(boom)
    await takeBack(here, "t1")
    expect(readFileSync(join(here.workspaceDir, "a.txt"), "utf8")).toBe("a0")
  })

  it("by several tools of one turn at a time are all recorded", async () => {
    const here = place()
    const before = treeOf(here.workspaceDir)
    await Promise.all(Array.from({ length: 20 }, (_, n) => here.turn("t1", { [`${n}.txt`]: `${n}` })))
    expect(await run(here.files.plan(here.rewind("t1")))).toMatchObject({ files: 20, conflicts: 0 })
    await takeBack(here, "t1")
    expect(treeOf(here.workspaceDir)).toEqual(before)
  })
})

describe("RWD-05 what somebody else did is refused, not overwritten", () => {
  const changes: ReadonlyArray<readonly [string, (here: Place) => Promise<void> | void, string]> = [
    ["a file that was changed since", (here) => here.write("a.txt", "mine"), "was changed since"],
    ["a file that was removed since", ({ workspaceDir }) => rmSync(join(workspaceDir, "a.txt")), "was changed since"],
    [
      "a mode that was changed since",
      ({ workspaceDir }) => chmodSync(join(workspaceDir, "a.txt"), 0o700),
      "was changed since",
    ],
    [
      "a directory in the place of the file",
      ({ workspaceDir }) => {
        rmSync(join(workspaceDir, "a.txt"))
        mkdirSync(join(workspaceDir, "a.txt"))
      },
      "was changed since",
    ],
    [
      "a file that was changed between two turns",
      async (here) => {
        here.write("a.txt", "mine")
        await here.turn("t2", { "a.txt": "mine and a2" })
      },
      "between the turns",
    ],
    [
      "a file that was changed between two changes of a turn",
      async (here) => {
        here.write("a.txt", "mine")
        await here.turn("t1", { "a.txt": "mine and a1" })
      },
      "while its turn ran",
    ],
    [
      "a file whose turn was cut off",
      async (here) => {
        await run(here.files.before({ sessionId: "ses_1", turnId: "t2", workspaceDir: here.workspaceDir }, ["a.txt"]))
        here.write("a.txt", "half")
      },
      "cut off",
    ],
    [
      "a file of which nothing is kept any more",
      ({ directory }) => {
        const kept = join(directory, ".file-recovery/ses_1/t1")
        for (const name of readdirSync(kept)) if (name.length === 64) rmSync(join(kept, name))
      },
      "nothing is kept",
    ],
  ]

  it.each(changes)("%s", async (_, change, problem) => {
    const here = place()
    here.write("a.txt", "a0")
    here.write("b.txt", "b0")
    await here.turn("t1", { "a.txt": "a1", "b.txt": "b1" })
    await change(here)
    const before = treeOf(here.workspaceDir)
    const attempt = { ...here.rewind("t2", "t1"), id: "run_1" }
    const plan = await run(here.files.plan(attempt))
    expect(plan.conflicts).toBeGreaterThan(0)
    expect(plan.effects[0]).toMatchObject({ path: "a.txt", conflict: expect.stringContaining(problem) })
    const refused = await failure(run(here.files.apply(attempt, plan.hash)))
    expect(refused).toBeInstanceOf(FileFault)
    expect(refused).toMatchObject({ path: "a.txt", problem: expect.stringContaining(problem) })
    expect(treeOf(here.workspaceDir)).toEqual(before)
    await run(here.files.rollback(attempt))
    expect(treeOf(here.workspaceDir)).toEqual(before)
  })

  it("what changed between plan and apply", async () => {
    const here = place()
    here.write("a.txt", "a0")
    await here.turn("t1", { "a.txt": "a1" })
    const attempt = { ...here.rewind("t1"), id: "run_1" }
    const { hash } = await run(here.files.plan(attempt))
    expect((await run(here.files.plan(attempt))).hash).toBe(hash)
    here.write("a.txt", "mine")
    expect(await failure(run(here.files.apply(attempt, hash)))).toMatchObject({
      _tag: "FileFault",
      problem: expect.stringContaining("plan"),
    })
    expect(readFileSync(join(here.workspaceDir, "a.txt"), "utf8")).toBe("mine")
  })

  it("what was written behind an apply fails its verify, and a rollback leaves it alone", async () => {
    const here = place()
    here.write("a.txt", "a0")
    here.write("b.txt", "b0")
    await here.turn("t1", { "a.txt": "a1", "b.txt": "b1" })
    const attempt = await takeBack(here, "t1")
    here.write("a.txt", "mine")
    expect(await failure(run(here.files.verify(attempt)))).toMatchObject({ _tag: "FileFault", path: "a.txt" })
    await run(here.files.rollback(attempt))
    expect(treeOf(here.workspaceDir)).toMatchObject({ "a.txt": "mine 644", "b.txt": "b1 644" })
  })

  it("a directory that became a link since", async () => {
    const here = place()
    const elsewhere = newDirectory()
    here.write("src/a.txt", "a0")
    await here.turn("t1", { "src/a.txt": "a1" })
    renameSync(join(here.workspaceDir, "src"), join(elsewhere, "src"))
    symlinkSync(join(elsewhere, "src"), join(here.workspaceDir, "src"))
    const plan = await run(here.files.plan(here.rewind("t1")))
    expect(plan.effects).toEqual([{ path: "src/a.txt", effect: "restored", conflict: expect.stringContaining("link") }])
    expect(readFileSync(join(elsewhere, "src/a.txt"), "utf8")).toBe("a1")
  })

  it("a directory of somebody's in the place of a file that a turn removed", async () => {
    const here = place()
    here.write("a", "a0")
    await here.turn("t1", { a: null })
    here.write("a/mine", "mine")
    expect(await run(here.files.plan(here.rewind("t1")))).toMatchObject({
      effects: [{ path: "a", effect: "created", conflict: "is a directory now" }],
    })
  })

  it("the first hundred of a plan are those in the way, then by path", async () => {
    const here = place()
    const names = Array.from({ length: 130 }, (_, n) => `${String(n).padStart(3, "0")}.txt`)
    await here.turn("t1", Object.fromEntries(names.map((name) => [name, "1"])))
    here.write("129.txt", "mine")
    const { conflicts, effects, files } = await run(here.files.plan(here.rewind("t1")))
    expect([files, conflicts, effects.length]).toEqual([130, 1, 100])
    expect(effects.slice(0, 2).map(({ path }) => path)).toEqual(["129.txt", "000.txt"])
  })
})

describe("RWD-05 paths", () => {
  const turn = (workspaceDir: string) => ({ sessionId: "ses_1", turnId: "t1", workspaceDir })

  it.each<[string, (here: Place) => string]>([
    ["..", () => "../a.txt"],
    [".. in the middle", () => "src/../a.txt"],
    [".. with backslashes", () => "src\\..\\a.txt"],
    ["an absolute path outside", () => "/etc/passwd"],
    ["the workspace itself", ({ workspaceDir }) => workspaceDir],
    ["nothing", () => ""],
    ["half a path", () => "a\0b"],
    [
      "a link that leads out",
      ({ workspaceDir }) => {
        symlinkSync(newDirectory(), join(workspaceDir, "out"))
        return "out/a.txt"
      },
    ],
    [
      "a link to a file outside",
      ({ directory, workspaceDir }) => {
        writeFileSync(join(directory, "secret"), "s")
        symlinkSync(join(directory, "secret"), join(workspaceDir, "secret"))
        return "secret"
      },
    ],
    [
      "a link to nothing",
      ({ workspaceDir }) => {
        symlinkSync(join(workspaceDir, "nowhere"), join(workspaceDir, "link"))
        return "link"
      },
    ],
    [
      "a link to nothing, above",
      ({ workspaceDir }) => {
        symlinkSync("/nowhere at all", join(workspaceDir, "link"))
        return "link/a.txt"
      },
    ],
    [
      "a directory",
      ({ workspaceDir }) => {
        mkdirSync(join(workspaceDir, "src"))
        return "src"
      },
    ],
  ])("that lead astray are InvalidInput, and nothing is run: %s", async (_, make) => {
    const here = place()
    const path = make(here)
    let ran = false
    const refused = await failure(
      here.files.change(turn(here.workspaceDir), ["a.txt", path], async () => {
        ran = true
      }),
    )
    expect(refused).toBeInstanceOf(InvalidInput)
    expect(refused).toMatchObject({ field: "paths.1", value: path })
    expect(ran).toBe(false)
  })

  it.each([
    ["sessionId", { sessionId: "..", turnId: "t1" }],
    ["turnId", { sessionId: "ses_1", turnId: "a/b" }],
  ])("ids that are no names are InvalidInput: %s", async (field, ids) => {
    const here = place()
    const refused = await failure(
      here.files.change({ ...ids, workspaceDir: here.workspaceDir }, ["a.txt"], async () => {}),
    )
    expect(refused).toMatchObject({ _tag: "InvalidInput", field })
  })

  it("that lead to one file are one, by links and absolute", async () => {
    const here = place()
    here.write("src/a.txt", "a0")
    symlinkSync("src", join(here.workspaceDir, "link"))
    const paths = ["src/a.txt", "link/a.txt", join(here.workspaceDir, "src/a.txt")]
    await here.files.change(turn(here.workspaceDir), paths, async () => here.write("src/a.txt", "a1"))
    expect(await run(here.files.plan(here.rewind("t1")))).toMatchObject({ effects: [{ path: "src/a.txt" }], files: 1 })
  })

  it("to what is kept are refused, where it is in the workspace", async () => {
    const workspaceDir = newDirectory()
    const files = fileHistory({ directory: workspaceDir })
    await files.change(turn(workspaceDir), ["a.txt"], async () => {})
    const path = ".file-recovery/ses_1/t1/record.json"
    expect(await failure(files.change(turn(workspaceDir), [path], async () => {}))).toMatchObject({ field: "paths.0" })
  })
})

describe("RWD-05 sessions", () => {
  it("of which nothing is known are eligible, and their plans are empty", async () => {
    const { files, rewind, workspaceDir } = place()
    expect(await run(files.eligible({ sessionId: "ses_1", workspaceDir }))).toEqual({ eligible: true })
    expect(await run(files.eligible({ sessionId: "ses_1" }))).toEqual({ eligible: true })
    expect(await run(files.plan(rewind("t2", "t1")))).toMatchObject({ effects: [], files: 0, unknown: ["t2", "t1"] })
  })

  it("whose directory is gone are not", async () => {
    const here = place()
    await here.turn("t1", { "a.txt": "a1" })
    const { files, workspaceDir } = here
    expect(await run(files.eligible({ sessionId: "ses_1", workspaceDir }))).toEqual({ eligible: true })
    rmSync(workspaceDir, { recursive: true })
    expect(await run(files.eligible({ sessionId: "ses_1", workspaceDir }))).toMatchObject({ eligible: false })
    expect(await run(files.eligible({ sessionId: "ses_1" }))).toMatchObject({ eligible: false })
  })

  it("with a damaged record are told so: the turn is unknown", async () => {
    const here = place()
    await here.turn("t1", { "a.txt": "a1" })
    writeFileSync(join(here.directory, ".file-recovery/ses_1/t1/record.json"), '{"version":1,"files":')
    expect(await run(here.files.plan(here.rewind("t1")))).toMatchObject({ files: 0, unknown: ["t1"] })
  })
})

it("RWD-05 prune forgets turns and runs of before a time, the oldest first, and not more than it is told", async () => {
  const here = place()
  const { directory, files, workspaceDir } = here
  const kept = () =>
    readdirSync(join(directory, ".file-recovery"), { recursive: true, encoding: "utf8" })
      .filter((name) => /t\d$|run_\d$/.test(name))
      .toSorted()
  await Effect.gen(function* () {
    for (const n of [3, 1, 2]) {
      yield* TestClock.setTime(n * 1_000)
      const turn = { sessionId: `ses_${n % 2}`, turnId: `t${n}`, workspaceDir }
      yield* files.before(turn, [`${n}.txt`])
      here.write(`${n}.txt`, "1")
      yield* files.after(turn, [`${n}.txt`])
    }
    yield* TestClock.setTime(1_500)
    const attempt = { sessionId: "ses_1", workspaceDir, turns: ["t1"], id: "run_1" }
    yield* files.apply(attempt, (yield* files.plan(attempt)).hash)

    expect(yield* files.prune(1_000, 10)).toBe(0)
    expect(kept()).toEqual(["ses_0/t2", "ses_1/.runs/run_1", "ses_1/t1", "ses_1/t3"])
    expect(yield* files.prune(3_000, 1)).toBe(1)
    expect(kept()).toEqual(["ses_0/t2", "ses_1/t3"])
    expect(yield* files.prune(3_000, 1)).toBe(1)
    expect(yield* files.prune(3_000, 1)).toBe(0)
    expect(kept()).toEqual(["ses_1/t3"])
    expect(yield* files.prune(3_001, 10)).toBe(1)
    expect(readdirSync(join(directory, ".file-recovery"))).toEqual([])
  }).pipe(Effect.provide(TestClock.layer()), run)
  expect(await run(files.plan({ sessionId: "ses_1", workspaceDir, turns: ["t1"] }))).toMatchObject({ unknown: ["t1"] })
})

it("RWD-05 any turns are taken back to where any of them began, and rolled back to where they ended", async () => {
  const path = fc.constantFrom("a", "b", "d/a", "d/e/b", "f/c")
  const turn = fc.dictionary(path, fc.option(fc.constantFrom("1", "2", "3"), { nil: null }), { minKeys: 1, maxKeys: 4 })
  const seed = process.env["SKEIN_SEED"] === undefined ? {} : { seed: Number(process.env["SKEIN_SEED"]) }
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 5 }), fc.nat(), async (turns, at) => {
      const here = place()
      here.write("a", "0")
      here.write("d/a", "0")
      const filesOf = () =>
        Object.fromEntries(Object.entries(treeOf(here.workspaceDir)).filter(([, text]) => text !== null))
      const states = [filesOf()]
      for (const [n, contents] of turns.entries()) {
        await here.turn(`t${n}`, contents)
        states.push(filesOf())
      }
      const from = at % turns.length
      const attempt = await takeBack(
        here,
        ...turns
          .map((_, n) => `t${n}`)
          .slice(from)
          .toReversed(),
      )
      expect(filesOf()).toEqual(states[from])
      await run(here.files.rollback(attempt))
      expect(filesOf()).toEqual(states.at(-1))
      expect(existsSync(join(here.directory, ".file-recovery"))).toBe(true)
    }),
    { numRuns: 60, ...seed },
  )
}, 60_000)
