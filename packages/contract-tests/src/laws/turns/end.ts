/**
 * Laws of how turns end, and of what they leave open.
 */
import type { Services } from "@skein/core"
import { History } from "@skein/core/history"
import { Messages } from "@skein/core/message"
import { Sessions } from "@skein/core/session"
import { Queue } from "@skein/core/queue"
import { Storage } from "@skein/core/storage"
import type { TurnEnding } from "@skein/core/turn"
import { Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import { check, equal } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf, outcomesOf } from "../../outcome.ts"
import { withServices } from "../../services.ts"
import { begin, callOf, checkout, pathOf, replayed, resultOf, said, say, session } from "../conversation.ts"
import {
  abort,
  ask,
  beat,
  draft,
  end,
  endings,
  failure,
  open,
  rowOf,
  settle,
  start,
  timedLaw,
  turnsOf,
} from "./subject.ts"

const statuses = {
  completed: "idle",
  failed: "failed",
  aborted: "aborted",
  needs_input: "needs_input",
  done: "done",
} as const

/** The results of tools that the model is given: what was said, or that there is none and why. */
const results = Effect.map(replayed("s"), (messages) =>
  messages.flatMap((message) => {
    const { content } = message as { readonly content: unknown }
    if (!Array.isArray(content)) return []
    return content.flatMap((part: Record<string, unknown>) =>
      part["type"] === "tool-result" ? [[part["callId"], part["output"]]] : [],
    )
  }),
)
const repairs = Effect.map(
  History.use((history) => history.read("s")),
  (read) => read.repairs.map(({ callId, kind }) => [kind, callId]),
)

const missing = "The result of this call is missing. Whether it took effect is unknown."
const stopped = (how: string) => `The run was ${how} before this call gave a result. Whether it took effect is unknown.`

