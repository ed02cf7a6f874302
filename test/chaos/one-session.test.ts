import { assert, it } from "@effect/vitest"
import { oneSession } from "./one-session.ts"

it("A32 and MSG-01 of two processes behind one head one wins, and with retries both have their say", async () => {
  const { failures } = await oneSession({ appends: 20 })
  assert.deepStrictEqual(failures, [])
}, 60_000)
