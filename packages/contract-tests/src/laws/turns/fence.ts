/**
 * Laws of the fence: who may write while a turn runs, and what a turn that was superseded can no longer do.
 */
import type { Services } from "@skein/core"
import { Heads } from "@skein/core/head"
import { History } from "@skein/core/history"
import { Messages } from "@skein/core/message"
import { QueryViews } from "@skein/core/query-view"
import { Sessions } from "@skein/core/session"
import { Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import { check, equal } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { withServices } from "../../services.ts"
import { begin, checkout, pathOf, replayed, said, say, sayAll, session } from "../conversation.ts"
import { ask, beat, draft, end, endings, lease, open, rowOf, settle, start, timedLaw, turnsOf } from "./subject.ts"

type Call = Effect.Effect<unknown, unknown, Services>

/** Everything that a turn may write, each with an entry of its own where it adds one. */
const writes = (epoch: number): ReadonlyArray<readonly [string, Call]> => [
  ["append", say("s", "a-append", { epoch })],
  ["appendMany", Messages.use((messages) => messages.appendMany("s", [said("a-1"), said("a-2")], { epoch }))],
  ["append beside", say("s", "a-beside", { epoch, at: "u1" })],
  [
    "commitUserMessage",
    Messages.use((messages) =>
      messages.commitUserMessage({ sessionId: "s", messageKey: "k", body: { role: "user", content: "k" } }, { epoch }),
    ),
  ],
  ["compact", History.use((history) => history.compact("s", { summary: "S", epoch }))],
  ["draft", draft("s", epoch, said("a-draft"))],
  ["settle", settle("s", epoch, said("a-settle"))],
  ["heartbeat", beat("s", epoch)],
  ["setWaiting", Turns.use((turns) => turns.setWaiting("s", epoch, true))],
  ["query view", QueryViews.use((views) => views.start("s", { queryKey: "q", epoch }))],
]

/** What nobody may do while a turn runs, save with its epoch. */
const moves: ReadonlyArray<readonly [string, Call]> = [
  ["append", say("s", "u9")],
  ["appendMany", Messages.use((messages) => messages.appendMany("s", [said("u9"), said("a9")]))],
  [
    "commitUserMessage",
    Messages.use((messages) => messages.commitUserMessage({ sessionId: "s", messageKey: "k", body: "x" })),
  ],
  ["compact", History.use((history) => history.compact("s", { summary: "S" }))],
  ["checkout", checkout("s", "u1")],
  ["checkout to the root", checkout("s", null)],
  ["checkout of a branch", checkout("s", 1)],
  ["checkout to where it stands", checkout("s", "u3")],
  ["undo", Heads.use((heads) => heads.undo("s"))],
  ["redo", Heads.use((heads) => heads.redo("s"))],
  ["deleteBranch", Heads.use((heads) => heads.deleteBranch("s", 1))],
  ["attach", Heads.use((heads) => heads.attach("s", 1))],
  ["merge", Heads.use((heads) => heads.merge("s", "u1"))],
  ["unmerge", Heads.use((heads) => heads.unmerge("s", "u1"))],
]

/** What a session is, and all that can be seen of it. */
const picture = Effect.gen(function* () {
  const moves = yield* Heads.use((heads) => heads.moves("s"))
  const branches = yield* Messages.use((messages) => messages.branches("s"))
  return [yield* rowOf("s"), yield* pathOf("s"), yield* replayed("s"), yield* turnsOf("s"), moves, branches]
})

export const fenceLaws: ReadonlyArray<Law> = [
  timedLaw("TRN-02 every write of a turn renews its lease, and says that it is alive", (store, time) =>
    Effect.gen(function* () {
      const { run } = yield* open(store)
      yield* run(begin("s"))
      yield* run(ask("s", "u1"))
      for (const [name, write] of writes(1)) {
        const before = (yield* run(rowOf("s"))).activeTurn!
        yield* time.pass(1_000)
        yield* run(write)
        const { beat, epoch, until } = (yield* run(rowOf("s"))).activeTurn!
        check(beat > before.beat, `${name} must be told from silence`)
        equal([epoch, until], [1, before.until + 1_000], `the lease after ${name}`)
      }
    }),
  ),

  timedLaw("TRN-02 an owner that is late, and was not superseded, carries on and renews", (store, time) =>
    Effect.gen(function* () {
      const { run } = yield* open(store)
      yield* run(begin("s"))
      const { turn } = yield* run(ask("s", "u1"))
      yield* time.pass(100 * lease)
      equal(yield* run(beat("s", 1)), {})
      equal((yield* run(session("s"))).activeTurn?.until, turn.startedAt + 101 * lease)
      for (const [, write] of writes(1)) {
        yield* time.pass(2 * lease)
        yield* run(write)
      }
      yield* time.pass(2 * lease)
      yield* run(end("s", 1, { outcome: "completed", messages: [said("a-last")] }))
      equal((yield* run(pathOf("s"))).at(-1), "a-last")
    }),
  ),

  law(
    "TRN-02 a turn that was superseded writes nothing: each of its writes is StaleTurn, with the epoch of the next",
    (store) =>
      Effect.scoped(
        Effect.gen(function* () {
          const [one, other] = [yield* open(store), yield* open(store)]
          yield* one.run(begin("s"))
          yield* one.run(ask("s", "u1"))
          yield* one.run(draft("s", 1, said("a1")))
          const refused = (activeEpoch: number | undefined) =>
            Effect.gen(function* () {
              const before = yield* one.run(picture)
              const calls = [
                ...writes(1),
                ["draft of what it was writing", draft("s", 1, said("a1"))] as const,
                ["settle of what it was writing", settle("s", 1, said("a1"))] as const,
                ...endings.map((ending) => [`end as ${ending.outcome}`, end("s", 1, ending)] as const),
              ]
              for (const [name, call] of calls) {
                const error = (yield* Effect.flip(one.run(call))) as Record<string, unknown>
                const { _tag, epoch, sessionId } = error
                equal([_tag, sessionId, epoch, error["activeEpoch"]], ["StaleTurn", "s", 1, activeEpoch], name)
              }
              equal(yield* one.run(picture), before)
            })
          yield* other.run(ask("s", "u2", { takeOver: true }))
          yield* refused(2)
          yield* other.run(end("s", 2))
          yield* refused(undefined)
          yield* other.run(ask("s", "u3"))
          yield* refused(3)
        }),
      ),
  ),

  law("TRN-02 an epoch that has not been yet is as stale as one that is over", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* say("s", "u1")
      const calls = [...writes(1), ["end", end("s", 1)] as const]
      const idle = yield* picture
      for (const [name, call] of calls) equal(yield* outcomeOf(call), { failed: "StaleTurn" }, name)
      equal(yield* picture, idle)
      yield* start("s", {})
      const running = yield* picture
      for (const [name, call] of [...writes(2), ["end", end("s", 2)] as const]) {
        equal(yield* outcomeOf(call), { failed: "StaleTurn" }, name)
      }
      equal(yield* picture, running)
    }).pipe(withServices(store)),
  ),

  law("TRN-02 API-06 an epoch that is none is refused by name", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* ask("s", "u1")
      const before = yield* picture
      for (const epoch of [0, -1, 1.5, Number.NaN, Infinity, "1" as unknown as number, null as unknown as number]) {
        for (const [name, call] of [...writes(epoch), ["end", end("s", epoch)] as const]) {
          equal(yield* outcomeOf(call), { failed: "InvalidInput" }, `${name} with the epoch ${String(epoch)}`)
        }
      }
      equal(yield* picture, before)
    }).pipe(withServices(store)),
  ),

  law(
    "HED-02 MSG-01 while a turn runs every move of the head, and every append there, is RunActive and changes nothing",
    (store) =>
      Effect.scoped(
        Effect.gen(function* () {
          const [one, other] = [yield* open(store), yield* open(store)]
          yield* one.run(begin("s"))
          yield* one.run(sayAll("s", ["u1", "a1", "u2"]))
          yield* one.run(checkout("s", "a1"))
          yield* one.run(say("s", "u2b"))
          yield* one.run(checkout("s", "u2"))
          yield* one.run(Heads.use((heads) => heads.undo("s")))
          yield* one.run(ask("s", "u3"))
          const before = yield* one.run(picture)
          for (const { run } of [one, other]) {
            for (const [name, call] of moves) {
              const error = (yield* Effect.flip(run(call))) as { readonly _tag: string; readonly code?: string }
              equal([error._tag, error.code], ["RunActive", "run_active"], name)
            }
          }
          equal(yield* one.run(picture), before)
          // What moves no head is let through.
          yield* other.run(say("s", "u1b", { at: "a1", moveHead: false }))
          yield* other.run(Heads.use((heads) => heads.nameBranch("s", 1, "name")))
          yield* other.run(Sessions.use((sessions) => sessions.update("s", { title: "title" })))
          equal(yield* one.run(pathOf("s")), ["u1", "a1", "u2b", "u3"])
          yield* one.run(end("s", 1))
          // And everything is again as soon as the turn is over.
          equal(yield* one.run(checkout("s", "u1")), { from: "u3", to: "u1" })
          yield* one.run(Heads.use((heads) => heads.undo("s")))
          yield* one.run(Heads.use((heads) => heads.redo("s")))
          yield* one.run(say("s", "u9"))
        }),
      ),
  ),

  law("HED-02 TRN-02 what a turn appends is no move: it is in no journal, and checks the head that was seen", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1"])
      yield* ask("s", "u2")
      const { activityAt } = yield* session("s")
      const { turn } = yield* messages.append("s", said("a2"), { epoch: 1, expectedHead: "u2" })
      equal(turn, (yield* session("s")).activeTurn?.id)
      equal(yield* outcomeOf(say("s", "a3", { epoch: 1, expectedHead: "u2" })), { failed: "HeadMoved" })
      yield* History.use((history) => history.compact("s", { summary: "S", epoch: 1 }))
      equal(yield* Heads.use((heads) => heads.moves("s")), [])
      equal((yield* session("s")).activityAt, activityAt)
      equal(yield* messages.appendMany("s", [], { epoch: 1 }), [])
      const compaction = (yield* messages.page("s")).messages.at(-1)!
      equal([compaction.kind, compaction.turn], ["compaction", turn])
    }).pipe(withServices(store)),
  ),

  law("TRN-02 a turn is counted on the path once, whatever it writes first", (store) =>
    Effect.gen(function* () {
      const turns = Effect.map(session("s"), ({ counts }) => counts.turns)
      const firsts: ReadonlyArray<(epoch: number) => Call> = [
        (epoch) => say("s", `a${epoch}`, { epoch }),
        (epoch) => History.use((history) => history.compact("s", { summary: "S", epoch })),
        (epoch) => draft("s", epoch, said(`a${epoch}`)),
        (epoch) => settle("s", epoch, said(`a${epoch}`)),
        (epoch) => end("s", epoch, { outcome: "completed", messages: [said(`a${epoch}`)] }),
      ]
      yield* begin("s")
      yield* say("s", "u1")
      for (const [i, first] of firsts.entries()) {
        const epoch = i + 1
        yield* start("s", {})
        yield* first(epoch)
        equal(yield* turns, epoch, `the turns after the first entry of turn ${epoch}`)
        if (i < firsts.length - 1) {
          yield* say("s", `a${epoch}-more`, { epoch })
          yield* end("s", epoch)
        }
        equal(yield* turns, epoch, `the turns after turn ${epoch}`)
      }
      // One that wrote nothing is on no path.
      yield* start("s", {})
      yield* end("s", firsts.length + 1)
      equal(yield* turns, firsts.length)
      yield* checkout("s", "a1")
      equal(yield* turns, 1)
    }).pipe(withServices(store)),
  ),
]
