import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { History, layer, Messages, Sessions } from "../../src/index.ts"
import { naive } from "../support/naive-backend.ts"
import type { Naive } from "../support/naive-backend.ts"

const withStore = <A, E>(
  effect: Effect.Effect<A, E, Sessions | Messages | History>,
  store: Naive,
): Effect.Effect<A, unknown> => Effect.provide(effect, Layer.provide(layer(), store.layer))

const user = (id: string) => ({ id, body: { role: "user", content: id } })
const textOf = (message: unknown) => (message as { readonly content: unknown }).content

it.effect("HIS-06 a compaction that cannot be read hides nothing, and another one may follow it", () => {
  const store = naive()
  return Effect.gen(function* () {
    const [history, messages] = [yield* History, yield* Messages]
    yield* (yield* Sessions).create({ id: "s" })
    yield* messages.appendMany("s", [user("u1"), user("u2")])
    const { id } = yield* history.compact("s", { summary: "lost" })
    yield* messages.append("s", user("u3"))
    const row = store.rows("entry").find(({ json }) => json.includes(id))
    store.damage("entry", row!.key)
    const { messages: all, repairs } = yield* history.read("s")
    assert.deepStrictEqual(all.map(textOf), ["u1", "u2", "u3"])
    assert.deepStrictEqual(
      repairs.map(({ kind }) => kind),
      ["unreadable", "unreadable"],
    )
    assert.deepStrictEqual(yield* Stream.runCollect(history.stream("s")), all)
    yield* history.compact("s", { summary: "found", keepFrom: "u2" })
    assert.deepStrictEqual((yield* history.read("s")).messages.slice(1).map(textOf), ["u2", "u3"])
  }).pipe((effect) => withStore(effect, store))
})

it.effect("STO-04 a compaction is as durable as it is asked to be", () => {
  const store = naive()
  return Effect.gen(function* () {
    const [history, messages] = [yield* History, yield* Messages]
    yield* (yield* Sessions).create({ id: "s" })
    yield* messages.append("s", user("u1"))
    const last = () => store.runs.findLast(({ mode }) => mode === "write")?.durability
    yield* history.compact("s", { summary: "x" }, { durability: "relaxed" })
    assert.strictEqual(last(), "relaxed")
    yield* history.compact("s", { summary: "x" })
    assert.strictEqual(last(), "strict")
  }).pipe((effect) => withStore(effect, store))
})
