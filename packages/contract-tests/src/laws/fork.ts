/**
 * Laws of forks and side conversations.
 */
import { Forks, sideBoundary } from "@skein/core/fork"
import type { ForkOptions, Workspaces } from "@skein/core/fork"
import { Heads } from "@skein/core/head"
import { History } from "@skein/core/history"
import { Maintenance } from "@skein/core/maintenance"
import { Messages } from "@skein/core/message"
import { Projects } from "@skein/core/project"
import { Rewinds } from "@skein/core/rewind"
import { Sessions } from "@skein/core/session"
import { Turns } from "@skein/core/turn"
import { Unavailable } from "@skein/core/storage"
import { Usage } from "@skein/core/usage"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Scope from "effect/Scope"
import { atTime } from "../clock.ts"
import { faulty } from "../engine.ts"
import { check, equal } from "../equal.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { openServices, withServices } from "../services.ts"
import { begin, callOf, checkout, pathOf, replayed, resultOf, said, say, sayAll, session } from "./conversation.ts"
import { open, timedLaw } from "./turns/subject.ts"

const fork = (sessionId: string, options?: ForkOptions) => Forks.use((forks) => forks.fork(sessionId, options))
const side = (sessionId: string) => Forks.use((forks) => forks.side(sessionId))
const append = (sessionId: string, message: ReturnType<typeof said>) =>
  Messages.use((messages) => messages.append(sessionId, message))
const listed = Effect.map(
  Sessions.use((sessions) => sessions.list()),
  ({ sessions }) => sessions.map(({ id }) => id).toSorted(),
)
/** The error of a boundary that cannot be one, with what it says. */
const refusal = <A, R>(forking: Effect.Effect<A, unknown, R>) =>
  Effect.map(Effect.flip(forking), (error) => {
    const { _tag, nearest } = error as { readonly _tag: string; readonly nearest?: string }
    return [_tag, nearest]
  })

/** A conversation with a tool round: `u1 a1(c1, c2) r1 r2 a2`. */
const withRound = Effect.gen(function* () {
  yield* begin("s")
  yield* say("s", "u1")
  yield* append("s", callOf("a1", "c1", "c2"))
  yield* append("s", resultOf("r1", "c1"))
  yield* append("s", resultOf("r2", "c2"))
  yield* say("s", "a2")
})

