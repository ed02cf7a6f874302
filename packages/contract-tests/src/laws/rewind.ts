/**
 * Laws of going back: rewind, edit and retry.
 */
import { Heads } from "@skein/core/head"
import { History } from "@skein/core/history"
import { Messages } from "@skein/core/message"
import { Queue } from "@skein/core/queue"
import type { EnqueueOptions } from "@skein/core/queue"
import { Rewinds } from "@skein/core/rewind"
import type { RewindOptions } from "@skein/core/rewind"
import { Storage } from "@skein/core/storage"
import type { Turn, Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { counting } from "../counting.ts"
import { withoutWatch } from "../engine.ts"
import { check, equal } from "../equal.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf, outcomesOf } from "../outcome.ts"
import { openServices, withServices } from "../services.ts"
import { begin, callOf, checkout, pathOf, replayed, resultOf, said, say, sayAll, session } from "./conversation.ts"
import {
  ask,
  draft,
  end,
  epochOf,
  messageOf,
  open,
  rowOf,
  run,
  settle,
  start,
  timedLaw,
  turnsOf,
} from "./turns/subject.ts"

const rewind = (sessionId: string, prompt: string, options?: RewindOptions) =>
  Rewinds.use((rewinds) => rewinds.rewind(sessionId, prompt, options))
const planOf = (sessionId: string, prompt: string) => Rewinds.use((rewinds) => rewinds.plan(sessionId, prompt))
const undo = (sessionId: string) => Heads.use((heads) => heads.undo(sessionId))
const movesOf = (sessionId: string) => Heads.use((heads) => heads.moves(sessionId))

/** Three questions, and three answers. */
const three = ["u1", "a1", "u2", "a2", "u3", "a3"]

/** A turn from its prompt to its answer. */
const answered = (sessionId: string, prompt: string, answer: string) =>
  Effect.gen(function* () {
    const epoch = yield* epochOf(ask(sessionId, prompt, { turnId: `t-${prompt}` }))
    yield* end(sessionId, epoch, { outcome: "completed", messages: [said(answer)] })
  })

/** What refused a call: the class, and what it advises instead. */
const refusal = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(call), (error) => {
    const { _tag, nearest, problem } = error as { readonly [name: string]: unknown }
    return { _tag, ...(problem !== undefined && { problem }), ...(nearest !== undefined && { nearest }) }
  })

const unfit = (problem: string, nearest?: string) => ({
  _tag: "InvalidBoundary",
  problem,
  ...(nearest !== undefined && { nearest }),
})

const enqueue = (sessionId: string, id: string, options?: EnqueueOptions) =>
  Queue.use((queue) =>
    Effect.map(queue.enqueue(sessionId, { id, body: { role: "user", content: id } }, options), (one) => one.id),
  )

/** Ids of the messages that wait in a queue. */
const waiting = (sessionId: string) =>
  Queue.use((queue) => Effect.map(queue.list(sessionId), (items) => items.map(({ message }) => message?.id)))

