/**
 * Laws of sending: how an item becomes a turn, joins one that runs, and how queues are worked off.
 */
import { Heads } from "@skein/core/head"
import { Messages, userMessageId } from "@skein/core/message"
import { Queue } from "@skein/core/queue"
import type { EnqueueOptions, QueueMessage, WorkOptions } from "@skein/core/queue"
import { Storage } from "@skein/core/storage"
import { Turns } from "@skein/core/turn"
import type { Turn } from "@skein/core/turn"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { atTime } from "../clock.ts"
import { counting } from "../counting.ts"
import { check, equal } from "../equal.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { openServices, withServices } from "../services.ts"
import { begin, pathOf, say, session } from "./conversation.ts"

const hello = (text: string): QueueMessage => ({ body: { role: "user", content: text } })

const enqueue = (sessionId: string, text: string, options?: EnqueueOptions) =>
  Queue.use((queue) => queue.enqueue(sessionId, hello(text), options))

/** Puts several into the queue, one after another. Answers their ids. */
const enqueueAll = (sessionId: string, texts: ReadonlyArray<string>) =>
  Effect.forEach(texts, (text) => Effect.map(enqueue(sessionId, text), ({ id }) => id))

const textIn = (body: unknown): string => (body as { readonly content: string }).content

/** What people see on the path. */
const texts = (sessionId: string) =>
  Messages.use((messages) =>
    Effect.map(messages.page(sessionId), (page) => page.messages.map(({ display }) => textIn(display))),
  )

/** What waits. */
const waiting = (sessionId: string) =>
  Queue.use((queue) =>
    Effect.map(queue.list(sessionId), (items) => items.map(({ message }) => textIn(message?.display))),
  )

/** What listeners were told while an effect ran: notices with their reasons. */
const told = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const storage = yield* Storage
      const facts: Array<string> = []
      yield* storage.observe((notices) => {
        for (const notice of notices) {
          const { _tag, reason, status } = notice as { _tag: string; reason?: string; status?: string }
          facts.push([_tag, reason, status].filter((word) => word !== undefined).join(" "))
        }
      })
      const value = yield* effect
      return { value, facts }
    }),
  )

/** A body that answers what was asked. */
const answering = (turn: Turn) =>
  turn.settle({ role: "assistant", body: { role: "assistant", content: `re: ${textIn(turn.prompt?.display)}` } })

/** Works queues off until `enough` says so, which is asked at the end of each turn. */
const workUntil = (
  enough: (served: ReadonlyArray<string>) => boolean,
  options: Omit<WorkOptions, "signal"> = {},
  body: (turn: Turn) => Effect.Effect<unknown, unknown> = answering,
) =>
  Effect.gen(function* () {
    const controller = new AbortController()
    const served: Array<string> = []
    const served1 = (turn: Turn) => {
      served.push(`${turn.sessionId}: ${textIn(turn.prompt?.display)}`)
      return Effect.ensuring(
        body(turn),
        Effect.sync(() => {
          if (enough(served)) controller.abort()
        }),
      )
    }
    yield* Queue.use((queue) => queue.work(served1, { ...options, signal: controller.signal }))
    return served
  })