export const endLaws: ReadonlyArray<Law> = [
  timedLaw(
    "TRN-03 a turn ends in one commit with its last messages: status, outcome, duration, unread",
    (store, time) =>
      Effect.gen(function* () {
        const { run } = yield* open(store)
        const heard: Array<ReadonlyArray<string>> = []
        yield* run(
          Storage.use((storage) =>
            storage.observe((notices) =>
              heard.push((notices as ReadonlyArray<{ readonly _tag: string }>).map(({ _tag }) => _tag)),
            ),
          ),
        )
        for (const ending of endings) {
          const { outcome } = ending
          const id = outcome
          yield* run(begin(id))
          const { turn: begun } = yield* run(ask(id, "u1"))
          yield* run(say(id, "a1", { epoch: 1 }))
          yield* time.pass(5_000)
          const before = yield* run(session(id))
          heard.length = 0
          const { queue, turn } = yield* run(
            end(id, 1, { ...ending, reason: "why", messages: [said("a2"), said("a3")] }),
          )
          equal(heard, [["EntriesCommitted", "StatusChanged", "TurnEnded"]], "the notices of the commit")
          const after = yield* run(session(id))
          equal(queue, "empty")
          equal(
            [after.status, after.activeTurn, after.unread, after.error],
            [statuses[outcome], undefined, outcome !== "aborted", ending.error],
          )
          equal([yield* run(pathOf(id)), after.counts.turns], [["u1", "a1", "a2", "a3"], 1])
          equal(
            [after.activityAt, turn.endedAt! - turn.startedAt, turn.duration],
            [before.activityAt + 5_000, 5_000, 5_000],
          )
          check(after.revision > before.revision, "the revision must grow")
          const [listed] = yield* run(turnsOf(id))
          const { endedAt, error, ...kept } = listed!
          equal([endedAt, error], [turn.endedAt, ending.error])
          const ended = { outcome, reason: "why", duration: 5_000, first: "u1", last: "a3" }
          equal(kept, { ...without(begun), ...ended })
          yield* run(ask(id, "u2"))
          const next = yield* run(session(id))
          equal([next.status, next.error, next.waiting], ["running", undefined, undefined], "what is left of the end")
        }
      }),
  ),

  law("TRN-03 an end that somebody sees makes nothing unread, and none makes read what was not", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      for (const [i, ending] of endings.entries()) {
        yield* ask("s", `u${i}`)
        yield* end("s", i + 1, { ...ending, seen: true })
        equal((yield* session("s")).unread, false, `whether it is unread after a seen ${ending.outcome}`)
      }
      yield* ask("s", "u-a")
      yield* end("s", 6)
      yield* ask("s", "u-b")
      yield* end("s", 7, "aborted")
      equal((yield* session("s")).unread, true)
      yield* Sessions.use((sessions) => sessions.markRead("s"))
      yield* ask("s", "u-c")
      yield* end("s", 8, "aborted")
      equal((yield* session("s")).unread, false)
    }).pipe(withServices(store)),
  ),

  law("TRN-03 ending again with the same outcome succeeds and changes nothing, with another it is StaleTurn", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      for (const [i, ending] of endings.entries()) {
        const epoch = i + 1
        yield* ask("s", `u${epoch}`)
        const [unnamed, named] = [{ role: "assistant" as const, body: "unnamed" }, said(`a${epoch}`)]
        const { titleDue: _titleDue, ...first } = yield* end("s", epoch, { ...ending, messages: [unnamed, named] })
        const before = yield* rowOf("s")
        for (const messages of [[unnamed, named], [named], []]) {
          const { titleDue, ...again } = yield* end("s", epoch, { ...ending, messages })
          equal([again, titleDue], [first, false], `ending again with ${messages.length} messages`)
        }
        for (const other of endings) {
          if (other === ending) continue
          equal(yield* outcomeOf(end("s", epoch, other)), { failed: "StaleTurn" }, `${ending.outcome} ${other.outcome}`)
        }
        // What was never stored must not be taken for a repetition.
        for (const messages of [[said("a-new")], [{ ...named, body: "other" }], [unnamed, unnamed, named]]) {
          equal(yield* outcomeOf(end("s", epoch, { ...ending, messages })), { failed: "StaleTurn" })
        }
        equal(yield* rowOf("s"), before)
      }
      // The same still holds when the next turn runs.
      yield* ask("s", "u9")
      equal((yield* end("s", 1)).turn.epoch, 1)
      equal((yield* session("s")).status, "running")
    }).pipe(withServices(store)),
  ),

  law("TRN-03 of two ends at once with different outcomes one is the end, and the other is told", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const [one, other] = [yield* open(store), yield* open(store)]
        yield* one.run(begin("s"))
        for (let epoch = 1; epoch <= 12; epoch++) {
          yield* one.run(ask("s", `u${epoch}`))
          const outcomes = yield* outcomesOf([
            one.run(end("s", epoch, { outcome: "completed", messages: [said(`a${epoch}`)] })),
            other.run(end("s", epoch, { outcome: "failed", error: failure })),
          ])
          equal(outcomes.filter((outcome) => "done" in outcome).length, 1)
          equal(outcomes.filter((outcome) => "failed" in outcome && outcome.failed === "StaleTurn").length, 1)
          const completed = "done" in outcomes[0]!
          equal((yield* one.run(session("s"))).status, completed ? "idle" : "failed")
          equal((yield* one.run(pathOf("s"))).at(-1), completed ? `a${epoch}` : `u${epoch}`)
        }
      }),
    ),
  ),

  law("TRN-03 API-06 what is no end is refused by name, and the turn goes on", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* ask("s", "u1")
      const before = yield* rowOf("s")
      const wrong: ReadonlyArray<readonly [unknown, string]> = [
        [undefined, "ending"],
        [null, "ending"],
        [[], "ending"],
        [{}, "ending.outcome"],
        [{ outcome: "interrupted" }, "ending.outcome"],
        [{ outcome: "finished" }, "ending.outcome"],
        [{ outcome: "failed" }, "ending.error"],
        [{ outcome: "failed", error: "x" }, "ending.error"],
        [{ outcome: "failed", error: {} }, "ending.error.message"],
        [{ outcome: "completed", error: failure }, "ending.error"],
        [{ outcome: "completed", calls: ["c1"] }, "ending.calls"],
        [{ outcome: "needs_input", calls: "c1" }, "ending.calls"],
        [{ outcome: "completed", messages: said("a1") }, "ending.messages"],
        [{ outcome: "completed", messages: [said("a1"), {}] }, "ending.messages[1].body"],
        [{ outcome: "completed", messages: [{ ...said("a1"), body: { n: Number.NaN } }] }, "ending.messages[0].body.n"],
        [{ outcome: "completed", reason: "x".repeat(1_001) }, "ending.reason"],
        [{ outcome: "completed", seen: "yes" }, "ending.seen"],
        [{ outcome: "completed", ended: true }, "ending.ended"],
      ]
      for (const [ending, field] of wrong) {
        const error = yield* Effect.flip(Turns.use((turns) => turns.end("s", 1, ending as TurnEnding)))
        equal(
          [error._tag, (error as { readonly field?: string }).field],
          ["InvalidInput", field],
          JSON.stringify(ending),
        )
      }
      const options = { durability: "soft" } as object
      equal(yield* outcomeOf(Turns.use((turns) => turns.end("s", 1, { outcome: "completed" }, options))), {
        failed: "InvalidInput",
      })
      for (const id of ["u1", "a2"]) {
        const messages = [said("a2"), { ...said("a3"), id }]
        const error = yield* Effect.flip(end("s", 1, { outcome: "completed", messages }))
        equal([error._tag, (error as { readonly id?: string }).id], ["IdConflict", id])
      }
      equal([yield* rowOf("s"), yield* pathOf("s")], [before, ["u1"]])
      equal((yield* end("s", 1, { outcome: "completed", messages: [] })).turn.outcome, "completed")
    }).pipe(withServices(store)),
  ),

  law("HIS-02 HIS-05 TRN-03 calls that a turn leaves open are closed, and the model is told how it ended", (store) =>
    Effect.gen(function* () {
      const said: ReadonlyArray<readonly [TurnEnding["outcome"], string]> = [
        ["completed", missing],
        ["done", missing],
        ["aborted", stopped("aborted")],
        ["failed", stopped("ended by a failure")],
      ]
      yield* begin("s")
      const expected: Array<readonly [string, string]> = []
      for (const [i, [outcome, output]] of said.entries()) {
        const [answered, open] = [`c${i}-answered`, `c${i}-open`]
        yield* ask("s", `u${i}`)
        yield* settle("s", i + 1, callOf(`a${i}`, answered, open))
        yield* settle("s", i + 1, resultOf(`r${i}`, answered))
        const { historyVersion } = yield* session("s")
        yield* end(
          "s",
          i + 1,
          endings.find((ending) => ending.outcome === outcome),
        )
        expected.push([answered, `did ${answered}`], [open, output])
        equal(yield* results, expected)
        const changed = (yield* session("s")).historyVersion > historyVersion
        equal(changed, output !== missing, `whether ${outcome} changes what the model is told`)
      }
      // Reading repairs nothing that is stored: read twice it is the same.
      equal(yield* results, expected)
      equal(
        yield* repairs,
        said.map((_, i) => ["synthesised", `c${i}-open`]),
      )
    }).pipe(withServices(store)),
  ),

  law("HIS-05 what a turn does that changes nothing of what is replayed leaves its version as it is", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* say("s", "u1")
      const { historyVersion } = yield* session("s")
      const given = yield* replayed("s")
      const steps: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown, Services>]> = [
        ["begin", start("s", {})],
        ["heartbeat", beat("s", 1)],
        ["draft", draft("s", 1, said("a1"))],
        ["draft again", draft("s", 1, said("a1"))],
        ["waiting", Turns.use((turns) => turns.setWaiting("s", 1, true))],
        ["going on", Turns.use((turns) => turns.setWaiting("s", 1, false))],
        ["shown alone", Messages.use((one) => one.append("s", { role: "assistant", display: "seen" }, { epoch: 1 }))],
        ["abort", abort("s")],
      ]
      for (const [name, step] of steps) {
        yield* step
        equal([(yield* session("s")).historyVersion, yield* replayed("s")], [historyVersion, given], name)
      }
      yield* settle("s", 1, said("a1"))
      const settled = yield* session("s")
      check(settled.historyVersion > historyVersion, "what is settled is replayed")
      yield* end("s", 1)
      equal((yield* session("s")).historyVersion, settled.historyVersion, "the version after a turn that was completed")
    }).pipe(withServices(store)),
  ),

  law("HIS-02 TRN-03 calls that wait for an answer stay open until the next turn, and no others do", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* ask("s", "u1")
      yield* settle("s", 1, callOf("a1", "c1", "c2", "c3"))
      yield* settle("s", 1, resultOf("r1", "c1"))
      yield* end("s", 1, { outcome: "needs_input", calls: ["c2"] })
      const waiting = yield* session("s")
      equal([waiting.status, waiting.waiting?.calls], ["needs_input", ["c2"]])
      equal(yield* results, [
        ["c1", "did c1"],
        ["c3", missing],
      ])
      equal(yield* repairs, [["synthesised", "c3"]])
      const { messages, turn } = yield* start("s", { answer: resultOf("r2", "c2") })
      equal([turn.start, messages.map(({ id }) => id)], ["answer", ["r2"]])
      const answered = yield* session("s")
      equal([answered.status, answered.waiting], ["running", undefined])
      check(answered.historyVersion > waiting.historyVersion, "what the model is told has changed")
      equal(yield* results, [
        ["c1", "did c1"],
        ["c2", "did c2"],
        ["c3", missing],
      ])
      equal(yield* pathOf("s"), ["u1", "a1", "r1", "r2"])
      yield* end("s", 2)
    }).pipe(withServices(store)),
  ),

  law(
    "HIS-02 TRN-03 of several calls that wait some may be answered first: the others wait again when the turn says so",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        yield* ask("s", "u1")
        yield* settle("s", 1, callOf("a1", "c1", "c2", "c3"))
        yield* end("s", 1, "needs_input")
        equal(yield* results, [])
        yield* start("s", { answer: resultOf("r1", "c1") })
        yield* end("s", 2, { outcome: "needs_input", calls: ["c2", "c3"] })
        equal([yield* results, yield* repairs], [[["c1", "did c1"]], []])
        yield* start("s", { answer: [resultOf("r2", "c2")] })
        // By default all that are open wait, also those of turns that this one went on with.
        yield* settle("s", 3, callOf("a2", "c4"))
        yield* end("s", 3, "needs_input")
        equal(yield* repairs, [])
        yield* start("s", { answer: [resultOf("r3", "c3"), resultOf("r4", "c4")] })
        yield* end("s", 4)
        equal(
          yield* results,
          ["c1", "c2", "c3", "c4"].map((id) => [id, `did ${id}`]),
        )
      }).pipe(withServices(store)),
  ),

  law("HIS-02 TRN-03 whatever else comes next closes the calls that wait", (store) =>
    Effect.gen(function* () {
      const others = [{ prompt: said("u2") }, {}, { retry: "u1" }, { edit: "u1", content: said("u1b") }] as const
      for (const [i, other] of others.entries()) {
        const id = `s${i}`
        yield* begin(id)
        yield* ask(id, "u1")
        yield* settle(id, 1, callOf("a1", "c1"))
        yield* end(id, 1, "needs_input")
        const { historyVersion } = yield* session(id)
        yield* start(id, other)
        const after = yield* session(id)
        equal([after.status, after.waiting], ["running", undefined])
        check(after.historyVersion > historyVersion, "what the model is told has changed")
        const read = yield* History.use((history) => history.read(id))
        const closes = "retry" in other || "edit" in other ? [] : [["synthesised", "c1"]]
        equal(
          read.repairs.map(({ callId, kind }) => [kind, callId]),
          closes,
          JSON.stringify(other),
        )
        yield* end(id, 2)
        equal(yield* outcomeOf(start(id, { answer: resultOf("r1", "c1") })), { failed: "OperationConflict" })
      }
    }).pipe(withServices(store)),
  ),

  law("MSG-04 TRN-03 the message that waits stays unsettled, and the turn that answers goes on with it", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const { turn } = yield* ask("s", "u1")
      yield* settle("s", 1, callOf("a1", "c1"))
      yield* draft("s", 1, callOf("a2", "c2"))
      yield* end("s", 1, "needs_input")
      const messages = yield* Messages
      const found = yield* messages.get("s", "a2")
      equal([found.draft, found.cut, found.turn], [true, undefined, turn.id])
      equal([yield* results, yield* repairs], [[], []], "what waits is replayed, and open")

      const both = { ...callOf("a2", "c2"), body: { role: "assistant", content: [call("c2"), result("c2", "yes")] } }
      const { messages: begun, turn: next } = yield* start("s", { answer: both })
      equal([begun.map(({ draft, id }) => [id, draft]), next.start], [[["a2", true]], "answer"])
      equal([yield* pathOf("s"), (yield* session("s")).counts.entries], [["u1", "a1", "a2"], 3])
      equal(yield* results, [
        ["c1", missing],
        ["c2", "yes"],
      ])
      // What it says next of that message is the model's at once, for it is what the model goes on with.
      const { historyVersion } = yield* session("s")
      yield* draft("s", 2, { ...both, body: { role: "assistant", content: [call("c2"), result("c2", "no")] } })
      check((yield* session("s")).historyVersion > historyVersion, "what the model is told has changed")
      equal((yield* results).at(-1), ["c2", "no"])
      yield* settle("s", 2, both)
      yield* end("s", 2)
      const settled = yield* messages.get("s", "a2")
      equal([settled.draft, settled.cut], [undefined, undefined])
      equal(
        (yield* turnsOf("s")).map(({ first, last }) => [first, last]),
        [
          ["a2", "a2"],
          ["u1", "a2"],
        ],
      )
    }).pipe(withServices(store)),
  ),

  law("HIS-02 MSG-04 a message may wait, be answered in part, and wait again", (store) =>
    Effect.gen(function* () {
      const answered = (...ids: ReadonlyArray<string>) => ({
        ...callOf("a1", "c1", "c2"),
        body: { role: "assistant", content: [call("c1"), call("c2"), ...ids.map((id) => result(id, `did ${id}`))] },
      })
      yield* begin("s")
      yield* ask("s", "u1")
      yield* draft("s", 1, answered())
      yield* end("s", 1, "needs_input")
      yield* start("s", { answer: answered("c1") })
      yield* end("s", 2, { outcome: "needs_input", calls: ["c2"] })
      equal([yield* results, yield* repairs], [[["c1", "did c1"]], []])
      // What it is told then depends on how that turn ends, though another one made the calls.
      yield* start("s", { answer: answered("c1") })
      yield* end("s", 3, "aborted")
      equal(yield* results, [
        ["c1", "did c1"],
        ["c2", stopped("aborted")],
      ])
      const { cut, draft: isDraft } = yield* Messages.use((messages) => messages.get("s", "a1"))
      equal([cut, isDraft], ["aborted", undefined])
    }).pipe(withServices(store)),
  ),

  law(
    "MSG-04 TRN-03 a message that waits is settled by whatever else comes next, whole where it was answered",
    (store) =>
      Effect.gen(function* () {
        const next = [
          [(id: string) => start(id, { answer: resultOf("r1", "c1") }), undefined],
          [(id: string) => start(id, { prompt: said("u2") }), "interrupted"],
          [(id: string) => start(id, {}), "interrupted"],
          [(id: string) => start(id, { retry: "u1" }), "interrupted"],
          [(id: string) => checkout(id, "u1"), "interrupted"],
        ] as const
        for (const [i, [go, cut]] of next.entries()) {
          const id = `s${i}`
          yield* begin(id)
          yield* ask(id, "u1")
          yield* draft(id, 1, callOf("a1", "c1"))
          yield* end(id, 1, "needs_input")
          yield* go(id)
          const found = yield* Messages.use((messages) => messages.get(id, "a1"))
          equal([found.draft, found.cut], [undefined, cut], `what became of it in ${id}`)
          equal((yield* session(id)).waiting, undefined)
        }
      }).pipe(withServices(store)),
  ),

  law("MSG-04 TRN-03 only the last message may stay unsettled: what comes before it is settled with the end", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* ask("s", "u1")
      yield* draft("s", 1, said("a1"))
      yield* draft("s", 1, said("a2"))
      yield* end("s", 1, "needs_input")
      equal([(yield* messages.get("s", "a1")).draft, (yield* messages.get("s", "a2")).draft], [undefined, true])
      yield* start("s", {})
      yield* draft("s", 2, said("a3"))
      yield* end("s", 2, { outcome: "needs_input", messages: [said("a4")] })
      const found = yield* messages.getMany("s", ["a3", "a4"])
      equal(
        found.map((message) => message.draft),
        [undefined, undefined],
      )
    }).pipe(withServices(store)),
  ),

  law(
    "MSG-04 TRN-03 the last messages may be those that are being written: they are settled as given, in their places",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        for (const [i, ending] of endings.entries()) {
          const [epoch, a, b, c] = [i + 1, `a${i}`, `a${i}-b`, `a${i}-c`]
          yield* ask("s", `u${i}`)
          yield* draft("s", epoch, said(a))
          yield* draft("s", epoch, said(b))
          const whole = { ...said(a), body: { role: "assistant", content: "whole" } }
          yield* end("s", epoch, { ...ending, messages: [whole, said(c)] })
          const found = yield* Messages.use((messages) => messages.getMany("s", [a, b, c]))
          const cut = ending.outcome === "aborted" || ending.outcome === "failed" ? ending.outcome : undefined
          equal(
            found.map((message) => [message.display, message.draft, message.cut]),
            [
              [whole.body, undefined, undefined],
              [said(b).body, undefined, cut],
              [said(c).body, undefined, undefined],
            ],
            ending.outcome,
          )
          equal((yield* pathOf("s")).slice(-3), [a, b, c])
          const wrong = yield* outcomeOf(end("s", epoch, { ...ending, messages: [{ ...whole, body: "other" }] }))
          equal(wrong, { failed: "StaleTurn" })
        }
      }).pipe(withServices(store)),
  ),

  law("TRN-03 a running turn may wait for a person, go on, and keeps running all the time", (store) =>
    Effect.gen(function* () {
      const wait = (waits: boolean) => Turns.use((turns) => turns.setWaiting("s", 1, waits))
      yield* begin("s")
      yield* ask("s", "u1")
      for (const [waits, status] of [
        [true, "needs_input"],
        [true, "needs_input"],
        [false, "running"],
      ] as const) {
        yield* wait(waits)
        const found = yield* session("s")
        equal([found.status, found.activeTurn?.epoch, found.waiting], [status, 1, undefined])
        equal(yield* outcomeOf(ask("s", "u2")), { failed: "RunActive" })
        yield* say("s", `a${found.revision}`, { epoch: 1 })
      }
      equal(yield* outcomeOf(Turns.use((turns) => turns.setWaiting("s", 1, "yes" as never))), {
        failed: "InvalidInput",
      })
      yield* wait(true)
      yield* end("s", 1)
      equal([(yield* session("s")).status, yield* outcomeOf(wait(false))], ["idle", { failed: "StaleTurn" }])
    }).pipe(withServices(store)),
  ),

  law("SES-04 a title is due at the 1st, 6th, 16th and 40th answer, once, whoever ends the turn", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const openings = [yield* open(store), yield* open(store)]
        yield* openings[0]!.run(begin("s"))
        const due: Array<number> = []
        let answers = 0
        for (let epoch = 1; answers < 45; epoch++) {
          const { run } = openings[epoch % 2]!
          yield* run(start("s", {}))
          const ending = epoch % 4 === 0 ? endings[1 + (epoch % 3)]! : endings[epoch % 8 === 1 ? 4 : 0]!
          const isAnswer = ending.outcome === "completed" || ending.outcome === "done"
          if (isAnswer) answers++
          const { titleDue } = yield* run(end("s", epoch, ending))
          if (titleDue) due.push(answers)
          check(isAnswer || !titleDue, `a turn that ended ${ending.outcome} answers nothing`)
          equal((yield* openings[(epoch + 1) % 2]!.run(end("s", epoch, ending))).titleDue, false)
          if (titleDue) yield* run(Sessions.use((sessions) => sessions.autoTitle("s", `title ${answers}`)))
        }
        equal(due, [1, 6, 16, 40])
        const { run } = openings[0]!
        equal((yield* run(session("s"))).title, "title 40")
        // None is due where a person gave one, or took it away.
        yield* run(begin("t"))
        yield* run(Sessions.use((sessions) => sessions.update("t", { title: "by hand" })))
        yield* run(start("t", {}))
        equal((yield* run(end("t", 1))).titleDue, false)
      }),
    ),
  ),

  law(
    "TRN-03 a failure, a stop and a question pause what waits in the queue, and say so; other ends let it go on",
    (store) =>
      Effect.gen(function* () {
        const ways = [
          ...endings.map((ending) => [ending, false] as const),
          // Who stops a turn wants no other to begin, also where it comes to its own end before it hears of that.
          ...endings.map((ending) => [ending, true] as const),
        ]
        for (const [i, [ending, isStopped]] of ways.entries()) {
          const id = `s${i}`
          yield* begin(id)
          yield* queued(id)
          yield* ask(id, "u1")
          if (isStopped) yield* abort(id)
          const { queue, turn } = yield* end(id, 1, ending)
          const { queue: state, status } = yield* rowOf(id)
          const own = { failed: "turn-final-failure", aborted: "user-stop", needs_input: "needs-input" } as const
          const cause = Object.entries(own).find(([outcome]) => outcome === ending.outcome)?.[1]
          const expected = isStopped && cause !== "turn-final-failure" ? "user-stop" : cause
          equal([queue, state?.pause?.cause], [expected === undefined ? "open" : "paused", expected], ending.outcome)
          equal([turn.outcome, status], [ending.outcome, statuses[ending.outcome]])
        }
      }).pipe(withServices(store)),
  ),
]

/** Lets something wait in the queue of a session. */
const queued = (sessionId: string) =>
  Queue.use((queue) => queue.enqueue(sessionId, { body: { role: "user", content: "next" } }))

const call = (id: string) => ({ type: "tool-call", id, name: "run", input: {} })
const result = (callId: string, output: string) => ({ type: "tool-result", callId, name: "run", output })

const without = <T extends { readonly first?: string }>({ first: _first, ...turn }: T) => turn
