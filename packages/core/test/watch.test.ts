import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as z from "zod/mini"
import { int, makeStorage, table, Tx } from "../src/storage/index.ts"
import type { Storage } from "../src/storage/index.ts"
import { watch, watchInterval } from "../src/watch.ts"
import { naive } from "./support/naive-backend.ts"

const Note = table("note", { row: z.object({ n: z.number(), note: z.optional(z.string()) }), key: [int("n")] })
const Other = table("other", { row: z.object({ n: z.number() }), key: [int("n")] })
const schema = { version: 1, oldestReader: 1, oldestWriter: 1, tables: [Note, Other], migrations: [] }

const put = Tx.fn(function* (tx, n: number, note?: string) {
  tx.put(Note, { n, ...(note !== undefined && { note }) })
})
const putOther = Tx.fn(function* (tx, n: number) {
  tx.put(Other, { n })
})
const all = Tx.make(function* (tx) {
  return yield* tx.range(Note, "key", {})
})

/** What is watched in these tests: the rows of one table, and how often they were read. */
const watching = (storage: Storage["Service"]) => {
  let looks = 0
  const rows = watch(storage, {
    look: () => Effect.tap(storage.read(all), () => Effect.sync(() => looks++)),
    concerns: ({ table }) => table === Note.name,
  })
  return { rows, looks: () => looks }
}

const opened = Effect.suspend(() => makeStorage(schema, { verify: true }).pipe(Effect.provide(naive().layer)))

const numbers = (rows: ReadonlyArray<{ readonly n: number }>) => rows.map(({ n }) => n)

/** Collects the values of a stream as they come. */
const collecting = <A, E>(stream: Stream.Stream<A, E>) =>
  Effect.gen(function* () {
    const values: Array<A> = []
    const fiber = yield* Effect.forkChild(
      Stream.runForEach(stream, (value) => Effect.sync(() => values.push(value))),
      { startImmediately: true },
    )
    return { values, fiber }
  })

