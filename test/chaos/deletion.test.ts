import { assert, describe, it } from "@effect/vitest"
import { removals, stoppedRemoval } from "./deletion.ts"

describe("DEL-01, DEL-05 and RWD-03 nothing is half gone", () => {
  for (const removal of removals) {
    it(`${removal.name}, stopped at every statement`, async () => {
      assert.deepStrictEqual((await stoppedRemoval(removal)).failures, [])
    }, 60_000)
  }
})
