/**
 * Laws of sessions: what is created, how it changes, how it is found again.
 */
import { SessionTable } from "@skein/core"
import { Projects } from "@skein/core/project"
import { Sessions } from "@skein/core/session"
import type { NewSession, Session } from "@skein/core/session"
import { Storage, Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { atTime } from "../clock.ts"
import { check, equal } from "../equal.ts"
import { law, lawWith } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf, outcomesOf, tagOf } from "../outcome.ts"
import { withServices } from "../services.ts"
import { say } from "./conversation.ts"
import { sessionListLaws } from "./session-list.ts"

/** The tag of an error, and the field it names. */
const refusal = (error: unknown) => ({ tag: tagOf(error), field: (error as { readonly field?: string }).field })

/** Everything that is said of a session. */
const fields = new Set(
  (
    "id treeId title titleOrigin agent owner projectId workspaceDir runLocation parentId forkedFrom type kind status " +
    "error visibility pinned archived group unread source channel model purpose preview metadata origin readiness " +
    "createdAt updatedAt activityAt head headVersion historyVersion revision counts usage queue projectName"
  ).split(" "),
)

const full: NewSession = {
  id: "s",
  title: "Mend the gate",
  agent: "builder",
  owner: "ada",
  workspace: "/w",
  runLocation: { kind: "worktree", branch: "b", parentRepository: "/r" },
  kind: "channel",
  pinned: true,
  group: "home",
  source: "cli",
  channel: { type: "irc", account: "a", peerId: "p", peerName: "Päul" },
  model: { provider: "x", model: "y", variant: "v", thinking: "high", contextWindow: 1000, maxOutputTokens: 10 },
  purpose: "repairs",
  metadata: { any: [1, null, { "a b": "\u2028" }], constructor: "kept" },
}

/** Writes rows past the services, as damage or another program would. */
const patchRow = (id: string, patch: object) =>
  Storage.use((storage) =>
    storage.transact(
      Tx.make(function* (tx) {
        yield* tx.get(SessionTable, [id])
        tx.update(SessionTable, [id], (row) => ({ ...row, ...patch }))
      }),
    ),
  )

