import { assert, it } from "@effect/vitest"
import { manyDead } from "./many-dead.ts"

it("A26 and TRN-05 one call recovers all turns of a dead process, and looks at no idle session", async () => {
  const { failures } = await manyDead({ dead: 600, idle: 1_000, judgeTimes: false })
  assert.deepStrictEqual(failures, [])
}, 60_000)
