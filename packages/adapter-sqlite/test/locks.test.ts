import { assert, it } from "@effect/vitest"
import type { Engine, EngineLocks } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { expect } from "vitest"
import type { Driver } from "../src/driver.ts"
import { make } from "../src/index.ts"
import { libsql } from "../src/libsql.ts"
import { locksBeside } from "../src/locks.ts"
import { directory, newFile } from "./directory.ts"
import { start } from "./process/child.ts"
import { create, open } from "./store.ts"

const lockFiles = (path: string): ReadonlyArray<string> => readdirSync(`${path}-locks`).toSorted()
const locksOf = ({ locks }: Engine): EngineLocks => locks!

/** Opens a store until the scope ends. */
const opened = (path: string) => Effect.acquireRelease(open(path), (engine) => engine.close)

it(
  "TRN-02 a lock is free within milliseconds of the death of its holder, and held while that is merely stopped",
  { timeout: 60_000 },
  async () => {
    const path = newFile()
    await Effect.runPromise(create(path))
    await using child = start("lock.ts", path, "owner-child", "owner-parent")
    await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const locks = locksOf(yield* opened(path))
          const childHeld = Effect.runPromise.bind(undefined, locks.isHeld("owner-child"))
          yield* Effect.promise(async () => {
            expect(await childHeld()).toBe(false)
            await child.next()
            expect(await childHeld()).toBe(true)
            child.signal("SIGSTOP")
            for (let i = 0; i < 100; i++) expect(await childHeld()).toBe(true)
            child.signal("SIGCONT")
            expect(await childHeld()).toBe(true)
            await child.kill()
            expect(await childHeld()).toBe(false)
          })
        }),
      ),
    )
    expect(existsSync(`${path}-locks`)).toBe(false)
  },
)

it(
  "TRN-02 asking, also by another opening in the process of the holder, takes nothing from a lock that others see",
  { timeout: 60_000 },
  async () => {
    const path = newFile()
    await Effect.runPromise(create(path))
    await using child = start("lock.ts", path, "owner-child", "owner-parent")
    const parentHeld = () => {
      child.step()
      return child.next()
    }
    await child.next()
    await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const locks = locksOf(yield* opened(path))
          yield* Effect.scoped(
            Effect.gen(function* () {
              yield* locks.hold("owner-parent")
              assert.isTrue(yield* locks.isHeld("owner-parent"))
              // Closing a file lets go of what the process has locked in it, unless the library takes care.
              yield* Effect.scoped(
                Effect.flatMap(opened(path), (other) => Effect.exit(locksOf(other).hold("owner-parent"))),
              )
              const exit = yield* Effect.exit(locks.hold("owner-child"))
              assert.nestedPropertyVal(exit, "cause.reasons[0].error._tag", "Busy")
              assert.isTrue(yield* Effect.promise(parentHeld))
            }),
          )
          assert.isFalse(yield* Effect.promise(parentHeld))
        }),
      ),
    )
  },
)

it.effect("TRN-02 a store opened by another spelling of its path, or by a link, has the same locks", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const path = newFile()
      yield* create(path)
      const link = `${newFile()}-link`
      symlinkSync(path, link)
      const elsewhere = join(directory, "elsewhere")
      symlinkSync(dirname(path), elsewhere)
      const locks = locksOf(yield* opened(path))
      yield* locks.hold("a")
      for (const other of [link, path.replace(directory, elsewhere), `./${relative(".", path)}`, `file://${path}`]) {
        assert.isTrue(yield* locksOf(yield* opened(other)).isHeld("a"), other)
      }
    }),
  ),
)

it.effect("TRN-02 odd characters in the path of a store are no trouble to its locks", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const odd = join(directory, "100% ü #1?")
      mkdirSync(odd)
      const url = `file:${join(odd, "a b.db").replaceAll("%", "%25").replaceAll("#", "%23").replaceAll("?", "%3f")}`
      const first = locksOf(yield* opened(url))
      const second = locksOf(yield* opened(url))
      yield* first.hold("a")
      assert.isTrue(yield* second.isHeld("a"))
      assert.deepStrictEqual(lockFiles(join(odd, "a b.db")), ["a"])
    }),
  ),
)

it.effect("TRN-02 asking leaves no trace, and a lock none after its end", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const path = newFile()
      const locks = locksOf(yield* opened(path))
      assert.isFalse(yield* locks.isHeld("a"))
      assert.isFalse(existsSync(`${path}-locks`))
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* locks.hold("a")
          yield* Effect.scoped(locks.hold("B"))
          assert.deepStrictEqual(lockFiles(path), ["a"])
        }),
      )
      assert.isFalse(existsSync(`${path}-locks`))
      yield* locks.hold("c")
    }),
  ),
)

