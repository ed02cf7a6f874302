import { assert, it } from "@effect/vitest"
import { worktrees } from "./worktree.ts"

it("FRK-04 a process that dies while it forks into a new place leaves a fork with its place, or neither", async () => {
  const { failures } = await worktrees()
  assert.deepStrictEqual(failures, [])
}, 120_000)