const going: ReadonlyArray<Law> = [
  law("RWD-01 what people see and what the model is given go back together, and undo restores both", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", three)
      const before = yield* session("s")
      equal(yield* rewind("s", "u2", { author: "ann" }), {
        from: "a3",
        to: "a1",
        left: { entries: 4, messages: 4, prompts: 2, turns: 0 },
        cancelled: [],
      })
      equal(yield* pathOf("s"), ["u1", "a1"])
      equal(yield* replayed("s"), [said("u1").body, said("a1").body])
      const after = yield* session("s")
      equal([after.status, after.head, after.preview], ["idle", "a1", "u1"])
      check(after.historyVersion > before.historyVersion, "the model is given something else")
      equal(after.activityAt, before.activityAt, "its activity, for nobody said anything")
      const [move] = yield* movesOf("s")
      equal([move?.from, move?.to, move?.reason, move?.author], ["a3", "a1", "rewind", "ann"])
      equal((yield* messageOf("s", "u3")).display, said("u3").body)
      equal(yield* undo("s"), { from: "a1", to: "a3" })
      equal(yield* pathOf("s"), three)
      equal((yield* replayed("s")).length, 6)
    }).pipe(withServices(store)),
  ),

  law("RWD-01 before the first prompt is the root, and what is said next is the first thing on the path", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", three)
      equal((yield* rewind("s", "u1")).to, null)
      equal([yield* pathOf("s"), yield* replayed("s")], [[], []])
      equal((yield* session("s")).counts, { entries: 0, messages: 0, prompts: 0, turns: 0 })
      yield* say("s", "u1b")
      equal(yield* pathOf("s"), ["u1b"])
      equal((yield* Messages.use((messages) => messages.siblings("s", "u1b"))).messages.length, 2)
      yield* undo("s")
      equal(yield* pathOf("s"), three)
    }).pipe(withServices(store)),
  ),

  law("A49 RWD-01 what was discarded stays away, from a handle that has not heard of it and after a restart", (store) =>
    Effect.gen(function* () {
      yield* Effect.scoped(
        Effect.gen(function* () {
          const [one, other] = [yield* openServices(store), yield* openServices(store)]
          const seen = yield* Effect.provide(
            Effect.gen(function* () {
              yield* begin("s")
              yield* answered("s", "u1", "a1")
              yield* answered("s", "u2", "a2")
              return yield* session("s")
            }),
            one,
          )
          equal((yield* Effect.provide(session("s"), other)).head, "a2")
          yield* Effect.provide(rewind("s", "u2"), one)
          for (const options of [{ expectedHead: "a2" }, { expectedVersion: seen.headVersion }]) {
            equal(yield* outcomeOf(Effect.provide(say("s", "u3", options), other)), { failed: "HeadMoved" })
          }
        }),
      )
      yield* Effect.gen(function* () {
        equal(yield* pathOf("s"), ["u1", "a1"])
        equal(yield* replayed("s"), [said("u1").body, said("a1").body])
        equal((yield* messageOf("s", "a2")).display, said("a2").body)
        equal(
          (yield* Messages.use((messages) => messages.branches("s"))).map(({ tip }) => tip),
          ["a2"],
        )
      }).pipe(withServices(store))
    }),
  ),

  law("A50 RWD-01 behind a compaction the originals are there again, and nothing of it", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      for (let i = 1; i <= 10; i++) yield* sayAll("s", [`u${i}`, `a${i}`])
      yield* History.use((history) => history.compact("s", { summary: "S1", keepFrom: "u7" }))
      equal((yield* replayed("s")).length, 9)
      yield* rewind("s", "u4")
      const first = ["u1", "a1", "u2", "a2", "u3", "a3"]
      equal(
        yield* replayed("s"),
        first.map((id) => said(id).body),
      )
      equal(yield* pathOf("s"), first)
      yield* say("s", "u4b")
      equal((yield* replayed("s")).length, 7)
    }).pipe(withServices(store)),
  ),

  law(
    "RWD-01 a session that failed, or waits for an answer, is idle afterwards, and nobody can answer any more",
    (store) =>
      Effect.gen(function* () {
        yield* begin("failed")
        yield* answered("failed", "u1", "a1")
        yield* end("failed", yield* epochOf(ask("failed", "u2")), { outcome: "failed", error: { message: "it broke" } })
        yield* rewind("failed", "u2")
        const failed = yield* session("failed")
        equal([failed.status, failed.error, failed.head], ["idle", undefined, "a1"])

        yield* begin("s")
        yield* answered("s", "u1", "a1")
        const epoch = yield* epochOf(ask("s", "u2"))
        yield* settle("s", epoch, callOf("a2", "c1"))
        yield* draft("s", epoch, said("a3"))
        yield* end("s", epoch, "needs_input")
        equal((yield* messageOf("s", "a3")).draft, true)
        yield* rewind("s", "u2")
        const { status, waiting: waits } = yield* session("s")
        equal([status, waits], ["idle", undefined])
        equal((yield* messageOf("s", "a3")).cut, "interrupted")
        equal(yield* outcomeOf(start("s", { answer: resultOf("r1", "c1") })), { failed: "OperationConflict" })
      }).pipe(withServices(store)),
  ),

  law("RWD-01 STR-07 readers are told of a rewind by the commit that did it, and of nothing else", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* answered("s", "u1", "a1")
      yield* ask("s", "u2")
      const told: Array<unknown> = []
      yield* Storage.use((storage) =>
        storage.observe((notices) => {
          for (const one of notices) {
            const { from, reason, status, to } = one as unknown as Record<string, unknown>
            if (one._tag === "HeadWasMoved") told.push({ from, to, reason })
            else if (one._tag === "StatusChanged") told.push(status)
            else told.push(one._tag)
          }
        }),
      )
      yield* rewind("s", "u2", { abortFirst: true, waitMs: 0 })
      equal(told, ["AbortRequested", "aborted", "TurnEnded", { from: "u2", to: "a1", reason: "rewind" }, "idle"])
    }).pipe(Effect.scoped, withServices(store)),
  ),

  law("RWD-01 a name does a rewind once: it answers again as it did, also later and to several at once", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", three)
      const named = (prompt: string) => rewind("s", prompt, { operationId: "back, please" })
      const both = yield* outcomesOf([named("u3"), named("u3")])
      const done = { from: "a3", to: "a2", left: { entries: 2, messages: 2, prompts: 1, turns: 0 }, cancelled: [] }
      equal(both, [{ done }, { done }])
      equal((yield* movesOf("s")).length, 1)
      yield* undo("s")
      yield* say("s", "u4")
      equal(yield* named("u3"), done)
      equal(yield* outcomeOf(named("u2")), { failed: "IdConflict" })
      equal(yield* pathOf("s"), [...three, "u4"])
      yield* rewind("s", "u3", { operationId: "once more" })
      equal(yield* pathOf("s"), ["u1", "a1", "u2", "a2"])
    }).pipe(withServices(store)),
  ),

  law("RWD-01 a rewind that names the head it has seen is refused when that has moved", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", three)
      const before = yield* session("s")
      const stale = [{ expectedHead: "a2" }, { expectedHead: null }, { expectedVersion: before.headVersion - 1 }]
      for (const options of stale) equal(yield* outcomeOf(rewind("s", "u2", options)), { failed: "HeadMoved" })
      for (const options of [{ operationId: "" }, { waitMs: -1 }, { abortFirst: "yes" }, { else: 1 }]) {
        equal(yield* outcomeOf(rewind("s", "u2", options as RewindOptions)), { failed: "InvalidInput" })
      }
      equal(yield* session("s"), before)
      yield* rewind("s", "u2", { expectedHead: "a3", expectedVersion: before.headVersion })
      equal(yield* pathOf("s"), ["u1", "a1"])
    }).pipe(withServices(store)),
  ),

  law("RWD-01 what a rewind reads does not depend on how long the conversation is, nor on how much leaves", (store) =>
    Effect.gen(function* () {
      const counted = counting(store.backend)
      const read: Array<number> = []
      yield* Effect.gen(function* () {
        for (const [id, turns] of [["short", 5] as const, ["long", 400] as const]) {
          yield* begin(id)
          const ids = Array.from({ length: turns }, (_, i) => [`u${i + 1}`, `a${i + 1}`]).flat()
          yield* Messages.use((messages) => messages.appendMany(id, ids.map(said)))
          for (const prompt of ["u5", "u2"]) {
            counted.reset()
            yield* rewind(id, prompt)
            read.push(["session", "branch", "entry", "operation", "turn"].reduce((n, one) => n + counted.rows(one), 0))
            yield* undo(id)
          }
        }
      }).pipe(withServices({ backend: counted.backend }, { verify: false }))
      check(Math.max(...read) < 20, `it read ${read.join(", ")} rows`)
      check(read[2]! <= read[0]! + 2 && read[3]! <= read[1]! + 2, `it read ${read.join(", ")} rows`)
    }),
  ),

  law("RWD-02 for what a turn has called that broke off, nobody looks in all that was said since", (store) =>
    Effect.gen(function* () {
      const counted = counting(store.backend)
      yield* Effect.gen(function* () {
        yield* begin("s")
        const epoch = yield* epochOf(ask("s", "u1"))
        yield* settle("s", epoch, callOf("a1", "c1"))
        yield* end("s", epoch, "aborted")
        yield* end("s", yield* epochOf(ask("s", "u2")))
        const ids = Array.from({ length: 400 }, (_, i) => `a${i + 2}`)
        yield* Messages.use((messages) => messages.appendMany("s", ids.map(said)))
        counted.reset()
        yield* rewind("s", "u2")
        check(counted.rows("entry") < 20, `it read ${counted.rows("entry")} entries`)
      }).pipe(withServices({ backend: counted.backend }, { verify: false }))
    }),
  ),
]

