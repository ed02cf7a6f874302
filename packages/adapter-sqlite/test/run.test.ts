import { assert, it } from "@effect/vitest"
import type { Durability, Engine, Machine, RunOptions, StorageReason } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { commit, get, insert, range, read, update, write } from "../../../test/port/machine.ts"
import type { Driver } from "../src/driver.ts"
import { libsql } from "../src/libsql.ts"
import { newFile } from "./directory.ts"
import { execute, query } from "./sql.ts"
import { create, Note, noting, open, openWith, schema, schemaOf } from "./store.ts"

const row = (n: number) => insert(Note, { book: "b", n })
const stored = (path: string) => query(path, "SELECT n FROM note ORDER BY n").map(([n]) => n)

/** Another connection that takes the write lock, and keeps it until told otherwise. */
const holdLock = (path: string) => {
  const holder = libsql(`file:${path}`)
  holder.exec("BEGIN IMMEDIATE")
  return { release: () => holder.exec("COMMIT"), close: () => holder.close() }
}

it.effect("A31 STO-07 what is acknowledged after Busy is seen by every other connection", () =>
  Effect.gen(function* () {
    const path = newFile()
    const engine = yield* open(path)
    let acknowledged = 0
    for (let round = 0; round < 5; round++) {
      const lock = holdLock(path)
      for (const durability of ["strict", "relaxed"] as const) {
        const reason = yield* Effect.flip(
          commit(
            engine,
            function* () {
              return { rows: [row(0)] }
            },
            durability,
          ),
        )
        assert.strictEqual(reason._tag, "Busy")
      }
      // Reading goes on meanwhile, on the other connection.
      assert.lengthOf((yield* read(engine, range(Note)))[0]!, acknowledged)
      lock.release()
      for (let i = 0; i < 3; i++) {
        yield* write(engine, { rows: [row(++acknowledged)] })
        assert.lengthOf(stored(path), acknowledged)
      }
      // The lock is free again, not held by a commit that only seemed to happen.
      holdLock(path).release()
      lock.close()
    }
    yield* engine.close
    assert.deepStrictEqual(
      stored(path),
      Array.from({ length: 15 }, (_, n) => n + 1),
    )
  }),
)

it.effect("STO-07 Busy comes at once, and before the machine has begun", () =>
  Effect.gen(function* () {
    const path = newFile()
    const engine = yield* open(path)
    const lock = holdLock(path)
    let steps = 0
    const machine: Machine = {
      next: () => {
        steps++
        return { _tag: "Write", removals: [], rows: [row(1)] }
      },
    }
    const times: Array<number> = []
    for (let i = 0; i < 20; i++) {
      const started = performance.now()
      assert.strictEqual((yield* outcome(engine, machine, { mode: "write", durability: "strict" }))?._tag, "Busy")
      times.push(performance.now() - started)
    }
    assert.strictEqual(steps, 0)
    assert.isBelow(times.toSorted((x, y) => x - y)[10]!, 5)
    lock.release()
    assert.isUndefined(yield* outcome(engine, machine, { mode: "write", durability: "strict" }))
    assert.strictEqual(steps, 1)
    yield* engine.close
  }),
)

const outcome = (engine: Engine, machine: Machine, options: RunOptions) =>
  Effect.callback<StorageReason | undefined>((resume) =>
    engine.run(machine, options, (failure) => resume(Effect.succeed(failure))),
  )

it.effect("STO-03 a read of several steps sees one state, whatever is committed meanwhile", () =>
  Effect.gen(function* () {
    const path = newFile()
    const engine = yield* open(path)
    yield* write(engine, { rows: [row(1)] })
    const seen: Array<number> = []
    let step = 0
    const machine: Machine = {
      next: (answers) => {
        if (answers !== undefined) seen.push(answers[0]!.length)
        if (step++ === 3) return { _tag: "Write", removals: [], rows: [] }
        execute(path, `INSERT INTO note (book, n, json) VALUES ('b', ${step + 10}, '{}')`)
        return { _tag: "Read", reads: [range(Note)] }
      },
    }
    assert.isUndefined(yield* outcome(engine, machine, { mode: "read", durability: "relaxed" }))
    assert.strictEqual(new Set(seen).size, 1)
    assert.lengthOf((yield* read(engine, range(Note)))[0]!, 4)
    yield* engine.close
  }),
)

it.effect("STO-07 an engine that lost its disk, or whose machine throws, goes on afterwards", () =>
  Effect.gen(function* () {
    const path = newFile()
    const engine = yield* open(path, schema, { maxBytes: 200_000 })
    yield* write(engine, { rows: [row(1)] })
    const big = (n: number) => ({ ...row(n), json: JSON.stringify("x".repeat(100_000)) })
    const full = yield* Effect.flip(write(engine, { rows: [row(2), big(3), big(4), big(5)] }))
    assert.strictEqual(full._tag, "Full")
    assert.deepStrictEqual(stored(path), [1])

    const broken = yield* Effect.flip(
      commit(engine, function* () {
        yield [get(Note, "b", 1)]
        throw new Error("broken machine")
      }),
    )
    assert.deepInclude(broken, { _tag: "Unknown" })
    const absent = yield* Effect.flip(write(engine, { rows: [row(6), update(Note, { book: "b", n: 99 })] }))
    assert.strictEqual(absent._tag, "Unknown")
    assert.include(absent.detail, `note has no row ["b",99] to update`)

    yield* write(engine, { rows: [row(7)] })
    assert.deepStrictEqual(stored(path), [1, 7])
    yield* engine.close
    const larger = yield* open(path)
    yield* write(larger, { rows: [big(3), big(4), big(5)] })
    assert.deepStrictEqual(stored(path), [1, 3, 4, 5, 7])
    yield* larger.close
  }),
)

