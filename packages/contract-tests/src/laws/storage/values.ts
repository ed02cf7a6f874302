/**
 * Values come back exactly, or are refused before anything is written.
 */
import { table, text, Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { check, equal } from "../../equal.ts"
import { law, lawWith } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { read, schemaOf, transact, withStorage } from "../../storage.ts"
import { File, getNote, insertAll, Note, note, rangeOf, schema } from "./tables.ts"

/** Every code unit there is, halves of surrogate pairs included, in an order in which no two halves meet. */
const everyCodeUnit = () => Array.from({ length: 0x10000 }, (_, unit) => `${String.fromCharCode(unit)}.`).join("")

const texts: Readonly<Record<string, string>> = {
  "the empty text": "",
  "a NUL": "a\0b",
  "NULs alone": "\0\0",
  "a lone high surrogate": "ab\ud83dcd",
  "a lone low surrogate": "\udc00",
  "surrogates in the wrong order": "\udc00\ud83d",
  "an emoji": "👩‍👩‍👧‍👦 family",
  "line separators": "\u2028 \u2029 \u0085 \ufeff",
  "line ends": "a\r\nb\rc\n",
  "quotes and escapes": `"'\`\\ \\u0000 \\" %s ? $1 :name @x -- /* ; */`,
  "right to left": "\u202eabc\u202c שלום",
  "a text that looks like a number": "007",
  "a text that looks like JSON": `{"a":[1,null]}`,
  "unassigned and private characters": "\uffff\ufffe\ue000",
  "decomposed and composed": "e\u0301 é",
}

/** Own properties with names that mean something to objects; written as text, for a literal would set a prototype. */
const dangerous = `{
  "__proto__": { "polluted": true, "__proto__": { "deep": 1 } },
  "constructor": { "prototype": { "polluted": true } },
  "toString": 1, "hasOwnProperty": "x", "valueOf": null, "length": -1, "toJSON": 3, "then": "no promise"
}`

const numbers = [
  0,
  1,
  -1,
  0.1,
  1e21,
  1e-7,
  5e-324,
  1.797_693_134_862_315_7e308,
  2 ** 53 - 1,
  1 - 2 ** 53,
  2 ** 53,
  0.1 + 0.2,
]

const nested = (depth: number): unknown => {
  let value: unknown = "bottom"
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { in: value }
  return value
}

class Instance {
  readonly field = 1
}
const cyclic: { self?: unknown } = {}
cyclic.self = cyclic
const holes = new Array<number>(2)
holes[1] = 1

/** What is no JSON, and where. */
const refusals: ReadonlyArray<readonly [what: string, body: unknown, field: string]> = [
  ["undefined in an object", { a: undefined }, "note.body.a"],
  ["undefined in an array", [1, undefined], "note.body[1]"],
  ["NaN", [Number.NaN], "note.body[0]"],
  ["infinity", { deep: [{ n: Number.POSITIVE_INFINITY }] }, "note.body.deep[0].n"],
  ["a bigint", 1n, "note.body"],
  ["a symbol", Symbol("s"), "note.body"],
  ["a function", { f: () => 1 }, "note.body.f"],
  ["a date", { at: new Date(0) }, "note.body.at"],
  ["a map", new Map([[1, 2]]), "note.body"],
  ["a set", new Set([1]), "note.body"],
  ["a regular expression", /x/, "note.body"],
  ["an error", new Error("x"), "note.body"],
  ["bytes", Uint8Array.of(1), "note.body"],
  ["a class instance", { one: new Instance() }, "note.body.one"],
  ["a hole in an array", holes, "note.body[0]"],
  ["a promise", Promise.resolve(1), "note.body"],
]

/** Refused too, at a place too deep to spell out. */
const tooDeep: ReadonlyArray<readonly [what: string, body: unknown]> = [
  ["a cycle", cyclic],
  ["600 levels", nested(600)],
]

const refusedKeys: ReadonlyArray<readonly [what: string, row: object]> = [
  ["text in a key beyond ASCII", { shelf: "ü", n: 1 }],
  ["a line end in a key", { shelf: "a\n", n: 1 }],
  ["a NUL in a key", { shelf: "a\0", n: 1 }],
  ["DEL in a key", { shelf: "\x7f", n: 1 }],
  ["a fraction in a key", { shelf: "a", n: 0.5 }],
  ["2^53 in a key", { shelf: "a", n: 2 ** 53 }],
  ["NaN in a key", { shelf: "a", n: Number.NaN }],
  ["a number for text in a key", { shelf: 1, n: 1 }],
  ["text for a number in a key", { shelf: "a", n: "1" }],
  ["a key without a part", { shelf: "a" }],
  ["null in a key", { shelf: "a", n: null }],
  ["text in an index beyond ASCII", { shelf: "a", n: 1, tag: "é" }],
  ["a fraction in an index", { shelf: "a", n: 1, rank: 1.5 }],
  ["an infinite number in an index", { shelf: "a", n: 1, rank: Number.NEGATIVE_INFINITY }],
]

const Sized = table("sized", {
  row: z.object({ id: z.string(), text: z.string() }),
  key: [text("id")],
})

const bytesOf = (path: string) =>
  Tx.make(function* (tx) {
    return yield* tx.get(File, [path])
  })

export const valueLaws = [
  law("STO-05, A01, A02 text comes back code unit by code unit, in a new opening too", (store) =>
    Effect.gen(function* () {
      const rows = [...Object.values(texts), everyCodeUnit()].map((body, n) => note(n, { body: { [body]: [body] } }))
      yield* withStorage(store, { schema })(transact(insertAll(Note, rows)))
      yield* withStorage(store, { schema })(
        Effect.gen(function* () {
          const names = [...Object.keys(texts), "every code unit"]
          for (const [n, name] of names.entries()) equal(yield* read(getNote(n)), rows[n], name)
        }),
      )
    }),
  ),

  law("STO-05 own keys named __proto__ or constructor survive, and pollute nothing", (store) =>
    Effect.gen(function* () {
      const body: unknown = JSON.parse(dangerous)
      yield* withStorage(store, { schema })(transact(insertAll(Note, [note(1, { body })])))
      const found = yield* withStorage(store, { schema })(read(getNote(1)))
      equal(found, note(1, { body }))
      equal(Object.keys((found?.body ?? {}) as object), Object.keys(body as object), "the order of own keys")
      equal("polluted" in {}, false, "whether every object is polluted")
    }),
  ),

  law("STO-05 numbers come back exactly, and a negative zero as zero", (store) =>
    Effect.gen(function* () {
      yield* withStorage(store, { schema })(
        transact(insertAll(Note, [note(1, { body: numbers }), note(-0, { rank: -0, body: [-0] })])),
      )
      yield* withStorage(store, { schema })(
        Effect.gen(function* () {
          equal(yield* read(getNote(1)), note(1, { body: numbers }))
          equal(yield* read(getNote(0)), note(0, { rank: 0, body: [0] }))
          equal(yield* read(rangeOf(Note, "byRank", { from: [-0], to: [0] })), [note(0, { rank: 0, body: [0] })])
        }),
      )
    }),
  ),

  law("STO-05 every shape of JSON comes back: null, nothing, empty, deep, wide", (store) =>
    Effect.gen(function* () {
      const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`key ${i}`, i]))
      const bodies = [null, true, false, [], {}, [[]], [{}], { "": {} }, [null, [null]], nested(450), wide]
      const rows = bodies.map((body, n) => note(n, { body }))
      yield* withStorage(store, { schema })(transact(insertAll(Note, rows)))
      yield* withStorage(store, { schema })(
        Effect.gen(function* () {
          equal(yield* read(rangeOf(Note, "key")), rows)
          yield* transact(insertAll(Note, [note(99)]))
          equal(Object.hasOwn((yield* read(getNote(99))) ?? {}, "body"), false, "whether an absent field appears")
        }),
      )
    }),
  ),

  lawWith({ slow: true }, "STO-05 a text of 64 MiB comes back as it was", (store) =>
    Effect.gen(function* () {
      const length = 64 * 1024 * 1024
      const large = "0123456789abcde\u2028".repeat(length / 16)
      const options = { schema: schemaOf(Sized), verify: false }
      yield* withStorage(store, options)(transact(insertAll(Sized, [{ id: "large", text: large }])))
      const found = yield* withStorage(
        store,
        options,
      )(
        read(
          Tx.make(function* (tx) {
            return yield* tx.get(Sized, ["large"])
          }),
        ),
      )
      equal(found?.text.length, length, "the length of the text")
      check(found?.text === large, "a text of 64 MiB has changed")
    }),
  ),

  law("STO-05 a value that is no JSON is refused with InvalidInput naming its path, and nothing is written", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        for (const [what, body, field] of refusals) {
          const error = yield* Effect.flip(transact(insertAll(Note, [note(1), note(2, { body }), note(3)])))
          equal(error._tag, "InvalidInput", what)
          equal("field" in error && error.field, field, what)
        }
        for (const [what, body] of tooDeep) {
          equal(yield* outcomeOf(transact(insertAll(Note, [note(1, { body })]))), { failed: "InvalidInput" }, what)
        }
        equal(yield* read(rangeOf(Note, "key")), [])
      }),
    ),
  ),

  law(
    "STO-05 a value that cannot be in a key or an index is refused with InvalidInput, and nothing is written",
    (store) =>
      withStorage(store, { schema })(
        Effect.gen(function* () {
          for (const [what, row] of refusedKeys) {
            equal(yield* outcomeOf(transact(insertAll(Note, [note(7), row as Note]))), { failed: "InvalidInput" }, what)
          }
          equal(yield* read(rangeOf(Note, "key")), [])
        }),
      ),
  ),

  law("STO-05 fields that a row's schema does not know survive an update", (store) =>
    Effect.gen(function* () {
      const known = { id: z.string(), n: z.number() }
      const Known = table("thing", { row: z.object(known), key: [text("id")] })
      const Newer = table("thing", { row: z.object({ ...known, later: z.unknown() }), key: [text("id")] })
      const row = { id: "x", n: 1, later: { deep: ["kept"] } }
      yield* withStorage(store, { schema: schemaOf(Newer) })(transact(insertAll(Newer, [row])))
      yield* withStorage(store, { schema: schemaOf(Known) })(
        transact(
          Tx.make(function* (tx) {
            yield* tx.get(Known, ["x"])
            tx.update(Known, ["x"], (one) => ({ ...one, n: one.n + 1 }))
          }),
        ),
      )
      equal(yield* withStorage(store, { schema: schemaOf(Newer) })(read(rangeOf(Newer, "key"))), [{ ...row, n: 2 }])
    }),
  ),

  law("STO-01 bytes are kept beside a row: exactly, empty ones too, and apart from none", (store) =>
    Effect.gen(function* () {
      const every = Uint8Array.from({ length: 256 }, (_, i) => i)
      const files = [
        { path: "every", size: 1, content: every },
        { path: "view", size: 2, content: every.subarray(10, 20) },
        { path: "empty", size: 3, content: new Uint8Array() },
        { path: "none", size: 4 },
        { path: "large", size: 5, content: new Uint8Array(200_000).fill(255) },
      ]
      yield* withStorage(store, { schema })(transact(insertAll(File, files)))
      yield* withStorage(store, { schema })(
        Effect.gen(function* () {
          equal(yield* read(rangeOf(File, "bySize")), files)
          equal(Object.hasOwn((yield* read(bytesOf("none"))) ?? {}, "content"), false, "whether absent bytes appear")
          const view = yield* read(bytesOf("view"))
          equal(Object.getPrototypeOf(view?.content), Uint8Array.prototype, "the class of bytes")
        }),
      )
    }),
  ),

  law("STO-01 an update keeps a row's bytes, replaces them, or takes them away", (store) =>
    withStorage(store, { schema })(
      Effect.gen(function* () {
        const change = (to: (row: { path: string; size: number; content?: Uint8Array | undefined }) => typeof row) =>
          transact(
            Tx.make(function* (tx) {
              yield* tx.get(File, ["f"])
              tx.update(File, ["f"], to)
            }),
          )
        yield* transact(insertAll(File, [{ path: "f", size: 1, content: Uint8Array.of(1, 2) }]))
        yield* change((row) => ({ ...row, size: 2 }))
        equal(yield* read(bytesOf("f")), { path: "f", size: 2, content: Uint8Array.of(1, 2) })
        yield* change((row) => ({ ...row, content: Uint8Array.of(3) }))
        equal(yield* read(bytesOf("f")), { path: "f", size: 2, content: Uint8Array.of(3) })
        yield* change(({ path, size }) => ({ path, size }))
        equal(yield* read(bytesOf("f")), { path: "f", size: 2 })
      }),
    ),
  ),

  law("STO-05 what a caller or a reader changes afterwards does not change what is stored", (store) =>
    withStorage(store, { schema, verify: false })(
      Effect.gen(function* () {
        const body = { list: [1] }
        const content = Uint8Array.of(1, 2, 3)
        yield* transact(insertAll(Note, [note(1, { body })]))
        yield* transact(insertAll(File, [{ path: "f", size: 3, content }]))
        body.list.push(2)
        content[0] = 99
        const found = yield* read(getNote(1))
        const file = yield* read(bytesOf("f"))
        equal(found, note(1, { body: { list: [1] } }))
        equal(file?.content, Uint8Array.of(1, 2, 3))
        const given = found?.body as typeof body | undefined
        given?.list.push(3)
        file?.content?.fill(0)
        equal(yield* read(getNote(1)), note(1, { body: { list: [1] } }))
        equal((yield* read(bytesOf("f")))?.content, Uint8Array.of(1, 2, 3))
      }),
    ),
  ),
]
