/**
 * Laws of stopping a turn from anywhere, and of the list of turns.
 */
import { coreSchema } from "@skein/core"
import { Turns } from "@skein/core/turn"
import type { Turn } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Time } from "../../clock.ts"
import { held, onHost, withoutLocks, withoutWatch } from "../../engine.ts"
import { equal } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf, outcomesOf } from "../../outcome.ts"
import { withServices } from "../../services.ts"
import { requireWatch } from "../../watching.ts"
import { begin, pathOf, said, say, session } from "../conversation.ts"
import {
  abort,
  ask,
  beat,
  draft,
  end,
  endings,
  lease,
  messageOf,
  open,
  recover,
  rowOf,
  run,
  start,
  timedLaw,
  turnsOf,
} from "./subject.ts"
import type { Opening } from "./subject.ts"

/** Begins a run that only a stop ends, and answers its signal. */
const running = (opening: Opening, time: Time, id = "s") =>
  Effect.gen(function* () {
    const signals: Array<AbortSignal> = []
    const body = (turn: Turn) =>
      Effect.gen(function* () {
        signals.push(turn.signal)
        yield* turn.draft(said("a1"))
        yield* Effect.never
      })
    yield* opening.run(begin(id))
    const fiber = yield* Effect.forkChild(opening.run(run(id, { prompt: said("u1") }, body)))
    yield* time.settle
    return { fiber, signal: signals[0]! }
  })

const aborted = (reason: string | undefined) => ({ status: "aborted", outcome: "aborted", reason, cut: "aborted" })

/** What became of a turn that was stopped. */
const found = (id = "s") =>
  Effect.gen(function* () {
    const { status } = yield* session(id)
    const [turn] = yield* turnsOf(id)
    const { cut } = yield* messageOf(id, "a1")
    return { status, outcome: turn!.outcome, reason: turn!.reason, cut }
  })

