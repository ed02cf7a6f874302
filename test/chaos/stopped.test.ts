import { assert, it } from "@effect/vitest"
import { stopped } from "./stopped.ts"

it("A28 and TRN-02 an agent that was stopped and given up writes nothing when it goes on", async () => {
  const { failures } = await stopped({ rounds: 1 })
  assert.deepStrictEqual(failures, [])
}, 90_000)
