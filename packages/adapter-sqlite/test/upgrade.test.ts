import { assert, it } from "@effect/vitest"
import { index, int, table, text, unique } from "@skein/core/storage"
import type { Migration, Schema } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { insert, range, read, write } from "../../../test/port/machine.ts"
import type { Driver } from "../src/driver.ts"
import { libsql } from "../src/libsql.ts"
import { closedCopy, newFile } from "./directory.ts"
import { execute, query } from "./sql.ts"
import { create, open, openWith, schemaOf } from "./store.ts"

const Old = table("page", {
  row: z.object({ book: z.string(), n: z.number(), title: z.string() }),
  key: [text("book"), int("n")],
  indexes: { byTitle: index(text("title")), byBoth: index(text("title"), int("n")) },
})
/** The same table with another key, other indexes and another field. */
const New = table("page", {
  row: z.object({ book: z.string(), n: z.number(), title: z.string(), slug: z.optional(z.string()) }),
  key: [int("n"), text("book")],
  indexes: { byTitle: unique(text("title"), text("book")), bySlug: index(text("slug")) },
})
const PictureRow = z.object({ n: z.number(), name: z.string(), data: z.optional(z.instanceof(Uint8Array)) })
const Picture = table("picture", { row: PictureRow, key: [int("n")], bytes: "data" })
/** The same table with an index. */
const NamedPicture = table("picture", {
  row: PictureRow,
  key: [int("n")],
  indexes: { byName: index(text("name")) },
  bytes: "data",
})
const Kept = table("kept", { row: z.object({ id: z.string() }), key: [text("id")] })
const Added = table("added", { row: z.object({ id: z.string() }), key: [text("id")] })

const migrations: ReadonlyArray<Migration> = [
  {
    version: 2,
    table: "page",
    change: (row) => (row["title"] === "dropped" ? undefined : { ...row, slug: `${row["title"]}-2` }),
  },
]
const before = schemaOf(1, [Old, Picture, Kept])
const after: Schema = schemaOf(2, [New, NamedPicture, Kept, Added], migrations)

const pages = Array.from({ length: 250 }, (_, n) => ({ book: `b${n % 3}`, n, title: n === 7 ? "dropped" : `t${n}` }))
const pictures = [
  { n: -3, name: "one", data: new Uint8Array([0, 255, 10]) },
  { n: 9_007_199_254_740_991, name: "two", data: new Uint8Array() },
  { n: 0, name: "three" },
]

const filled = Effect.fnUntraced(function* () {
  const path = newFile()
  const engine = yield* open(path, before)
  yield* write(engine, {
    rows: [
      ...pages.map((page) => insert(Old, page)),
      ...pictures.map((picture) => insert(Picture, picture)),
      insert(Kept, { id: "k" }),
    ],
  })
  yield* engine.close
  return closedCopy(path)
})

const layout = (path: string) =>
  query(
    path,
    "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY name, type",
  )

/** Everything in a store. */
const content = (path: string) => ({
  layout: layout(path),
  remembered: query(path, "SELECT version, oldest_reader, oldest_writer, tables FROM skein_schema").map((row) => [
    ...row.slice(0, 3),
    JSON.parse(String(row[3])),
  ]),
  numbers: [query(path, "PRAGMA user_version"), query(path, "PRAGMA application_id")],
  pages: query(path, "SELECT * FROM page ORDER BY n, book"),
  pictures: query(path, "SELECT * FROM picture ORDER BY n"),
  kept: query(path, "SELECT * FROM kept"),
  integrity: query(path, "PRAGMA integrity_check"),
})

it.effect("A75 STO-08 an upgraded store equals one that was new, to the text of its tables", () =>
  Effect.gen(function* () {
    const upgraded = yield* filled()
    yield* create(upgraded, after)

    const fresh = newFile()
    const engine = yield* open(fresh, after)
    const moved = pages
      .filter(({ title }) => title !== "dropped")
      .map((page) => insert(New, { ...page, slug: `${page.title}-2` }))
    yield* write(engine, {
      rows: [...moved, ...pictures.map((picture) => insert(NamedPicture, picture)), insert(Kept, { id: "k" })],
    })
    yield* engine.close

    assert.deepStrictEqual(content(upgraded), content(fresh))
    assert.lengthOf(content(upgraded).pages, 249)
  }),
)

