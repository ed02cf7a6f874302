import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as z from "zod/mini"
import {
  Busy,
  CommitUncertain,
  descInt,
  Full,
  index,
  int,
  Storage,
  table,
  text,
  Tx,
  unique,
} from "../../src/storage/index.ts"
import type { StorageOptions } from "../../src/storage/index.ts"
import { naive } from "../support/naive-backend.ts"
import type { Naive } from "../support/naive-backend.ts"

const Item = z.object({
  group: z.string(),
  n: z.number(),
  rank: z.optional(z.number()),
  tag: z.optional(z.string()),
  code: z.optional(z.string()),
  count: z.number(),
})
type Item = z.output<typeof Item>
const Plain = table("plain", {
  row: Item,
  key: [text("group"), int("n")],
  indexes: { byRank: index(text("tag"), descInt("rank")) },
})
const Coded = table("coded", {
  row: Item,
  key: [text("group"), int("n")],
  indexes: { byCode: unique(text("code")), byRank: index(descInt("rank")) },
})
const schema = { version: 1, oldestReader: 1, oldestWriter: 1, tables: [Plain, Coded], migrations: [] }

class Stop extends Data.TaggedError("Stop")<{ readonly why: string }> {}

const item = (n: number, rest: Partial<Item> = {}): Item => ({ group: "g", n, count: 0, ...rest })
const add = (n: number, rest?: Partial<Item>) =>
  Tx.make(function* (tx) {
    tx.insert(Coded, item(n, rest))
    return n
  })
const bump = (n: number) =>
  Tx.make(function* (tx) {
    const row = yield* tx.get(Coded, ["g", n])
    if (row === undefined) return yield* tx.fail(new Stop({ why: "absent" }))
    tx.update(Coded, ["g", n], (one) => ({ ...one, count: one.count + 1 }))
    return row.count + 1
  })
const list = Tx.make(function* (tx) {
  return (yield* tx.range(Coded, "key", {})).map((row) => [row.n, row.count])
})

const on = <A, E>(
  body: (storage: Storage["Service"], engine: Naive) => Effect.Effect<A, E>,
  options?: StorageOptions,
  engine = naive(),
) =>
  Storage.use((storage) => body(storage, engine)).pipe(
    Effect.provide(Layer.provide(Storage.layer(schema, { verify: true, ...options }), engine.layer)),
  )

