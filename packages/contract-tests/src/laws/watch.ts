/**
 * Laws of what is watched: lists of sessions, and conversations.
 */
import { coreSchema } from "@skein/core"
import { Heads } from "@skein/core/head"
import { Messages } from "@skein/core/message"
import type { SessionView } from "@skein/core/message"
import { Projects } from "@skein/core/project"
import { Queue } from "@skein/core/queue"
import { Sessions } from "@skein/core/session"
import type { SessionPage } from "@skein/core/session"
import { Storage } from "@skein/core/storage"
import { Turns } from "@skein/core/turn"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { atTime } from "../clock.ts"
import { counting } from "../counting.ts"
import { check, equal } from "../equal.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { makeRandom } from "../random.ts"
import type { Random } from "../random.ts"
import { openServices, withServices } from "../services.ts"
import { follow, requireWatch } from "../watching.ts"
import { begin, checkout, said, say, sayAll, session } from "./conversation.ts"

const idsOf = ({ sessions }: SessionPage) => sessions.map(({ id }) => id)
const rowOf = ({ sessions }: SessionPage, id: string) => sessions.find((session) => session.id === id)

const create = (at: number, id: string, workspace?: string) =>
  atTime(at)(Sessions.use((sessions) => sessions.create({ id, ...(workspace !== undefined && { workspace }) })))

