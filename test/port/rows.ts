/**
 * What an engine does with rows: all or nothing, in order, and exactly as given.
 */
import * as Effect from "effect/Effect"
import {
  after,
  before,
  commit,
  expectSame,
  find,
  from,
  get,
  insert,
  plain,
  put,
  range,
  read,
  remove,
  update,
  upTo,
  write,
} from "./machine.ts"
import type { Check, RangeOptions, Writes } from "./machine.ts"
import { Blob, engineCheck, Entry, entry, Log } from "./tables.ts"

export const rowChecks: ReadonlyArray<Check> = [
  engineCheck("STO-02 an insert that is refused takes back everything written before it", (engine) =>
    Effect.gen(function* () {
      const everything = read(engine, range(Entry), range(Entry, { index: "byTag" }), range(Log))
      const refusal = (writes: Writes) =>
        Effect.map(Effect.flip(write(engine, writes)), (reason) =>
          reason._tag === "Constraint" ? [reason.table, reason.index] : reason,
        )
      yield* write(engine, { rows: [insert(Entry, entry(1, "one", { tag: "t" })), insert(Entry, entry(2, "two"))] })
      const stored = yield* everything

      const takenKey = yield* refusal({
        removals: [{ table: Entry, lower: from("l", 2), upper: undefined }],
        rows: [
          remove(Entry, ["l", 9]),
          put(Log, { id: "l", next: 7 }),
          update(Entry, entry(1, "one", { tag: "changed" })),
          insert(Entry, entry(3, "three")),
          insert(Entry, entry(1, "again")),
        ],
      })
      const takenValue = yield* refusal({ rows: [insert(Entry, entry(3, "three")), insert(Entry, entry(4, "two"))] })

      yield* expectSame(takenKey, ["entry", undefined], "the key that was taken")
      yield* expectSame(takenValue, ["entry", "byId"], "the value that was taken")
      yield* expectSame(yield* everything, stored, "rows after two refusals")
    }),
  ),

  engineCheck("STO-02 of two inserts with one key, or one unique value, none is stored", (engine) =>
    Effect.gen(function* () {
      const outcome = (...entries: ReadonlyArray<ReturnType<typeof entry>>) =>
        write(engine, { rows: entries.map((one) => insert(Entry, one)) }).pipe(
          Effect.match({ onSuccess: () => "committed", onFailure: (reason) => reason._tag }),
        )
      yield* expectSame(yield* outcome(entry(1, "a"), entry(1, "b")), "Constraint", "one key")
      yield* expectSame(yield* outcome(entry(1, "a"), entry(2, "a")), "Constraint", "one value")
      yield* expectSame(yield* read(engine, range(Entry)), [[]], "rows")
    }),
  ),

  engineCheck("STO-02 ranges go first, then removed rows, then the others", (engine) =>
    Effect.gen(function* () {
      yield* write(engine, { rows: [1, 2, 3].map((n) => insert(Entry, entry(n, `old${n}`))) })
      yield* write(engine, {
        removals: [{ table: Entry, lower: from("l", 2), upper: upTo("l") }],
        rows: [remove(Entry, ["l", 1]), insert(Entry, entry(2, "old3")), insert(Entry, entry(4, "old1"))],
      })
      const [rows] = yield* read(engine, range(Entry))
      const left = [
        { key: ["l", 2], id: "old3" },
        { key: ["l", 4], id: "old1" },
      ]
      yield* expectSame(rows!.map(plain), left, "rows")

      yield* write(engine, { removals: [{ table: Entry, lower: undefined, upper: undefined }] })
      yield* expectSame(yield* read(engine, range(Entry), find(Entry, "byId", "old1")), [[], []], "after removing all")
    }),
  ),

  engineCheck("STO-02 an update moves a row in its indexes, and out of those it has no field for", (engine) =>
    Effect.gen(function* () {
      const tagged = Effect.map(read(engine, range(Entry, { index: "byTag" })), ([rows]) =>
        rows!.map(({ place }) => place),
      )
      yield* write(engine, { rows: [insert(Entry, entry(1, "one", { tag: "a" })), insert(Entry, entry(2, "two"))] })
      yield* write(engine, {
        rows: [update(Entry, entry(1, "one", { tag: "z" })), update(Entry, entry(2, "two", { tag: "b" }))],
      })
      yield* expectSame(
        yield* tagged,
        [
          ["b", "l", 2],
          ["z", "l", 1],
        ],
        "moved",
      )
      yield* write(engine, { rows: [update(Entry, entry(1, "one"))] })
      yield* expectSame(yield* tagged, [["b", "l", 2]], "moved out")
      const [rows] = yield* read(engine, range(Entry))
      yield* expectSame(rows!.length, 2, "rows in the table")
    }),
  ),

  engineCheck("STO-03 a bound that is the start of a key stands for all that begin with it", (engine) =>
    Effect.gen(function* () {
      const rows = [
        ["a", 1],
        ["a", 2],
        ["a!", 1],
        ["b", 1],
      ] as const
      yield* write(engine, { rows: rows.map(([log, seq]) => insert(Entry, { log, seq, id: `${log}${seq}` })) })
      const found = (options: RangeOptions) =>
        Effect.map(read(engine, range(Entry, options)), ([found]) => found!.map(({ key }) => key.join("")))
      yield* expectSame(yield* found({ lower: from("a"), upper: upTo("a") }), ["a1", "a2"], "with the prefix")
      yield* expectSame(yield* found({ lower: after("a") }), ["a!1", "b1"], "after the prefix")
      yield* expectSame(yield* found({ upper: before("a!") }), ["a1", "a2"], "before the prefix")
      yield* expectSame(yield* found({ upper: before("b"), reverse: true, limit: 2 }), ["a!1", "a2"], "backwards")
      yield* expectSame(yield* found({ lower: from("b"), upper: upTo("a") }), [], "the wrong way round")
      yield* expectSame(yield* found({ lower: after("a", 1), upper: before("a", 2) }), [], "between neighbours")
      yield* expectSame(yield* found({ lower: after() }), [], "after everything")
      yield* expectSame(yield* found({ limit: 0 }), [], "no rows asked for")
    }),
  ),

  engineCheck("STO-03 answers come read by read, over several steps", (engine) =>
    Effect.gen(function* () {
      yield* write(engine, { rows: [insert(Entry, entry(1, "one")), insert(Log, { id: "l", next: 2 })] })
      const steps: Array<unknown> = []
      yield* commit(engine, function* () {
        const first = yield [find(Entry, "byId", "one"), get(Log, "nobody"), range(Entry, { reverse: true })]
        const none = yield []
        const second = yield [get(Log, "l")]
        steps.push(...[first, none, second].map((answers) => answers.map((rows) => rows.map(plain))))
        return {}
      })
      const one = [{ key: ["l", 1], id: "one" }]
      yield* expectSame(steps, [[one, [], one], [], [[{ key: ["l"], next: 2 }]]], "answers")
    }),
  ),

  engineCheck("STO-03 a row read by an index says where it stands in it", (engine) =>
    Effect.gen(function* () {
      yield* write(engine, { rows: [insert(Entry, entry(1, "one", { tag: "t" })), insert(Entry, entry(2, "two"))] })
      const answers = yield* read(
        engine,
        find(Entry, "byId", "two"),
        range(Entry, { index: "byTag" }),
        range(Entry, { index: "byTag", reverse: true }),
        get(Entry, "l", 1),
      )
      const places = answers.map((rows) => rows.map(({ place }) => place ?? "none"))
      yield* expectSame(places, [[["two"]], [["t", "l", 1]], [["t", "l", 1]], ["none"]], "places")
    }),
  ),

  engineCheck("STO-05 JSON text comes back exactly, damaged or not", (engine) =>
    Effect.gen(function* () {
      const texts = ["", "\0", "\ud800", "\udfff\ud800", "\u2028\u2029", "é😀", "x".repeat(300_000), "{not JSON\0"]
      const raw = texts.map((json, n) => ({ ...insert(Log, { id: `${n}`, next: 0 }), json }))
      const valid = texts.map((text, n) => insert(Entry, entry(n, `${n}`, { text })))
      yield* write(engine, { rows: [...raw, ...valid] })
      const [logs, entries] = yield* read(engine, range(Log), range(Entry))
      for (const [n, text] of texts.entries()) {
        const { json } = entries![n]!
        const isSame = logs![n]!.json === text && (JSON.parse(String(json)) as { text: string }).text === text
        if (!isSame) return yield* Effect.fail(new Error(`text ${n} was changed`))
      }
    }),
  ),

  engineCheck("STO-05 bytes come back exactly, and nothing is shared with who wrote or read them", (engine) =>
    Effect.gen(function* () {
      const stored = Effect.map(read(engine, range(Blob)), ([rows]) => rows!.map(({ bytes }) => bytes))
      const larger = new Uint8Array([9, 9, 1, 2, 3, 9])
      yield* write(engine, {
        rows: [
          insert(Blob, { id: "a", bytes: larger.subarray(2, 5) }),
          insert(Blob, { id: "b", bytes: new Uint8Array() }),
          insert(Blob, { id: "c" }),
        ],
      })
      larger.fill(7)
      const first = yield* stored
      first[0]?.fill(5)
      const again = yield* stored
      const numbers = again.map((bytes) => (bytes instanceof Uint8Array ? [...bytes] : "none"))
      yield* expectSame(numbers, [[1, 2, 3], [], "none"], "bytes")
    }),
  ),
]