describe("watch", () => {
  it.effect("SES-13, MSG-10 the first value comes at once, and a change thirty times a second at most", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* opened
        yield* storage.transact(put(1))
        const { looks, rows } = watching(storage)
        const { fiber, values } = yield* collecting(rows)
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(values.map(numbers), [[1]])

        yield* storage.transact(put(2))
        yield* storage.transact(put(3))
        yield* TestClock.adjust(watchInterval - 1)
        assert.deepStrictEqual(values.map(numbers), [[1]])
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(values.map(numbers), [[1], [1, 2, 3]])

        // Long after the last one, a change is seen at once.
        yield* TestClock.adjust("1 minute")
        yield* storage.transact(put(4))
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(values.map(numbers), [[1], [1, 2, 3], [1, 2, 3, 4]])

        yield* TestClock.adjust("1 second")
        const before = values.length
        for (let ms = 0; ms < 1_000; ms++) {
          yield* storage.transact(put(5, `at ${ms}`))
          yield* TestClock.adjust(1)
        }
        assert.strictEqual(values.length - before, 30)
        assert.strictEqual(looks(), values.length)
        yield* TestClock.adjust(watchInterval)
        assert.deepInclude(values.at(-1)!.at(-1), { note: "at 999" })
        yield* Fiber.interrupt(fiber)
      }),
    ),
  )

  it.effect("SES-13, MSG-10 what says the same is left out, and what does not concern it is not looked at", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* opened
        yield* storage.transact(put(1))
        const { looks, rows } = watching(storage)
        const { fiber, values } = yield* collecting(rows)
        yield* TestClock.adjust("1 second")
        yield* storage.transact(putOther(1))
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual([looks(), values.length], [1, 1])
        yield* storage.transact(put(1))
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual([looks(), values.length], [2, 1])
        yield* storage.transact(put(2))
        yield* TestClock.adjust("1 second")
        assert.strictEqual(values[1]![0], values[0]![0], "the row that stayed")
        yield* Fiber.interrupt(fiber)
        yield* storage.transact(put(3))
        yield* TestClock.adjust("1 second")
        assert.strictEqual(looks(), 3, "looks after nobody watches")
      }),
    ),
  )

  it.effect("SES-13, MSG-10 who pulls slowly gets the newest value, and nothing that fell between", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* opened
        const { rows } = watching(storage)
        const pull = yield* Stream.toPull(rows)
        assert.deepStrictEqual(yield* pull, [[]])
        for (let n = 1; n <= 5; n++) {
          yield* storage.transact(put(n))
          yield* TestClock.adjust("1 second")
        }
        assert.deepStrictEqual((yield* pull).map(numbers), [[1, 2, 3, 4, 5]])
      }),
    ),
  )

  it.effect(
    "SES-13, MSG-10 a commit between its beginning and its first look is in the first value or the second",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const storage = yield* opened
          let first = true
          const rows = watch(storage, {
            concerns: () => true,
            look: () =>
              Effect.gen(function* () {
                const seen = yield* storage.read(all)
                if (first) {
                  first = false
                  yield* storage.transact(put(1))
                }
                return seen
              }),
          })
          const { fiber, values } = yield* collecting(rows)
          yield* TestClock.adjust("1 second")
          assert.deepStrictEqual(values.map(numbers), [[], [1]])
          yield* Fiber.interrupt(fiber)
        }),
      ),
  )

  it.effect("SES-13, MSG-10 it ends when the store is closed; one that begins afterwards fails with Closed", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* opened
        const { rows } = watching(storage)
        const { fiber, values } = yield* collecting(rows)
        yield* TestClock.adjust("1 second")
        yield* storage.close
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* Effect.exit(Fiber.join(fiber)), Exit.void)
        assert.deepStrictEqual(values, [[]])
        const late = yield* Effect.flip(Stream.runDrain(rows))
        assert.nestedPropertyVal(late, "reason._tag", "Closed")
      }),
    ),
  )

  it.effect("SES-13, MSG-10 a look that the close comes before is no failure, and one that fails by itself is", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* opened
        let fails = false
        const rows = watch(storage, {
          concerns: () => true,
          look: () => (fails ? Effect.fail("gone") : Effect.orDie(storage.read(all))),
        })
        const failing = yield* collecting(rows)
        const closing = yield* collecting(
          watch(storage, {
            concerns: () => true,
            look: (before) =>
              before === undefined ? storage.read(all) : Effect.andThen(storage.close, storage.read(all)),
          }),
        )
        yield* TestClock.adjust("1 second")
        fails = true
        yield* storage.transact(put(1))
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* Effect.flip(Fiber.join(failing.fiber)), "gone")
        assert.deepStrictEqual(yield* Effect.exit(Fiber.join(closing.fiber)), Exit.void)
      }),
    ),
  )

  it.effect("SES-13, MSG-10 something else than a row may tell that it has changed", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* opened
        let n = 0
        let heard = 0
        let tellOfIt = () => {}
        const stream = watch(storage, {
          concerns: () => false,
          look: () => Effect.sync(() => ({ n })),
          listen: (tell) =>
            Effect.asVoid(
              Effect.acquireRelease(
                Effect.sync(() => {
                  tellOfIt = tell
                  heard++
                }),
                () => Effect.sync(() => heard--),
              ),
            ),
        })
        const scope = yield* Scope.make()
        const { fiber, values } = yield* collecting(stream)
        yield* TestClock.adjust("1 second")
        n = 1
        tellOfIt()
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(values, [{ n: 0 }, { n: 1 }])
        assert.strictEqual(heard, 1)
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(heard, 0)
        yield* Scope.close(scope, Exit.void)
      }),
    ),
  )

  it.effect("SES-13, MSG-10 a clock that is put back delays nothing for longer than the interval", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* opened
        yield* TestClock.setTime(1_000_000_000)
        const { fiber, values } = yield* collecting(watching(storage).rows)
        yield* TestClock.adjust(0)
        yield* TestClock.setTime(1_000)
        yield* storage.transact(put(1))
        yield* TestClock.adjust(watchInterval)
        assert.lengthOf(values, 2)
        yield* Fiber.interrupt(fiber)
      }),
    ),
  )
})
