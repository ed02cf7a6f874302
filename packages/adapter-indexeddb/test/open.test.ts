import { assert, it } from "@effect/vitest"
import type { Backend, Engine, Migration } from "@skein/core/storage"
import { int, table, text } from "@skein/core/storage"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { IDBFactory, forceCloseDatabase } from "fake-indexeddb"
import * as z from "zod/mini"
import { insert, range, read, write } from "../../../test/port/machine.ts"
import { make } from "../src/index.ts"
import type { Options } from "../src/index.ts"
import { fakeOptions } from "./fake.ts"

const Note = table("note", { row: z.object({ id: z.string(), n: z.number() }), key: [text("id"), int("n")] })
const schemaOf = (version: number) => ({
  version,
  oldestReader: version,
  oldestWriter: version,
  tables: [Note],
  migrations: [],
})
const note = (n: number) => insert(Note, { id: "a", n })
const numbersIn = (engine: Engine) => Effect.map(read(engine, range(Note)), ([rows]) => rows!.map(({ key }) => key[1]))

/** A backend on databases of its own, and the factory of those. */
const makeFake = (options?: Partial<Options>) =>
  Effect.gen(function* () {
    const factory = new IDBFactory()
    const backend = yield* make(fakeOptions({ factory, ...options }))
    return { factory, open: (version = 1) => backend.open(schemaOf(version)) }
  })

/** Opens a database as another program would, without letting go of it. */
const openRaw = (factory: IDBFactory, version?: number, upgrade?: (db: IDBDatabase) => void) =>
  Effect.callback<IDBDatabase, unknown>((resume) => {
    const request = factory.open("test", version)
    request.addEventListener("upgradeneeded", () => upgrade?.(request.result))
    request.addEventListener("success", () => resume(Effect.succeed(request.result)))
    request.addEventListener("error", () => resume(Effect.fail(request.error)))
  })

/** A factory, and the connections it has handed out: `arrivals(n)` waits for the nth, from 1. */
const watchedFactory = () => {
  const connections: Array<IDBDatabase> = []
  const listeners: Array<() => void> = []
  class Watched extends IDBFactory {
    override open(name: string, version?: number) {
      const request = super.open(name, version)
      request.addEventListener("success", () => {
        connections.push(request.result)
        // The listeners of whoever opened come after this one.
        setImmediate(() => listeners.splice(0).forEach((listener) => listener()))
      })
      return request
    }
  }
  const arrivals = (n: number): Effect.Effect<IDBDatabase> =>
    Effect.callback((resume) => {
      const look = () => {
        const found = connections[n - 1]
        if (found === undefined) listeners.push(look)
        else resume(Effect.succeed(found))
      }
      look()
    })
  return { factory: new Watched(), arrivals }
}

it.effect(
  "STO-08 the version of the database counts changes of structure, not openings or versions of the schema",
  () =>
    Effect.gen(function* () {
      const { factory, open } = yield* makeFake()
      const versionNow = Effect.acquireUseRelease(
        openRaw(factory),
        (db) => Effect.succeed(db.version),
        (db) => Effect.sync(() => db.close()),
      )
      for (const [schema, expected] of [
        [7, 1],
        [7, 1],
        [9, 2],
        [9, 2],
      ] as const) {
        yield* Effect.flatMap(open(schema), (engine) => engine.close)
        assert.strictEqual(yield* versionNow, expected)
      }
    }),
)

it.effect("STO-08 a database of another program is refused and stays as it is", () =>
  Effect.gen(function* () {
    const { factory, open } = yield* makeFake()
    const theirs = yield* openRaw(factory, 3, (db) => db.createObjectStore("theirs"))
    theirs.close()
    const reason = yield* Effect.flip(open())
    assert.strictEqual(reason._tag, "Corrupt")
    const after = yield* openRaw(factory)
    assert.deepStrictEqual([after.version, [...after.objectStoreNames]], [3, ["theirs"]])
  }),
)

it.effect(
  "STO-07 an upgrade that another connection blocks fails with UpgradeBlocked, and is called off for good",
  () =>
    Effect.gen(function* () {
      const { factory, open } = yield* makeFake({ openTimeout: 5_000 })
      const first = yield* open()
      yield* write(first, { rows: [note(1)] })
      yield* first.close
      const stubborn = yield* openRaw(factory)

      const opening = yield* Effect.forkChild(Effect.flip(open(2)), { startImmediately: true })
      const blocked = yield* Effect.forkChild(
        Effect.callback<void>((resume) => stubborn.addEventListener("versionchange", () => resume(Effect.void))),
        { startImmediately: true },
      )
      yield* Fiber.join(blocked)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(opening))._tag, "UpgradeBlocked")

      stubborn.close()
      const again = yield* open(1)
      assert.deepStrictEqual(yield* numbersIn(again), [1])
    }),
)

