/**
 * Laws of events: what an agent tells of a turn is applied once.
 */
import { Messages } from "@skein/core/message"
import { Streams } from "@skein/core/stream"
import { Turns } from "@skein/core/turn"
import type { Mapper, Meaning, TurnEvent } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { atTime } from "../clock.ts"
import { check, equal } from "../equal.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf, outcomesOf } from "../outcome.ts"
import { makeRandom } from "../random.ts"
import { openServices, withServices } from "../services.ts"
import { begin, pathOf, replayed, said, session } from "./conversation.ts"

/** An event whose data says what it means. */
const event = (sequence: number, data: Meaning, epoch = 1, id = `e${sequence}`): TurnEvent<Meaning> => ({
  epoch,
  sequence,
  id,
  data,
})

const asItSays: Mapper<Meaning> = ({ data }) => data

const project = (sessionId: string, one: TurnEvent<Meaning>, mapper = asItSays) =>
  Turns.use((turns) => turns.project(sessionId, one, mapper))

/** What became of an event, without the messages. */
const reply = (sessionId: string, one: TurnEvent<Meaning>) =>
  Effect.map(project(sessionId, one), (answer) =>
    answer.reply === "conflict" ? [answer.conflict, answer.expected] : answer.reply,
  )

/** A session with a turn that answers `u1`. */
const running = (sessionId: string) =>
  Effect.andThen(
    begin(sessionId),
    Turns.use((turns) => turns.begin(sessionId, { prompt: said("u1") })),
  )

const end = (sessionId: string, epoch = 1) =>
  Turns.use((turns) => turns.end(sessionId, epoch, { outcome: "completed" }))

const text = (id: string, content: string) => ({ id, role: "assistant" as const, body: { role: "assistant", content } })

const call = (callId: string, input = 1, output = 1) => ({ callId, provider: "p", model: "m", input, output })

/** A turn that writes, calls a tool, and answers: told in eight events. */
const story: ReadonlyArray<Meaning> = [
  { frame: { data: "start" } },
  { draft: text("a1", "I lo") },
  { draft: text("a1", "I look"), frame: { entry: "a1", offset: 4, data: "ok" } },
  { settle: text("a1", "I look it up.") },
  { entries: [said("r1"), said("r2")] },
  { draft: text("a2", "It") },
  {},
  { settle: text("a2", "It is so."), entries: [said("a3")], frame: { data: "end" } },
]
const events = story.map((data, i) => event(i + 1, data))
const wholeStory = ["u1", "a1", "r1", "r2", "a2", "a3"]

/** What people see: each message with what it says, and whether it is still being written. */
const seen = (sessionId: string) =>
  Messages.use((messages) =>
    Effect.map(messages.page(sessionId), ({ messages: page }) =>
      page.map(({ display, draft, id }) => {
        const { content } = display as { readonly content: string }
        return `${id}${content === id ? "" : ` ${content}`}${draft === true ? " …" : ""}`
      }),
    ),
  )

