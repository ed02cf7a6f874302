import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import { vi } from "vitest"
import { Sessions } from "../../src/session/service.ts"
import type { NewSession } from "../../src/session/service.ts"
import { naive } from "../support/naive-backend.ts"
import { inStore } from "../support/core-store.ts"

// Hundreds of sessions in the simplest backend take long where a machine is busy.
vi.setConfig({ testTimeout: 60_000 })

const createMany = (count: number, input: (n: number) => NewSession) =>
  Sessions.use((sessions) =>
    Effect.forEach(
      Array.from({ length: count }, (_, n) => input(n)),
      (one) => sessions.create(one),
      { concurrency: "unbounded", discard: true },
    ),
  )

const name = (n: number) => `s${String(n).padStart(4, "0")}`

/** The facts of the last span with this name. */
const recording = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    },
  })
  const factsOf = (wanted: string) => Object.fromEntries(spans.findLast((one) => one.name === wanted)?.attributes ?? [])
  return { tracer, factsOf }
}

describe("windows", () => {
  it.effect("SES-05 what an index does not say is tested 200 rows a read until the page is full, and counted", () =>
    inStore((engine) =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        yield* createMany(700, (n) => ({ id: name(n), agent: n % 100 === 99 ? "rare" : "common" }))
        const { factsOf, tracer } = recording()
        engine.runs.length = 0
        const page = yield* Effect.withTracer(sessions.list({ agent: "rare", limit: 3 }), tracer)
        assert.deepStrictEqual(
          page.sessions.map(({ id }) => id),
          [99, 199, 299].map(name),
        )
        // A first window of the size of the page, then windows of 200 until there is one more than the page holds.
        assert.strictEqual(engine.runs.length, 3)
        assert.deepInclude(factsOf("skein.session.list"), { "skein.rows.examined": 400, "skein.sessions": 4 })
        yield* Effect.withTracer(sessions.list({ limit: 20 }), tracer)
        assert.deepInclude(factsOf("skein.session.list"), { "skein.rows.examined": 21, "skein.sessions": 21 })
        yield* Effect.withTracer(sessions.latest(), tracer)
        assert.deepInclude(factsOf("skein.session.latest"), { "skein.rows.examined": 1 })
      }),
    ),
  )

  it.effect("STO-09 damage that fills a window is passed, and damage that fills every range is Corrupt", () =>
    Effect.gen(function* () {
      const engine = naive()
      yield* inStore(() => createMany(720, (n) => ({ id: name(n) })), {}, engine)
      for (let n = 0; n < 450; n++) engine.damage("session", [name(n)])
      const list = (limit: number, agent?: string) =>
        inStore(
          () => Sessions.use((sessions) => sessions.list({ limit, ...(agent !== undefined && { agent }) })),
          {},
          engine,
        )
      const page = yield* list(2)
      assert.deepStrictEqual(
        [page.sessions.map(({ id }) => id), page.degraded.length, page.next !== undefined],
        [[450, 451].map(name), 450, true],
      )
      for (let n = 450; n < 510; n++) engine.damage("session", [name(n)])
      assert.strictEqual((yield* Effect.flip(list(2)))._tag, "StorageError")
    }),
  )

  it.effect("STO-09 what could not be read on the way to a session that fits is named once", () =>
    Effect.gen(function* () {
      const engine = naive()
      yield* inStore(() => createMany(900, (n) => ({ id: name(n), agent: n < 850 ? "common" : "rare" })), {}, engine)
      const damaged = [3, 150, 199, 200, 405, 406, 700, 849, 870, 899].map(name)
      for (const id of damaged) engine.damage("session", [id])
      const list = (limit: number) =>
        inStore(() => Sessions.use((sessions) => sessions.list({ limit, agent: "rare" })), {}, engine)
      const { degraded, next, sessions } = yield* list(200)
      assert.deepStrictEqual([sessions.length, degraded.map(({ id }) => id), next], [48, damaged, undefined])
      const first = yield* list(5)
      assert.deepStrictEqual(
        [first.sessions.map(({ id }) => id), first.degraded.map(({ id }) => id)],
        [[850, 851, 852, 853, 854].map(name), damaged.slice(0, 8)],
      )
    }),
  )

  it.effect("SES-07 SES-16 a prefix is resolved behind any number of other owners' sessions", () =>
    Effect.gen(function* () {
      const engine = naive()
      yield* inStore(() => createMany(450, (n) => ({ id: name(n), owner: n === 440 ? "ada" : "bob" })), {}, engine)
      const found = inStore(() => Sessions.use((sessions) => sessions.resolve("s")), { owner: "ada" }, engine)
      assert.strictEqual((yield* found).id, name(440))
    }),
  )

  it.effect("SES-05 several shelves are merged in one order, however unevenly they are filled", () =>
    inStore(() =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        yield* createMany(400, (n) => ({
          id: name(n),
          kind: n < 250 ? "task" : n % 2 === 0 ? "cron" : "conversation",
          agent: n % 7 === 0 ? "x" : "y",
        }))
        const found: Array<string> = []
        let cursor: string | undefined
        do {
          const page = yield* sessions.list({
            kind: ["task", "cron", "conversation"],
            agent: "x",
            limit: 9,
            ...(cursor !== undefined && { cursor }),
          })
          found.push(...page.sessions.map(({ id }) => id))
          cursor = page.next
        } while (cursor !== undefined)
        assert.deepStrictEqual(
          found,
          Array.from({ length: 400 }, (_, n) => n)
            .filter((n) => n % 7 === 0)
            .map(name),
        )
      }),
    ),
  )
})
