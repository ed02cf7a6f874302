/**
 * Laws of turns that run a body: how they end, what keeps them alive, and what they are told.
 */
import { Messages } from "@skein/core/message"
import { Full, Unavailable } from "@skein/core/storage"
import { Turns } from "@skein/core/turn"
import type { Turn, TurnEnd } from "@skein/core/turn"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { changed, faulty, recording } from "../../engine.ts"
import { check, equal } from "../../equal.ts"
import { law, lawWith } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf, tagOf } from "../../outcome.ts"
import { makeRandom } from "../../random.ts"
import { withServices } from "../../services.ts"
import { begin, callOf, pathOf, said, sayAll, session } from "../conversation.ts"
import {
  abort,
  ask,
  end,
  lease,
  messageOf,
  open,
  recover,
  rowOf,
  run,
  saying,
  start,
  timedLaw,
  turnsOf,
} from "./subject.ts"

const prompt = { prompt: said("u1") }

/** What a session shows of the end of its last turn. */
const ended = (id: string) =>
  Effect.map(session(id), ({ activeTurn, error, status }) => ({ status, running: activeTurn !== undefined, error }))

class Broken extends Error {
  readonly _tag = "Broken"
}

export const runLaws: ReadonlyArray<Law> = [
  law("TRN-04 A27 a turn ends the way its body ends, and never stays running", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const opening = yield* open(store)
        const broken = new Broken("it broke")
        const bodies: Readonly<Record<string, readonly [(turn: Turn) => Effect.Effect<unknown, unknown>, object]>> = {
          completed: [() => Effect.succeed("answer"), { status: "idle" }],
          failed: [
            () => Effect.fail(broken),
            { status: "failed", error: { message: "it broke", code: "Broken", source: "agent" } },
          ],
          died: [
            () => Effect.die(new Error("a bug")),
            { status: "failed", error: { message: "a bug", source: "agent" } },
          ],
          thrown: [
            () => {
              throw new TypeError("a slip")
            },
            { status: "failed", error: { message: "a slip", code: "TypeError", source: "agent" } },
          ],
          odd: [
            () => Effect.fail("no error at all"),
            { status: "failed", error: { message: "no error at all", source: "agent" } },
          ],
          interrupted: [() => Effect.interrupt, { status: "aborted" }],
          waiting: [(turn) => turn.needsInput(["c1"]), { status: "needs_input" }],
          done: [(turn) => turn.done, { status: "done" }],
          "waiting and failed": [
            (turn) => Effect.andThen(turn.needsInput(), Effect.fail(broken)),
            { status: "failed", error: { message: "it broke", code: "Broken", source: "agent" } },
          ],
        }
        for (const [name, [body, expected]] of Object.entries(bodies)) {
          const id = name.replaceAll(" ", "-")
          yield* opening.run(begin(id))
          const ends: Array<TurnEnd> = []
          const exit = yield* Effect.exit(
            opening.run(Turns.use((turns) => turns.run(id, prompt, body, { onEnd: (end) => ends.push(end) }))),
          )
          equal(yield* opening.run(ended(id)), { running: false, error: undefined, ...expected }, name)
          const plain = yield* Effect.exit(Effect.suspend(() => body({ ...quiet })))
          equal(shown(exit), shown(plain), `what comes of a body that is ${name}`)
          const [turn] = yield* opening.run(turnsOf(id))
          equal([ends.length, ends[0]?.turn.outcome], [1, turn!.outcome])
        }
        equal((yield* opening.run(session("waiting"))).waiting?.calls, ["c1"])
      }),
    ),
  ),

  law("TRN-04 A27 a run that is interrupted, or aborted, ends as aborted; what was drafted is stored", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const opening = yield* open(store)
        for (const isAborted of [false, true]) {
          const id = isAborted ? "aborted" : "interrupted"
          yield* opening.run(begin(id))
          const drafted = yield* Deferred.make<AbortSignal>()
          const body = (turn: Turn) =>
            turn
              .draft(said("a1"))
              .pipe(Effect.andThen(Deferred.succeed(drafted, turn.signal)), Effect.andThen(Effect.never))
          const running = yield* Effect.forkChild(opening.run(run(id, prompt, body)))
          const signal = yield* Deferred.await(drafted)
          equal(signal.aborted, false)
          if (isAborted) equal(yield* opening.run(abort(id, "enough")), true)
          else yield* Fiber.interrupt(running)
          const exit = yield* Fiber.await(running)
          equal(signal.aborted, true)
          equal(yield* opening.run(ended(id)), { status: "aborted", running: false, error: undefined })
          const [turn] = yield* opening.run(turnsOf(id))
          equal([turn!.outcome, turn!.reason], ["aborted", isAborted ? "enough" : undefined])
          const found = yield* opening.run(messageOf(id, "a1"))
          equal([found.display, found.draft, found.cut], [said("a1").body, undefined, "aborted"])
          if (!isAborted) check(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause), "it is interrupted")
          else equal(shown(exit), { failed: "TurnAborted", reason: "enough" })
        }
      }),
    ),
  ),

  law("TRN-04 a body is given its turn: prompt, fence, signal, and the history without what it is writing", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* ask("s", "u0")
      yield* end("s", 1, { outcome: "completed", messages: [said("a0")] })
      const seen = yield* run("s", prompt, (turn) =>
        Effect.gen(function* () {
          yield* turn.draft(said("a1"))
          const first = yield* turn.history
          yield* turn.settle(said("a1"))
          yield* turn.draft(said("a2"))
          const { epoch, id, prompt, sessionId, signal } = turn
          const texts = [first, yield* turn.history].map(({ messages }) =>
            messages.map((message) => (message as { readonly content: unknown }).content),
          )
          return { epoch, id, prompt: prompt?.id, sessionId, aborted: signal.aborted, texts }
        }),
      )
      const [turn] = yield* turnsOf("s")
      equal(seen, {
        epoch: 2,
        id: turn!.id,
        prompt: "u1",
        sessionId: "s",
        aborted: false,
        texts: [
          ["u0", "a0", "u1"],
          ["u0", "a0", "u1", "a1"],
        ],
      })
      equal(yield* pathOf("s"), ["u0", "a0", "u1", "a1", "a2"])
      equal([turn!.first, turn!.last, turn!.start], ["u1", "a2", "prompt"])
    }).pipe(withServices(store)),
  ),

  timedLaw(
    "TRN-02 TRN-04 a run renews its lease every third of it, at least every 10 s, and no more when it is over",
    (store, time) =>
      Effect.gen(function* () {
        for (const [length, every] of [
          [lease, 10_000],
          [120_000, 10_000],
          [9_000, 3_000],
        ] as const) {
          const seen = recording(
            changed(yield* store.fresh, { capabilities: (known) => ({ ...known, lease: length }) }),
          )
          const one = yield* open(time.of(seen.store))
          yield* one.run(begin("s"))
          const finish = yield* Deferred.make<void>()
          const running = yield* Effect.forkChild(one.run(run("s", prompt, () => Deferred.await(finish))))
          yield* time.settle
          const { startedAt, until } = (yield* one.run(session("s"))).activeTurn!
          equal(until - startedAt, length)
          seen.writes.length = 0
          for (let beats = 1; beats <= 3; beats++) {
            yield* time.pass(every - 1)
            equal(seen.writes.length, beats - 1, "heartbeats before their time")
            yield* time.pass(1)
            equal(seen.writes.length, beats, "heartbeats at their time")
          }
          equal(
            new Set(seen.writes.map(({ durability, tables }) => `${durability} ${tables.join()}`)),
            new Set(["relaxed session"]),
          )
          equal((yield* one.run(session("s"))).activeTurn?.until, startedAt + 3 * every + length)
          yield* Deferred.succeed(finish, undefined)
          yield* Fiber.join(running)
          seen.writes.length = 0
          yield* time.pass(10 * length)
          equal([seen.writes.length, time.sleepers()], [0, 0], "what is done when the turn is over")
          yield* one.close
        }
      }),
  ),

  timedLaw(
    "TRN-02 TRN-04 a run is left alone by all others for as long as it lives, and nobody waits for it",
    (store, time) =>
      Effect.gen(function* () {
        const [one, other] = [yield* open(store), yield* open(store)]
        yield* one.run(begin("s"))
        const finish = yield* Deferred.make<void>()
        const running = yield* Effect.forkChild(one.run(run("s", prompt, () => Deferred.await(finish))))
        yield* time.settle
        for (let i = 0; i < 8; i++) {
          equal(yield* other.run(recover()), { interrupted: [], running: 1 })
          equal(yield* one.run(recover()), { interrupted: [], running: 1 })
          equal(yield* outcomeOf(other.run(ask("s", "u2"))), { failed: "RunActive" })
          yield* time.pass(lease)
        }
        yield* Deferred.succeed(finish, undefined)
        yield* Fiber.join(running)
        equal(yield* other.run(recover()), { interrupted: [], running: 0 })
      }),
  ),

  timedLaw("TRN-04 a body may have some time to end by itself when it is told to stop, and no more", (store, time) =>
    Effect.gen(function* () {
      const opening = yield* open(store)
      const stopped = (signal: AbortSignal) =>
        Effect.callback<void>((resume) => signal.addEventListener("abort", () => resume(Effect.void)))
      const bodies: ReadonlyArray<readonly [string, number, ReadonlyArray<string>]> = [
        ["quick", 4_999, ["u1", "a1"]],
        ["slow", 5_001, ["u1"]],
      ]
      for (const [id, takes, path] of bodies) {
        yield* opening.run(begin(id))
        const body = (turn: Turn) =>
          stopped(turn.signal).pipe(
            Effect.andThen(Effect.sleep(takes)),
            Effect.andThen(turn.settle(said("a1"))),
            Effect.as("ended"),
          )
        const running = yield* Effect.forkChild(
          opening.run(Turns.use((turns) => turns.run(id, prompt, body, { graceMs: 5_000 }))),
        )
        yield* time.settle
        yield* opening.run(abort(id))
        yield* time.pass(4_998)
        equal((yield* opening.run(session(id))).status, "running")
        yield* time.pass(10)
        const exit = yield* Fiber.await(running)
        equal(shown(exit), id === "quick" ? { done: "ended" } : { failed: "TurnAborted", reason: undefined }, id)
        equal([(yield* opening.run(session(id))).status, yield* opening.run(pathOf(id))], ["aborted", path])
      }
    }),
  ),

  timedLaw(
    "TRN-02 TRN-04 a body whose turn was taken over is told to stop, and nothing of it is stored since",
    (store, time) =>
      Effect.gen(function* () {
        const [one, other] = [yield* open(store), yield* open(store)]
        for (const [id, by] of [
          ["same", one],
          ["other", other],
        ] as const) {
          yield* one.run(begin(id))
          const signals: Array<AbortSignal> = []
          const late: Array<unknown> = []
          const body = (turn: Turn) =>
            Effect.gen(function* () {
              signals.push(turn.signal)
              yield* turn.draft(said("a1"))
              yield* Effect.never
            }).pipe(
              Effect.onInterrupt(() =>
                Effect.gen(function* () {
                  late.push(yield* outcomeOf(turn.draft(saying("a1", "late"))))
                  late.push(yield* outcomeOf(turn.publish("late")))
                  late.push(yield* outcomeOf(turn.settle(saying("a1", "late"))))
                }),
              ),
            )
          const running = yield* Effect.forkChild(one.run(run(id, prompt, body)))
          yield* time.settle
          yield* by.run(ask(id, "u2", { takeOver: true }))
          yield* time.pass(by === one ? 0 : 10_000)
          equal(shown(yield* Fiber.await(running)), { failed: "StaleTurn", reason: undefined })
          equal(
            [signals[0]!.aborted, late],
            [true, ["InvalidInput", "InvalidInput", "StaleTurn"].map((failed) => ({ failed }))],
          )
          equal(yield* one.run(pathOf(id)), ["u1", "a1", "u2"])
          const { cut, display } = yield* one.run(messageOf(id, "a1"))
          equal([cut, display], ["interrupted", said("a1").body])
          const { activeTurn, status } = yield* one.run(session(id))
          equal([status, activeTurn?.epoch], ["running", 2], "the turn that took over goes on")
          yield* by.run(end(id, 2))
        }
      }),
  ),

  timedLaw(
    "TRN-03 TRN-04 A27 A68 where the last write fails the turn ends as failed, source storage, and the caller is told",
    (store, time) =>
      Effect.gen(function* () {
        const flaky = faulty(store)
        const { run: on } = yield* open(flaky.store)
        const reasons = [new Full({}), new Unavailable({ detail: "it is away" })]
        for (const [i, reason] of reasons.entries()) {
          const id = `s${i}`
          const gone = reason._tag === "Full"
          // Either there is no room for another entry, or the end meets a store that is away for a moment.
          const refuse = (table: string) => {
            let refused = 0
            flaky.fail(({ rows }) => {
              const isMeant = rows.some((row) => row.table.name === table) && (gone || refused++ === 0)
              return isMeant ? { reason } : undefined
            })
          }
          yield* on(begin(id))
          const body = (turn: Turn) =>
            Effect.gen(function* () {
              if (gone) refuse("entry")
              yield* turn.draft(said("a1"))
              yield* time.settle
              if (!gone) refuse("turn")
              yield* turn.draft(saying("a1", "Hello"))
            })
          const exit = yield* Effect.exit(on(run(id, prompt, body)))
          flaky.mend()
          equal(shown(exit), { failed: reason._tag, reason: undefined })
          const { error, running, status } = yield* on(ended(id))
          equal([status, running, error?.source, error?.code], ["failed", false, "storage", "StorageError"])
          check(error?.message.includes(reason._tag) === true, `it says what failed: ${error?.message}`)
          // Where there was no room, what was never stored gives way; else it is stored with the failure.
          const page = yield* on(Messages.use((messages) => messages.page(id)))
          equal(
            page.messages.map((message) => [message.id, message.cut, message.display]),
            [["u1", undefined, said("u1").body], ...(gone ? [] : [["a1", "failed", saying("a1", "Hello").body]])],
          )
        }
      }),
  ),

  timedLaw(
    "TRN-03 TRN-04 A27 a store that takes no writes for a while: the turn ends as soon as it does",
    (store, time) =>
      Effect.gen(function* () {
        const flaky = faulty(store)
        const { close, run: on } = yield* open(flaky.store)
        yield* on(begin("s"))
        const body = () => Effect.sync(() => flaky.fail(() => ({ reason: new Unavailable({ detail: "it is away" }) })))
        const exit = yield* Effect.exit(on(run("s", prompt, body)))
        equal(shown(exit), { failed: "Unavailable", reason: undefined })
        yield* time.pass(5_500)
        equal((yield* on(session("s"))).status, "running")
        flaky.mend()
        yield* time.pass(1_000)
        const { error, running, status } = yield* on(ended("s"))
        equal([status, running, error?.source], ["failed", false, "storage"])
        const failures = flaky.failures()
        check(failures >= 5 && failures < 10, `it is tried again now and then: ${failures} times`)
        yield* on(ask("s", "u2"))
        yield* close
        equal(time.sleepers(), 0, "who still waits for something")
      }),
  ),

  timedLaw(
    "TRN-03 TRN-05 A27 where the store stays away until the lease has run out, recovery ends the turn",
    (store, time) =>
      Effect.gen(function* () {
        const flaky = faulty(store)
        const [one, other] = [yield* open(flaky.store), yield* open(store)]
        yield* one.run(begin("s"))
        yield* Effect.exit(
          one.run(
            run("s", prompt, () =>
              Effect.sync(() => flaky.fail(() => ({ reason: new Unavailable({ detail: "away" }) }))),
            ),
          ),
        )
        equal(yield* other.run(recover()), { interrupted: [], running: 1 })
        yield* time.pass(lease + 1)
        equal(yield* other.run(recover()), { interrupted: ["s"], running: 0 })
        flaky.mend()
        yield* time.pass(10_000)
        const [turn] = yield* one.run(turnsOf("s"))
        equal(
          [turn!.outcome, turn!.reason, (yield* one.run(session("s"))).status],
          ["interrupted", "crash-recovery", "interrupted"],
        )
      }),
  ),

  timedLaw("TRN-04 STO-04 a heartbeat that fails does not disturb the body, and the next one renews", (store, time) =>
    Effect.gen(function* () {
      const flaky = faulty(store)
      const { run: on } = yield* open(flaky.store)
      yield* on(begin("s"))
      const finish = yield* Deferred.make<void>()
      const running = yield* Effect.forkChild(on(run("s", prompt, () => Deferred.await(finish))))
      yield* time.settle
      const { startedAt } = (yield* on(session("s"))).activeTurn!
      flaky.fail(() => ({ reason: new Full({}) }))
      yield* time.pass(25_000)
      equal(flaky.failures(), 2)
      flaky.mend()
      yield* time.pass(5_000)
      equal((yield* on(session("s"))).activeTurn?.until, startedAt + 2 * lease)
      yield* Deferred.succeed(finish, undefined)
      yield* Fiber.join(running)
      equal((yield* on(session("s"))).status, "idle")
    }),
  ),

  timedLaw(
    "TRN-04 STO-10 closing a store ends its turns as interrupted, with what was drafted, and nothing goes on",
    (store, time) =>
      Effect.gen(function* () {
        const one = yield* open(store)
        const running: Array<Fiber.Fiber<unknown, unknown>> = []
        for (const id of ["s", "t"]) {
          yield* one.run(begin(id))
          const body = (turn: Turn) => Effect.andThen(turn.draft(said("a1")), Effect.never)
          running.push(yield* Effect.forkChild(one.run(run(id, prompt, body))))
        }
        yield* time.settle
        yield* one.close
        for (const one of running) equal(shown(yield* Fiber.await(one)), { failed: "TurnAborted", reason: "closed" })
        equal(time.sleepers(), 0, "who still waits for something")
        const other = yield* open(store)
        for (const id of ["s", "t"]) {
          const [turn] = yield* other.run(turnsOf(id))
          equal([turn!.outcome, turn!.reason], ["interrupted", "closed"])
          equal((yield* other.run(messageOf(id, "a1"))).cut, "interrupted")
        }
        equal(yield* other.run(recover()), { interrupted: [], running: 0 })
      }),
  ),

  timedLaw("TRN-04 STO-10 a run begun while its store closes, or after that, ends at once", (store, time) =>
    Effect.gen(function* () {
      const one = yield* open(store)
      yield* one.run(begin("s"))
      yield* one.run(begin("t"))
      const stubborn = Effect.uninterruptible(Effect.sleep(2_000))
      const first = yield* Effect.forkChild(one.run(run("s", prompt, () => stubborn)))
      yield* time.settle
      const closing = yield* Effect.forkChild(one.close)
      yield* time.settle
      const second = yield* Effect.forkChild(one.run(run("t", prompt, () => Effect.never)))
      yield* time.pass(2_000)
      yield* Fiber.join(closing)
      yield* Fiber.await(first)
      equal(shown(yield* Fiber.await(second)), { failed: "TurnAborted", reason: "closed" })
      equal(shown(yield* Effect.exit(one.run(run("t", prompt, () => Effect.never)))), {
        failed: "Closed",
        reason: undefined,
      })
      equal(time.sleepers(), 0, "who still waits for something")
      const other = yield* open(store)
      equal(yield* other.run(recover()), { interrupted: [], running: 0 })
    }),
  ),

  timedLaw(
    "TRN-04 STO-10 closing waits a few seconds for a body that cannot be stopped, and no longer",
    (store, time) =>
      Effect.gen(function* () {
        const one = yield* open(store)
        yield* one.run(begin("s"))
        const stubborn = Effect.uninterruptible(Effect.sleep(60_000))
        const body = (turn: Turn) => Effect.andThen(turn.draft(said("a1")), stubborn)
        const running = yield* Effect.forkChild(one.run(run("s", prompt, body)))
        yield* time.settle
        const closing = yield* Effect.forkChild(one.close)
        yield* time.pass(10_000)
        equal((yield* Fiber.await(closing))._tag, "Success")
        yield* time.pass(60_000)
        equal(shown(yield* Fiber.await(running)), { failed: "Closed", reason: undefined })
        equal(time.sleepers(), 0, "who still waits for something")
        // What it left behind is found like that of a process that was killed.
        const other = yield* open(store)
        yield* other.run(recover())
        yield* time.pass(lease + 1)
        yield* other.run(recover())
        equal(yield* other.run(ended("s")), { status: "interrupted", running: false, error: undefined })
        equal((yield* other.run(messageOf("s", "a1"))).cut, "interrupted")
      }),
  ),

  law("TRN-01 TRN-04 a run that is interrupted while it begins leaves no turn running, whenever that is", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const opening = yield* open(store)
        yield* opening.run(begin("s"))
        for (let i = 0; i < 60; i++) {
          const running = yield* Effect.forkChild(
            opening.run(run("s", { prompt: said(`u${i}`) }, () => Effect.never)),
            { startImmediately: true },
          )
          for (let n = 0; n < i % 15; n++) yield* Effect.yieldNow
          yield* Fiber.interrupt(running)
          equal((yield* opening.run(rowOf("s"))).activeTurn, undefined, `the turn after interruption ${i}`)
        }
        const turns = yield* opening.run(Turns.use((turns) => turns.list("s", { limit: 250 })))
        equal(new Set(turns.map(({ outcome }) => outcome)), new Set(turns.length === 0 ? [] : ["aborted"]))
        equal((yield* opening.run(pathOf("s"))).length, turns.length)
      }),
    ),
  ),

  lawWith(
    { slow: true },
    "A30 TRN-02 TRN-04 a turn cancelled 200 times in the middle, while another handle resumes, loses nothing of what was there",
    (store) =>
      Effect.scoped(
        Effect.gen(function* () {
          const random = makeRandom(store.seed)
          const [one, other] = [yield* open(store), yield* open(store)]
          yield* one.run(begin("s"))
          yield* one.run(sayAll("s", ["u1", "a1", "u2"]))
          let path: ReadonlyArray<string> = ["u1", "a1", "u2"]
          for (let i = 0; i < 200; i++) {
            const body = (turn: Turn) =>
              turn
                .draft(saying(`a-${i}`, "half"))
                .pipe(
                  Effect.andThen(Effect.yieldNow),
                  Effect.andThen(turn.settle(saying(`a-${i}`, "whole"))),
                  Effect.andThen(turn.settle(said(`a-${i}-more`))),
                )
            const running = yield* Effect.forkChild(one.run(run("s", { prompt: said(`u-${i}`) }, body)), {
              startImmediately: true,
            })
            for (let n = random.nat(40); n > 0; n--) yield* Effect.yieldNow
            const cancelling = yield* Effect.forkChild(Fiber.interrupt(running), { startImmediately: true })
            const { epoch } = (yield* other.run(start("s", {}, { takeOver: true }))).turn
            yield* other.run(Messages.use((messages) => messages.appendMany("s", [], { epoch })))
            yield* other.run(end("s", epoch, { outcome: "completed", messages: [said(`a-${i}-new`)] }))
            yield* Fiber.join(cancelling)
            const { messages } = yield* other.run(Messages.use((messages) => messages.page("s", { limit: 6 })))
            const found = messages.map(({ id }) => id)
            const added = [`u-${i}`, `a-${i}`, `a-${i}-more`].filter((id) => found.includes(id))
            path = [...path, ...added, `a-${i}-new`]
            equal(found, path.slice(-6), `the end of the path after round ${i}`)
            const { cut, display } = messages.find(({ id }) => id === `a-${i}`) ?? {}
            if (added.length === 3) equal([cut, display], [undefined, saying(`a-${i}`, "whole").body])
          }
          equal(
            yield* other.run(
              Effect.map(
                Stream.runCollect(Stream.unwrap(Messages.use((messages) => Effect.succeed(messages.stream("s"))))),
                (all) => all.map(({ id }) => id),
              ),
            ),
            path,
          )
          equal(
            [(yield* one.run(session("s"))).status, yield* one.run(recover())],
            ["idle", { interrupted: [], running: 0 }],
          )
        }),
      ),
  ),

  law("TRN-04 API-06 options that are none are refused by name, and no turn begins", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const options: ReadonlyArray<readonly [object, string]> = [
        [{ onEnd: 5 }, "options.onEnd"],
        [{ graceMs: -1 }, "options.graceMs"],
        [{ graceMs: Number.NaN }, "options.graceMs"],
        [{ seen: 1 }, "options.seen"],
        [{ takeover: true }, "options.takeover"],
      ]
      for (const [wrong, field] of options) {
        const error = yield* Effect.flip(Turns.use((turns) => turns.run("s", prompt, () => Effect.void, wrong)))
        equal([error._tag, (error as { readonly field?: string }).field], ["InvalidInput", field])
      }
      equal(yield* outcomeOf(run("a b", prompt, () => Effect.void)), { failed: "InvalidInput" })
      equal(yield* outcomeOf(run("nobody", prompt, () => Effect.void)), { failed: "SessionNotFound" })
      equal([yield* turnsOf("s"), yield* pathOf("s")], [[], []])
      yield* Turns.use((turns) => turns.run("s", prompt, (turn) => turn.settle(callOf("a1", "c1")), { seen: true }))
      equal((yield* session("s")).unread, false)
    }).pipe(withServices(store)),
  ),
]

/** A turn for bodies that do nothing with it. */
const quiet = { needsInput: () => Effect.void, done: Effect.void } as unknown as Turn

/** How an effect ended, as far as it can be compared. */
const shown = (exit: Exit.Exit<unknown, unknown>) => {
  if (Exit.isSuccess(exit)) return { done: exit.value }
  const thrown = Cause.squash(exit.cause)
  if (Cause.hasInterruptsOnly(exit.cause)) return { interrupted: true }
  if (Cause.hasDies(exit.cause)) return { died: String(thrown) }
  const { reason } = thrown as { readonly reason?: unknown }
  return { failed: tagOf(thrown), reason: typeof reason === "string" ? reason : undefined }
}
