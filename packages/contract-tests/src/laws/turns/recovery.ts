/**
 * Laws of recovery, and of who may be given up: what is done about turns whose owners are gone, and about nobody else's.
 */
import { BranchTable, EntryTable, SessionTable, TreeTable, TurnTable } from "@skein/core"
import { Messages } from "@skein/core/message"
import { QueryViews } from "@skein/core/query-view"
import { Sessions } from "@skein/core/session"
import { Storage, Tx, Unavailable } from "@skein/core/storage"
import type { WriteStep } from "@skein/core/storage"
import { Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Time } from "../../clock.ts"
import { counting } from "../../counting.ts"
import { faulty, held, onHost, withoutLocks } from "../../engine.ts"
import { check, equal } from "../../equal.ts"
import { NotApplicable } from "../../law.ts"
import type { Law, Store } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { begin, pathOf, said, session } from "../conversation.ts"
import {
  abort,
  ask,
  beat,
  draft,
  end,
  lease,
  messageOf,
  open,
  recover,
  rowOf,
  timedLaw,
  timedLawWith,
  turnsOf,
} from "./subject.ts"
import type { Opening } from "./subject.ts"

/** Two instances on one host, of which only leases tell whether they are alive. */
const twoByLease = (store: Store) =>
  Effect.gen(function* () {
    const place = withoutLocks(onHost(store, "here"))
    return [yield* open(place), yield* open(place)] as const
  })

/** Does not apply to stores whose engine has no locks. */
const requireLocks = ({ run }: Opening) =>
  run(
    Storage.use(({ locks }) =>
      locks === undefined ? Effect.fail(new NotApplicable({ reason: "the engine has no locks" })) : Effect.void,
    ),
  )

/** Begins a turn in each of some sessions, which are made for it. */
const beginAll = (ids: ReadonlyArray<string>) =>
  Effect.forEach(ids, (id) => Effect.andThen(begin(id), ask(id, "u1")), { concurrency: 200, discard: true })

/** Makes copies of a session in which a turn runs: all of its rows, under another name. */
const copyAll = (of: string, ids: ReadonlyArray<string>) =>
  Storage.use((storage) =>
    Effect.gen(function* () {
      for (let i = 0; i < ids.length; i += 500) {
        yield* storage.transact(
          Tx.make(function* (tx) {
            const session = (yield* tx.get(SessionTable, [of]))!
            const [tree, branch, entry, turn] = yield* tx.all([
              tx.get(TreeTable, [session.treeId]),
              tx.get(BranchTable, [session.treeId, 1]),
              tx.get(EntryTable, [session.treeId, 1, 1]),
              tx.get(TurnTable, [of, 1]),
            ])
            for (const id of ids.slice(i, i + 500)) {
              const treeId = `tree_${id}`
              tx.insert(SessionTable, { ...session, id, treeId })
              tx.insert(TreeTable, { ...tree!, treeId })
              tx.insert(BranchTable, { ...branch!, treeId, owner: id })
              tx.insert(EntryTable, { ...entry!, treeId })
              tx.insert(TurnTable, { ...turn!, sessionId: id })
            }
          }),
        )
      }
    }),
  )

const nobody = { interrupted: [], running: 0 }

/** Whether a turn is ended by others now. */
const isOver = ({ run }: Opening, id = "s") => Effect.map(run(recover()), ({ interrupted }) => interrupted.includes(id))

/** A law of one turn and of who looks at it. */
const lawOfLease = (
  name: string,
  body: (one: Opening, other: Opening, time: Time, store: Store) => Effect.Effect<void, unknown>,
): Law =>
  timedLaw(name, (store, time) =>
    Effect.gen(function* () {
      const [one, other] = yield* twoByLease(store)
      yield* one.run(begin("s"))
      yield* one.run(ask("s", "u1"))
      yield* body(one, other, time, store)
    }),
  )

