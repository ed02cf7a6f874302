/**
 * Laws of queues: what waits, in which order, who is sending it, and how it leaves.
 */
import { QueueItemTable } from "@skein/core"
import { Messages, userMessageId } from "@skein/core/message"
import { Queue } from "@skein/core/queue"
import type { ClaimOptions, EnqueueOptions, QueueMessage } from "@skein/core/queue"
import { Sessions } from "@skein/core/session"
import { Storage } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { atTime } from "../clock.ts"
import { check, equal } from "../equal.ts"
import { law, lawWith } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf, outcomesOf, tagOf } from "../outcome.ts"
import { openServices, withServices } from "../services.ts"
import { begin, pathOf, session } from "./conversation.ts"

const hello = (text: string): QueueMessage => ({ body: { role: "user", content: text } })

const enqueue = (sessionId: string, text: string, options?: EnqueueOptions) =>
  Queue.use((queue) => queue.enqueue(sessionId, hello(text), options))

/** Puts several into the queue, one after another. Answers their ids. */
const enqueueAll = (sessionId: string, texts: ReadonlyArray<string>) =>
  Effect.forEach(texts, (text) => Effect.map(enqueue(sessionId, text), ({ id }) => id))

const claim = (sessionId: string, options?: ClaimOptions) => Queue.use((queue) => queue.claim(sessionId, options))

/** A claim that has to give an item. */
const claimed = (sessionId: string, options?: ClaimOptions) =>
  Effect.map(claim(sessionId, options), (claim) => {
    if (claim.item === undefined) throw new Error(`nothing was claimed: ${claim.reason}`)
    return claim
  })

/** What the messages of a queue say, in order; what is claimed is marked. */
const waiting = (sessionId: string) =>
  Queue.use((queue) =>
    Effect.map(queue.list(sessionId), (items) =>
      items.map(({ message, state }) => `${state === "claimed" ? "*" : ""}${textIn(message?.display)}`),
    ),
  )

const textIn = (body: unknown): string => (body as { readonly content: string }).content

/** What listeners were told of queues while an effect ran: reasons, each with its item's name where there is one. */
const told = <A, E, R>(names: Readonly<Record<string, string>>, effect: Effect.Effect<A, E, R>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const storage = yield* Storage
      const facts: Array<string> = []
      yield* storage.observe((notices) => {
        for (const notice of notices) {
          if (notice._tag !== "QueueChanged") continue
          const { itemId, reason } = notice as unknown as { readonly itemId?: string; readonly reason: string }
          facts.push(itemId === undefined ? reason : `${reason} ${names[itemId] ?? "?"}`)
        }
      })
      yield* effect
      return facts
    }),
  )

/** What an error says of itself. */
const refusal = (effect: Effect.Effect<unknown, unknown, Queue>) =>
  Effect.map(Effect.flip(effect), (error) => {
    const { _tag: _, ...facts } = error as { readonly _tag: string }
    return { tag: tagOf(error), ...facts } as Readonly<Record<string, unknown>>
  })

const lease = 30_000