export const watchLaws: ReadonlyArray<Law> = [
  law("SES-13 watch gives the list at once, and again whenever something in it has changed", (store) =>
    withServices(store)(
      Effect.gen(function* () {
        const sessions = yield* Sessions
        yield* create(1, "a")
        yield* create(2, "b")
        const next = yield* follow(sessions.watch())
        equal(idsOf(yield* next), ["b", "a"], "the first value")
        yield* create(3, "c")
        equal(idsOf(yield* next), ["c", "b", "a"], "after one was made")
        yield* atTime(4)(say("a", "u1"))
        const said = yield* next
        equal(idsOf(said), ["a", "c", "b"], "after something was said")
        equal(rowOf(said, "a")?.preview, "u1", "its preview")
        yield* sessions.rename("b", "Title")
        equal(rowOf(yield* next, "b")?.title, "Title", "a title that was given")
        yield* sessions.archive("c")
        equal(idsOf(yield* next), ["a", "b"], "after one was put away")
        yield* Projects.use((projects) => projects.rename("default", "Home"))
        equal(rowOf(yield* next, "a")?.projectName, "Home", "the name that their project was given")
      }),
    ),
  ),

  law(
    "SES-13 a session that stays as it was is the same object, wherever it moves, and a list that does is left out",
    (store) =>
      withServices(store)(
        Effect.gen(function* () {
          const sessions = yield* Sessions
          yield* create(1, "a", "/home/ada/app")
          yield* create(2, "b", "/home/ada/app")
          yield* create(3, "c", "/home/ada/app")
          const next = yield* follow(sessions.watch({ workspace: "/home/ada/app", limit: 2 }))
          const first = yield* next
          equal(idsOf(first), ["c", "b"], "the first page")
          const waiting = yield* Effect.forkChild(next, { startImmediately: true })
          // Neither of these is on the page.
          yield* create(5, "elsewhere")
          yield* sessions.touch("a")
          yield* atTime(6)(say("b", "u1"))
          const second = yield* Fiber.join(waiting)
          equal(idsOf(second), ["b", "c"], "the page after one has moved")
          check(rowOf(second, "c") === rowOf(first, "c"), "the one that stayed as it was is another object")
          check(rowOf(second, "b") !== rowOf(first, "b"), "the one that changed is the same object")
          equal(second, yield* sessions.list({ workspace: "/home/ada/app", limit: 2 }), "the page as list gives it")
          yield* atTime(7)(say("a", "u2"))
          const third = yield* next
          equal(idsOf(third), ["a", "b"], "the page that another one has entered")
          check(rowOf(third, "b") === rowOf(second, "b"), "the one that went down is another object")
        }),
      ),
  ),

  law("SES-13 watch sees what another opening of the store does", (store) =>
    Effect.gen(function* () {
      yield* requireWatch(store, coreSchema())
      yield* withServices(store)(
        Effect.gen(function* () {
          const other = Context.get(yield* openServices(store), Sessions)
          const next = yield* follow((yield* Sessions).watch())
          equal(idsOf(yield* next), [], "the first value")
          yield* other.create({ id: "a" })
          equal(idsOf(yield* next), ["a"], "after another one has made a session")
          yield* other.rename("a", "Title")
          equal(rowOf(yield* next, "a")?.title, "Title", "a title that another one gave")
        }),
      )
    }),
  ),

  law("SES-13 watch refuses what list refuses, and ends when the store is closed", (store) =>
    withServices(store)(
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const first = (query: object) => outcomeOf(Stream.runHead(sessions.watch(query)))
        equal(yield* first({ limit: 0 }), { failed: "InvalidInput" }, "a limit of 0")
        equal(yield* first({ shelf: "main" }), { failed: "InvalidInput" }, "an unknown field")
        equal(yield* first({ cursor: "x" }), { failed: "InvalidCursor" }, "a broken cursor")
        yield* create(1, "a")
        const next = yield* follow(sessions.watch())
        yield* next
        yield* (yield* Storage).close
        equal(yield* outcomeOf(next), { failed: "Done" }, "what follows")
        equal(yield* first({}), { failed: "Closed" }, "watching a store that is closed")
      }),
    ),
  ),

  law(
    "MSG-10 watch gives one view of a conversation at once: session, messages with siblings, drafts and queue",
    (store) =>
      withServices(store)(
        Effect.gen(function* () {
          yield* talk
          const turns = yield* Turns
          yield* turns.begin("s", {}, { turnId: "t1" })
          yield* turns.draft("s", 1, said("a3"))
          yield* Queue.use((queue) => queue.enqueue("s", { body: "next" }))
          const view = yield* Effect.flatten(follow((yield* Messages).watch("s")))
          equal(picture(view), ["u1", "a1 2 of 2", "u2", "a3 draft"], "the messages")
          equal(view.session.status, "running", "the status")
          equal(
            view.drafts.map(({ id }) => id),
            ["a3"],
            "the drafts",
          )
          check(view.drafts[0] === view.messages.at(-1), "a draft is not the object that it is among the messages")
          equal(
            view.queue.map(({ message, position }) => [position, message?.display]),
            [[1, "next"]],
            "the queue",
          )
          yield* isConsistent(view)
          const end = yield* Effect.flatten(follow((yield* Messages).watch("s", { limit: 2 })))
          equal(picture(end), ["u2", "a3 draft"], "the end of two messages")
          const page = yield* (yield* Messages).page("s", { before: end.before! })
          equal(
            page.messages.map(({ id }) => id),
            ["u1", "a1"],
            "the page before it",
          )
        }),
      ),
  ),

  law(
    "MSG-10 a view follows what is said, drafted, settled, moved and enqueued, and what stays is the same object",
    (store) =>
      withServices(store)(
        Effect.gen(function* () {
          yield* talk
          const turns = yield* Turns
          const next = yield* follow((yield* Messages).watch("s"))
          let before = yield* next
          equal(picture(before), ["u1", "a1 2 of 2", "u2"], "the first view")
          const becomes = <A, E, R>(work: Effect.Effect<A, E, R>, expected: ReadonlyArray<string>, what: string) =>
            Effect.gen(function* () {
              yield* work
              const view = yield* next
              equal(picture(view), expected, what)
              yield* isConsistent(view)
              yield* Effect.sync(() => isShared(before, view, what))
              before = view
            })
          yield* becomes(checkout("s", "b1"), ["u1", "b1 1 of 2"], "after the head was moved")
          yield* becomes(say("s", "u3"), ["u1", "b1 1 of 2", "u3"], "after something was said")
          yield* becomes(
            say("s", "u4", { at: "b1", moveHead: false }),
            ["u1", "b1 1 of 2", "u3 1 of 2"],
            "after something was said beside it",
          )
          yield* becomes(
            turns.begin("s", {}, { turnId: "t1" }),
            ["u1", "b1 1 of 2", "u3 1 of 2"],
            "after a turn has begun",
          )
          yield* becomes(
            turns.draft("s", 1, { ...said("a4"), body: "some" }),
            ["u1", "b1 1 of 2", "u3 1 of 2", "a4 draft"],
            "after a draft",
          )
          yield* becomes(
            turns.draft("s", 1, { ...said("a4"), body: "some more" }),
            ["u1", "b1 1 of 2", "u3 1 of 2", "a4 draft"],
            "after the next one",
          )
          equal(before.drafts[0]?.display, "some more", "what was drafted")
          yield* becomes(
            turns.settle("s", 1, said("a4")),
            ["u1", "b1 1 of 2", "u3 1 of 2", "a4"],
            "after it was settled",
          )
          const { messages } = before
          yield* becomes(
            Queue.use((queue) => queue.enqueue("s", { body: "next" })),
            ["u1", "b1 1 of 2", "u3 1 of 2", "a4"],
            "after something was enqueued",
          )
          check(before.messages === messages, "the list of messages that stayed as they were is another one")
          const [item] = before.queue
          yield* becomes(
            Queue.use((queue) => queue.update("s", item!.id, { message: { body: "another" } })),
            ["u1", "b1 1 of 2", "u3 1 of 2", "a4"],
            "after it was changed",
          )
          equal(
            before.queue.map(({ message }) => message?.display),
            ["another"],
            "what waits then",
          )
          yield* becomes(
            turns.end("s", 1, { outcome: "completed" }),
            ["u1", "b1 1 of 2", "u3 1 of 2", "a4"],
            "after the turn has ended",
          )
          equal(before.session.status, "idle", "the status then")
        }),
      ),
  ),

  law("MSG-10 after any history a view is what page, siblings, get and list say at that time", (store) =>
    withServices(store)(
      Effect.gen(function* () {
        const random = makeRandom(store.seed)
        yield* begin("s")
        const next = yield* follow((yield* Messages).watch("s"))
        let before = yield* next
        const ids: Array<string> = []
        const pictures = new Set<string>()
        for (let step = 0; step < 30; step++) {
          for (let i = 0; i < 3; i++) yield* outcomeOf(someStep(random, ids))
          // A view that says the same would be left out: this makes sure that none does.
          yield* Sessions.use((sessions) => sessions.touch("s"))
          const view = yield* next
          yield* isConsistent(view)
          isShared(before, view, `step ${step}`)
          pictures.add(picture(view).join())
          before = view
        }
        check(pictures.size > 5, "hardly anything has happened")
      }),
    ),
  ),

  law("MSG-10 a view shows what a turn of this process is writing, before it is stored", (store) =>
    withServices(store, { checkpointMs: 60_000 })(
      Effect.gen(function* () {
        yield* begin("s")
        const messages = yield* Messages
        const [more, end] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const next = yield* follow(messages.watch("s"))
        const running = yield* Effect.forkChild(
          Turns.use((turns) =>
            turns.run("s", { prompt: said("u1") }, (turn) =>
              Effect.gen(function* () {
                yield* turn.draft({ ...said("a1"), body: "some" })
                yield* Deferred.await(more)
                yield* turn.draft({ ...said("a1"), body: "some more" })
                yield* Deferred.await(end)
                yield* turn.settle({ ...said("a1"), body: "all" })
              }),
            ),
          ),
        )
        /** The first view in which the answer says so. */
        const until = (text: string) =>
          Effect.gen(function* () {
            for (;;) {
              const view = yield* next
              const answer = view.messages.at(-1)
              if (answer?.id === "a1" && answer.display === text) return view
            }
          })
        const before = yield* until("some")
        yield* Deferred.succeed(more, undefined)
        const view = yield* until("some more")
        equal(picture(view), ["u1", "a1 draft"], "what is shown")
        check(view.messages[0] === before.messages[0], "the prompt is another object")
        check(view.drafts[0] === view.messages[1], "the draft is not the object that it is among the messages")
        equal((yield* messages.get("s", "a1")).display, "some", "what is stored meanwhile")
        yield* Deferred.succeed(end, undefined)
        equal(picture(yield* until("all")), ["u1", "a1"], "what is shown in the end")
        yield* Fiber.join(running)
      }),
    ),
  ),

  law("MSG-10 what leaves the messages as they are reads none of them again", (store) => {
    const counted = counting(store.backend)
    return withServices({ backend: counted.backend })(
      Effect.gen(function* () {
        yield* talk
        const turns = yield* Turns
        yield* turns.begin("s", {})
        const next = yield* follow((yield* Messages).watch("s"))
        const first = yield* next
        counted.reset()
        yield* turns.heartbeat("s", 1)
        const second = yield* next
        check(second.session !== first.session, "a lease that was renewed is not seen")
        check(second.messages === first.messages, "the messages are another list")
        equal([counted.rows("entry"), counted.rows("branch")], [0, 0], "entries and branches read")
      }),
    )
  }),

  law("MSG-10 a view of a conversation without siblings reads its messages and two branches at most", (store) => {
    const counted = counting(store.backend)
    return withServices({ backend: counted.backend })(
      Effect.gen(function* () {
        yield* begin("s")
        yield* sayAll(
          "s",
          Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? `u${n}` : `a${n}`)),
        )
        counted.reset()
        yield* Effect.flatten(follow((yield* Messages).watch("s", { limit: 80 })))
        equal(counted.rows("entry"), 80, "entries read")
        check(counted.rows("branch") <= 2, `${counted.rows("branch")} branches were read`)
      }),
    )
  }),

  law("MSG-10 a view shows what another opening of the store does", (store) =>
    Effect.gen(function* () {
      yield* requireWatch(store, coreSchema())
      yield* withServices(store)(
        Effect.gen(function* () {
          yield* talk
          const other = Context.get(yield* openServices(store), Messages)
          const next = yield* follow((yield* Messages).watch("s"))
          yield* next
          yield* other.append("s", said("a2"))
          equal(picture(yield* next), ["u1", "a1 2 of 2", "u2", "a2"], "after another one has said something")
        }),
      )
    }),
  ),

  law(
    "MSG-10 watch refuses what is wrong, fails for a session that is not there, and ends when the store is closed",
    (store) =>
      withServices(store)(
        Effect.gen(function* () {
          const messages = yield* Messages
          const first = (id: string, options?: object) => outcomeOf(Stream.runHead(messages.watch(id, options)))
          equal(yield* first("nobody"), { failed: "SessionNotFound" }, "a session that is not there")
          equal(yield* first("../s"), { failed: "InvalidInput" }, "an id that is none")
          yield* talk
          for (const limit of [0, 501, 1.5, "x"]) {
            equal(yield* first("s", { limit }), { failed: "InvalidInput" }, `a limit of ${limit}`)
          }
          equal(yield* first("s", { before: "u1" }), { failed: "InvalidInput" }, "an unknown field")
          const next = yield* follow(messages.watch("s"))
          yield* next
          yield* (yield* Storage).close
          equal(yield* outcomeOf(next), { failed: "Done" }, "what follows")
          equal(yield* first("s"), { failed: "Closed" }, "watching a store that is closed")
        }),
      ),
  ),
]

