import { assert, it } from "@effect/vitest"
import { Storage, table, text, Tx } from "@skein/core/storage"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as z from "zod/mini"
import { naive } from "../support/naive-backend.ts"

const Note = table("note", { row: z.object({ id: z.string(), text: z.string() }), key: [text("id")] })

class NoNote extends Data.TaggedError("NoNote")<{ readonly id: string }> {}

const write = Tx.fn(function* (tx, id: string, text: string) {
  const stored = yield* tx.get(Note, [id])
  if (stored === undefined) tx.insert(Note, { id, text })
  else tx.update(Note, [id], (note) => ({ ...note, text }))
  return stored?.text
})
const read = Tx.fn(function* (tx, id: string) {
  const note = yield* tx.get(Note, [id])
  return note === undefined ? yield* tx.fail(new NoNote({ id })) : note.text
})
const copy = Tx.fn(function* (_tx, from: string, to: string) {
  const text = yield* read(from)
  return yield* write(to, text)
})

const schema = { version: 1, oldestReader: 1, oldestWriter: 1, tables: [Note], migrations: [] }

it.effect("STO-02 a function of programs makes a new one at each call, and each may run again", () =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const one: Tx.Tx<string | undefined> = write("a", "first")
    assert.strictEqual(yield* storage.transact(one), undefined)
    assert.strictEqual(yield* storage.transact(one), "first")
    assert.strictEqual(yield* storage.transact(write("b", "second")), undefined)

    const composed: Tx.Tx<string | undefined, NoNote> = copy("a", "b")
    assert.strictEqual(yield* storage.transact(composed), "second")
    assert.strictEqual(yield* storage.transact(read("b")), "first")
    assert.deepInclude(yield* Effect.flip(storage.transact(copy("c", "a"))), { _tag: "NoNote", id: "c" })
    assert.strictEqual(yield* storage.transact(read("a")), "first")
  }).pipe(Effect.provide(Layer.provide(Storage.layer(schema, { verify: true }), naive().layer))),
)
