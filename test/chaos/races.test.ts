import { assert, describe, it } from "@effect/vitest"
import { indexeddb } from "@skein/adapter-indexeddb"
import { make } from "@skein/adapter-memory"
import { sqlite } from "@skein/adapter-sqlite"
import { Backend } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { IDBFactory, IDBKeyRange } from "fake-indexeddb"
import { Messages } from "../../packages/core/src/message/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { Turns } from "../../packages/core/src/turn/service.ts"
import { randomFrom } from "../port/random.ts"
import { seedOfRun } from "../port/seed.ts"
import { inDirectory } from "./directory.ts"
import { openStore } from "./store.ts"
import type { Store } from "./store.ts"

/** Each build of such a layer opens the same store. */
const adapters: Readonly<Record<string, (directory: string) => Layer.Layer<Backend>>> = {
  memory: () => Layer.succeed(Backend, Effect.runSync(make())),
  "fake-indexeddb": () => indexeddb({ name: "races", factory: new IDBFactory(), keyRange: IDBKeyRange }),
  SQLite: (directory) => sqlite({ url: `file:${directory}/store.db` }),
}

const user = (id: string) => ({ id, body: { role: "user", content: id } })

const answer = (id: string, content: string) => ({ id, body: { role: "assistant", content } })

const withStore = (
  backend: (directory: string) => Layer.Layer<Backend>,
  use: (store: Store, again: () => Store) => Promise<void>,
) =>
  inDirectory(async (directory) => {
    const place = backend(directory)
    const store = openStore(place)
    try {
      await store.run(
        Effect.gen(function* () {
          yield* (yield* Sessions).create({ id: "s1" })
          yield* (yield* Messages).appendMany("s1", [user("m1"), user("m2"), user("m3")])
        }),
      )
      await use(store, () => openStore(place))
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

  it(
    `A30 a turn that is cancelled while another handle resumes loses nothing of what was there (seed ${seed})`,
    () =>
      withStore(backend, async (store, again) => {
        const random = randomFrom(seed)
        /** Works on a turn, and is cancelled after some time: answers the fiber that winds it up. */
        const cancelled = Effect.fnUntraced(function* (id: string, delay: number) {
          const turns = yield* Turns
          const working = turns.run("s1", { prompt: user(`p-${id}`) }, (turn) =>
            Effect.andThen(turn.draft(answer(id, "half")), turn.settle(answer(id, "whole"))),
          )
          const fiber = yield* Effect.forkDetach(Effect.exit(working))
          if (delay < 12) for (let i = 0; i < delay; i++) yield* Effect.yieldNow
          else yield* Effect.sleep(delay / 6)
          return yield* Effect.forkDetach(Fiber.interrupt(fiber))
        })
        const resumed = Effect.fnUntraced(function* (id: string) {
          const turns = yield* Turns
          const messages = yield* Messages
          const { turn } = yield* turns.begin("s1", { prompt: user(`q-${id}`) }, { takeOver: true })
          yield* messages.appendMany("s1", [], { epoch: turn.epoch })
          yield* turns.end("s1", turn.epoch, { outcome: "completed" })
        })
        let known = ["m1", "m2", "m3"]
        const seen = new Set<string>()
        for (let n = 0; n < 200; n++) {
          const id = `n${n}`
          const ending = await store.run(cancelled(id, Math.floor(random() * 24)))
          const other = again()
          try {
            await other.run(resumed(id))
            await store.run(Fiber.await(ending))
            const messages = await other.run(
              Effect.flatMap(Effect.service(Messages), (one) => Stream.runCollect(one.stream("s1"))),
            )
            const path = messages.map((message) => message.id)
            assert.deepStrictEqual(path.slice(0, known.length), known)
            const added = path.slice(known.length)
            assert.sameMembers(
              added.filter((one) => one === `q-${id}`),
              [`q-${id}`],
            )
            assert.includeMembers([`p-${id}`, id, `q-${id}`], added)
            for (const { cut, display, draft } of messages.filter((message) => message.id === id)) {
              assert.strictEqual(draft, undefined)
              assert.deepStrictEqual(display, answer(id, cut === undefined ? "whole" : "half").body)
            }
            seen.add(added.join().replaceAll(id, ""))
            known = path
          } finally {
            await other.close()
          }
        }
        assert.deepStrictEqual(await store.problems(), [])
        // Some were cancelled before they had begun, and some when they had written, or this has shown nothing.
        assert.isAbove(seen.size, 1)
      }),
    120_000,
  )

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
