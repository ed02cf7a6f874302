/**
 * What happens to a store between one opening and the next: it keeps its rows, and becomes what a newer schema declares.
 */
import { index, int, table, text, unique } from "@skein/core/storage"
import type { AnyTable, Engine, Migration } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { expectSame, find, get, insert, plain, range, read, write } from "./machine.ts"
import type { Check } from "./machine.ts"
import { allTables, append, Blob, check, Entry, entry, Log, open, schemaOf } from "./tables.ts"

/** The same table with another key, another index, and rows that a migration changes. */
const Moved = table("entry", {
  row: z.object({ seq: z.number(), id: z.string(), tag: z.optional(z.string()) }),
  key: [text("id")],
  indexes: { bySeq: unique(int("seq")), byTag: index(text("tag")) },
})
const Added = table("added", { row: z.object({ id: z.string() }), key: [text("id")] })
const moves: ReadonlyArray<Migration> = [
  {
    version: 2,
    table: "entry",
    change: ({ log: _log, ...row }) => (row["id"] === "dropped" ? undefined : { ...row, tag: `of ${row["id"]}` }),
  },
]

const contents = (engine: Engine, tables: ReadonlyArray<AnyTable>) =>
  read(
    engine,
    ...tables.flatMap((table) => [range(table), ...table.indexes.map(({ name }) => range(table, { index: name }))]),
  )

