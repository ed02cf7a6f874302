import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe } from "vitest"
import { insert, range, read, write } from "../../../test/port/machine.ts"
import { locate } from "../src/location.ts"
import { closedCopy, directory, filesOf, newFile } from "./directory.ts"
import { execute, query } from "./sql.ts"
import { create, Note, open, schema, schemaOf } from "./store.ts"

/** Opening fails; the reason, and what it says. */
const refusal = (path: string, as = schema) =>
  Effect.map(Effect.flip(open(path, as)), (reason) => [reason._tag, reason.detail ?? ""] as const)

const row = (n: number) => insert(Note, { book: "b", n })

/** A file that was created, changed by another program, and closed by both. */
const changed = Effect.fnUntraced(function* (sql: string, as = schema) {
  const path = newFile()
  yield* create(path, as)
  const copy = closedCopy(path)
  execute(copy, sql)
  return copy
})

/** A database that another program made and closed. */
const foreign = (sql: string): string => {
  const path = newFile()
  execute(path, sql)
  return path
}

describe("a newer store", () => {
  const isRefused = Effect.fnUntraced(function* (path: string, found: number) {
    const before = filesOf(path)
    const reason = yield* Effect.flip(open(path))
    assert.deepInclude(reason, { _tag: "VersionMismatch", found, supported: 1 })
    assert.deepStrictEqual(filesOf(path), before)
  })

  it.effect("A74 STO-08 is refused with both versions, and no byte and no file beside it changes", () =>
    Effect.gen(function* () {
      yield* isRefused(yield* changed("", schemaOf(3)), 3)
      yield* isRefused(yield* changed("PRAGMA journal_mode = DELETE", schemaOf(3)), 3)
    }),
  )

  it.effect("A74 STO-08 is refused with columns and tables that nobody here knows", () =>
    Effect.gen(function* () {
      for (const change of [
        "ALTER TABLE skein_schema ADD COLUMN extra TEXT; CREATE TABLE unheard_of (a); DROP TABLE note",
        "ALTER TABLE skein_schema RENAME COLUMN oldest_writer TO who_may_write",
        "UPDATE skein_schema SET tables = 'in another form'",
      ]) {
        yield* isRefused(yield* changed(change, schemaOf(3)), 3)
      }
    }),
  )

  it.effect("A74 STO-08 is refused when only user_version was raised", () =>
    Effect.gen(function* () {
      yield* isRefused(yield* changed("PRAGMA user_version = 9"), 9)
    }),
  )

  it.effect("A74 STO-08 is refused while it is in use, and when a crash has left its log", () =>
    Effect.gen(function* () {
      const path = newFile()
      const engine = yield* open(path, schemaOf(3))
      yield* write(engine, { rows: [row(1)] })
      const crashed = newFile()
      for (const suffix of ["", "-wal"]) copyFileSync(path + suffix, crashed + suffix)
      for (const refused of [path, crashed]) {
        const { "": file, "-wal": log } = filesOf(refused)
        assert.isAbove(readFileSync(`${refused}-wal`).length, 0)
        const reason = yield* Effect.flip(open(refused))
        assert.deepInclude(reason, { _tag: "VersionMismatch", found: 3 })
        const after = filesOf(refused)
        assert.deepStrictEqual([after[""], after["-wal"]], [file, log])
      }
      yield* engine.close
    }),
  )

  it.effect("STO-08 is opened when it admits this version as a writer, and keeps its version", () =>
    Effect.gen(function* () {
      const path = newFile()
      yield* create(path, { ...schemaOf(3), oldestReader: 1, oldestWriter: 1 })
      const engine = yield* open(path)
      yield* write(engine, { rows: [row(1)] })
      yield* engine.close
      assert.deepStrictEqual(query(path, "SELECT version, oldest_writer FROM skein_schema"), [[3, 1]])
      assert.deepStrictEqual(query(path, "PRAGMA user_version"), [[3]])
    }),
  )
})

