import { assert, it } from "@effect/vitest"
import { Backend, int, table, text } from "@skein/core/storage"
import type { Engine, Schema } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { get, insert, put, range, read, remove, write } from "../../../test/port/machine.ts"
import { make, memory } from "../src/index.ts"

const Note = table("note", { row: z.object({ id: z.string(), n: z.number() }), key: [text("id"), int("n")] })
const schema: Schema = { version: 1, oldestReader: 1, oldestWriter: 1, tables: [Note], migrations: [] }
const open = (backend: Backend["Service"], version = 1) => backend.open({ ...schema, version })

/** A row whose JSON has this many characters. */
const sized = (n: number, size: number) => ({ ...insert(Note, { id: "a", n }), json: "x".repeat(size) })
const keysIn = (engine: Engine) => Effect.map(read(engine, range(Note)), ([rows]) => rows!.map(({ key }) => key[1]))

it.effect("STO-07 a commit beyond the capacity fails with Full and writes nothing; reading and removing go on", () =>
  Effect.gen(function* () {
    const engine = yield* open(yield* make({ capacity: 100 }))
    yield* write(engine, { rows: [sized(1, 60)] })
    const reason = yield* Effect.flip(write(engine, { rows: [sized(2, 20), sized(3, 21)] }))
    assert.strictEqual(reason._tag, "Full")
    assert.deepStrictEqual(yield* keysIn(engine), [1])
    yield* write(engine, { rows: [sized(2, 40)] })
    yield* write(engine, { rows: [remove(Note, ["a", 1])] })
    yield* write(engine, { rows: [sized(3, 60)] })
    assert.deepStrictEqual(yield* keysIn(engine), [2, 3])
  }),
)

it.effect("STO-01 each build of the layer is a database of its own, and one made as a value is shared", () =>
  Effect.gen(function* () {
    const filled = (backend: Backend["Service"]) =>
      Effect.flatMap(open(backend), (engine) => write(engine, { rows: [sized(1, 1)] }))
    const found = (backend: Backend["Service"]) => Effect.flatMap(open(backend), keysIn)
    yield* Effect.provide(Backend.use(filled), memory())
    assert.deepStrictEqual(yield* Effect.provide(Backend.use(found), memory()), [])
    const shared = yield* make()
    yield* filled(shared)
    assert.deepStrictEqual(yield* found(shared), [1])
  }),
)

it.effect("STO-08 an engine whose store was upgraded by another opener fails with Closed", () =>
  Effect.gen(function* () {
    const backend = yield* make()
    const older = yield* open(backend)
    const newer = yield* open(backend, 2)
    const reason = yield* Effect.flip(write(older, { rows: [sized(1, 1)] }))
    assert.strictEqual(reason._tag, "Closed")
    assert.deepStrictEqual(yield* keysIn(newer), [])
  }),
)

it.effect("STO-10 an engine that was closed fails with Closed", () =>
  Effect.gen(function* () {
    const engine = yield* open(yield* make())
    yield* engine.close
    assert.strictEqual((yield* Effect.flip(keysIn(engine)))._tag, "Closed")
  }),
)

it.effect("STO-07 a machine that throws, or updates an absent row, fails with Unknown and writes nothing", () =>
  Effect.gen(function* () {
    const engine = yield* open(yield* make())
    const absent = { ...sized(9, 1), _tag: "Update" } as const
    const reason = yield* Effect.flip(write(engine, { rows: [sized(1, 1), absent] }))
    assert.strictEqual(reason._tag, "Unknown")
    const broken = Effect.callback<unknown>((resume) => {
      const throws = {
        next: () => {
          throw new Error("broken machine")
        },
      }
      engine.run(throws, { mode: "write", durability: "strict" }, (failure) => resume(Effect.succeed(failure?._tag)))
    })
    assert.strictEqual(yield* broken, "Unknown")
    assert.deepStrictEqual(yield* keysIn(engine), [])
  }),
)

it.effect("STO-05 a key that was given or handed out cannot be changed from outside", () =>
  Effect.gen(function* () {
    const engine = yield* open(yield* make())
    const key: [string, number] = ["a", 1]
    yield* write(engine, { rows: [{ ...put(Note, { id: "a", n: 1 }), key }] })
    key[1] = 7
    const [rows] = yield* read(engine, get(Note, "a", 1))
    assert.isFrozen(rows![0]!.key)
  }),
)
