import { assert, it } from "@effect/vitest"
import { manyWriters } from "./many-writers.ts"

it("A31, STO-07 and STO-08 processes that create one file together and append to it lose nothing", async () => {
  const { failures } = await manyWriters({ processes: 4, appends: 25, judgeTimers: false })
  assert.deepStrictEqual(failures, [])
}, 60_000)