describe("what is no store", () => {
  const isRefused = Effect.fnUntraced(function* (path: string, says: string) {
    const before = filesOf(path)
    const [tag, detail] = yield* refusal(path)
    assert.strictEqual(tag, "Corrupt")
    assert.include(detail, says)
    assert.deepStrictEqual(filesOf(path), before)
  })

  it.effect("STO-07 a database of another program is refused and stays as it is, whatever it holds", () =>
    Effect.gen(function* () {
      for (const mode of ["DELETE", "WAL"]) {
        const path = foreign(`PRAGMA journal_mode = ${mode}; CREATE TABLE note (book TEXT, n INTEGER, json TEXT)`)
        yield* isRefused(path, "a database of another program (it holds note)")
      }
      const numbered = foreign("PRAGMA user_version = 40; CREATE TABLE a (b); CREATE TABLE c (d)")
      yield* isRefused(numbered, "a database of another program (it holds a, c)")
      yield* isRefused(foreign("PRAGMA application_id = 1"), "a database of another program")
    }),
  )

  it.effect("STO-07 a file that is no database, or that is cut short, is Corrupt and stays as it is", () =>
    Effect.gen(function* () {
      const garbage = newFile()
      writeFileSync(garbage, "no database ".repeat(1_000))
      yield* isRefused(garbage, "file is not a database")
      const short = newFile()
      writeFileSync(short, "hi")
      yield* isRefused(short, "file is not a database")
      const cut = yield* changed("")
      writeFileSync(cut, readFileSync(cut).subarray(0, 5_000))
      yield* isRefused(cut, "")
    }),
  )

  it.effect("STO-07 a store whose skein_schema is damaged is Corrupt and stays as it is", () =>
    Effect.gen(function* () {
      for (const damage of [
        "UPDATE skein_schema SET tables = 'nothing'",
        `UPDATE skein_schema SET tables = '{"note":1}'`,
        "DELETE FROM skein_schema",
        "ALTER TABLE skein_schema RENAME COLUMN version TO edition",
      ]) {
        yield* isRefused(yield* changed(damage), "skein_schema cannot be read")
      }
    }),
  )
})

describe("a place that cannot be opened", () => {
  it.effect("STO-07 says which directory is missing, that it is one, or that nothing is there", () =>
    Effect.gen(function* () {
      const missing = join(directory, "missing")
      assert.deepStrictEqual(yield* refusal(join(missing, "a.db")), [
        "Unavailable",
        `the directory ${missing} does not exist: create it first`,
      ])
      const folder = join(directory, "folder")
      mkdirSync(folder)
      assert.deepStrictEqual(yield* refusal(folder), ["Unavailable", `${folder} is a directory: name a file in it`])
      const absent = newFile()
      for (const mode of ["ro", "rw"]) {
        assert.deepStrictEqual(yield* refusal(`file:${absent}?mode=${mode}`), [
          "Unavailable",
          `${absent} does not exist, and mode=${mode} creates nothing`,
        ])
      }
      assert.deepStrictEqual(filesOf(absent), {})
    }),
  )

  it.effect("STO-07 a URL that means something else to SQLite than to its reader is refused with a sentence", () =>
    Effect.gen(function* () {
      for (const url of ["https://a.example/db", "http://localhost:8080", "libsql://a.example", "wss://a.example"]) {
        const reason = locate(url)
        assert.deepInclude(reason, { _tag: "Unavailable" })
        assert.include("detail" in reason ? reason.detail : "", "not supported yet")
      }
      for (const url of [
        "",
        "chat.db",
        "/var/chat.db",
        "file:",
        "file:chat#1.db",
        "file:100%.db",
        "file://chat.db",
        "file:a?cache=shared",
        "file:a?mode=memory",
        "file:a?mode=ro?b",
      ]) {
        assert.deepInclude(locate(url), { _tag: "Unavailable" }, url)
      }
      const unsupported = yield* refusal("file:a?vfs=x")
      assert.deepStrictEqual(unsupported, [
        "Unavailable",
        "file:a?vfs=x: mode=ro, mode=rw and mode=rwc are the only parameters",
      ])
    }),
  )

  it.effect("STO-07 an option that makes no sense, and a path that is no path, are refused with a sentence", () =>
    Effect.gen(function* () {
      const sizes = [{ maxBytes: 0 }, { maxBytes: 1.5 }, { cacheBytes: NaN }, { cacheBytes: "1" as unknown as number }]
      for (const options of sizes) {
        const reason = yield* Effect.flip(open(newFile(), schema, options))
        assert.deepInclude(reason, { _tag: "Unavailable" })
        assert.include(reason.detail, "must be a whole number of bytes, more than 0")
      }
      assert.deepInclude(locate(undefined as unknown as string), { _tag: "Unavailable" })
      assert.deepInclude(locate("file:a\0b"), { _tag: "Unavailable" })
      const [tag] = yield* refusal(join(directory, "x".repeat(5_000)))
      assert.strictEqual(tag, "Unavailable")
    }),
  )

  it.effect("STO-01 spaces, per cent signs and other letters in a path name the file they spell", () =>
    Effect.gen(function* () {
      const path = join(directory, "a b%#?é.db")
      const url = `file:${directory}/a b%25%23%3f%C3%A9.db`
      assert.deepInclude(locate(url), { path })
      yield* create(url)
      yield* create(`file://${directory}/${encodeURIComponent("a b%#?é.db")}`)
      assert.property(filesOf(path), "")
    }),
  )
})

