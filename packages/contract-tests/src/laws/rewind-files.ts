/**
 * Laws of rewinds that take files back: files and head go together, whatever fails, and whoever dies in between.
 */
import { OperationTable, SessionTable } from "@skein/core"
import { Deletions } from "@skein/core/deletion"
import { Forks } from "@skein/core/fork"
import { Heads } from "@skein/core/head"
import type { Messages } from "@skein/core/message"
import { FileFault, Rewinds } from "@skein/core/rewind"
import type { FileHistory, FileRewind, FileRun, RewindOptions } from "@skein/core/rewind"
import { CommitUncertain, Storage, Tx, Unavailable } from "@skein/core/storage"
import type { WriteStep } from "@skein/core/storage"
import type { Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Scope from "effect/Scope"
import { faulty } from "../engine.ts"
import { check, equal } from "../equal.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { openServices, withServices } from "../services.ts"
import { begin, said, say, session } from "./conversation.ts"
import { ask, end, epochOf, lease, open, recover, timedLaw, turnsOf } from "./turns/subject.ts"

type Step = "eligible" | "plan" | "apply" | "verify" | "rollback"

/** Files of a host in memory, and what turns did to them. */
const makeFiles = () => {
  const files = new Map<string, string>()
  /** What turns left, by path: what is otherwise was changed by somebody else. */
  const left = new Map<string, string | undefined>()
  /** By turn, what was there before it. */
  const before = new Map<string, Map<string, string | undefined>>()
  const runs = new Map<string, ReadonlyArray<Change>>()
  const calls: Array<Step> = []
  let hook: (step: Step) => Effect.Effect<void, unknown> = () => Effect.void

  interface Change {
    readonly path: string
    readonly from: string | undefined
    readonly to: string | undefined
  }
  const put = (path: string, content: string | undefined) => {
    if (content === undefined) files.delete(path)
    else files.set(path, content)
  }
  const changesOf = ({ sessionId, turns }: FileRewind): ReadonlyArray<Change> => {
    const to = new Map<string, string | undefined>()
    for (const turn of turns) for (const [path, was] of before.get(`${sessionId}/${turn}`) ?? []) to.set(path, was)
    return [...to]
      .map(([path, was]) => ({ path, from: files.get(path), to: was }))
      .toSorted((a, b) => (a.path < b.path ? -1 : 1))
  }
  const effectOf = ({ from, path, to }: Change) => ({
    path,
    effect: to === undefined ? ("removed" as const) : from === undefined ? ("created" as const) : ("restored" as const),
    ...(from !== left.get(path) && { conflict: "was changed since" }),
  })
  const called = (step: Step) =>
    Effect.suspend(() => {
      calls.push(step)
      return hook(step)
    })

  const history: FileHistory = {
    eligible: () => Effect.as(called("eligible"), { eligible: true } as const),
    plan: (rewind) =>
      Effect.map(called("plan"), () => {
        const changes = changesOf(rewind)
        const effects = changes.map(effectOf).toSorted((a, b) => Number("conflict" in b) - Number("conflict" in a))
        return {
          effects,
          files: changes.length,
          conflicts: effects.filter((effect) => "conflict" in effect).length,
          unknown: rewind.turns.filter((turn) => !before.has(`${rewind.sessionId}/${turn}`)),
          hash: JSON.stringify(changes),
        }
      }),
    apply: (run, hash) =>
      Effect.gen(function* () {
        const changes = changesOf(run)
        equal(JSON.stringify(changes), hash, "the plan that is applied")
        check(!runs.has(run.id), "a run is applied once")
        runs.set(run.id, changes)
        for (const [i, { path, to }] of changes.entries()) {
          // In the middle of its work.
          if (i === 1) yield* called("apply")
          put(path, to)
        }
        if (changes.length < 2) yield* called("apply")
      }),
    verify: (run) =>
      Effect.map(called("verify"), () => {
        for (const { path, to } of runs.get(run.id)!) equal(files.get(path), to, `what is in ${path}`)
      }),
    rollback: (run: FileRun) =>
      Effect.map(called("rollback"), () => {
        for (const { from, path, to } of runs.get(run.id) ?? []) if (files.get(path) === to) put(path, from)
      }),
    prune: () => Promise.resolve(0),
  }
  return {
    history,
    files,
    calls,
    /** What happens from now on in a step. */
    on: (step: Step, work: Effect.Effect<void, unknown>) => {
      hook = (now) => (now === step ? work : Effect.void)
    },
    off: () => {
      hook = () => Effect.void
      calls.length = 0
    },
    /** The process is dead: nothing more is done to files. */
    die: () => {
      hook = () => Effect.fail("it is dead")
    },
    /** A turn writes a file, or removes it. */
    write: (turn: string, path: string, content: string | undefined, sessionId = "s") => {
      const key = `${sessionId}/${turn}`
      const known = before.get(key) ?? new Map<string, string | undefined>()
      if (!known.has(path)) known.set(path, files.get(path))
      before.set(key, known)
      put(path, content)
      left.set(path, content)
    },
    picture: () => Object.fromEntries([...files].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  }
}
type Files = ReturnType<typeof makeFiles>

const rewind = (sessionId: string, prompt: string, options?: RewindOptions) =>
  Rewinds.use((rewinds) => rewinds.rewind(sessionId, prompt, options))
const planOf = (sessionId: string, prompt: string, options?: { readonly files?: boolean }) =>
  Rewinds.use((rewinds) => rewinds.plan(sessionId, prompt, options))

/** A turn from its prompt to its answer. */
const answered = (sessionId: string, prompt: string, answer: string) =>
  Effect.gen(function* () {
    const epoch = yield* epochOf(ask(sessionId, prompt, { turnId: `t-${prompt}` }))
    yield* end(sessionId, epoch, { outcome: "completed", messages: [said(answer)] })
  })

/** Three turns; the last two have written files. */
const worked = ({ write }: Files) =>
  Effect.gen(function* () {
    yield* begin("s")
    yield* answered("s", "u1", "a1")
    write("t-u1", "a.txt", "one")
    write("t-u1", "b.txt", "one")
    yield* answered("s", "u2", "a2")
    write("t-u2", "a.txt", "two")
    write("t-u2", "new.txt", "two")
    yield* answered("s", "u3", "a3")
    write("t-u3", "a.txt", "three")
    write("t-u3", "b.txt", undefined)
  })

const asWorked = { "a.txt": "three", "new.txt": "two" }
const asBefore = { "a.txt": "one", "b.txt": "one" }

/** How many rewinds are noted that have not come to their end. */
const unfinished = Storage.use((storage) =>
  storage.read(
    Tx.make(function* (tx) {
      return (yield* tx.range(OperationTable, "byUnfinished", { prefix: ["rewind"] })).length
    }),
  ),
)

/** Where the session stands, what is in the files, and what is still being done. */
const found = ({ picture }: Files) =>
  Effect.gen(function* () {
    const { head, status } = yield* session("s")
    return { head, status, files: picture(), unfinished: yield* unfinished }
  })

const untouched = { head: "a3", status: "idle", files: asWorked, unfinished: 0 }
const rewound = { head: "a1", status: "idle", files: asBefore, unfinished: 0 }

/** Whether a commit changes a session: it moves the head, then. */
const moves = ({ rows }: WriteStep): boolean => rows.some(({ table }) => table.name === "session")

/** How a rewind was refused. */
const refusal = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(call), (error) => {
    const { _tag, path, problem, restored, step } = error as { readonly [name: string]: unknown }
    return { _tag, step, problem, restored, ...(path !== undefined && { path }) }
  })
const failedIn = (step: string, problem: string, restored = true) => ({
  _tag: "FileRewindFailed",
  step,
  problem,
  restored,
})

export const rewindFileLaws: ReadonlyArray<Law> = [
  law("RWD-05 files go back with the head, those of the newest turn first, and a plan says so before", (store) =>
    Effect.gen(function* () {
      const files = makeFiles()
      yield* Effect.gen(function* () {
        yield* worked(files)
        const plan = yield* planOf("s", "u2")
        equal(plan.turns, ["t-u3", "t-u2"])
        equal(plan.files?.eligible === true && plan.files.effects, [
          { path: "a.txt", effect: "restored" },
          { path: "b.txt", effect: "created" },
          { path: "new.txt", effect: "removed" },
        ])
        equal(yield* found(files), untouched)
        files.off()
        const { files: turns, to } = yield* rewind("s", "u2", { planHash: plan.planHash })
        equal([to, turns], ["a1", ["t-u3", "t-u2"]])
        equal(files.calls, ["eligible", "plan", "apply", "verify"])
        equal(yield* found(files), rewound)
        equal((yield* recover()).restored, undefined)
        equal(yield* found(files), rewound)
        // Undo is about the conversation alone.
        yield* Heads.use((heads) => heads.undo("s"))
        equal(files.picture(), asBefore)
      }).pipe(withServices(store, { fileHistory: files.history }))
    }),
  ),

  law("RWD-05 files are left alone where that is wanted, where no turn leaves, and of turns of others", (store) =>
    Effect.gen(function* () {
      const files = makeFiles()
      yield* Effect.gen(function* () {
        yield* worked(files)
        files.off()
        const plain = yield* planOf("s", "u3", { files: false })
        equal([plain.files, files.calls], [undefined, []])
        yield* rewind("s", "u3", { files: false, planHash: plain.planHash })
        equal(files.picture(), asWorked)
        const { planHash } = yield* planOf("s", "u2")
        equal(yield* outcomeOf(rewind("s", "u2", { files: false, planHash })), { failed: "OperationConflict" })
        yield* say("s", "u4")
        files.off()
        equal((yield* rewind("s", "u4")).files, undefined)
        const { id: fork } = yield* Forks.use((forks) => forks.fork("s"))
        equal((yield* planOf(fork, "u2")).files, undefined)
        equal((yield* rewind(fork, "u1")).files, undefined)
        equal([files.calls, files.picture()], [[], asWorked])
      }).pipe(withServices(store, { fileHistory: files.history }))
      yield* Effect.gen(function* () {
        yield* begin("none")
        yield* answered("none", "u1", "a1")
        equal(yield* outcomeOf(rewind("none", "u1", { files: true })), { failed: "InvalidInput" })
        equal((yield* rewind("none", "u1")).files, undefined)
      }).pipe(withServices(store))
    }),
  ),

  law("RWD-05 files of a session that is not ready, or not eligible, are refused, and the head stays", (store) =>
    Effect.gen(function* () {
      const files = makeFiles()
      const fileHistory: FileHistory = {
        ...files.history,
        eligible: ({ sessionId }) =>
          Promise.resolve(
            sessionId === "s" ? { eligible: true } : { eligible: false, reason: "its workspace is gone" },
          ),
      }
      yield* Effect.gen(function* () {
        yield* worked(files)
        yield* begin("gone")
        yield* answered("gone", "u1", "a1")
        equal(yield* refusal(rewind("gone", "u1")), failedIn("eligible", "its workspace is gone"))
        equal((yield* planOf("gone", "u1")).files, { eligible: false, reason: "its workspace is gone" })
        yield* rewind("gone", "u1", { files: false })
        for (const readiness of ["metadata", "display", "failed"] as const) {
          yield* Storage.use((storage) =>
            storage.transact(
              Tx.make(function* (tx) {
                yield* tx.get(SessionTable, ["s"])
                tx.update(SessionTable, ["s"], (row) => ({ ...row, readiness }))
              }),
            ),
          )
          files.off()
          const { _tag, restored, step } = yield* refusal(rewind("s", "u2"))
          equal([_tag, step, restored, files.calls], ["FileRewindFailed", "eligible", true, []])
          equal((yield* planOf("s", "u2")).files?.eligible, false)
          equal(yield* found(files), untouched)
        }
      }).pipe(withServices(store, { fileHistory }))
    }),
  ),

  law(
    "RWD-05 a file that somebody else has changed is not overwritten, and what was planned is done or nothing",
    (store) =>
      Effect.gen(function* () {
        const files = makeFiles()
        yield* Effect.gen(function* () {
          yield* worked(files)
          const { planHash } = yield* planOf("s", "u2")
          files.files.set("b.txt", "by hand")
          equal(yield* refusal(rewind("s", "u2")), { ...failedIn("plan", "was changed since"), path: "b.txt" })
          files.files.delete("b.txt")
          files.write("t-u3", "c.txt", "late")
          equal(yield* outcomeOf(rewind("s", "u2", { planHash })), { failed: "OperationConflict" })
          equal(yield* found(files), { ...untouched, files: { ...asWorked, "c.txt": "late" } })
          yield* rewind("s", "u2", { planHash: (yield* planOf("s", "u2")).planHash })
          equal(yield* found(files), rewound)
        }).pipe(withServices(store, { fileHistory: files.history }))
      }),
  ),

  law("RWD-05 whatever the host fails in, head and files are what they were, and it may be tried again", (store) =>
    Effect.gen(function* () {
      const files = makeFiles()
      const broken = [
        [Effect.fail(new FileFault({ path: "a.txt", problem: "is locked" })), { problem: "is locked", path: "a.txt" }],
        [Effect.fail(new Error("no room")), { problem: "no room" }],
        [Effect.die(new Error("a mistake")), { problem: "a mistake" }],
      ] as const
      yield* Effect.gen(function* () {
        yield* worked(files)
        for (const step of ["eligible", "plan", "apply", "verify"] as const) {
          for (const [work, facts] of broken) {
            files.off()
            files.on(step, work)
            equal(yield* refusal(rewind("s", "u2")), { _tag: "FileRewindFailed", step, restored: true, ...facts })
            equal(yield* found(files), untouched, `what is left when ${step} fails`)
          }
        }
        files.off()
        yield* rewind("s", "u2")
        equal(yield* found(files), rewound)
      }).pipe(withServices(store, { fileHistory: files.history }))
    }),
  ),

  law("RWD-05 where the head cannot be moved in the end, the files are made what they were", (store) =>
    Effect.gen(function* () {
      const files = makeFiles()
      const flaky = faulty(store)
      yield* Effect.gen(function* () {
        yield* worked(files)
        const services = yield* Effect.context<Messages | Turns>()
        const meanwhile = <A, E>(work: Effect.Effect<A, E, Messages | Turns>) =>
          files.on("apply", Effect.asVoid(Effect.provideContext(work, services)))
        meanwhile(say("s", "u9"))
        equal(yield* outcomeOf(rewind("s", "u2")), { failed: "HeadMoved" })
        equal(yield* found(files), { ...untouched, head: "u9" })
        files.off()
        yield* Heads.use((heads) => heads.checkout("s", "a3"))

        meanwhile(ask("s", "u10"))
        equal(yield* outcomeOf(rewind("s", "u2")), { failed: "RunActive" })
        equal(files.picture(), asWorked)
        yield* end("s", 4, "aborted")
        yield* Heads.use((heads) => heads.checkout("s", "a3"))

        files.off()
        files.on(
          "verify",
          Effect.sync(() => flaky.fail((writes) => (moves(writes) ? { reason: new Unavailable({}) } : undefined))),
        )
        equal(yield* outcomeOf(rewind("s", "u2")), { failed: "Unavailable" })
        equal(files.calls.at(-1), "rollback")
        equal(yield* found(files), untouched)
      }).pipe(withServices(flaky.store, { fileHistory: files.history }))
    }),
  ),

  timedLaw(
    "RWD-05 an answer that got lost leaves it to recovery: files stay where the head has moved, and only there",
    (store, time) =>
      Effect.gen(function* () {
        for (const committed of [true, false]) {
          const files = makeFiles()
          const place = yield* store.fresh
          const flaky = faulty(place)
          const { run } = yield* open(flaky.store, { fileHistory: files.history })
          yield* run(worked(files))
          const lost = { reason: new CommitUncertain({}), committed }
          files.on(
            "verify",
            Effect.sync(() => flaky.fail((writes) => (moves(writes) ? lost : undefined))),
          )
          equal(yield* outcomeOf(run(rewind("s", "u2", { operationId: "back" }))), { failed: "CommitUncertain" })
          flaky.mend()
          files.off()
          equal(files.picture(), asBefore)
          yield* time.pass(60_000)
          equal((yield* run(recover())).restored, committed ? undefined : ["s"])
          equal(yield* run(found(files)), committed ? rewound : untouched)
          equal((yield* run(rewind("s", "u2", { operationId: "back" }))).to, "a1")
          equal(yield* run(found(files)), rewound)
        }
      }),
  ),

  law("RWD-05 DEL-01 where the session is deleted meanwhile, the files are made what they were", (store) =>
    Effect.gen(function* () {
      const files = makeFiles()
      yield* Effect.gen(function* () {
        yield* worked(files)
        const services = yield* Effect.context<Deletions>()
        const deleting = Deletions.use((deletions) => deletions.delete("s"))
        files.on("apply", Effect.asVoid(Effect.provideContext(deleting, services)))
        equal(yield* outcomeOf(rewind("s", "u2")), { failed: "SessionDeleted" })
        equal([files.picture(), yield* unfinished], [asWorked, 0])
      }).pipe(withServices(store, { fileHistory: files.history }))
    }),
  ),

  law("RWD-05 a rewind that is given up takes nothing back", (store) =>
    Effect.gen(function* () {
      const files = makeFiles()
      const stuck = yield* Latch.make(false)
      yield* Effect.gen(function* () {
        yield* worked(files)
        files.on("apply", Effect.andThen(stuck.open, Effect.never))
        const going = yield* Effect.forkChild(rewind("s", "u2"))
        yield* stuck.await
        yield* Fiber.interrupt(going)
        equal(yield* found(files), untouched)
      }).pipe(withServices(store, { fileHistory: files.history }))
    }),
  ),

  law("RWD-05 a turn that is stopped for a rewind has ended before a file is touched", (store) =>
    Effect.gen(function* () {
      const files = makeFiles()
      yield* Effect.gen(function* () {
        yield* worked(files)
        yield* ask("s", "u4", { turnId: "t-u4" })
        files.write("t-u4", "a.txt", "four")
        equal(yield* outcomeOf(rewind("s", "u2")), { failed: "RunActive" })
        equal(files.picture(), { ...asWorked, "a.txt": "four" })
        const services = yield* Effect.context<never>()
        const seen: Array<unknown> = []
        const { planHash } = yield* planOf("s", "u2")
        const look = Effect.map(turnsOf("s"), ([turn]) => void seen.push(turn?.outcome))
        files.on("apply", Effect.provideContext(look as Effect.Effect<void, unknown>, services))
        const { ended, files: turns } = yield* rewind("s", "u2", { abortFirst: true, waitMs: 0, planHash })
        equal([ended, turns, seen], ["t-u4", ["t-u4", "t-u3", "t-u2"], ["aborted"]])
        equal(yield* found(files), rewound)
      }).pipe(withServices(store, { fileHistory: files.history }))
    }),
  ),

  timedLaw(
    "RWD-05 of two rewinds of a session one takes files back; the same one, asked for twice, is done once",
    (store, time) =>
      Effect.gen(function* () {
        const files = makeFiles()
        const [one, other] = [
          yield* open(store, { fileHistory: files.history }),
          yield* open(store, { fileHistory: files.history }),
        ]
        const gate = yield* Latch.make(false)
        yield* one.run(worked(files))
        files.on("apply", gate.await)
        const named = { operationId: "back" }
        const first = yield* Effect.forkChild(one.run(rewind("s", "u2", named)))
        yield* time.settle
        equal(yield* outcomeOf(other.run(rewind("s", "u3"))), { failed: "OperationConflict" })
        // It lives, however long it takes.
        yield* time.pass(5 * lease)
        equal((yield* other.run(recover())).restored, undefined)
        const again = yield* Effect.forkChild(other.run(rewind("s", "u2", named)))
        yield* time.pass(1_000)
        yield* gate.open
        // Whoever waits for it looks now and then, and does not end before it has looked again.
        for (let i = 0; i < 60 && again.pollUnsafe() === undefined; i++) yield* time.pass(1_000)
        equal(yield* Fiber.join(again), yield* Fiber.join(first))
        equal(files.calls.filter((call) => call === "apply").length, 1)
        equal(yield* other.run(found(files)), rewound)
      }),
  ),

  timedLaw(
    "RWD-05 what a dead process was taking back is what it was, by recovery or by the next rewind",
    (store, time) =>
      Effect.gen(function* () {
        for (const step of ["apply", "verify"] as const) {
          for (const next of ["recover", "rewind"] as const) {
            const files = makeFiles()
            const place = yield* store.fresh
            const options = { fileHistory: files.history }
            const { run } = yield* open(place, options)
            yield* run(worked(files))
            const flaky = faulty(place)
            const life = yield* Scope.make()
            const context = yield* Scope.provide(openServices(flaky.store, options), life)
            const stuck = yield* Latch.make(false)
            files.on(step, Effect.andThen(stuck.open, Effect.never))
            const going = yield* Effect.forkDetach(Effect.provideContext(rewind("s", "u2"), context))
            yield* stuck.await
            files.off()
            // It dies: nothing that it does from now on is stored, and it does nothing more to files.
            flaky.fail(() => ({ reason: new Unavailable({}) }))
            files.on("rollback", Effect.fail("it is dead"))
            const dying = yield* Effect.forkChild(Effect.andThen(Fiber.interrupt(going), Scope.close(life, Exit.void)))
            yield* time.pass(5 * lease)
            yield* Fiber.join(dying)
            files.off()
            equal([(yield* run(found(files))).head, (yield* run(found(files))).unfinished], ["a3", 1], step)
            if (next === "recover") {
              for (let i = 0; i < 2; i++) {
                yield* run(recover())
                yield* time.pass(lease + 1_000)
              }
              yield* run(recover())
              equal(yield* run(found(files)), untouched, `what ${step} left`)
            }
            // Where nothing else proves that it is gone, its silence has to be seen for the length of a lease.
            yield* outcomeOf(run(rewind("s", "u2", { operationId: "again" })))
            yield* time.pass(lease + 1_000)
            yield* run(rewind("s", "u2", { operationId: "again" }))
            equal(yield* run(found(files)), rewound)
            equal((yield* run(recover())).restored, undefined)
          }
        }
      }),
  ),

  timedLaw("RWD-05 where files cannot be made what they were, that is said, and recovery tries again", (store, time) =>
    Effect.gen(function* () {
      const files = makeFiles()
      const { run } = yield* open(store, { fileHistory: files.history })
      yield* run(worked(files))
      // Its own clock has been watched for long enough to be trusted.
      yield* time.pass(60_000)
      let isBroken = true
      const failing = Effect.suspend(() => (isBroken ? Effect.fail(new Error("no disk")) : Effect.void))
      const both: FileHistory = {
        ...files.history,
        verify: () => failing,
        rollback: (one) => Effect.andThen(failing, files.history.rollback(one) as Effect.Effect<void>),
      }
      const other = yield* open(store, { fileHistory: both })
      yield* time.pass(60_000)
      equal(yield* refusal(other.run(rewind("s", "u2"))), failedIn("verify", "no disk", false))
      equal((yield* run(found(files))).head, "a3")
      yield* other.run(recover())
      equal((yield* run(found(files))).files, asBefore)
      isBroken = false
      yield* time.pass(1_000)
      equal((yield* other.run(recover())).restored, ["s"])
      equal(yield* run(found(files)), untouched)
    }),
  ),

  timedLaw(
    "RWD-05 a process that dies at whatever commit of a rewind leaves head and files together, after recovery",
    (store, time) =>
      Effect.gen(function* () {
        for (const committed of [true, false]) {
          let isOver = false
          for (let dies = 0; !isOver; dies++) {
            const what = `what was left by death at commit ${dies}, ${committed ? "made" : "not made"}`
            const files = makeFiles()
            const place = yield* store.fresh
            const flaky = faulty(place)
            const options = { fileHistory: files.history }
            const dying = yield* open(flaky.store, options)
            yield* dying.run(worked(files))
            yield* dying.run(ask("s", "u4", { turnId: "t-u4" }))
            files.write("t-u4", "a.txt", "four")
            let commits = 0
            flaky.fail(() => {
              if (commits++ < dies) return undefined
              files.die()
              return { reason: new Unavailable({}), committed: committed && commits === dies + 1 }
            })
            const outcome = yield* outcomeOf(dying.run(rewind("s", "u2", { abortFirst: true, waitMs: 0 })))
            isOver = "done" in outcome
            yield* dying.close
            files.off()
            const { run } = yield* open(place, options)
            for (let i = 0; i < 3; i++) {
              yield* time.pass(2 * lease)
              yield* run(recover())
            }
            const { head, unfinished, ...rest } = yield* run(found(files))
            equal(unfinished, 0, what)
            equal(rest.files, head === "a1" ? asBefore : { ...asWorked, "a.txt": "four" }, what)
            if (isOver) equal(head, "a1")
            else if (!committed) equal(head, "u4", what)
          }
        }
      }),
  ),

  timedLaw(
    "RWD-05 a rewind that was taken for dead, and is not, does not move the head while its files go back",
    (store, time) =>
      Effect.gen(function* () {
        const files = makeFiles()
        const flaky = faulty(store)
        const [applying, rollingBack] = [yield* Latch.make(false), yield* Latch.make(false)]
        const fileHistory: FileHistory = {
          ...files.history,
          rollback: (run) => Effect.andThen(rollingBack.await, files.history.rollback(run) as Effect.Effect<void>),
        }
        const { run } = yield* open(flaky.store, { fileHistory })
        yield* run(worked(files))
        yield* time.pass(60_000)
        files.on("apply", applying.await)
        const going = yield* Effect.forkChild(run(rewind("s", "u2")))
        yield* time.settle
        // For the length of a lease nothing can be stored.
        flaky.fail(() => ({ reason: new Unavailable({}) }))
        yield* time.pass(2 * lease)
        flaky.mend()
        const recovering = yield* Effect.forkChild(run(recover()))
        yield* time.settle
        yield* applying.open
        yield* time.settle
        yield* rollingBack.open
        equal(yield* outcomeOf(Fiber.join(going)), { failed: "OperationConflict" })
        yield* Fiber.join(recovering)
        equal(yield* run(found(files)), untouched)
      }),
  ),
]
