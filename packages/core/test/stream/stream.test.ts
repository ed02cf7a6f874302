import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { layer, Maintenance, Messages, QueryViews, Sessions, Streams, Turns } from "../../src/index.ts"
import type { Services } from "../../src/index.ts"
import type { Frame, ResumeQuery } from "../../src/stream/service.ts"
import { inStore } from "../support/core-store.ts"
import { naive } from "../support/naive-backend.ts"

const tell = (frame: Frame): string => {
  switch (frame.kind) {
    case "durable-message":
      return `stored ${frame.data.message.id}`
    case "message-committed":
    case "messages-replaced":
      return `${frame.kind} ${frame.data.messages.map(({ id }) => id).join()}`
    case "session-status":
      return frame.data.status
    case "turn-terminal":
      return `end ${frame.data.outcome}`
    case "resync-required":
      return `resync ${frame.data.reason}`
    case "runtime-event":
      return frame.entry === undefined ? `event ${JSON.stringify(frame.data)}` : `draft ${frame.entry}`
    default:
      return frame.kind
  }
}

const resume = (query?: ResumeQuery, sessionId = "s") =>
  Stream.unwrap(Streams.use((streams) => Effect.succeed(streams.resume(sessionId, query))))

const answer = (body: string) => ({ id: "a1", role: "assistant" as const, body })

/** A store that several processes have open, on an engine that tells none of them what others commit. */
const processes = (count: number) =>
  Effect.gen(function* () {
    const engine = naive()
    const opened: Array<Context.Context<Services>> = []
    for (let i = 0; i < count; i++) {
      opened.push(yield* Layer.build(Layer.fresh(Layer.provide(layer(), engine.layer))))
    }
    yield* Effect.provide(
      Sessions.use((sessions) => sessions.create({ id: "s" })),
      opened[0]!,
    )
    return opened as unknown as readonly [Context.Context<Services>, Context.Context<Services>]
  })

/** What a reader is told, as it comes. */
const listening = (query?: ResumeQuery) =>
  Effect.gen(function* () {
    const told: Array<string> = []
    const note = Stream.runForEach(resume(query), (frame) => Effect.sync(() => void told.push(tell(frame))))
    const fiber = yield* Effect.forkChild(note, { startImmediately: true })
    return { told, fiber }
  })

/** Lets everything run that needs no time. */
const quiet = Effect.promise(() => new Promise<void>((resume) => void setTimeout(resume, 0)))
const pass = (ms: number) => Effect.andThen(TestClock.adjust(ms), quiet)

const prompt = { prompt: { id: "u1", role: "user" as const, body: "Hello" } }

describe("a reader in another process", () => {
  it.effect("STR-10 looks every five seconds where the engine gives no hints", () =>
    Effect.gen(function* () {
      const [here, there] = yield* processes(2)
      yield* Effect.gen(function* () {
        const { fiber, told } = yield* listening()
        yield* quiet
        assert.deepStrictEqual(told, [])
        // Nothing ran, so that there is nothing to follow.
        yield* Fiber.join(fiber)
      }).pipe(Effect.provide(there))
      const { turn } = yield* Effect.provide(
        Turns.use((turns) => turns.begin("s", prompt)),
        here,
      )
      const { fiber, told } = yield* Effect.provide(listening(), there)
      yield* quiet
      assert.deepStrictEqual(told, ["stored u1"])
      yield* Effect.provide(
        Turns.use((turns) => turns.draft("s", turn.epoch, answer("H"))),
        here,
      )
      yield* pass(4_999)
      assert.deepStrictEqual(told, ["stored u1"])
      yield* pass(1)
      assert.deepStrictEqual(told, ["stored u1", "draft a1"])
      yield* pass(5_000)
      yield* Effect.provide(
        Turns.use((turns) => turns.end("s", turn.epoch, { outcome: "completed" })),
        here,
      )
      yield* pass(5_000)
      assert.deepStrictEqual(told, ["stored u1", "draft a1", "stored a1", "end completed"])
      yield* Fiber.join(fiber)
    }).pipe(Effect.scoped),
  )

  it.effect("STR-10 does not wait for an owner that shows no sign of life for two leases", () =>
    Effect.gen(function* () {
      const [here, there] = yield* processes(2)
      const own = Effect.provide(here)
      const { turn } = yield* own(Turns.use((turns) => turns.begin("s", prompt)))
      for (const where of [here, there]) {
        const { fiber, told } = yield* Effect.provide(listening(), where)
        yield* pass(50_000)
        yield* own(Turns.use((turns) => turns.heartbeat("s", turn.epoch)))
        yield* pass(55_000)
        assert.deepStrictEqual(told, ["stored u1"])
        yield* pass(10_000)
        assert.deepStrictEqual(told, ["stored u1", "resync owner-gone"])
        yield* Fiber.join(fiber)
      }
    }).pipe(Effect.scoped),
  )

  it.effect("STR-10 has the end of a dead turn from recovery", () =>
    Effect.gen(function* () {
      const [here, there] = yield* processes(2)
      yield* Effect.provide(
        Turns.use((turns) => turns.begin("s", prompt)),
        here,
      )
      const { fiber, told } = yield* Effect.provide(listening(), there)
      const recover = Effect.provide(
        Maintenance.use((maintenance) => maintenance.recover()),
        there,
      )
      // An owner on another host is watched for one lease before it is given up.
      yield* recover
      yield* pass(30_000)
      yield* recover
      yield* quiet
      assert.deepStrictEqual(told, ["stored u1", "interrupted", "end interrupted"])
      yield* Fiber.join(fiber)
    }).pipe(Effect.scoped),
  )

  it.effect("STR-04 a reservation is told that its turn was ended elsewhere", () =>
    Effect.gen(function* () {
      const [here, there] = yield* processes(2)
      yield* Effect.gen(function* () {
        const reservation = yield* Streams.use((streams) => streams.reserve("s"))
        const { turn } = yield* Turns.use((turns) => turns.begin("s", prompt))
        yield* reservation.bindTurn(turn.id)
        const told: Array<string> = []
        const fiber = yield* Effect.forkChild(
          Stream.runForEach(reservation.frames, (frame) => Effect.sync(() => void told.push(tell(frame)))),
        )
        yield* pass(5_000)
        assert.deepStrictEqual(told, ["running", "message-committed u1"])
        yield* Effect.provide(
          Turns.use((turns) => turns.begin("s", { prompt: { role: "user", body: "Again" } }, { takeOver: true })),
          there,
        )
        yield* pass(5_000)
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(told, ["running", "message-committed u1", "resync elsewhere"])
      }).pipe(Effect.provide(here))
    }).pipe(Effect.scoped),
  )
})

