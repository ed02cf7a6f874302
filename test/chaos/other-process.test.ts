import { assert, it } from "@effect/vitest"
import { aborts, leftAlone } from "./other-process.ts"

it("TRN-08 and A68 an agent feels within a second that another process aborts it, and keeps what it was writing", async () => {
  const { failures } = await aborts({ rounds: 2 })
  assert.deepStrictEqual(failures, [])
}, 60_000)

it("A28 and TRN-05 recovery leaves the turn of a living process alone, however long it lasts", async () => {
  const { failures } = await leftAlone({ lease: 600, leases: 3 })
  assert.deepStrictEqual(failures, [])
}, 60_000)