it.effect("STO-08 a view of another program outlives an upgrade and shows the upgraded rows", () =>
  Effect.gen(function* () {
    const path = yield* filled()
    execute(path, "CREATE VIEW titles AS SELECT title FROM page WHERE n < 3; CREATE INDEX own ON page (json)")
    yield* create(path, after)
    assert.deepStrictEqual(query(path, "SELECT title FROM titles ORDER BY title"), [["t0"], ["t1"], ["t2"]])
  }),
)

it.effect("STO-08 tables that were declared elsewhere stay, and are remembered", () =>
  Effect.gen(function* () {
    const path = yield* filled()
    yield* create(path, schemaOf(2, [Added]))
    const engine = yield* open(path, schemaOf(2, [Old, Picture, Kept]))
    assert.lengthOf((yield* read(engine, range(Old)))[0]!, 250)
    yield* engine.close
  }),
)

it.effect(
  "STO-08 an upgrade that breaks off at any statement leaves the old store, and the next one succeeds",
  () =>
    Effect.gen(function* () {
      const path = yield* filled()
      const old = content(path)
      const opening = (driver: Driver) =>
        Effect.try({ try: () => openWith(driver, path, after), catch: (thrown) => thrown })
      let at = 0
      for (; ; at++) {
        const outcome = yield* Effect.result(opening(breaksOff(at)))
        if (outcome._tag === "Success") break
        assert.propertyVal(outcome.failure, "message", "broken off")
        assert.deepStrictEqual(content(path), old)
      }
      assert.isAbove(at, 15)
      assert.lengthOf(content(path).pages, 249)
    }),
  30_000,
)

/** A driver that fails at a given statement of the first write transaction. */
const breaksOff = (at: number): Driver => {
  let counted: number | undefined
  const count = () => {
    if (counted !== undefined && counted++ === at) throw new Error("broken off")
  }
  return (uri) => {
    const connection = libsql(uri)
    return {
      exec: (sql) => {
        count()
        connection.exec(sql)
        if (sql === "BEGIN IMMEDIATE") counted = 0
        if (sql === "COMMIT" || sql === "ROLLBACK") counted = undefined
      },
      prepare: (sql) => {
        const statement = connection.prepare(sql)
        return {
          run: (values) => {
            // Of the rows, one in the middle stands for all.
            if (sql.includes("skein_schema") || values[0] === 100) count()
            return statement.run(values)
          },
          get: (values) => statement.get(values),
          all: (values) => statement.all(values),
        }
      },
      get inTransaction() {
        return connection.inTransaction
      },
      close: () => connection.close(),
    }
  }
}

it.effect("STO-09 an upgrade carries damaged rows over to the byte, and their bytes with them", () =>
  Effect.gen(function* () {
    const path = yield* filled()
    execute(
      path,
      `UPDATE picture SET json = CAST(x'7bff00fe' AS TEXT) WHERE n = -3;
       UPDATE picture SET json = 'no JSON' WHERE n = 0`,
    )
    const raw = () =>
      query(path, "SELECT n, CAST(json AS BLOB), data.bytes FROM picture AS data ORDER BY n").map((row) =>
        row.map(String),
      )
    const damaged = raw()
    yield* create(path, schemaOf(2, [Old, NamedPicture, Kept]))
    assert.deepStrictEqual(raw(), damaged)
    assert.deepStrictEqual(query(path, "SELECT name FROM picture ORDER BY n"), [[null], [null], ["two"]])
  }),
)

it.effect("STO-09 an upgrade that would lose a row fails with Corrupt, names it, and changes nothing", () =>
  Effect.gen(function* () {
    const path = yield* filled()
    execute(path, "UPDATE page SET json = 'no JSON' WHERE n = 4")
    const old = content(path)
    const reason = yield* Effect.flip(open(path, after))
    assert.deepInclude(reason, { _tag: "Corrupt", table: "page", key: ["b1", 4] })
    assert.deepStrictEqual(content(path), old)
  }),
)