const enqueuing: ReadonlyArray<Law> = [
  law("QUE-01 an item has its place, and comes back as it was given", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const first = yield* enqueue("s", "one")
      equal([first.outcome, first.position], ["enqueued", 1])
      const model = { provider: "p", model: "m" }
      const options = {
        source: "cli",
        attachments: [{ path: "/a b" }, null],
        model,
        requestedTurnId: "turn_1",
        dedupeKey: "ключ",
        clientRequestId: "request 1",
        expiresAt: 2_000,
      }
      const message = { ...hello("two"), metadata: { any: ["\u2028"] }, sourceContext: { from: 1 } }
      const second = yield* Queue.use((queue) => queue.enqueue("s", message, options))
      equal([second.outcome, second.position], ["enqueued", 2])
      const front = yield* enqueue("s", "zero", { placement: "front" })
      equal([front.outcome, front.position], ["enqueued", 1])
      const items = yield* Queue.use((queue) => queue.list("s"))
      equal(
        items.map(({ id, position }) => [id, position]),
        [
          [front.id, 1],
          [first.id, 2],
          [second.id, 3],
        ],
      )
      const body = { role: "user", content: "two" }
      equal(items[2], {
        ...options,
        id: second.id,
        position: 3,
        state: "queued",
        enqueuedAt: 1_000,
        attempts: 0,
        message: {
          id: userMessageId("s", second.id),
          role: "user",
          display: body,
          model: body,
          createdAt: 1_000,
          format: { dialect: "generic", version: 1 },
          metadata: { any: ["\u2028"] },
          sourceContext: { from: 1 },
        },
      })
      equal((yield* session("s")).queue, { items: 3 })
      equal(yield* Queue.use((queue) => queue.count("s")), 3)
      equal(yield* pathOf("s"), [])
    }).pipe(atTime(1_000), withServices(store)),
  ),

  law("QUE-01 the same request gives the same item, also when it has left, for 30 days", (store) =>
    Effect.gen(function* () {
      const days = 24 * 60 * 60 * 1_000
      const ask = (text: string, id: string) => enqueue("s", text, { clientRequestId: id })
      yield* begin("s")
      const one = yield* atTime(0)(ask("one", "r1"))
      yield* atTime(1)(ask("two", "r2"))
      equal(yield* atTime(2)(ask("one", "r1")), { id: one.id, outcome: "known", position: 1 })
      equal(yield* outcomeOf(atTime(2)(ask("another", "r1"))), { failed: "IdConflict" })
      equal(yield* waiting("s"), ["one", "two"])
      yield* Queue.use((queue) => atTime(3)(queue.cancel("s", one.id)))
      equal(yield* atTime(4)(ask("one", "r1")), { id: one.id, outcome: "known", left: "cancelled" })
      equal(yield* atTime(4)(refusal(Queue.use((queue) => queue.cancel("s", one.id)))), {
        tag: "ItemNotFound",
        sessionId: "s",
        itemId: one.id,
        left: "cancelled",
      })
      equal((yield* atTime(30 * days - 1)(ask("one", "r1"))).id, one.id)
      const again = yield* atTime(30 * days)(ask("one", "r1"))
      equal([again.outcome, again.id === one.id], ["enqueued", false])
      // Another session's requests are its own.
      yield* begin("t")
      equal((yield* atTime(5)(enqueue("t", "one", { clientRequestId: "r2" }))).outcome, "enqueued")
    }).pipe(withServices(store)),
  ),

  law("QUE-01 a hundred equal requests at once make one item", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const asked = Array.from({ length: 100 }, () => enqueue("s", "once", { clientRequestId: "r" }))
      const answers = yield* Effect.all(asked, { concurrency: "unbounded" })
      equal(new Set(answers.map(({ id }) => id)).size, 1)
      equal(yield* waiting("s"), ["once"])
    }).pipe(withServices(store)),
  ),

  law("QUE-01 the same dedupe key replaces in place, and keeps the item", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* enqueue("s", "before")
      const first = yield* enqueue("s", "draft 1", { dedupeKey: "d", clientRequestId: "r1", source: "cli" })
      yield* enqueue("s", "after")
      const second = yield* enqueue("s", "draft 2", { dedupeKey: "d", clientRequestId: "r2", placement: "front" })
      equal(second, { id: first.id, outcome: "replaced", position: 2 })
      equal(yield* waiting("s"), ["before", "draft 2", "after"])
      equal((yield* Queue.use((queue) => queue.list("s")))[1]?.source, undefined)
      // Both requests are remembered as this item.
      equal((yield* enqueue("s", "draft 1", { dedupeKey: "d", clientRequestId: "r1" })).id, first.id)
      equal((yield* enqueue("s", "draft 2", { dedupeKey: "d", clientRequestId: "r2" })).id, first.id)
      equal(yield* waiting("s"), ["before", "draft 2", "after"])
      // What is being sent is not replaced any more.
      yield* claimed("s", { item: first.id })
      equal((yield* enqueue("s", "draft 3", { dedupeKey: "d" })).outcome, "enqueued")
      equal(yield* waiting("s"), ["before", "*draft 2", "after", "draft 3"])
      equal((yield* enqueue("s", "draft 4", { dedupeKey: "d" })).outcome, "replaced")
      equal(yield* waiting("s"), ["before", "*draft 2", "after", "draft 4"])
      // Replaced by no request in particular, an item is still the one that was asked for.
      const asked = yield* enqueue("s", "x", { dedupeKey: "x", clientRequestId: "r3" })
      yield* enqueue("s", "y", { dedupeKey: "x" })
      yield* Queue.use((queue) => queue.cancel("s", asked.id))
      equal((yield* enqueue("s", "x", { dedupeKey: "x", clientRequestId: "r3" })).left, "cancelled")
    }).pipe(withServices(store)),
  ),

  law("QUE-01 what cannot be said is refused, with its reason, and nothing is stored", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      const fieldOf = (message: unknown, options?: unknown) =>
        Effect.map(
          refusal(queue.enqueue("s", message as QueueMessage, options as EnqueueOptions)),
          ({ field, problem, tag }) => [tag, field, problem],
        )
      const empty = ["InvalidInput", "message", "is an empty message: give it text, or attachments"]
      for (const body of ["", " \n\t", { role: "user", content: "" }, { role: "user", content: [] }, {}, []]) {
        equal(yield* fieldOf({ body }), empty)
      }
      equal(yield* fieldOf({ display: "", model: " " }), empty)
      equal(yield* fieldOf({ body: "" }, { attachments: [] }), empty)
      const roleOf = (body: unknown) => Effect.map(fieldOf({ body }), (told) => told.slice(0, 2))
      equal(yield* roleOf({ role: "assistant", content: "hi" }), ["InvalidInput", "message.role"])
      equal((yield* fieldOf({ role: "assistant", body: "hi" }))[1], "message.role")
      equal((yield* fieldOf({ body: "hi", id: "a b" }))[1], "message.id")
      equal((yield* fieldOf({ body: "hi", turn: "t" }))[1], "message.turn")
      equal((yield* fieldOf({ body: "hi" }, { attachments: [1, undefined] }))[1], "options.attachments[1]")
      equal((yield* fieldOf({ body: "hi" }, { requestedTurnId: "a b" }))[1], "options.requestedTurnId")
      equal((yield* fieldOf({ body: "hi" }, { dedupeKey: "" }))[1], "options.dedupeKey")
      equal((yield* fieldOf({ body: "hi" }, { placement: "middle" }))[1], "options.placement")
      equal((yield* fieldOf({ body: "hi" }, { expiresAt: 1_000 }))[1], "options.expiresAt")
      equal((yield* fieldOf({ body: "hi" }, { expiresAt: 1.5 }))[1], "options.expiresAt")
      equal((yield* fieldOf({ body: "hi" }, { unknown: 1 }))[1], "options.unknown")
      equal(yield* outcomeOf(enqueue("nobody", "hi")), { failed: "SessionNotFound" })
      equal(yield* outcomeOf(enqueue("a b", "hi")), { failed: "InvalidInput" })
      equal(yield* queue.count("s"), 0)
      equal((yield* session("s")).queue, undefined)
      // These do say something.
      yield* queue.enqueue("s", { body: "" }, { attachments: [{ path: "/a" }] })
      const image = { type: "file", mime: "image/png", url: "https://example.org/a.png" }
      yield* queue.enqueue("s", { body: { role: "user", content: [image] } })
      yield* queue.enqueue("s", { body: { custom: 1 } })
      yield* queue.enqueue("s", { model: "for the model alone" })
      yield* enqueue("s", "late", { expiresAt: 1_001 })
      equal(yield* queue.count("s"), 5)
    }).pipe(atTime(1_000), withServices(store)),
  ),
]

