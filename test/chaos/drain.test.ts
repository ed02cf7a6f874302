import { assert, it } from "@effect/vitest"
import { seedOfRun } from "../port/seed.ts"
import { drain } from "./drain.ts"

const seed = seedOfRun()

it(`A53, A54, A56 and QUE-04 workers that are killed send every item once, in order (seed ${seed})`, async () => {
  const { failures } = await drain({ items: 80, sessions: 8, kills: 8, seed })
  assert.deepStrictEqual(failures, [])
}, 90_000)
