/**
 * Laws of retention and of looking after a store.
 */
import { Deletions } from "@skein/core/deletion"
import { Forks } from "@skein/core/fork"
import { Heads } from "@skein/core/head"
import { Maintenance } from "@skein/core/maintenance"
import type { RetentionOptions } from "@skein/core/maintenance"
import { Messages } from "@skein/core/message"
import { Queue } from "@skein/core/queue"
import type { FileHistory } from "@skein/core/rewind"
import { Rewinds } from "@skein/core/rewind"
import { Sessions } from "@skein/core/session"
import type { NewSession } from "@skein/core/session"
import { Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { atTime, makeTime } from "../../clock.ts"
import { check, equal } from "../../equal.ts"
import { law, lawWith } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { openServices, withServices } from "../../services.ts"
import { begin, said, say, sayAll, session } from "../conversation.ts"
import { counts, everything, naming } from "../../everything.ts"

const day = 24 * 60 * 60 * 1_000
const today = Date.UTC(2026, 5, 1)
const ago = (days: number) => today - days * day

const create = (input: NewSession, days: number) =>
  Sessions.use((sessions) => sessions.create(input)).pipe(atTime(ago(days)))
const retain = (options?: RetentionOptions) =>
  Maintenance.use((maintenance) => maintenance.retention(options)).pipe(atTime(today))
const ids = (retained: { readonly sessions: ReadonlyArray<{ readonly sessionId: string }> }) =>
  retained.sessions.map(({ sessionId }) => sessionId)
const sweep = (time: number) => Maintenance.use((maintenance) => maintenance.sweep()).pipe(atTime(time))

export const maintenanceLaws: ReadonlyArray<Law> = [
  law(
    "A78 DEL-04 retention takes what is old, and never what runs, is pinned or linked, or started something that stays",
    (store) =>
      Effect.gen(function* () {
        yield* create({ id: "old" }, 35)
        yield* sayAll("old", ["u1", "a1"]).pipe(atTime(ago(35)))
        yield* create({ id: "oldTask", parentId: "old", kind: "task" }, 35)
        yield* create({ id: "run" }, 35)
        yield* Turns.use((turns) => turns.begin("run", { prompt: said("u2") })).pipe(atTime(ago(35)))
        yield* create({ id: "parent" }, 35)
        yield* create({ id: "child", parentId: "parent", kind: "task" }, 35)
        yield* say("child", "u3").pipe(atTime(today))
        yield* create({ id: "starter" }, 35)
        yield* create({ id: "started", parentId: "starter" }, 1)
        yield* create({ id: "pinned", pinned: true }, 35)
        yield* create({ id: "waiting" }, 35)
        yield* Queue.use((queue) => queue.enqueue("waiting", { body: "later" })).pipe(atTime(ago(35)))
        yield* Sessions.use((sessions) => sessions.ensureRoot("agent")).pipe(atTime(ago(35)))
        yield* create({ id: "new" }, 1)
        yield* create({ id: "linked" }, 35)
        yield* say("linked", "u4").pipe(atTime(ago(35)))
        yield* Heads.use((heads) => heads.attach("new", "linked")).pipe(atTime(today))
        const before = yield* everything
        equal(yield* retain(), { sessions: [], deleted: [], failures: [] })
        const limit = { maxAge: 30 * day }
        const planned = yield* retain({ ...limit, dryRun: true })
        equal(planned, {
          sessions: [{ sessionId: "old", activityAt: ago(35), reason: "age" }],
          deleted: [],
          failures: [],
        })
        equal(yield* everything, before, "the store after a dry run")
        equal(yield* retain(limit), { ...planned, deleted: ["old", "oldTask"] })
        equal(naming(yield* everything, "old", "oldTask", "u1", "a1"), ["tombstone"])
        equal((yield* everything)["session"]!.length, before["session"]!.length - 2)
        equal(ids(yield* retain({ ...limit, keepPinned: false })), ["pinned"])
        for (const wrong of [{ maxAge: -1 }, { maxCount: 1.5 }, { maxDays: 3 } as object]) {
          equal(yield* outcomeOf(retain(wrong)), { failed: "InvalidInput" })
        }
      }).pipe(withServices(store)),
  ),
  law("DEL-04 retention keeps the last so many, counts no tasks, and takes children before their parents", (store) =>
    Effect.gen(function* () {
      for (const [id, days] of [
        ["a", 1],
        ["b", 2],
        ["c", 3],
        ["d", 4],
      ] as const) {
        yield* create({ id }, days)
        yield* create({ id: `${id}Task`, parentId: id, kind: "task" }, days)
      }
      yield* create({ id: "e", parentId: "d" }, 5)
      equal(ids(yield* retain({ maxCount: 2, dryRun: true })).toSorted(), ["c", "d", "e"])
      const { deleted, sessions } = yield* retain({ maxCount: 2 })
      check(ids({ sessions }).indexOf("e") < ids({ sessions }).indexOf("d"), "the child came after its parent")
      equal(deleted.toSorted(), ["c", "cTask", "d", "dTask", "e"])
      equal(ids(yield* retain({ maxCount: 2 })), [])
      yield* create({ id: "other", owner: "bob" }, 90).pipe(withServices(store, { owner: "bob" }))
      yield* Effect.gen(function* () {
        equal(ids(yield* retain({ maxAge: day })), [])
      }).pipe(withServices(store, { owner: "ann" }))
    }).pipe(withServices(store)),
  ),
  law("DEL-06 a sweep takes away what has expired, and what nothing uses", (store) => {
    const asked: Array<readonly [number, number]> = []
    const rest = [250, 250, 3]
    const never = () => Effect.die("not asked for")
    const fileHistory: FileHistory = {
      eligible: never,
      plan: never,
      apply: never,
      verify: never,
      rollback: never,
      prune: async (before, limit) => {
        asked.push([before, limit])
        return rest[asked.length - 1] ?? 0
      },
    }
    return Effect.gen(function* () {
      yield* begin("s")
      yield* Queue.use((queue) =>
        Effect.all([
          queue.enqueue("s", { body: "a" }, { expiresAt: today - 1 }),
          queue.enqueue("s", { body: "b" }, { expiresAt: today + 1 }),
          queue.enqueue("s", { body: "c" }, { clientRequestId: "r1" }),
        ]),
      ).pipe(atTime(ago(2)))
      yield* say("s", "u1").pipe(atTime(ago(40)))
      yield* Forks.use((forks) => forks.fork("s", { operationId: "o1" })).pipe(atTime(ago(40)))
      const receipts = (yield* everything)["operation"]!.length
      const swept = yield* sweep(today)
      equal(swept, { items: 1, receipts: 1, fileTurns: 503, blobs: 0, bytes: 0 })
      equal((yield* everything)["operation"]!.length, receipts - 1)
      equal(yield* Queue.use((queue) => queue.count("s")).pipe(atTime(today)), 2)
      equal(asked, [
        [ago(7), 250],
        [ago(7), 250],
        [ago(7), 250],
      ])
    }).pipe(withServices(store, { fileHistory }))
  }),
  lawWith(
    { slow: true },
    "A77 DEL-06 two hundred sessions leave nothing but marks and what their calls cost",
    (store) =>
      Effect.gen(function* () {
        yield* begin("first")
        yield* Deletions.use((deletions) => deletions.delete("first"))
        yield* Deletions.use((deletions) => deletions.forget("first"))
        const start = yield* counts
        const text = "x".repeat(1_000)
        for (let n = 0; n < 200; n++) {
          const id = `s${n}`
          yield* begin(id)
          const list = Array.from({ length: 6 }, (_, i) => ({
            id: `${i % 2 === 0 ? "u" : "a"}${i}`,
            role: i % 2 === 0 ? ("user" as const) : ("assistant" as const),
            body: {
              role: i % 2 === 0 ? "user" : "assistant",
              content: i === 3 && n % 20 === 0 ? `${n} `.repeat(35_000) : text,
            },
          }))
          yield* Messages.use((messages) => messages.appendMany(id, list))
          const fork = yield* Forks.use((forks) => forks.fork(id, { operationId: `o${n}` }))
          yield* say(fork.id, "u99")
          yield* Rewinds.use((rewinds) => rewinds.rewind(id, "u4"))
          yield* say(id, "u98")
          const both = n % 2 === 0 ? [id, fork.id] : [fork.id, id]
          yield* Deletions.use((deletions) => deletions.deleteMany(both))
        }
        yield* sweep(today + 2 * 60 * 60 * 1_000)
        equal(yield* counts, { ...start, tombstone: 400 })
      }).pipe(atTime(today), withServices(store)),
  ),
  law("DEL-04 stats count all rows, and compacting loses none", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const list = Array.from({ length: 1_100 }, (_, i) => said(`u${i}`))
      yield* Messages.use((messages) => messages.appendMany("s", list))
      const stats = yield* Maintenance.use((maintenance) => maintenance.stats())
      const found = yield* everything
      equal(
        stats.tables.map(({ rows, table }) => [table, rows]).toSorted(),
        Object.entries(found)
          .map(([table, rows]) => [table, rows.length])
          .toSorted(),
      )
      const entries = stats.tables.find(({ table }) => table === "entry")!
      equal(
        entries.bytes,
        found["entry"]!.reduce((sum, row) => sum + JSON.stringify(row).length, 0),
      )
      equal(
        stats.bytes,
        stats.tables.reduce((sum, { bytes }) => sum + bytes, 0),
      )
      yield* Deletions.use((deletions) => deletions.delete("s"))
      const { after, before, compacted } = yield* Maintenance.use((maintenance) => maintenance.compactStorage())
      if (stats.space !== undefined) check(stats.space.bytes > 0, "the store takes nothing")
      if (compacted && before !== undefined) check(after! < before, `it takes ${after} where it took ${before}`)
      equal(yield* outcomeOf(session("s")), { failed: "SessionDeleted" })
      yield* begin("t")
      yield* say("t", "u1")
    }).pipe(withServices(store)),
  ),
  lawWith(
    { slow: true },
    "DEL-06 of several who look after a store one is at it, and another one when that one is gone",
    (store) =>
      Effect.scoped(
        Effect.gen(function* () {
          const rounds: Array<string> = []
          const history = (name: string): FileHistory => {
            const never = () => Effect.die("not asked for")
            return {
              eligible: never,
              plan: never,
              apply: never,
              verify: never,
              rollback: never,
              prune: () => Effect.sync(() => (rounds.push(name), 0)),
            }
          }
          const run = Maintenance.use((maintenance) => maintenance.run({ every: 1_000 }))
          const time = yield* makeTime
          const open = (name: string) => time.during(openServices(time.of(store), { fileHistory: history(name) }))
          const one = yield* open("one")
          const first = yield* Effect.forkChild(time.during(Effect.provide(run, one)))
          yield* time.pass(3_500)
          equal(rounds, ["one", "one", "one", "one"])
          const other = yield* open("other")
          const second = yield* Effect.forkChild(time.during(Effect.provide(run, other)))
          yield* time.pass(10_000)
          equal([...new Set(rounds)], ["one"])
          yield* Fiber.interrupt(first)
          yield* time.pass(200_000)
          check(rounds.includes("other"), "nobody took over")
          const { length } = rounds
          yield* Fiber.interrupt(second)
          yield* time.pass(200_000)
          equal(rounds.length, length)
          equal((yield* time.during(Effect.provide(everything, other)))["operation"], [])
        }),
      ),
  ),
]