const handling: ReadonlyArray<Law> = [
  law("QUE-02 items are changed, moved and taken out, and what cannot be done says why", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      const [a = "", b = "", c = "", d = ""] = yield* enqueueAll("s", ["a", "b", "c", "d"])
      yield* queue.reorder("s", [c, a, d, b])
      equal(yield* waiting("s"), ["c", "a", "d", "b"])
      yield* queue.promote("s", b)
      equal(yield* waiting("s"), ["b", "c", "a", "d"])
      const updated = yield* queue.update("s", a, { message: hello("A"), source: "cli" })
      equal([updated.id, updated.source, textIn(updated.message?.display)], [a, "cli", "A"])
      equal((yield* queue.update("s", a, { source: null })).source, undefined)
      equal(textIn((yield* queue.cancel("s", c)).message?.display), "c")
      equal(yield* waiting("s"), ["b", "A", "d"])
      equal(yield* queue.count("s"), 3)

      const problem = (order: ReadonlyArray<string>) =>
        Effect.map(refusal(queue.reorder("s", order)), ({ field, problem, tag }) => [tag, field, problem])
      equal(yield* problem([b, a]), ["InvalidInput", "order", `leaves out ${d}: name every item that waits`])
      equal(yield* problem([b, a, d, a]), ["InvalidInput", "order", `names ${a} twice`])
      equal(yield* problem([b, a, c]), ["InvalidInput", "order", `names ${c}, which does not wait in the queue`])
      equal(yield* outcomeOf(queue.reorder("s", ["a b"])), { failed: "InvalidInput" })
      for (const call of [queue.cancel("s", c), queue.promote("s", c), queue.update("s", c, {})]) {
        equal(yield* outcomeOf(call), { failed: "ItemNotFound" })
      }

      const { item } = yield* claimed("s")
      equal(item.id, b)
      for (const call of [queue.cancel("s", b), queue.promote("s", b), queue.update("s", b, { source: "x" })]) {
        equal(yield* refusal(call), {
          tag: "OperationConflict",
          id: b,
          field: "state",
          expected: "queued",
          actual: "claimed",
        })
      }
      equal((yield* problem([d, a, b]))[2], `names ${b}, which does not wait in the queue`)
      yield* queue.reorder("s", [d, a])
      equal(yield* waiting("s"), ["*b", "d", "A"])
      equal(yield* queue.clear("s"), 2)
      equal(yield* waiting("s"), ["*b"])
      equal(yield* queue.clear("s"), 0)
    }).pipe(withServices(store)),
  ),

  law("QUE-02 a change that would leave nothing to say, or is over already, is refused", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      const { id } = yield* queue.enqueue("s", { body: "" }, { attachments: [1] })
      const before = yield* session("s")
      equal(yield* outcomeOf(queue.update("s", id, { attachments: null })), { failed: "InvalidInput" })
      equal(yield* outcomeOf(queue.update("s", id, { expiresAt: 1_000 })), { failed: "InvalidInput" })
      equal(yield* outcomeOf(queue.update("s", id, { message: { body: "x", role: "tool" as "user" } })), {
        failed: "InvalidInput",
      })
      yield* queue.update("s", id, {})
      equal(yield* session("s"), before)
      yield* queue.update("s", id, { message: hello("text"), attachments: null })
      equal(yield* waiting("s"), ["text"])
    }).pipe(atTime(1_000), withServices(store)),
  ),

  law("QUE-02 a long queue is listed page by page, and put into another order", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      const texts = Array.from({ length: 600 }, (_, i) => `${i}`)
      const ids = yield* Effect.all(
        texts.map((text) => Effect.map(enqueue("s", text), ({ id }) => id)),
        { concurrency: "unbounded" },
      )
      const page = (after: string | undefined, limit: number) =>
        queue.list("s", { limit, ...(after !== undefined && { after }) })
      const first = yield* page(undefined, 500)
      const second = yield* page(first.at(-1)?.id, 500)
      equal([first.length, second.length], [500, 100])
      const listed = [...first, ...second]
      equal(
        listed.map(({ id, position }) => [id, position]),
        ids.map((id, i) => [id, i + 1]),
      )
      equal(yield* outcomeOf(page("nobody", 10)), { failed: "ItemNotFound" })
      equal(yield* outcomeOf(page(undefined, 501)), { failed: "InvalidInput" })
      yield* queue.update("s", ids[599]!, { source: "cli" })
      const last = yield* claimed("s", { sources: ["cli"] })
      equal(last.item.id, ids[599])
      yield* queue.release("s", last.token)
      yield* queue.reorder("s", ids.toReversed())
      equal(
        (yield* page(undefined, 2)).map(({ id }) => id),
        [ids.at(-1), ids.at(-2)],
      )
      equal(
        (yield* page(ids[1], 500)).map(({ id, position }) => [id, position]),
        [[ids[0], 600]],
      )
      equal(yield* queue.clear("s"), 600)
      equal(yield* queue.count("s"), 0)
    }).pipe(withServices(store)),
  ),

  law("QUE-02 queues know of no other session, and a store of one owner of no other owner", (store) =>
    Effect.gen(function* () {
      const id = yield* Effect.gen(function* () {
        yield* Sessions.use((sessions) => sessions.create({ id: "s", owner: "ada" }))
        yield* begin("t")
        return (yield* enqueue("s", "hers")).id
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        const queue = yield* Queue
        equal(yield* outcomeOf(queue.cancel("t", id)), { failed: "ItemNotFound" })
        equal(yield* claim("t"), { item: undefined, reason: "empty" })
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        const queue = yield* Queue
        const calls: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
          queue.list("s"),
          queue.count("s"),
          queue.cancel("s", id),
          queue.claim("s"),
          queue.pause("s"),
        ]
        for (const call of calls) equal(yield* outcomeOf(call), { failed: "SessionNotFound" })
      }).pipe(withServices(store, { owner: "bob" }))
    }),
  ),

  lawWith({ needs: ["damage"] }, "QUE-02 an item that cannot be read stands in its place and hides no other", (store) =>
    Effect.gen(function* () {
      const [a = "", b = ""] = yield* withServices(store)(Effect.andThen(begin("s"), enqueueAll("s", ["a", "b", "c"])))
      yield* store.damage(QueueItemTable.name, ["s", a])
      yield* Effect.gen(function* () {
        const queue = yield* Queue
        const [first, second] = yield* queue.list("s")
        equal([first?.id, typeof first?.unreadable, first?.message], [a, "string", undefined])
        equal([second?.id, second?.unreadable], [b, undefined])
        equal(yield* outcomeOf(queue.update("s", a, { source: "x" })), { failed: "Corrupt" })
        const { item, token } = yield* claimed("s")
        equal(item.id, b)
        yield* queue.complete("s", token)
        equal((yield* queue.cancel("s", a)).id, a)
        equal(yield* waiting("s"), ["c"])
        equal(yield* queue.count("s"), 1)
      }).pipe(withServices(store))
    }),
  ),
]