const targets: ReadonlyArray<Law> = [
  law("RWD-02 one goes back before what the user said on the path; all else is refused, with the nearest", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* begin("other")
      yield* say("other", "u9")
      yield* sayAll("s", ["u1", "a1", "u2"])
      yield* messages.append("s", { id: "hidden", role: "user", model: { role: "user", content: "not for the eye" } })
      yield* messages.append("s", callOf("a2", "c1"))
      yield* messages.append("s", resultOf("r1", "c1"))
      const { id: summary } = yield* History.use((history) => history.compact("s", { summary: "S", keepFrom: "u2" }))
      yield* checkout("s", "a1")
      yield* sayAll("s", ["u2b", "a2b"])
      yield* checkout("s", summary)
      yield* say("s", "u3")
      const before = yield* session("s")
      const cases = [
        ["a1", unfit("was not said by the user", "u1")],
        ["hidden", unfit("is hidden", "u2")],
        ["a2", unfit("was not said by the user", "u2")],
        ["r1", unfit("was not said by the user", "u2")],
        [summary, unfit("is no message, but of kind compaction", "u2")],
        ["u2b", unfit("is not on the path", "u2")],
        ["a2b", unfit("is not on the path", "u2")],
        ["u9", { _tag: "MessageNotFound" }],
        ["nobody", { _tag: "MessageNotFound" }],
      ] as const
      for (const [target, refused] of cases) {
        equal(yield* refusal(rewind("s", target)), refused, `the refusal of ${target}`)
        equal(yield* refusal(planOf("s", target)), refused, `the refusal to plan for ${target}`)
        if ("nearest" in refused) yield* planOf("s", refused.nearest!)
      }
      equal(yield* outcomeOf(rewind("s", "no id")), { failed: "InvalidInput" })
      equal(yield* outcomeOf(rewind("nobody", "u1")), { failed: "SessionNotFound" })
      equal(yield* session("s"), before)
      yield* rewind("s", "u3")
      equal((yield* session("s")).head, summary)
    }).pipe(withServices(store)),
  ),

  law("RWD-02 SES-16 a store for one owner goes back in no session of another's", (store) =>
    Effect.gen(function* () {
      yield* Effect.andThen(begin("s"), say("s", "u1")).pipe(withServices(store))
      yield* Effect.gen(function* () {
        const calls = [rewind("s", "u1"), rewind("s", "u1", { abortFirst: true, operationId: "o" }), planOf("s", "u1")]
        for (const call of calls) {
          equal(yield* outcomeOf<unknown, unknown, Rewinds>(call), { failed: "SessionNotFound" })
        }
      }).pipe(withServices(store, { owner: "ann" }))
      equal(yield* pathOf("s").pipe(withServices(store)), ["u1"])
    }),
  ),

  law("RWD-02 where nobody has said anything there is nothing to advise", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* say("s", "a1")
      equal(yield* refusal(rewind("s", "a1")), unfit("was not said by the user"))
    }).pipe(withServices(store)),
  ),

  law("RWD-02 A45 one does not go back to between a call and its result, also over what was said meanwhile", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* answered("s", "u1", "a1")
      const epoch = yield* epochOf(ask("s", "u2", { turnId: "t2" }))
      const write = (message: Parameters<typeof messages.append>[1]) => messages.append("s", message, { epoch })
      yield* write(callOf("a2", "c1", "c2"))
      yield* write(resultOf("r1", "c1"))
      yield* write(said("u3"))
      yield* write(said("u4"))
      yield* write(resultOf("r2", "c2"))
      yield* write(said("u5"))
      yield* end("s", epoch)
      const before = yield* session("s")
      for (const target of ["u3", "u4"]) {
        equal(yield* refusal(rewind("s", target)), unfit("is inside a tool round", "u2"), target)
      }
      equal(yield* session("s"), before)
      yield* rewind("s", "u5")
      equal(yield* pathOf("s"), ["u1", "a1", "u2", "a2", "r1", "u3", "u4", "r2"])
      yield* undo("s")
      yield* rewind("s", "u2")
      equal(yield* pathOf("s"), ["u1", "a1"])
    }).pipe(withServices(store)),
  ),

  law(
    "A45 RWD-01 behind a turn that broke off, every call has one result after a rewind, and what is stored stays",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        const epoch = yield* epochOf(ask("s", "u1"))
        yield* settle("s", epoch, callOf("a1", "c1", "c2"))
        yield* settle("s", epoch, resultOf("r1", "c1"))
        yield* end("s", epoch, "aborted")
        yield* say("s", "u2")
        const stored = yield* pathOf("s")
        yield* rewind("s", "u2")
        equal(yield* pathOf("s"), stored.slice(0, -1))
        yield* say("s", "u2b")
        for (let i = 0; i < 2; i++) {
          const given = yield* replayed("s")
          equal(
            given.map((message) => usesIn(message)),
            [[], ["call c1", "call c2"], ["result c1"], ["result c2"], []],
          )
          equal(given[2], resultOf("r1", "c1").body)
        }
        equal(yield* pathOf("s"), [...stored.slice(0, -1), "u2b"])
      }).pipe(withServices(store)),
  ),
]