export const abortLaws: ReadonlyArray<Law> = [
  timedLaw("TRN-08 a stop from the same process is felt at once, without any time", (store, time) =>
    Effect.gen(function* () {
      const one = yield* open(store)
      const { fiber, signal } = yield* running(one, time)
      equal(yield* one.run(abort("s", "enough")), true)
      yield* time.settle
      equal(signal.aborted, true)
      equal(yield* outcomeOf(Fiber.join(fiber)), { failed: "TurnAborted" })
      equal(yield* one.run(found()), aborted("enough"))
    }),
  ),

  timedLaw(
    "TRN-08 a stop from another process is felt within a second, where the engine notices others",
    (store, time) =>
      Effect.gen(function* () {
        yield* requireWatch(store, coreSchema())
        const [one, other] = [yield* open(store), yield* open(store)]
        const { fiber, signal } = yield* running(one, time)
        equal(yield* other.run(abort("s", "enough")), true)
        yield* time.pass(1_000)
        equal(signal.aborted, true)
        equal(yield* outcomeOf(Fiber.join(fiber)), { failed: "TurnAborted" })
        equal(yield* other.run(found()), aborted("enough"))
      }),
  ),

  timedLaw("TRN-08 a stop is felt at the next heartbeat, after 10 s at most, wherever it comes from", (store, time) =>
    Effect.gen(function* () {
      const place = withoutWatch(store)
      const [one, other] = [yield* open(place), yield* open(onHost(place, "elsewhere"))]
      const { fiber, signal } = yield* running(one, time)
      equal(yield* other.run(abort("s", "enough")), true)
      equal((yield* other.run(session("s"))).activeTurn?.aborting, true)
      yield* time.pass(10_000)
      equal(signal.aborted, true)
      equal(yield* outcomeOf(Fiber.join(fiber)), { failed: "TurnAborted" })
      equal(yield* other.run(found()), aborted("enough"))
    }),
  ),

  timedLaw(
    "TRN-02 TRN-08 what happens to a turn before its owner knows that it has begun is felt at once",
    (store, time) =>
      Effect.gen(function* () {
        const place = withoutWatch(store)
        const late = held(place, true)
        const [one, other] = [yield* open(late.store), yield* open(place)]
        const whats: ReadonlyArray<readonly [string, Parameters<typeof other.run>[0], string]> = [
          ["s", abort("s", "enough"), "TurnAborted"],
          ["t", ask("t", "u2", { takeOver: true }), "StaleTurn"],
        ]
        for (const [id, what, failed] of whats) {
          yield* one.run(begin(id))
          late.hold()
          const fiber = yield* Effect.forkChild(one.run(run(id, { prompt: said("u1") }, () => Effect.never)))
          yield* time.settle
          equal([late.waiting(), (yield* other.run(session(id))).status], [1, "running"])
          yield* other.run(what)
          late.release()
          yield* time.settle
          equal(yield* outcomeOf(Fiber.join(fiber)), { failed })
        }
      }),
  ),

  timedLaw(
    "TRN-02 TRN-08 an owner learns from others' commits that it was superseded, where the engine notices them",
    (store, time) =>
      Effect.gen(function* () {
        yield* requireWatch(store, coreSchema())
        const [one, other] = [yield* open(store), yield* open(store)]
        const { fiber, signal } = yield* running(one, time)
        yield* other.run(ask("s", "u2", { takeOver: true }))
        yield* time.pass(1_000)
        equal([signal.aborted, yield* outcomeOf(Fiber.join(fiber))], [true, { failed: "StaleTurn" }])
      }),
  ),

  law("TRN-08 stopping twice is stopping once: the first reason stays, and nothing more is written", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* ask("s", "u1")
      equal(yield* outcomesOf([abort("s", "first"), abort("s", "second")]), [{ done: true }, { done: true }])
      const before = yield* rowOf("s")
      equal(before.activeTurn?.abort?.reason, "first")
      equal([yield* abort("s", "third"), yield* abort("s")], [true, true])
      equal(yield* rowOf("s"), before)
      equal(yield* beat("s", 1), { abort: { reason: "first" } })
      yield* end("s", 1, "aborted")
      const after = yield* rowOf("s")
      equal([yield* abort("s", "late"), yield* rowOf("s")], [false, after])
      // It was about that turn alone.
      yield* ask("s", "u2")
      equal([(yield* session("s")).activeTurn?.aborting, yield* beat("s", 2)], [false, {}])
      equal(yield* abort("s"), true)
      equal(yield* beat("s", 2), { abort: {} })
    }).pipe(withServices(store)),
  ),

  law("TRN-08 where nothing runs there is nothing to stop, and what cannot be is refused by name", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const before = yield* rowOf("s")
      equal(yield* abort("s"), false)
      equal(yield* rowOf("s"), before)
      for (const ending of endings) {
        const { epoch } = (yield* start("s", {})).turn
        yield* end("s", epoch, ending)
        const after = yield* rowOf("s")
        equal([yield* abort("s", "late"), yield* rowOf("s")], [false, after], ending.outcome)
      }
      equal(yield* outcomeOf(abort("nobody")), { failed: "SessionNotFound" })
      equal(yield* outcomeOf(abort("a b")), { failed: "InvalidInput" })
      equal(yield* outcomeOf(abort("s", "x".repeat(1_001))), { failed: "InvalidInput" })
      equal(yield* outcomeOf(abort("s", "\0")), { failed: "InvalidInput" })
      equal(yield* outcomeOf(Turns.use((turns) => turns.abort("s", { why: "x" } as object))), {
        failed: "InvalidInput",
      })
    }).pipe(withServices(store)),
  ),

  timedLaw(
    "TRN-08 a turn whose lease has run out is ended by who stops it; one that may live is asked to stop",
    (store, time) =>
      Effect.gen(function* () {
        const place = withoutLocks(onHost(store, "here"))
        const [one, other] = [yield* open(place), yield* open(place)]
        for (const id of ["s", "t"]) {
          yield* one.run(begin(id))
          yield* one.run(ask(id, "u1"))
          yield* one.run(draft(id, 1, said("a1")))
        }
        yield* time.pass(lease)
        equal(yield* other.run(abort("s", "early")), true)
        equal((yield* other.run(session("s"))).status, "running")
        yield* time.pass(1)
        equal(yield* other.run(abort("t", "late")), true)
        equal(yield* other.run(found("t")), aborted("late"))
        equal(yield* outcomeOf(one.run(beat("t", 1))), { failed: "StaleTurn" })
        // Who was asked to stop, and never did, is found by recovery like anybody else.
        equal(yield* other.run(recover()), { interrupted: ["s"], running: 0 })
      }),
  ),

  law("TRN-08 a stop meets an end at once: what was said last is stored, and the turn has one end", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const [one, other] = [yield* open(store), yield* open(store)]
        yield* one.run(begin("s"))
        for (let epoch = 1; epoch <= 20; epoch++) {
          yield* one.run(ask("s", `u${epoch}`))
          const ending = one.run(end("s", epoch, { outcome: "completed", messages: [said(`a${epoch}`)] }))
          const stopping = (epoch % 2 === 0 ? one : other).run(abort("s"))
          const calls = epoch % 4 < 2 ? [ending, stopping] : [stopping, ending]
          const outcomes = yield* outcomesOf<unknown, unknown, never>(calls)
          equal(
            outcomes.filter((outcome) => "failed" in outcome),
            [],
            `turn ${epoch}`,
          )
          const { activeTurn, status } = yield* one.run(session("s"))
          equal([status, activeTurn, (yield* one.run(pathOf("s"))).at(-1)], ["idle", undefined, `a${epoch}`])
        }
      }),
    ),
  ),

  law("TRN-09 the turns of a session are listed newest first, in pages, with what each wrote first and last", (store) =>
    Effect.gen(function* () {
      const list = (query?: Parameters<Turns["Service"]["list"]>[1]) => Turns.use((turns) => turns.list("s", query))
      yield* begin("s")
      yield* begin("other")
      equal(yield* list(), [])
      for (let epoch = 1; epoch <= 7; epoch++) {
        yield* ask("s", `u${epoch}`)
        yield* ask("other", `u${epoch}`)
        if (epoch % 2 === 0) yield* say("s", `a${epoch}`, { epoch })
        if (epoch < 7) yield* end("s", epoch, endings[epoch % endings.length]!)
        yield* end("other", epoch)
      }
      const all = yield* list()
      equal(
        all.map(({ endedAt, epoch, first, last, outcome, sessionId }) => [
          sessionId,
          epoch,
          outcome,
          first,
          last,
          endedAt !== undefined,
        ]),
        [7, 6, 5, 4, 3, 2, 1].map((epoch) => [
          "s",
          epoch,
          epoch === 7 ? undefined : endings[epoch % endings.length]!.outcome,
          `u${epoch}`,
          epoch % 2 === 0 ? `a${epoch}` : `u${epoch}`,
          epoch < 7,
        ]),
      )
      const walked: Array<number> = []
      for (let before: number | undefined; ; before = walked.at(-1)) {
        const page = yield* list({ limit: 3, ...(before !== undefined && { before }) })
        walked.push(...page.map(({ epoch }) => epoch))
        if (page.length < 3) break
      }
      equal(walked, [7, 6, 5, 4, 3, 2, 1])
      equal(yield* list({ before: 1 }), [])
      for (const wrong of [
        { limit: 0 },
        { limit: 251 },
        { limit: 1.5 },
        { before: 1.5 },
        { before: "7" },
        { after: 1 },
      ]) {
        equal(yield* outcomeOf(list(wrong as object)), { failed: "InvalidInput" }, JSON.stringify(wrong))
      }
      equal(yield* outcomeOf(turnsOf("nobody")), { failed: "SessionNotFound" })
    }).pipe(withServices(store)),
  ),
]