const claiming: ReadonlyArray<Law> = [
  law("QUE-03 a claim gives the first item, and nobody another while it lasts", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      equal(yield* claim("s"), { item: undefined, reason: "empty" })
      yield* enqueueAll("s", ["a", "b"])
      const { item, token, until } = yield* claimed("s")
      equal([textIn(item.message?.display), item.attempts, item.state, until], ["a", 1, "claimed", 1_000 + lease])
      equal(yield* claim("s"), { item: undefined, reason: "claimed", until: 1_000 + lease })
      equal(yield* outcomeOf(claim("s", { item: item.id })), {
        done: { item: undefined, reason: "claimed", until: 1_000 + lease },
      })
      check(token.length >= 32 && token !== item.id, "a token has something that nobody can guess")
      yield* Queue.use((queue) => queue.complete("s", token))
      equal(textIn((yield* claimed("s")).item.message?.display), "b")
    }).pipe(atTime(1_000), withServices(store)),
  ),

  law("QUE-03 what is named is given though the queue is paused or another item is claimed", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      const [, b = "", c = ""] = yield* enqueueAll("s", ["a", "b", "c"])
      yield* queue.pause("s")
      equal(yield* claim("s"), { item: undefined, reason: "paused", cause: "user-stop" })
      const named = yield* claimed("s", { item: b })
      const other = yield* claimed("s", { item: c })
      equal([named.item.id, other.item.id], [b, c])
      equal((yield* claim("s", { continuePaused: true })).item, undefined)
      yield* queue.release("s", named.token)
      yield* queue.complete("s", other.token)
      const continued = yield* claimed("s", { continuePaused: true })
      equal(textIn(continued.item.message?.display), "a")
      equal((yield* session("s")).queue?.pause?.cause, "user-stop")
      equal(yield* outcomeOf(claim("s", { item: "q_nobody" })), { failed: "ItemNotFound" })
    }).pipe(withServices(store)),
  ),

  law("QUE-03 an item whose source is not asked for does not block those behind it", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      for (let i = 0; i < 20; i++) yield* enqueue("s", `other ${i}`, { source: "other" })
      yield* enqueue("s", "none")
      yield* enqueue("s", "cli", { source: "cli" })
      yield* Queue.use((queue) => queue.enqueue("s", { ...hello("mail"), source: "mail" }))
      equal(yield* claim("s", { sources: ["web"] }), { item: undefined, reason: "empty" })
      const first = yield* claimed("s", { sources: ["cli", "mail"] })
      equal(textIn(first.item.message?.display), "cli")
      yield* Queue.use((queue) => queue.complete("s", first.token))
      equal(textIn((yield* claimed("s", { sources: ["cli", "mail"] })).item.message?.display), "mail")
    }).pipe(withServices(store)),
  ),

  law("QUE-03 renewed a claim lasts, released its item is where it was, rejected or completed it is gone", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      yield* enqueueAll("s", ["a", "b", "c"])
      const first = yield* atTime(0)(claimed("s"))
      const before = yield* session("s")
      equal(yield* atTime(29_999)(queue.renew("s", first.token)), 29_999 + lease)
      equal(yield* session("s"), before)
      equal((yield* atTime(29_998 + lease)(claim("s"))).item, undefined)
      yield* atTime(40_000)(queue.release("s", first.token))
      equal(yield* waiting("s"), ["a", "b", "c"])
      const second = yield* atTime(40_000)(claimed("s"))
      equal([second.item.id, second.item.attempts], [first.item.id, 2])
      yield* atTime(40_001)(queue.reject("s", second.token))
      const third = yield* atTime(40_002)(claimed("s"))
      yield* atTime(40_003)(queue.complete("s", third.token))
      equal(yield* waiting("s"), ["c"])
      yield* atTime(40_004)(queue.complete("s", third.token))
      yield* atTime(40_004 + 10 * lease)(queue.complete("s", third.token))
      equal(yield* waiting("s"), ["c"])
    }).pipe(withServices(store)),
  ),

  law("QUE-03 a foreign, spent or expired token is LeaseLost and changes nothing", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      yield* begin("t")
      yield* enqueueAll("s", ["a", "b"])
      const { item, token } = yield* atTime(0)(claimed("s"))
      const refused = (sessionId: string, token: string, time: number) =>
        Effect.gen(function* () {
          const before = yield* session("s")
          for (const verb of ["renew", "release", "reject", "complete"] as const) {
            equal(yield* outcomeOf(atTime(time)(queue[verb](sessionId, token))), { failed: "LeaseLost" }, verb)
          }
          equal(yield* session("s"), before)
        })
      yield* refused("s", `${item.id}.guessed`, 1)
      yield* refused("s", item.id, 1)
      yield* refused("s", "ünknown", 1)
      yield* refused("t", token, 1)
      yield* refused("s", token, lease)
      equal(yield* outcomeOf(queue.renew("s", "")), { failed: "InvalidInput" })
      // Somebody else has it now: the first sender stays out, and the second is not disturbed.
      const second = yield* atTime(lease)(claimed("s"))
      equal([second.item.id, second.token === token], [item.id, false])
      yield* refused("s", token, lease + 1)
      yield* atTime(lease + 1)(queue.complete("s", second.token))
      yield* refused("s", token, lease + 2)
      equal(yield* waiting("s"), ["b"])
    }).pipe(withServices(store)),
  ),
]

