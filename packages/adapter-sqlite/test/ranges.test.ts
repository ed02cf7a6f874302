import { assert, it } from "@effect/vitest"
import type { EngineRead, StoredRow } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { after, from, get, insert, range, read, upTo, write } from "../../../test/port/machine.ts"
import { newFile } from "./directory.ts"
import { Note, noting, open, openWith, schema } from "./store.ts"

const books = Array.from({ length: 100 }, (_, book) => `b${String(book).padStart(3, "0")}`)

/** Five rows a book, inserted so that the order in the table is neither that of the key nor that of an index. */
const rows = [4, 0, 3, 1, 2].flatMap((n) =>
  books.toReversed().map((book) => insert(Note, { book, n, id: `${book}:${n}`, label: `l${(n * 3) % 5}` })),
)

const filled = Effect.gen(function* () {
  const path = newFile()
  const engine = yield* open(path)
  yield* write(engine, { rows })
  yield* engine.close
  const { driver, notes } = noting()
  const noted = openWith(driver, path, schema)
  // The probe comes first, then the writer, then the reader.
  return { engine: noted, asked: notes.at(-1)! }
})

const placesOf = (answers: ReadonlyArray<ReadonlyArray<StoredRow>>) =>
  answers.map((rows) =>
    rows.map(({ key, place }) => (place === undefined ? key.join() : `${place.join()} ${key.join()}`)),
  )

const cases: ReadonlyArray<readonly [string, number, (book: string, i: number) => EngineRead]> = [
  ["a closed interval", 1, (book) => range(Note, { lower: from(book, 1), upper: upTo(book, 3) })],
  [
    "intervals of several lengths, with a limit that fits",
    1,
    (book, i) => range(Note, { lower: from(book, 1), upper: upTo(book, 1 + (i % 3)), limit: 3 + (i % 2) }),
  ],
  [
    "intervals with more rows than the limit",
    1,
    (book) => range(Note, { lower: from(book, 0), upper: upTo(book, 4), limit: 2 }),
  ],
  ["an open interval", 1, (book) => range(Note, { lower: after(book, 1), upper: after(book, 4) })],
  ["backwards", 1, (book) => range(Note, { lower: from(book), upper: upTo(book), reverse: true })],
  ["the last two of each", 1, (book) => range(Note, { lower: from(book), upper: upTo(book), reverse: true, limit: 2 })],
  ["two limits", 2, (book, i) => range(Note, { lower: from(book), upper: upTo(book), limit: 1 + (i % 2) })],
  ["several books", 1, (book) => range(Note, { lower: after(book, 2), upper: upTo(`${book}~`), limit: 4 })],
  [
    "an index",
    1,
    (book, i) => range(Note, { index: "byLabel", lower: from(`l${i % 5}`, book), upper: upTo(`l${i % 5}`), limit: 2 }),
  ],
  [
    "an index backwards",
    1,
    (book, i) =>
      range(Note, {
        index: "byLabel",
        lower: from(`l${i % 5}`),
        upper: upTo(`l${i % 5}`, book),
        limit: 2,
        reverse: true,
      }),
  ],
  [
    "a unique index",
    1,
    (book) => range(Note, { index: "byId", lower: from(book), upper: after(`${book}~`), limit: 2 }),
  ],
  ["both directions", 2, (book, i) => range(Note, { lower: from(book), upper: upTo(book), reverse: i % 2 === 1 })],
]

it.effect.each(cases)("STO-03 ranges that are asked for together go in one statement: %s", ([, statements, ask]) =>
  Effect.gen(function* () {
    const { asked, engine } = yield* filled
    const reads = books.map(ask)
    asked.length = 0
    const together = yield* read(engine, ...reads)
    const about = asked.filter((sql) => sql.includes("note"))
    assert.lengthOf(about, statements)

    const alone = yield* Effect.forEach(reads, (one) => Effect.map(read(engine, one), ([rows]) => rows!))
    assert.deepStrictEqual(placesOf(together), placesOf(alone))
    assert.isAbove(together.flat().length, 0)
    assert.deepStrictEqual(
      together.map((rows) => rows.map(({ json }) => json)),
      alone.map((rows) => rows.map(({ json }) => json)),
    )
    yield* engine.close
  }),
)

it.effect("STO-03 answers keep the order of the reads, whatever is asked between ranges", () =>
  Effect.gen(function* () {
    const { engine } = yield* filled
    const reads = books
      .slice(0, 6)
      .flatMap((book, n) => [
        range(Note, { lower: from(book, 1), upper: upTo(book, 1) }),
        ...(n % 2 === 0 ? [get(Note, book, 4), range(Note, { lower: after(), limit: 1 })] : []),
      ])
    const answers = yield* read(engine, ...reads)
    assert.deepStrictEqual(
      placesOf(answers),
      books.slice(0, 6).flatMap((book, n) => [[`${book},1`], ...(n % 2 === 0 ? [[`${book},4`], []] : [])]),
    )
    yield* engine.close
  }),
)
