/**
 * What users do to a store, one commit each, for faults to strike.
 */
import { Storage } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { atTime } from "../../packages/contract-tests/src/clock.ts"
import { Attachments } from "../../packages/core/src/attachment/service.ts"
import type { Services } from "../../packages/core/src/services.ts"
import { Forks } from "../../packages/core/src/fork/service.ts"
import { Heads } from "../../packages/core/src/head/service.ts"
import { History } from "../../packages/core/src/history/service.ts"
import { Maintenance } from "../../packages/core/src/maintenance/service.ts"
import { Messages } from "../../packages/core/src/message/service.ts"
import { Queue } from "../../packages/core/src/queue/service.ts"
import { QueryViews } from "../../packages/core/src/query-view/service.ts"
import { attach as attachProgram } from "../../packages/core/src/head/links.ts"
import { Rewinds } from "../../packages/core/src/rewind/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { defaultSettings } from "../../packages/core/src/settings.ts"
import { end as endProgram } from "../../packages/core/src/turn/program.ts"
import { Turns } from "../../packages/core/src/turn/service.ts"
import { Usage } from "../../packages/core/src/usage/service.ts"

export interface Operation {
  readonly name: string
  readonly run: Effect.Effect<unknown, unknown, Services>
  /** What has to be done before, beside `beginning`. */
  readonly prepare?: Effect.Effect<unknown, unknown, Services>
  /** Of an operation that is two commits, one after the other: what the first one does. */
  readonly first?: Effect.Effect<unknown, unknown, Services | Storage>
  /** What it does by itself when its answer is lost: nobody would know of what it has begun. */
  readonly whenLost?: Effect.Effect<unknown, unknown, Services | Storage>
}

export const user = (id: string) => ({ id, body: { role: "user", content: `the user says ${id}` } })
export const assistant = (id: string) => ({ id, body: { role: "assistant", content: `the answer is ${id}` } })

/** More than is kept with a message. */
export const large = (id: string) => ({ id, body: { role: "user", content: id.repeat(35_000) } })

/** A conversation of two branches, `m1 m2 m3 m4` and `m1 b1 b2`, whose head stands at m4. */
export const beginning = Effect.gen(function* () {
  const sessions = yield* Sessions
  const messages = yield* Messages
  const heads = yield* Heads
  yield* sessions.create({ id: "s1", title: "First", workspace: "/projects/one" })
  yield* messages.appendMany("s1", [user("m1"), assistant("m2"), user("m3"), assistant("m4")])
  yield* heads.checkout("s1", "m1")
  yield* messages.appendMany("s1", [assistant("b1"), user("b2")])
  yield* heads.checkout("s1", "m4")
})

