/**
 * Laws of how turns begin, and of who is in the way.
 */
import { Heads } from "@skein/core/head"
import { Messages } from "@skein/core/message"
import { CommitUncertain } from "@skein/core/storage"
import { Turns } from "@skein/core/turn"
import type { RunActive, TurnStart } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { faulty } from "../../engine.ts"
import { check, equal } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf, outcomesOf } from "../../outcome.ts"
import { withServices } from "../../services.ts"
import { begin, callOf, checkout, pathOf, resultOf, said, say, sayAll, session } from "../conversation.ts"
import { ask, beat, end, lease, open, rowOf, saying, start, timedLaw, turnsOf } from "./subject.ts"

/** The error that is in the way of an effect, which must be there. */
const inTheWay = <A, R>(effect: Effect.Effect<A, { readonly _tag: string }, R>) =>
  Effect.map(Effect.flip(effect), (error) => {
    equal(error._tag, "RunActive", "what is in the way")
    return error as RunActive
  })

const never = (start: unknown) => start as TurnStart

export const beginLaws: ReadonlyArray<Law> = [
  timedLaw(
    "TRN-01 a turn begins in one commit with its prompt: the session runs, and says who runs it",
    (store, time) =>
      Effect.gen(function* () {
        const { run } = yield* open(store)
        const before = yield* run(begin("s"))
        yield* time.pass(1_000)
        const { ended, messages, prompt, turn } = yield* run(ask("s", "u1"))
        const after = yield* run(session("s"))
        equal([ended, prompt?.id, messages.map(({ id }) => id)], [undefined, "u1", ["u1"]])
        equal([prompt?.turn, turn.epoch, turn.start, turn.first], [turn.id, 1, "prompt", "u1"])
        const { epoch, host, id, owner, startedAt } = turn
        equal(after.activeTurn, { id, epoch, owner, host, startedAt, until: startedAt + lease, aborting: false })
        equal([after.status, startedAt, after.activityAt], ["running", before.createdAt + 1_000, startedAt])
        equal([after.head, after.preview], ["u1", "u1"])
        equal(after.counts, { entries: 1, messages: 1, prompts: 1, turns: 1 })
        check(after.revision > before.revision, "the revision must grow")
        yield* run(end("s", 1))
        const next = yield* run(ask("s", "u2"))
        check(next.turn.id !== id, "each turn has an id of its own")
        equal([next.turn.epoch, next.turn.owner, (yield* run(session("s"))).counts.turns], [2, owner, 2])
      }),
  ),

  law("TRN-01 a turn may begin with nothing new, and then answers the last prompt", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const empty = yield* start("s", {})
      equal([empty.prompt, empty.messages, empty.turn.first], [undefined, [], undefined])
      yield* end("s", 1)
      yield* sayAll("s", ["u1", "a1"])
      const { messages, prompt, turn } = yield* start("s", {})
      equal([prompt?.id, messages, turn.start], ["u1", [], "none"])
      equal((yield* session("s")).counts.entries, 2)
    }).pipe(withServices(store)),
  ),

  timedLaw("TRN-01 while a turn lives another is RunActive, says whose it is, and writes nothing", (store, time) =>
    Effect.gen(function* () {
      const [one, other] = [yield* open(store), yield* open(store)]
      yield* one.run(begin("s"))
      const { turn } = yield* one.run(ask("s", "u1"))
      yield* time.pass(10)
      const before = yield* one.run(rowOf("s"))
      for (const { run } of [one, other]) {
        for (const begin of [{ prompt: said("u2") }, {}, { retry: "u1" }, { answer: said("a1") }] as const) {
          const { _tag, code, ownerGone, ...error } = yield* inTheWay(run(start("s", begin)))
          const { epoch, host, id, owner, startedAt } = turn
          equal([_tag, code], ["RunActive", "run_active"])
          check(ownerGone !== "yes", "its owner is there")
          equal({ ...error }, { sessionId: "s", turn: id, epoch, owner, host, startedAt, until: startedAt + lease })
        }
      }
      equal(yield* one.run(rowOf("s")), before)
      equal(yield* one.run(pathOf("s")), ["u1"])
      equal((yield* one.run(turnsOf("s"))).length, 1)
    }),
  ),

  law("TRN-01 takeOver ends the other turn as taken over, and begins the next in the same commit", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const [one, other] = [yield* open(store), yield* open(store)]
        yield* one.run(begin("s"))
        const first = yield* one.run(ask("s", "u1"))
        const { revision } = yield* one.run(session("s"))
        const { ended, turn } = yield* other.run(ask("s", "u2", { takeOver: true }))
        equal([ended?.id, ended?.outcome, ended?.reason], [first.turn.id, "interrupted", "taken-over"])
        equal([turn.epoch, turn.owner === first.turn.owner], [2, false])
        equal(yield* one.run(pathOf("s")), ["u1", "u2"])
        const after = yield* one.run(session("s"))
        equal([after.status, after.activeTurn?.epoch, after.counts.turns], ["running", 2, 2])
        check(after.revision > revision, "the revision must grow")
        equal(
          (yield* one.run(turnsOf("s"))).map(({ epoch, outcome, reason }) => [epoch, outcome, reason]),
          [
            [2, undefined, undefined],
            [1, "interrupted", "taken-over"],
          ],
        )
        equal(yield* outcomeOf(one.run(beat("s", 1))), { failed: "StaleTurn" })
        // Nobody is in the way of a turn that takes over where none runs.
        yield* other.run(end("s", 2))
        equal((yield* one.run(ask("s", "u3", { takeOver: true }))).ended, undefined)
      }),
    ),
  ),

  law("TRN-01 of turns that are begun at once, by two instances, one begins and the others see it", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const [one, other] = [yield* open(store), yield* open(store)]
        yield* one.run(begin("s"))
        for (let round = 1; round <= 10; round++) {
          const asked = Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? one : other).run(ask("s", `u${round}-${i}`)))
          const outcomes = yield* outcomesOf(asked)
          const begun = outcomes.flatMap((outcome) => ("done" in outcome ? [outcome.done] : []))
          equal([begun.length, begun[0]?.turn.epoch], [1, round])
          equal(new Set(outcomes.flatMap((one) => ("failed" in one ? [one.failed] : []))), new Set(["RunActive"]))
          yield* one.run(end("s", round))
        }
        const said = yield* one.run(pathOf("s"))
        equal([said.length, new Set(said.map((id) => id.split("-")[0])).size], [10, 10])
      }),
    ),
  ),

  law("TRN-01 HED-02 a turn begins only where the head is as it was seen", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1"])
      const before = yield* rowOf("s")
      const { headVersion } = yield* session("s")
      for (const options of [{ expectedHead: "u1" }, { expectedHead: null }, { expectedVersion: headVersion - 1 }]) {
        equal(yield* outcomeOf(ask("s", "u2", options)), { failed: "HeadMoved" })
        equal(yield* outcomeOf(start("s", {}, options)), { failed: "HeadMoved" })
      }
      equal(yield* rowOf("s"), before)
      equal(yield* turnsOf("s"), [])
      yield* ask("s", "u2", { expectedHead: "a1", expectedVersion: headVersion })
      equal(yield* pathOf("s"), ["u1", "a1", "u2"])
    }).pipe(withServices(store)),
  ),

  law("TRN-01 MSG-03 a prompt that is stored already begins its turn once, and only where it stands", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      const { message } = yield* messages.commitUserMessage({ sessionId: "s", messageKey: "k1", body: said("u1").body })
      const prompt = { id: message.id, role: "user" as const, body: said("u1").body }
      equal(yield* outcomeOf(start("s", { prompt: { ...prompt, body: "other" } })), { failed: "IdConflict" })
      const begun = yield* start("s", { prompt })
      equal([begun.prompt?.id, begun.messages.length, yield* pathOf("s")], [message.id, 1, [message.id]])
      yield* messages.append("s", said("a1"), { epoch: 1 })
      equal((yield* session("s")).counts, { entries: 2, messages: 2, prompts: 1, turns: 1 })
      yield* end("s", 1)
      // It was answered: to begin with it once more would ask a second time what was asked once.
      equal(yield* outcomeOf(start("s", { prompt })), { failed: "OperationConflict" })
      // So would one that a turn began with, also when nothing came of that.
      yield* ask("s", "u2")
      yield* end("s", 2, "aborted")
      equal(yield* outcomeOf(ask("s", "u2")), { failed: "OperationConflict" })
      equal(yield* outcomeOf(start("s", { prompt: saying("u2", "other") })), { failed: "IdConflict" })
      equal((yield* turnsOf("s")).length, 2)
    }).pipe(withServices(store)),
  ),

  law("TRN-01 ids that are taken are IdConflict, whatever the turn begins with, and nothing is written", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* ask("s", "u1", { turnId: "t1" })
      yield* say("s", "a1", { epoch: 1 })
      yield* end("s", 1, "needs_input")
      const before = yield* rowOf("s")
      const conflicts: ReadonlyArray<readonly [TurnStart, string | undefined, string]> = [
        [{ prompt: saying("u1", "other") }, undefined, "u1"],
        [{ prompt: said("u2") }, "t1", "t1"],
        [{}, "t1", "t1"],
        [{ edit: "u1", content: { ...said("u2"), id: "a1" } }, undefined, "a1"],
        [{ answer: [said("r1"), saying("u1", "x")] }, undefined, "u1"],
      ]
      for (const [begin, turnId, id] of conflicts) {
        const error = yield* Effect.flip(start("s", begin, turnId === undefined ? {} : { turnId }))
        equal([error._tag, (error as { readonly id?: string }).id], ["IdConflict", id], JSON.stringify(begin))
      }
      equal(yield* rowOf("s"), before)
      equal([yield* pathOf("s"), (yield* turnsOf("s")).length], [["u1", "a1"], 1])
      // Ids of turns are unique in their session, not in the store.
      yield* begin("other")
      equal((yield* ask("other", "u1", { turnId: "t1" })).turn.id, "t1")
    }).pipe(withServices(store)),
  ),

  law("RWD-04 an edit begins beside the prompt, and a retry behind it, each in one commit with the move", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1", "u2", "a2"])
      const edited = yield* start("s", { edit: "u2", content: said("u2b") })
      equal([edited.prompt?.id, edited.turn.start], ["u2b", "edit"])
      equal(yield* pathOf("s"), ["u1", "a1", "u2b"])
      equal(
        (yield* messages.siblings("s", "u2b")).messages.map(({ id }) => id),
        ["u2", "u2b"],
      )
      const { counts, headVersion, preview, status } = yield* session("s")
      equal([counts, preview, status], [{ entries: 3, messages: 3, prompts: 2, turns: 1 }, "u2b", "running"])
      yield* messages.append("s", said("a2b"), { epoch: 1 })
      yield* end("s", 1)

      const retried = yield* start("s", { retry: "a2b" })
      equal([retried.prompt?.id, retried.messages, retried.turn.start], ["u2b", [], "retry"])
      equal(yield* pathOf("s"), ["u1", "a1", "u2b"])
      yield* messages.append("s", said("a2c"), { epoch: 2 })
      yield* end("s", 2)
      equal(
        (yield* messages.siblings("s", "a2c")).messages.map(({ id }) => id),
        ["a2b", "a2c"],
      )
      equal((yield* session("s")).counts.turns, 2)

      // The prompt may be named instead of its answer; and one that is not on the path.
      const again = yield* start("s", { retry: "u2" })
      equal([again.prompt?.id, yield* pathOf("s")], ["u2", ["u1", "a1", "u2"]])
      yield* end("s", 3)
      check((yield* session("s")).headVersion > headVersion, "the head has moved")
      equal(yield* pathOf("s"), ["u1", "a1", "u2"])
      // What the head left is there still.
      yield* checkout("s", "a2b")
      equal(yield* pathOf("s"), ["u1", "a1", "u2b", "a2b"])
      yield* start("s", { edit: "u1", content: said("u1b") })
      equal(yield* pathOf("s"), ["u1b"])
    }).pipe(withServices(store)),
  ),

  law("RWD-04 an edit and a retry are journalled as moves, and undone as such", (store) =>
    Effect.gen(function* () {
      const heads = yield* Heads
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1", "u2", "a2"])
      yield* start("s", { edit: "u2", content: said("u2b") })
      yield* end("s", 1)
      yield* start("s", { retry: "a1" })
      yield* end("s", 2)
      equal(
        (yield* heads.moves("s")).map(({ from, reason, to }) => [from, to, reason]),
        [
          ["u2b", "u1", "retry"],
          ["a2", "a1", "edit"],
        ],
      )
      yield* heads.undo("s")
      equal(yield* pathOf("s"), ["u1", "a1", "u2b"])
      yield* heads.undo("s")
      equal(yield* pathOf("s"), ["u1", "a1", "u2", "a2"])
      // Where the head stands there already, nothing moves.
      yield* checkout("s", "u2")
      const moves = (yield* heads.moves("s")).length
      yield* start("s", { retry: "u2" })
      equal((yield* heads.moves("s")).length, moves)
    }).pipe(withServices(store)),
  ),

  law("RWD-04 what cannot be edited or retried is refused by name, and nothing moves", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* sayAll("s", ["u1"])
      yield* messages.append("s", callOf("a1", "c1"))
      yield* messages.append("s", resultOf("r1", "c1"))
      yield* messages.append("s", { id: "given", role: "user", model: { role: "user", content: "hidden" } })
      const before = yield* rowOf("s")
      const refused: ReadonlyArray<readonly [TurnStart, string]> = [
        [{ edit: "a1", content: said("u2") }, "InvalidInput"],
        [{ edit: "given", content: said("u2") }, "InvalidInput"],
        [{ edit: "nobody", content: said("u2") }, "MessageNotFound"],
        [{ retry: "nobody" }, "MessageNotFound"],
        [{ retry: "r1" }, "InvalidBoundary"],
        [{ answer: said("a2") }, "OperationConflict"],
      ]
      for (const [begin, failed] of refused)
        equal(yield* outcomeOf(start("s", begin)), { failed }, JSON.stringify(begin))
      equal(yield* rowOf("s"), before)
      equal(yield* turnsOf("s"), [])
    }).pipe(withServices(store)),
  ),

  law(
    "TRN-01 API-06 what is no start, and options that are none, are refused by name before anything is written",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        yield* say("s", "u1")
        const before = yield* rowOf("s")
        const starts: ReadonlyArray<readonly [unknown, string]> = [
          [undefined, "start"],
          [null, "start"],
          ["hello", "start"],
          [[], "start"],
          [{ prompt: said("u2"), retry: "u1" }, "start"],
          [{ edit: "u1" }, "start"],
          [{ content: said("u2") }, "start"],
          [{ prompts: said("u2") }, "start.prompts"],
          [{ prompt: null }, "start.prompt"],
          [{ prompt: {} }, "start.prompt.body"],
          [{ prompt: { ...said("u2"), body: { n: Number.NaN } } }, "start.prompt.body.n"],
          [{ prompt: { ...said("u2"), id: "../x" } }, "start.prompt.id"],
          [{ prompt: said("a2") }, "start.prompt.role"],
          [{ prompt: "hello" }, "start.prompt"],
          [{ edit: "a b", content: said("u2") }, "start.edit"],
          [{ edit: "u1", content: {} }, "start.content.body"],
          [{ edit: "u1", content: said("a2") }, "start.content.role"],
          [{ retry: 5 }, "start.retry"],
          [{ answer: [said("r1"), {}] }, "start.answer[1].body"],
          [{ answer: [] }, "start.answer"],
        ]
        for (const [begin, field] of starts) {
          const error = yield* Effect.flip(start("s", never(begin)))
          equal(
            [error._tag, (error as { readonly field?: string }).field],
            ["InvalidInput", field],
            JSON.stringify(begin),
          )
        }
        const options: ReadonlyArray<readonly [object, string]> = [
          [{ takeOver: "yes" }, "options.takeOver"],
          [{ turnId: "" }, "options.turnId"],
          [{ turnId: "a b" }, "options.turnId"],
          [{ expectedVersion: 1.5 }, "options.expectedVersion"],
          [{ expectedHead: 7 }, "options.expectedHead"],
          [{ durability: "soft" }, "options.durability"],
          [{ epoch: 1 }, "options.epoch"],
        ]
        for (const [wrong, field] of options) {
          const error = yield* Effect.flip(ask("s", "u2", wrong))
          equal(
            [error._tag, (error as { readonly field?: string }).field],
            ["InvalidInput", field],
            JSON.stringify(wrong),
          )
        }
        equal(yield* outcomeOf(ask("nobody", "u2")), { failed: "SessionNotFound" })
        equal(yield* outcomeOf(ask("a b", "u2")), { failed: "InvalidInput" })
        equal(yield* rowOf("s"), before)
      }).pipe(withServices(store)),
  ),

  law("TRN-01 STO-07 a beginning whose answer was lost leaves no turn running that nobody knows of", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const flaky = faulty(store)
        const { run } = yield* open(flaky.store)
        for (const committed of [true, false]) {
          const id = committed ? "stored" : "lost"
          yield* run(begin(id))
          flaky.fail(({ rows }) => {
            const begins = rows.some(({ _tag, table }) => _tag === "Insert" && table.name === "turn")
            return begins ? { reason: new CommitUncertain({}), committed } : undefined
          })
          equal(yield* outcomeOf(run(ask(id, "u1"))), { failed: "CommitUncertain" })
          flaky.mend()
          const { activeTurn, status } = yield* run(session(id))
          equal([activeTurn, status], [undefined, committed ? "interrupted" : "idle"])
          equal(yield* run(pathOf(id)), committed ? ["u1"] : [])
          yield* run(ask(id, "u2"))
        }
      }),
    ),
  ),

  law("TRN-01 a beginning that is interrupted leaves no turn running, whenever that is", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { run } = yield* open(store)
        yield* run(begin("s"))
        let begun = 0
        for (let i = 0; i < 60; i++) {
          const beginning = yield* Effect.forkChild(run(ask("s", `u${i}`)), { startImmediately: true })
          for (let n = 0; n < i % 12; n++) yield* Effect.yieldNow
          yield* Fiber.interrupt(beginning)
          const { activeTurn, epoch } = yield* run(rowOf("s"))
          const exit = yield* Fiber.await(beginning)
          if (exit._tag === "Success") {
            equal(activeTurn?.epoch, exit.value.turn.epoch)
            yield* run(end("s", epoch))
            begun++
          } else equal(activeTurn, undefined, `the turn after interruption ${i}`)
        }
        yield* run(ask("s", "u-last"))
        const turns = yield* run(Turns.use((turns) => turns.list("s", { limit: 250 })))
        const running = turns.filter(({ outcome }) => outcome === undefined)
        equal([running.length, turns.filter(({ outcome }) => outcome === "completed").length], [1, begun])
        check((yield* run(pathOf("s"))).length === turns.length, "each turn has its prompt, and each prompt its turn")
      }),
    ),
  ),
]