const pausing: ReadonlyArray<Law> = [
  law("QUE-05 pausing stops claims until resumed, and where nothing waits it does nothing and says so", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      const before = yield* session("s")
      equal(yield* queue.pause("s"), { isNew: false })
      equal(yield* session("s"), before)
      yield* enqueue("s", "a")
      const pause = { cause: "user-stop", turn: "turn_1", at: 1_000 } as const
      equal(yield* queue.pause("s", { turn: "turn_1" }), { isNew: true, pause })
      // The first pause stays.
      equal(yield* queue.pause("s", { cause: "turn-final-failure" }), { isNew: false, pause })
      equal((yield* session("s")).queue, { items: 1, pause })
      yield* enqueue("s", "b")
      equal(yield* claim("s"), { item: undefined, reason: "paused", cause: "user-stop" })
      equal(yield* refusal(queue.resume("s", { expected: "turn-final-failure" })), {
        tag: "OperationConflict",
        id: "s",
        field: "queue.pause.cause",
        expected: "turn-final-failure",
        actual: "user-stop",
      })
      equal(yield* queue.resume("s", { expected: "user-stop" }), true)
      equal(yield* queue.resume("s"), false)
      equal(yield* outcomeOf(queue.resume("s", { expected: "user-stop" })), { failed: "OperationConflict" })
      equal(textIn((yield* claimed("s")).item.message?.display), "a")
      equal(yield* outcomeOf(queue.pause("s", { cause: "tired" as "user-stop" })), { failed: "InvalidInput" })
    }).pipe(atTime(1_000), withServices(store)),
  ),

  law("QUE-05 a pause ends by itself when nothing waits any more", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      const [a = ""] = yield* enqueueAll("s", ["a"])
      yield* queue.pause("s")
      yield* queue.cancel("s", a)
      equal((yield* session("s")).queue, undefined)
      yield* enqueue("s", "b")
      equal((yield* session("s")).queue, { items: 1 })
      yield* queue.pause("s")
      const { token } = yield* claimed("s", { continuePaused: true })
      yield* queue.complete("s", token)
      equal((yield* session("s")).queue, undefined)
      // Also when the last one expires.
      yield* atTime(0)(enqueue("s", "c", { expiresAt: 10 }))
      yield* atTime(1)(queue.pause("s"))
      equal(yield* atTime(10)(claim("s", { sources: ["cli"] })), { item: undefined, reason: "empty" })
      equal((yield* session("s")).queue, undefined)
      yield* atTime(10)(enqueue("s", "d", { expiresAt: 20 }))
      yield* atTime(11)(queue.pause("s"))
      equal(yield* outcomeOf(atTime(20)(queue.resume("s", { expected: "user-stop" }))), { failed: "OperationConflict" })
      equal(yield* atTime(20)(queue.pause("s")), { isNew: false })
      yield* atTime(20)(enqueue("s", "e", { expiresAt: 30 }))
      yield* atTime(21)(queue.pause("s"))
      equal(yield* told({}, atTime(30)(enqueue("s", "f"))), ["expired ?", "enqueued ?", "resumed"])
      equal((yield* session("s")).queue, { items: 1 })
    }).pipe(withServices(store)),
  ),
]