it.effect("STO-02 an update writes the columns that changed and no other, so that their indexes are left alone", () =>
  Effect.gen(function* () {
    const path = newFile()
    const engine = yield* open(path)
    yield* write(engine, { rows: [insert(Note, { book: "b", n: 1, id: "one", label: "old" })] })
    execute(
      path,
      `CREATE TABLE written (name);
       CREATE TRIGGER on_id AFTER UPDATE OF id ON note BEGIN INSERT INTO written VALUES ('id'); END;
       CREATE TRIGGER on_label AFTER UPDATE OF label ON note BEGIN INSERT INTO written VALUES ('label'); END`,
    )
    const columnsWritten = Effect.fnUntraced(function* (label: string | undefined, known: object) {
      execute(path, "DELETE FROM written")
      const row = { book: "b", n: 1, id: "one", ...(label !== undefined && { label }) }
      yield* write(engine, { rows: [{ ...update(Note, row), ...known }] })
      assert.deepStrictEqual(query(path, "SELECT id, label FROM note"), [["one", label ?? null]])
      return query(path, "SELECT name FROM written ORDER BY name").flat()
    })
    assert.deepStrictEqual(yield* columnsWritten("new", { storedColumns: ["one", "old"] }), ["label"])
    assert.deepStrictEqual(yield* columnsWritten(undefined, { storedColumns: ["one", "new"] }), ["label"])
    assert.deepStrictEqual(yield* columnsWritten("new", { storedColumns: ["one", null] }), ["label"])
    assert.deepStrictEqual(yield* columnsWritten("new", { columnsChanged: false }), [])
    assert.deepStrictEqual(yield* columnsWritten("newer", {}), ["id", "label"])
    yield* engine.close
  }),
)

it.effect("STO-08 an engine whose tables another process has upgraded fails before its machine begins", () =>
  Effect.gen(function* () {
    const path = newFile()
    const engine = yield* open(path)
    yield* write(engine, { rows: [row(1)] })
    // Another program's table, and one of a schema that admits this version, are no reason to stop.
    execute(path, "CREATE TABLE unheard_of (a)")
    yield* create(path, { ...schemaOf(2), oldestReader: 1, oldestWriter: 1 })
    yield* write(engine, { rows: [row(2)] })
    assert.lengthOf((yield* read(engine, range(Note)))[0]!, 2)

    yield* create(path, schemaOf(3))
    for (const failing of [read(engine, range(Note)), write(engine, { rows: [row(3)] })]) {
      assert.deepInclude(yield* Effect.flip(failing), { _tag: "VersionMismatch", found: 3, supported: 1 })
    }
    assert.deepStrictEqual(stored(path), [1, 2])
    yield* engine.close
  }),
)

it.effect("STO-08 a store that is upgraded further while it is being opened is noticed by the first run", () =>
  Effect.gen(function* () {
    const path = newFile()
    let upgraded = false
    const driver: Driver = (uri) => {
      const connection = libsql(uri)
      return {
        exec: (sql) => {
          connection.exec(sql)
          if (sql !== "COMMIT" || upgraded) return
          upgraded = true
          Effect.runSync(create(path, schemaOf(3)))
        },
        prepare: (sql) => connection.prepare(sql),
        get inTransaction() {
          return connection.inTransaction
        },
        close: () => connection.close(),
      }
    }
    const engine = openWith(driver, path, schema)
    const reason = yield* Effect.flip(write(engine, { rows: [row(1)] }))
    assert.deepInclude(reason, { _tag: "VersionMismatch", found: 3, supported: 1 })
    yield* engine.close
  }),
)

it.effect("STO-08 an engine whose tables another program has dropped fails with Closed", () =>
  Effect.gen(function* () {
    const path = newFile()
    const engine = yield* open(path)
    execute(path, `UPDATE skein_schema SET tables = '{}'; DROP TABLE note`)
    const reason = yield* Effect.flip(read(engine, range(Note)))
    assert.strictEqual(reason._tag, "Closed")
    assert.include(reason.detail, "changed the tables")
    yield* engine.close
  }),
)

it.effect(
  "STO-04 a strict commit is flushed and a relaxed one is not, in any order, on the connection that writes",
  () =>
    Effect.gen(function* () {
      const { driver, notes: noted } = noting()
      const engine = openWith(driver, newFile(), schema)
      const writer = noted[0]!
      const notes = Effect.fnUntraced(function* (n: number, durability: Durability) {
        writer.length = 0
        yield* commit(
          engine,
          function* () {
            return { rows: [row(n)] }
          },
          durability,
        )
        return writer.filter((sql) => sql !== "PRAGMA schema_version")
      })
      assert.deepStrictEqual(yield* notes(1, "strict"), ["BEGIN IMMEDIATE", "COMMIT"])
      assert.deepStrictEqual(yield* notes(2, "relaxed"), ["PRAGMA synchronous = NORMAL", "BEGIN IMMEDIATE", "COMMIT"])
      assert.deepStrictEqual(yield* notes(3, "relaxed"), ["BEGIN IMMEDIATE", "COMMIT"])
      assert.deepStrictEqual(yield* notes(4, "strict"), ["PRAGMA synchronous = FULL", "BEGIN IMMEDIATE", "COMMIT"])
      yield* engine.close
    }),
)
