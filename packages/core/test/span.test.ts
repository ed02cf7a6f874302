import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Tracer from "effect/Tracer"
import { Ids, layer, Messages, Sessions } from "../src/index.ts"
import { naive } from "./support/naive-backend.ts"

const talk = Effect.gen(function* () {
  const sessions = yield* Sessions
  const messages = yield* Messages
  yield* sessions.create({ id: "s1" })
  yield* messages.append("s1", { body: { role: "user", content: "a secret" } })
  yield* messages.page("s1")
}).pipe(Effect.provide(Layer.provide(layer(), naive().layer)))

it.effect("API-04 what skein does is told to the host's tracer, with ids and counts and without bodies", () =>
  Effect.gen(function* () {
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      },
    })
    yield* Effect.provideService(talk, Tracer.Tracer, tracer)

    const append = spans.find((span) => span.name === "skein.message.append")
    assert.strictEqual(append?.attributes.get("skein.session"), "s1")
    const commit = spans.filter((span) => span.name === "skein.storage.transact").at(-1)
    assert.deepInclude(Object.fromEntries(commit?.attributes ?? []), {
      "skein.group.programs": 1,
      "skein.rows.written": 4,
    })
    assert.include(
      spans.map((span) => span.name),
      "skein.session.create",
    )
    for (const span of spans) assert.notInclude(JSON.stringify([...span.attributes]), "secret")
  }),
)

it.effect("API-04 without a tracer of the host's no span is made", () =>
  Effect.gen(function* () {
    // Ids are minted inside of what would be spanned, but for the name of the opening itself.
    const seen: Array<string> = []
    const mint = (prefix: string) =>
      Effect.map(Effect.option(Effect.currentSpan), (span) => {
        if (prefix !== "ins_") seen.push(span._tag)
        return `${prefix}${seen.length}`
      })
    const minting = Effect.provideService(talk, Ids, { mint })
    yield* minting
    assert.deepStrictEqual([...new Set(seen)], ["None"])

    seen.length = 0
    const tracer = Tracer.make({ span: (options) => new Tracer.NativeSpan(options) })
    yield* Effect.provideService(minting, Tracer.Tracer, tracer)
    assert.deepStrictEqual([...new Set(seen)], ["Some"])
  }),
)
