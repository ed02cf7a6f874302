import { assert, it } from "@effect/vitest"
import { Backend, table, text, unique } from "@skein/core/storage"
import type { Engine, Machine, RowWrite, StorageReason } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { IDBFactory, IDBKeyRange } from "fake-indexeddb"
import { readFileSync } from "node:fs"
import * as z from "zod/mini"
import { commit, get, insert, machine, put, range, read, write } from "../../../test/port/machine.ts"
import { allTables, Entry, entry, Log } from "../../../test/port/tables.ts"
import { Execution } from "../src/execution.ts"
import { make } from "../src/index.ts"
import { fakeIndexedDb, fakeOptions } from "./fake.ts"

const withEngine = <A>(body: (engine: Engine) => Effect.Effect<A, unknown>) =>
  Backend.use((backend) => Effect.flatMap(backend.open(allTables), body)).pipe(Effect.provide(fakeIndexedDb()))

const entriesIn = (engine: Engine) => Effect.map(read(engine, range(Entry)), ([rows]) => rows!.length)

it.effect("STO-02 a write that cannot be stored takes back those issued before it", () =>
  withEngine((engine) =>
    Effect.gen(function* () {
      const impossible = { ...insert(Entry, entry(2, "two")), key: ["l", Number.NaN] }
      const reason = yield* Effect.flip(write(engine, { rows: [insert(Entry, entry(1, "one")), impossible] }))
      assert.strictEqual(reason._tag, "Unknown")
      assert.strictEqual(yield* entriesIn(engine), 0)
    }),
  ),
)

it.effect("STO-02 a machine that throws in the middle of its reads writes nothing", () =>
  withEngine((engine) =>
    Effect.gen(function* () {
      const broken: Machine = {
        next: (answers) => {
          if (answers !== undefined) throw new Error("broken machine")
          return { _tag: "Read", reads: [get(Log, "l")] }
        },
      }
      const tag = yield* Effect.callback<string | undefined>((resume) =>
        engine.run(broken, { mode: "write", durability: "strict" }, (failure) => resume(Effect.succeed(failure?._tag))),
      )
      assert.strictEqual(tag, "Unknown")
      assert.strictEqual(yield* entriesIn(engine), 0)
    }),
  ),
)

it.effect("STO-03 a run of 20,000 reads, one after another, stays in one transaction", () =>
  withEngine((engine) =>
    Effect.gen(function* () {
      yield* commit(engine, function* () {
        for (let n = 0; n < 20_000; n++) yield n % 2 === 0 ? [] : [get(Log, "nobody")]
        return { rows: [insert(Entry, entry(1, "one"))] }
      })
      assert.strictEqual(yield* entriesIn(engine), 1)
    }),
  ),
)

const Person = table("person", {
  row: z.object({ id: z.string(), email: z.string(), phone: z.string() }),
  key: [text("id")],
  indexes: { byEmail: unique(text("email")), byPhone: unique(text("phone")) },
})
const people = { version: 1, oldestReader: 1, oldestWriter: 1, tables: [Person], migrations: [] }

it.effect("STO-07 a refused row names what was taken: its key first, then the value that another row holds", () =>
  Effect.gen(function* () {
    const backend = yield* make(fakeOptions())
    const engine = yield* backend.open(people)
    const [a, b] = [
      { id: "a", email: "a@", phone: "1" },
      { id: "b", email: "b@", phone: "2" },
    ]
    yield* write(engine, { rows: [insert(Person, a), insert(Person, b)] })
    const refused = (row: RowWrite) =>
      Effect.map(Effect.flip(write(engine, { rows: [row] })), (reason) =>
        reason._tag === "Constraint" ? [reason.table, reason.index] : reason,
      )
    assert.deepStrictEqual(yield* refused(insert(Person, { id: "a", email: "b@", phone: "3" })), ["person", undefined])
    assert.deepStrictEqual(yield* refused(insert(Person, { id: "c", email: "b@", phone: "3" })), ["person", "byEmail"])
    assert.deepStrictEqual(yield* refused(put(Person, { ...b, phone: "1" })), ["person", "byPhone"])
  }),
)

/** A transaction that does nothing until it is told how it ends. */
class StubTransaction extends EventTarget {
  error: unknown = null
  readonly commit = () => {}
  readonly objectStore = () => ({ get: () => new EventTarget(), add: () => new EventTarget() })
  abortWith(error: unknown) {
    this.error = error
    this.dispatchEvent(new Event("abort"))
  }
  failRequestWith(error: unknown) {
    const event = new Event("error")
    Object.defineProperty(event, "target", { value: { error } })
    this.dispatchEvent(event)
  }
}

/** How a machine that is reading, or has issued its writes, ends when the browser does something to its transaction. */
const endOf = (state: "reading" | "committing", happens: (transaction: StubTransaction) => void) => {
  const transaction = new StubTransaction()
  const ends: Array<string | undefined> = []
  const body = machine(function* () {
    if (state === "reading") yield [get(Log, "l")]
    return { rows: [insert(Entry, entry(1, "one"))] }
  })
  const done = (failure?: StorageReason) => ends.push(failure?._tag)
  const ranges = { factory: new IDBFactory(), keyRange: IDBKeyRange }
  new Execution(transaction as unknown as IDBTransaction, body, ranges, done).start()
  happens(transaction)
  return ends
}
const dom = (name: string) => new DOMException("", name)

// what the browser does to the transaction                                  while         the run ends with
it.each([
  ["completes", "committing", undefined, (t) => t.dispatchEvent(new Event("complete"))],
  ["dies with its connection", "reading", "Unavailable", (t) => t.abortWith(null)],
  ["dies with its connection", "committing", "CommitUncertain", (t) => t.abortWith(null)],
  ["fails for a reason of its own", "reading", "Unavailable", (t) => t.abortWith(dom("UnknownError"))],
  ["fails for a reason of its own", "committing", "CommitUncertain", (t) => t.abortWith(dom("UnknownError"))],
  ["meets the quota", "committing", "Full", (t) => t.abortWith(dom("QuotaExceededError"))],
  [
    "aborts since a request failed",
    "committing",
    "Constraint",
    (t) => {
      t.failRequestWith(dom("ConstraintError"))
      t.failRequestWith(dom("AbortError"))
      t.abortWith(dom("ConstraintError"))
    },
  ],
  [
    "aborts since a request could not be served",
    "committing",
    "Unavailable",
    (t) => {
      t.failRequestWith(dom("UnknownError"))
      t.abortWith(dom("UnknownError"))
    },
  ],
  [
    "dies with its connection, and its requests with it",
    "committing",
    "CommitUncertain",
    (t) => {
      t.failRequestWith(dom("AbortError"))
      t.abortWith(null)
    },
  ],
] satisfies ReadonlyArray<
  readonly [string, "reading" | "committing", string | undefined, (transaction: StubTransaction) => void]
>)("STO-07 a transaction that %s while %s ends the run with %s", (_what, state, expected, happens) => {
  assert.deepStrictEqual(endOf(state, happens), [expected])
})

it("STO-02 nothing that runs inside a transaction can wait for anything but its requests", () => {
  const inside = ["execution", "read", "range", "record", "constraint", "upgrade"]
  for (const name of inside) {
    const source = readFileSync(new URL(`../src/${name}.ts`, import.meta.url), "utf8")
    const code = source.replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, "")
    assert.notMatch(code, /\b(async|await|yield|Promise|Effect|setTimeout|setInterval|queueMicrotask)\b/, name)
  }
})
