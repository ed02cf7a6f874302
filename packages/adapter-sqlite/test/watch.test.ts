import { assert, it } from "@effect/vitest"
import { Storage, Tx } from "@skein/core/storage"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { expect } from "vitest"
import { insert, write } from "../../../test/port/machine.ts"
import type { Driver } from "../src/driver.ts"
import { sqlite } from "../src/index.ts"
import { libsql } from "../src/libsql.ts"
import { newFile } from "./directory.ts"
import { start } from "./process/child.ts"
import { create, noting, Note, open, openWith, schema } from "./store.ts"

const add = Tx.fn(function* (tx, n: number) {
  tx.insert(Note, { book: "parent", n })
})

it(
  "STO-06 what another process commits is heard within a second, and own commits as what they are",
  { timeout: 60_000 },
  async () => {
    const path = newFile()
    await Effect.runPromise(create(path))
    await using child = start("write.ts", path)
    await child.next()
    const program = Effect.gen(function* () {
      const storage = yield* Storage
      const hint = yield* Deferred.make<void>()
      const listening = yield* Effect.forkChild(
        Stream.take(storage.changes, 3).pipe(
          Stream.tap(({ _tag }) => (_tag === "Changed" ? Deferred.succeed(hint, undefined) : Effect.void)),
          Stream.runCollect,
        ),
        { startImmediately: true },
      )
      yield* storage.transact(add(1))
      child.step()
      yield* Effect.promise(child.next)
      const committed = performance.now()
      yield* Deferred.await(hint)
      const took = performance.now() - committed
      yield* storage.transact(add(2))
      return { took, heard: yield* Fiber.join(listening) }
    })
    const storage = Storage.layer(schema).pipe(Layer.provide(sqlite({ url: `file:${path}` })))
    const { heard, took } = await Effect.runPromise(Effect.provide(program, storage))
    expect(heard.map(({ _tag }) => _tag)).toEqual(["Committed", "Changed", "Committed"])
    expect(took).toBeLessThan(1_000)
  },
)

/** A file opened through a driver of the test's own, and by somebody else, until the scope ends. */
const openTwice = (driver: Driver) =>
  Effect.gen(function* () {
    const path = newFile()
    const engine = yield* Effect.acquireRelease(
      Effect.sync(() => openWith(driver, path, schema)),
      (engine) => engine.close,
    )
    const other = yield* Effect.acquireRelease(open(path), (engine) => engine.close)
    let n = 0
    const writeBy = (one: typeof engine) => write(one, { rows: [insert(Note, { book: "b", n: ++n })] })
    return { engine, other, writeBy }
  })

it.effect("STO-06 whether others have committed is looked up every 250 ms while it is watched, and never else", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const { driver, notes } = noting()
      const { engine, other, writeBy } = yield* openTwice(driver)
      const looks = () => notes.flat().filter((sql) => sql.includes("data_version")).length
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(looks(), 0)

      let changes = 0
      const watching = yield* Effect.forkChild(
        engine.watch!(() => changes++),
        { startImmediately: true },
      )
      yield* writeBy(other)
      yield* TestClock.adjust("249 millis")
      assert.strictEqual(changes, 0)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(changes, 1)
      yield* writeBy(engine)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(changes, 1)
      assert.strictEqual(looks(), 1 + 41)

      yield* Fiber.interrupt(watching)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(looks(), 1 + 41)
    }),
  ),
)

it.effect("STO-06 a look that meets a busy store changes nothing and is no failure: the next one tells", () =>
  Effect.scoped(
    Effect.gen(function* () {
      let busy = false
      const driver: Driver = (uri) => {
        const connection = libsql(uri)
        return {
          exec: (sql) => {
            if (busy) throw Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY", rawCode: 5 })
            connection.exec(sql)
          },
          prepare: (sql) => connection.prepare(sql),
          get inTransaction() {
            return connection.inTransaction
          },
          close: () => connection.close(),
        }
      }
      const { engine, other, writeBy } = yield* openTwice(driver)
      let changes = 0
      yield* Effect.forkScoped(
        engine.watch!(() => changes++),
        { startImmediately: true },
      )
      busy = true
      yield* writeBy(other)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(changes, 0)
      busy = false
      yield* TestClock.adjust("250 millis")
      assert.strictEqual(changes, 1)
      yield* writeBy(engine)
    }),
  ),
)