it.effect("TRN-02 files that nobody holds are removed when a first lock is taken, and when they are asked for", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const path = newFile()
      const others = locksOf(yield* opened(path))
      const scope = yield* Scope.make()
      yield* Scope.provide(others.hold("alive"), scope)
      for (let i = 0; i < 150; i++) writeFileSync(join(`${path}-locks`, `dead-${i}`), "")
      const locks = locksOf(yield* opened(path))
      yield* locks.hold("own")
      const left = lockFiles(path)
      assert.includeMembers([...left], ["alive", "own"])
      // One of fifty that were looked at may have been held.
      assert.isAtLeast(left.length, 102)
      assert.isAtMost(left.length, 104)
      yield* locks.hold("another")
      assert.lengthOf(lockFiles(path), left.length + 1)
      const dead = left.find((file) => file.startsWith("dead"))!
      assert.isFalse(yield* locks.isHeld(dead))
      assert.notInclude(lockFiles(path), dead)
      yield* Scope.close(scope, Exit.void)
    }),
  ),
)

it.effect("TRN-02 those who ask for a lock, or remove its file, are not taken for its holder", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const path = newFile()
      const locks = locksOf(yield* opened(path))
      mkdirSync(`${path}-locks`)
      const file = join(`${path}-locks`, "a")
      writeFileSync(file, "")
      for (const begin of ["BEGIN; PRAGMA schema_version", "BEGIN IMMEDIATE"]) {
        const other = libsql(`file:${file}`)
        other.exec(`PRAGMA journal_mode = MEMORY; ${begin}`)
        assert.isFalse(yield* locks.isHeld("a"), begin)
        other.exec("ROLLBACK")
        other.close()
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, "")
      }
    }),
  ),
)

it.effect("TRN-02 what is no lock among the files is in nobody's way, and asking for it says so", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const path = newFile()
      const locks = locksOf(yield* opened(path))
      mkdirSync(`${path}-locks`)
      writeFileSync(join(`${path}-locks`, "readme"), "this is no database, however often it is opened as one")
      yield* locks.hold("a")
      const error = yield* Effect.flip(locks.isHeld("readme"))
      assert.strictEqual(error._tag, "Corrupt")
      assert.deepStrictEqual(lockFiles(path), ["a", "readme"])
    }),
  ),
)

it("TRN-02 a file that others replace or remove while it is being locked is no lock: it is tried again", () => {
  const path = newFile()
  writeFileSync(path, "")
  const file = join(`${path}-locks`, "a")
  const interferences = [
    () => rmSync(file),
    () => {
      rmSync(file)
      writeFileSync(file, "")
    },
    () => {
      writeFileSync(`${file}-new`, "")
      renameSync(`${file}-new`, file)
    },
    () => rmSync(dirname(file), { recursive: true }),
  ]
  /** Does the worst between opening the file and locking it, once for each way. */
  const driver: Driver = (uri) => {
    const connection = libsql(uri)
    interferences.shift()?.()
    return connection
  }
  const letGo = locksBeside(driver, path).take("a")
  assert.isDefined(letGo)
  assert.isEmpty(interferences)
  assert.isTrue(locksBeside(libsql, path).isHeld("a"))
  letGo!()
  assert.isFalse(locksBeside(libsql, path).isHeld("a"))
})

it("TRN-02 a directory that is removed before the file is opened is made again", () => {
  const path = newFile()
  writeFileSync(path, "")
  let removals = 2
  const driver: Driver = (uri) => {
    if (removals-- > 0) rmSync(`${path}-locks`, { recursive: true })
    return libsql(uri)
  }
  const letGo = locksBeside(driver, path).take("a")
  assert.isDefined(letGo)
  letGo!()
})

it.effect("TRN-02 a store in memory has locks of its own, and a place where none can be kept says so", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const inMemory = locksOf(yield* opened(":memory:"))
      yield* inMemory.hold("a")
      assert.isTrue(yield* inMemory.isHeld("a"))
      assert.isFalse(yield* locksOf(yield* opened(":memory:")).isHeld("a"))

      const path = newFile()
      const locks = locksOf(yield* opened(path))
      writeFileSync(`${path}-locks`, "a file where the directory should be")
      const error = yield* Effect.flip(Effect.scoped(locks.hold("a")))
      assert.strictEqual(error._tag, "Unavailable")
    }),
  ),
)

it("TRN-02 stores in files name their host, the same for all of them; stores in memory have none", () => {
  const hosts = ["file:a.db", "file:b.db"].map((url) => make({ url }).capabilities.host)
  assert.isNotEmpty(hosts[0])
  assert.strictEqual(hosts[0], hosts[1])
  assert.isUndefined(make({ url: ":memory:" }).capabilities.host)
})
