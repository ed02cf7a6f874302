import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { BlobUseTable } from "../../src/attachment/model.ts"
import { Deletions } from "../../src/deletion/service.ts"
import { Forks } from "../../src/fork/service.ts"
import { Heads } from "../../src/head/service.ts"
import { History } from "../../src/history/service.ts"
import { Imports } from "../../src/import/service.ts"
import type { ImportedMessage, ImportedSession } from "../../src/import/service.ts"
import { Maintenance } from "../../src/maintenance/service.ts"
import { Messages } from "../../src/message/service.ts"
import { layer } from "../../src/services.ts"
import { Skein } from "../../src/skein.ts"
import { Storage, Tx } from "../../src/storage/index.ts"
import type { LayerOptions } from "../../src/services.ts"
import { Sessions } from "../../src/session/service.ts"
import { naive } from "../support/naive-backend.ts"

const origin = { source: "other", converter: 1 }

const services = (options: LayerOptions = {}, engine = naive()) =>
  Imports.layer.pipe(Layer.provideMerge(layer({ verify: true, ...options })), Layer.provide(engine.layer), Layer.orDie)

const said = (id: string, text = id, more: Partial<ImportedMessage> = {}): ImportedMessage => ({
  id,
  role: "user",
  createdAt: 1_000,
  body: { role: "user", content: text },
  ...more,
})

/** A session with these messages, as a source would describe it. */
const sourceOf = (ids: ReadonlyArray<string | ImportedMessage>, more: Partial<ImportedSession> = {}) => {
  const messages = ids.map((one) => (typeof one === "string" ? said(one) : one))
  const session: ImportedSession = {
    id: "ses_a",
    fingerprint: JSON.stringify([ids, more]),
    messages: messages.length,
    createdAt: 10,
    updatedAt: 20,
    activityAt: 30,
    title: "At the source",
    workspace: "/home/ada/app",
    ...more,
  }
  return [session, Stream.fromIterable(messages)] as const
}

const bring = (ids: ReadonlyArray<string | ImportedMessage>, more: Partial<ImportedSession> = {}) =>
  Imports.use((imports) => imports.bring(origin, ...sourceOf(ids, more)))

const kept = (field: string) => ({
  _tag: "Remark" as const,
  kind: "kept" as const,
  position: "session ses_a",
  reason: `its ${field} differs at the source, and was changed here`,
})

const shown = (sessionId = "ses_a") =>
  Messages.use((messages) => Effect.map(messages.page(sessionId), (page) => page.messages.map(({ id }) => id)))

const session = (sessionId = "ses_a") => Sessions.use((sessions) => sessions.get(sessionId))

