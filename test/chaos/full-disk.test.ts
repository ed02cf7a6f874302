import { assert, it } from "@effect/vitest"
import { fullDisk } from "./full-disk.ts"

it("A29 a full disk refuses what does not fit, keeps what is there, and takes it once there is room", async () => {
  assert.deepStrictEqual((await fullDisk()).failures, [])
})