describe("a store that may only be read", () => {
  it.effect("STO-07 is read, and refuses writes with a sentence that says why", () =>
    Effect.gen(function* () {
      const path = newFile()
      const writer = yield* open(path)
      yield* write(writer, { rows: [row(1)] })
      const reader = yield* open(`file:${path}?mode=ro`)
      const reason = yield* Effect.flip(write(reader, { rows: [row(2)] }))
      assert.strictEqual(reason._tag, "Unavailable")
      assert.include(reason.detail, "read-only")
      const [rows] = yield* read(reader, range(Note))
      assert.deepStrictEqual(
        rows!.map(({ key }) => key),
        [["b", 1]],
      )
      yield* reader.close
      yield* write(writer, { rows: [row(2)] })
      yield* writer.close
    }),
  )

  it.effect("STO-07 is Unavailable when it would have to be upgraded first", () =>
    Effect.gen(function* () {
      const path = yield* changed("")
      const before = filesOf(path)
      const [tag, detail] = yield* refusal(`file:${path}?mode=ro`, schemaOf(2))
      assert.strictEqual(tag, "Unavailable")
      assert.include(detail, "has to be upgraded")
      assert.strictEqual(filesOf(path)[""], before[""])
    }),
  )
})

describe("a store that is current", () => {
  it.effect("STO-08 is opened and closed without changing a byte of it", () =>
    Effect.gen(function* () {
      const path = yield* changed("")
      const before = filesOf(path)
      yield* create(path)
      const after = filesOf(path)
      assert.strictEqual(after[""], before[""])
      assert.lengthOf(readFileSync(`${path}-wal`), 0)
    }),
  )

  it.effect("STO-08 is switched back to a write-ahead log when another program has left it without", () =>
    Effect.gen(function* () {
      const path = yield* changed("PRAGMA journal_mode = DELETE")
      yield* create(path)
      assert.deepStrictEqual(query(path, "PRAGMA journal_mode"), [["wal"]])
    }),
  )

  it.effect("STO-10 is opened twice by one process, and each sees what the other wrote", () =>
    Effect.gen(function* () {
      const path = newFile()
      const [one, two] = [yield* open(path), yield* open(path)]
      yield* write(one, { rows: [row(1)] })
      yield* write(two, { rows: [row(2)] })
      for (const engine of [one, two]) assert.lengthOf((yield* read(engine, range(Note)))[0]!, 2)
      yield* one.close
      yield* write(two, { rows: [row(3)] })
      yield* two.close
      assert.deepStrictEqual(query(path, "SELECT count(*) FROM note"), [[3]])
    }),
  )

  it.effect("STO-01 can be read by other programs: named columns, indexes and marks", () =>
    Effect.gen(function* () {
      const path = newFile()
      const engine = yield* open(path)
      yield* write(engine, { rows: [insert(Note, { book: "b", n: 1, id: "i", label: "l" })] })
      yield* engine.close
      assert.deepStrictEqual(query(path, "SELECT book, n, id, label, json FROM note"), [
        ["b", 1, "i", "l", `{"id":"i","label":"l"}`],
      ])
      assert.deepStrictEqual(
        query(path, "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"),
        [["note_byId"], ["note_byLabel"]],
      )
      assert.deepStrictEqual(query(path, "PRAGMA application_id"), [[0x536b6569]])
      assert.deepStrictEqual(query(path, "PRAGMA user_version"), [[1]])
    }),
  )
})