/** The calls and results in a generic message. */
const usesIn = (message: unknown): ReadonlyArray<string> => {
  const { content } = message as { readonly content: unknown }
  if (!Array.isArray(content)) return []
  return content.flatMap((part: { readonly type: string; readonly id?: string; readonly callId?: string }) =>
    part.type === "tool-call" ? [`call ${part.id}`] : part.type === "tool-result" ? [`result ${part.callId}`] : [],
  )
}

const planning: ReadonlyArray<Law> = [
  law("RWD-01 a plan tells what would leave, and changes nothing", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* answered("s", "u1", "a1")
      yield* answered("s", "u2", "a2")
      yield* Messages.use((messages) => messages.append("s", { id: "m1", role: "system", model: "unseen" }))
      const epoch = yield* epochOf(ask("s", "u3", { turnId: "t-u3" }))
      const item = yield* enqueue("s", "q1", { requestedTurnId: "t-u2" })
      yield* enqueue("s", "q2")
      const before = yield* rowOf("s")
      const plan = yield* planOf("s", "u2")
      equal(
        { ...plan, messages: plan.messages.map(({ id }) => id), planHash: plan.planHash.length > 8 },
        {
          to: "a1",
          left: { entries: 4, messages: 3, prompts: 2, turns: 2 },
          messages: ["u2", "a2", "u3"],
          turns: ["t-u3", "t-u2"],
          cancelled: [item],
          running: "t-u3",
          planHash: true,
        },
      )
      equal(yield* rowOf("s"), before)
      yield* end("s", epoch)
      const { cancelled, left, to } = yield* rewind("s", "u2")
      equal({ to, left, cancelled }, { to: plan.to, left: plan.left, cancelled: plan.cancelled })
    }).pipe(withServices(store)),
  ),

  law("RWD-01 a plan of much shows the first hundred of it, and counts the rest", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const ids = Array.from({ length: 120 }, (_, i) => [`u${i + 1}`, `a${i + 1}`]).flat()
      yield* Messages.use((messages) => messages.appendMany("s", ids.map(said)))
      yield* checkout("s", "a100")
      yield* sayAll("s", ["u101b", "a101b"])
      const { left, messages } = yield* planOf("s", "u52")
      equal(
        messages.map(({ id }) => id),
        [...ids.slice(102, 200), "u101b", "a101b"],
      )
      equal(left.messages, 100)
      const more = yield* planOf("s", "u2")
      equal([more.messages.length, more.messages.at(-1)?.id, more.left.messages], [100, "a51", 200])
    }).pipe(withServices(store)),
  ),

  law("RWD-01 a turn in which the user said the prompt leaves in part, and is not told of", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* answered("s", "u1", "a1")
      const epoch = yield* epochOf(ask("s", "u2", { turnId: "t-u2" }))
      yield* Messages.use((messages) => messages.append("s", said("u3"), { epoch }))
      yield* end("s", epoch)
      yield* answered("s", "u4", "a4")
      equal((yield* planOf("s", "u3")).turns, ["t-u4"])
      equal((yield* planOf("s", "u2")).turns, ["t-u4", "t-u2"])
      yield* checkout("s", "a1")
      yield* answered("s", "u5", "a5")
      equal((yield* planOf("s", "u1")).turns, ["t-u5", "t-u1"])
    }).pipe(withServices(store)),
  ),

  law("RWD-01 a rewind does what was planned, or nothing", (store) =>
    Effect.gen(function* () {
      const changes = [
        ["a message", say("s", "u9")],
        ["a move and back", Effect.andThen(checkout("s", "a1"), undo("s"))],
        ["an item for a turn that leaves", enqueue("s", "q1", { requestedTurnId: "t-u2" })],
        ["a turn", Effect.flatMap(epochOf(start("s", {})), (epoch) => end("s", epoch))],
      ] as const
      yield* begin("s")
      yield* answered("s", "u1", "a1")
      yield* answered("s", "u2", "a2")
      for (const [what, change] of changes) {
        const { planHash } = yield* planOf("s", "u2")
        equal((yield* planOf("s", "u2")).planHash, planHash)
        equal(yield* outcomeOf(rewind("s", "u1", { planHash })), { failed: "OperationConflict" })
        yield* change
        const before = yield* rowOf("s")
        equal(yield* outcomeOf(rewind("s", "u2", { planHash })), { failed: "OperationConflict" }, what)
        equal(yield* rowOf("s"), before)
      }
      yield* enqueue("s", "q2")
      const { planHash } = yield* planOf("s", "u2")
      yield* enqueue("s", "q3")
      yield* rewind("s", "u2", { planHash })
      equal(yield* pathOf("s"), ["u1", "a1"])
    }).pipe(withServices(store)),
  ),
]