export const turnEventLaws: ReadonlyArray<Law> = [
  law("TRN-06 what an event means is written once, and the same event again changes nothing", (store) =>
    Effect.gen(function* () {
      yield* running("s")
      const pages = [
        ["u1"],
        ["u1", "a1 I lo …"],
        ["u1", "a1 I look …"],
        ["u1", "a1 I look it up."],
        ["u1", "a1 I look it up.", "r1", "r2"],
        ["u1", "a1 I look it up.", "r1", "r2", "a2 It …"],
        ["u1", "a1 I look it up.", "r1", "r2", "a2 It …"],
        ["u1", "a1 I look it up.", "r1", "r2", "a2 It is so.", "a3"],
      ]
      for (const [i, one] of events.entries()) {
        equal(yield* reply("s", one), "applied")
        equal(yield* seen("s"), pages[i])
        const before = yield* session("s")
        equal(yield* reply("s", one), "duplicate")
        equal(yield* session("s"), before)
      }
      for (const one of events) equal(yield* reply("s", one), "duplicate")
      equal(yield* seen("s"), pages.at(-1))
      yield* end("s")
      equal((yield* replayed("s")).length, 6)
      const { turn } = yield* Messages.use((messages) => messages.get("s", "r1"))
      equal(turn, (yield* Turns.use((turns) => turns.list("s")))[0]?.id)
    }).pipe(withServices(store)),
  ),

  law("TRN-06 a message without an id is the one that is being written, else a new one", (store) =>
    Effect.gen(function* () {
      const { id: _id, ...unnamed } = text("", "one")
      yield* running("s")
      yield* project("s", event(1, { draft: unnamed }))
      yield* project("s", event(2, { draft: { ...unnamed, body: { content: "one two" } } }))
      const [, first] = (yield* Messages.use((messages) => messages.page("s"))).messages
      yield* project("s", event(3, { settle: { ...unnamed, body: { content: "done" } }, draft: unnamed }))
      yield* project("s", event(4, { settle: unnamed }))
      yield* project("s", event(5, { settle: unnamed }))
      const { messages } = yield* Messages.use((messages) => messages.page("s"))
      equal(
        messages.map(({ display, draft }) => [(display as { readonly content: string }).content, draft]),
        [
          ["u1", undefined],
          ["done", undefined],
          ["one", undefined],
          ["one", undefined],
        ],
      )
      equal(messages[1]?.id, first?.id)
    }).pipe(withServices(store)),
  ),

  law("TRN-06 a retry is a duplicate after a restart, from another instance, and when the turn has ended", (store) =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        yield* running("s")
        for (const one of events.slice(0, 5)) yield* project("s", one)
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        const replies = yield* Effect.forEach(events, (one) => reply("s", one))
        equal(replies, [...Array<string>(5).fill("duplicate"), ...Array<string>(3).fill("applied")])
        yield* end("s")
        equal(yield* reply("s", events[7]!), "duplicate")
        equal(yield* pathOf("s"), wholeStory)
      }).pipe(withServices(store))
    }),
  ),

  law("TRN-06 an event of any turn but the one that runs is stale and writes nothing", (store) =>
    Effect.gen(function* () {
      const turns = yield* Turns
      yield* begin("s")
      equal(yield* reply("s", events[0]!), "stale")
      yield* turns.begin("s", { prompt: said("u1") })
      yield* project("s", events[0]!)
      yield* turns.begin("s", { prompt: said("u2") }, { takeOver: true })
      const before = [yield* session("s"), yield* seen("s")]
      equal(yield* reply("s", events[1]!), "stale")
      equal(yield* reply("s", events[7]!), "stale")
      equal(yield* reply("s", event(1, {}, 3)), "stale")
      equal([yield* session("s"), yield* seen("s")], before)
      equal(yield* reply("s", event(1, { entries: [said("a1")] }, 2)), "applied")
      yield* end("s", 2)
      equal(yield* reply("s", event(2, { entries: [said("a2")] }, 2)), "stale")
      equal(yield* seen("s"), ["u1", "u2", "a1"])
      equal(yield* outcomeOf(reply("nobody", events[0]!)), { failed: "SessionNotFound" })
    }).pipe(withServices(store)),
  ),

  law(
    "TRN-06 a gap, another event under a number or an id, and other content are conflicts and write nothing",
    (store) =>
      Effect.gen(function* () {
        yield* running("s")
        equal(yield* reply("s", event(2, {})), ["gap", 1])
        for (const one of events.slice(0, 3)) yield* project("s", one)
        const before = [yield* session("s"), yield* seen("s")]
        const more: Meaning = { entries: [said("x")] }
        equal(yield* reply("s", event(5, more)), ["gap", 4])
        equal(yield* reply("s", event(2, more, 1, "other")), ["sequence", 4])
        equal(yield* reply("s", event(2, more)), ["content", 4])
        equal(yield* reply("s", event(4, more, 1, "e2")), ["id", 4])
        equal([yield* session("s"), yield* seen("s")], before)
        equal(yield* reply("s", events[3]!), "applied")
      }).pipe(withServices(store)),
  ),

  law("TRN-06 an event that cannot be written is not applied in part, and can be sent again", (store) =>
    Effect.gen(function* () {
      yield* running("s")
      yield* project("s", event(1, { draft: text("a1", "Hm") }))
      const before = [yield* session("s"), yield* seen("s")]
      const refused: ReadonlyArray<readonly [Meaning, string]> = [
        [{ settle: text("a1", "so"), entries: [said("u1")] }, "IdConflict"],
        [{ settle: text("u1", "so") }, "IdConflict"],
        [{ settle: text("a1", "so"), entries: [said("a1")] }, "IdConflict"],
        [{ entries: [said("a9")], draft: text("a9", "so") }, "IdConflict"],
        [{ draft: { ...text("a1", "so"), role: "tool" } }, "InvalidInput"],
        [{ draft: { id: "a1", role: "assistant", display: "so" } }, "InvalidInput"],
        [{ settle: { ...text("a1", "so"), role: "tool" } }, "InvalidInput"],
        [{ settle: said("u9") }, "InvalidInput"],
        [{ draft: said("u9") }, "InvalidInput"],
        [{ entries: [said("a2"), { role: "assistant" }] }, "InvalidInput"],
        [{ frame: { data: Number.NaN } }, "InvalidInput"],
        [{ frame: { data: 1, entry: "a1" } }, "InvalidInput"],
        [{ frame: { data: 1, id: "mine" } as never }, "InvalidInput"],
        [{ frame: 5 as never }, "InvalidInput"],
        [{ settle: text("a1", "so"), usage: { ...call("c"), input: -1 } }, "InvalidInput"],
        [{ settle: text("a1", "so"), usage: [call("c"), { ...call("d"), output: 0.5 }] }, "InvalidInput"],
        [{ nonsense: 1 } as Meaning, "InvalidInput"],
        [5 as Meaning, "InvalidInput"],
      ]
      for (const [meaning, tag] of refused) {
        equal(yield* outcomeOf(project("s", event(2, {}), () => meaning)), { failed: tag })
      }
      for (const wrong of [
        { sequence: 0 },
        { sequence: 1.5 },
        { epoch: 0 },
        { id: "" },
        { data: () => 1 },
        { more: 1 },
      ]) {
        const one = { ...event(2, {}), ...wrong } as TurnEvent<Meaning>
        equal(yield* outcomeOf(project("s", one, () => ({}))), { failed: "InvalidInput" })
      }
      equal(yield* outcomeOf(project("s", event(2, {}), 5 as never)), { failed: "InvalidInput" })
      const thrown = yield* outcomeOf(
        project("s", event(2, {}), () => {
          throw new Error("the mapper is wrong")
        }),
      )
      equal(thrown, { defect: "the mapper is wrong" })
      equal([yield* session("s"), yield* seen("s")], before)
      equal(yield* reply("s", event(2, { settle: text("a1", "so") })), "applied")
      equal(yield* outcomeOf(project("s", event(3, { draft: text("a1", "more") }))), { failed: "IdConflict" })
      equal(yield* seen("s"), ["u1", "a1 so"])
    }).pipe(withServices(store)),
  ),

  law("TRN-06 readers are given the frames of events once, however often they are sent", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        yield* begin("s")
        const reservation = yield* Streams.use((streams) => streams.reserve("s"))
        const { turn } = yield* Turns.use((turns) => turns.begin("s", { prompt: said("u1") }))
        yield* reservation.bindTurn(turn.id)
        for (const one of events) for (let i = 0; i < 3; i++) yield* project("s", one)
        yield* end("s")
        const frames = yield* Stream.runCollect(reservation.frames)
        const told = frames.filter(({ id }) => id.startsWith("event."))
        equal(
          told.map(({ data, id, turn: of }) => [id, of, data]),
          [
            [`event.${turn.id}.e1`, turn.id, "start"],
            [`event.${turn.id}.e3`, turn.id, "ok"],
            [`event.${turn.id}.e8`, turn.id, "end"],
          ],
        )
        equal(frames.at(-1)?.kind, "turn-terminal")
      }),
    ).pipe(withServices(store)),
  ),

  law("TRN-06 what an event used is counted once, for its turn, in the commit of what it says", (store) =>
    Effect.gen(function* () {
      yield* running("s")
      const used = (sessionId: string) =>
        Effect.gen(function* () {
          const [turn] = yield* Turns.use((turns) => turns.list(sessionId))
          const { usage } = yield* session(sessionId)
          equal(turn?.usage, usage)
          return [usage.calls, usage.input, usage.output]
        })
      equal(yield* used("s"), [0, 0, 0])
      const first = event(1, { settle: text("a1", "so"), usage: call("c1", 100, 10) })
      const second = event(2, { usage: [call("c2", 5, 1), call("c1", 200, 10)] })
      for (const one of [first, first, second, first, second]) yield* project("s", one)
      equal(yield* used("s"), [2, 205, 11])
      equal(yield* reply("s", event(3, { usage: call("c3") }, 2)), "stale")
      equal(yield* reply("s", event(9, { usage: call("c3") })), ["gap", 3])
      equal(yield* outcomeOf(project("s", event(3, { entries: [said("u1")], usage: call("c3") }))), {
        failed: "IdConflict",
      })
      equal(yield* used("s"), [2, 205, 11])
    }).pipe(withServices(store)),
  ),

  law("TRN-06 what is applied renews the lease of the turn, and a repetition does not", (store) =>
    Effect.gen(function* () {
      const turns = yield* Turns
      yield* running("s").pipe(atTime(1_000))
      const lease = Effect.map(Effect.flip(turns.begin("s", {}).pipe(atTime(2_000))), (error) =>
        "until" in error ? error.until : error._tag,
      )
      const begun = yield* lease
      yield* project("s", event(1, { frame: { data: 1 } })).pipe(atTime(5_000))
      equal(yield* lease, Number(begun) + 4_000)
      yield* project("s", event(1, { frame: { data: 1 } })).pipe(atTime(9_000))
      equal(yield* lease, Number(begun) + 4_000)
    }).pipe(withServices(store)),
  ),

  law("TRN-06 sent by several at once, each event is applied once and all of them in order", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const one = yield* openServices(store)
        const other = yield* openServices(store)
        yield* Effect.provide(running("s"), one)
        const sent = [one, other, one, other].flatMap((from) =>
          events.map((each) => Effect.provide(reply("s", each), from)),
        )
        const replies = yield* outcomesOf(sent)
        const applied = replies.filter((outcome) => "done" in outcome && outcome.done === "applied")
        equal(applied.length, events.length)
        yield* Effect.provide(
          Effect.gen(function* () {
            equal(yield* pathOf("s"), wholeStory)
            equal(yield* Effect.forEach(events, (each) => reply("s", each)), Array<string>(8).fill("duplicate"))
          }),
          one,
        )
      }),
    ),
  ),

  law("TRN-06 however often an agent goes back and tells again, its turn is what it told", (store) =>
    Effect.gen(function* () {
      const random = makeRandom(store.seed)
      yield* running("s")
      const told = Array.from({ length: 60 }, (_, i): TurnEvent<Meaning> => {
        const id = `a${Math.floor(i / 3)}`
        return event(i + 1, i % 3 === 2 ? { settle: text(id, id), entries: [said(`r${i}`)] } : { draft: text(id, "…") })
      })
      let next = 0
      while (next < told.length) {
        // After a crash it knows where it was, or begins somewhere before.
        next = random.nat(4) === 0 ? Math.max(0, next - random.nat(40)) : next
        const sending = told.slice(next, next + 1 + random.nat(6))
        for (const one of sending) {
          const answer = yield* reply("s", one)
          check(answer === "applied" || answer === "duplicate", `it is applied or was: ${String(answer)}`)
        }
        next += sending.length
      }
      const expected = Array.from({ length: 20 }, (_, i) => [`a${i}`, `r${3 * i + 2}`]).flat()
      equal(yield* seen("s"), ["u1", ...expected])
    }).pipe(withServices(store)),
  ),
]