const dispatching: ReadonlyArray<Law> = [
  law(
    "QUE-04 dispatch sends the first item: it leaves, its message is stored and its turn begins in one commit",
    (store) =>
      Effect.gen(function* () {
        const queue = yield* Queue
        yield* begin("s")
        const model = { provider: "p", model: "m" }
        const options = { attachments: [{ path: "/a" }], model, requestedTurnId: "turn_mine", source: "cli" }
        const [first = ""] = yield* enqueueAll("s", ["one"])
        yield* enqueue("s", "two", options)
        const before = yield* session("s")
        const { facts, value: begun } = yield* told(queue.dispatch("s"))
        equal(facts, ["QueueChanged accepted", "TurnBegan", "StatusChanged running", "EntriesCommitted"])
        if (begun.turn === undefined) throw new Error(`nothing was dispatched: ${begun.reason}`)
        equal([begun.turn.start, begun.turn.first, begun.item?.id], ["item", userMessageId("s", first), first])
        equal(yield* pathOf("s"), [userMessageId("s", first)])
        equal(yield* waiting("s"), ["two"])
        const after = yield* session("s")
        equal([after.status, after.queue, after.counts.prompts], ["running", { items: 1 }, 1])
        check(after.activityAt >= before.activityAt, "a turn that begins is activity")
        equal(yield* outcomeOf(queue.dispatch("s")), { failed: "RunActive" })
        equal(yield* waiting("s"), ["two"])
        yield* Turns.use((turns) => turns.end("s", begun.turn.epoch, { outcome: "completed" }))

        const second = yield* queue.dispatch("s")
        if (second.turn === undefined) throw new Error("nothing was dispatched")
        equal([second.turn.id, second.item?.model, second.item?.source], ["turn_mine", model, "cli"])
        equal(second.messages[0]?.attachments, options.attachments)
        equal((yield* session("s")).queue, undefined)
      }).pipe(withServices(store)),
  ),

  law("QUE-04 what cannot be sent says why, and stays", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      const turns = yield* Turns
      yield* begin("s")
      equal(yield* queue.dispatch("s"), { turn: undefined, reason: "empty" })
      const [a = "", b = "", c = ""] = yield* enqueueAll("s", ["a", "b", "c"])
      yield* queue.pause("s")
      equal(yield* queue.dispatch("s"), { turn: undefined, reason: "paused", cause: "user-stop" })
      const run = turns.run("s", { next: {} }, answering)
      equal(yield* outcomeOf(run), { failed: "NothingQueued" })
      yield* queue.resume("s")
      yield* queue.claim("s")
      equal((yield* queue.dispatch("s")).turn, undefined)
      equal(yield* outcomeOf(turns.begin("s", { item: a })), { failed: "NothingQueued" })
      equal(yield* outcomeOf(turns.begin("s", { item: "q_nobody" })), { failed: "ItemNotFound" })
      equal(yield* outcomeOf(turns.begin("s", { item: "a b" })), { failed: "InvalidInput" })
      equal(yield* outcomeOf(turns.begin("s", { next: { sources: "cli" as never } })), { failed: "InvalidInput" })
      equal(yield* waiting("s"), ["a", "b", "c"])
      equal((yield* session("s")).status, "idle")
      // What is named is sent though another one is claimed, or the queue is paused.
      yield* turns.run("s", { item: b }, answering)
      yield* queue.pause("s")
      yield* turns.run("s", { item: c }, answering)
      equal(yield* texts("s"), ["b", "re: b", "c", "re: c"])
      equal(yield* waiting("s"), ["a"])
    }).pipe(withServices(store)),
  ),

  law("QUE-04 an item with an id that is taken by something else is not sent", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      yield* say("s", "u1")
      const taken = yield* queue.enqueue("s", { id: "u1", ...hello("another") })
      equal(yield* outcomeOf(queue.dispatch("s")), { failed: "IdConflict" })
      equal(yield* waiting("s"), ["another"])
      yield* queue.cancel("s", taken.id)
      const { turn } = yield* Turns.use((turns) => turns.begin("s", {}, { turnId: "turn_1" }))
      yield* Turns.use((turns) => turns.end("s", turn.epoch, { outcome: "completed" }))
      yield* enqueue("s", "again", { requestedTurnId: "turn_1" })
      equal(yield* outcomeOf(queue.dispatch("s")), { failed: "IdConflict" })
      equal((yield* session("s")).queue, { items: 1 })
      equal(yield* pathOf("s"), ["u1"])
    }).pipe(withServices(store)),
  ),

  law("QUE-04, A54 what its sender stored before it died is not sent twice", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      const messages = yield* Messages
      const turns = yield* Turns
      yield* begin("s")
      yield* atTime(0)(enqueueAll("s", ["one", "two"]))
      const first = yield* atTime(0)(queue.claim("s"))
      if (first.item === undefined) throw new Error("nothing was claimed")
      yield* atTime(1)(messages.commitUserMessage({ sessionId: "s", messageKey: first.item.id, ...hello("one") }))
      // It died before the turn began: the next one begins it with the message that is there.
      const begun = yield* atTime(40_000)(queue.dispatch("s"))
      if (begun.turn === undefined) throw new Error("nothing was dispatched")
      equal([begun.item?.id, begun.prompt?.id], [first.item.id, first.item.message?.id])
      yield* turns.end("s", begun.turn.epoch, { outcome: "completed" })
      equal(yield* texts("s"), ["one"])

      // It died when the turn was over: there is nothing left to send.
      const second = yield* atTime(50_000)(queue.claim("s"))
      if (second.item === undefined) throw new Error("nothing was claimed")
      yield* atTime(50_001)(messages.commitUserMessage({ sessionId: "s", messageKey: second.item.id, ...hello("two") }))
      yield* say("s", "a2")
      equal(yield* outcomeOf(atTime(90_000)(queue.dispatch("s"))), { failed: "OperationConflict" })
      yield* atTime(90_001)(enqueue("s", "three"))
      equal(yield* atTime(90_002)(workUntil(({ length }) => length === 1)), ["s: three"])
      equal(yield* texts("s"), ["one", "two", "a2", "three", "re: three"])
      equal(yield* waiting("s"), [])
    }).pipe(withServices(store)),
  ),

  law("A53 what was queued while a turn ran is sent after two crashes, in order and each once", (store) =>
    Effect.gen(function* () {
      const ids = yield* Effect.gen(function* () {
        yield* begin("s")
        yield* Turns.use((turns) => turns.begin("s", { prompt: { role: "user", body: hello("go").body } }))
        return yield* atTime(0)(enqueueAll("s", ["q1", "q2", "q3"]))
      }).pipe(withServices(store))
      // The process has died before anybody claimed, the next one before it stored what it had claimed.
      yield* Effect.gen(function* () {
        const queue = yield* Queue
        const { turn } = yield* Turns.use((turns) => turns.begin("s", {}, { takeOver: true }))
        yield* Turns.use((turns) => turns.end("s", turn.epoch, { outcome: "completed" }))
        const claim = yield* atTime(0)(queue.claim("s"))
        equal(claim.item?.id, ids[0])
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        yield* Queue.use((queue) => queue.cancel("s", ids[2]!))
        equal(yield* workUntil(({ length }) => length === 2), ["s: q1", "s: q2"])
        equal(yield* texts("s"), ["go", "q1", "re: q1", "q2", "re: q2"])
        equal((yield* session("s")).queue, undefined)
      }).pipe(withServices(store))
    }),
  ),
]

