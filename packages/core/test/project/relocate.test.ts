import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { vi } from "vitest"
import { Projects } from "../../src/project/service.ts"
import { Sessions } from "../../src/session/service.ts"
import { Full } from "../../src/storage/index.ts"
import { inStore } from "../support/core-store.ts"

// Hundreds of sessions in the simplest backend take long where a machine is busy.
vi.setConfig({ testTimeout: 60_000 })

const move = { from: "/from", to: "/to" }

it.effect("PRJ-02 relocate moves many sessions in small commits, and goes on after one that failed", () =>
  inStore((engine) =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const sessions = yield* Sessions
      yield* Effect.forEach(
        Array.from({ length: 900 }, (_, n) => n),
        (n) => sessions.create({ id: `s${n}`, workspace: "/from", kind: n % 3 === 0 ? "task" : "conversation" }),
        { concurrency: "unbounded" },
      )
      yield* projects.rename("workspace:/from", "Kept")
      engine.runs.length = 0
      engine.failures.push(undefined, undefined, new Full({}))
      assert.strictEqual((yield* Effect.flip(projects.relocate(move)))._tag, "StorageError")
      const half = yield* sessions.list({ workspace: "/to", kind: ["task", "conversation"], limit: 200 })
      assert.strictEqual(half.sessions.length, 200)
      const { moved, project } = yield* projects.relocate(move)
      assert.deepStrictEqual([moved, project?.name, project?.id], [500, "Kept", "workspace:/to"])
      const commits = engine.runs.filter(({ mode, rows }) => mode === "write" && rows > 0).map(({ rows }) => rows)
      assert.deepStrictEqual(commits, [401, 400, 400, 101])
      for (const row of engine.rows("session")) {
        const { projectId, workspaceDir } = JSON.parse(row.json) as { projectId: string; workspaceDir: string }
        assert.deepStrictEqual([projectId, workspaceDir], ["workspace:/to", "/to"])
      }
      assert.deepStrictEqual(
        engine.rows("project").map(({ key }) => key),
        [["workspace:/to"]],
      )
    }),
  ),
)

it.effect("PRJ-02 relocate to the same directory changes nothing, also when it is spelled otherwise", () =>
  inStore((engine) =>
    Effect.gen(function* () {
      const projects = yield* Projects
      yield* Sessions.use((sessions) => sessions.create({ id: "s", workspace: "/from" }))
      const before = [engine.rows("session"), engine.rows("project")]
      assert.strictEqual((yield* projects.relocate({ from: "/from", to: "/from/" })).moved, 0)
      assert.deepStrictEqual([engine.rows("session"), engine.rows("project")], before)
    }),
  ),
)
