/**
 * Laws of very long sessions: what is read depends on what is asked for, and not on how much was said.
 */
import { Messages } from "@skein/core/message"
import { Rewinds } from "@skein/core/rewind"
import { Sessions } from "@skein/core/session"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { counting } from "../counting.ts"
import { check, equal } from "../equal.ts"
import { lawWith } from "../law.ts"
import type { Law } from "../law.ts"
import { withServices } from "../services.ts"
import { begin } from "./conversation.ts"

/** How much is said, and in how large parts. */
const length = 100_000
const part = 2_000
/** 200 bytes with what comes around them. */
const text = "The quick brown fox jumps over the lazy dog, and nobody in the yard looks up. ".repeat(2)

const messageAt = (i: number) => {
  const role = i % 2 === 0 ? ("user" as const) : ("assistant" as const)
  return { id: `m${i}`, role, body: { role, content: text } }
}

const fill = (sessionId: string, count: number) =>
  Effect.gen(function* () {
    const messages = yield* Messages
    yield* begin(sessionId)
    for (let from = 0; from < count; from += part) {
      const batch = Array.from({ length: Math.min(part, count - from) }, (_, i) => messageAt(from + i))
      yield* messages.appendMany(sessionId, batch, { durability: "relaxed" })
    }
  })

export const longSessionLaws: ReadonlyArray<Law> = [
  lawWith({ slow: true }, "A76 MSG-05 MSG-09 a session of 100,000 messages costs what one of 1,000 costs", (store) =>
    Effect.gen(function* () {
      const { backend, reset, rows } = counting(store.backend)
      yield* Effect.gen(function* () {
        const messages = yield* Messages
        const rewinds = yield* Rewinds
        yield* fill("long", length)
        yield* fill("short", 1_000)
        const costOf = <A, E, R>(work: Effect.Effect<A, E, R>) =>
          Effect.gen(function* () {
            reset()
            yield* work
            return ["session", "branch", "entry", "turn", "queue_item"].map(rows)
          })
        const onBoth = <E, R>(work: (sessionId: string) => Effect.Effect<unknown, E, R>, what: string) =>
          Effect.gen(function* () {
            const short = yield* costOf(work("short"))
            equal(yield* costOf(work("long")), short, `what ${what} reads`)
          })
        yield* onBoth((id) => Sessions.use((sessions) => sessions.open(id)), "opening")
        yield* onBoth((id) => messages.page(id, { limit: 50 }), "the last page")
        yield* onBoth((id) => messages.append(id, { role: "user", body: "one more" }), "an append")
        yield* onBoth(
          (id) =>
            Effect.gen(function* () {
              let before: string | undefined
              for (let i = 0; i < 3; i++) {
                const page = yield* messages.page(id, { limit: 50, ...(before !== undefined && { before }) })
                before = page.before
              }
            }),
          "three pages back",
        )
        yield* onBoth(
          (id) => Effect.flatMap(messages.prompts(id, { limit: 2 }), ([, second]) => rewinds.rewind(id, second!.id)),
          "a rewind",
        )
        let next = 0
        yield* Stream.runForEach(messages.stream("long"), ({ id }) =>
          Effect.sync(() => {
            check(id === `m${next}`, `${id} comes where m${next} should`)
            next++
          }),
        )
        equal(next, length - 2, "how many are on the path")
      }).pipe(withServices({ backend }))
    }),
  ),
]