describe("groups", () => {
  it.effect("STO-04 programs that wait are one commit, and see one another's writes", () =>
    on((storage, engine) =>
      Effect.gen(function* () {
        const counts = yield* Effect.all(
          [storage.transact(add(1)), ...Array.from({ length: 9 }, () => storage.transact(bump(1)))],
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(counts, [1, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        assert.deepStrictEqual(engine.runs, [{ mode: "write", durability: "strict", rows: 1 }])
        assert.deepStrictEqual(yield* storage.read(list), [[1, 9]])
      }),
    ),
  )

  it.effect("STO-04 each fails alone: a failure, a defect, a bad value and a clash leave their neighbours", () =>
    on((storage, engine) =>
      Effect.gen(function* () {
        const exits = yield* Effect.all(
          [
            add(1, { code: "x" }),
            Tx.make(function* (tx) {
              tx.insert(Coded, item(2))
              return yield* tx.fail(new Stop({ why: "no" }))
            }),
            Tx.make(function* (tx) {
              tx.insert(Coded, item(3))
              throw new Error("boom")
            }),
            add(4, { count: Number.NaN }),
            add(5, { code: "x" }),
            add(1),
            add(6),
          ].map((program) => Effect.exit(storage.transact<unknown, unknown>(program))),
          { concurrency: "unbounded" },
        )
        const tags = exits.map((exit) =>
          Exit.isSuccess(exit)
            ? exit.value
            : (Cause.squash(exit.cause) as { _tag?: string; reason?: { _tag: string } }),
        )
        assert.deepStrictEqual(
          tags.map((tag) =>
            typeof tag === "object" && tag !== null
              ? "reason" in tag
                ? (tag as { reason: { _tag: string } }).reason._tag
                : ((tag as { _tag?: string })._tag ?? String(tag))
              : tag,
          ),
          [1, "Stop", "Error: boom", "InvalidInput", "Constraint", "Constraint", 6],
        )
        assert.deepInclude(tags[3], { field: "coded.count" })
        assert.deepStrictEqual(yield* storage.read(list), [
          [1, 0],
          [6, 0],
        ])
        assert.lengthOf(
          engine.runs.filter((run) => run.mode === "write"),
          1,
        )
      }),
    ),
  )

  it.effect("STO-04 a group that the engine refuses runs again singly, and only the culprit fails", () =>
    on((storage, engine) =>
      Effect.gen(function* () {
        yield* storage.transact(add(7, { code: "taken" }))
        const exits = yield* Effect.all(
          [add(1), add(2, { code: "taken" }), add(3)].map((program) => Effect.exit(storage.transact(program))),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, true])
        assert.deepStrictEqual(yield* storage.read(list), [
          [1, 0],
          [3, 0],
          [7, 0],
        ])
        assert.lengthOf(engine.runs, 6)
      }),
    ),
  )

  it.effect("STO-04 a refusal is not lost because a later program frees what it was refused for", () =>
    on((storage) =>
      Effect.gen(function* () {
        yield* storage.transact(add(1, { code: "x" }))
        const exits = yield* Effect.all(
          [
            storage.transact(add(2, { code: "x" })),
            storage.transact(
              Tx.make(function* (tx) {
                tx.remove(Coded, ["g", 1])
              }),
            ),
          ].map((effect) => Effect.exit(effect as Effect.Effect<unknown, unknown>)),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(exits.map(Exit.isSuccess), [false, true])
        assert.deepStrictEqual(yield* storage.read(list), [])
      }),
    ),
  )

  it.effect("STO-04 a group is as durable as its strictest member, and a relaxed one takes no strict program", () =>
    on((storage, engine) =>
      Effect.gen(function* () {
        yield* Effect.all(
          [
            storage.transact(add(1), { durability: "relaxed" }),
            storage.transact(add(2)),
            storage.transact(add(3), { durability: "relaxed" }),
          ],
          { concurrency: "unbounded" },
        )
        yield* storage.transact(add(4), { durability: "relaxed" })
        assert.deepStrictEqual(
          engine.runs.map((run) => run.durability),
          ["strict", "relaxed"],
        )
      }),
    ),
  )
})

describe("failures of the engine", () => {
  it.effect("STO-07 Busy is retried within the budget, then it is the caller's", () =>
    on((storage, engine) =>
      Effect.gen(function* () {
        engine.failures.push(new Busy({}), new Busy({}))
        const patient = yield* Effect.forkChild(storage.transact(add(1)))
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* Fiber.join(patient), 1)

        engine.failures.push(...Array.from({ length: 1_000 }, () => new Busy({})))
        const refused = yield* Effect.forkChild(Effect.flip(storage.transact(add(2))))
        yield* TestClock.adjust("6 seconds")
        const error = yield* Fiber.join(refused)
        assert.deepInclude(error, { _tag: "StorageError", operation: "commit" })
        engine.failures.length = 0
        assert.deepStrictEqual(yield* storage.read(list), [[1, 0]])
      }),
    ),
  )

  it.effect("STO-07 CommitUncertain is never retried", () =>
    on((storage, engine) =>
      Effect.gen(function* () {
        engine.failures.push(new CommitUncertain({}))
        const both = yield* Effect.all([storage.transact(add(1)), storage.transact(add(2))].map(Effect.flip), {
          concurrency: "unbounded",
        })
        for (const error of both) assert.nestedPropertyVal(error, "reason._tag", "CommitUncertain")
        assert.lengthOf(engine.runs, 1)
      }),
    ),
  )

  it.effect("STO-07 a full store refuses the program that does not fit, with a sentence that says what to do", () =>
    on((storage, engine) =>
      Effect.gen(function* () {
        engine.failures.push(new Full({}))
        const error = yield* Effect.flip(storage.transact(add(1)))
        assert.strictEqual(error.message, "commit failed (Full): free space or raise the quota, then call again")
        assert.strictEqual(yield* storage.transact(add(1)), 1)
      }),
    ),
  )
})

describe("reads", () => {
  it.effect("STO-09 an unreadable row fails a read of it alone, and stands in its place where a list asks for it", () =>
    on((storage, engine) =>
      Effect.gen(function* () {
        for (const n of [1, 2, 3]) yield* storage.transact(add(n, { rank: n }))
        engine.damage("coded", ["g", 2])
        const error = yield* Effect.flip(
          storage.read(
            Tx.make(function* (tx) {
              return yield* tx.get(Coded, ["g", 2])
            }),
          ),
        )
        assert.nestedPropertyVal(error, "reason._tag", "Corrupt")
        const kept = yield* storage.read(
          Tx.make(function* (tx) {
            return yield* tx.range(Coded, "byRank", { unreadable: "keep" })
          }),
        )
        assert.deepStrictEqual(
          kept.map((row) => (Tx.isUnreadable(row) ? "unreadable" : row.n)),
          [3, "unreadable", 1],
        )
      }),
    ),
  )

  it.effect("STO-03 a read-only program may not write", () =>
    on((storage) =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(storage.read(add(1)))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        assert.deepStrictEqual(yield* storage.read(list), [])
      }),
    ),
  )
})

