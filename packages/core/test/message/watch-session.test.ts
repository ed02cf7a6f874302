import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { LiveDraft, LiveDraftsService } from "../../src/message/live-drafts.ts"
import type { SessionView } from "../../src/message/service.ts"
import { watchSession } from "../../src/message/watch-session.ts"
import { Sessions } from "../../src/session/service.ts"
import { defaultSettings } from "../../src/settings.ts"
import { Storage } from "../../src/storage/index.ts"
import { Turns } from "../../src/turn/service.ts"
import { watchInterval } from "../../src/watch.ts"
import { inStore } from "../support/core-store.ts"

/** Drafts as a test tells them. */
const telling = () => {
  let newest: LiveDraft | undefined
  const news = Latch.makeUnsafe(false)
  let listeners = 0
  let waits = 0
  const live: LiveDraftsService = {
    of: () =>
      Effect.as(
        Effect.acquireRelease(
          Effect.sync(() => listeners++),
          () => Effect.sync(() => listeners--),
        ),
        {
          newest: (id: string) => (id === newest?.message.id ? newest : undefined),
          news: Effect.andThen(
            news.await,
            Effect.sync(() => {
              waits++
              news.closeUnsafe()
            }),
          ),
        },
      ),
  }
  const tell = (turn: string, display: string) => {
    newest = { turn, message: { id: "a1", kind: "message", role: "assistant", createdAt: 0, draft: true, display } }
    news.openUnsafe()
  }
  return { live, tell, wake: () => news.openUnsafe(), listeners: () => listeners, waits: () => waits }
}

const answer = (body: string) => ({ id: "a1", role: "assistant" as const, body })

/** A session in which turn `t1` writes `a1`, of which "stored" is stored, and what is seen of it. */
const writing = (live: LiveDraftsService) =>
  Effect.gen(function* () {
    const turns = yield* Turns
    const storage = yield* Storage
    yield* Sessions.use((sessions) => sessions.create({ id: "s" }))
    yield* turns.begin("s", { prompt: { id: "u1", body: "question" } }, { turnId: "t1" })
    yield* turns.draft("s", 1, answer("stored"))
    let looks = 0
    const counting = Storage.of({
      ...storage,
      read: (program) => Effect.tap(storage.read(program), () => Effect.sync(() => looks++)),
    })
    const views: Array<SessionView> = []
    const watching = yield* Effect.forkChild(
      Stream.runForEach(watchSession({ storage: counting, scope: defaultSettings, live }, "s", 80), (view) =>
        Effect.sync(() => views.push(view)),
      ),
      { startImmediately: true },
    )
    yield* TestClock.adjust("1 second")
    return { views, looks: () => looks, watching, answers: () => views.map((view) => view.messages[1]?.display) }
  })

describe("a conversation that is watched", () => {
  it.effect("MSG-10 what is being written is shown as it is told, thirty times a second at most", () =>
    inStore(() =>
      Effect.gen(function* () {
        const { listeners, live, tell, waits } = telling()
        const { answers, views, watching } = yield* writing(live)
        assert.deepStrictEqual(answers(), ["stored"])
        for (let ms = 0; ms < 1_000; ms++) {
          tell("t1", `written ${ms}`)
          yield* TestClock.adjust(1)
        }
        assert.isAtMost(answers().length, 1 + 30)
        assert.isAtLeast(answers().length, 1 + 28)
        assert.isAtMost(waits(), 31, "how often anybody was woken")
        yield* TestClock.adjust(2 * watchInterval)
        assert.strictEqual(answers().at(-1), "written 999")
        const [first, last] = [views[0]!, views.at(-1)!]
        assert.strictEqual(last.messages[0], first.messages[0])
        assert.strictEqual(last.drafts[0], last.messages[1])
        const written = {
          id: "a1",
          kind: "message",
          role: "assistant",
          createdAt: 0,
          draft: true,
          display: "written 999",
        }
        assert.deepStrictEqual<unknown>(last.messages[1], { ...written, branch: 1 })
        assert.strictEqual(listeners(), 1)
        yield* Fiber.interrupt(watching)
        assert.strictEqual(listeners(), 0)
      }),
    ),
  )

  it.effect("MSG-10 what an earlier turn was writing does not hide what the running one has stored", () =>
    inStore(() =>
      Effect.gen(function* () {
        const { live, tell } = telling()
        const { answers, watching } = yield* writing(live)
        tell("t0", "of an earlier turn")
        yield* TestClock.adjust("1 second")
        yield* Turns.use((turns) => turns.draft("s", 1, answer("stored again")))
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(answers(), ["stored", "stored again"])
        yield* Fiber.interrupt(watching)
      }),
    ),
  )

  it.effect("MSG-10 what is settled is shown as it was settled, whatever is told of it", () =>
    inStore(() =>
      Effect.gen(function* () {
        const { live, tell } = telling()
        const { answers, views, watching } = yield* writing(live)
        tell("t1", "written")
        yield* TestClock.adjust("1 second")
        yield* Turns.use((turns) => turns.settle("s", 1, answer("settled")))
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(answers(), ["stored", "written", "settled"])
        assert.deepStrictEqual(views.at(-1)!.drafts, [])
        yield* Fiber.interrupt(watching)
      }),
    ),
  )

  it.effect("MSG-10 news that are of no draft make nobody look", () =>
    inStore(() =>
      Effect.gen(function* () {
        const { live, waits, wake } = telling()
        const { looks, watching } = yield* writing(live)
        const before = looks()
        for (let n = 0; n < 10; n++) {
          wake()
          yield* TestClock.adjust("1 second")
        }
        assert.deepStrictEqual([waits(), looks() - before], [10, 0])
        yield* Fiber.interrupt(watching)
      }),
    ),
  )
})
