import { assert, it } from "@effect/vitest"
import { seedOfRun } from "../port/seed.ts"
import { paused } from "./paused.ts"

const seed = seedOfRun()

it(`QUE-05 and A56 of a paused queue two workers send nothing, and all when it is resumed (seed ${seed})`, async () => {
  const { failures } = await paused({ sessions: 6, items: 10, pauses: 2, seed })
  assert.deepStrictEqual(failures, [])
}, 90_000)
