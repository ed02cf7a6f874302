import { assert, describe, it } from "@effect/vitest"
import { InvalidInput, int, table, text, Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as z from "zod/mini"
import { generic } from "../src/history/dialects/generic.ts"
import { attach } from "../src/head/links.ts"
import { layer } from "../src/services.ts"
import { QueueItemTable } from "../src/queue/model.ts"
import { SessionTable } from "../src/session/model.ts"
import { defaultSettings } from "../src/settings.ts"
import { Skein } from "../src/skein.ts"
import { naive } from "./support/naive-backend.ts"
import type { Naive } from "./support/naive-backend.ts"

const Note = table("note", { row: z.object({ id: z.string() }), key: [text("id")] })
const noted = Tx.make(function* (tx) {
  tx.insert(Note, { id: "n" })
})

/** A session `r` in which a turn runs. */
const running = Tx.make(function* (tx) {
  const turn = { id: "t", epoch: 1, owner: "o", host: "h", startedAt: 0, beat: 0, lease: 30_000, until: 0, drafts: [] }
  yield* tx.get(SessionTable, ["r"])
  tx.update(SessionTable, ["r"], (row) => ({ ...row, epoch: 1, activeTurn: turn }))
})

/** In session `q`, an item that waits and one that is claimed. */
const queued = Tx.make(function* (tx) {
  yield* tx.get(SessionTable, ["q"])
  const item = { sessionId: "q", message: { createdAt: 0, body: "later" }, enqueuedAt: 0, attempts: 0 }
  const claimedUntil = Number.MAX_SAFE_INTEGER
  tx.insert(QueueItemTable, { ...item, id: "q1", order: 1 })
  tx.insert(QueueItemTable, {
    ...item,
    id: "q2",
    order: 2,
    claim: { token: "q2.t", owner: "o", lease: 1 },
    claimedUntil,
  })
  const queue = { items: 2, claimed: 1, since: claimedUntil, front: 1, back: 2 }
  tx.update(SessionTable, ["q"], (row) => ({ ...row, queue }))
})

/**
 * A store with a project of `/w`, a session `s` of two messages, one `h` with a tool result, a session `r` in which a turn runs, and a session `q` with
 * a queue.
 */
const opened = async () => {
  const engine = naive()
  const skein = await Skein.open(engine.layer, { tables: [Note], prices: {}, attachmentRoots: ["/files"] })
  await skein.projects.ensureForWorkspace("/w")
  await skein.sessions.create({ id: "s" })
  await skein.messages.append("s", { id: "m1", body: "one", role: "user" })
  await skein.messages.append("s", { id: "m2", body: "two", role: "assistant" })
  await skein.sessions.create({ id: "h" })
  const found = { role: "tool", content: [{ type: "tool-result", callId: "c", output: "found" }] }
  await skein.messages.append("h", { id: "r1", body: found })
  await skein.sessions.create({ id: "l" })
  await skein.transact(attach(defaultSettings, "l", "h", { id: "link", createdAt: 0 }, (title) => title, {}, 0))
  const file = await skein.attachments.put("h", { name: "one", mime: "text/plain", data: new Uint8Array([1]) })
  await skein.messages.append("h", { body: { role: "user", content: "see" }, attachments: [file] })
  await skein.sessions.create({ id: "r" })
  await skein.transact(running)
  await skein.sessions.create({ id: "q" })
  await skein.transact(queued)
  return { engine, skein }
}

/** What a promise is rejected with; fails where it is not, or where the call itself throws. */
const rejection = async (call: () => Promise<unknown>): Promise<unknown> => {
  const promise = call()
  assert.instanceOf(promise, Promise)
  return promise.then(
    (value) => assert.fail(`resolved with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )
}

/** The file of session `h`: one byte, 1. */
const theFile = "sha256-4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a"

type Method = (...given: ReadonlyArray<unknown>) => Promise<unknown>

/** All methods that take something, with arguments that make sense before the options. */
const methods: ReadonlyArray<readonly [string, ReadonlyArray<unknown>, "options" | "query" | "filter"]> = [
  ["sessions.create", [{ id: "t" }], "options"],
  ["sessions.get", ["s"], "options"],
  ["sessions.open", ["s"], "options"],
  ["sessions.latest", [], "query"],
  ["sessions.resolve", ["s"], "options"],
  ["sessions.list", [], "query"],
  ["sessions.watch", [], "query"],
  ["sessions.tree", [], "query"],
  ["sessions.children", ["s"], "query"],
  ["sessions.update", ["s", {}], "options"],
  ["sessions.rename", ["s", "Title"], "options"],
  ["sessions.autoTitle", ["s", "Title"], "options"],
  ["sessions.archive", ["s"], "options"],
  ["sessions.unarchive", ["s"], "options"],
  ["sessions.pin", ["s", true], "options"],
  ["sessions.setGroup", ["s", "group"], "options"],
  ["sessions.markRead", ["s"], "options"],
  ["sessions.touch", ["s"], "options"],
  ["sessions.ensureRoot", ["agent"], "options"],
  ["sessions.delete", ["s"], "options"],
  ["sessions.deleteMany", [["s"]], "options"],
  ["sessions.erase", ["s"], "options"],
  ["sessions.forget", ["s"], "options"],
  ["projects.ensureDefault", [], "options"],
  ["projects.ensureForWorkspace", ["/new"], "options"],
  ["projects.get", ["default"], "options"],
  ["projects.list", [], "filter"],
  ["projects.rename", ["default", "Name"], "options"],
  ["projects.pin", ["default", true], "options"],
  ["projects.hide", ["default", true], "options"],
  ["projects.relocate", [{ from: "/w", to: "/v" }], "options"],
  ["messages.append", ["s", "text"], "options"],
  ["messages.appendMany", ["s", ["text"]], "options"],
  ["messages.commitUserMessage", ["s", { messageKey: "k", message: "text" }], "options"],
  ["messages.page", ["s"], "query"],
  ["messages.watch", ["s"], "options"],
  ["messages.get", ["s", "m1"], "options"],
  ["messages.count", ["s"], "options"],
  ["messages.prompts", ["s"], "query"],
  ["messages.siblings", ["s", "m1"], "options"],
  ["messages.redact", ["s", "m1"], "options"],
  ["messages.path", ["s", "m1"], "options"],
  ["history.read", ["s"], "options"],
  ["history.compact", ["s", { summary: "sum" }], "options"],
  ["history.amend", ["h", { message: "r1", trim: 1 }], "options"],
  ["attachments.put", ["s", { name: "two", mime: "text/plain", data: new Uint8Array([2]) }], "options"],
  ["attachments.open", ["h", theFile], "options"],
  ["attachments.list", ["h"], "query"],
  ["attachments.resolve", ["h", "/files/one"], "options"],
  ["heads.checkout", ["s", "m1"], "options"],
  ["heads.undo", ["s"], "options"],
  ["heads.redo", ["s"], "options"],
  ["heads.moves", ["s"], "query"],
  ["heads.branches", ["s"], "query"],
  ["heads.deepest", ["s", "m1"], "options"],
  ["heads.nameBranch", ["s", 1, "name"], "options"],
  ["heads.deleteBranch", ["s", 1], "options"],
  ["heads.attach", ["s", "h"], "options"],
  ["heads.merge", ["l", "link"], "options"],
  ["heads.unmerge", ["l", "link"], "options"],
  ["rewinds.plan", ["s", "m1"], "options"],
  ["rewinds.rewind", ["s", "m1"], "options"],
  ["rewinds.edit", ["s", "m1"], "options"],
  ["rewinds.retry", ["s", "m1"], "options"],
  ["rewinds.prune", ["s"], "options"],
  ["forks.fork", ["h"], "options"],
  ["forks.side", ["h"], "options"],
  ["turns.run", ["s", { prompt: "text" }, async () => 1], "options"],
  ["turns.abort", ["r"], "options"],
  ["turns.recover", [], "options"],
  ["turns.list", ["s"], "query"],
  ["turns.project", ["r", { epoch: 1, sequence: 1, id: "e", data: 1 }, () => ({ frame: { data: 1 } })], "options"],
  ["turns.begin", ["s", { prompt: "text" }], "options"],
  ["turns.heartbeat", ["r", 1], "options"],
  ["turns.end", ["r", 1, { outcome: "completed" }], "options"],
  ["queue.enqueue", ["q", "text"], "options"],
  ["queue.list", ["q"], "query"],
  ["queue.count", ["q"], "options"],
  ["queue.update", ["q", "q1", { source: "cli" }], "options"],
  ["queue.cancel", ["q", "q1"], "options"],
  ["queue.reorder", ["q", ["q1"]], "options"],
  ["queue.promote", ["q", "q1"], "options"],
  ["queue.clear", ["q"], "options"],
  ["queue.claim", ["q"], "options"],
  ["queue.renew", ["q", "q2.t"], "options"],
  ["queue.release", ["q", "q2.t"], "options"],
  ["queue.reject", ["q", "q2.t"], "options"],
  ["queue.complete", ["q", "q2.t"], "options"],
  ["queue.dispatch", ["q"], "options"],
  ["queue.injected", ["r", 1], "options"],
  ["queue.pause", ["q"], "options"],
  ["queue.resume", ["q"], "options"],
  ["queryViews.start", ["r", { queryKey: "q", epoch: 1 }], "options"],
  ["queryViews.finish", ["r", { queryKey: "q", epoch: 1 }], "options"],
  ["queryViews.forceExpand", ["r", { queryKey: "q" }], "options"],
  ["queryViews.list", ["r", ["q"]], "options"],
  ["usage.record", ["s", { callId: "c", provider: "p", model: "m" }], "options"],
  ["usage.summary", [], "query"],
  ["usage.watch", [], "query"],
  ["usage.reprice", [], "options"],
  ["usage.verify", [], "options"],
  ["streams.resume", ["s"], "query"],
  ["streams.publish", ["s", { data: 1 }], "options"],
  ["streams.reserve", ["s"], "options"],
  ["streams.readers", ["s"], "options"],
  ["maintenance.recover", [], "options"],
  ["maintenance.retention", [], "options"],
  ["maintenance.stats", [], "options"],
  ["maintenance.compactStorage", [], "options"],
  ["maintenance.sweep", [], "options"],
  ["transact", [noted], "options"],
  ["read", [Tx.succeed(1)], "options"],
  ["run", [Effect.succeed(1)], "options"],
]

/** The methods of these that write nothing, or not by themselves. */
const plain = new Set([
  ...["get", "latest", "resolve", "list", "watch", "tree", "children"].map((verb) => `sessions.${verb}`),
  ...["moves", "branches", "deepest"].map((verb) => `heads.${verb}`),
  ...["page", "watch", "get", "count", "prompts", "siblings", "path"].map((verb) => `messages.${verb}`),
  "rewinds.plan",
  "projects.get",
  "projects.list",
  "history.read",
  ...["open", "list", "resolve"].map((verb) => `attachments.${verb}`),
  ...["recover", "list", "heartbeat"].map((verb) => `turns.${verb}`),
  "queryViews.list",
  "queue.list",
  "queue.count",
  ...["summary", "watch", "verify"].map((verb) => `usage.${verb}`),
  ...["resume", "publish", "reserve", "readers"].map((verb) => `streams.${verb}`),
  ...["recover", "retention", "stats", "compactStorage", "sweep"].map((verb) => `maintenance.${verb}`),
  "read",
  "run",
])

/** The facade's methods by path: `sessions.get`. Of one that is iterated, the first value. */
const methodsOf = (skein: object): ReadonlyMap<string, Method> =>
  new Map(
    Object.entries(skein).flatMap(([name, value]: [string, unknown]) =>
      typeof value === "function"
        ? [[name, value as Method] as const]
        : Object.entries(value as Record<string, Method | Iterated>).map(
            ([verb, method]) => [`${name}.${verb}`, promising(method)] as const,
          ),
    ),
  )

type Iterated = (...given: ReadonlyArray<unknown>) => AsyncIterable<unknown>

const promising =
  (method: Method | Iterated): Method =>
  (...given) => {
    const answer = method(...given)
    return Symbol.asyncIterator in answer ? firstOf(answer) : answer
  }

const firstOf = async (values: AsyncIterable<unknown>): Promise<unknown> => {
  for await (const value of values) return value
  return undefined
}

describe("wrong input", () => {
  it("API-06 every method is known to these tests", async () => {
    const { skein } = await opened()
    // These go on until their signal fires: they have tests of their own.
    const lasting = ["queue.work", "maintenance.run"]
    assert.sameMembers([...methodsOf(skein).keys()], [...methods.map(([name]) => name), ...lasting, "close"])
    await skein.close()
  })

  for (const [name, given, as] of methods) {
    it(`API-06 ${name} rejects ${as}, an unknown field and a signal that are none, and writes nothing`, async () => {
      const { engine, skein } = await opened()
      const method = methodsOf(skein).get(name)!
      const written = engine.runs.filter(({ mode }) => mode === "write").length
      for (const wrong of [null, 5, "x", [], true]) {
        assert.deepInclude(await rejection(() => method(...given, wrong)), { _tag: "InvalidInput", field: as })
      }
      for (const [field, value] of Object.entries({ signal: 5, sginal: undefined, nonsense: 1 })) {
        const error = await rejection(() => method(...given, { [field]: value }))
        assert.deepInclude(error, { _tag: "InvalidInput", field: `${as}.${field}`, value })
      }
      const gone = { signal: AbortSignal.abort(new Error("gone")) }
      assert.deepInclude(await rejection(() => method(...given, gone)), { message: "gone" })
      assert.lengthOf(
        engine.runs.filter(({ mode }) => mode === "write"),
        written,
      )
      await method(...given, { signal: new AbortController().signal })
      await skein.close()
    })
  }

  it("STO-04 every method that writes takes a durability, and only one that there is", async () => {
    for (const [name, given] of methods.filter(([name]) => !plain.has(name))) {
      const { engine, skein } = await opened()
      const method = methodsOf(skein).get(name)!
      const wrong = await rejection(() => method(...given, { durability: "Strict" }))
      assert.deepInclude(wrong, { _tag: "InvalidInput", field: "options.durability" }, name)
      engine.runs.length = 0
      await method(...given, { durability: "relaxed" })
      for (const { durability } of engine.runs) assert.strictEqual(durability, "relaxed", name)
      await skein.close()
    }
  })

  it("API-06 any argument of any method may be nonsense: it rejects with a typed error, and never throws", async () => {
    for (const [name, given] of methods) {
      const { skein } = await opened()
      const method = methodsOf(skein).get(name)!
      for (const place of given.keys()) {
        for (const wrong of [undefined, null, 5, "", "\0", [], {}, () => 1, Symbol("s")]) {
          await method(...given.with(place, wrong)).catch((error: unknown) => {
            assert.property(error, "_tag", `${name}, argument ${place}: ${String(wrong)}: ${String(error)}`)
          })
        }
      }
      await skein.close()
    }
  })

  it("API-06 QUE-08 queue.work names what is wrong, and sends nothing once its signal has fired", async () => {
    const { skein } = await opened()
    const work = skein.queue.work as Method
    const body = async () => assert.fail("nothing is to be sent")
    const stopped = { signal: AbortSignal.abort() }
    for (const [given, field] of [
      [[5], "body"],
      [[body, null], "options"],
      [[body, { signal: 5 }], "options.signal"],
      [[body, { ...stopped, concurrency: 0 }], "options.concurrency"],
      [[body, { ...stopped, maxAttempts: 1.5 }], "options.maxAttempts"],
      [[body, { ...stopped, sources: "cli" }], "options.sources"],
      [[body, { ...stopped, session: "a b" }], "options.session"],
      [[body, { ...stopped, onEnd: 5 }], "options.onEnd"],
      [[body, { ...stopped, nonsense: 1 }], "options.nonsense"],
    ] as const) {
      assert.deepInclude(await rejection(() => work(...given)), { _tag: "InvalidInput", field })
    }
    await skein.queue.enqueue("s", "text")
    await work(body, stopped)
    assert.lengthOf(await skein.queue.list("s"), 1)
    await skein.close()
  })

  it("API-06 what is no list, no submission, no program and no effect is named", async () => {
    const { skein } = await opened()
    const wrong: ReadonlyArray<readonly [string, ReadonlyArray<unknown>, string]> = [
      ["messages.appendMany", ["s", 5], "messages"],
      ["messages.commitUserMessage", ["s", undefined], "submission"],
      ["transact", [5], "program"],
      ["read", [undefined], "program"],
      ["run", [5], "effect"],
    ]
    for (const [name, given, field] of wrong) {
      assert.deepInclude(await rejection(() => methodsOf(skein).get(name)!(...given)), { _tag: "InvalidInput", field })
    }
    await skein.close()
  })
})

const wrongOptions: ReadonlyArray<readonly [unknown, string]> = [
  [null, "options"],
  [5, "options"],
  [{ ownr: "ann" }, "options.ownr"],
  [{ owner: "" }, "options.owner"],
  [{ owner: 5 }, "options.owner"],
  [{ idPrefix: "../" }, "options.idPrefix"],
  [{ idPrefix: "x".repeat(65) }, "options.idPrefix"],
  [{ dialect: {} }, "options.dialect.name"],
  [{ dialect: { ...generic, read: undefined } }, "options.dialect.read"],
  [{ dialect: { ...generic, version: "1" } }, "options.dialect.version"],
  [{ dialect: null }, "options.dialect"],
  [{ dialects: generic }, "options.dialects"],
  [{ dialects: [generic, { ...generic, write: 5 }] }, "options.dialects.1.write"],
  [{ tables: Note }, "options.tables"],
  [{ tables: [Note, { name: "own" }] }, "options.tables.1.row"],
  [{ tables: [Note, Note] }, "options.tables.1.name"],
  [{ tables: [table("Session", { row: z.object({ n: z.number() }), key: [int("n")] })] }, "options.tables.0.name"],
  [{ paths: { style: "dos", resolve: Effect.succeed } }, "options.paths.style"],
  [{ paths: { style: "posix" } }, "options.paths.resolve"],
  [{ busyBudget: Number.NaN }, "options.busyBudget"],
  [{ busyBudget: -1 }, "options.busyBudget"],
  [{ busyBudget: Infinity }, "options.busyBudget"],
  [{ verify: "yes" }, "options.verify"],
]

describe("opening", () => {
  for (const [options, field] of wrongOptions) {
    const what = JSON.stringify(options, (_, value: unknown) => (typeof value === "number" ? String(value) : value))
    it(`API-06 ${field} is refused before anything is opened: ${what.slice(0, 60)}`, async () => {
      const engine = naive()
      const given = options as Parameters<typeof layer>[0]
      assert.deepInclude(await rejection(() => Skein.open(engine.layer, given)), { _tag: "InvalidInput", field })
      const error = await Effect.runPromise(
        Effect.flip(Effect.scoped(Layer.build(Layer.provide(layer(given), engine.layer)))),
      )
      assert.instanceOf(error, InvalidInput)
      assert.lengthOf(engine.runs, 0)
    })
  }

  it("API-06 what no adapter gave is refused", async () => {
    for (const backend of [undefined, null, {}, naive, "file:chat.db"]) {
      const open = () => Skein.open(backend as Naive["layer"])
      assert.deepInclude(await rejection(open), { _tag: "InvalidInput", field: "backend" })
    }
  })

  it("API-01 every option that makes sense is taken", async () => {
    class Own {
      readonly name = "own"
      readonly version = 2
      readonly role = generic.role
      readonly text = generic.text
      readonly prompt = generic.prompt
      readonly summary = generic.summary
      readonly write = generic.write
      read(...given: Parameters<typeof generic.read>) {
        return generic.read(...given)
      }
    }
    const skein = await Skein.open(naive().layer, {
      dialect: new Own(),
      dialects: [generic],
      owner: "Ann Noether",
      idPrefix: "",
      paths: { style: "windows", resolve: Effect.succeed },
      tables: [Note],
      busyBudget: 0,
      verify: true,
    })
    const session = await skein.sessions.create()
    assert.match(session.id, /^[0-9a-f]{32}$/)
    assert.strictEqual(session.owner, "Ann Noether")
    await skein.transact(noted)
    await skein.close()
  })
})

describe("iterating", () => {
  it("API-01, SES-13 what is watched comes as it changes; to stop iterating ends it", async () => {
    const { skein } = await opened()
    const titles: Array<string | undefined> = []
    for await (const { sessions } of skein.sessions.watch()) {
      titles.push(sessions.find(({ id }) => id === "s")?.title)
      if (titles.length === 3) break
      await skein.sessions.rename("s", `Title ${titles.length}`)
    }
    assert.deepStrictEqual(titles, [undefined, "Title 1", "Title 2"])
    await skein.close()
  })

  it("API-01, SES-13 closing the store ends what is iterated, and each iteration is one of its own", async () => {
    const { skein } = await opened()
    const watched = skein.sessions.watch()
    const [one, other] = [watched[Symbol.asyncIterator](), watched[Symbol.asyncIterator]()]
    assert.isFalse((await one.next()).done)
    const waiting = one.next()
    assert.isFalse((await other.next()).done)
    assert.deepStrictEqual(await other.return!(), { done: true, value: undefined })
    assert.deepStrictEqual(await other.next(), { done: true, value: undefined })
    await skein.close()
    assert.deepStrictEqual(await waiting, { done: true, value: undefined })
    assert.deepInclude(await rejection(() => firstOf(watched)), { _tag: "StorageError" })
  })

  it("API-01, SES-13 a signal that fires ends what is iterated with its reason, also while it waits", async () => {
    const { skein } = await opened()
    const controller = new AbortController()
    const values = skein.sessions.watch({ signal: controller.signal })[Symbol.asyncIterator]()
    assert.isFalse((await values.next()).done)
    const waiting = values.next()
    controller.abort(new Error("enough"))
    assert.deepInclude(await rejection(() => waiting), { message: "enough" })
    assert.deepStrictEqual(await values.next(), { done: true, value: undefined })
    await skein.close()
  })
})