const withMessages = (use: (messages: Messages["Service"]) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(Effect.service(Messages), use)
const withForks = (use: (forks: Forks["Service"]) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(Effect.service(Forks), use)
const withAttachments = (use: (attachments: Attachments["Service"]) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(Effect.service(Attachments), use)
const withHeads = (use: (heads: Heads["Service"]) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(Effect.service(Heads), use)
const withSessions = (use: (sessions: Sessions["Service"]) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(Effect.service(Sessions), use)

const withTurns = (use: (turns: Turns["Service"]) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(Effect.service(Turns), use)

export const calling = (id: string, call: string) => ({
  id,
  body: { role: "assistant", content: [{ type: "tool-call", id: call, name: "look", input: {} }] },
})
export const result = (id: string, call: string) => ({
  id,
  body: { role: "tool", content: [{ type: "tool-result", callId: call, output: "found" }] },
})

const withQueue = (use: (queue: Queue["Service"]) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(Effect.service(Queue), use)
const withRewinds = (use: (rewinds: Rewinds["Service"]) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(Effect.service(Rewinds), use)
const withUsage = (use: (usage: Usage["Service"]) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(Effect.service(Usage), use)

/** What a call of a model used. */
export const spent = (callId: string, output: number) => ({
  callId,
  provider: "openai",
  model: "gpt-5",
  at: Date.UTC(2026, 0, 1, 12),
  input: 1_000,
  output,
  cacheRead: 100,
  cost: 5 * output,
})

/** Another session that has said something. */
const other = Effect.andThen(
  withSessions((sessions) => sessions.create({ id: "s2", title: "Other" })),
  withMessages((messages) => messages.append("s2", user("o1"))),
)

/** A link to it. */
const linked = Effect.andThen(
  other,
  Effect.flatMap(Effect.service(Storage), (storage) =>
    storage.transact(attachProgram(defaultSettings, "s1", "s2", { id: "link", createdAt: 0 }, (title) => title, {}, 0)),
  ),
)

/** Two that wait. */
const queued = withQueue((queue) =>
  Effect.andThen(queue.enqueue("s1", user("q1"), { clientRequestId: "r1" }), queue.enqueue("s1", user("q2"))),
)

/** A turn that has made a call which nobody has answered, and is writing something. */
const working = Effect.gen(function* () {
  const turns = yield* Turns
  const views = yield* QueryViews
  yield* turns.begin("s1", { prompt: user("p1") }, { turnId: "t1" })
  yield* turns.settle("s1", 1, calling("c1", "call1"))
  yield* views.start("s1", { queryKey: "p1", epoch: 1 })
  yield* turns.draft("s1", 1, assistant("d1"))
})

/** A turn that has ended as waiting for an answer. */
const waiting = Effect.andThen(
  working,
  withTurns((turns) => turns.end("s1", 1, { outcome: "needs_input", calls: ["call1"] })),
)

/** Ends the turn that was begun last, as nobody else may. */
const endTurn = Effect.gen(function* () {
  const { activeTurn } = yield* (yield* Sessions).get("s1")
  const storage = yield* Storage
  const ending = { outcome: "interrupted", reason: "uncertain" } as const
  const recording = { now: 0, prices: undefined }
  yield* storage.transact(
    endProgram(defaultSettings, "s1", activeTurn!.epoch, { entries: [], calls: [] }, ending, recording),
  )
})

export const operations: ReadonlyArray<Operation> = [
  { name: "append", run: withMessages((messages) => messages.append("s1", user("n1"))) },
  {
    name: "append three",
    run: withMessages((messages) => messages.appendMany("s1", [user("n1"), assistant("n2"), user("n3")])),
  },
  {
    name: "append on a new branch",
    prepare: withHeads((heads) => heads.checkout("s1", "m3")),
    run: withMessages((messages) => messages.append("s1", assistant("n1"))),
  },
  {
    name: "append beside the head",
    run: withMessages((messages) => messages.append("s1", user("n1"), { at: "b2" })),
  },
  {
    name: "commit a user message",
    run: withMessages((messages) => messages.commitUserMessage({ sessionId: "s1", messageKey: "k1", body: "Hello" })),
  },
  { name: "fork", run: withForks((forks) => forks.fork("s1", { operationId: "op1" })) },
  { name: "begin a side conversation", run: withForks((forks) => forks.side("s1", { operationId: "op1" })) },
  { name: "append what is large", run: withMessages((messages) => messages.append("s1", large("n1"))) },
  {
    name: "redact what is large",
    prepare: withMessages((messages) => messages.append("s1", large("n1"))),
    run: withMessages((messages) => messages.redact("s1", "n1")),
  },
  {
    name: "free what nobody uses",
    prepare: withAttachments((attachments) =>
      atTime(0)(attachments.put("s1", { name: "plan.txt", mime: "text/plain", data: new Uint8Array(600_000) })),
    ),
    run: withAttachments((attachments) => attachments.clean()),
  },
  { name: "checkout", run: withHeads((heads) => heads.checkout("s1", "b2")) },
  { name: "undo", run: withHeads((heads) => heads.undo("s1")) },
  {
    name: "redo",
    prepare: withHeads((heads) => heads.undo("s1")),
    run: withHeads((heads) => heads.redo("s1")),
  },
  { name: "name a branch", run: withHeads((heads) => heads.nameBranch("s1", 2, "the other way")) },
  { name: "delete a branch", run: withHeads((heads) => heads.deleteBranch("s1", 2)) },
  { name: "delete the head's branch", run: withHeads((heads) => heads.deleteBranch("s1", 1, { moveTo: "b2" })) },
  {
    name: "delete what follows the head",
    prepare: withHeads((heads) => heads.checkout("s1", "m1")),
    run: withHeads((heads) => heads.deleteBranch("s1", 1)),
  },
  { name: "attach a branch", run: withHeads((heads) => heads.attach("s1", 2)) },
  { name: "attach a session", prepare: other, run: withHeads((heads) => heads.attach("s1", "s2")) },
  { name: "merge", prepare: linked, run: withHeads((heads) => heads.merge("s1", "link")) },
  {
    name: "unmerge",
    prepare: Effect.andThen(
      linked,
      withHeads((heads) => heads.merge("s1", "link")),
    ),
    run: withHeads((heads) => heads.unmerge("s1", "link")),
  },
  {
    name: "compact",
    run: Effect.flatMap(Effect.service(History), (history) =>
      history.compact("s1", { summary: "They talked.", keepFrom: "m3", operationId: "o1" }),
    ),
  },
  {
    name: "amend",
    prepare: withMessages((messages) => messages.appendMany("s1", [calling("c1", "call1"), result("r1", "call1")])),
    run: Effect.flatMap(Effect.service(History), (history) =>
      history.amend("s1", { message: "r1", archive: "It was found.", operationId: "o1" }),
    ),
  },
  { name: "create", run: withSessions((sessions) => sessions.create({ id: "s2", workspace: "/projects/two" })) },
  {
    name: "create with a first message",
    run: withSessions((sessions) => sessions.create({ id: "s2", workspace: "/projects/two", first: user("n1") })),
  },
  {
    name: "begin a turn",
    whenLost: endTurn,
    run: withTurns((turns) => turns.begin("s1", { prompt: user("p1") }, { turnId: "t1" })),
  },
  {
    name: "begin a turn with an edit",
    whenLost: endTurn,
    run: withTurns((turns) => turns.begin("s1", { edit: "m3", content: user("p1") }, { turnId: "t1" })),
  },
  {
    name: "begin a turn with an answer",
    whenLost: endTurn,
    prepare: waiting,
    run: withTurns((turns) => turns.begin("s1", { answer: result("r1", "call1") }, { turnId: "t2" })),
  },
  {
    name: "take a turn over",
    whenLost: endTurn,
    prepare: working,
    run: withTurns((turns) => turns.begin("s1", { prompt: user("p2") }, { turnId: "t2", takeOver: true })),
  },
  {
    name: "draft",
    prepare: withTurns((turns) => turns.begin("s1", { prompt: user("p1") }, { turnId: "t1" })),
    run: withTurns((turns) => turns.draft("s1", 1, assistant("d1"))),
  },
  {
    name: "settle a draft",
    prepare: working,
    run: withTurns((turns) => turns.settle("s1", 1, assistant("d1"))),
  },
  {
    name: "settle a large draft",
    prepare: working,
    run: withTurns((turns) =>
      turns.settle("s1", 1, { id: "d1", body: { role: "assistant", content: "x".repeat(70_000) } }),
    ),
  },
  {
    name: "apply an event of a turn",
    prepare: working,
    run: withTurns((turns) =>
      turns.project("s1", { epoch: 1, sequence: 1, id: "e1", data: "found" }, (event) => ({
        settle: assistant("d1"),
        entries: [result("r1", "call1")],
        draft: assistant("d2"),
        usage: spent("u1", 10),
        frame: { data: event.data },
      })),
    ),
  },
  {
    name: "finish a question",
    prepare: working,
    run: Effect.flatMap(Effect.service(QueryViews), (views) => views.finish("s1", { queryKey: "p1", epoch: 1 })),
  },
  {
    name: "end a turn",
    prepare: working,
    run: withTurns((turns) =>
      turns.end("s1", 1, {
        outcome: "completed",
        messages: [result("r1", "call1"), assistant("n1")],
        usage: [spent("u1", 10)],
      }),
    ),
  },
  {
    name: "end a turn that failed",
    prepare: working,
    run: withTurns((turns) => turns.end("s1", 1, { outcome: "failed", error: { message: "no connection" } })),
  },
  {
    name: "end a turn that waits",
    prepare: working,
    run: withTurns((turns) => turns.end("s1", 1, { outcome: "needs_input", calls: ["call1"] })),
  },
  {
    name: "enqueue",
    prepare: queued,
    run: withQueue((queue) => queue.enqueue("s1", user("q3"), { clientRequestId: "r3", placement: "front" })),
  },
  { name: "claim", prepare: queued, run: withQueue((queue) => queue.claim("s1")) },
  {
    name: "dispatch",
    whenLost: endTurn,
    prepare: queued,
    run: withQueue((queue) => queue.dispatch("s1", { turnId: "t1" })),
  },
  {
    name: "clear a queue",
    prepare: Effect.andThen(
      queued,
      withQueue((queue) => queue.pause("s1")),
    ),
    run: withQueue((queue) => queue.clear("s1")),
  },
  {
    name: "record a call",
    prepare: Effect.andThen(
      working,
      withUsage((usage) => usage.record("s1", spent("u1", 10), { epoch: 1 })),
    ),
    run: withUsage((usage) => usage.record("s1", spent("u2", 20), { epoch: 1 })),
  },
  {
    name: "record more of a call",
    prepare: Effect.andThen(
      working,
      withUsage((usage) => usage.record("s1", spent("u1", 10), { epoch: 1 })),
    ),
    run: withUsage((usage) => usage.record("s1", { ...spent("u1", 30), model: "gpt-5-mini" }, { epoch: 1 })),
  },
  {
    name: "rewind",
    prepare: Effect.andThen(
      queued,
      withQueue((queue) => queue.enqueue("s1", user("m3"))),
    ),
    run: withRewinds((rewinds) => rewinds.rewind("s1", "m3", { operationId: "o1" })),
  },
  {
    name: "rewind before a turn that waits",
    prepare: waiting,
    run: withRewinds((rewinds) => rewinds.rewind("s1", "p1")),
  },
  { name: "step beside a prompt", run: withRewinds((rewinds) => rewinds.edit("s1", "m3")) },
  { name: "rename", run: withSessions((sessions) => sessions.rename("s1", "Second")) },
]

/** What is done where a process has died that was running a turn: `working`, or nothing yet of what it was to do. */
export const successions: ReadonlyArray<Operation> = [
  {
    name: "recover",
    prepare: Effect.andThen(working, queued),
    run: Effect.flatMap(Effect.service(Maintenance), (maintenance) => maintenance.recover()),
  },
  {
    name: "rewind before what nobody runs",
    prepare: Effect.andThen(
      working,
      withQueue((queue) => queue.enqueue("s1", user("q1"), { requestedTurnId: "t1" })),
    ),
    // The turn stops, and then the head goes back, in this order.
    first: withTurns((turns) => turns.abort("s1", { reason: "rewind" })),
    run: withRewinds((rewinds) => rewinds.rewind("s1", "m3", { abortFirst: true, waitMs: 0 })),
  },
  { name: "abort what nobody runs", prepare: working, run: withTurns((turns) => turns.abort("s1")) },
  {
    name: "go on after a dead process",
    prepare: working,
    run: withTurns((turns) => turns.begin("s1", { prompt: user("p2") }, { turnId: "t2" })),
  },
  {
    name: "dispatch after a dead process",
    prepare: Effect.andThen(working, queued),
    run: withQueue((queue) => queue.dispatch("s1", { turnId: "t2" })),
  },
]
