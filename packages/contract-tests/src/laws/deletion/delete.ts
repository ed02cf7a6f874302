/**
 * Laws of deletion: a session goes for good, with all that is its own and nothing that is not.
 */
import { Deletions } from "@skein/core/deletion"
import type { DeleteOptions } from "@skein/core/deletion"
import { Heads } from "@skein/core/head"
import { History } from "@skein/core/history"
import { Messages } from "@skein/core/message"
import { Queue } from "@skein/core/queue"
import { QueryViews } from "@skein/core/query-view"
import { Sessions } from "@skein/core/session"
import type { NewSession } from "@skein/core/session"
import { Storage, table, text, Tx } from "@skein/core/storage"
import { Streams } from "@skein/core/stream"
import { Turns } from "@skein/core/turn"
import { Usage } from "@skein/core/usage"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as z from "zod/mini"
import { atTime } from "../../clock.ts"
import { check, equal } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { openServices, withServices } from "../../services.ts"
import { begin, checkout, pathOf, recovered, replayed, said, say, sayAll, session } from "../conversation.ts"
import { counts, everything, naming } from "../../everything.ts"
import { forkOf } from "./fork.ts"

export const remove = (sessionId: string, options?: DeleteOptions) =>
  Deletions.use((deletions) => deletions.delete(sessionId, options))
const forget = (sessionId: string) => Deletions.use((deletions) => deletions.forget(sessionId))
const create = (input: NewSession) => Sessions.use((sessions) => sessions.create(input))
const listed = Sessions.use((sessions) =>
  Effect.map(sessions.list({ kind: ["conversation", "task", "peek", "cron"] }), (page) =>
    page.sessions.map(({ id }) => id).toSorted(),
  ),
)
const startTurn = (sessionId: string, prompt: string) =>
  Turns.use((turns) => turns.begin(sessionId, { prompt: said(prompt) }, { turnId: `t-${prompt}` }))
const spend = (sessionId: string, callId: string) =>
  Usage.use((usage) =>
    usage.record(sessionId, { callId, provider: "p", model: "m", at: 1_000, input: 10, output: 5, cost: 3 }),
  )

/** A session of which every table knows something. */
const fill = (id: string) =>
  Effect.gen(function* () {
    yield* begin(id)
    yield* sayAll(id, [`u1${id}`, `a1${id}`, `u2${id}`, `a2${id}`])
    yield* checkout(id, `u1${id}`)
    yield* say(id, `a3${id}`)
    yield* startTurn(id, `u4${id}`)
    yield* QueryViews.use((views) => views.start(id, { queryKey: `u4${id}`, epoch: 1 }))
    yield* spend(id, `call-${id}`)
    yield* Turns.use((turns) => turns.end(id, 1, { outcome: "completed" }))
    yield* Queue.use((queue) => queue.enqueue(id, { body: `u5${id}` }, { clientRequestId: "r1" }))
    yield* History.use((history) => history.compact(id, { summary: "so far", operationId: "o1" }))
  })

