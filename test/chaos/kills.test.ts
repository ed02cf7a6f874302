import { assert, it } from "@effect/vitest"
import { seedOfRun } from "../port/seed.ts"
import { kills } from "./kills.ts"

const seed = seedOfRun()

it(`STO-04 and MSG-02 a lone writer that is killed loses nothing that was acknowledged (seed ${seed})`, async () => {
  const { failures } = await kills({ kills: 5, writers: 1, killsPerFile: 5, seed })
  assert.deepStrictEqual(failures, [])
}, 60_000)

it(`STO-04 and MSG-02 nor do several when one of them is killed (seed ${seed})`, async () => {
  const { failures } = await kills({ kills: 5, writers: 3, killsPerFile: 5, seed })
  assert.deepStrictEqual(failures, [])
}, 60_000)