const injecting: ReadonlyArray<Law> = [
  law(
    "QUE-07 what waits as text joins the turn that runs, in its order, and leaves the queue in the same commit",
    (store) =>
      Effect.gen(function* () {
        const queue = yield* Queue
        const turns = yield* Turns
        yield* begin("s")
        yield* enqueueAll("s", ["first", "and this"])
        yield* enqueue("s", "with a file", { attachments: [1] })
        yield* enqueue("s", "elsewhere", { requestedTurnId: "turn_other" })
        yield* enqueue("s", "too", { source: "cli" })
        yield* turns.run("s", { next: {} }, (turn) =>
          Effect.gen(function* () {
            const before = yield* session("s")
            const { facts, value } = yield* told(queue.injected("s", turn.epoch, { sources: ["cli"] }))
            equal(facts, ["QueueChanged injected", "EntriesCommitted"])
            equal(
              value.map(({ display, role, turn }) => [textIn(display), role, turn]),
              [["too", "user", turn.id]],
            )
            equal((yield* session("s")).activityAt, before.activityAt)
            equal(
              (yield* turn.injected).map(({ display }) => textIn(display)),
              ["and this"],
            )
            equal(yield* turn.injected, [])
            equal(yield* waiting("s"), ["with a file", "elsewhere"])
            yield* answering(turn)
          }),
        )
        equal(yield* texts("s"), ["first", "too", "and this", "re: first"])
        const [turn] = yield* turns.list("s")
        equal([turn?.first, turn?.outcome], [(yield* pathOf("s"))[0], "completed"])
        equal(yield* outcomeOf(queue.injected("s", turn!.epoch)), { failed: "StaleTurn" })
        equal(yield* waiting("s"), ["with a file", "elsewhere"])
      }).pipe(withServices(store)),
  ),

  law("QUE-07 a paused queue hands nothing over, and nobody but the turn that runs is handed anything", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      const { turn } = yield* Turns.use((turns) => turns.begin("s", {}))
      yield* enqueueAll("s", ["a", "b"])
      const before = yield* session("s")
      equal(yield* outcomeOf(queue.injected("s", turn.epoch + 1)), { failed: "StaleTurn" })
      equal(yield* outcomeOf(queue.injected("s", 0.5)), { failed: "InvalidInput" })
      equal(yield* session("s"), before)
      yield* queue.pause("s")
      equal(yield* queue.injected("s", turn.epoch), [])
      yield* queue.resume("s")
      const { item } = yield* queue.claim("s")
      equal(
        (yield* queue.injected("s", turn.epoch)).map(({ display }) => textIn(display)),
        ["b"],
      )
      equal(
        (yield* queue.list("s")).map(({ id }) => id),
        [item?.id],
      )
    }).pipe(withServices(store)),
  ),
]