const seen: ReadonlyArray<Law> = [
  law("DEL-01 whoever reads, writes or creates a deleted session is told when it was deleted", (store) =>
    Effect.gen(function* () {
      yield* fill("s")
      yield* fill("other")
      equal(yield* remove("s").pipe(atTime(7_000)), {
        deleted: [{ id: "s", kind: "conversation" }],
        moved: [],
        failures: [],
      })
      const calls: Record<string, Effect.Effect<unknown, unknown>> = yield* Effect.gen(function* () {
        const sessions = yield* Sessions
        const messages = yield* Messages
        const queue = yield* Queue
        const turns = yield* Turns
        const heads = yield* Heads
        const streams = yield* Streams
        return {
          get: sessions.get("s"),
          resolve: sessions.resolve("s"),
          open: sessions.open("s"),
          update: sessions.update("s", { title: "x" }),
          create: sessions.create({ id: "s" }),
          "create below it": sessions.create({ id: "t", parentId: "s" }),
          children: sessions.children("s"),
          append: messages.append("s", said("u9")),
          page: messages.page("s"),
          message: messages.get("s", "u1s"),
          stream: Stream.runDrain(messages.stream("s")),
          checkout: heads.checkout("s", null),
          undo: heads.undo("s"),
          history: (yield* History).read("s"),
          enqueue: queue.enqueue("s", { body: "u9" }),
          claim: queue.claim("s"),
          dispatch: queue.dispatch("s"),
          items: queue.list("s"),
          begin: turns.begin("s", { prompt: said("u9") }),
          settle: turns.settle("s", 1, said("a9")),
          end: turns.end("s", 1, { outcome: "completed" }),
          abort: turns.abort("s"),
          spend: (yield* Usage).record("s", { callId: "late", provider: "p", model: "m", at: 1, input: 1, output: 1 }),
          view: (yield* QueryViews).start("s", { queryKey: "u1s", epoch: 1 }),
          resume: Stream.runDrain(streams.resume("s")),
          delete: (yield* Deletions).delete("s"),
        }
      })
      for (const [name, call] of Object.entries(calls)) {
        const exit = yield* Effect.exit(call)
        const error = Exit.isFailure(exit) ? yield* Effect.flip(call) : undefined
        equal(
          { ...(error as object | undefined) },
          { _tag: "SessionDeleted", sessionId: "s", deletedAt: 7_000 },
          `what ${name} answers`,
        )
      }
      equal(yield* listed, ["other"])
      equal((yield* pathOf("other")).slice(0, 3), ["u1other", "a3other", "u4other"])
    }).pipe(withServices(store)),
  ),
  law("DEL-01 a reader who pages through a session is told, and not given an empty page", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* Messages.use((messages) =>
        messages.appendMany(
          "s",
          Array.from({ length: 1_200 }, (_, i) => said(`u${i}`)),
        ),
      )
      const page = yield* Messages.use((messages) => messages.page("s", { limit: 10 }))
      const started = yield* History.use((history) => Effect.succeed(history.stream("s")))
      let count = 0
      const reading = Stream.runForEach(started, () => (++count === 1 ? Effect.asVoid(remove("s")) : Effect.void))
      equal(yield* outcomeOf(reading), { failed: "SessionDeleted" })
      check(count < 1_200, "the reader was given a session that was deleted")
      const older = Messages.use((messages) => messages.page("s", { before: page.before! }))
      equal(yield* outcomeOf(older), { failed: "SessionDeleted" })
    }).pipe(withServices(store)),
  ),
  law("DEL-01 a reader of the stream that waits for the running turn is told as well", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* startTurn("s", "u1")
      const read = Streams.use((streams) => Stream.runDrain(streams.resume("s")))
      const reader = yield* Effect.forkChild(read, { startImmediately: true })
      yield* Effect.yieldNow
      yield* remove("s", { force: true })
      equal(yield* outcomeOf(Fiber.join(reader)), { failed: "SessionDeleted" })
    }).pipe(withServices(store)),
  ),
  law("DEL-01 an id that was deleted is free again once that is forgotten", (store) =>
    Effect.gen(function* () {
      yield* fill("s")
      equal(yield* forget("s"), false)
      yield* remove("s")
      equal(yield* forget("s"), true)
      equal(yield* forget("s"), false)
      equal(yield* outcomeOf(session("s")), { failed: "SessionNotFound" })
      yield* begin("s")
      equal(yield* pathOf("s"), [])
      yield* say("s", "u1s")
      equal(yield* pathOf("s"), ["u1s"])
    }).pipe(withServices(store)),
  ),
  law("DEL-01 SES-16 a store for one owner neither deletes nor knows the deletions of another's", (store) =>
    Effect.gen(function* () {
      yield* create({ id: "a", owner: "ann" }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        equal(yield* outcomeOf(remove("a")), { failed: "SessionNotFound" })
      }).pipe(withServices(store, { owner: "bob" }))
      yield* remove("a").pipe(withServices(store, { owner: "ann" }))
      yield* Effect.gen(function* () {
        equal(yield* outcomeOf(session("a")), { failed: "SessionNotFound" })
        equal(yield* outcomeOf(begin("a")), { failed: "IdConflict" })
        equal(yield* forget("a"), false)
      }).pipe(withServices(store, { owner: "bob" }))
    }),
  ),
  law("A06 DEL-01 ids that differ in case are two sessions, and deleting one leaves the other", (store) =>
    Effect.gen(function* () {
      for (const unsafe of ["../../x", "a/b", "a\\b", "a:b", "", "😀", "x".repeat(129)]) {
        equal(yield* outcomeOf(remove(unsafe)), { failed: "InvalidInput" }, `deleting ${unsafe}`)
        equal(yield* outcomeOf(create({ id: unsafe })), { failed: "InvalidInput" }, `creating ${unsafe}`)
      }
      for (const id of ["ID", "id", "con", "i", "id1"]) {
        yield* begin(id)
        yield* say(id, `u${id}`)
      }
      yield* remove("id")
      equal(yield* listed, ["ID", "con", "i", "id1"].toSorted())
      for (const id of ["ID", "con", "i", "id1"]) equal(yield* pathOf(id), [`u${id}`])
    }).pipe(withServices(store)),
  ),
]

