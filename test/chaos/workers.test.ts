import { assert, it } from "@effect/vitest"
import { seedOfRun } from "../port/seed.ts"
import { workers } from "./workers.ts"

const seed = seedOfRun()

it(`A32 and TRN-01 of two processes that want one session one has it at a time (seed ${seed})`, async () => {
  const { failures } = await workers({ processes: 2, sessions: 2, turns: 25, takesOver: false, seed })
  assert.deepStrictEqual(failures, [])
}, 60_000)

it(`A32 and TRN-02 a process whose turn is taken over writes nothing more (seed ${seed})`, async () => {
  const { failures } = await workers({ processes: 2, sessions: 1, turns: 25, takesOver: true, seed })
  assert.deepStrictEqual(failures, [])
}, 60_000)
