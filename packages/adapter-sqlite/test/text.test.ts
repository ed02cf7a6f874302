import { assert, it } from "@effect/vitest"
import { rowJson, table, text } from "@skein/core/storage"
import type { StoredRow } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { readFileSync, writeFileSync } from "node:fs"
import * as z from "zod/mini"
import { find, from, get, insert, range, read, upTo, write } from "../../../test/port/machine.ts"
import { closedCopy, newFile } from "./directory.ts"
import { execute, query } from "./sql.ts"
import { Note, open, schemaOf } from "./store.ts"

const Text = table("text", { row: z.object({ id: z.string(), body: z.string() }), key: [text("id")] })
const texts = schemaOf(1, [Text])

const bodyOf = (row: StoredRow | undefined) => (JSON.parse(row?.json as string) as { body: string }).body

it.effect("STO-05 text comes back exactly, read alone, in a range and with other ranges", () =>
  Effect.gen(function* () {
    const bodies = [
      "",
      "\0",
      "a\0b\n",
      "\ud800",
      "\udfff\ud800",
      "\u2028\u2029\ufeff",
      "é😀",
      '"\\\n\r\t\b',
      "x".repeat(300_000),
      "'; DROP TABLE text; --",
    ]
    const engine = yield* open(newFile(), texts)
    const id = (n: number) => String(n).padStart(2, "0")
    yield* write(engine, { rows: bodies.map((body, n) => insert(Text, { id: id(n), body })) })

    const [all] = yield* read(engine, range(Text))
    const alone = (yield* read(engine, ...bodies.map((_, n) => get(Text, id(n))))).map(([row]) => bodyOf(row))
    const together = yield* read(
      engine,
      ...bodies.map((_, n) => range(Text, { lower: from(id(n)), upper: upTo(id(n)) })),
    )
    assert.deepStrictEqual(all!.map(bodyOf), bodies)
    assert.deepStrictEqual(alone, bodies)
    assert.deepStrictEqual(
      together.map(([row]) => bodyOf(row)),
      bodies,
    )
    yield* engine.close
  }),
)

it.effect(
  "STO-05 a row of 64 MiB is written and read, alone and beside another",
  () =>
    Effect.gen(function* () {
      const engine = yield* open(newFile(), texts)
      const body = "é".repeat(32 * 1_024 * 1_024)
      yield* write(engine, { rows: [insert(Text, { id: "a", body }), insert(Text, { id: "b", body: "small" })] })
      const [alone, both] = yield* read(engine, get(Text, "a"), range(Text))
      const whole = rowJson(Text, { id: "a", body })
      // Not compared by `strictEqual`, which would print them.
      assert.isTrue(alone![0]!.json === whole, "read alone")
      assert.isTrue(both![0]!.json === whole, "read in a range")
      assert.strictEqual(bodyOf(both![1]), "small")
      yield* engine.close
    }),
  30_000,
)

it.effect("A22 STO-09 a damaged row is handed over as it is, in its place, and hides no other", () =>
  Effect.gen(function* () {
    const path = newFile()
    const engine = yield* open(path)
    const rows = [1, 2, 3, 4, 5, 6].map((n) => insert(Note, { book: "b", n, id: `id${n}`, label: `l${n}` }))
    yield* write(engine, { rows })
    const whole = (n: number) => `{"id":"id${n}","label":"l${n}"}`
    const notUtf8 = Buffer.from([0x7b, 0xff, 0x00, 0xfe, 0x0a])
    execute(
      path,
      `UPDATE note SET json = 'no JSON' WHERE n = 1;
       UPDATE note SET json = CAST(x'${notUtf8.toString("hex")}' AS TEXT) WHERE n = 2;
       UPDATE note SET json = '{' || char(10) || '  "id": "id3"' || char(10) || '}' WHERE n = 3;
       UPDATE note SET json = '' WHERE n = 5`,
    )
    const found = ["no JSON", new Uint8Array(notUtf8), `{\n  "id": "id3"\n}`, whole(4), "", whole(6)]
    const jsonOf = (rows: ReadonlyArray<StoredRow> | undefined) => rows!.map(({ json }) => json)
    const keysOf = (rows: ReadonlyArray<StoredRow> | undefined) => rows!.map(({ key }) => key[1])

    const [forwards, backwards, byIndex] = yield* read(
      engine,
      range(Note),
      range(Note, { reverse: true }),
      range(Note, { index: "byLabel" }),
    )
    assert.deepStrictEqual(jsonOf(forwards), found)
    assert.deepStrictEqual(keysOf(forwards), [1, 2, 3, 4, 5, 6])
    assert.deepStrictEqual(jsonOf(backwards), found.toReversed())
    assert.deepStrictEqual(
      byIndex!.map(({ json, place }) => [place, json]),
      found.map((json, n) => [[`l${n + 1}`, "b", n + 1], json]),
    )

    const alone = yield* read(engine, ...found.map((_, n) => get(Note, "b", n + 1)))
    assert.deepStrictEqual(alone.flatMap(jsonOf), found)
    const unique = yield* read(engine, ...found.map((_, n) => find(Note, "byId", `id${n + 1}`)))
    assert.deepStrictEqual(unique.flatMap(jsonOf), found)
    const pairs = [1, 3, 5].map((n) => range(Note, { lower: from("b", n), upper: upTo("b", n + 1) }))
    assert.deepStrictEqual((yield* read(engine, ...pairs)).flatMap(jsonOf), found)
    yield* engine.close
  }),
)

it.effect("STO-09 a damaged page of the file is Corrupt, and what does not lie on it is read", () =>
  Effect.gen(function* () {
    const original = newFile()
    const engine = yield* open(original)
    const rows = Array.from({ length: 200 }, (_, n) => insert(Note, { book: "b", n, label: "x".repeat(100) }))
    yield* write(engine, { rows })
    yield* engine.close
    const path = closedCopy(original)
    // The last leaf of the table holds the newest rows.
    const [[page]] = query(path, "SELECT max(pageno) FROM dbstat WHERE name = 'note' AND pagetype = 'leaf'") as [
      [number],
    ]
    writeFileSync(path, readFileSync(path).fill(0x5a, (page - 1) * 4_096, page * 4_096))

    const damaged = yield* open(path)
    const reason = yield* Effect.flip(read(damaged, range(Note, { lower: from("b", 150) })))
    assert.strictEqual(reason._tag, "Corrupt")
    const [first] = yield* read(damaged, get(Note, "b", 0))
    assert.lengthOf(first!, 1)
    yield* damaged.close
  }),
)