export const openingChecks: ReadonlyArray<Check> = [
  check(
    "STO-08 a store that is opened again has its rows",
    Effect.gen(function* () {
      const first = yield* open(allTables)
      yield* write(first, { rows: [insert(Entry, entry(1, "one", { tag: "t" }))] })
      yield* first.close
      const second = yield* open(allTables)
      const [byKey, byIndex] = yield* read(second, range(Entry), find(Entry, "byId", "one"))
      yield* expectSame([byKey!.map(plain), byIndex!.length], [[{ key: ["l", 1], id: "one", tag: "t" }], 1], "rows")
      yield* second.close
    }),
  ),

  check(
    "STO-08 a newer store is refused and stays as it is",
    Effect.gen(function* () {
      const newer = schemaOf([Entry, Log, Added], 3)
      const first = yield* open(newer)
      yield* write(first, { rows: [insert(Entry, entry(1, "one"))] })
      yield* first.close
      const reason = yield* Effect.flip(open(schemaOf([Moved, Blob], 2, moves)))
      yield* expectSame(reason._tag === "VersionMismatch" ? [reason.found, reason.supported] : reason, [3, 2], "reason")
      const again = yield* open(newer)
      const [rows, added] = yield* read(again, range(Entry), range(Added))
      yield* expectSame([rows!.map(plain), added], [[{ key: ["l", 1], id: "one" }], []], "rows")
      yield* again.close
    }),
  ),

  check(
    "STO-08 an upgraded store equals one that was new, with tables, keys, indexes and rows changed",
    Effect.gen(function* () {
      const old = yield* open(schemaOf([Entry, Blob], 1))
      const ids = ["b", "dropped", "a"]
      yield* write(old, {
        rows: [
          ...ids.map((id, seq) => insert(Entry, entry(seq, id))),
          insert(Blob, { id: "kept", bytes: new Uint8Array([1, 2]) }),
        ],
      })
      yield* old.close

      const upgraded = yield* open(schemaOf([Moved, Blob, Added], 2, moves))
      const found = yield* contents(upgraded, [Moved, Blob, Added])
      const moved = [insert(Moved, { id: "b", seq: 0, tag: "of b" }), insert(Moved, { id: "a", seq: 2, tag: "of a" })]
      yield* write(upgraded, { removals: [{ table: Moved, lower: undefined, upper: undefined }] })
      yield* write(upgraded, { rows: moved })
      const expected = yield* contents(upgraded, [Moved, Blob, Added])
      yield* expectSame(found, expected, "rows in every order")
      yield* expectSame(
        found[0]!.map(plain),
        [
          { key: ["a"], seq: 2, tag: "of a" },
          { key: ["b"], seq: 0, tag: "of b" },
        ],
        "rows",
      )

      const clash = yield* Effect.flip(write(upgraded, { rows: [insert(Moved, { id: "c", seq: 2 })] }))
      yield* expectSame(clash._tag, "Constraint", "the new unique index")
      yield* upgraded.close
    }),
  ),

  check(
    "STO-09 an upgrade keeps a row that cannot be read, as it is and in no index",
    Effect.gen(function* () {
      const old = yield* open(schemaOf([Entry], 1))
      const damaged = { ...insert(Entry, entry(2, "two", { tag: "t" })), json: "{damaged" }
      yield* write(old, { rows: [insert(Entry, entry(1, "one", { tag: "t" })), damaged] })
      yield* old.close
      const rename: Migration = { version: 2, table: "entry", change: (row) => ({ ...row, tag: "u" }) }
      const upgraded = yield* open(schemaOf([Entry], 2, [rename]))
      const [rows, tagged] = yield* read(upgraded, range(Entry), range(Entry, { index: "byTag" }))
      yield* expectSame(
        rows!.map(({ json }) => json),
        [JSON.stringify({ id: "one", tag: "u" }), "{damaged"],
        "rows",
      )
      yield* expectSame(
        tagged!.map(({ place }) => place),
        [["u", "l", 1]],
        "index",
      )
      yield* upgraded.close
    }),
  ),

  check(
    "STO-08 an upgrade that cannot be made changes nothing",
    Effect.gen(function* () {
      const old = yield* open(schemaOf([Entry], 1))
      const damaged = { ...insert(Entry, entry(3, "three")), json: "{damaged" }
      yield* write(old, { rows: [insert(Entry, entry(1, "one")), insert(Entry, entry(2, "two")), damaged] })
      yield* old.close
      const reason = yield* Effect.flip(open(schemaOf([Moved, Added], 2, moves)))
      yield* expectSame(reason._tag, "Corrupt", "a key cannot be made for a row that cannot be read")
      const same: Migration = { version: 2, table: "entry", change: (row) => ({ ...row, id: "same" }) }
      const clash = yield* Effect.flip(open(schemaOf([Entry, Added], 2, [same])))
      yield* expectSame(clash._tag, "Constraint", "two rows get one unique value")
      const again = yield* open(schemaOf([Entry], 1))
      const [rows] = yield* read(again, range(Entry))
      yield* expectSame(
        rows!.map(({ json }) => json),
        [`{"id":"one"}`, `{"id":"two"}`, "{damaged"],
        "rows",
      )
      yield* again.close
    }),
  ),

  check(
    "STO-08 racing openers create and upgrade once, and all of them can use the store",
    Effect.gen(function* () {
      const opening = (schema: typeof allTables) =>
        open(schema).pipe(Effect.retry({ while: (reason) => reason._tag === "Busy" }))
      const together = (schema: typeof allTables) =>
        Effect.all(
          Array.from({ length: 5 }, () => opening(schema)),
          { concurrency: "unbounded" },
        )
      let changes = 0
      const count: Migration = {
        version: 2,
        table: "log",
        change: (row) => {
          changes++
          return row
        },
      }

      const created = yield* together(allTables)
      for (const [n, engine] of created.entries()) yield* append(engine, `a${n}`)
      yield* Effect.forEach(created, (engine) => engine.close)
      const upgraded = yield* together(schemaOf([...allTables.tables, Added], 2, [count]))
      for (const [n, engine] of upgraded.entries()) yield* append(engine, `b${n}`)

      yield* expectSame(changes, 1, "times the one log row was migrated")
      const [rows] = yield* read(upgraded[0]!, range(Entry))
      yield* expectSame(
        rows!.map(({ key }) => key[1]),
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        "numbers",
      )
      yield* Effect.forEach(upgraded, (engine) => engine.close)
    }),
  ),

  check(
    "STO-02 two openers that append at the same time share one dense sequence",
    Effect.gen(function* () {
      const engines = [yield* open(allTables), yield* open(allTables)]
      const appends = (engine: Engine, name: string) =>
        Effect.forEach(Array.from({ length: 50 }), (_, n) => append(engine, `${name}${n}`), { discard: true })
      yield* Effect.all(
        engines.map((engine, n) => appends(engine, `writer ${n}, `)),
        { concurrency: "unbounded" },
      )
      const [rows, logs] = yield* read(engines[0]!, range(Entry), get(Log, "l"))
      const numbers = rows!.map(({ key }) => key[1])
      yield* expectSame(
        numbers,
        Array.from({ length: 100 }, (_, n) => n + 1),
        "numbers",
      )
      yield* expectSame(logs!.map(plain), [{ key: ["l"], next: 101 }], "the counter")
      yield* Effect.forEach(engines, (engine) => engine.close)
    }),
  ),
]
