import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { Messages } from "../../src/message/service.ts"
import type { MessageInput } from "../../src/message/service.ts"
import { Sessions } from "../../src/session/service.ts"
import { graceMs, promiseBody } from "../../src/turn/promise.ts"
import type { Turn } from "../../src/turn/promise.ts"
import { Turns } from "../../src/turn/service.ts"
import { inStore } from "../support/core-store.ts"

type Text = { readonly role: "assistant"; readonly content: string }

const text = (content: string): Text => ({ role: "assistant", content })
const toInput = (body: Text): MessageInput => ({ body })

/** Runs a plain asynchronous body as a turn of a new session, as the facade does. */
const run = <A>(body: (turn: Turn<Text>) => Promise<A>) =>
  Effect.andThen(
    Sessions.use((sessions) => sessions.create({ id: "s" })),
    Turns.use((turns) =>
      turns.run("s", { prompt: { role: "user", body: "Hello" } }, promiseBody(body, toInput), { graceMs }),
    ),
  )

const status = Effect.map(
  Sessions.use((sessions) => sessions.get("s")),
  (session) => session.status,
)
const said = Effect.map(
  Messages.use((messages) => messages.page("s")),
  ({ messages }) => messages.map(({ cut, display }) => [(display as Partial<Text>).content ?? display, cut]),
)

/** What a promise comes to, as what it was rejected with where it was. */
const settled = (promise: Promise<unknown>) =>
  promise.then(
    () => "done",
    (error: { readonly _tag: string }) => error._tag,
  )

/** Lets promises and fibers go on as far as they can. */
const quiet = Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow)

it.effect("TRN-04 a plain body returns its value, and what it threw is thrown, the same thing", () =>
  inStore(() =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* run(async (turn) => {
          turn.draft(text("Hi"))
          await turn.settle(text("Hi there"))
          return (await turn.history()).length
        }),
        2,
      )
      assert.deepStrictEqual(yield* said, [
        ["Hello", undefined],
        ["Hi there", undefined],
      ])
      const thrown = new Error("no")
      const bodies = [() => Promise.reject(thrown), () => throwing(thrown)]
      for (const body of bodies) {
        const error = yield* Effect.flip(
          Turns.use((turns) => turns.run("s", {}, promiseBody(body as () => Promise<never>, toInput), { graceMs })),
        )
        assert.strictEqual(error, thrown as unknown)
        assert.strictEqual(yield* status, "failed")
      }
    }),
  ),
)

const throwing = (thrown: Error): never => {
  throw thrown
}

it.effect("TRN-04 API-06 what is no draft is thrown where it is made, and the body may go on", () =>
  inStore(() =>
    Effect.gen(function* () {
      const thrown = yield* run(async (turn) => {
        const errors: Array<unknown> = []
        for (const wrong of [{ role: "user", content: "x" }, { role: "assistant", content: Number.NaN }, null]) {
          try {
            turn.draft(wrong as unknown as Text)
          } catch (error) {
            errors.push((error as { readonly _tag: string })._tag)
          }
          errors.push(await settled(turn.settle({ role: "assistant", content: 1n } as unknown as Text)))
        }
        await turn.settle(text("good"))
        return errors
      })
      assert.deepStrictEqual(
        thrown,
        Array.from({ length: 6 }, () => "InvalidInput"),
      )
      assert.deepStrictEqual(yield* said, [
        ["Hello", undefined],
        ["good", undefined],
      ])
    }),
  ),
)

it.effect("TRN-04 a body that listens to its signal stores what it has, in the time that it is given", () =>
  inStore(() =>
    Effect.gen(function* () {
      const running = yield* Effect.forkChild(
        run(async (turn) => {
          turn.draft(text("Hel"))
          await new Promise<void>((resolve) => turn.signal.addEventListener("abort", () => resolve()))
          await turn.settle(text("Hello, and goodbye"))
          return "stopped"
        }),
      )
      yield* quiet
      yield* Turns.use((turns) => turns.abort("s", { reason: "enough" }))
      assert.strictEqual(yield* Fiber.join(running), "stopped")
      assert.strictEqual(yield* status, "aborted")
      assert.deepStrictEqual((yield* said).at(-1), ["Hello, and goodbye", undefined])
    }),
  ),
)

it.effect("TRN-04 a body that does not listen is left behind after a while, and can do nothing more", () =>
  inStore(() =>
    Effect.gen(function* () {
      const kept: Array<Turn<Text>> = []
      let fail = (_error: Error) => {}
      const running = yield* Effect.forkChild(
        run((turn) => {
          kept.push(turn)
          turn.draft(text("Hello"))
          return new Promise<never>((_, reject) => {
            fail = reject
          })
        }),
      )
      yield* quiet
      yield* Turns.use((turns) => turns.abort("s", { reason: "enough" }))
      yield* TestClock.adjust(graceMs - 1)
      assert.strictEqual(yield* status, "running")
      yield* TestClock.adjust(1)
      const exit = yield* Fiber.await(running)
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(yield* status, "aborted")
      const [turn] = kept
      assert.strictEqual((turn!.signal.reason as Error).message, "enough")
      assert.throws(() => turn!.draft(text("late")), /comes after the end of its turn/)
      assert.throws(() => turn!.publish("late"), /is over/)
      assert.strictEqual(yield* Effect.promise(() => settled(turn!.settle(text("late")))), "StaleTurn")
      assert.deepStrictEqual((yield* said).at(-1), ["Hello", "aborted"])
      // Nobody waits for it any more: what it comes to is nobody's unhandled rejection.
      fail(new Error("long after"))
      yield* quiet
    }),
  ),
)