describe("life", () => {
  it.effect("STO-10 close lets what is in flight end, and later calls fail with Closed", () =>
    on((storage) =>
      Effect.gen(function* () {
        const flying = yield* Effect.forkChild(storage.transact(add(1)))
        yield* Effect.yieldNow
        yield* Effect.all([storage.close, storage.close], { concurrency: "unbounded" })
        assert.strictEqual(yield* Fiber.join(flying), 1)
        for (const late of [storage.transact(add(2)), storage.read(list)]) {
          assert.nestedPropertyVal(yield* Effect.flip(late as Effect.Effect<unknown, unknown>), "reason._tag", "Closed")
        }
        yield* storage.close
      }),
    ),
  )

  it.effect("STO-06 changes announces table and key of each commit, in commit order", () =>
    on((storage) =>
      Effect.gen(function* () {
        const seen = yield* Effect.forkChild(Stream.runCollect(Stream.take(storage.changes, 2)))
        yield* Effect.yieldNow
        yield* storage.transact(add(1))
        yield* storage.transact(bump(1))
        assert.deepStrictEqual(yield* Fiber.join(seen), [
          { _tag: "Committed", rows: [{ table: "coded", key: ["g", 1], kind: "written" }] },
          { _tag: "Committed", rows: [{ table: "coded", key: ["g", 1], kind: "written" }] },
        ])
      }),
    ),
  )

  it.effect("STO-02 an interrupted program that had not begun writes nothing", () =>
    on((storage) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(storage.transact(add(1)), { startImmediately: true })
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* storage.read(list), [])
      }),
    ),
  )
})

describe("rules of programs", () => {
  const dies = (program: Tx.Tx<unknown, unknown>, message: RegExp) =>
    on((storage) =>
      Effect.gen(function* () {
        yield* storage.transact(add(1))
        const exit = yield* Effect.exit(storage.transact(program))
        assert.isTrue(Exit.isFailure(exit))
        assert.match(String(Exit.isFailure(exit) && Cause.squash(exit.cause)), message)
        assert.deepStrictEqual(yield* storage.read(list), [[1, 0]])
      }),
    )
  const cases: ReadonlyArray<readonly [string, Tx.Tx<unknown, unknown>, RegExp]> = [
    [
      "a read after a write",
      Tx.make(function* (tx) {
        tx.insert(Coded, item(2))
        return yield* tx.get(Coded, ["g", 1])
      }),
      /read after write/,
    ],
    [
      "a read after a write in a composed program",
      Tx.make(function* () {
        yield* bump(1)
        yield* bump(1)
      }),
      /read after write/,
    ],
    [
      "a swallowed defect",
      Tx.make(function* (tx) {
        tx.insert(Coded, item(2))
        try {
          yield* tx.get(Coded, ["g", 1])
        } catch {
          return 1
        }
      }),
      /read after write/,
    ],
    [
      "a missing yield*",
      Tx.make(function* (tx) {
        tx.fail("lost")
        tx.insert(Coded, item(2))
      }),
      /yield\* is missing|`yield\*` is missing/,
    ],
    [
      "an update of a row that was not read",
      Tx.make(function* (tx) {
        tx.update(Coded, ["g", 1], (row) => row)
      }),
      /did not read/,
    ],
    [
      "a second write of a row",
      Tx.make(function* (tx) {
        tx.remove(Coded, ["g", 1])
        tx.insert(Coded, item(1))
      }),
      /already wrote/,
    ],
    [
      "a changed unique value",
      Tx.make(function* (tx) {
        yield* tx.get(Coded, ["g", 1])
        tx.update(Coded, ["g", 1], (row) => ({ ...row, code: "new" }))
      }),
      /unique value/,
    ],
    [
      "a changed key",
      Tx.make(function* (tx) {
        yield* tx.get(Coded, ["g", 1])
        tx.update(Coded, ["g", 1], (row) => ({ ...row, n: 9 }))
      }),
      /may not change the key/,
    ],
    [
      "a range over 500 rows",
      Tx.make(function* (tx) {
        return yield* tx.range(Coded, "key", { limit: 501 })
      }),
      /0 to 500 rows/,
    ],
    [
      "an impure program",
      Tx.make(function* (tx) {
        tx.insert(Coded, item(2, { count: Math.random() }))
      }),
      /not pure/,
    ],
    [
      "a changed row object",
      Tx.make(function* (tx) {
        const row = yield* tx.get(Coded, ["g", 1])
        ;(row as { count: number }).count = 9
      }),
      /read only|read-only/,
    ],
  ]
  for (const [name, program, message] of cases) {
    it.effect(`STO-02 ${name} is a defect and writes nothing`, () => dies(program, message))
  }
})
