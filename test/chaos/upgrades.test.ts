import { assert, it } from "@effect/vitest"
import { randomFrom } from "../port/random.ts"
import { seedOfRun } from "../port/seed.ts"
import { interruptedUpgrades, racedUpgrades, upgradeKilledAt } from "./upgrades.ts"

it("A75 and STO-08 an upgrade stopped at any statement leaves the older store or the upgraded one", async () => {
  assert.deepStrictEqual((await interruptedUpgrades()).failures, [])
}, 30_000)

const seed = seedOfRun()
const statement = 1 + Math.floor(randomFrom(seed)() * 40)

it(`A75 and STO-08 so does a process that is killed after statement ${statement} of it (seed ${seed})`, async () => {
  assert.deepStrictEqual(await upgradeKilledAt(statement), [])
}, 30_000)

it("A75 and STO-08 two processes that upgrade a store at once both find everything", async () => {
  assert.deepStrictEqual((await racedUpgrades({ processes: 2, rounds: 1 })).failures, [])
}, 30_000)