const working: ReadonlyArray<Law> = [
  law("QUE-08 work sends what waits, of the session first that has waited longest, and stops on its signal", (store) =>
    Effect.gen(function* () {
      for (const id of ["a", "b", "c"]) yield* begin(id)
      yield* atTime(30)(enqueueAll("a", ["a1", "a2"]))
      yield* atTime(10)(enqueueAll("b", ["b1"]))
      yield* atTime(20)(enqueueAll("c", ["c1"]))
      yield* atTime(40)(enqueueAll("b", ["b2", "b3"]))
      const served = yield* workUntil(({ length }) => length === 5)
      equal(served, ["b: b1", "c: c1", "a: a1", "a: a2", "b: b2"])
      equal(yield* waiting("b"), ["b3"])
      equal(yield* texts("a"), ["a1", "re: a1", "a2", "re: a2"])
      equal((yield* session("b")).status, "idle")
    }).pipe(withServices(store)),
  ),

  law("QUE-08 several turns run at a time, and never two of a session", (store) =>
    Effect.gen(function* () {
      for (const id of ["a", "b", "c"]) {
        yield* begin(id)
        yield* enqueueAll(id, ["1", "2", "3"])
      }
      const running: Array<string> = []
      let most = 0
      let total = 0
      const twoRun = yield* Deferred.make<void>()
      const body = (turn: Turn) =>
        Effect.gen(function* () {
          check(!running.includes(turn.sessionId), "one turn of a session at a time")
          running.push(turn.sessionId)
          most = Math.max(most, running.length)
          if (running.length === 2) yield* Deferred.succeed(twoRun, undefined)
          yield* Deferred.await(twoRun)
          yield* answering(turn)
          running.splice(running.indexOf(turn.sessionId), 1)
          total++
        })
      yield* workUntil(() => total === 9, { concurrency: 2 }, body)
      equal([most, total], [2, 9])
    }).pipe(withServices(store)),
  ),

  law("QUE-05 QUE-08 TRN-03 what waits when a turn asks is kept until the question is answered or closed", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      const turns = yield* Turns
      /** A turn that asks something while these wait. */
      const asks = (id: string, waits: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          yield* begin(id)
          const { turn } = yield* turns.begin(id, { prompt: hello("may you?") })
          yield* enqueueAll(id, waits)
          return yield* turns.end(id, turn.epoch, { outcome: "needs_input" })
        })
      const pauseOf = (id: string) => Effect.map(session(id), (one) => one.queue?.pause?.cause)
      for (const id of ["answered", "moved", "resumed"]) {
        equal((yield* asks(id, ["one", "two"])).queue, "paused")
        equal(yield* pauseOf(id), "needs-input")
        const { turn, ...why } = yield* queue.dispatch(id)
        equal([turn, why], [undefined, { reason: "paused", cause: "needs-input" }])
      }
      equal((yield* asks("went", [])).queue, "empty")
      yield* begin("other")
      yield* enqueue("other", "three")
      yield* enqueue("went", "never mind")
      const served = yield* workUntil(({ length }) => length === 2)
      equal(served.toSorted(), ["other: three", "went: never mind"], "what was said after the question goes on")
      const answer = yield* told(turns.begin("answered", { prompt: hello("yes") }))
      check(answer.facts.includes("QueueChanged resumed"), "listeners must hear that the queue goes on")
      equal(yield* pauseOf("answered"), undefined)
      const ended = yield* turns.end("answered", answer.value.turn.epoch, { outcome: "completed" })
      equal(ended.queue, "open")
      const move = yield* told(Heads.use((heads) => heads.checkout("moved", null)))
      check(move.facts.includes("QueueChanged resumed"), "listeners must hear that the queue goes on")
      yield* queue.resume("resumed", { expected: "needs-input" })
      equal((yield* workUntil(({ length }) => length === 6)).length, 6)
      for (const id of ["answered", "moved", "resumed"]) equal(yield* waiting(id), [])
    }).pipe(withServices(store)),
  ),

  law("QUE-05 a pause that was there when a turn asked stays when it was answered", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      const turns = yield* Turns
      yield* begin("s")
      yield* enqueue("s", "one")
      yield* queue.pause("s")
      const { turn } = yield* turns.begin("s", { prompt: hello("may you?") })
      yield* turns.end("s", turn.epoch, { outcome: "needs_input" })
      yield* turns.begin("s", { prompt: hello("yes") })
      equal((yield* session("s")).queue?.pause?.cause, "user-stop")
    }).pipe(withServices(store)),
  ),

  law("QUE-08 what is paused, what runs and what comes from elsewhere is left alone", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      for (const id of ["paused", "runs", "other", "mine"]) {
        yield* begin(id)
        yield* enqueue(id, id, { source: id === "other" ? "mail" : "cli" })
      }
      yield* queue.pause("paused")
      yield* Turns.use((turns) => turns.begin("runs", {}))
      yield* enqueue("other", "too", { source: "cli" })
      const served = yield* workUntil(({ length }) => length === 2, { sources: ["cli"] })
      equal(served.toSorted(), ["mine: mine", "other: too"])
      equal(
        [yield* waiting("paused"), yield* waiting("runs"), yield* waiting("other")],
        [["paused"], ["runs"], ["other"]],
      )
      yield* enqueue("other", "again", { source: "cli" })
      yield* enqueue("mine", "again", { source: "cli" })
      equal(yield* workUntil(({ length }) => length === 1, { session: "mine" }), ["mine: again"])
      equal(yield* outcomeOf(queue.work(answering, { session: "nobody" })), { failed: "SessionNotFound" })
    }).pipe(withServices(store)),
  ),

  law("QUE-08 work waits where there is nothing to do, and hears of what comes", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      const controller = new AbortController()
      const answered = yield* Deferred.make<void>()
      const working = yield* Effect.forkChild(
        queue.work((turn) => Effect.andThen(answering(turn), Deferred.succeed(answered, undefined)), {
          signal: controller.signal,
        }),
      )
      yield* enqueue("s", "one")
      yield* Deferred.await(answered)
      // One that goes on after a pause, and one whose turn was in the way.
      yield* Turns.use((turns) => turns.list("s"))
      controller.abort()
      yield* Fiber.join(working)
      yield* enqueue("s", "two")
      equal(yield* waiting("s"), ["two"])
      const stopped = new AbortController()
      stopped.abort()
      yield* queue.work(answering, { signal: stopped.signal })
      equal(yield* waiting("s"), ["two"])
    }).pipe(withServices(store)),
  ),

  law("QUE-08 on its signal a worker lets the turns end that run, and begins none", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      for (const id of ["a", "b"]) {
        yield* begin(id)
        yield* enqueueAll(id, ["1", "2"])
      }
      const controller = new AbortController()
      const bothRun = yield* Deferred.make<void>()
      const mayEnd = yield* Deferred.make<void>()
      let running = 0
      const body = (turn: Turn) =>
        Effect.gen(function* () {
          if (++running === 2) yield* Deferred.succeed(bothRun, undefined)
          yield* Deferred.await(mayEnd)
          yield* answering(turn)
        })
      const working = yield* Effect.forkChild(queue.work(body, { concurrency: 4, signal: controller.signal }))
      yield* Deferred.await(bothRun)
      controller.abort()
      equal((yield* session("a")).status, "running")
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.join(working)
      for (const id of ["a", "b"]) {
        equal(yield* texts(id), ["1", "re: 1"])
        equal((yield* session(id)).status, "idle")
        equal(yield* waiting(id), ["2"])
      }
    }).pipe(withServices(store)),
  ),

  law("QUE-08 QUE-05 a turn that fails or is stopped pauses its own queue, and no other", (store) =>
    Effect.gen(function* () {
      const turns = yield* Turns
      for (const id of ["fails", "stopped", "fine"]) {
        yield* begin(id)
        yield* enqueueAll(id, ["1", "2"])
      }
      const body = (turn: Turn): Effect.Effect<unknown, unknown> => {
        if (turn.sessionId === "fails") return Effect.fail(new Error("no"))
        if (turn.sessionId === "stopped") return Effect.andThen(turns.abort("stopped"), Effect.never)
        return answering(turn)
      }
      const served = yield* workUntil(({ length }) => length === 4, {}, body)
      equal(served.toSorted(), ["fails: 1", "fine: 1", "fine: 2", "stopped: 1"])
      const pauseOf = (id: string) => Effect.map(session(id), ({ queue }) => [queue?.items, queue?.pause?.cause])
      equal(yield* pauseOf("fails"), [1, "turn-final-failure"])
      equal(yield* pauseOf("stopped"), [1, "user-stop"])
      equal((yield* session("fails")).queue?.pause?.turn, (yield* turns.list("fails"))[0]?.id)
      equal(yield* waiting("fine"), [])
    }).pipe(withServices(store)),
  ),

  law("QUE-08 what cannot be sent by its own fault is rejected after five attempts, and its queue pauses", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      yield* begin("t")
      yield* say("s", "u1")
      yield* queue.enqueue("s", { id: "u1", ...hello("bad") }, { clientRequestId: "r" })
      yield* enqueueAll("s", ["good"])
      yield* enqueueAll("t", ["t1"])
      const { facts } = yield* told(workUntil(({ length }) => length === 1))
      equal(
        facts.filter((fact) => fact.startsWith("QueueChanged")),
        ["QueueChanged rejected", "QueueChanged paused", "QueueChanged accepted"],
      )
      equal(yield* waiting("s"), ["good"])
      equal((yield* session("s")).queue?.pause?.cause, "turn-final-failure")
      equal((yield* queue.enqueue("s", { id: "u1", ...hello("bad") }, { clientRequestId: "r" })).left, "rejected")
      equal(yield* texts("t"), ["t1", "re: t1"])
      // One that was claimed five times and never sent is not tried any more either.
      yield* begin("v")
      yield* atTime(0)(enqueueAll("v", ["poison", "after"]))
      for (let i = 0; i < 5; i++) yield* atTime(i * 40_000)(queue.claim("v"))
      yield* begin("w")
      yield* atTime(300_000)(enqueueAll("w", ["w1"]))
      equal(yield* atTime(300_000)(workUntil(({ length }) => length === 1)), ["w: w1"])
      equal(yield* waiting("v"), ["after"])
      equal((yield* session("v")).queue?.pause?.cause, "turn-final-failure")
    }).pipe(withServices(store)),
  ),

  law("QUE-08 what there is to do is found through an index, however many sessions stand beside it", (store) =>
    Effect.gen(function* () {
      const counted = counting(store.backend)
      yield* Effect.gen(function* () {
        const many = Array.from({ length: 300 }, (_, i) => begin(`idle${i}`))
        yield* Effect.all(many, { concurrency: "unbounded" })
        for (const id of ["x", "y", "z"]) {
          yield* begin(id)
          yield* enqueueAll(id, [id])
        }
        counted.reset()
        equal((yield* workUntil(({ length }) => length === 3)).toSorted(), ["x: x", "y: y", "z: z"])
        check(counted.rows("session") < 150, `it read ${counted.rows("session")} sessions`)
      }).pipe(withServices({ backend: counted.backend }, { verify: false }))
    }),
  ),

  law("QUE-08, A33 two workers on one store send everything once, and never two turns of a session at once", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const handles = [yield* openServices(store), yield* openServices(store)]
        const setUp = Effect.forEach(["a", "b", "c", "d"], (id) =>
          Effect.andThen(
            begin(id),
            enqueueAll(
              id,
              Array.from({ length: 5 }, (_, i) => `${id}${i}`),
            ),
          ),
        )
        yield* Effect.provide(setUp, handles[0]!)
        const running = new Set<string>()
        const sent: Array<string> = []
        const controller = new AbortController()
        const body = (turn: Turn) =>
          Effect.gen(function* () {
            check(!running.has(turn.sessionId), "one turn of a session at a time")
            running.add(turn.sessionId)
            yield* answering(turn)
            sent.push(textIn(turn.prompt?.display))
            running.delete(turn.sessionId)
            if (sent.length === 20) controller.abort()
          })
        const worker = (handle: number) =>
          Effect.provide(
            Queue.use((queue) => queue.work(body, { concurrency: 3, signal: controller.signal })),
            handles[handle]!,
          )
        yield* Effect.all([worker(0), worker(1)], { concurrency: "unbounded" })
        equal(new Set(sent).size, 20)
        for (const id of ["a", "b", "c", "d"]) {
          const found = yield* Effect.provide(texts(id), handles[0]!)
          equal(found, Array.from({ length: 5 }, (_, i) => [`${id}${i}`, `re: ${id}${i}`]).flat())
        }
      }),
    ),
  ),
]

export const queueSendingLaws: ReadonlyArray<Law> = [...dispatching, ...injecting, ...working]
