import { assert, describe, it } from "@effect/vitest"
import { indexeddb } from "@skein/adapter-indexeddb"
import { memory } from "@skein/adapter-memory"
import { sqlite } from "@skein/adapter-sqlite"
import type { Backend } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import { IDBFactory, IDBKeyRange } from "fake-indexeddb"
import { Messages } from "../../packages/core/src/message/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { randomFrom } from "../port/random.ts"
import { seedOfRun } from "../port/seed.ts"
import { inDirectory } from "./directory.ts"
import { openStore } from "./store.ts"
import type { Store } from "./store.ts"

const adapters: Readonly<Record<string, (directory: string) => Layer.Layer<Backend>>> = {
  memory: () => memory(),
  "fake-indexeddb": () => indexeddb({ name: "races", factory: new IDBFactory(), keyRange: IDBKeyRange }),
  SQLite: (directory) => sqlite({ url: `file:${directory}/store.db` }),
}

const user = (id: string) => ({ id, body: { role: "user", content: id } })

const withStore = (backend: (directory: string) => Layer.Layer<Backend>, use: (store: Store) => Promise<void>) =>
  inDirectory(async (directory) => {
    const store = openStore(backend(directory))
    try {
      await store.run(
        Effect.gen(function* () {
          yield* (yield* Sessions).create({ id: "s1" })
          yield* (yield* Messages).appendMany("s1", [user("m1"), user("m2"), user("m3")])
        }),
      )
      await use(store)
    } finally {
      await store.close()
    }
  })

const seed = seedOfRun()

describe.each(Object.entries(adapters))("%s", (_, backend) => {
  it(`A30 and STO-02 an append that is interrupted is there wholly or not at all (seed ${seed})`, () =>
    withStore(backend, async (store) => {
      const random = randomFrom(seed)
      const interrupted = Effect.fnUntraced(function* (id: string, turns: number) {
        const messages = yield* Messages
        const appending = yield* Effect.forkChild(messages.append("s1", user(id)))
        for (let i = 0; i < turns; i++) yield* Effect.yieldNow
        yield* Fiber.interrupt(appending)
        yield* messages.appendMany("s1", [])
        return (yield* messages.page("s1", { limit: 500 })).messages.map(({ id }) => id)
      })
      const all = ["m1", "m2", "m3"]
      for (let n = 0; n < 200; n++) {
        const id = `n${n}`
        const seen = await store.run(interrupted(id, Math.floor(random() * 12)))
        if (seen.includes(id)) all.push(id)
        assert.deepStrictEqual(seen, all)
      }
      // Some came too late and some in time, or this has shown nothing.
      assert.isAbove(all.length, 3)
      assert.isBelow(all.length, 203)
      assert.deepStrictEqual(await store.problems(), [])
    }))

  it("A33 fifty appends at once are stored once each, in one line, and a timer is not late", () =>
    withStore(backend, async (store) => {
      const ids = Array.from({ length: 50 }, (_, i) => `n${i}`)
      const start = performance.now()
      const timer = new Promise<number>((resolve) => setTimeout(() => resolve(performance.now() - start), 10))
      const appends = ids.map((id) =>
        store.run(Effect.flatMap(Effect.service(Messages), (messages) => messages.append("s1", user(id)))),
      )
      await Promise.all(appends)

      assert.isBelow(await timer, 260)
      const { branches, entries } = await store.rows()
      assert.deepStrictEqual(entries.map(({ id }) => id).toSorted(), ["m1", "m2", "m3", ...ids].toSorted())
      assert.strictEqual(branches.length, 1)
      assert.deepStrictEqual(await store.problems(), [])
    }))
})