const facts: ReadonlyArray<Law> = [
  law("QUE-06 expired items leave at the next operation, not a millisecond earlier", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      const { id } = yield* atTime(0)(enqueue("s", "short", { expiresAt: 100, clientRequestId: "r" }))
      yield* atTime(0)(enqueue("s", "long", { expiresAt: 1_000 }))
      const seen = (time: number) => atTime(time)(Effect.all([waiting("s"), queue.count("s")]))
      equal(yield* seen(99), [["short", "long"], 2])
      equal(yield* seen(100), [["long"], 1])
      // Looking changes nothing.
      equal((yield* session("s")).queue, { items: 2 })
      equal(yield* outcomeOf(atTime(100)(queue.cancel("s", id))), { failed: "ItemNotFound" })
      const names = { [id]: "short" }
      equal(yield* told(names, atTime(100)(claim("s", { sources: ["nowhere"] }))), ["expired short"])
      equal((yield* session("s")).queue, { items: 1 })
      equal((yield* atTime(101)(enqueue("s", "short", { clientRequestId: "r" }))).left, "expired")
      // What is claimed does not expire while it is being sent.
      const done = yield* atTime(200)(enqueue("s", "done", { placement: "front" }))
      const spent = yield* atTime(200)(claimed("s", { item: done.id }))
      yield* atTime(200)(queue.complete("s", spent.token))
      const other = yield* atTime(200)(enqueue("s", "other", { expiresAt: 300 }))
      equal(yield* told({ [other.id]: "other" }, atTime(300)(queue.complete("s", spent.token))), ["expired other"])
      const { token } = yield* atTime(999)(claimed("s"))
      equal(yield* seen(1_500), [["*long"], 1])
      yield* atTime(1_500)(queue.release("s", token))
      equal(yield* seen(1_500), [[], 0])
      equal(yield* atTime(1_500)(claim("s")), { item: undefined, reason: "empty" })
      equal((yield* session("s")).queue, undefined)
    }).pipe(withServices(store)),
  ),

  law("QUE-06 all that has expired leaves at once, however much it is", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const many = Array.from({ length: 502 }, (_, i) => atTime(0)(enqueue("s", `${i}`, { expiresAt: 10 + (i % 2) })))
      yield* Effect.all(many, { concurrency: "unbounded" })
      yield* atTime(0)(enqueue("s", "kept"))
      equal(yield* atTime(11)(Queue.use((queue) => queue.count("s"))), 1)
      equal((yield* told({}, atTime(11)(claimed("s")))).length, 503)
      equal((yield* session("s")).queue, { items: 1 })
      equal(yield* atTime(11)(waiting("s")), ["*kept"])
    }).pipe(withServices(store, { verify: false })),
  ),

  law("QUE-06 a claim that has run out returns its item to its place", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      const [a = "", b = ""] = yield* atTime(0)(enqueueAll("s", ["a", "b"]))
      yield* atTime(0)(claimed("s", { item: b }))
      equal(yield* atTime(lease - 1)(waiting("s")), ["a", "*b"])
      equal(yield* atTime(lease)(waiting("s")), ["a", "b"])
      const names = { [a]: "a", [b]: "b" }
      equal(yield* told(names, atTime(lease)(claim("s"))), ["requeued b", "claimed a"])
      yield* atTime(lease)(queue.cancel("s", b))
    }).pipe(withServices(store)),
  ),

  law("QUE-06 every change is a fact with its reason, to listeners in the process", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      const [a = "", b = "", c = "", d = ""] = yield* enqueueAll("s", ["a", "b", "c", "d"])
      const names = { [a]: "a", [b]: "b", [c]: "c", [d]: "d" }
      const facts = yield* told(
        names,
        Effect.gen(function* () {
          yield* enqueue("s", "e", { placement: "front", dedupeKey: "e" })
          yield* enqueue("s", "f", { dedupeKey: "e" })
          yield* queue.update("s", b, { source: "x" })
          yield* queue.promote("s", a)
          yield* queue.reorder("s", (yield* queue.list("s")).map(({ id }) => id).toReversed())
          yield* queue.pause("s")
          yield* queue.resume("s")
          const one = yield* claimed("s", { item: d })
          yield* queue.release("s", one.token)
          yield* queue.reject("s", (yield* claimed("s", { item: d })).token)
          yield* queue.complete("s", (yield* claimed("s", { item: c })).token)
          yield* queue.cancel("s", a)
          yield* queue.pause("s")
          yield* queue.clear("s")
        }),
      )
      equal(facts, [
        "enqueued ?",
        "replaced ?",
        "updated b",
        "reordered a",
        "reordered",
        "paused",
        "resumed",
        "claimed d",
        "requeued d",
        "claimed d",
        "rejected d",
        "claimed c",
        "accepted c",
        "cancelled a",
        "paused",
        "cancelled b",
        "cancelled ?",
        "resumed",
      ])
    }).pipe(withServices(store)),
  ),

  law("QUE-06 facts carry the revision that the session has with them", (store) =>
    Effect.gen(function* () {
      const storage = yield* Storage
      const revisions: Array<number> = []
      yield* begin("s")
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* storage.observe((notices) => {
            for (const notice of notices) revisions.push((notice as unknown as { revision: number }).revision)
          })
          for (const text of ["a", "b"]) {
            const before = yield* session("s")
            yield* atTime(before.updatedAt + 5)(enqueue("s", text))
            const after = yield* session("s")
            equal(
              [after.revision, after.updatedAt, after.activityAt],
              [revisions.at(-1), before.updatedAt + 5, before.activityAt],
            )
            check(after.revision > before.revision, "the revision grows")
          }
        }),
      )
    }).pipe(withServices(store)),
  ),
]