const removed: ReadonlyArray<Law> = [
  law("DEL-01 nothing is left of a session but its mark, and what its calls cost", (store) =>
    Effect.gen(function* () {
      yield* fill("other")
      const before = yield* counts
      yield* fill("s")
      const usage = yield* Usage.use((usage) => usage.summary({}))
      yield* remove("s")
      const found = yield* everything
      const { usage: calls = 0, usage_sum: sums = 0, ...rest } = yield* counts
      const { usage: _calls, usage_sum: _sums, ...kept } = before
      equal(rest, { ...kept, tombstone: 1 }, "the rows")
      check(calls === 2 && sums > 0, "the ledger has lost a call")
      equal(naming(found, "s"), ["tombstone", "usage", "usage_sum"])
      equal(yield* Usage.use((usage) => usage.summary({})), usage)
    }).pipe(withServices(store)),
  ),
  law("DEL-01 tables of the host that belong to sessions go with them, and participants are told", (store) => {
    const NoteTable = table("note", {
      row: z.object({ sessionId: z.string(), n: z.string() }),
      key: [text("sessionId"), text("n")],
      ownedBy: "session",
    })
    const note = (sessionId: string, n: string) =>
      Storage.use((storage) =>
        storage.transact(
          Tx.make(function* (tx) {
            yield* tx.get(NoteTable, [sessionId, n])
            tx.insert(NoteTable, { sessionId, n })
          }),
        ),
      )
    const told: Array<string> = []
    let isReady = false
    const files = {
      name: "files",
      onDelete: async ({ sessionId }: { readonly sessionId: string }) => {
        if (!isReady) throw new Error("not yet")
        told.push(sessionId)
      },
    }
    const search = {
      name: "search",
      onDelete: ({ sessionId }: { readonly sessionId: string }) => Effect.sync(() => told.push(`search ${sessionId}`)),
    }
    return Effect.gen(function* () {
      for (const id of ["s", "t"]) {
        yield* begin(id)
        for (let n = 0; n < 600; n++) yield* note(id, `n${n}`)
      }
      const { failures } = yield* remove("s").pipe(atTime(5))
      equal(failures, [{ name: "files", sessionId: "s", reason: "not yet" }])
      equal((yield* everything)["note"]!.length, 600)
      equal(told, ["search s"])
      isReady = true
      yield* recovered
      equal(told, ["search s", "s", "search s"])
      yield* recovered
      equal(told.length, 3, "how often they were told")
    }).pipe(withServices(store, { tables: [NoteTable], onDelete: [files, search] }))
  }),
  law("DEL-01 a running turn refuses deletion; by force it is fenced", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const { turn } = yield* startTurn("s", "u1")
      const refused = yield* Effect.flip(remove("s"))
      check(refused._tag === "RunActive" && refused.sessionId === "s", "the error names the session")
      equal(yield* pathOf("s"), ["u1"])
      yield* remove("s", { force: true })
      const late = Turns.use((turns) => turns.settle("s", turn.epoch, said("a1")))
      equal(yield* outcomeOf(late), { failed: "SessionDeleted" })
      equal(yield* outcomeOf(Turns.use((turns) => turns.heartbeat("s", turn.epoch))), { failed: "SessionDeleted" })
      yield* begin("r")
      const running = yield* Effect.forkChild(
        Turns.use((turns) => turns.run("r", { prompt: said("u1") }, () => Effect.never)),
        { startImmediately: true },
      )
      yield* Effect.repeat(session("r"), { until: ({ status }) => status === "running" })
      yield* remove("r", { force: true })
      equal(yield* outcomeOf(Fiber.join(running)), { failed: "SessionDeleted" })
      equal(yield* counts, { project: 1, tombstone: 2 })
    }).pipe(withServices(store)),
  ),
  law("DEL-01 FRK-03 a fork keeps what it has of a session that is deleted, and what nobody has goes", (store) =>
    Effect.gen(function* () {
      yield* begin("p")
      yield* sayAll("p", ["u1", "a1", "u2", "a2"])
      yield* forkOf("p", "f", "a1")
      yield* say("f", "u3")
      yield* forkOf("f", "g")
      yield* say("g", "a3")
      yield* remove("p")
      equal(yield* pathOf("f"), ["u1", "a1", "u3"])
      equal(yield* replayed("f"), yield* replayed("f"))
      equal((yield* session("f")).forkedFrom, { sessionId: "p", entry: "a1" })
      equal((yield* everything)["entry"]!.map((row) => row["id"]).toSorted(), ["a1", "a3", "u1", "u3"])
      yield* remove("f")
      equal(yield* pathOf("g"), ["u1", "a1", "u3", "a3"])
      yield* say("g", "u4")
      yield* checkout("g", "u1")
      yield* say("g", "a4")
      equal(yield* pathOf("g"), ["u1", "a4"])
      equal(yield* Messages.use((messages) => messages.branches("g")).pipe(Effect.map(({ length }) => length)), 2)
      yield* remove("g")
      equal(yield* counts, { project: 1, tombstone: 3 })
    }).pipe(withServices(store)),
  ),
  law("DEL-01 a fork that never said anything holds what it was forked from", (store) =>
    Effect.gen(function* () {
      yield* begin("p")
      yield* sayAll("p", ["u1", "a1", "u2"])
      yield* forkOf("p", "f", "a1")
      yield* forkOf("p", "g", "u1")
      yield* remove("p")
      equal((yield* everything)["entry"]!.length, 2)
      yield* remove("f")
      equal((yield* everything)["entry"]!.length, 1)
      equal(yield* pathOf("g"), ["u1"])
      yield* remove("g")
      equal(yield* counts, { project: 1, tombstone: 3 })
    }).pipe(withServices(store)),
  ),
]

