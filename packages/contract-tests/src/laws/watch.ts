/**
 * Laws of what is watched: lists of sessions, and conversations.
 */
import { coreSchema } from "@skein/core"
import { Projects } from "@skein/core/project"
import { Sessions } from "@skein/core/session"
import type { SessionPage } from "@skein/core/session"
import { Storage } from "@skein/core/storage"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { atTime } from "../clock.ts"
import { check, equal } from "../equal.ts"
import { law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { openServices, withServices } from "../services.ts"
import { follow, requireWatch } from "../watching.ts"
import { say } from "./conversation.ts"

const idsOf = ({ sessions }: SessionPage) => sessions.map(({ id }) => id)
const rowOf = ({ sessions }: SessionPage, id: string) => sessions.find((session) => session.id === id)

const create = (at: number, id: string, workspace?: string) =>
  atTime(at)(Sessions.use((sessions) => sessions.create({ id, ...(workspace !== undefined && { workspace }) })))

export const watchLaws = [
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
]
