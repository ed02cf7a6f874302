import { assert, it } from "@effect/vitest"
import { fewDue, manyDead } from "./many-dead.ts"

it("A26 and TRN-05 one call recovers all turns of a dead process, and looks at no idle session", async () => {
  const { failures } = await manyDead({ dead: 600, idle: 1_000, judgeTimes: false })
  assert.deepStrictEqual(failures, [])
}, 60_000)

it("QUE-08 the sessions that have something to do are found without a look at idle ones", async () => {
  const { failures } = await fewDue({ idle: 1_000, judgeTimes: false })
  assert.deepStrictEqual(failures, [])
}, 60_000)