describe("the rings of a process", () => {
  it.effect("STR-01 are those that were used last, and of one that is gone every cursor is", () =>
    inStore(() =>
      Effect.gen(function* () {
        const streams = yield* Streams
        for (const id of ["s", "read"]) yield* Sessions.use((sessions) => sessions.create({ id }))
        const publish = (sessionId: string) => streams.publish(sessionId, { data: 1 })
        const first = yield* publish("s")
        const reservation = yield* streams.reserve("read")
        for (let i = 1; i <= 999; i++) yield* publish(`other-${i}`)
        assert.deepStrictEqual((yield* Stream.runCollect(resume({ afterCursor: first }))).map(tell), [])
        for (let i = 1; i <= 1_000; i++) yield* publish(`another-${i}`)
        assert.deepStrictEqual((yield* Stream.runCollect(resume({ afterCursor: first }))).map(tell), ["resync evicted"])
        const again = yield* publish("s")
        assert.deepStrictEqual((yield* Stream.runCollect(resume({ afterCursor: again }))).map(tell), [])
        assert.deepStrictEqual((yield* Stream.runCollect(resume({ afterCursor: first }))).map(tell), ["resync evicted"])
        yield* publish("read")
        const read = yield* Stream.runCollect(resume({ afterCursor: reservation.cursor }, "read"))
        assert.deepStrictEqual(read.map(tell), ["event 1"])
      }).pipe(Effect.scoped),
    ),
  )

  it.effect("STO-10 end their readers when the store is closed", () =>
    Effect.gen(function* () {
      const life = yield* Scope.make()
      const services = yield* Layer.buildWithScope(Layer.provide(layer(), naive().layer), life)
      const streams = Context.get(services, Streams)
      yield* Effect.provide(
        Sessions.use((sessions) => sessions.create({ id: "s" })),
        services,
      )
      yield* Effect.provide(
        Turns.use((turns) => turns.begin("s", prompt)),
        services,
      )
      const reservation = yield* streams.reserve("s")
      yield* reservation.bindTurn("t")
      const readers = [streams.resume("s"), reservation.frames].map((frames) =>
        Effect.forkChild(Stream.runCollect(frames), { startImmediately: true }),
      )
      const fibers = yield* Effect.all(readers)
      yield* quiet
      yield* Scope.close(life, Exit.void)
      const [resumed, reserved] = yield* Effect.all(fibers.map(Fiber.join))
      assert.deepStrictEqual(resumed!.map(tell), ["stored u1"])
      assert.deepStrictEqual(reserved!.map(tell), [])
    }).pipe(Effect.scoped),
  )

  it.effect("STR-07 tell of messages that were replaced, of events, and of the views of questions", () =>
    inStore(() =>
      Effect.gen(function* () {
        const [messages, streams, turns, views] = [yield* Messages, yield* Streams, yield* Turns, yield* QueryViews]
        yield* Sessions.use((sessions) => sessions.create({ id: "s" }))
        const reservation = yield* streams.reserve("s")
        const submission = { sessionId: "s", messageKey: "k", turn: "never-began" }
        yield* messages.commitUserMessage({ ...submission, body: "one" })
        yield* messages.commitUserMessage({ ...submission, body: "two" })
        const { turn } = yield* turns.begin("s", prompt, { turnId: "t" })
        const event = { epoch: turn.epoch, sequence: 1, id: "e1", data: "x" }
        for (let i = 0; i < 2; i++)
          yield* turns.project("s", event, ({ data }) => ({ frame: { data: { said: data } } }))
        yield* views.start("s", { queryKey: "q", epoch: turn.epoch })
        yield* turns.end("s", turn.epoch, { outcome: "completed" })
        const frames = yield* Stream.runCollect(resume({ afterCursor: reservation.cursor }))
        assert.deepStrictEqual(
          frames.map((frame) => tell(frame).replace(/msg-\S+/, "k")),
          [
            "message-committed k",
            "messages-replaced k",
            "running",
            "message-committed u1",
            'event {"said":"x"}',
            "query-view",
            "query-view",
            "idle",
            "end completed",
          ],
        )
        assert.strictEqual(frames[4]!.id, "event.t.e1")
        const view = frames[5]!
        assert.isTrue(view.kind === "query-view" && view.data.queryKey === "q" && view.data.state === "running")
      }).pipe(Effect.scoped),
    ),
  )
})