export const forkLaws: ReadonlyArray<Law> = [
  law("A47 FRK-01 FRK-03 a fork is a session of its own from a message that both have, and changes nothing", (store) =>
    Effect.gen(function* () {
      yield* Sessions.use((sessions) =>
        sessions.create({
          id: "s",
          title: "Chores",
          agent: "coder",
          workspace: "/projects/app",
          model: { provider: "p", model: "m" },
        }),
      )
      yield* sayAll("s", ["u1", "a1", "u2", "a2"])
      const before = yield* session("s")
      const { id } = yield* fork("s", { at: "a1" })
      equal(yield* session("s"), before)
      const made = yield* session(id)
      equal(yield* pathOf(id), ["u1", "a1"])
      const { agent, forkedFrom, head, model, preview, projectId, treeId, workspaceDir } = made
      equal(forkedFrom, { sessionId: "s", entry: "a1" })
      equal(
        { agent, head, model, preview, projectId, treeId, workspaceDir },
        {
          agent: "coder",
          head: "a1",
          model: { provider: "p", model: "m" },
          preview: "u1",
          projectId: before.projectId,
          treeId: before.treeId,
          workspaceDir: "/projects/app",
        },
      )
      equal([made.parentId, made.kind, made.type, made.visibility], [undefined, "conversation", "branch", "visible"])
      const [own, inherited] = yield* Effect.all(
        ["s", id].map((one) => Messages.use((messages) => messages.getMany(one, ["u1", "a1"]))),
      )
      equal(inherited, own)
      equal(yield* listed, ["s", id].toSorted())
    }).pipe(withServices(store)),
  ),

  law(
    "FRK-01 a fork begins behind the last settled answer unless it is told otherwise, or empty where there is none",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        const empty = yield* fork("s")
        equal([empty.head, empty.forkedFrom], [null, { sessionId: "s", entry: null }])
        yield* say("s", "u1")
        equal((yield* fork("s")).head, null)
        yield* sayAll("s", ["a1", "u2"])
        equal((yield* fork("s")).head, "a1")
        equal((yield* fork("s", { at: "u2" })).head, "u2")
        yield* say(empty.id, "u1b")
        equal(yield* pathOf(empty.id), ["u1b"])
      }).pipe(withServices(store)),
  ),

  law("FRK-01 an operation makes one fork, however often and by how many it is asked for", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1"])
      const asked = Effect.all(
        Array.from({ length: 5 }, () => fork("s", { operationId: "op" })),
        { concurrency: "unbounded" },
      )
      const ids = new Set((yield* asked).map(({ id }) => id))
      yield* say("s", "u2")
      for (const { id } of yield* asked) ids.add(id)
      equal(ids.size, 1)
      equal(yield* listed, ["s", ...ids].toSorted())
      equal(yield* outcomeOf(fork("s", { operationId: "op", at: "u1" })), { failed: "IdConflict" })
      check((yield* fork("s", { operationId: "other" })).id !== [...ids][0], "another operation makes another fork")
    }).pipe(withServices(store)),
  ),

  law("FRK-01 what an operation has made is remembered for thirty days", (store) =>
    Effect.gen(function* () {
      const day = 24 * 60 * 60 * 1_000
      const at = (days: number) => atTime(Date.UTC(2026, 0, 1) + days * day)
      yield* begin("s")
      const make = (days: number) => Effect.map(fork("s", { operationId: "op" }).pipe(at(days)), ({ id }) => id)
      const first = yield* make(0)
      equal(yield* make(29), first)
      const second = yield* make(31)
      check(second !== first, "it is forgotten by then")
      equal(yield* make(60), second)
    }).pipe(withServices(store)),
  ),

  law("A46 FRK-02 a fork may not begin inside a tool round, and learns where it may", (store) =>
    Effect.gen(function* () {
      yield* withRound
      equal(yield* refusal(fork("s", { at: "a1" })), ["InvalidBoundary", "u1"])
      equal(yield* refusal(fork("s", { at: "r1" })), ["InvalidBoundary", "r2"])
      equal(yield* pathOf((yield* fork("s", { at: "r2" })).id), ["u1", "a1", "r1", "r2"])
      equal(yield* outcomeOf(fork("s", { at: "nope" })), { failed: "MessageNotFound" })
      equal((yield* listed).length, 2)
    }).pipe(withServices(store)),
  ),

  law("FRK-02 what nobody sees, or is no message, or belongs to another conversation is no place to fork at", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* begin("other")
      yield* sayAll("s", ["u1", "a1"])
      yield* say("other", "a9")
      yield* append("s", { id: "hidden", role: "user", model: { role: "user", content: "secret" } })
      yield* History.use((history) => history.compact("s", { summary: "So far" }))
      yield* say("s", "u2")
      const { messages } = yield* Messages.use((service) => service.page("s"))
      const compaction = messages.find(({ kind }) => kind === "compaction")!
      equal(yield* refusal(fork("s", { at: "hidden" })), ["InvalidBoundary", "a1"])
      equal(yield* refusal(fork("s", { at: compaction.id })), ["InvalidBoundary", "a1"])
      equal(yield* outcomeOf(fork("s", { at: "a9" })), { failed: "MessageNotFound" })
      equal(yield* outcomeOf(fork("nobody")), { failed: "SessionNotFound" })
      equal(yield* outcomeOf(fork("s", { at: "a b" })), { failed: "InvalidInput" })
      equal(yield* outcomeOf(fork("s", { title: " " })), { failed: "InvalidInput" })
      equal(yield* outcomeOf(fork("s", { workspace: {} })), { failed: "InvalidInput" })
    }).pipe(withServices(store)),
  ),

  timedLaw("FRK-02 of a running session the settled beginning is forked", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { run } = yield* open(store)
        yield* run(begin("s"))
        yield* run(sayAll("s", ["u1", "a1"]))
        const { turn } = yield* run(Turns.use((turns) => turns.begin("s", { prompt: said("u2") })))
        yield* run(Turns.use((turns) => turns.settle("s", turn.epoch, callOf("a2", "c1"))))
        yield* run(Turns.use((turns) => turns.draft("s", turn.epoch, said("a3"))))
        equal((yield* run(fork("s"))).head, "a1")
        equal(yield* run(refusal(fork("s", { at: "a3" }))), ["InvalidBoundary", "u2"])
        equal(yield* run(refusal(fork("s", { at: "a2" }))), ["InvalidBoundary", "u2"])
        equal(yield* run(pathOf((yield* run(fork("s", { at: "u2" }))).id)), ["u1", "a1", "u2"])
        equal((yield* run(session("s"))).status, "running")
        // What a turn that is over has not answered, nobody will.
        yield* run(Turns.use((turns) => turns.end("s", turn.epoch, { outcome: "aborted" })))
        equal((yield* run(fork("s", { at: "a2" }))).head, "a2")
      }),
    ),
  ),

  timedLaw("FRK-02 what the user says while a tool runs is inside its round", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { run } = yield* open(store)
        const turns = yield* run(Turns.use(Effect.succeed))
        yield* run(begin("s"))
        const { turn } = yield* run(turns.begin("s", { prompt: said("u1") }))
        yield* run(turns.settle("s", turn.epoch, callOf("a1", "c1")))
        yield* run(say("s", "u2", { epoch: turn.epoch }))
        yield* run(turns.settle("s", turn.epoch, resultOf("r1", "c1")))
        yield* run(turns.settle("s", turn.epoch, said("a2")))
        yield* run(turns.end("s", turn.epoch, { outcome: "completed" }))
        yield* run(say("s", "u3"))
        equal(yield* run(refusal(fork("s", { at: "u2" }))), ["InvalidBoundary", "r1"])
        equal((yield* run(fork("s", { at: "r1" }))).head, "r1")
        equal((yield* run(fork("s"))).head, "a2")
      }),
    ),
  ),

  law("A48 FRK-03 fork and source never see what the other says later", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1"])
      const { id } = yield* fork("s")
      yield* say("s", "x")
      yield* say(id, "y")
      equal(yield* pathOf("s"), ["u1", "a1", "x"])
      equal(yield* pathOf(id), ["u1", "a1", "y"])
      const before = yield* session("s")
      yield* checkout(id, "u1")
      yield* say(id, "z")
      equal(yield* pathOf(id), ["u1", "z"])
      equal(yield* session("s"), before)
      equal(yield* outcomeOf(checkout(id, "x")), { failed: "MessageNotFound" })
      equal(yield* outcomeOf(checkout("s", "y")), { failed: "MessageNotFound" })
      equal(yield* outcomeOf(Messages.use((messages) => messages.get(id, "x"))), { failed: "MessageNotFound" })
      equal(
        (yield* Messages.use((messages) => messages.siblings("s", "x"))).messages.map((message) => message.id),
        ["x"],
      )
      // A fork that goes back before the place it left at still has its own ends alone.
      yield* Heads.use((heads) => heads.undo(id))
      equal(yield* pathOf(id), ["u1", "a1", "y"])
    }).pipe(withServices(store)),
  ),

  law("A51 FRK-03 a fork has the compactions before it, and none that come later", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1", "u2", "a2"])
      yield* History.use((history) => history.compact("s", { summary: "So far", keepFrom: "u2" }))
      yield* sayAll("s", ["u3", "a3"])
      const after = yield* fork("s")
      const before = yield* fork("s", { at: "a2" })
      yield* History.use((history) => history.compact("s", { summary: "All of it" }))
      const texts = (id: string) =>
        Effect.map(replayed(id), (messages) => messages.map((one) => JSON.stringify(one)).join("\n"))
      check((yield* texts(after.id)).includes("So far"), "the fork has the summary")
      check(!(yield* texts(after.id)).includes("All of it"), "the fork has no later summary")
      equal((yield* replayed(after.id)).length, 5)
      equal((yield* replayed(before.id)).length, 4)
    }).pipe(withServices(store)),
  ),

  law("FRK-06 a fork is called as its source with the next free number, unless it is told", (store) =>
    Effect.gen(function* () {
      yield* Sessions.use((sessions) => sessions.create({ id: "s", title: "Chat" }))
      yield* say("s", "a1")
      const first = yield* fork("s")
      const second = yield* fork(first.id)
      const third = yield* fork("s")
      equal([first.title, second.title, third.title], ["Chat (2)", "Chat (3)", "Chat (4)"])
      const named = yield* fork("s", { title: "Another way" })
      equal([named.title, named.titleOrigin], ["Another way", "manual"])
      equal((yield* fork(named.id)).title, "Another way (2)")
      yield* Sessions.use((sessions) => sessions.rename(named.id, "Chat (9)"))
      equal((yield* fork("s")).title, "Chat (10)")
      yield* begin("untitled")
      const untitled = yield* fork("untitled")
      equal([untitled.title, untitled.titleOrigin], [undefined, "none"])
      yield* Sessions.use((sessions) => sessions.create({ id: "long", title: `${"x".repeat(498)}😀` }))
      const { title } = yield* fork("long")
      check(title!.length <= 500 && title!.endsWith(" (2)"), `a long title is cut: ${title!.length}`)
      check(!/\p{Cs}/u.test(title!), "no half of a character is left")
    }).pipe(withServices(store)),
  ),

  law("A57 FRK-03 usage stays with the session that used it", (store) =>
    Effect.gen(function* () {
      const spend = (sessionId: string, callId: string, tokens: number) =>
        Usage.use((usage) => usage.record(sessionId, { callId, provider: "p", model: "m", input: tokens, output: 0 }))
      const totalOf = (query: { readonly session?: string }) =>
        Effect.map(
          Usage.use((usage) => usage.summary(query)),
          ({ total }) => total.input,
        )
      yield* begin("s")
      yield* say("s", "a1")
      yield* spend("s", "c1", 100)
      const one = yield* fork("s")
      equal((yield* session(one.id)).usage, (yield* begin("new")).usage)
      yield* spend(one.id, "c2", 50)
      const two = yield* fork(one.id)
      yield* spend(two.id, "c3", 5)
      equal(
        [
          yield* totalOf({ session: "s" }),
          yield* totalOf({ session: one.id }),
          yield* totalOf({ session: two.id }),
          yield* totalOf({}),
        ],
        [100, 50, 5, 155],
      )
    }).pipe(withServices(store)),
  ),

  law("FRK-05 a side conversation knows what was said, shows nothing of it, and begins with the boundary", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1"])
      const made = yield* side("s")
      const { counts, displayFrom, kind, parentId, preview, purpose, visibility } = made
      equal(
        { counts: [counts.messages, counts.prompts], displayFrom, kind, parentId, preview, purpose, visibility },
        {
          counts: [0, 0],
          displayFrom: "a1",
          kind: "peek",
          parentId: "s",
          preview: "",
          purpose: "peek_btw_session",
          visibility: "hidden",
        },
      )
      equal(yield* pathOf(made.id), [])
      equal((yield* messages.prompts(made.id)).length, 0)
      const told = (yield* replayed(made.id)).map((message) => (message as { readonly content: unknown }).content)
      equal([told[0], told[1], JSON.stringify(told[2]).includes(sideBoundary), told.length], ["u1", "a1", true, 3])
      yield* sayAll(made.id, ["u2", "a2", "u3"])
      equal(yield* pathOf(made.id), ["u2", "a2", "u3"])
      equal(yield* messages.count(made.id), 3)
      equal((yield* session(made.id)).preview, "u3")
      const last = yield* messages.page(made.id, { limit: 2 })
      equal(
        last.messages.map(({ id }) => id),
        ["a2", "u3"],
      )
      const first = yield* messages.page(made.id, { limit: 2, before: last.before! })
      equal([first.messages.map(({ id }) => id), first.before], [["u2"], undefined])
      equal(
        (yield* messages.prompts(made.id)).map(({ id }) => id),
        ["u3", "u2"],
      )
      yield* checkout(made.id, "a1")
      equal([yield* pathOf(made.id), (yield* session(made.id)).preview], [[], ""])
      // Before its beginning nobody could tell what it says from what it has inherited.
      for (const to of ["u1", null]) equal(yield* outcomeOf(checkout(made.id, to)), { failed: "InvalidBoundary" })
      const rewinding = Rewinds.use((rewinds) => rewinds.rewind(made.id, "u1"))
      equal(yield* outcomeOf(rewinding), { failed: "InvalidBoundary" })
      equal(yield* pathOf("s"), ["u1", "a1"])
      equal(yield* listed, ["s"])
      yield* Heads.use((heads) => heads.undo(made.id))
      // What grows out of it is a conversation like any other, with all that was said.
      equal(yield* pathOf((yield* fork(made.id)).id), ["u1", "a1", "u2", "a2"])
    }).pipe(withServices(store)),
  ),

  timedLaw("FRK-05 a side conversation begins beside a running turn", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { run } = yield* open(store)
        yield* run(begin("s"))
        const { turn } = yield* run(Turns.use((turns) => turns.begin("s", { prompt: said("u1") })))
        yield* run(Turns.use((turns) => turns.settle("s", turn.epoch, callOf("a1", "c1"))))
        yield* run(Turns.use((turns) => turns.settle("s", turn.epoch, resultOf("r1", "c1"))))
        yield* run(Turns.use((turns) => turns.settle("s", turn.epoch, callOf("a2", "c2"))))
        const made = yield* run(side("s"))
        equal(made.displayFrom, "r1")
        equal((yield* run(replayed(made.id))).length, 4)
        yield* run(Turns.use((turns) => turns.begin(made.id, { prompt: said("u2") })))
        equal((yield* run(session("s"))).activeTurn?.epoch, turn.epoch)
      }),
    ),
  ),

  law("FRK-04 a fork in a place that the host makes is in no list before it is there", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const made: Array<string> = []
        const services = yield* openServices(store, {
          workspaces: {
            prepare: ({ operation, source, wanted }) =>
              Effect.gen(function* () {
                equal(yield* withServices(store)(listed), ["s"])
                made.push(operation)
                const { branch } = wanted as { readonly branch: string }
                const location = { kind: "new-worktree", branch, parentRepository: source.workspace! } as const
                return { workspace: `/worktrees/${branch}`, runLocation: location }
              }),
            remove: () => Effect.die("nothing is to be removed"),
          },
        })
        yield* Effect.gen(function* () {
          yield* Sessions.use((sessions) => sessions.create({ id: "s", workspace: "/projects/app" }))
          yield* sayAll("s", ["u1", "a1"])
          const asked = Effect.all(
            Array.from({ length: 3 }, () => fork("s", { operationId: "op", workspace: { branch: "fix" } })),
            { concurrency: "unbounded" },
          )
          const forks = yield* asked
          equal(new Set(forks.map(({ id }) => id)).size, 1)
          equal(made.length, 1)
          const { id, projectId, runLocation, workspaceDir } = forks[0]!
          equal([workspaceDir, runLocation?.branch], ["/worktrees/fix", "fix"])
          equal(projectId, (yield* session("s")).projectId)
          equal(yield* listed, ["s", id].toSorted())
          equal((yield* asked)[0]!.id, id)
          const found = yield* Sessions.use((sessions) => sessions.list({ workspace: "/worktrees/fix" }))
          equal(
            found.sessions.map((one) => one.id),
            [id],
          )
        }).pipe(Effect.provideContext(services))
      }),
    ),
  ),

  law("FRK-04 what the host fails in, or what is given up, is taken back, and there is no fork", (store) =>
    Effect.gen(function* () {
      const removed: Array<string> = []
      const workspaces: Workspaces = {
        prepare: ({ wanted }) => {
          if (wanted["stuck"] === true) return Effect.never
          if (wanted["odd"] === true) return Promise.resolve({ workspace: "" })
          return Promise.reject(new Error("no room"))
        },
        remove: ({ operation }) => {
          removed.push(operation)
          return Promise.resolve()
        },
      }
      yield* Effect.gen(function* () {
        yield* begin("s")
        yield* say("s", "a1")
        const error = yield* Effect.flip(fork("s", { workspace: {}, operationId: "op" }))
        equal([error._tag, error.message.includes("no room"), removed.length], ["WorkspaceFailed", true, 1])
        equal(yield* outcomeOf(fork("s", { workspace: { odd: true } })), { failed: "WorkspaceFailed" })
        const waiting = yield* Effect.forkChild(fork("s", { workspace: { stuck: true } }))
        yield* Effect.yieldNow
        yield* Fiber.interrupt(waiting)
        equal(yield* listed, ["s"])
        check(removed.length >= 2, "what was begun is taken back")
        equal((yield* Maintenance.use((maintenance) => maintenance.recover())).forked, undefined)
      }).pipe(withServices(store, { workspaces }))
    }),
  ),

  timedLaw(
    "FRK-04 what a dead process was making is finished where its place is there, and else taken back",
    (store, time) =>
      Effect.gen(function* () {
        const places = new Set<string>()
        let isStuck: "before" | "after" | undefined
        const stuck = yield* Latch.make(false)
        /** Waits until the host is where it stays. */
        const reached = Effect.andThen(stuck.await, stuck.close)
        const workspaces: Workspaces = {
          prepare: ({ operation }) =>
            Effect.gen(function* () {
              if (isStuck === "after") places.add(operation)
              if (isStuck !== undefined) return yield* Effect.andThen(stuck.open, Effect.never)
              places.add(operation)
              return { workspace: `/worktrees/${operation}` }
            }),
          remove: ({ operation }) => Effect.sync(() => void places.delete(operation)),
        }
        /** A process that dies while the host is at work: nothing that it does afterwards is stored. */
        const die = (when: "before" | "after", operationId: string) =>
          Effect.gen(function* () {
            const flaky = faulty(store)
            const life = yield* Scope.make()
            const context = yield* Scope.provide(openServices(flaky.store, { workspaces }), life)
            isStuck = when
            const forking = yield* Effect.forkDetach(
              Effect.provideContext(fork("s", { operationId, workspace: {} }), context),
            )
            yield* reached
            isStuck = undefined
            flaky.fail(() => ({ reason: new Unavailable({}), committed: false }))
            yield* Fiber.interrupt(forking)
            yield* Scope.close(life, Exit.void)
          })
        const { run } = yield* open(store, { workspaces })
        yield* run(begin("s"))
        yield* run(say("s", "a1"))
        yield* die("before", "one")
        yield* die("after", "two")
        equal(yield* run(listed), ["s"])
        for (let i = 0; i < 3; i++) {
          yield* time.pass(31_000)
          yield* run(Maintenance.use((maintenance) => maintenance.recover()))
        }
        equal([yield* run(listed), [...places]], [["s"], []])
        // Under the same name it is made after all.
        const { id } = yield* run(fork("s", { operationId: "two", workspace: {} }))
        equal(yield* run(listed), ["s", id].toSorted())
        equal(places.size, 1)
      }),
  ),

  timedLaw(
    "FRK-04 who was taken for dead, and is not, does not go on with a fork that somebody else has taken on",
    (store, time) =>
      Effect.scoped(
        Effect.gen(function* () {
          const gates = [yield* Latch.make(false), yield* Latch.make(false)]
          let asked = 0
          const workspaces: Workspaces = {
            prepare: ({ operation }) =>
              Effect.as(
                Effect.suspend(() => gates[asked++]!.await),
                { workspace: `/worktrees/${operation}` },
              ),
            remove: () => Effect.die("nothing is to be removed"),
          }
          const flaky = faulty(store)
          const one = yield* open(flaky.store, { workspaces })
          const other = yield* open(store, { workspaces })
          yield* other.run(begin("s"))
          yield* other.run(say("s", "a1"))
          const forking = fork("s", { operationId: "op", workspace: {} })
          const first = yield* Effect.forkChild(one.run(forking))
          yield* time.settle
          // It lives, and cannot say so.
          flaky.fail(() => ({ reason: new Unavailable({}), committed: false }))
          yield* time.pass(60_000)
          const second = yield* Effect.forkChild(other.run(forking))
          yield* time.pass(31_000)
          equal(asked, 2)
          flaky.mend()
          yield* gates[0]!.open
          yield* time.pass(1_000)
          equal(yield* other.run(listed), ["s"])
          yield* gates[1]!.open
          yield* time.pass(1_000)
          const { id } = yield* Fiber.join(second)
          equal((yield* Fiber.join(first)).id, id)
          equal(yield* other.run(listed), ["s", id].toSorted())
        }),
      ),
  ),

  law("FRK-01 a fork of a hidden project's session shows the project again", (store) =>
    Effect.gen(function* () {
      const projects = yield* Projects
      yield* Sessions.use((sessions) => sessions.create({ id: "s", workspace: "/projects/app" }))
      const { projectId } = yield* session("s")
      yield* projects.hide(projectId, true)
      yield* fork("s")
      equal((yield* projects.get(projectId)).hidden, false)
    }).pipe(withServices(store)),
  ),
]
