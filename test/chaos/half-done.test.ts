import { assert, describe, it } from "@effect/vitest"
import { indexeddb } from "@skein/adapter-indexeddb"
import { memory } from "@skein/adapter-memory"
import { sqlite } from "@skein/adapter-sqlite"
import { IDBFactory, IDBKeyRange } from "fake-indexeddb"
import { randomFrom } from "../port/random.ts"
import { seedOfRun } from "../port/seed.ts"
import { crashes, killedAt, refusals } from "./half-done.ts"
import { operations, successions } from "./operations.ts"

describe("A25, MSG-02 and STO-02 nothing is ever half done", () => {
  for (const operation of operations) {
    it(`A25 ${operation.name}, refused at every row, on memory`, async () => {
      assert.deepStrictEqual((await refusals(() => memory(), operation)).failures, [])
    })
    it(`A25 ${operation.name}, refused at every row, on SQLite`, async () => {
      assert.deepStrictEqual((await refusals(() => sqlite({ url: ":memory:" }), operation)).failures, [])
    })
    it(`A25 ${operation.name}, refused at every row, on fake-indexeddb`, async () => {
      const fresh = () => indexeddb({ name: "half-done", factory: new IDBFactory(), keyRange: IDBKeyRange })
      assert.deepStrictEqual((await refusals(fresh, operation)).failures, [])
    })
    it(`A25 ${operation.name}, stopped at every statement`, async () => {
      assert.deepStrictEqual((await crashes(operation)).failures, [])
    })
  }

  const seed = seedOfRun()
  const random = randomFrom(seed)
  const all = [...operations, ...successions]
  const operation = all[Math.floor(random() * all.length)]!
  // Every operation begins, reads the layout's number, writes at least two rows and commits.
  const step = Math.floor(random() * 4)
  it(`A25 a process killed after statement ${step} of ${operation.name} (seed ${seed})`, async () => {
    assert.deepStrictEqual(await killedAt(operation, step), [])
  }, 30_000)
})