export const recoveryLaws: ReadonlyArray<Law> = [
  lawOfLease(
    "A28 TRN-02 TRN-05 a turn is recovered when its lease has run out, and not a millisecond before",
    (one, other, time) =>
      Effect.gen(function* () {
        equal(yield* other.run(recover()), { interrupted: [], running: 1 })
        yield* time.pass(lease)
        equal(yield* other.run(recover()), { interrupted: [], running: 1 })
        equal((yield* one.run(session("s"))).status, "running")
        yield* time.pass(1)
        equal(yield* other.run(recover()), { interrupted: ["s"], running: 0 })
        const { activeTurn, status } = yield* one.run(session("s"))
        equal([status, activeTurn], ["interrupted", undefined])
        equal(yield* one.run(pathOf("s")), ["u1"])
        const [turn] = yield* one.run(turnsOf("s"))
        equal(
          [turn!.outcome, turn!.reason, turn!.endedAt, turn!.duration],
          ["interrupted", "crash-recovery", turn!.startedAt + lease + 1, 0],
          "it was heard of when it began, and no more",
        )
        equal(yield* outcomeOf(one.run(beat("s", 1))), { failed: "StaleTurn" })
      }),
  ),

  lawOfLease("A28 TRN-02 whoever renews in time is left alone, however it renews", (one, other, time) =>
    Effect.gen(function* () {
      const renewals = [
        beat("s", 1),
        draft("s", 1, said("a1")),
        Messages.use((messages) => messages.append("s", said("a2"), { epoch: 1 })),
        Turns.use((turns) => turns.settle("s", 1, said("a1"))),
        Turns.use((turns) => turns.setWaiting("s", 1, true)),
      ]
      for (const renew of [...renewals, ...renewals.slice(0, 1)]) {
        yield* time.pass(lease)
        equal(yield* isOver(other), false)
        yield* one.run(renew)
      }
      yield* time.pass(lease)
      equal(yield* isOver(other), false)
      yield* time.pass(1)
      equal(yield* isOver(other), true)
    }),
  ),

  lawOfLease(
    "TRN-02 after the wall clock has jumped by more than 5 s nobody is given up for 10 s",
    (one, other, time) =>
      Effect.gen(function* () {
        equal(yield* isOver(other), false)
        // A machine that has slept: its clock jumps, and the time it slept is no time of its own.
        yield* time.jump(3_600_000)
        equal(yield* isOver(other), false)
        yield* time.pass(9_999)
        equal(yield* isOver(other), false)
        // Its owner wakes up, too, and renews.
        yield* one.run(beat("s", 1))
        yield* time.pass(1)
        equal(yield* isOver(other), false)
        yield* time.jump(3_600_000)
        equal(yield* isOver(other), false)
        yield* time.pass(9_999)
        equal(yield* isOver(other), false)
        yield* time.pass(1)
        equal(yield* isOver(other), true)
      }),
  ),

  lawOfLease("TRN-02 a jump of the wall clock of 5 s or less changes nothing", (_one, other, time) =>
    Effect.gen(function* () {
      equal(yield* isOver(other), false)
      yield* time.jump(5_000)
      yield* time.pass(lease - 5_000)
      equal(yield* isOver(other), false)
      yield* time.pass(1)
      equal(yield* isOver(other), true)
    }),
  ),

  lawOfLease(
    "TRN-02 a wall clock that goes back makes no turn immortal: its lease counts from first sight",
    (_one, other, time) =>
      Effect.gen(function* () {
        yield* time.jump(-3_600_000)
        // Seen for the first time now: it would run for an hour more by its own word.
        equal(yield* isOver(other), false)
        yield* time.pass(lease - 1)
        equal(yield* isOver(other), false)
        yield* time.pass(1)
        equal(yield* isOver(other), true)
      }),
  ),

  timedLaw(
    "TRN-02 a lease that reaches further ahead than it is long counts from first sight, and from each renewal",
    (store, time) =>
      Effect.gen(function* () {
        const [one, other] = yield* twoByLease(store)
        const early = time.ahead(1_000)
        yield* early(one.run(begin("s")))
        yield* early(one.run(ask("s", "u1")))
        equal(yield* isOver(other), false)
        yield* time.pass(lease - 1)
        equal(yield* isOver(other), false)
        yield* early(one.run(beat("s", 1)))
        equal(yield* isOver(other), false)
        yield* time.pass(lease)
        // By now it reaches no further than it is long, and has not run out.
        equal(yield* isOver(other), false)
        yield* time.pass(1_001)
        equal(yield* isOver(other), true)
      }),
  ),

  timedLaw("TRN-02 another host has to see the same beat for a whole lease, by its own steady clock", (store, time) =>
    Effect.gen(function* () {
      const one = yield* open(onHost(store, "here"))
      const other = yield* open(onHost(store, "there"))
      yield* one.run(begin("s"))
      yield* one.run(ask("s", "u1"))
      // However long it has been silent, and whatever the wall clock of the other host shows.
      yield* time.pass(10 * lease)
      equal(yield* time.ahead(86_400_000)(isOver(other)), false)
      yield* time.pass(lease - 1)
      equal(yield* isOver(other), false)
      yield* one.run(beat("s", 1))
      yield* time.pass(1)
      equal(yield* isOver(other), false)
      yield* time.jump(86_400_000)
      yield* time.pass(lease - 1)
      equal(yield* isOver(other), false)
      const error = yield* Effect.flip(other.run(ask("s", "u2")))
      equal(error._tag === "RunActive" && [error.host, error.ownerGone], ["here", "unknown"])
      yield* time.pass(1)
      equal(yield* isOver(other), true)
    }),
  ),

  timedLaw("TRN-02 an owner that is provably gone is given up at once, by whoever meets its turn", (store, time) =>
    Effect.gen(function* () {
      const other = yield* open(store)
      yield* requireLocks(other)
      const meetings = ["recover", "begin", "abort"] as const
      const gone = yield* open(store)
      for (const id of meetings) {
        yield* gone.run(begin(id))
        yield* gone.run(ask(id, "u1"))
        yield* gone.run(draft(id, 1, said("a1")))
        const error = yield* Effect.flip(other.run(ask(id, "u2")))
        equal(error._tag === "RunActive" && error.ownerGone, "no")
      }
      equal(yield* other.run(recover()), { interrupted: [], running: 3 })
      yield* time.pass(1)
      yield* gone.close
      yield* other.run(ask("begin", "u2"))
      equal(yield* other.run(abort("abort", "enough")), true)
      equal(yield* other.run(recover()), { interrupted: ["recover"], running: 1 })
      const ends = yield* Effect.forEach(meetings, (id) => Effect.map(other.run(turnsOf(id)), (turns) => turns.at(-1)!))
      equal(
        ends.map(({ outcome, reason }) => [outcome, reason]),
        [
          ["interrupted", "crash-recovery"],
          ["interrupted", "crash-recovery"],
          ["aborted", "enough"],
        ],
      )
      const cuts = yield* Effect.forEach(meetings, (id) => other.run(messageOf(id, "a1")))
      equal(
        cuts.map(({ cut }) => cut),
        ["interrupted", "interrupted", "aborted"],
      )
      equal(yield* other.run(pathOf("begin")), ["u1", "a1", "u2"])
      equal((yield* other.run(session("abort"))).status, "aborted")
    }),
  ),

  timedLaw(
    "TRN-02 who has just come does not give up an owner that holds its lock: both may have slept, and one wakes up first",
    (store, time) =>
      Effect.gen(function* () {
        const one = yield* open(store)
        yield* requireLocks(one)
        yield* one.run(begin("s"))
        yield* one.run(ask("s", "u1"))
        yield* time.jump(3_600_000)
        const late = yield* open(store)
        equal(yield* isOver(late), false)
        equal(yield* outcomeOf(late.run(ask("s", "u2"))), { failed: "RunActive" })
        yield* time.pass(9_999)
        equal(yield* isOver(late), false)
        yield* time.pass(1)
        equal(yield* isOver(late), true)
      }),
  ),

  timedLaw(
    "TRN-02 an owner that lives holds its lock, and its turns are over all the same when their leases have run out",
    (store, time) =>
      Effect.gen(function* () {
        const [one, other] = [yield* open(store), yield* open(store)]
        yield* requireLocks(other)
        yield* one.run(begin("s"))
        yield* one.run(ask("s", "u1"))
        yield* time.pass(lease)
        equal(yield* isOver(other), false)
        yield* time.pass(1)
        equal(yield* isOver(other), true)
      }),
  ),

  lawOfLease(
    "TRN-01 TRN-02 a turn whose lease has run out is in nobody's way: the next begins in its place, in one commit",
    (one, other, time) =>
      Effect.gen(function* () {
        yield* one.run(draft("s", 1, said("a1")))
        yield* time.pass(lease)
        equal(yield* outcomeOf(other.run(ask("s", "u2"))), { failed: "RunActive" })
        yield* time.pass(1)
        const { ended, turn } = yield* other.run(ask("s", "u2"))
        equal([ended?.epoch, ended?.outcome, ended?.reason, turn.epoch], [1, "interrupted", "crash-recovery", 2])
        equal((yield* other.run(messageOf("s", "a1"))).cut, "interrupted")
        equal(yield* other.run(pathOf("s")), ["u1", "a1", "u2"])
        equal(yield* outcomeOf(one.run(draft("s", 1, said("a1")))), { failed: "StaleTurn" })
      }),
  ),

  timedLaw("TRN-02 TRN-05 a turn that renews between the verdict and the commit is not ended", (store, time) =>
    Effect.gen(function* () {
      const place = withoutLocks(onHost(store, "here"))
      const slow = held(place)
      const [one, other] = [yield* open(place), yield* open(slow.store)]
      const calls: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown, never>, object]> = [
        ["recover", other.run(recover()), { done: { interrupted: [], running: 1 } }],
        ["begin", other.run(ask("begin", "u2")), { failed: "RunActive" }],
        ["abort", other.run(abort("abort")), { done: true }],
      ]
      for (const [id, call, expected] of calls) {
        yield* one.run(begin(id))
        yield* one.run(ask(id, "u1"))
        yield* time.pass(lease + 1)
        slow.hold()
        const calling = yield* Effect.forkChild(outcomeOf(call))
        yield* time.settle
        if (id === "begin") {
          // It has to be refused first, before it asks whether the turn in its way is over.
          slow.step()
          yield* time.settle
        }
        equal(slow.waiting(), 1, `whether ${id} is about to commit`)
        yield* one.run(beat(id, 1))
        slow.release()
        equal(yield* Fiber.join(calling), expected, id)
        equal((yield* one.run(rowOf(id))).activeTurn?.epoch, 1, `the turn after ${id}`)
        yield* one.run(end(id, 1))
      }
    }),
  ),

  timedLawWith(
    { slow: true },
    "A26 TRN-05 2,500 sessions of a dead owner are interrupted in one call, once, and others are left as they are",
    (store, time) =>
      Effect.gen(function* () {
        const [one, other] = yield* twoByLease(store)
        const ids = Array.from({ length: 2_500 }, (_, i) => `s${i}`)
        yield* one.run(begin("idle"))
        yield* one.run(beginAll(["s0"]))
        yield* one.run(copyAll("s0", ids.slice(1)))
        yield* time.pass(lease + 1)
        yield* other.run(begin("living"))
        yield* other.run(ask("living", "u1"))
        const before = yield* other.run(Effect.forEach(["idle", "living"], rowOf))
        const some = ids.filter((_, i) => i % 500 === 7)
        const seen = yield* other.run(Effect.forEach(some, session))
        const { interrupted, running } = yield* other.run(recover())
        equal([new Set(interrupted).size, interrupted.length, running], [2_500, 2_500, 1])
        equal(yield* other.run(recover()), { interrupted: [], running: 1 })
        equal(yield* other.run(Effect.forEach(["idle", "living"], rowOf)), before)
        for (const was of seen) {
          const is = yield* other.run(session(was.id))
          equal([is.status, is.activeTurn, is.unread], ["interrupted", undefined, true])
          equal([is.activityAt, is.head, is.counts], [was.activityAt, was.head, was.counts])
          check(is.revision > was.revision && is.updatedAt > was.updatedAt, "it says that it has changed")
          const [turn] = yield* other.run(turnsOf(was.id))
          equal([turn!.outcome, turn!.reason, turn!.endedAt], ["interrupted", "crash-recovery", is.updatedAt])
          equal((yield* other.run(ask(was.id, "u2"))).turn.epoch, 2)
        }
      }),
  ),

  timedLaw(
    "TRN-05 recovery settles what was drafted, and closes what was shown, as of when it was last heard of",
    (store, time) =>
      Effect.gen(function* () {
        const [one, other] = yield* twoByLease(store)
        yield* one.run(begin("s"))
        const { turn } = yield* one.run(ask("s", "u1"))
        yield* time.pass(1_000)
        yield* one.run(draft("s", 1, said("a1")))
        yield* one.run(Turns.use((turns) => turns.settle("s", 1, said("a2"))))
        yield* one.run(QueryViews.use((views) => views.start("s", { queryKey: "q", epoch: 1 })))
        yield* time.pass(4_000)
        yield* one.run(beat("s", 1))
        yield* time.pass(10 * lease)
        const { activityAt, historyVersion } = yield* other.run(session("s"))
        yield* other.run(recover())
        equal((yield* other.run(session("s"))).activityAt, activityAt)
        const found = yield* other.run(Effect.forEach(["u1", "a1", "a2"], (id) => messageOf("s", id)))
        equal(
          found.map(({ cut, draft }) => [draft, cut]),
          [
            [undefined, undefined],
            [undefined, "interrupted"],
            [undefined, undefined],
          ],
        )
        check((yield* other.run(session("s"))).historyVersion > historyVersion, "what was drafted is replayed now")
        const [view] = yield* other.run(QueryViews.use((views) => views.list("s", ["q"])))
        equal([view!.state, view!.finishedAt, view!.duration], ["finished", turn.startedAt + 5_000, 4_000])
      }),
  ),

  timedLaw("TRN-05 protected sessions are left alone, and running turns that are not dead are counted", (store, time) =>
    Effect.gen(function* () {
      const [one, other] = yield* twoByLease(store)
      yield* one.run(beginAll(["a", "b", "c"]))
      yield* time.pass(lease + 1)
      const before = yield* other.run(Effect.forEach(["a", "c"], rowOf))
      equal(yield* other.run(recover({ protect: ["a", "c", "nobody"] })), { interrupted: ["b"], running: 2 })
      equal(yield* other.run(Effect.forEach(["a", "c"], rowOf)), before)
      yield* one.run(beat("a", 1))
      equal(yield* other.run(recover()), { interrupted: ["c"], running: 1 })
      for (const [wrong, field] of [
        [{ protect: "a" }, "options.protect"],
        [{ protect: ["a b"] }, "options.protect.0"],
        [{ protect: Array.from({ length: 1_001 }, (_, i) => `s${i}`) }, "options.protect"],
        [{ all: true }, "options.all"],
      ] as const) {
        const error = yield* Effect.flip(other.run(recover(wrong as object)))
        equal([error._tag, (error as { readonly field?: string }).field], ["InvalidInput", field])
      }
    }),
  ),

  timedLaw("TRN-05 recoveries at once, and a turn that begins meanwhile, end each dead turn once", (store, time) =>
    Effect.gen(function* () {
      const [one, other] = yield* twoByLease(store)
      const third = yield* open(withoutLocks(onHost(store, "here")))
      const ids = Array.from({ length: 40 }, (_, i) => `s${i}`)
      yield* one.run(beginAll(ids))
      yield* time.pass(lease + 1)
      const taken = ids.slice(0, 10)
      const [first, second] = yield* Effect.all(
        [other.run(recover()), third.run(recover()), Effect.forEach(taken, (id) => third.run(ask(id, "u2")))],
        { concurrency: "unbounded" },
      )
      const ended = [...first.interrupted, ...second.interrupted]
      equal(new Set(ended).size, ended.length, "whether each was ended once")
      for (const id of ids) {
        const turns = yield* other.run(turnsOf(id))
        equal(turns.at(-1)?.outcome, "interrupted")
        equal([turns.length, turns[0]?.outcome], taken.includes(id) ? [2, undefined] : [1, "interrupted"])
      }
      equal(yield* other.run(recover()), { interrupted: [], running: taken.length })
    }),
  ),

  timedLaw("TRN-05 what recovery reads does not grow with what is beside the turns that run", (store, time) =>
    Effect.gen(function* () {
      const seen = counting(store.backend)
      const [one, other] = yield* twoByLease({ ...store, backend: seen.backend })
      const cost = (idle: number) =>
        Effect.gen(function* () {
          yield* one.run(
            Effect.forEach(
              Array.from({ length: idle }, (_, i) => `idle-${idle}-${i}`),
              (id) => Effect.andThen(begin(id), Effect.andThen(ask(id, "u1"), end(id, 1))),
              { concurrency: 50 },
            ),
          )
          yield* one.run(beginAll(Array.from({ length: 3 }, (_, i) => `dead-${idle}-${i}`)))
          yield* time.pass(lease + 1)
          seen.reset()
          equal((yield* other.run(recover())).interrupted.length, 3)
          return ["session", "turn", "entry", "query_view", "queue_item"].map(seen.rows)
        })
      equal(yield* cost(0), yield* cost(60))
    }),
  ),

  timedLaw(
    "TRN-05 SES-16 a store that was opened for an owner recovers that owner's sessions and no others",
    (store, time) =>
      Effect.gen(function* () {
        const place = withoutLocks(onHost(store, "here"))
        const [anns, bobs] = [yield* open(place, { owner: "ann" }), yield* open(place, { owner: "bob" })]
        yield* anns.run(beginAll(["a"]))
        yield* bobs.run(beginAll(["b"]))
        yield* time.pass(lease + 1)
        equal(yield* anns.run(recover()), { interrupted: ["a"], running: 0 })
        equal((yield* bobs.run(session("b"))).status, "running")
        equal(yield* outcomeOf(anns.run(abort("b"))), { failed: "SessionNotFound" })
        equal(yield* bobs.run(recover()), { interrupted: ["b"], running: 0 })
      }),
  ),

  timedLaw(
    "TRN-05 a turn whose row is lost hides no other, and its session is freed by whoever begins there",
    (store, time) =>
      Effect.gen(function* () {
        const [one, other] = yield* twoByLease(store)
        yield* one.run(beginAll(["a", "b"]))
        yield* one.run(
          Storage.use((storage) =>
            storage.transact(
              Tx.make(function* (tx) {
                yield* tx.get(TurnTable, ["a", 1])
                yield* tx.get(SessionTable, ["a"])
                tx.remove(TurnTable, ["a", 1])
              }),
            ),
          ),
        )
        yield* time.pass(lease + 1)
        equal(yield* other.run(recover()), { interrupted: ["b"], running: 0 })
        const { ended, turn } = yield* other.run(ask("a", "u2"))
        equal([ended?.epoch, ended?.outcome, turn.epoch], [1, "interrupted", 2])
        equal(
          (yield* other.run(turnsOf("a"))).map(({ epoch, outcome }) => [epoch, outcome]),
          [
            [2, undefined],
            [1, "interrupted"],
          ],
        )
      }),
  ),

  timedLaw(
    "TRN-02 TRN-05 an instance never gives up a turn that it runs, though it cannot renew its lease",
    (store, time) =>
      Effect.gen(function* () {
        const flaky = faulty(withoutLocks(onHost(store, "here")))
        const one = yield* open(flaky.store)
        yield* one.run(begin("s"))
        const running = yield* Effect.forkChild(
          one.run(Turns.use((turns) => turns.run("s", { prompt: said("u1") }, () => Effect.never))),
        )
        yield* time.settle
        const isHeartbeat = ({ rows }: WriteStep) => rows.every(({ table }) => table.name === "session")
        flaky.fail((writes) => (isHeartbeat(writes) ? { reason: new Unavailable({}) } : undefined))
        yield* time.pass(2 * lease)
        equal(yield* one.run(recover()), { interrupted: [], running: 1 })
        equal(yield* outcomeOf(one.run(ask("s", "u2"))), { failed: "RunActive" })
        flaky.mend()
        equal(yield* one.run(abort("s")), true)
        equal(yield* outcomeOf(Fiber.join(running)), { failed: "TurnAborted" })
      }),
  ),

  timedLaw(
    "TRN-02 TRN-05 an instance recovers its own turns, too, when they are late, save those that it runs",
    (store, time) =>
      Effect.gen(function* () {
        const [one] = yield* twoByLease(store)
        yield* one.run(begin("own"))
        yield* one.run(ask("own", "u1"))
        yield* one.run(begin("run"))
        const running = yield* Effect.forkChild(
          one.run(Turns.use((turns) => turns.run("run", { prompt: said("u1") }, () => Effect.never))),
        )
        yield* time.settle
        equal(yield* one.run(recover()), { interrupted: [], running: 2 })
        yield* time.pass(lease + 1)
        equal(yield* one.run(recover()), { interrupted: ["own"], running: 1 })
        yield* Fiber.interrupt(running)
        equal(yield* one.run(recover()), nobody)
        equal((yield* one.run(Sessions.use((sessions) => sessions.get("run")))).status, "aborted")
      }),
  ),
]