const stopping: ReadonlyArray<Law> = [
  law("RWD-02 a turn that runs is in the way, unless it is stopped first", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* answered("s", "u1", "a1")
      const epoch = yield* epochOf(ask("s", "u2", { turnId: "t-u2" }))
      yield* settle("s", epoch, callOf("a2", "c1"))
      yield* draft("s", epoch, said("a3"))
      const before = yield* rowOf("s")
      equal(yield* outcomeOf(rewind("s", "u2")), { failed: "RunActive" })
      equal(yield* outcomeOf(rewind("s", "u1", { abortFirst: false })), { failed: "RunActive" })
      // What is not to be had stops nothing.
      equal(yield* outcomeOf(rewind("s", "a1", { abortFirst: true })), { failed: "InvalidBoundary" })
      equal(yield* outcomeOf(rewind("s", "u2", { abortFirst: true, planHash: "old" })), { failed: "OperationConflict" })
      equal(yield* outcomeOf(rewind("s", "u2", { abortFirst: true, expectedHead: "a1" })), { failed: "HeadMoved" })
      equal(yield* rowOf("s"), before)
      const { ended, to } = yield* rewind("s", "u2", { abortFirst: true, waitMs: 0 })
      equal([ended, to], ["t-u2", "a1"])
      const [turn] = yield* turnsOf("s")
      equal([turn?.outcome, turn?.reason], ["aborted", "rewind"])
      equal((yield* session("s")).status, "idle")
      equal((yield* messageOf("s", "a3")).cut, "aborted")
      equal(yield* outcomesOf<unknown, unknown, Turns>([settle("s", epoch, said("a3")), end("s", epoch)]), [
        { failed: "StaleTurn" },
        { failed: "StaleTurn" },
      ])
      equal(yield* pathOf("s"), ["u1", "a1"])
      const calm = yield* rewind("s", "u1", { abortFirst: true })
      equal([calm.ended, calm.to], [undefined, null])
    }).pipe(withServices(store)),
  ),

  timedLaw(
    "RWD-02 a turn that hears of it ends by itself, with what it drafted, and then the head goes back",
    (store, time) =>
      Effect.gen(function* () {
        const one = yield* open(store)
        yield* one.run(begin("s"))
        const body = (turn: Turn) => Effect.andThen(turn.draft(said("a1")), Effect.never)
        const fiber = yield* Effect.forkChild(one.run(run("s", { prompt: said("u1") }, body)))
        yield* time.settle
        const { planHash } = yield* one.run(planOf("s", "u1"))
        const back = yield* Effect.forkChild(
          one.run(rewind("s", "u1", { abortFirst: true, planHash, expectedHead: "a1" })),
        )
        yield* time.pass(1_000)
        equal(yield* outcomeOf(Fiber.join(fiber)), { failed: "TurnAborted" })
        const { ended, to } = yield* Fiber.join(back)
        const [turn] = yield* one.run(turnsOf("s"))
        equal([to, ended, turn?.outcome, turn?.reason], [null, turn?.id, "aborted", "rewind"])
        equal((yield* one.run(messageOf("s", "a1"))).cut, "aborted")
      }),
  ),

  timedLaw(
    "RWD-02 a turn that does not hear of it is waited for, and then ended in the commit that goes back",
    (store, time) =>
      Effect.gen(function* () {
        const [one, other] = [yield* open(withoutWatch(store)), yield* open(withoutWatch(store))]
        yield* one.run(begin("s"))
        yield* one.run(answered("s", "u1", "a1"))
        const epoch = yield* one.run(epochOf(ask("s", "u2")))
        const { planHash } = yield* other.run(planOf("s", "u2"))
        const back = yield* Effect.forkChild(
          other.run(rewind("s", "u2", { abortFirst: true, planHash, expectedHead: "u2", waitMs: 20_000 })),
        )
        yield* time.pass(19_000)
        // Until then it works on, and what it says leaves with the rest.
        yield* one.run(settle("s", epoch, said("a2")))
        equal((yield* one.run(session("s"))).activeTurn?.aborting, true)
        yield* time.pass(2_000)
        const { left, to } = yield* Fiber.join(back)
        equal([to, left.messages], ["a1", 2])
        equal(yield* outcomeOf(one.run(settle("s", epoch, said("a3")))), { failed: "StaleTurn" })
        equal(yield* one.run(pathOf("s")), ["u1", "a1"])
      }),
  ),

  timedLaw(
    "RWD-02 what somebody else says while a turn is waited for is not taken for what was agreed to",
    (store, time) =>
      Effect.gen(function* () {
        const one = yield* open(store)
        for (const [id, expected] of [["s", { expectedHead: "u2" }] as const, ["t", {}] as const, ["u", {}] as const]) {
          yield* one.run(begin(id))
          yield* one.run(answered(id, "u1", "a1"))
          const epoch = yield* one.run(epochOf(ask(id, "u2")))
          const { planHash } = yield* one.run(planOf(id, "u2"))
          const options = id === "t" ? { planHash } : expected
          const back = yield* Effect.forkChild(one.run(rewind(id, "u2", { abortFirst: true, ...options })))
          yield* time.settle
          yield* one.run(end(id, epoch, "aborted"))
          yield* one.run(say(id, "u3"))
          yield* time.pass(1_000)
          const failed = { s: "HeadMoved", t: "OperationConflict", u: undefined }[id]
          const outcome = yield* outcomeOf(Effect.map(Fiber.join(back), ({ to }) => to))
          equal(outcome, failed === undefined ? { done: "a1" } : { failed }, id)
          equal((yield* one.run(pathOf(id))).length, failed === undefined ? 2 : 4)
        }
      }),
  ),

  timedLaw("RWD-02 another turn that has begun meanwhile is in the way", (store, time) =>
    Effect.gen(function* () {
      const one = yield* open(store)
      yield* one.run(begin("s"))
      const epoch = yield* one.run(epochOf(ask("s", "u1")))
      const back = yield* Effect.forkChild(one.run(rewind("s", "u1", { abortFirst: true })))
      yield* time.settle
      yield* one.run(end("s", epoch, "aborted"))
      yield* one.run(ask("s", "u2"))
      yield* time.pass(1_000)
      equal(yield* outcomeOf(Fiber.join(back)), { failed: "RunActive" })
      equal(yield* one.run(pathOf("s")), ["u1", "u2"])
    }),
  ),
]