/** A session `s` that says u1, then a1 instead of b1, then u2. */
const talk = Effect.gen(function* () {
  yield* begin("s")
  yield* sayAll("s", ["u1", "b1"])
  yield* checkout("s", "u1")
  yield* sayAll("s", ["a1", "u2"])
})

/** One line a message. */
const picture = ({ messages }: SessionView) =>
  messages.map(({ draft, id, siblings }) => {
    const others = siblings === undefined ? "" : ` ${siblings.index + 1} of ${siblings.count}`
    return `${id}${others}${draft === true ? " draft" : ""}`
  })

/** A view says what the services say, while nothing changes. */
const isConsistent = (view: SessionView) =>
  Effect.gen(function* () {
    const messages = yield* Messages
    const { after: _after, ...page } = yield* messages.page("s")
    const expected: Array<object> = []
    for (const message of page.messages) {
      const { index, messages: all } = yield* messages.siblings("s", message.id)
      expected.push(all.length === 1 ? message : { ...message, siblings: { index, count: all.length } })
    }
    const { drafts, queue, session: row, ...rest } = view
    equal(rest, { ...page, messages: expected }, "the messages of a view")
    equal(row, yield* session("s"), "the session of a view")
    equal(queue, yield* Queue.use((one) => one.list("s")), "the queue of a view")
    equal(
      drafts,
      view.messages.filter(({ draft }) => draft === true),
      "the drafts of a view",
    )
  })

