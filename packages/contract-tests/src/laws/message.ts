/**
 * Laws of messages and the tree.
 */
import { userMessageId } from "@skein/core/message"
import { Messages } from "@skein/core/message"
import { Sessions } from "@skein/core/session"
import { Heads } from "@skein/core/head"
import { BranchTable, EntryTable, Ids, SessionTable } from "@skein/core"
import { Storage, Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { atTime } from "../clock.ts"
import { check, equal, show } from "../equal.ts"
import { law, lawWith } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf, outcomesOf } from "../outcome.ts"
import { openServices, withServices } from "../services.ts"
import { begin, checkout, pathOf, replayed, said, say, sayAll, session } from "./conversation.ts"

const page = (sessionId: string, query?: Parameters<Messages["Service"]["page"]>[1]) =>
  Messages.use((messages) => messages.page(sessionId, query))

export const messageLaws: ReadonlyArray<Law> = [
  law("MSG-01 MSG-02 an append is one commit of entry, head, counts, preview and revision", (store) =>
    Effect.gen(function* () {
      const before = yield* begin("s")
      const message = yield* say("s", "u1")
      const after = yield* session("s")
      equal(message.id, "u1")
      equal(after.head, "u1")
      equal(after.counts, { entries: 1, messages: 1, prompts: 1, turns: 0 })
      equal(after.preview, "u1")
      check(after.revision > before.revision, "the revision must grow")
      check(after.headVersion > before.headVersion, "the head's version must grow")
    }).pipe(withServices(store)),
  ),

  law("MSG-01 appendMany is all or nothing, and an empty batch does nothing", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* say("s", "u1")
      const before = yield* session("s")
      equal(yield* messages.appendMany("s", []), [])
      equal(yield* session("s"), before)
      equal(yield* outcomeOf(messages.appendMany("s", [said("a2"), { ...said("u1"), body: "other" }])), {
        failed: "IdConflict",
      })
      equal(yield* pathOf("s"), ["u1"])
      equal(
        (yield* messages.appendMany("s", [said("a2"), said("u3")])).map(({ id }) => id),
        ["a2", "u3"],
      )
      equal(yield* pathOf("s"), ["u1", "a2", "u3"])
    }).pipe(withServices(store)),
  ),

  law("MSG-01 display alone is never replayed, model alone is never shown, a body is both", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* messages.append("s", { id: "both", role: "user", body: { role: "user", content: "both" } })
      yield* messages.append("s", { id: "shown", role: "assistant", display: { role: "assistant", content: "shown" } })
      yield* messages.append("s", { id: "given", role: "user", model: { role: "user", content: "given" } })
      equal(yield* pathOf("s"), ["both", "shown"])
      equal(yield* replayed("s"), [
        { role: "user", content: "both" },
        { role: "user", content: "given" },
      ])
    }).pipe(withServices(store)),
  ),

  law("MSG-01 a property that is undefined counts as absent, as SDKs spell out what they leave open", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      const open = { role: "user", content: "hello", options: undefined, parts: [{ text: "a", provider: undefined }] }
      const { display } = yield* messages.append("s", { id: "m", body: open, metadata: { a: undefined, b: null } })
      equal(display, { role: "user", content: "hello", parts: [{ text: "a" }] })
      const stored = yield* messages.get("s", "m")
      equal([stored.display, stored.metadata], [display, { b: null }])
      // The same again is the same, spelled out or not.
      equal((yield* messages.append("s", { id: "m", body: display, metadata: { b: null } })).id, "m")
    }).pipe(withServices(store)),
  ),

  law("MSG-01 what is not a message is refused by name, and nothing is written", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      const cyclic: Record<string, unknown> = {}
      cyclic["self"] = cyclic
      const refused: ReadonlyArray<readonly [string, object]> = [
        ["message.body", {}],
        ["message.body.when", { body: { when: new Date(0) } }],
        ["message.body.n", { body: { n: Number.NaN } }],
        ["message.body.list[1]", { body: { list: [1, undefined] } }],
        ["message.display", { display: null, role: "user" }],
        ["message.id", { body: "hello", id: "../../x" }],
        ["message.id", { body: "hello", id: "" }],
        ["message.role", { body: { nothing: "known" } }],
        ["message.role", { body: "hello", role: "robot" }],
        ["message.metadata.f", { body: "hello", metadata: { f: () => 1 } }],
        ["message.colour", { body: "hello", colour: "red" }],
      ]
      for (const [field, message] of refused) {
        const error = yield* Effect.flip(messages.append("s", message as never))
        equal({ tag: error._tag, field: "field" in error ? error.field : undefined }, { tag: "InvalidInput", field })
      }
      equal(yield* outcomeOf(messages.append("s", { body: cyclic, role: "user" })), { failed: "InvalidInput" })
      equal(yield* outcomeOf(messages.append("nobody", said("u1"))), { failed: "SessionNotFound" })
      equal((yield* session("s")).counts.entries, 0)
    }).pipe(withServices(store)),
  ),

  law("MSG-01 metadata, bodies and their format come back exactly", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      const body = JSON.parse('{"role":"user","content":"x","__proto__":{"polluted":true},"n":[1.5,-7,1e21,null,true]}')
      const metadata = { "a b": { constructor: "kept" }, "\u2028": "\u2029" }
      yield* messages.append("s", { id: "u1", body, metadata, format: { dialect: "my-own", version: 7 }, role: "user" })
      const message = yield* messages.get("s", "u1")
      equal(JSON.stringify(message.display), JSON.stringify(body))
      equal(message.metadata, metadata)
      equal(message.format, { dialect: "my-own", version: 7 })
      check(!("polluted" in {}), "a body must pollute nothing")
    }).pipe(withServices(store)),
  ),

  law("A01 half a surrogate pair in a tool output is stored exactly and replayed well-formed", (store) =>
    Effect.gen(function* () {
      const text = "ab\ud83dcd"
      yield* Effect.gen(function* () {
        const messages = yield* Messages
        yield* begin("s")
        yield* messages.append("s", { id: "a1", role: "assistant", body: toolCall("c1", { ["k\udc00"]: text }) })
        yield* messages.append("s", { id: "r1", role: "tool", body: toolResult("c1", text) })
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        const messages = yield* Messages
        equal((yield* messages.get("s", "r1")).display, toolResult("c1", text))
        check(isWellFormed(yield* replayed("s")), "what is replayed must be well-formed")
        yield* say("s", "u2")
        equal(yield* pathOf("s"), ["a1", "r1", "u2"])
      }).pipe(withServices(store))
    }),
  ),

  law("A02 NUL in a text, in a call's arguments and in metadata is never cut, also after reopening", (store) =>
    Effect.gen(function* () {
      const call = toolCall("c1", { "k\0ey": ["a\0b"], plain: "\0" })
      const read = Effect.gen(function* () {
        const messages = yield* Messages
        const [said, called, answered] = yield* messages.getMany("s", ["u1", "a1", "r1"])
        equal(said!.display, { role: "user", content: "a\0b" })
        equal(said!.metadata, { "m\0": "\0\0" })
        equal(called!.display, call)
        equal(answered!.display, toolResult("c1", "x\0"))
        equal((yield* replayed("s")).slice(0, 2), [{ role: "user", content: "a\0b" }, call])
      })
      yield* Effect.gen(function* () {
        const messages = yield* Messages
        const sessions = yield* Sessions
        yield* begin("s")
        yield* messages.append("s", { id: "u1", body: { role: "user", content: "a\0b" }, metadata: { "m\0": "\0\0" } })
        yield* messages.append("s", { id: "a1", body: call })
        yield* messages.append("s", { id: "r1", body: toolResult("c1", "x\0") })
        equal(yield* outcomeOf(sessions.update("s", { title: "t\0u" })), { failed: "InvalidInput" })
        yield* read
      }).pipe(withServices(store))
      yield* read.pipe(withServices(store))
    }),
  ),

  law(
    "A07 messages of one millisecond keep their order, also after reopening, in 10 conversations (SKEIN_RUNS=2000: in 100)",
    (store) =>
      Effect.gen(function* () {
        const one = ["u1", "a1", "r1", "a2", "u2", "a3"]
        const batch = Array.from({ length: 50 }, (_, i) => `a-${i}`)
        const conversations = Array.from({ length: Math.ceil(store.runs / 20) }, (_, i) => `s${i}`)
        const bodies: Readonly<Record<string, unknown>> = { a1: toolCall("c1", {}), r1: toolResult("c1", "done") }
        const message = (id: string) => ({ ...said(id), body: bodies[id] ?? said(id).body })
        const look = Effect.forEach(conversations, (id) =>
          Effect.map(pathOf(id), (path) => equal(path, [...one, ...batch], `the path of ${id}`)),
        )
        yield* Effect.gen(function* () {
          const messages = yield* Messages
          for (const id of conversations) {
            yield* begin(id)
            for (const each of one) yield* messages.append(id, message(each))
            yield* messages.appendMany(id, batch.map(message))
            const { messages: found } = yield* page(id, { limit: 500 })
            equal([...new Set(found.map(({ createdAt }) => createdAt))], [1_700_000_000_000])
          }
          yield* look
        }).pipe(atTime(1_700_000_000_000), withServices(store))
        yield* look.pipe(withServices(store))
      }),
  ),

  law("A08 with ids and clocks ten minutes apart, either way, the last is what was said last, and answered", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      const now = 1_700_000_000_000
      for (const skew of [600_000, -600_000]) {
        const id = skew > 0 ? "ahead" : "behind"
        const [asked, answer] = [`u${now + skew}`, `a${now - skew}`]
        yield* begin(id)
        yield* atTime(now + skew)(say(id, asked))
        yield* atTime(now - skew)(say(id, answer, { expectedHead: asked }))
        equal(yield* pathOf(id), [asked, answer])
        equal((yield* session(id)).head, answer)
        equal(
          (yield* page(id, { limit: 1 })).messages.map((last) => last.id),
          [answer],
        )
        const [prompt] = yield* messages.prompts(id, { limit: 1 })
        equal(yield* messages.isAncestor(id, { ancestor: prompt!.id, message: answer }), true)
      }
    }).pipe(withServices(store)),
  ),

  law("A09 a clock that goes back, or a late stamp inside a message, moves no message and no time backwards", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      const sessions = yield* Sessions
      yield* atTime(50)(begin("s"))
      const times: Array<readonly [number, number]> = []
      const late = { role: "user", content: [{ type: "text", text: "u2", at: 30_090 }] }
      for (const [at, message] of [
        [100, said("u1")],
        [90, { ...said("u2"), body: late, createdAt: 30_090 }],
        [200, said("u3")],
      ] as const) {
        yield* atTime(at)(messages.append("s", message))
        const { activityAt, updatedAt } = yield* session("s")
        times.push([updatedAt, activityAt])
      }
      equal(yield* pathOf("s"), ["u1", "u2", "u3"])
      equal(yield* messages.latestUserText("s"), "u3")
      equal(times, [
        [100, 100],
        [100, 100],
        [200, 200],
      ])
      yield* atTime(150)(sessions.create({ id: "other" }))
      equal(
        (yield* sessions.list()).sessions.map(({ id }) => id),
        ["s", "other"],
      )
    }).pipe(withServices(store)),
  ),

  law("A10 nothing is ordered by ids, whatever they count down from and however the clock jumps", (store) =>
    Effect.gen(function* () {
      const said: Array<string> = []
      let next = 0
      // Ids that sort against the order they were made in, as they do where a field of them overflows.
      const mint = (prefix: string) => Effect.sync(() => `${prefix}${String(999_999 - next++).padStart(6, "0")}`)
      yield* Effect.gen(function* () {
        const messages = yield* Messages
        yield* begin("s")
        for (const createdAt of [1_786_706_395_135, 1_786_706_395_137, 2 ** 41 + 1, 1_786_702_795_136]) {
          const { id } = yield* messages.append("s", { body: { role: "user", content: `${createdAt}` }, createdAt })
          said.push(id)
        }
        equal(yield* pathOf("s"), said)
        equal((yield* session("s")).head, said.at(-1))
        equal(
          (yield* messages.prompts("s")).map(({ id }) => id),
          said.toReversed(),
        )
      }).pipe(withServices(store), Effect.provideService(Ids, { mint }))
      equal(yield* pathOf("s").pipe(withServices(store)), said)
    }),
  ),

  law("A40 branches that are their own ancestors end every question at once, with Corrupt", (store) =>
    Effect.gen(function* () {
      const storage = yield* Storage
      const messages = yield* Messages
      const heads = yield* Heads
      /** u1 a1, and u1 a1b u2b, on branches 1 and 2; then branch 1 is said to have left this one. */
      const entangle = (id: string, parent: number) =>
        Effect.gen(function* () {
          yield* begin(id)
          yield* sayAll(id, ["u1", "a1"])
          yield* checkout(id, "u1")
          yield* sayAll(id, ["a1b", "u2b"])
          const { treeId } = yield* session(id)
          yield* storage.transact(
            Tx.make(function* (tx) {
              yield* tx.get(BranchTable, [treeId, 1])
              const step = { branch: parent, upTo: 1, displays: 0, prompts: 0 }
              tx.update(BranchTable, [treeId, 1], (row) => ({ ...row, parent, forkAt: 1, trail: [step] }))
            }),
          )
          yield* checkout(id, "a1")
        })
      for (const [id, parent] of [
        ["each-other", 2],
        ["itself", 1],
      ] as const) {
        yield* entangle(id, parent)
        for (const asked of [
          page(id),
          messages.path(id, "a1"),
          replayed(id),
          messages.isAncestor(id, { ancestor: "u2b", message: "a1" }),
        ]) {
          equal(yield* outcomeOf(asked as Effect.Effect<unknown, unknown>), { failed: "Corrupt" }, id)
        }
        // What does not need the broken way still works.
        equal((yield* messages.get(id, "a1")).id, "a1")
        equal((yield* messages.branches(id)).length, 2)
        yield* say(id, "a-more")
        equal((yield* session(id)).head, "a-more")
        for (const asked of [heads.deepest(id, "u1"), heads.deleteBranch(id, 2), heads.undo(id)]) {
          const outcome = yield* outcomeOf(asked as Effect.Effect<unknown, unknown>)
          check(!("defect" in outcome), `${id}: ${show(outcome)}`)
        }
      }
      equal((yield* Sessions.use((sessions) => sessions.list())).sessions.length, 2)
    }).pipe(withServices(store)),
  ),

  law("A32 of two handles with one expected head one wins, and the other is told where the head is", (store) =>
    Effect.gen(function* () {
      const [one, other] = [yield* openServices(store), yield* openServices(store)]
      yield* Effect.gen(function* () {
        yield* begin("s")
        yield* sayAll("s", ["u1", "a2"])
      }).pipe(Effect.provide(one))
      const outcomes = yield* outcomesOf([
        say("s", "u-x", { expectedHead: "a2" }).pipe(Effect.provide(one)),
        say("s", "u-y", { expectedHead: "a2" }).pipe(Effect.provide(other)),
      ])
      const won = outcomes[0] !== undefined && "done" in outcomes[0] ? "u-x" : "u-y"
      const lost = won === "u-x" ? "u-y" : "u-x"
      equal(outcomes.map((outcome) => ("failed" in outcome ? outcome.failed : "done")).toSorted(), [
        "HeadMoved",
        "done",
      ])
      yield* Effect.gen(function* () {
        equal(yield* pathOf("s"), ["u1", "a2", won])
        const error = yield* Effect.flip(say("s", lost, { expectedHead: "a2" }))
        const { headVersion } = yield* session("s")
        equal(
          { ...error },
          { _tag: "HeadMoved", sessionId: "s", expected: "a2", actual: won, actualVersion: headVersion },
        )
        yield* say("s", lost, { expectedHead: won })
        equal(yield* pathOf("s"), ["u1", "a2", won, lost])
      }).pipe(Effect.provide(other))
    }).pipe(Effect.scoped),
  ),

  law("A32 two handles that race with 100 appends each, and retry, end in one chain of 200", (store) =>
    Effect.gen(function* () {
      const [one, other] = [yield* openServices(store), yield* openServices(store)]
      yield* begin("s").pipe(Effect.provide(one))
      const ids = (name: string) => Array.from({ length: 100 }, (_, i) => `u-${name}${i}`)
      const writer = (name: string) =>
        Effect.forEach(ids(name), (id) => {
          const attempt: Effect.Effect<unknown, unknown, Messages | Sessions> = Effect.flatMap(
            session("s"),
            ({ head }) => Effect.catchTag(say("s", id, { expectedHead: head }), "HeadMoved", () => attempt),
          )
          return attempt
        })
      yield* Effect.all([Effect.provide(writer("a"), one), Effect.provide(writer("b"), other)], {
        concurrency: "unbounded",
      })
      yield* Effect.gen(function* () {
        const messages = yield* Messages
        const path = yield* pathOf("s")
        equal(path.toSorted(), [...ids("a"), ...ids("b")].toSorted())
        // Each writer waited for its own.
        for (const name of ["a", "b"]) {
          equal(
            path.filter((id) => id.startsWith(`u-${name}`)),
            ids(name),
          )
        }
        equal((yield* messages.branches("s")).length, 1)
      }).pipe(withServices(store))
    }).pipe(Effect.scoped),
  ),

  law("A33 fifty parallel appends are fifty messages on one chain, each once", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      const ids = Array.from({ length: 50 }, (_, i) => `u${i}`)
      yield* Effect.all(
        ids.map((id) => say("s", id)),
        { concurrency: "unbounded" },
      )
      equal((yield* pathOf("s")).toSorted(), ids.toSorted())
      equal((yield* session("s")).counts, { entries: 50, messages: 50, prompts: 50, turns: 0 })
      equal((yield* messages.branches("s")).length, 1)
    }).pipe(withServices(store)),
  ),

  law("A39 MSG-01 the same id with the same content is stored once, with another content it is IdConflict", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* begin("other")
      yield* sayAll("s", ["u1", "a2"])
      const before = yield* session("s")
      equal((yield* say("s", "u1")).id, "u1")
      equal((yield* say("s", "a2", { at: "u1" })).id, "a2")
      equal(yield* outcomeOf(messages.append("s", { ...said("u1"), body: { role: "user", content: "else" } })), {
        failed: "IdConflict",
      })
      equal(yield* outcomeOf(say("s", "u1", { at: "a2" })), { failed: "IdConflict" })
      equal(yield* session("s"), before)
      equal((yield* say("other", "u1")).id, "u1")
      equal(yield* pathOf("s"), ["u1", "a2"])
    }).pipe(withServices(store)),
  ),

  law("MSG-03 a submission that is repeated, also at the same time, stores one message", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      const submission = { sessionId: "s", messageKey: "k1", body: { role: "user", content: "hello" } }
      const answers = yield* Effect.all(
        Array.from({ length: 5 }, () => messages.commitUserMessage(submission)),
        { concurrency: "unbounded" },
      )
      const id = userMessageId("s", "k1")
      equal(
        answers.map(({ message, onPath }) => [message.id, onPath]),
        Array.from({ length: 5 }, () => [id, true]),
      )
      equal(yield* pathOf("s"), [id])
      equal(id, "msg-user-v1-OFTQUtMEi_oQykfbBu25ZHNM_Yc0s87e_u5cmPxE5ac")
      equal(yield* outcomeOf(messages.commitUserMessage({ ...submission, body: { role: "user", content: "x" } })), {
        failed: "IdConflict",
      })
    }).pipe(withServices(store)),
  ),

  law("MSG-03 a submission that was rewound is returned as such, and nothing moves", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* say("s", "u1")
      const submission = { sessionId: "s", messageKey: "k", body: { role: "user", content: "hello" } }
      yield* messages.commitUserMessage(submission)
      yield* checkout("s", "u1")
      const before = yield* session("s")
      const { message, onPath } = yield* messages.commitUserMessage(submission)
      equal([message.id, onPath], [userMessageId("s", "k"), false])
      equal(yield* session("s"), before)
    }).pipe(withServices(store)),
  ),

  law("A41 a message behind one that does not exist, or that another session has, is MessageNotFound", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* begin("other")
      yield* sayAll("s", ["u1", "a2"])
      yield* say("other", "u-theirs")
      const before = yield* session("s")
      equal(yield* outcomeOf(say("s", "u3", { at: "tmp_1_" })), { failed: "MessageNotFound" })
      equal(yield* outcomeOf(say("s", "u3", { at: "u-theirs" })), { failed: "MessageNotFound" })
      equal(yield* session("s"), before)
    }).pipe(withServices(store)),
  ),

  law("MSG-01 moveHead: false does not say where to write, and so needs at", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* say("s", "u1")
      const error = yield* Effect.flip(say("s", "a2", { moveHead: false }))
      equal(
        { tag: error._tag, field: "field" in error ? error.field : undefined },
        { tag: "InvalidInput", field: "options.moveHead" },
      )
      equal(yield* pathOf("s"), ["u1"])
    }).pipe(withServices(store)),
  ),

  law(
    "A42 a head that leads nowhere is stood in for by the last leaf, said so, and healed by the next append",
    (store) =>
      Effect.gen(function* () {
        const storage = yield* Storage
        yield* begin("s")
        yield* sayAll("s", ["u1", "a2"])
        yield* storage.transact(
          Tx.make(function* (tx) {
            yield* tx.get(SessionTable, ["s"])
            tx.update(SessionTable, ["s"], (row) => ({ ...row, head: { branch: 9, pos: 9, id: "ghost" } }))
          }),
        )
        const broken = yield* page("s")
        equal(
          broken.messages.map(({ id }) => id),
          ["u1", "a2"],
        )
        equal(broken.degraded, true)
        equal((yield* replayed("s")).length, 2)
        yield* say("s", "u3")
        const healed = yield* page("s")
        equal(
          healed.messages.map(({ id }) => id),
          ["u1", "a2", "u3"],
        )
        equal(healed.degraded, false)
      }).pipe(withServices(store)),
  ),

  law("A43 a late row on another branch moves no head, also after reopening", (store) =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        yield* begin("s")
        yield* sayAll("s", ["u1", "a1"])
        yield* checkout("s", null)
        yield* sayAll("s", ["u1b", "a1b"])
        yield* say("s", "r-late", { at: "a1", moveHead: false })
        equal(yield* pathOf("s"), ["u1b", "a1b"])
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        const messages = yield* Messages
        equal(yield* pathOf("s"), ["u1b", "a1b"])
        equal(
          (yield* messages.path("s", "r-late")).map(({ id }) => id),
          ["u1", "a1", "r-late"],
        )
        yield* say("s", "u2b")
        equal(yield* pathOf("s"), ["u1b", "a1b", "u2b"])
      }).pipe(withServices(store))
    }),
  ),

  law("A44 MSG-06 both branches of an edit stay readable, and siblings come in the order they were made", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1", "u2", "a2"])
      yield* checkout("s", "a1")
      yield* sayAll("s", ["u2b", "a2b"])
      const found = yield* messages.siblings("s", "u2b")
      equal([found.messages.map(({ id }) => id), found.index], [["u2", "u2b"], 1])
      yield* checkout("s", "a2")
      equal(yield* pathOf("s"), ["u1", "a1", "u2", "a2"])
      yield* checkout("s", "a2b")
      equal(yield* pathOf("s"), ["u1", "a1", "u2b", "a2b"])
      equal(
        (yield* messages.branches("s")).map(({ current, tip }) => [tip, current]),
        [
          ["a2", false],
          ["a2b", true],
        ],
      )
    }).pipe(withServices(store)),
  ),

  law("MSG-06 siblings at the root, ancestors and the common ancestor", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1", "u2"])
      yield* checkout("s", null)
      yield* say("s", "u1b")
      yield* checkout("s", "a1")
      yield* say("s", "u2b")
      const found = yield* messages.siblings("s", "u1")
      equal([found.messages.map(({ id }) => id), found.index], [["u1", "u1b"], 0])
      equal(yield* messages.isAncestor("s", { ancestor: "u1", message: "u2b" }), true)
      equal(yield* messages.isAncestor("s", { ancestor: "u2", message: "u2b" }), false)
      equal(yield* messages.isAncestor("s", { ancestor: "u2b", message: "u2b" }), false)
      equal((yield* messages.commonAncestor("s", { one: "u2", other: "u2b" }))?.id, "a1")
      equal(yield* messages.commonAncestor("s", { one: "u2", other: "u1b" }), undefined)
    }).pipe(withServices(store)),
  ),

  law("MSG-05 pages count what people see, go both ways, and meet without a gap or a repeat", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      const seen: Array<string> = []
      for (let i = 1; i <= 40; i++) {
        yield* messages.append("s", { id: `hidden${i}`, role: "assistant", model: `m${i}` })
        if (i % 3 === 0) yield* checkout("s", `u${i - 1}`)
        yield* say("s", `u${i}`)
        if (i % 3 === 0) seen.length = seen.indexOf(`u${i - 1}`) + 1
        seen.push(`u${i}`)
      }
      const back: Array<string> = []
      let before: string | undefined
      do {
        const one: { messages: ReadonlyArray<{ id: string }>; before?: string } = yield* page("s", {
          limit: 7,
          ...(before === undefined ? {} : { before }),
        })
        back.unshift(...one.messages.map(({ id }) => id))
        before = one.before
      } while (before !== undefined)
      equal(back, seen)
      equal(
        (yield* Stream.runCollect(messages.stream("s"))).map(({ id }) => id),
        seen,
      )
      equal(yield* messages.count("s"), seen.length)
      const around = yield* page("s", { around: seen[10]!, limit: 5 })
      equal(
        around.messages.map(({ id }) => id),
        seen.slice(8, 13),
      )
      const after = yield* page("s", { after: seen[10]!, limit: 3 })
      equal(
        after.messages.map(({ id }) => id),
        seen.slice(11, 14),
      )
    }).pipe(withServices(store)),
  ),

  law("MSG-05 an anchor that is not on the path is an error, never another page", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* begin("t")
      yield* sayAll("s", ["u1", "a1", "u2", "a2", "u3"])
      yield* sayAll("t", ["u1", "a1", "u2", "a2", "u3"])
      const { before } = yield* page("s", { limit: 2 })
      equal(yield* outcomeOf(page("t", { before: before! })), { failed: "InvalidCursor" })
      equal(yield* outcomeOf(page("s", { before: "nobody" })), { failed: "MessageNotFound" })
      equal(yield* outcomeOf(page("s", { after: "not a cursor!" })), { failed: "InvalidCursor" })
      equal(yield* outcomeOf(page("s", { limit: 501 })), { failed: "InvalidInput" })
      equal(yield* outcomeOf(page("s", { limit: 0 })), { failed: "InvalidInput" })
      equal(yield* outcomeOf(page("s", { before: "u2", after: "u1" })), { failed: "InvalidInput" })
      yield* checkout("s", "a1")
      equal(yield* outcomeOf(page("s", { before: before! })), { failed: "InvalidCursor" })
      equal(yield* outcomeOf(page("s", { before: "u3" })), { failed: "MessageNotFound" })
    }).pipe(withServices(store)),
  ),

  law("MSG-07 prompts are the user's own on the path, newest first, hidden ones left out", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1", "u2", "a2"])
      yield* messages.append("s", { id: "u-hidden", role: "user", model: "not for the eye" })
      yield* say("s", "u3")
      yield* checkout("s", "a2")
      yield* say("s", "u3b")
      const list = (query?: { before?: string; limit?: number }) =>
        Effect.map(messages.prompts("s", query), (found) => found.map(({ text }) => text))
      equal(yield* list(), ["u3b", "u2", "u1"])
      equal(yield* list({ before: "u2" }), ["u1"])
      equal(yield* list({ limit: 1 }), ["u3b"])
      equal(yield* messages.latestUserText("s"), "u3b")
      equal((yield* session("s")).preview, "u3b")
      yield* checkout("s", null)
      equal(yield* messages.latestUserText("s"), undefined)
      equal((yield* session("s")).preview, "")
    }).pipe(withServices(store)),
  ),

  law("MSG-09 a path over many branches is read in strides, and ends", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ["u0", "a0"])
      const path = ["u0"]
      for (let i = 1; i <= 150; i++) {
        yield* checkout("s", path.at(-1)!)
        yield* say("s", `u${i}`)
        yield* say("s", `a${i}`)
        path.push(`u${i}`)
      }
      path.push("a150")
      equal(yield* pathOf("s"), path)
      const messages = yield* Messages
      equal(yield* messages.isAncestor("s", { ancestor: "u0", message: "a150" }), true)
      equal((yield* messages.commonAncestor("s", { one: "a3", other: "a150" }))?.id, "u3")
      equal((yield* replayed("s")).length, 152)
      equal((yield* session("s")).counts.messages, 152)
    }).pipe(withServices(store)),
  ),

  lawWith(
    { needs: ["damage"] },
    "A22 STO-09 a message that cannot be read is marked in its place, hides nothing, and stays stored",
    (store) =>
      Effect.gen(function* () {
        const { treeId } = yield* Effect.gen(function* () {
          yield* sayAll((yield* begin("s")).id, ["u1", "a2", "u3"])
          return yield* session("s")
        }).pipe(withServices(store))
        yield* store.damage("entry", [treeId, 1, 2])
        yield* Effect.gen(function* () {
          const messages = yield* Messages
          const { messages: found } = yield* page("s")
          equal(
            found.map(({ id, unreadable }) => (unreadable === undefined ? id : "?")),
            ["u1", "?", "u3"],
          )
          equal(yield* outcomeOf(messages.get("s", "a2")), { failed: "Corrupt" })
          equal((yield* replayed("s")).length, 2)
          yield* say("s", "a4")
          equal((yield* page("s")).messages.length, 4)
        }).pipe(withServices(store))
        // Nothing that was done took it away.
        yield* Effect.gen(function* () {
          const rows = yield* Storage.use((storage) =>
            storage.read(
              Tx.make(function* (tx) {
                return yield* tx.range(EntryTable, "key", { prefix: [treeId, 1], unreadable: "keep" })
              }),
            ),
          )
          equal(
            rows.map((row) => (Tx.isUnreadable(row) ? row.key : row.id)),
            ["u1", [treeId, 1, 2], "u3", "a4"],
          )
        }).pipe(withServices(store))
      }),
  ),

  law("SES-16 another owner's session is not found, whatever is asked of it", (store) =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        yield* begin("s")
        yield* say("s", "u1")
      }).pipe(withServices(store, { owner: "ann" }))
      yield* Effect.gen(function* () {
        const messages = yield* Messages
        for (const asked of [
          page("s"),
          say("s", "u2"),
          messages.get("s", "u1"),
          messages.count("s"),
          checkout("s", null),
          replayed("s"),
        ]) {
          equal(yield* outcomeOf(asked as Effect.Effect<unknown, unknown>), { failed: "SessionNotFound" })
        }
      }).pipe(withServices(store, { owner: "bob" }))
    }),
  ),
]

const toolCall = (id: string, input: unknown) => ({
  role: "assistant",
  content: [{ type: "tool-call", id, name: "run", input }],
})
const toolResult = (callId: string, output: unknown) => ({
  role: "tool",
  content: [{ type: "tool-result", callId, name: "run", output }],
})

const lone = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

const isWellFormed = (value: unknown): boolean => {
  if (typeof value === "string") return !lone.test(value)
  if (typeof value !== "object" || value === null) return true
  return Object.entries(value).every(([key, item]) => !lone.test(key) && isWellFormed(item))
}