const creation: ReadonlyArray<Law> = [
  law("SES-01 a session comes back as it was given, and tells no bookkeeping", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const created = yield* sessions.create(full)
      const { workspace, ...given } = full
      equal(created, {
        ...created,
        ...given,
        titleOrigin: "manual",
        projectId: "workspace:/w%0000ada",
        workspaceDir: workspace!,
        type: "branch",
        status: "idle",
        visibility: "visible",
        archived: false,
        unread: false,
        preview: "",
        origin: "native",
        readiness: "ready",
        createdAt: 7,
        updatedAt: 7,
        activityAt: 7,
        head: null,
        counts: { entries: 0, messages: 0, prompts: 0, turns: 0 },
      })
      equal(yield* sessions.get("s"), created)
      const listed = (yield* sessions.list({ kind: "channel" })).sessions
      equal(listed, [{ ...created, projectName: "w" }])
      const unknown = Object.keys(listed[0]!).filter((name) => !fields.has(name))
      equal(unknown, [], "what is not for callers")
    }).pipe(atTime(7), withServices(store)),
  ),

  law("SES-01 what a caller is given is a copy", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      yield* sessions.create(full)
      const [one, other] = yield* Effect.all([sessions.pin("s"), sessions.setGroup("s", "x")], {
        concurrency: "unbounded",
      })
      const spoil = one as { model?: { model: string }; metadata?: { any: Array<unknown> } }
      spoil.model!.model = "spoilt"
      spoil.metadata!.any.push("spoilt")
      equal(other.model, full.model)
      equal((yield* sessions.get("s")).metadata, full.metadata)
    }).pipe(withServices(store)),
  ),

  law("SES-02 A06 an id is refused, or comes back exactly and is nobody else's", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      for (const id of ["../../x", "a/b", "a\\b", "a:b", "", "😀", "a b", "a.b", "~", "x".repeat(2_000), "a\0b", 7]) {
        const error = yield* Effect.flip(sessions.create({ id: id as string }))
        equal(refusal(error), { tag: "InvalidInput", field: "input.id" }, `the refusal of ${JSON.stringify(id)}`)
        equal(refusal(yield* Effect.flip(sessions.get(id as string))).tag, "InvalidInput")
      }
      const accepted = ["con", "ID", "id", "Id", "-", "_", "x".repeat(128), "__proto__", "constructor"]
      for (const id of accepted) equal((yield* sessions.create({ id, title: `of ${id}` })).id, id)
      for (const id of accepted) equal((yield* sessions.get(id)).title, `of ${id}`)
      yield* sessions.archive("id")
      equal(
        (yield* sessions.list({ limit: 200 })).sessions.map(({ id }) => id).toSorted(),
        accepted.filter((id) => id !== "id").toSorted(),
      )
    }).pipe(withServices(store)),
  ),

  law("SES-02 minted ids are of the right form, with the prefix of the store, and all different", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const minted = yield* Effect.forEach(Array.from({ length: 20 }), () => sessions.create())
      for (const { id } of minted) check(/^mine-[0-9a-f]{32}$/.test(id), `a minted id is ${id}`)
      equal(new Set(minted.map(({ id }) => id)).size, 20)
    }).pipe(withServices(store, { idPrefix: "mine-" })),
  ),

  law("SES-03 the same input under one id is one session, other input is refused", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const created = yield* atTime(1)(sessions.create(full))
      equal(
        yield* atTime(2)(sessions.create({ ...full, workspace: "/w/", unread: undefined } as never)).pipe(outcomeOf),
        {
          failed: "InvalidInput",
        },
      )
      equal(yield* atTime(2)(sessions.create({ ...full, workspace: "/w/", visibility: "visible" })), created)
      yield* sessions.update("s", { title: "Another", model: null, metadata: null, archived: true })
      const changed = yield* sessions.get("s")
      equal(yield* sessions.create(full), changed)
      const others: ReadonlyArray<NewSession> = [
        { id: "s" },
        { ...full, title: "Another" },
        { ...full, workspace: "/w2" },
        { ...full, owner: "bob" },
        { ...full, metadata: { any: [1, null, { "a b": "\u2029" }], constructor: "kept" } },
        { ...full, defaultWorkspace: true },
        { ...full, first: { role: "user", body: "hello" } },
      ]
      for (const input of others) equal(yield* outcomeOf(sessions.create(input)), { failed: "IdConflict" })
      equal(yield* sessions.get("s"), changed)
    }).pipe(withServices(store)),
  ),

  law("SES-03 creating one session many times at once makes one", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const inputs = Array.from({ length: 12 }, (_, i): NewSession => ({
        id: "s",
        title: i % 2 === 0 ? "even" : "odd",
      }))
      const outcomes = yield* outcomesOf(inputs.map((input) => sessions.create(input)))
      equal(
        outcomes.map((outcome) => ("done" in outcome ? outcome.done.title : "failed" in outcome ? outcome.failed : "")),
        inputs.map(({ title }) => (title === "even" ? "even" : "IdConflict")),
      )
      equal((yield* sessions.list()).sessions.length, 1)
    }).pipe(withServices(store)),
  ),

  law("SES-03 the first message is in the commit of the session", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const input: NewSession = {
        id: "s",
        first: { id: "u1", role: "user", body: { role: "user", content: "Hello  you" } },
      }
      const created = yield* sessions.create(input)
      equal(created.head, "u1")
      equal(created.preview, "Hello you")
      equal(created.counts, { entries: 1, messages: 1, prompts: 1, turns: 0 })
      yield* say("s", "a2")
      const later = yield* sessions.get("s")
      equal([later.head, later.counts.entries], ["a2", 2])
      equal(yield* sessions.create(input), later)
      equal(yield* outcomeOf(sessions.create({ id: "t", first: { body: { says: "nobody" } } })), {
        failed: "InvalidInput",
      })
      equal(yield* outcomeOf(sessions.get("t")), { failed: "SessionNotFound" })
    }).pipe(withServices(store)),
  ),

  law("SES-03 what is refused leaves neither a session nor its project behind", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const cyclic: Record<string, unknown> = {}
      cyclic["self"] = cyclic
      const refused: ReadonlyArray<readonly [string, unknown]> = [
        ["input.title", { title: "" }],
        ["input.title", { title: "x".repeat(501) }],
        ["input.title", { title: "t\0u" }],
        ["input.title", { title: "half \ud83d" }],
        ["input.title", { title: 7 }],
        ["input.kind", { kind: "other" }],
        ["input.workspace", { workspace: "" }],
        ["input.agent", { agent: "" }],
        ["input.metadata.when", { metadata: { when: new Date(0) } }],
        ["input.metadata.n", { metadata: { n: Number.NaN } }],
        ["input.channel.colour", { channel: { type: "irc", colour: "red" } }],
        ["input.model.model", { model: { provider: "x" } }],
        ["input.runLocation.kind", { runLocation: { kind: "moon" } }],
        ["input.parentId", { parentId: "../x" }],
        ["input.first.colour", { first: { body: "x", role: "user", colour: 1 } }],
        ["input.status", { status: "running" }],
        ["input", null],
        ["input", "s"],
      ]
      for (const [field, input] of refused) {
        const given = typeof input === "object" && input !== null ? { id: "s", workspace: "/w", ...input } : input
        equal(refusal(yield* Effect.flip(sessions.create(given as never))), { tag: "InvalidInput", field })
      }
      equal(yield* outcomeOf(sessions.create({ id: "s", workspace: "/w", metadata: cyclic })), {
        failed: "InvalidInput",
      })
      equal(yield* outcomeOf(sessions.create({ id: "s", workspace: "/w", parentId: "nobody" })), {
        failed: "SessionNotFound",
      })
      equal(yield* outcomeOf(sessions.get("s")), { failed: "SessionNotFound" })
      equal((yield* Projects.use((projects) => projects.list({ hidden: "any" }))).projects, [])
    }).pipe(withServices(store)),
  ),

  law("SES-14 each agent has one main session, made once, called Main for ever", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const made = yield* Effect.all(
        ["a", "a", "b", "a"].map((agent) => sessions.ensureRoot(agent)),
        { concurrency: "unbounded" },
      )
      equal(
        made.map(({ id }) => id === made[0]!.id),
        [true, true, false, true],
      )
      const { agent, id, title, titleOrigin, type } = made[0]!
      equal([agent, title, titleOrigin, type], ["a", "Main", "manual", "root"])
      equal((yield* sessions.ensureRoot("a")).id, id)
      check((yield* sessions.ensureRoot("a", { owner: "ada" })).id !== id, "each owner has their own")
      equal(refusal(yield* Effect.flip(sessions.rename(id, "Other"))), { tag: "InvalidInput", field: "patch.title" })
      equal(refusal(yield* Effect.flip(sessions.update(id, { agent: "b" }))), {
        tag: "InvalidInput",
        field: "patch.agent",
      })
      equal((yield* sessions.autoTitle(id, "Other")).title, "Main")
      yield* sessions.archive(id)
      equal((yield* sessions.ensureRoot("a")).id, id)
      equal(refusal(yield* Effect.flip(sessions.ensureRoot(""))), { tag: "InvalidInput", field: "agent" })
    }).pipe(withServices(store)),
  ),
]

