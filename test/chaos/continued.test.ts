import { assert, it } from "@effect/vitest"
import { continued } from "./continued.ts"

it("A26 and TRN-01 whoever goes on after an agent was killed is let in at once, and finds what it had said", async () => {
  const { failures } = await continued({ rounds: 2, others: 20 })
  assert.deepStrictEqual(failures, [])
}, 60_000)