const queues: ReadonlyArray<Law> = [
  law("A49 RWD-01 what waited for a turn that left is cancelled, claimed or not, and all else waits on", (store) =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* begin("s")
      yield* answered("s", "u1", "a1")
      yield* answered("s", "u2", "a2")
      const facts: Array<string> = []
      yield* Storage.use((storage) =>
        storage.observe((notices) => {
          for (const notice of notices) {
            const { itemId, reason } = notice as unknown as { readonly itemId?: string; readonly reason: string }
            if (notice._tag === "QueueChanged" && itemId !== undefined) facts.push(`${reason} ${itemId}`)
          }
        }),
      )
      const later = yield* enqueue("s", "q1", { requestedTurnId: "t-later" })
      const earlier = yield* enqueue("s", "q2", { requestedTurnId: "t-u1" })
      const left = yield* enqueue("s", "q3", { requestedTurnId: "t-u2", clientRequestId: "r3" })
      const sent = yield* enqueue("s", "u2")
      const claimed = yield* enqueue("s", "q4", { requestedTurnId: "t-u2" })
      const plain = yield* enqueue("s", "q5")
      const claim = yield* queue.claim("s", { item: claimed })
      facts.length = 0
      equal((yield* rewind("s", "u2")).cancelled, [left, sent, claimed])
      equal(
        facts,
        [left, sent, claimed].map((id) => `cancelled ${id}`),
      )
      equal(yield* waiting("s"), ["q1", "q2", "q5"])
      equal((yield* session("s")).queue?.items, 3)
      equal(
        (yield* queue.enqueue(
          "s",
          { id: "q3", body: { role: "user", content: "q3" } },
          { requestedTurnId: "t-u2", clientRequestId: "r3" },
        )).left,
        "cancelled",
      )
      // Its sender is told that it is done with it, and nothing comes back.
      yield* queue.complete("s", claim.item === undefined ? "" : claim.token)
      equal(yield* waiting("s"), ["q1", "q2", "q5"])
      equal((yield* rewind("s", "u1")).cancelled, [earlier])
      equal(
        (yield* queue.list("s")).map(({ id }) => id),
        [later, plain],
      )
      const dispatched = yield* queue.dispatch("s")
      equal(dispatched.turn?.id, "t-later")
    }).pipe(Effect.scoped, withServices(store)),
  ),

  law("A49 RWD-02 a queue whose turn was stopped for a rewind stands still, unless nothing is left in it", (store) =>
    Effect.gen(function* () {
      for (const [id, options, pause] of [
        ["s", {}, "user-stop"],
        ["t", { requestedTurnId: "t-u1" }, undefined],
      ] as const) {
        yield* begin(id)
        yield* ask(id, "u1", { turnId: "t-u1" })
        yield* enqueue(id, "q1", options)
        yield* rewind(id, "u1", { abortFirst: true, waitMs: 0 })
        equal((yield* session(id)).queue?.pause?.cause, pause)
      }
    }).pipe(withServices(store)),
  ),
]