const change: ReadonlyArray<Law> = [
  law("SES-04 a patch changes what it names: absent stays, null clears", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const created = yield* atTime(1)(sessions.create(full))
      const patch = { group: null, source: "web", pinned: false, unread: true, metadata: null, purpose: undefined }
      const changed = yield* atTime(2)(sessions.update("s", patch as never))
      const { group: _, metadata: _metadata, ...rest } = created
      equal(changed, {
        ...rest,
        source: "web",
        pinned: false,
        unread: true,
        revision: created.revision + 1,
        updatedAt: 2,
      })
      equal(yield* sessions.get("s"), changed)
      equal(yield* atTime(3)(sessions.update("s", {})), changed)
      equal(yield* atTime(3)(sessions.update("s", { source: "web", unread: true })), changed)
    }).pipe(withServices(store)),
  ),

  law("SES-04 what never changes, or is not known, is refused by name", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const created = yield* sessions.create(full)
      const refused =
        "id treeId owner kind type origin createdAt parentId forkedFrom projectId workspaceDir status head preview " +
        "titleOrigin error updatedAt activityAt revision headVersion facts shelf colour"
      for (const name of refused.split(" ")) {
        const error = yield* Effect.flip(sessions.update("s", { group: "x", [name]: "x" } as never))
        equal(refusal(error), { tag: "InvalidInput", field: `patch.${name}` })
      }
      const values: ReadonlyArray<readonly [string, object]> = [
        ["patch.title", { title: "  " }],
        ["patch.pinned", { pinned: null }],
        ["patch.visibility", { visibility: "gone" }],
        ["patch.metadata.f", { metadata: { f: () => 1 } }],
        ["patch.model.model", { model: { provider: "x" } }],
      ]
      for (const [field, patch] of values) {
        equal(refusal(yield* Effect.flip(sessions.update("s", patch))), { tag: "InvalidInput", field })
      }
      equal(refusal(yield* Effect.flip(sessions.update("s", null as never))), { tag: "InvalidInput", field: "patch" })
      equal(yield* outcomeOf(sessions.update("nobody", { group: "x" })), { failed: "SessionNotFound" })
      equal(yield* sessions.get("s"), created)
    }).pipe(withServices(store)),
  ),

  law("SES-04 a change that expects something else is OperationConflict, and nothing changes", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const { revision } = yield* sessions.create({ id: "s", title: "one" })
      const model = { provider: "p", model: "m", variant: "v" }
      const expecting = (expected: object) => sessions.update("s", { group: "g" }, { expected })
      const conflict = (error: unknown) => {
        const { _tag, actual, expected, field, id } = error as Record<string, unknown>
        return { _tag, id, field, expected, actual }
      }
      const of = { _tag: "OperationConflict", id: "s" }
      equal(conflict(yield* Effect.flip(expecting({ revision: revision + 1 }))), {
        ...of,
        field: "revision",
        expected: revision + 1,
        actual: revision,
      })
      equal(conflict(yield* Effect.flip(expecting({ title: null }))), {
        ...of,
        field: "title",
        expected: null,
        actual: "one",
      })
      equal(conflict(yield* Effect.flip(expecting({ revision, model }))), {
        ...of,
        field: "model",
        expected: model,
        actual: undefined,
      })
      equal((yield* sessions.get("s")).revision, revision)
      yield* sessions.update("s", { model }, { expected: { revision, title: "one", model: null } })
      equal((yield* expecting({ model: { variant: "v", model: "m", provider: "p" } })).group, "g")
      const racing = [1, 2, 3].map((n) =>
        sessions.update("s", { group: `g${n}` }, { expected: { revision: revision + 2 } }),
      )
      const outcomes = yield* outcomesOf(racing)
      equal(outcomes.filter((outcome) => "done" in outcome).length, 1, "how many of three writers win")
    }).pipe(withServices(store)),
  ),

  law("SES-04 a title given by hand is locked against automatic ones, until it is cleared", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      yield* sessions.create({ id: "s" })
      const titled = (session: Session) => [session.title, session.titleOrigin]
      equal(titled(yield* sessions.autoTitle("s", " First\n words ")), ["First words", "automatic"])
      equal(titled(yield* sessions.autoTitle("s", "Second")), ["Second", "automatic"])
      const byHand = yield* sessions.rename("s", "Second")
      equal(titled(byHand), ["Second", "manual"])
      equal(yield* sessions.autoTitle("s", "Third"), byHand)
      equal(titled(yield* sessions.rename("s", null)), [undefined, "none"])
      equal(titled(yield* sessions.autoTitle("s", `${"a".repeat(79)}😀x`)), ["a".repeat(79), "automatic"])
      equal(refusal(yield* Effect.flip(sessions.autoTitle("s", " \n"))), { tag: "InvalidInput", field: "text" })
      equal(refusal(yield* Effect.flip(sessions.rename("s", ""))), { tag: "InvalidInput", field: "title" })
    }).pipe(withServices(store)),
  ),

  law("SES-11 A19 flags and titles move updatedAt and never activityAt; reading moves nothing", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      yield* atTime(100)(sessions.create({ id: "s", workspace: "/w" }))
      yield* atTime(101)(sessions.create({ id: "t" }))
      const before = yield* sessions.get("s")
      yield* Effect.all([
        sessions.get("s"),
        sessions.list(),
        sessions.latest(),
        sessions.tree(),
        sessions.children("s"),
        sessions.resolve("s"),
        sessions.open("s", { callerWorkspace: "/elsewhere" }),
      ]).pipe(atTime(9_000))
      equal(yield* sessions.get("s").pipe(withServices(store)), before)
      const changes: ReadonlyArray<readonly [Partial<Session>, Effect.Effect<Session, unknown>]> = [
        [{ title: "T", titleOrigin: "manual" }, sessions.rename("s", "T")],
        [{ pinned: true }, sessions.pin("s")],
        [{ group: "g" }, sessions.setGroup("s", "g")],
        [{ unread: true }, sessions.update("s", { unread: true })],
        [{ unread: false }, sessions.markRead("s")],
        [{ archived: true }, sessions.archive("s")],
        [{ archived: false }, sessions.unarchive("s")],
        [{ pinned: false }, sessions.pin("s", false)],
        [{}, sessions.touch("s")],
      ]
      let expected = before
      for (const [i, [changed, call]] of changes.entries()) {
        const at = 9_001 + i
        expected = { ...expected, ...changed, updatedAt: at, revision: expected.revision + 1 }
        equal(yield* atTime(at)(call), expected)
      }
      equal(
        (yield* sessions.list()).sessions.map(({ id }) => id),
        ["t", "s"],
      )
      yield* atTime(9_500)(say("s", "u1"))
      equal((yield* sessions.get("s")).activityAt, 9_500)
      equal(
        (yield* sessions.list()).sessions.map(({ id }) => id),
        ["s", "t"],
      )
    }).pipe(withServices(store)),
  ),

  law("A09 updatedAt and activityAt never go back, whatever the clock does", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      yield* atTime(100)(sessions.create({ id: "s" }))
      for (const [at, id] of [
        [100, "u1"],
        [90, "a2"],
        [200, "u3"],
      ] as const)
        yield* atTime(at)(say("s", id))
      equal((yield* sessions.get("s")).updatedAt, 200)
      yield* atTime(150)(sessions.pin("s"))
      const { activityAt, updatedAt } = yield* sessions.get("s")
      equal([activityAt, updatedAt], [200, 200])
    }).pipe(withServices(store)),
  ),

  law("SES-10 A03 the preview is the last thing the user said, on one line, of at most 80 whole characters", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const text = `${"a".repeat(79)}😀x`
      yield* sessions.create({ id: "s", first: { role: "user", body: { role: "user", content: text } } })
      equal((yield* sessions.list()).sessions[0]?.preview, "a".repeat(79))
      yield* sessions.create({
        id: "t",
        first: { role: "user", body: { role: "user", content: " one\n\t two\u00a0 \u3000three " } },
      })
      equal((yield* sessions.get("t")).preview, "one two three")
      yield* say("t", "a2")
      equal((yield* sessions.get("t")).preview, "one two three")
      yield* say("t", "u3")
      equal((yield* sessions.get("t")).preview, "u3")
      yield* sessions.create({
        id: "v",
        first: { role: "user", body: { role: "user", content: "ab\ud83d\0cd\udc00" } },
      })
      equal((yield* sessions.get("v")).preview, "ab cd")
    }).pipe(withServices(store)),
  ),
]

