/**
 * Laws of query views.
 */
import { SessionTable } from "@skein/core"
import { QueryViews } from "@skein/core/query-view"
import { Storage, Tx } from "@skein/core/storage"
import { Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import { atTime } from "../clock.ts"
import { check, equal } from "../equal.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { withServices } from "../services.ts"
import { begin, recovered, session } from "./conversation.ts"

const start = (sessionId: string, queryKey: string, epoch: number) =>
  QueryViews.use((views) => views.start(sessionId, { queryKey, epoch }))
const finish = (sessionId: string, queryKey: string, epoch: number) =>
  QueryViews.use((views) => views.finish(sessionId, { queryKey, epoch }))
const expand = (sessionId: string, queryKey: string, expanded?: boolean) =>
  QueryViews.use((views) => views.forceExpand(sessionId, { queryKey, ...(expanded !== undefined && { expanded }) }))
const list = (sessionId: string, ...queryKeys: ReadonlyArray<string>) =>
  QueryViews.use((views) => views.list(sessionId, queryKeys))

/** Gives a session to a new turn, whose epoch is the next one. */
const beginTurn = (sessionId: string, turnId?: string) =>
  Turns.use((turns) => turns.begin(sessionId, {}, { takeOver: true, ...(turnId !== undefined && { turnId }) }))

/** A session's row as it is stored. */
const rowOf = (sessionId: string) =>
  Storage.use((storage) =>
    storage.read(
      Tx.make(function* (tx) {
        return (yield* tx.get(SessionTable, [sessionId]))!
      }),
    ),
  )

const running = { state: "running", folded: false, expanded: false } as const
const folded = { state: "finished", folded: true, expanded: false } as const

export const queryViewLaws: ReadonlyArray<Law> = [
  law(
    "QVW-01 steps are shown while they run, folded when they are finished, and their time adds up over turns",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        yield* beginTurn("s", "t1")
        const one = { queryKey: "q", turn: "t1", startedAt: 1_000 }
        equal(yield* start("s", "q", 1).pipe(atTime(1_000)), {
          view: { ...one, ...running, runningSince: 1_000, duration: 0 },
          changed: true,
        })
        equal(yield* finish("s", "q", 1).pipe(atTime(1_400)), {
          view: { ...one, ...folded, finishedAt: 1_400, duration: 400 },
          changed: true,
        })
        // Again in the same turn, and in the next one: what it ran adds up, what lies between does not count.
        yield* start("s", "q", 1).pipe(atTime(2_000))
        yield* finish("s", "q", 1).pipe(atTime(2_030))
        yield* beginTurn("s", "t2")
        equal((yield* start("s", "q", 2).pipe(atTime(9_000))).view, {
          ...one,
          turn: "t2",
          ...running,
          runningSince: 9_000,
          duration: 430,
        })
        yield* finish("s", "q", 2).pipe(atTime(9_007))
        equal(yield* list("s", "q"), [{ ...one, turn: "t2", ...folded, finishedAt: 9_007, duration: 437 }])
      }).pipe(withServices(store)),
  ),

  law("QVW-01 a start and a finish that are repeated change nothing, and no time is counted twice", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* beginTurn("s")
      yield* start("s", "q", 1).pipe(atTime(1_000))
      const before = yield* session("s")
      const again = yield* start("s", "q", 1).pipe(atTime(1_300))
      equal([again.changed, again.view?.runningSince, again.view?.duration], [false, 1_000, 0])
      equal(yield* session("s"), before)
      equal((yield* finish("s", "q", 1).pipe(atTime(1_500))).view?.duration, 500)
      const after = yield* session("s")
      const twice = yield* finish("s", "q", 1).pipe(atTime(1_900))
      equal([twice.changed, twice.view?.finishedAt, twice.view?.duration], [false, 1_500, 500])
      equal(yield* finish("s", "never", 1), { changed: false })
      equal(yield* session("s"), after)
    }).pipe(withServices(store)),
  ),

  law("QVW-01 a clock that goes back gives no negative time, and takes nothing away", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* beginTurn("s")
      yield* start("s", "q", 1).pipe(atTime(5_000))
      yield* finish("s", "q", 1).pipe(atTime(5_600))
      yield* start("s", "q", 1).pipe(atTime(5_700))
      equal((yield* finish("s", "q", 1).pipe(atTime(400))).view?.duration, 600)
      yield* start("s", "q", 1).pipe(atTime(500))
      equal((yield* finish("s", "q", 1).pipe(atTime(501))).view?.duration, 601)
    }).pipe(withServices(store)),
  ),

  law(
    "QVW-01 only the turn that runs can start, finish or expand: any other is StaleTurn and writes nothing",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        equal(yield* outcomeOf(start("s", "q", 1)), { failed: "StaleTurn" })
        yield* beginTurn("s")
        yield* start("s", "q", 1)
        yield* beginTurn("s")
        const before = [yield* rowOf("s"), yield* list("s", "q", "other")]
        for (const epoch of [1, 3]) {
          equal(yield* outcomeOf(start("s", "other", epoch)), { failed: "StaleTurn" })
          equal(yield* outcomeOf(start("s", "q", epoch)), { failed: "StaleTurn" })
          equal(yield* outcomeOf(finish("s", "q", epoch)), { failed: "StaleTurn" })
          equal(yield* outcomeOf(QueryViews.use((views) => views.forceExpand("s", { queryKey: "q", epoch }))), {
            failed: "StaleTurn",
          })
        }
        equal([yield* rowOf("s"), yield* list("s", "q", "other")], before)
      }).pipe(withServices(store)),
  ),

  law("QVW-01 finishing what another turn started changes nothing and says so", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* beginTurn("s", "t1")
      yield* start("s", "q", 1).pipe(atTime(1_000))
      yield* finish("s", "q", 1).pipe(atTime(1_100))
      yield* beginTurn("s")
      const before = [yield* rowOf("s"), yield* list("s", "q")]
      const { changed, view } = yield* finish("s", "q", 2).pipe(atTime(7_000))
      equal([changed, view?.turn, view?.duration], [false, "t1", 100])
      equal([yield* rowOf("s"), yield* list("s", "q")], before)
    }).pipe(withServices(store)),
  ),

  law("QVW-01 steps that somebody unfolded stay so, over turns and until they are folded again", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      equal(yield* expand("s", "q"), { changed: false })
      equal(yield* list("s", "q"), [])
      yield* beginTurn("s")
      yield* start("s", "q", 1)
      const shown = yield* expand("s", "q")
      equal([shown.changed, shown.view?.expanded, shown.view?.folded], [true, true, false])
      equal((yield* expand("s", "q")).changed, false)
      equal((yield* finish("s", "q", 1)).view?.folded, false)
      yield* beginTurn("s")
      yield* start("s", "q", 2)
      equal((yield* finish("s", "q", 2)).view?.folded, false)
      const again = yield* expand("s", "q", false)
      equal([again.changed, again.view?.expanded, again.view?.folded], [true, false, true])
    }).pipe(withServices(store)),
  ),

  law("QVW-01 a question is any text, and views come in the order asked for, of one session alone", (store) =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        yield* begin("s")
        yield* begin("t")
        yield* beginTurn("s")
        yield* beginTurn("t")
        const keys = [
          "b",
          "a",
          "A",
          "\u5bf9\u8bdd %~ \u{1f600}\n",
          "x".repeat(1_000),
          `${"x".repeat(999)}y`,
          "__proto__",
        ]
        for (const key of keys) yield* start("s", key, 1)
        const found = yield* list("s", ...keys, "nobody", "a")
        equal(
          found.map(({ queryKey }) => queryKey),
          [...keys, "a"],
        )
        equal(yield* list("t", ...keys), [])
        equal(yield* list("s"), [])
        const tooMany = Array.from({ length: 501 }, () => "a")
        for (const wrong of [list("s", ""), list("s", "x".repeat(1_001)), list("s", "\0"), list("s", ...tooMany)]) {
          equal(yield* outcomeOf(wrong), { failed: "InvalidInput" })
        }
        for (const epoch of [0, -1, 1.5, Number.NaN]) {
          equal(yield* outcomeOf(start("s", "q", epoch)), { failed: "InvalidInput" })
        }
        equal(yield* outcomeOf(list("nobody", "a")), { failed: "SessionNotFound" })
      }).pipe(withServices(store))
      // Sessions of others are not seen.
      yield* Effect.gen(function* () {
        equal(yield* outcomeOf(list("s", "a")), { failed: "SessionNotFound" })
        equal(yield* outcomeOf(start("s", "a", 1)), { failed: "SessionNotFound" })
        equal(yield* outcomeOf(expand("s", "a")), { failed: "SessionNotFound" })
      }).pipe(withServices(store, { owner: "ann" }))
    }),
  ),

  law("QVW-01 what a turn changes renews its lease; a person who unfolds does not keep it alive", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* beginTurn("s")
      const lease = Effect.map(rowOf("s"), ({ activeTurn: turn }) => [turn?.beat, turn && turn.until - turn.lease])
      yield* start("s", "q", 1).pipe(atTime(1_000))
      equal(yield* lease, [1, 1_000])
      yield* finish("s", "q", 1).pipe(atTime(2_000))
      equal(yield* lease, [2, 2_000])
      const seen = yield* session("s")
      yield* expand("s", "q").pipe(atTime(3_000))
      equal(yield* lease, [2, 2_000])
      const { activityAt, revision } = yield* session("s")
      check(revision > seen.revision, "the revision moves with what is shown")
      equal(activityAt, seen.activityAt)
    }).pipe(withServices(store)),
  ),

  law("QVW-01 however a turn ends, what it had running is finished with it", (store) =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const endings: Readonly<Record<string, Effect.Effect<unknown, unknown>>> = {
        completed: turns.end("s", 1, { outcome: "completed" }),
        failed: turns.end("s", 2, { outcome: "failed", error: { message: "no" } }),
        aborted: turns.end("s", 3, { outcome: "aborted" }),
        needs_input: turns.end("s", 4, { outcome: "needs_input" }),
        done: turns.end("s", 5, { outcome: "done" }),
        "taken over": turns.begin("s", {}, { takeOver: true }),
      }
      yield* begin("s")
      for (const [i, [how, ending]] of Object.entries(endings).entries()) {
        yield* beginTurn("s").pipe(atTime(10_000 * i))
        for (const queryKey of [how, "every"]) yield* start("s", queryKey, i + 1).pipe(atTime(10_000 * i + 100))
        yield* ending.pipe(atTime(10_000 * i + 150))
        const views = yield* list("s", how, "every")
        equal(
          views.map(({ duration, finishedAt, state }) => [state, finishedAt, duration]),
          [
            ["finished", 10_000 * i + 150, 50],
            ["finished", 10_000 * i + 150, 50 * (i + 1)],
          ],
        )
      }
    }).pipe(withServices(store)),
  ),

  law("QVW-01 recovery finishes what a dead turn had running, up to the last that was heard of it", (store) =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        yield* begin("s")
        yield* beginTurn("s").pipe(atTime(1_000))
        yield* start("s", "q", 1).pipe(atTime(2_000))
        yield* Turns.use((turns) => turns.heartbeat("s", 1)).pipe(atTime(2_500))
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        equal(yield* recovered, ["s"])
        const [view] = yield* list("s", "q")
        equal([view?.state, view?.folded, view?.finishedAt, view?.duration], ["finished", true, 2_500, 500])
      }).pipe(withServices(store))
    }),
  ),

  law("QVW-01 at most a hundred questions of a turn run at the same time", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* beginTurn("s")
      for (let i = 0; i < 100; i++) yield* start("s", `q${i}`, 1)
      equal(yield* outcomeOf(start("s", "one more", 1)), { failed: "InvalidInput" })
      equal(yield* list("s", "one more"), [])
      equal((yield* start("s", "q0", 1)).changed, false)
      yield* finish("s", "q50", 1)
      equal((yield* start("s", "one more", 1)).changed, true)
    }).pipe(withServices(store)),
  ),
]
