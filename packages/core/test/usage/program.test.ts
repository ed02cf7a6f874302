import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { SessionNotice } from "../../src/notice.ts"
import { requireSession } from "../../src/session/program.ts"
import { Sessions } from "../../src/session/service.ts"
import { Storage, Tx } from "../../src/storage/index.ts"
import { applyEnd, planEnd } from "../../src/turn/program.ts"
import { Turns } from "../../src/turn/service.ts"
import { applyUsage, planUsage } from "../../src/usage/program.ts"
import type { NewCall } from "../../src/usage/program.ts"
import { Usage } from "../../src/usage/service.ts"
import { inStore } from "../support/core-store.ts"

const scope = { owner: undefined }

const call = (callId: string, output: number, given: Partial<NewCall> = {}): NewCall => ({
  callId,
  provider: "p",
  model: "m",
  at: 0,
  outcome: "completed",
  input: 1,
  output,
  reasoning: null,
  cacheRead: null,
  cacheWrite: null,
  cost: null,
  currency: "USD",
  turn: "t1",
  entryId: undefined,
  raw: undefined,
  counter: undefined,
  ...given,
})

/** Several calls, some of them told twice, and the end of their turn, in one commit. */
const spendAndEnd = (order: "usage first" | "end first") =>
  Tx.make(function* (tx) {
    const session = yield* requireSession(scope, "s")
    const calls = [call("c1", 10), call("c2", 200), call("c1", 3_000), call("c2", 5), call("c0", 9, { turn: "" })]
    const totals = [call("k1", 4, { counter: "k" }), call("k2", 7, { input: 2, counter: "k" })]
    const usage = yield* planUsage(session, [...calls, ...totals], { now: 0, prices: undefined })
    const end = yield* planEnd(session, session.activeTurn!)
    const steps = [
      () => applyUsage(tx, usage).map(({ status }) => status),
      () => applyEnd(tx, session, end, { outcome: "completed" }, 0).turn.usage?.[0]?.calls,
    ]
    return (order === "usage first" ? steps : steps.toReversed()).map((step) => step())
  })

for (const order of ["usage first", "end first"] as const) {
  it.effect(`USE-01 several calls of a turn are counted in the commit that ends it, ${order}`, () =>
    inStore(() =>
      Effect.gen(function* () {
        const [storage, turns, usage] = [yield* Storage, yield* Turns, yield* Usage]
        yield* Sessions.use((sessions) => sessions.create({ id: "s" }))
        yield* turns.begin("s", { prompt: { role: "user", body: "Hello" } }, { turnId: "t1" })
        yield* usage.record("s", { callId: "c2", provider: "p", model: "m", input: 1, output: 100 })
        const answers = yield* storage.transact(spendAndEnd(order))

        const told = ["recorded", "replaced", "replaced", "unchanged", "recorded", "recorded", "recorded"] as const
        assert.deepStrictEqual(answers, order === "usage first" ? [[...told], 4] : [undefined, [...told]])
        const [turn] = yield* turns.list("s")
        assert.deepInclude(turn?.usage, { calls: 4, turns: 1, input: 4, output: 3_207 })
        assert.strictEqual(turn?.outcome, "completed")
        assert.deepInclude((yield* usage.summary()).total, { calls: 5, turns: 1, input: 5, output: 3_216 })
        assert.deepStrictEqual((yield* usage.verify()).differences, [])
      }),
    ),
  )
}

it.effect("USE-05 each call that changed is told to listeners, by its commit", () =>
  inStore(() =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* Storage
        const usage = yield* Usage
        yield* Sessions.use((sessions) => sessions.create({ id: "s", owner: "ann" }))
        const heard: Array<SessionNotice> = []
        yield* storage.observe((notices) => heard.push(...(notices as ReadonlyArray<SessionNotice>)))
        const tell = (input: number) => usage.record("s", { callId: "c", provider: "p", model: "m", input, output: 0 })
        yield* tell(1)
        yield* tell(1)
        yield* tell(2)
        yield* usage.reprice({ prices: { p: { m: { input: 1, output: 1 } } } })
        const notice: SessionNotice = { _tag: "UsageRecorded", callId: "c", sessionId: "s", owner: "ann" }
        assert.deepStrictEqual(heard, [notice, notice, notice])
      }),
    ),
  ),
)