const families: ReadonlyArray<Law> = [
  law(
    "A73 DEL-02 what a session started for itself goes with it, at any depth; what it started for people stays",
    (store) =>
      Effect.gen(function* () {
        yield* create({ id: "top" })
        yield* create({ id: "p", parentId: "top" })
        yield* fill("x")
        for (const [id, parentId, kind] of [
          ["c", "p", "task"],
          ["g", "c", "task"],
          ["k", "g", "peek"],
          ["h", "g", "conversation"],
          ["j", "p", "cron"],
        ] as const) {
          yield* create({ id, parentId, kind })
          yield* sayAll(id, [`u${id}`, `a${id}`])
        }
        yield* sayAll("p", ["u1", "a1"])
        yield* forkOf("p", "f")
        const before = yield* everything
        yield* startTurn("c", "u9")
        const refused = yield* Effect.flip(remove("p"))
        check(refused._tag === "RunActive" && refused.sessionId === "c", "the error names the child that runs")
        equal(yield* outcomeOf(session("p")).pipe(Effect.map((outcome) => "done" in outcome)), true)
        yield* Turns.use((turns) => turns.end("c", 1, { outcome: "completed" }))
        const { deleted, moved } = yield* remove("p")
        equal(deleted, [
          { id: "p", kind: "conversation" },
          { id: "c", kind: "task" },
          { id: "g", kind: "task" },
          { id: "k", kind: "peek" },
        ])
        equal(
          moved.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
          [
            { id: "h", kind: "conversation" },
            { id: "j", kind: "cron" },
          ],
        )
        for (const id of ["p", "c", "g", "k"]) equal(yield* outcomeOf(session(id)), { failed: "SessionDeleted" })
        for (const id of ["h", "j"]) equal((yield* session(id)).parentId, "top")
        equal(yield* pathOf("f"), ["u1", "a1"])
        equal((yield* session("f")).forkedFrom, { sessionId: "p", entry: "a1" })
        const found = yield* everything
        equal(naming(found, "c", "g", "k"), ["tombstone"])
        equal(found["entry"]!.length, before["entry"]!.length - 6)
        yield* remove("h")
        yield* remove("top")
        equal((yield* session("j")).parentId, undefined)
      }).pipe(withServices(store)),
  ),
  law("DEL-02 a family of any size goes", (store) =>
    Effect.gen(function* () {
      yield* create({ id: "p" })
      for (let n = 0; n < 250; n++) {
        yield* create({ id: `c${n}`, parentId: n % 3 === 0 ? "p" : `c${n - 1}`, kind: n % 51 === 50 ? "cron" : "task" })
      }
      const { deleted, moved } = yield* remove("p")
      check(moved.length > 0 && moved.every(({ kind }) => kind === "cron"), "who moved up")
      equal(yield* listed, moved.map(({ id }) => id).toSorted())
      for (const { id } of moved) equal((yield* session(id)).parentId, undefined)
      equal((yield* everything)["tombstone"]!.length, deleted.length)
    }).pipe(withServices(store)),
  ),
  law("DEL-01 deleteMany says of each what became of it", (store) =>
    Effect.gen(function* () {
      yield* create({ id: "p" })
      yield* create({ id: "c", parentId: "p", kind: "task" })
      yield* create({ id: "r" })
      yield* startTurn("r", "u1")
      yield* create({ id: "gone" })
      yield* remove("gone")
      const outcomes = yield* Deletions.use((deletions) => deletions.deleteMany(["p", "c", "nobody", "r", "gone", "p"]))
      equal(
        outcomes.map(({ deletion, error, sessionId }) => [
          sessionId,
          error?._tag ?? deletion!.deleted.map(({ id }) => id).join(" "),
        ]),
        [
          ["p", "p c"],
          ["c", "p c"],
          ["nobody", "SessionNotFound"],
          ["r", "RunActive"],
          ["gone", "SessionDeleted"],
          ["p", "p c"],
        ],
      )
      const wrong = Deletions.use((deletions) => deletions.deleteMany(["r", "a/b"]))
      equal(yield* outcomeOf(wrong), { failed: "InvalidInput" })
      equal((yield* session("r")).status, "running")
    }).pipe(withServices(store)),
  ),
  law("DEL-01 of two that delete the same session at once one does, and the other is told", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const one = yield* openServices(store)
        const other = yield* openServices(store)
        yield* Effect.provide(fill("s"), one)
        const both = yield* Effect.all(
          [outcomeOf(Effect.provide(remove("s"), one)), outcomeOf(Effect.provide(remove("s"), other))],
          { concurrency: "unbounded" },
        )
        equal(both.filter((outcome) => "done" in outcome).length, 1)
        equal(both.filter((outcome) => "failed" in outcome && outcome.failed === "SessionDeleted").length, 1)
        const rest = yield* Effect.provide(counts, other)
        equal(Object.keys(rest).toSorted(), ["project", "tombstone", "usage", "usage_sum"])
      }),
    ),
  ),
]

export const deleteLaws: ReadonlyArray<Law> = [...seen, ...removed, ...families]