describe("bringing a session in", () => {
  it("API-01 an Effect on the services of an open store sees its settings", async () => {
    const skein = await Skein.open(naive().layer, { owner: "ada" })
    const { sessionId } = await skein.run(Effect.provide(bring(["m1"]), Imports.layer))

    assert.strictEqual((await skein.sessions.get(sessionId)).owner, "ada")
    await skein.close()
  })

  it.effect("IMP-05 keeps id, title, times, workspace, order and head", () =>
    Effect.gen(function* () {
      const brought = yield* bring(["m1", "m2", "m3"], { agent: "build", model: { provider: "p", model: "m" } })

      assert.deepInclude(brought, { sessionId: "ses_a", outcome: "created", stored: 3, added: 3, remarks: [] })
      assert.deepInclude(yield* session(), {
        id: "ses_a",
        title: "At the source",
        titleOrigin: "manual",
        createdAt: 10,
        updatedAt: 20,
        activityAt: 30,
        workspaceDir: "/home/ada/app",
        agent: "build",
        model: { provider: "p", model: "m" },
        origin: "other",
        readiness: "ready",
        head: "m3",
        preview: "m3",
      })
      assert.deepEqual(yield* shown(), ["m1", "m2", "m3"])
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-05 a session may stand before its last message, or at the root", () =>
    Effect.gen(function* () {
      yield* bring(["m1", "m2", "m3"], { head: "m1" })
      yield* bring(["r1"], { id: "ses_root", head: null })

      assert.deepEqual(yield* shown(), ["m1"])
      assert.deepEqual(yield* shown("ses_root"), [])
      const heads = yield* Heads
      yield* heads.checkout("ses_a", "m3")
      assert.deepEqual(yield* shown(), ["m1", "m2", "m3"])
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-03 MSG-08 large messages are kept apart, are known again, and go along where a session goes on", () =>
    Effect.gen(function* () {
      const messages = yield* Messages
      const large = (id: string) => said(id, id.repeat(50_000))
      yield* bring(["m1", large("m2")])
      const again = yield* bring(["m1", large("m2"), large("m3")])
      assert.deepInclude(again, { outcome: "updated", added: 1, remarks: [] })

      const { messages: seen } = yield* messages.page("ses_a")
      assert.deepEqual(
        seen.map(({ branch, large: apart }) => [branch, apart?.display?.bytes]),
        [
          [1, undefined],
          [1, 100_028],
          [1, 100_028],
        ],
      )
      for (const id of ["m2", "m3"]) {
        assert.deepEqual((yield* messages.get("ses_a", id)).display, { role: "user", content: id.repeat(50_000) })
      }
      const storage = yield* Storage
      const uses = yield* storage.read(
        Tx.make(function* (tx) {
          return yield* tx.range(BlobUseTable, "key", {})
        }),
      )
      assert.deepEqual(
        uses.map(({ branch, pos }) => [branch, pos]),
        [
          [1, 2],
          [1, 3],
        ],
      )
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-03 MSG-08 what was redacted here does not come back with the next import", () =>
    Effect.gen(function* () {
      yield* bring(["m1", said("m2", "SECRET")])
      yield* Messages.use((messages) => messages.redact("ses_a", "m2"))
      yield* bring(["m1", said("m2", "SECRET")], { title: "Later" })
      yield* bring(["m1", said("m2", "SECRET"), "m3"])

      const { messages } = yield* Messages.use((one) => one.page("ses_a"))
      assert.notInclude(JSON.stringify(messages), "SECRET")
      assert.deepEqual(yield* shown(), ["m1", "m2", "m3"])
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-05 an empty session is a session", () =>
    Effect.gen(function* () {
      yield* bring([])
      assert.deepInclude(yield* session(), { head: null, preview: "" })

      assert.deepInclude(yield* bring(["m1"]), { outcome: "updated", added: 1 })
      assert.deepEqual(yield* shown(), ["m1"])
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-05 a compaction hides what came before its tail, and a tail that is not there hides nothing", () =>
    Effect.gen(function* () {
      const compaction = (id: string, keepFrom: string): ImportedMessage => ({
        id,
        role: "assistant",
        createdAt: 1,
        display: { role: "assistant", content: "They greeted." },
        compaction: { summary: "They greeted.", keepFrom },
      })
      yield* bring(["m1", "m2", compaction("c1", "m2"), "m3"])
      const lost = yield* bring([said("n1"), compaction("c2", "gone"), said("n2")], { id: "ses_b" })
      const history = yield* History
      const read = Effect.fnUntraced(function* (id: string) {
        return (yield* history.read(id)).messages.map((message) => JSON.stringify(message))
      })

      const [summary, ...rest] = yield* read("ses_a")
      assert.include(summary, "They greeted.")
      assert.deepEqual(
        rest,
        [said("m2").body, said("m3").body].map((body) => JSON.stringify(body)),
      )
      assert.deepEqual(
        lost.remarks.map(({ kind, position }) => [kind, position]),
        [["repaired", "message c2"]],
      )
      assert.lengthOf(yield* read("ses_b"), 2)
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-04 a message that cannot be stored is named, and the others are there", () =>
    Effect.gen(function* () {
      const bodiless = { id: "m2", role: "user", createdAt: 1 } as const
      const brought = yield* bring(["m1", bodiless, said("m1", "another"), said("m3", "x", { createdAt: -1 }), "m4"])

      assert.deepInclude(brought, { read: 5, stored: 2 })
      assert.deepEqual(
        brought.remarks.map(({ kind, position }) => [kind, position]),
        [
          ["lost", "message m2"],
          ["lost", "message m1"],
          ["lost", "message m3"],
        ],
      )
      assert.deepEqual(yield* shown(), ["m1", "m4"])
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-05 ids that cannot be ids here get others, the same every time", () =>
    Effect.gen(function* () {
      const odd = [said("a/b"), said("ü")]
      const { sessionId } = yield* bring(odd, { id: "ses:1", head: "a/b" })
      const again = yield* bring(odd, { id: "ses:1", head: "a/b", updatedAt: 21 })

      assert.match(sessionId, /^imp_[0-9a-f]+$/)
      assert.deepInclude(again, { sessionId, outcome: "unchanged", added: 0 })
      assert.lengthOf(yield* shown(sessionId), 1)
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-03 a session that was made here is not overwritten by one of the same id", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      yield* sessions.create({ id: "ses_a", title: "Mine" })

      const error = yield* Effect.flip(bring(["m1"]))

      assert.deepInclude(error, { _tag: "IdConflict", id: "ses_a" })
      assert.strictEqual((yield* session()).title, "Mine")
      assert.deepEqual(yield* shown(), [])
    }).pipe(Effect.provide(services())),
  )

  it.effect("SES-16 IMP-03 each owner imports for itself, and sees and touches nobody else's", () =>
    Effect.gen(function* () {
      const engine = naive()
      const importing = Effect.gen(function* () {
        const imports = yield* Imports
        assert.isUndefined(yield* imports.record("other", "ses_a"))
        const child = yield* bring(["c1"], { id: "ses_c", parentId: "ses_a", kind: "task" })
        const { outcome, sessionId } = yield* bring(["m1", "m2"])
        assert.strictEqual(outcome, "created")
        assert.strictEqual((yield* bring(["m1", "m2"])).outcome, "unchanged")
        yield* imports.fail(origin, "ses_f", "unreadable")
        assert.deepInclude(yield* imports.record("other", "ses_a"), { sessionId, status: "ready", stored: 2 })
        assert.deepEqual(yield* shown(sessionId), ["m1", "m2"])
        const sessions = yield* Sessions
        assert.deepEqual(
          (yield* sessions.list()).sessions.map(({ id }) => id),
          [sessionId],
        )
        const [task] = (yield* sessions.children(sessionId)).nodes
        assert.strictEqual(task?.session.id, child.sessionId)
        return yield* session(sessionId)
      })
      const ada = yield* Effect.provide(importing, services({ owner: "ada" }, engine))
      const bob = yield* Effect.provide(importing, services({ owner: "bob" }, engine))

      assert.deepEqual([ada.owner, bob.owner], ["ada", "bob"])
      for (const field of ["id", "treeId", "projectId"] as const) assert.notStrictEqual(ada[field], bob[field])
      const brought = Effect.map(bring(["m1"]), ({ outcome, sessionId }) => [outcome, sessionId])
      assert.deepEqual(yield* Effect.provide(brought, services({}, engine)), ["created", "ses_a"])
    }),
  )

  it.effect("API-06 a session that is described wrongly is refused, with the field", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(bring([], { title: " ".repeat(3) }))
      assert.deepInclude(error, { _tag: "InvalidInput", field: "session.title" })
      assert.strictEqual((yield* Effect.flip(session()))._tag, "SessionNotFound")
    }).pipe(Effect.provide(services())),
  )
})

describe("a session that was deleted here", () => {
  const remove = (id = "ses_a") => Deletions.use((deletions) => deletions.delete(id))
  const record = Imports.use((imports) => imports.record("other", "ses_a"))
  const restore = Imports.use((imports) => imports.restore("other", "ses_a"))

  it.effect("DEL-03 does not come back, also when that is forgotten, unless it is told to", () =>
    Effect.gen(function* () {
      yield* bring(["m1", "m2"])
      assert.isFalse(yield* restore)
      yield* remove()
      assert.strictEqual((yield* record)?.status, "deleted")
      for (const forgets of [false, true]) {
        if (forgets) yield* Deletions.use((deletions) => deletions.forget("ses_a"))
        assert.strictEqual((yield* Effect.flip(bring(["m1", "m2", "m3"])))._tag, "SessionDeleted")
        yield* Imports.use((imports) => imports.fail(origin, "ses_a", "unreadable"))
        assert.strictEqual((yield* record)?.status, "deleted")
        assert.strictEqual((yield* Sessions.use((sessions) => sessions.list())).sessions.length, 0)
      }
      assert.isTrue(yield* restore)
      assert.deepInclude(yield* bring(["m1", "m2", "m3"]), { outcome: "created", added: 3, sessionId: "ses_a" })
      assert.deepStrictEqual(yield* shown(), ["m1", "m2", "m3"])
      assert.deepInclude(yield* bring(["m1", "m2", "m3", "m4"]), { outcome: "updated", added: 1 })
    }).pipe(Effect.provide(services())),
  )

  it.effect("DEL-03 and that lives on in a fork comes back as a conversation of its own", () =>
    Effect.gen(function* () {
      yield* bring(["m1", "m2"])
      const fork = yield* Forks.use((forks) => forks.fork("ses_a", { at: "m2" }))
      yield* remove()
      yield* restore
      assert.deepInclude(yield* bring(["m1", "m2", "m3"]), { outcome: "created", added: 3 })
      yield* remove(fork.id)
      assert.deepStrictEqual(yield* shown(), ["m1", "m2", "m3"])
    }).pipe(Effect.provide(services())),
  )

  it.effect("DEL-03 takes along what is staged of it", () =>
    Effect.gen(function* () {
      yield* bring(["m1"])
      const [description, messages] = sourceOf(["m1", "m2", "m3"])
      const torn = Stream.concat(messages, Stream.fail("the disk is gone"))
      const imports = yield* Imports
      yield* Effect.flip(imports.bring(origin, description, torn))
      yield* remove()
      const stats = yield* Maintenance.use((maintenance) => maintenance.stats())
      const left = stats.tables.filter(({ rows }) => rows > 0).map(({ table }) => table)
      assert.sameMembers(left, ["project", "import_record", "tombstone"])
    }).pipe(Effect.provide(services())),
  )
})

describe("an import that does not come to its end", () => {
  it.effect("IMP-03 shows nothing, and the next one shows all, once", () =>
    Effect.gen(function* () {
      const imports = yield* Imports
      const [description, messages] = sourceOf(["m1", "m2", "m3"])
      const torn = Stream.concat(Stream.take(messages, 2), Stream.fail("the disk is gone" as const))

      assert.strictEqual(yield* Effect.flip(imports.bring(origin, description, torn)), "the disk is gone")
      assert.strictEqual((yield* Effect.flip(session()))._tag, "SessionNotFound")
      assert.deepEqual((yield* Sessions.use((sessions) => sessions.list())).sessions, [])

      assert.deepInclude(yield* imports.bring(origin, description, messages), {
        outcome: "created",
        stored: 3,
        added: 1,
      })
      assert.deepEqual(yield* shown(), ["m1", "m2", "m3"])
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-03 leaves a session that people can go on with, and the next one finds its place", () =>
    Effect.gen(function* () {
      const imports = yield* Imports
      const messages = yield* Messages
      yield* bring(["m1", "m2"])
      const [description, all] = sourceOf(["m1", "m2", "m3", "m4"])
      const torn = Stream.concat(Stream.take(all, 3), Stream.fail("the disk is gone" as const))
      yield* Effect.flip(imports.bring(origin, description, torn))
      assert.deepEqual(yield* shown(), ["m1", "m2"])

      yield* messages.append("ses_a", { id: "mine", body: "mine" })
      assert.deepInclude(yield* imports.bring(origin, description, all), { added: 1, remarks: [kept("head")] })

      assert.deepEqual(yield* shown(), ["m1", "m2", "mine"])
      const path = yield* messages.path("ses_a", "m4")
      assert.deepEqual(
        path.map(({ id }) => id),
        ["m1", "m2", "m3", "m4"],
      )
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-03 IMP-08 shows nothing of what it adds, nor does one that comes later and fails as well", () =>
    Effect.gen(function* () {
      const engine = naive()
      const [description, all] = sourceOf(["m1", "m2", "m3", "m4"])
      const torn = (count: number) =>
        Imports.use((imports) =>
          imports.bring(origin, description, Stream.concat(Stream.take(all, count), Stream.fail("the disk is gone"))),
        )
      const seen = Effect.gen(function* () {
        const heads = yield* Heads
        const messages = yield* Messages
        assert.strictEqual((yield* Effect.flip(messages.get("ses_a", "m3")))._tag, "MessageNotFound")
        assert.strictEqual((yield* Effect.flip(heads.checkout("ses_a", "m3")))._tag, "MessageNotFound")
        assert.lengthOf(yield* messages.branches("ses_a"), 1)
        assert.strictEqual((yield* heads.deepest("ses_a", "m1")).id, "m2")
        return [yield* session(), yield* shown()] as const
      })
      const run = <A, E>(effect: Effect.Effect<A, E, Effect.Services<typeof seen> | Imports>) =>
        Effect.provide(effect, services({}, engine))
      yield* run(bring(["m1", "m2"]))
      const before = yield* run(Effect.all([session(), shown()]))

      for (const count of [3, 3, 4]) {
        yield* run(Effect.flip(torn(count)))
        assert.deepEqual(yield* run(seen), before)
      }

      assert.deepInclude(yield* run(bring(["m1", "m2", "m3", "m4"])), { outcome: "updated", stored: 4, added: 0 })
      assert.deepEqual(yield* run(shown()), ["m1", "m2", "m3", "m4"])
      assert.lengthOf(yield* run(Messages.use((messages) => messages.branches("ses_a"))), 1)
      yield* run(Messages.use((messages) => messages.append("ses_a", { id: "mine", body: "mine" })))
      assert.lengthOf(yield* run(Messages.use((messages) => messages.branches("ses_a"))), 1)
    }),
  )

  it.effect("IMP-04 is in the ledger as failed, keeps what came before, and may be tried again", () =>
    Effect.gen(function* () {
      const imports = yield* Imports
      assert.isUndefined(yield* imports.record("other", "ses_a"))
      yield* imports.fail(origin, "ses_a", "unreadable")
      assert.deepInclude(yield* imports.record("other", "ses_a"), { status: "failed", error: "unreadable" })

      yield* bring(["m1"])
      const ready = yield* imports.record("other", "ses_a")
      assert.deepInclude(ready, { status: "ready", messages: 1, stored: 1 })
      assert.notProperty(ready, "error")

      yield* imports.fail(origin, "ses_a", "unreadable again")
      yield* bring(["m1", "m2"])
      assert.deepEqual(yield* shown(), ["m1", "m2"])
    }).pipe(Effect.provide(services())),
  )
})

describe("importing again", () => {
  it.effect("A69 and IMP-03 writes nothing where nothing is new", () =>
    Effect.gen(function* () {
      yield* bring(["m1", "m2"])
      const before = yield* session()

      assert.deepInclude(yield* bring(["m1", "m2"]), { outcome: "unchanged", stored: 2, added: 0 })

      assert.deepEqual(yield* session(), before)
      assert.deepEqual(yield* shown(), ["m1", "m2"])
    }).pipe(Effect.provide(services())),
  )

  it.effect("A69 and IMP-03 adds what is new, and the head goes along without a move", () =>
    Effect.gen(function* () {
      const heads = yield* Heads
      yield* bring(["m1", "m2"])

      assert.deepInclude(yield* bring(["m1", "m2", "m3", "m4"], { activityAt: 40 }), { outcome: "updated", added: 2 })

      assert.deepEqual(yield* shown(), ["m1", "m2", "m3", "m4"])
      assert.deepInclude(yield* session(), { head: "m4", preview: "m4", activityAt: 40 })
      assert.deepEqual(yield* heads.moves("ses_a"), [])
      assert.lengthOf(yield* Messages.use((messages) => messages.branches("ses_a")), 1)
    }).pipe(Effect.provide(services())),
  )

  it.effect("A69 and IMP-03 many parts, twice and at the same time, are there once", () =>
    Effect.gen(function* () {
      const ids = Array.from({ length: 450 }, (_, i) => `m${i}`)
      const results = yield* Effect.all([bring(ids), bring(ids), bring(ids)], { concurrency: "unbounded" })

      assert.strictEqual(
        results.reduce((sum, { added }) => sum + added, 0),
        450,
      )
      assert.deepEqual(results.filter(({ outcome }) => outcome === "created").length, 1)
      const all = yield* Messages.use((messages) => Stream.runCollect(messages.stream("ses_a")))
      assert.deepEqual(
        all.map(({ id }) => id),
        ids,
      )
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-03 more than a commit takes goes on all the same, and is one conversation", () =>
    Effect.gen(function* () {
      const ids = Array.from({ length: 520 }, (_, i) => `m${i}`)
      for (const count of [10, 250, 400, 520]) {
        const brought = yield* bring(ids.slice(0, count))
        assert.deepInclude(brought, { stored: count, remarks: [] })
        const all = yield* Messages.use((messages) => Stream.runCollect(messages.stream("ses_a")))
        assert.deepEqual(
          all.map(({ id }) => id),
          ids.slice(0, count),
        )
        assert.strictEqual((yield* Heads.use((heads) => heads.deepest("ses_a", "m3"))).id, ids[count - 1])
      }
      assert.deepInclude(yield* session(), { head: "m519", preview: "m519" })
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-05 a compaction that comes later hides what came before its tail", () =>
    Effect.gen(function* () {
      const compaction: ImportedMessage = {
        id: "c1",
        role: "assistant",
        createdAt: 1,
        display: { role: "assistant", content: "They greeted." },
        compaction: { summary: "They greeted.", keepFrom: "m3" },
      }
      yield* bring(["m1", "m2"])
      yield* bring(["m1", "m2", "m3", compaction, "m4"])

      const { messages } = yield* History.use((history) => history.read("ses_a"))
      assert.include(JSON.stringify(messages[0]), "They greeted.")
      assert.deepEqual(
        messages.slice(1).map((message) => JSON.stringify(message)),
        [said("m3").body, said("m4").body].map((body) => JSON.stringify(body)),
      )
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-03 what is new behind a head that stays is not in the way of what is said there", () =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* bring(["m1", "m2"])
      assert.deepInclude(yield* bring(["m1", "m2", "m3"], { head: "m2" }), { added: 1, remarks: [] })
      assert.deepEqual(yield* shown(), ["m1", "m2"])

      yield* messages.append("ses_a", { id: "mine", body: "mine" })

      assert.deepEqual(yield* shown(), ["m1", "m2", "mine"])
      assert.deepEqual(
        (yield* messages.siblings("ses_a", "mine")).messages.map(({ id }) => id),
        ["m3", "mine"],
      )
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-03 what was said here stays where the session stands; what is new is a branch beside it", () =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* bring(["m1", "m2"])
      yield* messages.append("ses_a", { id: "mine", body: { role: "user", content: "mine" } })

      assert.deepInclude(yield* bring(["m1", "m2", "m3"]), {
        outcome: "updated",
        added: 1,
        remarks: [kept("head")],
      })

      assert.deepEqual(yield* shown(), ["m1", "m2", "mine"])
      assert.deepEqual(
        (yield* messages.siblings("ses_a", "m3")).messages.map(({ id }) => id),
        ["mine", "m3"],
      )
      assert.deepInclude(yield* bring(["m1", "m2", "m3", "m4"]), {
        added: 1,
        remarks: [kept("head")],
      })
      assert.deepEqual(
        (yield* messages.path("ses_a", "m4")).map(({ id }) => id),
        ["m1", "m2", "m3", "m4"],
      )
      assert.lengthOf(yield* messages.branches("ses_a"), 2)
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-03 a head that was moved here stays, and can still be appended to", () =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* bring(["m1", "m2"])
      yield* Heads.use((heads) => heads.checkout("ses_a", "m1"))

      yield* bring(["m1", "m2", "m3"])
      yield* messages.append("ses_a", { id: "mine", body: "mine" })

      assert.deepEqual(yield* shown(), ["m1", "mine"])
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-03 a title and flags follow the source until they are changed here", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      yield* bring(["m1"])
      yield* bring(["m1"], { title: "Renamed there", archived: true, updatedAt: 50 })
      assert.deepInclude(yield* session(), { title: "Renamed there", archived: true, updatedAt: 50 })
      assert.lengthOf((yield* sessions.list({ archived: true })).sessions, 1)

      yield* sessions.update("ses_a", { title: "Mine", archived: false })
      const brought = yield* bring(["m1"], { title: "Renamed again", archived: true })

      assert.deepEqual(brought.remarks, [kept("title")])
      assert.deepInclude(yield* session(), { title: "Mine", archived: false })
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-03 the last message, unfinished when it was imported, comes in its later version beside it", () =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* bring(["m1", said("m2", "half")])
      const later = ["m1", said("m2", "half and half")]

      assert.deepInclude(yield* bring(later, { updatedAt: 21 }), { outcome: "updated", added: 1, remarks: [] })
      const now = yield* shown()
      assert.strictEqual(now.length, 2)
      assert.match(now[1]!, /^m2-/)
      assert.lengthOf((yield* messages.siblings("ses_a", now[1]!)).messages, 2)

      assert.deepInclude(yield* bring([...later, "m3"]), { added: 1, remarks: [] })
      assert.deepEqual(yield* shown(), [...now, "m3"])
      const undone = yield* Heads.use((heads) => heads.undo("ses_a"))
      assert.strictEqual(undone?.to, "m2")
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-04 a message that changed further up stays as it was imported, and is named", () =>
    Effect.gen(function* () {
      yield* bring(["m1", "m2", "m3"])

      const brought = yield* bring(["m1", said("m2", "other"), "m3", "m4"])

      assert.deepEqual(
        brought.remarks.map(({ kind, position }) => [kind, position]),
        [["repaired", "message m2"]],
      )
      assert.deepEqual(yield* shown(), ["m1", "m2", "m3", "m4"])
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-05 where the source took messages back and went on, so does the session, and nothing is lost", () =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* bring(["m1", "m2", "m3"])

      assert.deepInclude(yield* bring(["m1", "m4", "m5"]), { outcome: "updated", added: 2 })

      assert.deepEqual(yield* shown(), ["m1", "m4", "m5"])
      assert.deepEqual(
        (yield* messages.siblings("ses_a", "m4")).messages.map(({ id }) => id),
        ["m2", "m4"],
      )
      const moves = yield* Heads.use((heads) => heads.moves("ses_a"))
      assert.deepEqual(
        moves.map(({ from, reason, to }) => [from, reason, to]),
        [["m3", "import", "m5"]],
      )
    }).pipe(Effect.provide(services())),
  )

  it.effect("IMP-03 a branch that was deleted here does not come back", () =>
    Effect.gen(function* () {
      const heads = yield* Heads
      const messages = yield* Messages
      yield* bring(["m1", "m2"])
      yield* heads.checkout("ses_a", null)
      yield* messages.append("ses_a", { id: "mine", body: "mine" })
      yield* heads.deleteBranch("ses_a", 1)

      assert.deepInclude(yield* bring(["m1", "m2"], { updatedAt: 21 }), { outcome: "unchanged", added: 0, deleted: 2 })
      assert.deepInclude(yield* bring(["m1", "m2", "m3"]), { added: 1, deleted: 2 })

      assert.deepEqual(yield* shown(), ["mine"])
      assert.deepEqual(
        (yield* messages.path("ses_a", "m3")).map(({ id }) => id),
        ["m3"],
      )
    }).pipe(Effect.provide(services())),
  )
})
