import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { Queue, Sessions, Turns } from "../../src/index.ts"
import { layer } from "../../src/services.ts"
import { Full, Storage } from "../../src/storage/index.ts"
import type { StorageError } from "../../src/storage/index.ts"
import type { Turn } from "../../src/turn/service.ts"
import { inStore } from "../support/core-store.ts"
import { naive } from "../support/naive-backend.ts"

const hello = (text: string) => ({ body: { role: "user", content: text } })

const create = (id: string) => Sessions.use((sessions) => sessions.create({ id }))
const enqueue = (id: string, text: string) => Queue.use((queue) => queue.enqueue(id, hello(text)))
const stateOf = (id: string) => Sessions.use((sessions) => sessions.get(id))

/** A worker that takes down what it serves. */
const worker = Effect.gen(function* () {
  const served: Array<string> = []
  const body = (turn: Turn) =>
    Effect.sync(() => {
      served.push((turn.prompt!.display as { readonly content: string }).content)
    })
  return { served, working: yield* Effect.forkChild(Queue.use((queue) => queue.work(body))) }
})

/** Lets everything happen that needs no time to pass: what is stored takes turns of the event loop. */
const settled = Effect.promise(async () => {
  for (let i = 0; i < 60; i++) await new Promise((resolve) => setImmediate(resolve))
})

const pass = (milliseconds: number) => Effect.andThen(TestClock.adjust(milliseconds), settled)

it.effect("QUE-08 work takes an item up when the claim of its dead sender ends, not a millisecond earlier", () =>
  inStore(() =>
    Effect.gen(function* () {
      yield* create("s")
      yield* enqueue("s", "one")
      yield* TestClock.adjust(1_000)
      yield* Queue.use((queue) => queue.claim("s"))
      // So that no look for dead turns falls on the end of the claim.
      yield* TestClock.adjust(1_234)
      const { served, working } = yield* worker
      yield* settled
      yield* pass(30_000 - 1_234 - 1)
      assert.deepStrictEqual(served, [])
      yield* pass(1)
      assert.deepStrictEqual(served, ["one"])
      yield* Fiber.interrupt(working)
    }),
  ),
)

it.effect("QUE-08 a claim that is renewed keeps its item from a worker that has looked before", () =>
  inStore(() =>
    Effect.gen(function* () {
      const queue = yield* Queue
      yield* create("s")
      yield* enqueue("s", "one")
      const claim = yield* queue.claim("s")
      const { served, working } = yield* worker
      yield* pass(29_000)
      yield* queue.renew("s", claim.item === undefined ? "" : claim.token)
      yield* pass(29_999)
      assert.deepStrictEqual(served, [])
      yield* pass(1)
      assert.deepStrictEqual(served, ["one"])
      yield* Fiber.interrupt(working)
    }),
  ),
)

it.effect("QUE-08 a worker frees the sessions of dead ones, with what these had claimed, and goes on there", () =>
  inStore((engine) =>
    Effect.gen(function* () {
      yield* create("s")
      // Another instance, which is not heard of again.
      const other = yield* Layer.build(Layer.provide(layer(), engine.layer))
      const claims = Effect.gen(function* () {
        yield* enqueue("s", "one")
        yield* enqueue("s", "two")
        yield* Queue.use((queue) => queue.claim("s"))
        yield* TestClock.adjust(20_000)
        yield* Queue.use((queue) => queue.claim("s", { item: "q_nobody" })).pipe(Effect.ignore)
        yield* Turns.use((turns) => turns.begin("s", {}))
      })
      yield* Effect.provide(claims, other)
      yield* create("t")
      yield* enqueue("t", "mine")
      const own = yield* Queue.use((queue) => queue.claim("t"))
      const { served, working } = yield* worker
      yield* settled
      const facts: Array<string> = []
      const storage = yield* Storage
      yield* storage.observe((notices) => {
        for (const notice of notices) {
          const { _tag, reason, sessionId } = notice as unknown as Record<string, string>
          if (_tag === "QueueChanged" && sessionId === "s") facts.push(reason!)
        }
      })
      yield* pass(29_999)
      assert.deepStrictEqual([served, facts], [[], []])
      yield* pass(5_001)
      assert.deepStrictEqual(served.toSorted(), ["mine", "one", "two"])
      assert.strictEqual(facts[0], "requeued")
      assert.isDefined(own.item)
      yield* Fiber.interrupt(working)
    }).pipe(Effect.scoped),
  ),
)

it.effect("QUE-08 work outlives a store that refuses for a while, to read or to write", () =>
  inStore((engine) =>
    Effect.gen(function* () {
      yield* create("s")
      yield* enqueue("s", "one")
      engine.failures.push(...Array.from({ length: 20 }, () => new Full({})))
      const { served, working } = yield* worker
      yield* pass(3_000)
      assert.deepStrictEqual(served, [])
      engine.failures.length = 0
      for (let i = 0; i < 10; i++) yield* pass(1_000)
      assert.deepStrictEqual(served, ["one"])
      assert.strictEqual((yield* stateOf("s")).status, "idle")
      // The item is stored, the session is found, and the beginning of the turn is refused.
      engine.failures.push(undefined, undefined, new Full({}))
      yield* enqueue("s", "two")
      yield* settled
      assert.deepStrictEqual(served, ["one"])
      yield* pass(1_000)
      assert.deepStrictEqual(served, ["one", "two"])
      yield* Fiber.interrupt(working)
    }),
  ),
)

it.effect("QUE-08 work ends when its store is closed", () =>
  Effect.gen(function* () {
    const engine = naive()
    const scope = yield* Scope.make()
    const context = yield* Scope.provide(Layer.build(Layer.provide(layer(), engine.layer)), scope)
    const { served, working } = yield* Effect.provide(Effect.andThen(create("s"), worker), context)
    yield* settled
    yield* Scope.close(scope, Exit.void)
    yield* pass(5_000)
    const exit = yield* Fiber.await(working)
    assert.strictEqual(Exit.isFailure(exit) && (Cause.squash(exit.cause) as StorageError).reason._tag, "Closed")
    assert.deepStrictEqual(served, [])
  }),
)

it.effect("QUE-08 recovery is asked for now and then, and not in between", () =>
  inStore((engine) =>
    Effect.gen(function* () {
      yield* create("s")
      const { working } = yield* worker
      yield* settled
      const before = engine.runs.length
      yield* pass(4_999)
      assert.strictEqual(engine.runs.length, before)
      yield* pass(1)
      assert.isAbove(engine.runs.length, before)
      assert.isBelow(engine.runs.length, before + 8)
      yield* Fiber.interrupt(working)
    }),
  ),
)