it.effect("STO-07 an opening that never settles fails with Unavailable, not a millisecond earlier", () =>
  Effect.gen(function* () {
    const silent = { open: () => new EventTarget(), cmp: () => 0 } as unknown as IDBFactory
    const { open } = yield* makeFake({ factory: silent, openTimeout: 1_000 })
    const opening = yield* Effect.forkChild(Effect.flip(open()), { startImmediately: true })
    yield* TestClock.adjust(999)
    assert.isUndefined(opening.pollUnsafe())
    yield* TestClock.adjust(1)
    assert.strictEqual((yield* Fiber.join(opening))._tag, "Unavailable")
  }),
)

it.effect("STO-10 a database that arrives after its opening was interrupted is closed", () =>
  Effect.gen(function* () {
    const { arrivals, factory } = watchedFactory()
    const { open } = yield* makeFake({ factory })
    yield* Effect.flatMap(open(), (engine) => engine.close)
    const opening = yield* Effect.forkChild(open(), { startImmediately: true })
    yield* Fiber.interrupt(opening)
    const late = yield* arrivals(2)
    assert.throws(() => late.transaction("note"), /closing|closed|InvalidState/i)
  }),
)

it.effect("STO-08 a store that another opener upgrades is let go: what is in flight completes, later calls fail", () =>
  Effect.gen(function* () {
    const { open } = yield* makeFake()
    const older = yield* open(1)
    const inFlight = yield* Effect.forkChild(write(older, { rows: [note(1)] }), { startImmediately: true })
    const newer = yield* open(2)
    yield* Fiber.join(inFlight)
    assert.strictEqual((yield* Effect.flip(write(older, { rows: [note(2)] })))._tag, "Closed")
    assert.strictEqual((yield* Effect.flip(numbersIn(older)))._tag, "Closed")
    assert.deepStrictEqual(yield* numbersIn(newer), [1])
  }),
)

it.effect("STO-10 an engine that was closed, by us or by the browser, fails with Closed", () =>
  Effect.gen(function* () {
    const { arrivals, factory } = watchedFactory()
    const { open } = yield* makeFake({ factory })
    const ours = yield* open()
    yield* ours.close
    assert.strictEqual((yield* Effect.flip(numbersIn(ours)))._tag, "Closed")
    const theirs = yield* open()
    forceCloseDatabase((yield* arrivals(2)) as never)
    assert.strictEqual((yield* Effect.flip(numbersIn(theirs)))._tag, "Closed")
  }),
)

it.effect("STO-07 where there is no IndexedDB, or none is allowed, opening fails with Unavailable", () =>
  Effect.gen(function* () {
    const openOf = (options: Options) =>
      Effect.flatMap(make(options), (backend: Backend["Service"]) => backend.open(schemaOf(1)))
    const absent = yield* Effect.flip(openOf({ name: "test" }))
    const refusing = {
      open: () => {
        throw new DOMException("", "SecurityError")
      },
    } as unknown as IDBFactory
    const refused = yield* Effect.flip(openOf(fakeOptions({ factory: refusing })))
    assert.deepStrictEqual([absent._tag, refused._tag], ["Unavailable", "Unavailable"])
  }),
)

it.effect("STO-07 an upgrade that has begun takes the time it needs", () =>
  Effect.gen(function* () {
    const backend = yield* make(fakeOptions({ openTimeout: 5_000 }))
    const old = yield* backend.open(schemaOf(1))
    yield* write(old, { rows: Array.from({ length: 3_000 }, (_, n) => note(n)) })
    yield* old.close

    const begun = yield* Deferred.make<void>()
    const change: Migration["change"] = (row) => {
      Deferred.doneUnsafe(begun, Effect.void)
      return row
    }
    const migrations = [{ version: 2, table: "note", change }]
    const opening = yield* Effect.forkChild(backend.open({ ...schemaOf(2), migrations }), { startImmediately: true })
    yield* Deferred.await(begun)
    yield* TestClock.adjust("1 minute")
    assert.isUndefined(opening.pollUnsafe(), "the upgrade was over before its time was")
    const upgraded = yield* Fiber.join(opening)
    const [last] = yield* read(upgraded, range(Note, { reverse: true, limit: 1 }))
    assert.deepStrictEqual(last![0]?.key, ["a", 2_999])
  }),
)

it.effect("TRN-02 leases are as long as browsers slow down timers, and pages of one origin share a clock", () =>
  Effect.gen(function* () {
    const { capabilities } = yield* make(fakeOptions())
    assert.deepInclude(capabilities, { lease: 120_000, host: undefined })
    const page = globalThis as { location?: unknown }
    page.location = { origin: "https://chat.example" }
    const onPage = yield* make(fakeOptions()).pipe(Effect.ensuring(Effect.sync(() => delete page.location)))
    assert.strictEqual(onPage.capabilities.host, "https://chat.example")
  }),
)
