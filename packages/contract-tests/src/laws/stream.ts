/**
 * Laws of the live stream: what readers get, from wherever they go on.
 */
import { coreSchema, Skein } from "@skein/core"
import { Messages } from "@skein/core/message"
import { Relay, Streams } from "@skein/core/stream"
import type { Frame, RelayService, ResumeQuery, Terminal } from "@skein/core/stream"
import { Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import { check, equal } from "../equal.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { openServices, withServices } from "../services.ts"
import { requireWatch } from "../watching.ts"
import { begin, checkout, pathOf, said, say, sayAll, session } from "./conversation.ts"

/** Begins a turn that answers a prompt; the turn's id is `t` and its prompt's. */
const beginTurn = (sessionId: string, prompt: string) =>
  Effect.map(
    Turns.use((turns) => turns.begin(sessionId, { prompt: said(prompt) }, { turnId: `t-${prompt}` })),
    ({ turn }) => turn,
  )

const text = (id: string, content: string) => ({ id, role: "assistant" as const, body: { role: "assistant", content } })

const settle = (sessionId: string, epoch: number, id: string, content = id) =>
  Turns.use((turns) => turns.settle(sessionId, epoch, text(id, content)))
const draft = (sessionId: string, epoch: number, id: string, content: string) =>
  Turns.use((turns) => turns.draft(sessionId, epoch, text(id, content)))
const end = (sessionId: string, epoch: number) =>
  Turns.use((turns) => turns.end(sessionId, epoch, { outcome: "completed" }))

const publish = (sessionId: string, data: unknown, more: { readonly turn?: string; readonly id?: string } = {}) =>
  Streams.use((streams) => streams.publish(sessionId, { data, ...more }))
const delta = (sessionId: string, turn: string, entry: string, offset: number, data: string) =>
  Streams.use((streams) => streams.publish(sessionId, { turn, entry, offset, data }))

/** Events numbered from `first`, and the cursor of each. */
const publishMany = (sessionId: string, turn: string, first: number, count: number) =>
  Streams.use((streams) =>
    Effect.forEach(
      Array.from({ length: count }, (_, i) => first + i),
      (data) => streams.publish(sessionId, { data, turn }),
    ),
  )

const resume = (sessionId: string, query?: ResumeQuery) =>
  Stream.unwrap(Streams.use((streams) => Effect.succeed(streams.resume(sessionId, query))))
const all = (sessionId: string, query?: ResumeQuery) => Stream.runCollect(resume(sessionId, query))
const readers = (sessionId: string) => Streams.use((streams) => streams.readers(sessionId))

/** What a frame says, in a few words. */
const tell = (frame: Frame): string => {
  const contentOf = (display: unknown) => (display as { readonly content: string }).content
  switch (frame.kind) {
    case "durable-message":
      return `stored ${frame.data.message.id}`
    case "message-committed":
      return `committed ${frame.data.messages.map(({ id }) => id).join()}`
    case "messages-replaced":
      return `replaced ${frame.data.messages.map(({ id }) => id).join()}`
    case "messages-rewound":
      return `rewound to ${frame.data.to}`
    case "session-status":
      return frame.data.status
    case "turn-terminal":
      return `end of ${frame.turn}: ${frame.data.outcome}`
    case "resync-required":
      return `resync: ${frame.data.reason}`
    case "runtime-event":
      if (frame.entry === undefined) return `event ${JSON.stringify(frame.data)}`
      if (frame.offset === undefined) return `draft ${frame.entry} ${contentOf(frame.data.message.display)}`
      return `delta ${frame.entry} ${frame.offset} ${JSON.stringify(frame.data)}`
    default:
      return frame.kind
  }
}
const told = (frames: ReadonlyArray<Frame>) => frames.map(tell)

/** A reader that is asked for frames one at a time. */
const reading = <E, R>(stream: Stream.Stream<Frame, E, R>) =>
  Effect.map(Stream.toPull(stream), (pull) => {
    const got: Array<Frame> = []
    /** The next frame; `undefined` at the end. */
    const next: Effect.Effect<Frame | undefined, E, R> = Effect.suspend(() => {
      if (got.length > 0) return Effect.succeed(got.shift())
      return Pull.matchEffect(pull, {
        onSuccess: (chunk) => {
          got.push(...chunk)
          return next
        },
        onFailure: (cause) => Effect.failCause(cause),
        onDone: () => Effect.undefined,
      })
    })
    const take = (count: number) =>
      Effect.map(
        Effect.forEach(Array.from({ length: count }), () => next),
        (frames) => frames.map((frame) => (frame === undefined ? "over" : tell(frame))),
      )
    return { next, take }
  })

/** What somebody shows who has these messages, after the frames: ids and texts in order. */
const fold = (shown: ReadonlyArray<readonly [string, string]>, frames: ReadonlyArray<Frame>) => {
  const messages = new Map(shown)
  const contentOf = (display: unknown) => (display as { readonly content: string }).content
  for (const frame of frames) {
    if (frame.kind === "durable-message") messages.set(frame.data.message.id, contentOf(frame.data.message.display))
    if (frame.kind === "message-committed") {
      for (const { display, id } of frame.data.messages) messages.set(id, contentOf(display))
    }
    if (frame.kind !== "runtime-event" || frame.entry === undefined) continue
    if (frame.offset === undefined) messages.set(frame.entry, contentOf(frame.data.message.display))
    else messages.set(frame.entry, (messages.get(frame.entry) ?? "").slice(0, frame.offset) + String(frame.data))
  }
  return [...messages]
}

/** The ids of the messages that a frame gives as they stay. */
const idsIn = (frame: Frame): ReadonlyArray<string> => {
  if (frame.kind === "durable-message") return [frame.data.message.id]
  return frame.kind === "message-committed" ? frame.data.messages.map(({ id }) => id) : []
}

export const streamLaws: ReadonlyArray<Law> = [
  law(
    "STR-05 a reader gets what is stored behind its message, what is kept, and what comes, and ends with the turn",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        yield* sayAll("s", ["u0", "a0"])
        const { epoch, id: turn } = yield* beginTurn("s", "u1")
        yield* publish("s", "thinking", { turn })
        const { next, take } = yield* reading(resume("s", { afterMessage: "u0" }))
        equal(yield* take(3), ["stored a0", "stored u1", 'event "thinking"'])
        equal(yield* readers("s"), 1, "the number of readers")
        yield* draft("s", epoch, "a1", "H")
        equal(yield* take(1), ["draft a1 H"])
        yield* draft("s", epoch, "a1", "Hi")
        yield* settle("s", epoch, "a1", "Hi!")
        yield* end("s", epoch)
        equal(
          yield* take(3),
          ["committed a1", "idle", "end of t-u1: completed"],
          "without the draft that was never asked for",
        )
        equal(yield* next, undefined)
      }).pipe(Effect.scoped, withServices(store)),
  ),

  law("STR-05 without a turn that runs a stream ends at once, with the end of the last turn", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      equal(told(yield* all("s")), [])
      equal(told(yield* all("s", { afterMessage: null })), [])
      yield* sayAll("s", ["u0", "a0"])
      equal(told(yield* all("s", { afterMessage: null })), ["stored u0", "stored a0"])
      equal(told(yield* all("s", { afterMessage: "u0" })), ["stored a0"])
      const { epoch } = yield* beginTurn("s", "u1")
      yield* settle("s", epoch, "a1")
      yield* Turns.use((turns) => turns.end("s", epoch, { outcome: "failed", error: { message: "no" } }))
      const frames = yield* all("s", { afterMessage: "a0" })
      equal(told(frames), ["stored u1", "stored a1", "end of t-u1: failed"])
      const last = frames.at(-1)!
      equal(last.live, false)
      check(last.kind === "turn-terminal" && last.data.error?.message === "no", "the end must say why")
      const { duration, endedAt, startedAt } = last.data as Terminal
      equal(duration, endedAt! - startedAt, "how long the turn ran")
      equal(told(yield* all("s")), ["end of t-u1: failed"])
      equal(told(yield* all("s", { afterMessage: "a1" })), ["end of t-u1: failed"])
      equal(yield* readers("s"), 0)
    }).pipe(withServices(store)),
  ),

  law("STR-05 an anchor that leads nowhere gives exactly one resync, and the end", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* begin("other")
      yield* sayAll("s", ["u0", "a0", "u1", "a1"])
      yield* sayAll("other", ["u-other"])
      yield* checkout("s", "a0")
      for (const [query, reason] of [
        [{ afterMessage: "nobody" }, "missing"],
        [{ afterMessage: "../x" }, "invalid"],
        [{ afterMessage: "u-other" }, "missing"],
        [{ afterMessage: "a1" }, "rewound"],
        [{ afterCursor: "x" }, "invalid"],
        [{ afterCursor: "" }, "invalid"],
      ] as const) {
        equal(told(yield* all("s", query)), [`resync: ${reason}`], JSON.stringify(query))
      }
      for (const query of [{ afterMessage: "u0", afterCursor: "x" }, { afterMessage: 5 }, { behind: "u0" }]) {
        equal(yield* outcomeOf(all("s", query as never)), { failed: "InvalidInput" }, JSON.stringify(query))
      }
      equal(yield* outcomeOf(all("nobody")), { failed: "SessionNotFound" })
      equal(yield* outcomeOf(all("no such id")), { failed: "InvalidInput" })
      equal(yield* readers("s"), 0)
    }).pipe(withServices(store)),
  ),

  law("STR-05 1,201 stored messages come in order, page by page, while the turn goes on", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      const ids = Array.from({ length: 1_200 }, (_, i) => `${i % 2 === 0 ? "u" : "a"}${i}`)
      yield* begin("s")
      for (let i = 0; i < ids.length; i += 400) yield* messages.appendMany("s", ids.slice(i, i + 400).map(said))
      const { epoch } = yield* beginTurn("s", "u-last")
      const { next } = yield* reading(resume("s", { afterMessage: "u0" }))
      const first = yield* next
      yield* settle("s", epoch, "a-last")
      yield* end("s", epoch)
      const given = [first!]
      for (let frame = yield* next; frame !== undefined; frame = yield* next) given.push(frame)
      equal(given.flatMap(idsIn), [...ids.slice(1), "u-last", "a-last"])
      equal(tell(given.at(-1)!), "end of t-u-last: completed")
    }).pipe(Effect.scoped, withServices(store)),
  ),

  law("STR-05 a reader that lost its connection at any frame goes on behind it, and has everything once", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ["u0", "a0"])
      const { epoch, id: turn } = yield* beginTurn("s", "u1")
      yield* publish("s", 1, { turn })
      yield* settle("s", epoch, "a1")
      yield* publish("s", 2, { turn })
      const whole = yield* Effect.forkChild(all("s", { afterMessage: "u0" }), { startImmediately: true })
      const first = yield* Effect.forkChild(Stream.runCollect(Stream.take(resume("s", { afterMessage: "u0" }), 5)), {
        startImmediately: true,
      })
      const start = yield* Fiber.join(first)
      yield* settle("s", epoch, "a2")
      yield* end("s", epoch)
      const expected = told(yield* Fiber.join(whole))
      equal(expected, [
        "stored a0",
        "stored u1",
        "stored a1",
        "event 1",
        "event 2",
        "committed a2",
        "idle",
        "end of t-u1: completed",
      ])
      for (const [i, { cursor }] of start.entries()) {
        const rest = yield* all("s", { afterCursor: cursor })
        const messages = [...start.slice(0, i + 1), ...rest].flatMap(idsIn)
        equal(messages, ["a0", "u1", "a1", "a2"], `messages after frame ${i}`)
        const events = told([...start.slice(0, i + 1), ...rest]).filter((one) => one.startsWith("event"))
        equal(events, ["event 1", "event 2"], `events after frame ${i}`)
        equal(tell(rest.at(-1)!), "end of t-u1: completed", `the end after frame ${i}`)
      }
    }).pipe(withServices(store)),
  ),

  law("A65 resuming repeats no answer that is stored, and the new one grows on its own", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const first = yield* beginTurn("s", "u1")
      yield* settle("s", first.epoch, "a1")
      yield* publish("s", "of the first turn", { turn: first.id })
      yield* end("s", first.epoch)
      const { epoch, id: turn } = yield* beginTurn("s", "u2")
      yield* publish("s", { type: "start", message: "a2" }, { turn })
      yield* delta("s", turn, "a2", 0, "He")
      yield* delta("s", turn, "a2", 2, "y")
      const readings = [{ afterMessage: "a1" }, undefined].map((query) => Effect.forkChild(all("s", query)))
      const fibers = yield* Effect.all(readings)
      while ((yield* readers("s")) < 2) yield* Effect.yieldNow
      yield* settle("s", epoch, "a2", "Hey")
      yield* end("s", epoch)
      for (const fiber of fibers) {
        const frames = yield* Fiber.join(fiber)
        const expected = [["u1", "u1"] as const, ["a1", "a1"] as const, ["u2", "u2"] as const, ["a2", "Hey"] as const]
        equal(fold(expected.slice(0, 2), frames), expected)
        equal(frames.flatMap(idsIn), ["u2", "a2"], "messages that come as they stay")
        check(
          frames.every((frame) => frame.turn === undefined || frame.turn === turn),
          "no frame may be of another turn",
        )
      }
    }).pipe(withServices(store)),
  ),

  law("STR-05 what was published before the anchor, or before the turn, comes to nobody who is behind it", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* publish("s", "before the turn")
      const { epoch, id: turn } = yield* beginTurn("s", "u1")
      yield* publish("s", "before the answer", { turn })
      yield* settle("s", epoch, "a1")
      yield* publish("s", "behind the answer", { turn })
      yield* publish("s", "of the session")
      const behind = ['event "behind the answer"', 'event "of the session"']
      const readings = [
        [{ afterMessage: "a1" }, behind],
        [undefined, ["stored u1", "stored a1", 'event "before the answer"', ...behind]],
      ] as const
      for (const [query, expected] of readings) {
        const { take } = yield* reading(resume("s", query))
        equal(yield* take(expected.length), expected, JSON.stringify(query))
      }
    }).pipe(Effect.scoped, withServices(store)),
  ),

  law("STR-05 a draft that the reader has comes again until it is settled, also where it is the anchor", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const { epoch } = yield* beginTurn("s", "u1")
      yield* draft("s", epoch, "a1", "H")
      const { take } = yield* reading(resume("s", { afterMessage: "a1" }))
      equal(yield* take(1), ["draft a1 H"])
      yield* settle("s", epoch, "a1", "Hi")
      yield* Turns.use((turns) => turns.end("s", epoch, { outcome: "completed" }))
      equal(yield* take(4), ["committed a1", "idle", "end of t-u1: completed", "over"])
    }).pipe(Effect.scoped, withServices(store)),
  ),

  law("A66 STR-01 STR-03 a cursor whose frames are gone gives one resync, any other exactly what follows it", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* begin("other")
      const { epoch, id: turn } = yield* beginTurn("s", "u1")
      const cursors = yield* publishMany("s", turn, 1, 2_506)
      const after = (n: number) => ({ afterCursor: cursors[n - 1]! })
      equal(told(yield* all("s", after(5))), ["resync: evicted"])
      equal(told(yield* all("s", after(505))), ["resync: evicted"])
      const kept = yield* Stream.runCollect(Stream.take(resume("s", after(506)), 2_000))
      equal(
        kept.map(({ data }) => data),
        Array.from({ length: 2_000 }, (_, i) => 507 + i),
      )
      equal(
        kept.map(({ cursor }) => cursor),
        cursors.slice(506),
      )
      const live = yield* reading(resume("s", after(2_506)))
      const made = cursors[2_505]!.replace(/\.\d+\./, ".9999999.")
      for (const [cursor, reason] of [
        [made, "invalid"],
        ["x", "invalid"],
        [yield* publish("other", 1), "other-session"],
      ] as const) {
        equal(told(yield* all("s", { afterCursor: cursor })), [`resync: ${reason}`], cursor)
      }
      const next = yield* Effect.forkChild(live.next, { startImmediately: true })
      yield* publish("s", "new", { turn })
      equal(tell((yield* Fiber.join(next))!), 'event "new"', "of what is live, the next frame")
      yield* end("s", epoch)
      equal(yield* live.take(3), ["idle", "end of t-u1: completed", "over"])
    }).pipe(Effect.scoped, withServices(store)),
  ),

  law(
    "A66 STR-01 the same when frames were let go of for their bytes, and for fewer frames where so configured",
    (store) =>
      Effect.gen(function* () {
        const mebibyte = "x".repeat(1_024 * 1_024)
        /** How many of the cursors of 10 frames lead nowhere when their turn has ended. */
        const lost = (ring: { readonly frames?: number; readonly bytes?: number }, data: string) =>
          Effect.gen(function* () {
            const id = `s${ring.frames ?? 0}-${ring.bytes ?? 0}`
            yield* begin(id)
            const { epoch, id: turn } = yield* beginTurn(id, `u${id}`)
            const cursors = yield* Effect.forEach(Array.from({ length: 10 }), () => publish(id, data, { turn }))
            yield* end(id, epoch)
            const found = yield* Effect.forEach(cursors, (afterCursor) => all(id, { afterCursor }))
            for (const [i, frames] of found.entries()) {
              const isLost = tell(frames[0]!) === "resync: evicted"
              equal(frames.length, isLost ? 1 : 9 - i + 2, `frames behind cursor ${i}`)
            }
            return found.filter(([frame]) => frame?.kind === "resync-required").length
          }).pipe(withServices(store, { ring }))
        // Each frame is a little more than its data, and two come with the end of the turn.
        equal(yield* lost({}, mebibyte), 2, "with frames of 1 MiB, of which 7 are kept")
        equal(yield* lost({ frames: 5 }, "x"), 6, "where 5 frames are kept")
        equal(yield* lost({ bytes: 4_096 }, "x".repeat(1_000)), 7, "with frames of 1 kB where 4 kB are kept")
        for (const ring of [
          { frames: 0 },
          { frames: 2_001 },
          { bytes: 100 },
          { bytes: 8 * 1_024 * 1_024 + 1 },
          { size: 1 },
        ]) {
          equal(yield* outcomeOf(begin("x").pipe(withServices(store, { ring } as never))), { failed: "InvalidInput" })
        }
      }),
  ),

  law(
    "A67 two readers, one in the middle and one that reserved all get the whole end of a turn that nobody watched",
    (store) =>
      Effect.gen(function* () {
        const streams = yield* Streams
        yield* begin("s")
        const reservation = yield* streams.reserve("s")
        const { epoch, id: turn } = yield* beginTurn("s", "u1")
        const cursors = yield* publishMany("s", turn, 1, 10)
        yield* end("s", epoch)
        const ended = ["idle", "end of t-u1: completed"]
        const events = (from: number) => Array.from({ length: 11 - from }, (_, i) => `event ${from + i}`)
        yield* reservation.bindTurn(turn)
        equal(told(yield* Stream.runCollect(reservation.frames)), ["running", "committed u1", ...events(1), ...ended])
        yield* reservation.close
        const start = { afterCursor: reservation.cursor }
        const both = yield* Effect.all([all("s", start), all("s", start)], { concurrency: "unbounded" })
        for (const frames of both) equal(told(frames), ["running", "committed u1", ...events(1), ...ended])
        equal(told(yield* all("s", { afterCursor: cursors[6]! })), [...events(8), ...ended])
        equal(told(yield* all("s", { afterCursor: both[0].at(-1)!.cursor })), [], "behind the end")
      }).pipe(Effect.scoped, Effect.andThen(Effect.map(readers("s"), (count) => equal(count, 0))), withServices(store)),
  ),

  law("STR-01 of the drafts of a message the newest is kept, and however many there are nothing else goes", (store) =>
    Effect.gen(function* () {
      const turns = yield* Turns
      yield* begin("s")
      const { cursor } = yield* Streams.use((streams) => streams.reserve("s"))
      yield* turns.run("s", { prompt: said("u1") }, (turn) =>
        Effect.gen(function* () {
          yield* turn.publish("first")
          for (let i = 1; i <= 1_000; i++) yield* turn.draft({ role: "assistant", body: { content: `${i}` } })
          yield* turn.publish("last")
          const { take } = yield* reading(resume("s", { afterCursor: cursor }))
          const frames = yield* take(5)
          equal(
            frames.map((one) => one.replace(/draft \S+/, "draft")),
            ["running", "committed u1", 'event "first"', "draft 1000", 'event "last"'],
          )
        }),
      )
    }).pipe(Effect.scoped, withServices(store, { ring: { frames: 10 } })),
  ),

  law(
    "STR-01 one frame larger than all that is kept is a resync for who is there, and nothing for who comes later",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        const { id: turn } = yield* beginTurn("s", "u1")
        const before = yield* publish("s", "before", { turn })
        const there = yield* reading(resume("s"))
        equal(yield* there.take(2), ["stored u1", 'event "before"'])
        const cursor = yield* publish("s", "x".repeat(10_000), { turn })
        yield* publish("s", "after", { turn })
        equal(yield* there.take(2), ["resync: too-large", "over"])
        equal(told(yield* all("s", { afterCursor: before })), ["resync: too-large"])
        const behind = yield* reading(resume("s", { afterCursor: cursor }))
        equal(yield* behind.take(1), ['event "after"'])
        const later = yield* reading(resume("s", { afterMessage: "u1" }))
        equal(yield* later.take(2), ['event "before"', 'event "after"'])
      }).pipe(Effect.scoped, withServices(store, { ring: { bytes: 4_096 } })),
  ),

  law(
    "STR-02 a frame says what it is of, and one that is published again while it is kept is the same frame",
    (store) =>
      Effect.gen(function* () {
        const streams = yield* Streams
        yield* begin("s")
        const { epoch, id: turn } = yield* beginTurn("s", "u1")
        const { cursor: start } = yield* streams.reserve("s")
        const mine = yield* publish("s", { a: ["\0", "\ud83d", 1e21] }, { turn, id: "mine" })
        equal(yield* publish("s", "something else", { turn, id: "mine" }), mine)
        const asked = yield* streams.publish("s", { kind: "action-required", turn, data: { tool: "rm" } })
        equal(yield* publish("s", "by its cursor", { turn, id: asked }), asked)
        const data = { nested: { list: [1] } }
        yield* publish("s", data, { turn })
        data.nested.list.push(2)
        yield* end("s", epoch)
        const { revision } = yield* session("s")
        const frames = yield* all("s", { afterCursor: start })
        const [first, second, third, status, last] = frames
        equal(frames.length, 5)
        const common = { sessionId: "s", turn, live: true, createdAt: 0 }
        equal(
          [first, second, third].map((frame) => ({ ...frame, createdAt: 0 })),
          [
            { ...common, id: "mine", kind: "runtime-event", cursor: mine, data: { a: ["\0", "\ud83d", 1e21] } },
            { ...common, id: asked, kind: "action-required", cursor: asked, data: { tool: "rm" } },
            {
              ...common,
              id: third!.cursor,
              kind: "runtime-event",
              cursor: third!.cursor,
              data: { nested: { list: [1] } },
            },
          ],
        )
        equal([status?.kind, status?.turn, status?.revision], ["session-status", undefined, revision])
        equal([last?.kind, last?.turn, last?.revision], ["turn-terminal", turn, revision])
        check(
          frames.every(({ createdAt }) => Number.isSafeInteger(createdAt)),
          "every frame must have a time",
        )
      }).pipe(Effect.scoped, withServices(store)),
  ),

  law("STR-02 what is no frame is refused by name, and nobody hears of it", (store) =>
    Effect.gen(function* () {
      const streams = yield* Streams
      yield* begin("s")
      const reservation = yield* streams.reserve("s")
      for (const [field, frame] of [
        ["frame.data", { data: undefined }],
        ["frame.data.at", { data: { at: new Date(0) } }],
        ["frame.data[0]", { data: [Number.NaN] }],
        ["frame.kind", { data: 1, kind: "turn-terminal" }],
        ["frame.turn", { data: 1, turn: "../x" }],
        ["frame.id", { data: 1, id: "" }],
        ["frame.offset", { data: 1, entry: "a1", offset: -1 }],
        ["frame.offset", { data: 1, entry: "a1", offset: 1.5 }],
        ["frame", { data: 1, entry: "a1" }],
        ["frame", { data: 1, offset: 1 }],
        ["frame.kind", { data: 1, entry: "a1", offset: 1, kind: "action-required" }],
        ["frame.colour", { data: 1, colour: "red" }],
        ["frame", undefined],
      ] as const) {
        const error = yield* Effect.flip(streams.publish("s", frame as never))
        equal({ tag: error._tag, field: error.field }, { tag: "InvalidInput", field }, JSON.stringify(frame))
      }
      equal(yield* outcomeOf(streams.publish("../x", { data: 1 })), { failed: "InvalidInput" })
      yield* reservation.complete
      equal(told(yield* Stream.runCollect(reservation.frames)), [])
    }).pipe(Effect.scoped, withServices(store)),
  ),

  law("STR-03 a cursor of an earlier life of the process is never taken for a current one", (store) =>
    Effect.gen(function* () {
      const life = Effect.gen(function* () {
        const { cursor } = yield* Streams.use((streams) => streams.reserve("s"))
        return [cursor, yield* publish("s", 1), ...(yield* all("s", { afterMessage: "u1" })).map((one) => one.cursor)]
      }).pipe(Effect.scoped)
      const cursors = yield* Effect.gen(function* () {
        yield* begin("s")
        yield* sayAll("s", ["u1", "a1"])
        const { epoch } = yield* beginTurn("s", "u2")
        yield* end("s", epoch)
        return yield* life
      }).pipe(withServices(store))
      check(cursors.length > 4, "there must be cursors of every kind")
      yield* Effect.gen(function* () {
        yield* life
        for (const afterCursor of cursors) {
          equal(told(yield* all("s", { afterCursor })), ["resync: other-life"], afterCursor)
        }
      }).pipe(withServices(store))
    }),
  ),

  law(
    "STR-04 a reservation keeps what comes before it is known which turn it is for, and gives that turn's and the session's",
    (store) =>
      Effect.gen(function* () {
        const streams = yield* Streams
        yield* begin("s")
        yield* say("s", "u0")
        const first = yield* beginTurn("s", "u1")
        const reservation = yield* streams.reserve("s")
        const { next, take } = yield* reading(reservation.frames)
        const early = yield* Effect.forkChild(next, { startImmediately: true })
        yield* publish("s", "of the first turn", { turn: first.id })
        yield* publish("s", "of the session")
        yield* end("s", first.epoch)
        yield* checkout("s", "u0")
        const { epoch, id: turn } = yield* beginTurn("s", "u2")
        yield* publish("s", "of the second turn", { turn })
        yield* Effect.yieldNow
        equal(early.pollUnsafe(), undefined, "what a reservation gives before it is bound")
        yield* reservation.bindTurn(turn)
        yield* reservation.bindTurn(turn)
        equal(yield* outcomeOf(reservation.bindTurn(first.id)), { failed: "InvalidInput" })
        equal(yield* outcomeOf(reservation.bindTurn("../x")), { failed: "InvalidInput" })
        equal(tell((yield* Fiber.join(early))!), 'event "of the session"')
        equal(yield* take(5), ["idle", "rewound to u0", "running", "committed u2", 'event "of the second turn"'])
        yield* settle("s", epoch, "a2")
        yield* end("s", epoch)
        equal(yield* take(4), ["committed a2", "idle", "end of t-u2: completed", "over"])
      }).pipe(Effect.scoped, withServices(store)),
  ),

  law("STR-04 a reservation that is completed ends with what has come, one that is closed ends at once", (store) =>
    Effect.gen(function* () {
      const streams = yield* Streams
      yield* begin("s")
      const [completed, closed, unbound, left] = [
        yield* streams.reserve("s"),
        yield* streams.reserve("s"),
        yield* streams.reserve("s"),
        yield* Effect.scoped(streams.reserve("s")),
      ]
      equal(yield* readers("s"), 3, "reservations that are open")
      const { id: turn } = yield* beginTurn("s", "u1")
      for (const one of [completed, closed]) yield* one.bindTurn(turn)
      yield* completed.complete
      yield* closed.close
      yield* unbound.complete
      yield* publish("s", "too late", { turn })
      equal(told(yield* Stream.runCollect(completed.frames)), ["running", "committed u1"])
      equal(told(yield* Stream.runCollect(closed.frames)), [])
      equal(told(yield* Stream.runCollect(left.frames)), [], "one whose scope has ended")
      equal(told(yield* Stream.runCollect(unbound.frames)), ["running"], "of the session alone")
    }).pipe(Effect.scoped, Effect.andThen(Effect.map(readers("s"), (count) => equal(count, 0))), withServices(store)),
  ),

  law("STR-06 100,000 frames with a reader that is stuck: it is told once, and nobody has waited for it", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const { epoch, id: turn } = yield* beginTurn("s", "u1")
      yield* publish("s", 0, { turn })
      const stuck = yield* reading(resume("s"))
      const reserved = yield* Streams.use((streams) => streams.reserve("s"))
      yield* reserved.bindTurn(turn)
      equal(yield* stuck.take(2), ["stored u1", "event 0"])
      yield* publishMany("s", turn, 1, 100_000)
      equal(yield* stuck.take(2), ["resync: too-slow", "over"])
      equal(told(yield* Stream.runCollect(reserved.frames)), ["resync: too-slow"])
      yield* end("s", epoch)
      equal((yield* all("s", { afterMessage: "u1" })).length, 1)
    }).pipe(Effect.scoped, withServices(store)),
  ),

  law(
    "STR-07 frames of commits come in their order, when what they tell of is stored, and never of one that failed",
    (store) =>
      Effect.gen(function* () {
        const [messages, streams] = [yield* Messages, yield* Streams]
        yield* begin("s")
        const { frames, bindTurn } = yield* streams.reserve("s")
        yield* bindTurn("t-u9")
        const { next } = yield* reading(frames)
        yield* Effect.forEach(
          Array.from({ length: 20 }, (_, i) => `u-${i}`),
          (id) => say("s", id),
          { concurrency: "unbounded" },
        )
        equal(yield* outcomeOf(say("s", "u-x", { expectedHead: "nobody" })), { failed: "HeadMoved" })
        equal(yield* outcomeOf(messages.append("s", { ...said("u-0"), body: "other" })), { failed: "IdConflict" })
        yield* messages.append("s", {
          id: "a-model",
          role: "assistant",
          model: { role: "assistant", content: "unseen" },
        })
        yield* messages.append("s", said("u-beside"), { at: "u-3" })
        yield* checkout("s", "u-5")
        yield* messages.appendMany("s", [said("u-6b"), said("a-6b")])
        const path = yield* pathOf("s")
        yield* beginTurn("s", "u9")
        yield* end("s", 1)
        const given: Array<Frame> = []
        for (let frame = yield* next; frame !== undefined; frame = yield* next) {
          for (const id of idsIn(frame)) equal((yield* messages.get("s", id)).id, id)
          given.push(frame)
        }
        const before = given.slice(0, 20).flatMap(idsIn)
        equal(before.toSorted(), Array.from({ length: 20 }, (_, i) => `u-${i}`).toSorted())
        equal(path.slice(0, 6), before.slice(0, 6), "the order of the path is the order of the frames")
        equal(told(given.slice(20)), [
          "rewound to u-5",
          "committed u-6b,a-6b",
          "running",
          "committed u9",
          "idle",
          "end of t-u9: completed",
        ])
        const revisions = given.map(({ revision }) => revision!)
        equal(
          revisions,
          revisions.toSorted((a, b) => a - b),
        )
      }).pipe(Effect.scoped, withServices(store)),
  ),

  law("STR-09 the stream as an async iterator and as server-sent events, each given up by who stops", (store) =>
    Effect.promise(async () => {
      const skein = await Skein.open(store.backend)
      await skein.sessions.create({ id: "s" })
      const next = async (frames: AsyncIterator<Frame>) => {
        const { done, value } = await frames.next()
        return done === true ? "over" : tell(value)
      }
      let gone: AsyncIterator<Frame> | undefined
      const prompt = { id: "u1", body: { role: "user", content: "Hello" } }
      await skein.turns.run("s", { prompt }, async (turn) => {
        const frames = skein.streams.resume("s")[Symbol.asyncIterator]()
        equal(await next(frames), "stored u1")
        turn.publish(1)
        equal(await next(frames), "event 1")
        const reader = skein.streams.resume("s").toReadable().getReader()
        const { value } = (await reader.read()) as { readonly value: Uint8Array }
        const [id, data] = new TextDecoder().decode(value).split("\n")
        const frame = JSON.parse(data!.slice("data: ".length)) as Frame
        equal([id, tell(frame)], [`id: ${frame.cursor}`, "stored u1"])
        equal(await skein.streams.readers("s"), 2)
        const waiting = next(frames)
        await frames.return!()
        equal(await waiting, "over")
        await reader.cancel()
        equal(await skein.streams.readers("s"), 0)
        gone = skein.streams.resume("s")[Symbol.asyncIterator]()
        equal(await next(gone), "stored u1")
      })
      equal(
        [await next(gone!), await next(gone!), await next(gone!), await next(gone!)],
        ["event 1", "idle", `end of ${(await skein.turns.list("s"))[0]!.id}: completed`, "over"],
      )
      equal(await skein.streams.readers("s"), 0)
      await skein.close()
    }),
  ),

  law("STR-10 a reader in another process gets messages, drafts as they are stored, and the end", (store) =>
    Effect.gen(function* () {
      yield* requireWatch(store, coreSchema())
      const [one, other] = [yield* openServices(store), yield* openServices(store)]
      const here = Effect.provide(one)
      const { epoch } = yield* Effect.gen(function* () {
        yield* begin("s")
        yield* sayAll("s", ["u0", "a0"])
        return yield* beginTurn("s", "u1")
      }).pipe(here)
      yield* Effect.gen(function* () {
        const { next, take } = yield* reading(resume("s", { afterMessage: "a0" }))
        const first = yield* next
        equal([tell(first!), first!.live], ["stored u1", false])
        yield* here(publish("s", "not heard elsewhere"))
        yield* here(draft("s", epoch, "a1", "H"))
        equal(yield* take(1), ["draft a1 H"])
        yield* here(draft("s", epoch, "a1", "Hi"))
        equal(yield* take(1), ["draft a1 Hi"])
        yield* here(settle("s", epoch, "a1", "Hi!"))
        equal(yield* take(1), ["stored a1"])
        yield* here(end("s", epoch))
        const last = yield* next
        equal([tell(last!), last!.live], ["end of t-u1: completed", false])
        equal(yield* next, undefined)
        // A cursor of what came from the store goes on behind it.
        yield* here(beginTurn("s", "u2"))
        equal(yield* take(0), [])
        const again = yield* reading(resume("s", { afterCursor: first!.cursor }))
        equal(yield* again.take(2), ["stored a1", "stored u2"])
      }).pipe(Effect.scoped, Effect.provide(other))
    }).pipe(Effect.scoped),
  ),

  law("STR-10 a cursor is good for nothing when another process has gone on with the session", (store) =>
    Effect.gen(function* () {
      const [one, other] = [yield* openServices(store), yield* openServices(store)]
      const [here, there] = [Effect.provide(one), Effect.provide(other)]
      const turn = (prompt: string) =>
        Effect.gen(function* () {
          const { epoch, id } = yield* beginTurn("s", prompt)
          const cursor = yield* publish("s", 1, { turn: id })
          yield* end("s", epoch)
          return { afterCursor: cursor }
        })
      yield* here(begin("s"))
      const first = yield* here(turn("u1"))
      equal(told(yield* here(all("s", first))), ["idle", "end of t-u1: completed"])
      yield* there(turn("u2"))
      equal(told(yield* here(all("s", first))), ["resync: elsewhere"])
      const third = yield* here(turn("u3"))
      equal(told(yield* here(all("s", third))), ["idle", "end of t-u3: completed"])
      yield* there(say("s", "u4"))
      equal(told(yield* here(all("s", third))), ["resync: elsewhere"])
      equal(told(yield* here(all("s", { afterMessage: "u3" }))), ["stored u4", "end of t-u3: completed"])
    }).pipe(Effect.scoped),
  ),

  law("STR-10 what follows a turn that another process has ended is for the next reader, all of it", (store) =>
    Effect.gen(function* () {
      yield* requireWatch(store, coreSchema())
      const [one, other] = [yield* openServices(store), yield* openServices(store)]
      const there = Effect.provide(other)
      const turn = (prompt: string, answer: string) =>
        Effect.gen(function* () {
          const { epoch } = yield* beginTurn("s", prompt)
          yield* settle("s", epoch, answer)
          yield* end("s", epoch)
        })
      yield* Effect.gen(function* () {
        yield* begin("s")
        yield* sayAll("s", ["u0", "a0"])
        const { epoch } = yield* there(beginTurn("s", "u1"))
        const { next, take } = yield* reading(resume("s", { afterMessage: "a0" }))
        equal(yield* take(1), ["stored u1"])
        yield* there(end("s", epoch))
        yield* there(turn("u2", "a2"))
        yield* there(say("s", "u3"))
        yield* turn("u4", "a4")
        const last = yield* next
        equal([tell(last!), yield* next], ["end of t-u1: completed", undefined])
        equal(told(yield* all("s", { afterCursor: last!.cursor })), [
          "stored u2",
          "stored a2",
          "stored u3",
          "stored u4",
          "stored a4",
          "end of t-u4: completed",
        ])
      }).pipe(Effect.scoped, Effect.provide(one))
    }).pipe(Effect.scoped),
  ),

  law("STR-10 who goes on behind a cursor gets what another process settles of a turn that it took over", (store) =>
    Effect.gen(function* () {
      yield* requireWatch(store, coreSchema())
      const [one, other] = [yield* openServices(store), yield* openServices(store)]
      const there = Effect.provide(other)
      yield* Effect.gen(function* () {
        yield* begin("s")
        const { epoch, id: turn } = yield* beginTurn("s", "u1")
        yield* draft("s", epoch, "a1", "H")
        const afterCursor = yield* publish("s", 1, { turn })
        yield* publish("s", 2, { turn })
        const { next, take } = yield* reading(resume("s", { afterCursor }))
        equal(yield* take(1), ["event 2"])
        yield* there(settle("s", epoch, "a1", "Hi!"))
        yield* there(end("s", epoch))
        equal(yield* take(2), ["stored a1", "end of t-u1: completed"])
        equal(yield* next, undefined)
      }).pipe(Effect.scoped, Effect.provide(one))
    }).pipe(Effect.scoped),
  ),

  law("STR-10 with a relay live frames get to readers in other processes", (store) =>
    Effect.gen(function* () {
      yield* requireWatch(store, coreSchema())
      const relay = makeRelay()
      const open = Effect.provideService(openServices(store), Relay, relay)
      const [one, other] = [yield* open, yield* open]
      const here = Effect.provide(one)
      const { epoch, id: turn } = yield* Effect.andThen(begin("s"), beginTurn("s", "u1")).pipe(here)
      yield* Effect.gen(function* () {
        const { take } = yield* reading(resume("s"))
        equal(yield* take(1), ["stored u1"])
        yield* here(publish("s", 1, { turn, id: "one" }))
        yield* here(delta("s", turn, "a1", 0, "Hi"))
        relay.publish("s", "no frame")
        relay.publish("s", "{}")
        relay.publish("s", JSON.stringify({ from: "x", id: "y", kind: "turn-terminal", createdAt: 0, json: "{}" }))
        equal(yield* take(2), ["event 1", 'delta a1 0 "Hi"'])
        yield* here(settle("s", epoch, "a1", "Hi"))
        equal(yield* take(1), ["stored a1"])
        yield* here(end("s", epoch))
        equal(yield* take(2), ["end of t-u1: completed", "over"])
      }).pipe(Effect.scoped, Effect.provide(other))
      equal(relay.subscribers(), 0)
      const own = yield* here(all("s", { afterMessage: "u1" }))
      equal(told(own), ["stored a1", "end of t-u1: completed"])
    }).pipe(Effect.scoped),
  ),
]

/** A relay between openings of this process, which gives everybody everything twice. */
const makeRelay = (): RelayService & { readonly subscribers: () => number } => {
  const listeners = new Set<(sessionId: string, text: string) => void>()
  return {
    publish: (sessionId, text) => {
      for (const listener of [...listeners, ...listeners]) listener(sessionId, text)
    },
    subscribe: (sessionId, receive) => {
      const listener = (of: string, text: string) => {
        if (of === sessionId) receive(text)
      }
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    subscribers: () => listeners.size,
  }
}