const finding: ReadonlyArray<Law> = [
  law("SES-07 resolve finds by id or by the only prefix, names candidates, and creates nothing", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      for (const id of ["ab", "abc", "abd", "b-1", "B-1"]) yield* sessions.create({ id })
      for (let i = 0; i < 15; i++) yield* sessions.create({ id: `many${String(i).padStart(2, "0")}` })
      const ids = (text: string) => Effect.map(sessions.resolve(text), ({ id }) => id)
      equal(yield* ids("ab"), "ab")
      equal(yield* ids("abd"), "abd")
      equal(yield* ids("b"), "b-1")
      equal(yield* ids("B-"), "B-1")
      const candidates = (text: string) =>
        Effect.map(Effect.flip(sessions.resolve(text)), (error) => ({ ...error }) as Record<string, unknown>)
      equal(yield* candidates("a"), { _tag: "SessionNotFound", sessionId: "a", candidates: ["ab", "abc", "abd"] })
      equal(((yield* candidates("many"))["candidates"] as ReadonlyArray<string>).length, 10)
      equal(yield* candidates("abcd"), { _tag: "SessionNotFound", sessionId: "abcd" })
      equal(refusal(yield* Effect.flip(sessions.resolve("../a"))), { tag: "InvalidInput", field: "idOrPrefix" })
      equal((yield* sessions.list({ limit: 200 })).sessions.length, 20)
    }).pipe(withServices(store)),
  ),

  law("A18 an unknown id is SessionNotFound with the id, and no session is made", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      yield* sessions.create({ id: "s" })
      for (const call of [
        sessions.get("missing-1"),
        sessions.open("missing-1"),
        sessions.navigable("missing-1"),
        sessions.resolve("missing-1"),
        sessions.children("missing-1"),
        sessions.archive("missing-1"),
        sessions.touch("missing-1"),
        sessions.autoTitle("missing-1", "x"),
      ]) {
        const error = yield* Effect.flip(call as Effect.Effect<unknown, unknown>)
        equal({ ...(error as object) }, { _tag: "SessionNotFound", sessionId: "missing-1" })
      }
      equal(
        (yield* sessions.list()).sessions.map(({ id }) => id),
        ["s"],
      )
    }).pipe(withServices(store)),
  ),

  law("SES-08 an internal session leads to the public one above it, at most 32 steps up", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      yield* sessions.create({ id: "top" })
      for (let i = 1; i <= 33; i++) {
        const parentId = i === 1 ? "top" : `t${i - 1}`
        yield* sessions.create({ id: `t${i}`, parentId, kind: i % 2 === 0 ? "peek" : "task" })
      }
      const found = (id: string) =>
        Effect.map(sessions.navigable(id), ({ followed, session }) => [session.id, followed] as const)
      equal(yield* found("top"), ["top", false])
      equal(yield* found("t1"), ["top", true])
      equal(yield* found("t32"), ["top", true])
      const lost = (id: string) =>
        Effect.map(Effect.flip(sessions.navigable(id)), (error) => [
          tagOf(error),
          "sessionId" in error && error.sessionId,
        ])
      equal(yield* lost("t33"), ["SessionNotFound", "t1"])
      yield* sessions.create({ id: "orphan", kind: "task" })
      equal(yield* lost("orphan"), ["SessionNotFound", "orphan"])
      yield* patchRow("t5", { parentId: "gone" })
      equal(yield* lost("t8"), ["SessionNotFound", "gone"])
      yield* patchRow("t5", { parentId: "t9" })
      equal((yield* lost("t8"))[0], "SessionNotFound")
      equal((yield* sessions.get("t8")).parentId, "t7")
    }).pipe(withServices(store)),
  ),

  law("SES-04 SES-15 options that are none are refused by name, and nothing is written", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const before = yield* sessions.create({ id: "s", title: "one" })
      for (const given of [null, 5, "x", [], true]) {
        const options = given as never
        const calls = {
          create: sessions.create({ id: "t" }, options),
          ensureRoot: sessions.ensureRoot("a", options),
          open: sessions.open("s", options),
          update: sessions.update("s", { group: "g" }, options),
          rename: sessions.rename("s", "two", options),
          autoTitle: sessions.autoTitle("s", "two", options),
          archive: sessions.archive("s", options),
          unarchive: sessions.unarchive("s", options),
          pin: sessions.pin("s", true, options),
          setGroup: sessions.setGroup("s", "g", options),
          markRead: sessions.markRead("s", options),
          touch: sessions.touch("s", options),
        }
        for (const [name, call] of Object.entries(calls)) {
          const error = yield* Effect.flip(call as Effect.Effect<unknown, unknown>)
          equal(refusal(error), { tag: "InvalidInput", field: "options" }, `${name} with ${JSON.stringify(given)}`)
        }
      }
      const unknown = { speed: 1 } as never
      for (const call of [
        sessions.open("s", unknown),
        sessions.ensureRoot("a", unknown),
        sessions.pin("s", true, unknown),
      ]) {
        equal(refusal(yield* Effect.flip(call as Effect.Effect<unknown, unknown>)).field, "options.speed")
      }
      equal(yield* sessions.get("s"), before)
      equal((yield* sessions.list()).sessions.length, 1)
    }).pipe(withServices(store)),
  ),

  law("SES-15 A17 open keeps the session's workspace, reports another one, and takes it out of the archive", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      yield* atTime(1)(sessions.create({ id: "s", workspace: "/b" }))
      yield* sessions.create({ id: "task", kind: "task", parentId: "s" })
      yield* sessions.create({ id: "nowhere" })
      yield* atTime(2)(sessions.archive("s"))
      equal((yield* sessions.get("s")).archived, true)
      const opened = yield* atTime(3)(sessions.open("task", { callerWorkspace: "/a" }))
      equal([opened.session.id, opened.followed, opened.callerWorkspaceDiffers], ["s", true, true])
      const { activityAt, archived, updatedAt, workspaceDir } = yield* sessions.get("s")
      equal(
        { activityAt, archived, updatedAt, workspaceDir },
        { activityAt: 1, archived: false, updatedAt: 3, workspaceDir: "/b" },
      )
      const differs = (id: string, callerWorkspace: string) =>
        Effect.map(sessions.open(id, { callerWorkspace }), (opened) => opened.callerWorkspaceDiffers)
      equal(yield* differs("s", "/b/"), false)
      equal(yield* differs("nowhere", "/b"), false)
      equal((yield* sessions.open("s")).callerWorkspaceDiffers, false)
      equal(refusal(yield* Effect.flip(sessions.open("s", { callerWorkspace: "" }))), {
        tag: "InvalidInput",
        field: "options.callerWorkspace",
      })
    }).pipe(withServices(store)),
  ),

  law("SES-16 a store that is opened for one owner sees that owner's sessions and no others", (store) =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        const sessions = yield* Sessions
        yield* atTime(1)(sessions.create({ id: "ada-1", owner: "ada", workspace: "/w" }))
        yield* atTime(2)(sessions.create({ id: "ada-2", owner: "ada", kind: "task", parentId: "ada-1" }))
        yield* atTime(3)(sessions.create({ id: "bob-1", owner: "bob", workspace: "/w" }))
        yield* atTime(4)(sessions.create({ id: "bob-2", owner: "bob", parentId: "ada-1" }))
        yield* atTime(5)(sessions.create({ id: "ada-and-nobody" }))
        const ids = (query: object) => Effect.map(sessions.list(query), (page) => page.sessions.map(({ id }) => id))
        equal(yield* ids({ owner: "bob" }), ["bob-2", "bob-1"])
        equal((yield* sessions.latest({ owner: "ada" }))?.id, "ada-1")
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        const sessions = yield* Sessions
        const projects = yield* Projects
        equal((yield* sessions.create({ id: "ada-3", owner: "ada" })).owner, "ada")
        equal(refusal(yield* Effect.flip(sessions.create({ id: "ada-4", owner: "bob" }))), {
          tag: "InvalidInput",
          field: "input.owner",
        })
        equal(yield* outcomeOf(sessions.create({ id: "bob-1" })), { failed: "IdConflict" })
        for (const call of [
          sessions.get("bob-1"),
          sessions.open("bob-1"),
          sessions.resolve("bob-1"),
          sessions.resolve("bob"),
          sessions.children("bob-1"),
          sessions.update("bob-1", { group: "x" }),
          sessions.touch("bob-1"),
          sessions.create({ id: "ada-5", parentId: "bob-1" }),
        ]) {
          equal(yield* outcomeOf(call as Effect.Effect<unknown, unknown>), { failed: "SessionNotFound" })
        }
        equal((yield* sessions.resolve("ada-1")).id, "ada-1")
        equal({ ...(yield* Effect.flip(sessions.resolve("bob"))) }, { _tag: "SessionNotFound", sessionId: "bob" })
        const listed = (query?: object) =>
          Effect.map(sessions.list(query), (page) => page.sessions.map(({ id }) => id).toSorted())
        equal(yield* listed(), ["ada-1", "ada-3"])
        equal(yield* listed({ workspace: "/w" }), ["ada-1"])
        equal(refusal(yield* Effect.flip(sessions.list({ owner: "bob" }))), {
          tag: "InvalidInput",
          field: "query.owner",
        })
        equal((yield* sessions.latest({ workspace: "/w" }))?.id, "ada-1")
        const children = (query?: { readonly cursor?: string; readonly limit?: number }) =>
          Effect.map(sessions.children("ada-1", query), ({ next, nodes }) => ({
            ids: nodes.map(({ session }) => session.id),
            next,
          }))
        equal((yield* children()).ids, ["ada-2"])
        const first = yield* children({ limit: 1 })
        equal([first.ids, (yield* children({ limit: 1, cursor: first.next! })).ids], [[], ["ada-2"]])
        equal((yield* projects.get((yield* sessions.get("ada-1")).projectId)).activityAt, 1)
        equal((yield* sessions.ensureRoot("a")).owner, "ada")
        const mine = (yield* sessions.ensureRoot("a")).id
        equal(yield* outcomeOf(sessions.ensureRoot("a", { owner: "bob" })), { failed: "InvalidInput" })
        equal((yield* sessions.get(mine)).type, "root")
      }).pipe(withServices(store, { owner: "ada" }))
    }),
  ),

  lawWith(
    { needs: ["damage"] },
    "STO-09 A18 A22 a session that cannot be read is Corrupt by itself, degraded in lists, and hides nobody",
    (store) =>
      Effect.gen(function* () {
        yield* Effect.gen(function* () {
          const sessions = yield* Sessions
          for (const [at, id] of ["s1", "s2", "s3", "s4", "s5"].entries()) {
            yield* atTime(10 - at)(sessions.create({ id, workspace: "/w" }))
          }
          for (const n of [1, 2, 3, 4]) {
            yield* atTime(n)(sessions.create({ id: `child${n}`, parentId: "s2", kind: "task" }))
          }
        }).pipe(withServices(store))
        for (const id of ["s1", "s3", "s5", "child2", "child3", "child4"]) yield* store.damage("session", [id])
        yield* Effect.gen(function* () {
          const sessions = yield* Sessions
          const picture = (page: { sessions: ReadonlyArray<Session>; degraded: ReadonlyArray<{ id: string }> }) => [
            page.sessions.map(({ id }) => id),
            page.degraded.map(({ id }) => id),
          ]
          const all = [
            ["s2", "s4"],
            ["s1", "s3", "s5"],
          ]
          equal(picture(yield* sessions.list()), all)
          equal(picture(yield* sessions.list({ workspace: "/w", pinned: false })), all)
          const first = yield* sessions.list({ limit: 1 })
          const second = yield* sessions.list({ limit: 1, cursor: first.next! })
          equal([picture(first), picture(second), second.next], [[["s2"], ["s1"]], [["s4"], ["s3", "s5"]], undefined])
          equal((yield* sessions.latest())?.id, "s2")
          equal(yield* outcomeOf(sessions.get("s3")), { failed: "Corrupt" })
          equal(yield* outcomeOf(sessions.open("s3")), { failed: "Corrupt" })
          equal(yield* outcomeOf(sessions.resolve("s3")), { failed: "Corrupt" })
          equal(yield* outcomeOf(sessions.create({ id: "s3" })), { failed: "Corrupt" })
          equal(yield* outcomeOf(sessions.get("missing")), { failed: "SessionNotFound" })
          const tree = yield* sessions.tree()
          equal(
            [tree.nodes.map(({ session }) => session.id), tree.degraded.map(({ id }) => id)],
            [
              ["s2", "s4"],
              ["s1", "s3", "s5", "child4", "child3", "child2"],
            ],
          )
          const children = yield* sessions.children("s2", { limit: 1 })
          equal(
            [children.nodes.map(({ session }) => session.id), children.degraded.map(({ id }) => id)],
            [["child1"], ["child4", "child3", "child2"]],
          )
        }).pipe(withServices(store))
      }),
  ),
]

export const sessionLaws: ReadonlyArray<Law> = [...creation, ...change, ...finding, ...sessionListLaws]