/** What two views have in common is the same objects. */
const isShared = (before: SessionView, after: SessionView, what: string) => {
  for (const message of after.messages) {
    const old = before.messages.find(({ id }) => id === message.id)
    const isSame = old !== undefined && JSON.stringify(old) === JSON.stringify(message)
    check(!isSame || old === message, `${message.id} is another object ${what}`)
  }
}

/** Something that somebody may do in a session, as far as it is possible. */
const someStep = (random: Random, ids: Array<string>) =>
  Effect.gen(function* () {
    const some = ids.length === 0 ? undefined : random.pick(ids)
    const id = `${random.pick(["u", "a"])}${ids.length}`
    ids.push(id)
    switch (random.nat(8)) {
      case 0:
        return yield* checkout("s", some ?? null)
      case 1:
        return some === undefined ? undefined : yield* say("s", id, { at: some })
      case 2:
        return yield* Messages.use((messages) => messages.append("s", { id, role: "user", model: "not shown" }))
      case 3:
        return yield* Queue.use((queue) => queue.enqueue("s", { body: id }))
      case 4:
        return yield* Heads.use((heads) => heads.deleteBranch("s", 1 + random.nat(6)))
      case 5:
        return yield* Heads.use((heads) => heads.undo("s"))
      default:
        return yield* say("s", id)
    }
  })