const cases: ReadonlyArray<Law> = [
  law("A33 fifty appends and fifty claims at once: one chain, and one claim at a time", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* enqueueAll(
        "s",
        Array.from({ length: 50 }, (_, i) => `${i}`),
      )
      const appends = Array.from({ length: 50 }, (_, i) => messages.append("s", { id: `u${i}`, ...hello(`${i}`) }))
      const claims = Array.from({ length: 50 }, () => claim("s"))
      const [appended, given] = yield* Effect.all([outcomesOf(appends), outcomesOf(claims)], {
        concurrency: "unbounded",
      })
      check(
        appended.every((outcome) => "done" in outcome),
        "every append succeeds",
      )
      equal((yield* pathOf("s")).toSorted(), Array.from({ length: 50 }, (_, i) => `u${i}`).toSorted())
      const items = given.flatMap((outcome) => ("done" in outcome && outcome.done.item ? [outcome.done.item.id] : []))
      equal(items.length, 1)
      equal(given.filter((outcome) => "done" in outcome && outcome.done.item === undefined).length, 49)
    }).pipe(withServices(store)),
  ),

  law("A54 renewed in time an item is nobody else's, and sent again under its id it is stored once", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      const messages = yield* Messages
      yield* begin("s")
      yield* atTime(0)(enqueueAll("s", ["q1", "q2"]))
      const first = yield* atTime(0)(claimed("s"))
      for (let time = 10_000; time <= 70_000; time += 10_000) {
        yield* atTime(time)(queue.renew("s", first.token))
        if (time === 30_000) equal((yield* atTime(35_000)(claim("s"))).item, undefined)
        if (time === 60_000) equal((yield* atTime(65_000)(claim("s"))).item, undefined)
      }
      const send = (itemId: string, time: number) =>
        atTime(time)(messages.commitUserMessage({ sessionId: "s", messageKey: itemId, ...hello("q1") }))
      const sent = yield* send(first.item.id, 71_000)
      equal(sent.message.id, first.item.message?.id)
      // W1 dies here, before `complete`.
      const second = yield* atTime(100_000)(claimed("s"))
      equal([second.item.id, second.item.attempts], [first.item.id, 2])
      equal((yield* send(second.item.id, 100_001)).message.id, sent.message.id)
      yield* atTime(100_002)(queue.complete("s", second.token))
      yield* atTime(100_003)(queue.complete("s", second.token))
      equal(yield* pathOf("s"), [sent.message.id])
      equal(yield* waiting("s"), ["q2"])
    }).pipe(withServices(store)),
  ),

  law("A55 what several producers enqueue at once is all there, each one's in its order", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const handles = [yield* openServices(store), yield* openServices(store)]
        yield* Effect.provide(begin("s"), handles[0]!)
        const produce = (name: string, handle: number) =>
          Effect.provide(
            Effect.forEach(
              Array.from({ length: 10 }, (_, i) => `${name}${i}`),
              (text) => enqueue("s", text),
            ),
            handles[handle]!,
          )
        yield* Effect.all([produce("a", 0), produce("b", 1)], { concurrency: "unbounded" })
        const drained: Array<string> = []
        for (let i = 0; ; i++) {
          const handle = handles[i % 2]!
          const [one, other] = yield* Effect.all(
            [Effect.provide(claim("s"), handle), Effect.provide(claim("s"), handles[(i + 1) % 2]!)],
            { concurrency: "unbounded" },
          )
          const got = [one, other].filter((claim) => claim.item !== undefined)
          if (got.length === 0) break
          equal(got.length, 1)
          const { item, token } = got[0] as Extract<typeof one, { token: string }>
          drained.push(textIn(item.message?.display))
          yield* Effect.provide(
            Queue.use((queue) => queue.complete("s", token)),
            handle,
          )
        }
        equal(drained.length, 20)
        for (const name of ["a", "b"]) {
          equal(
            drained.filter((text) => text.startsWith(name)),
            Array.from({ length: 10 }, (_, i) => `${name}${i}`),
          )
        }
      }),
    ),
  ),

  law("A56 an item comes back when its sender died, stays while the user has stopped, and goes on after", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      const [q1, q2] = yield* atTime(0)(enqueueAll("s", ["q1", "q2"]))
      yield* atTime(0)(claimed("s"))
      equal((yield* atTime(29_000)(claim("s"))).item, undefined)
      const again = yield* atTime(31_000)(claimed("s"))
      equal([again.item.id, again.item.attempts], [q1, 2])
      yield* atTime(31_001)(queue.complete("s", again.token))
      yield* atTime(31_002)(queue.pause("s", { cause: "user-stop" }))
      equal(yield* atTime(31_003)(claim("s")), { item: undefined, reason: "paused", cause: "user-stop" })
      yield* atTime(31_004)(queue.resume("s"))
      equal((yield* atTime(31_005)(claimed("s"))).item.id, q2)
    }).pipe(withServices(store)),
  ),
]

export const queueLaws: ReadonlyArray<Law> = [...enqueuing, ...handling, ...claiming, ...pausing, ...facts, ...cases]