const beside: ReadonlyArray<Law> = [
  law("RWD-04 without a turn, edit and retry move the head to where the sibling goes, and nothing else", (store) =>
    Effect.gen(function* () {
      const rewinds = yield* Rewinds
      yield* begin("s")
      yield* answered("s", "u1", "a1")
      yield* answered("s", "u2", "a2")
      const item = yield* enqueue("s", "q1", { requestedTurnId: "t-u2" })
      equal(yield* rewinds.edit("s", "u2", { author: "ann", expectedHead: "a2" }), { from: "a2", to: "a1" })
      yield* say("s", "u2b")
      equal(yield* rewinds.retry("s", "a2"), { from: "u2b", to: "u2" })
      equal(yield* rewinds.retry("s", "u2"), { from: "u2", to: "u2" })
      yield* say("s", "a2b")
      equal(yield* rewinds.retry("s", "u1"), { from: "a2b", to: "u1" })
      equal(yield* rewinds.edit("s", "u1"), { from: "u1", to: null })
      equal(
        (yield* movesOf("s")).map(({ author, reason }) => [reason, author]),
        [
          ["edit", undefined],
          ["retry", undefined],
          ["retry", undefined],
          ["edit", "ann"],
        ],
      )
      equal(
        (yield* Queue.use((queue) => queue.list("s"))).map(({ id }) => id),
        [item],
      )
      equal(
        (yield* Messages.use((messages) => messages.siblings("s", "u2"))).messages.map(({ id }) => id),
        ["u2", "u2b"],
      )
      yield* undo("s")
      equal(yield* pathOf("s"), ["u1"])
    }).pipe(withServices(store)),
  ),

  law("RWD-04 edit and retry refuse what the starts of a turn refuse, and change nothing then", (store) =>
    Effect.gen(function* () {
      const rewinds = yield* Rewinds
      yield* begin("s")
      yield* sayAll("s", ["u1"])
      yield* Messages.use((messages) => messages.appendMany("s", [callOf("a1", "c1"), resultOf("r1", "c1")]))
      const refused = [
        [rewinds.edit("s", "a1"), "InvalidInput"],
        [rewinds.edit("s", "nobody"), "MessageNotFound"],
        [rewinds.edit("s", "no id"), "InvalidInput"],
        [rewinds.edit("s", "u1", { expectedHead: "u1" }), "HeadMoved"],
        [rewinds.retry("s", "r1"), "InvalidBoundary"],
        [rewinds.retry("s", "a1", { expectedVersion: 1 }), "HeadMoved"],
      ] as const
      const before = yield* rowOf("s")
      for (const [call, failed] of refused) equal(yield* outcomeOf<unknown, unknown, never>(call), { failed })
      equal(yield* rowOf("s"), before)
      yield* start("s", {})
      for (const call of [rewinds.edit("s", "u1"), rewinds.retry("s", "a1")]) {
        equal(yield* outcomeOf(call), { failed: "RunActive" })
      }
    }).pipe(withServices(store)),
  ),
]

export const rewindLaws: ReadonlyArray<Law> = [...going, ...targets, ...planning, ...stopping, ...queues, ...beside]
