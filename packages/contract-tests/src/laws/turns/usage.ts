/**
 * Laws of what turns use: model calls that are recorded with a turn.
 */
import { Turns } from "@skein/core/turn"
import { Usage } from "@skein/core/usage"
import * as Effect from "effect/Effect"
import { equal } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { withServices } from "../../services.ts"
import { begin, pathOf, said, session } from "../conversation.ts"
import { ask, end, epochOf, run, turnsOf } from "./subject.ts"

const call = (callId: string, input: number) => ({ callId, provider: "lab", model: "m1", input, output: 10 })

const inputs = Effect.map(turnsOf("s"), (turns) => turns.map(({ usage }) => usage.input))
const verified = Effect.map(
  Usage.use((usage) => usage.verify()),
  ({ calls, differences }) => [calls, differences],
)

export const turnUsageLaws: ReadonlyArray<Law> = [
  law("TRN-03 USE-01 a turn ends in one commit with its model calls, or not at all", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const epoch = yield* epochOf(ask("s", "u1"))
      const usage = [call("c1", 100), call("c2", 20)]
      const refused = { outcome: "completed", messages: [said("a1")], usage: [...usage, call("c3", -1)] } as const
      equal(yield* outcomeOf(end("s", epoch, refused)), { failed: "InvalidInput" })
      equal([yield* pathOf("s"), yield* verified], [["u1"], [0, []]])
      yield* end("s", epoch, { outcome: "completed", messages: [said("a1")], usage })
      // The same end again counts nothing again.
      yield* end("s", epoch, { outcome: "completed", messages: [said("a1")], usage })
      equal([yield* pathOf("s"), yield* inputs], [["u1", "a1"], [120]])
      equal((yield* session("s")).usage?.input, 120)
      equal(yield* verified, [2, []])
      // What is told with it for the first time counts: it was used, though its turn is over.
      yield* end("s", epoch, { outcome: "completed", usage: [call("c1", 100), call("c3", 3)] })
      equal([yield* inputs, yield* verified], [[123], [3, []]])
    }).pipe(withServices(store)),
  ),

  law("TRN-04 USE-02 what a body spent counts for its turn, whatever becomes of it", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const wrong = yield* run("s", { prompt: said("u1") }, (turn) =>
        Effect.gen(function* () {
          yield* turn.spent(call("c1", 100))
          yield* turn.spent(call("c1", 100))
          return yield* outcomeOf(turn.spent(call("c2", 0.5)))
        }),
      )
      equal(wrong, { failed: "InvalidInput" })
      const failed = run("s", { prompt: said("u2") }, (turn) =>
        Effect.andThen(turn.spent(call("c3", 30)), Effect.fail({ _tag: "Overloaded" })),
      )
      equal(yield* outcomeOf(failed), { failed: "Overloaded" })
      // Taken over meanwhile: it was used all the same, and counts for the turn that used it.
      const late = yield* run("s", { prompt: said("u3") }, (turn) =>
        Effect.uninterruptible(
          Effect.andThen(
            Turns.use((turns) => turns.begin("s", { prompt: said("u4") }, { takeOver: true })),
            turn.spent(call("c4", 7)),
          ),
        ),
      ).pipe(outcomeOf)
      equal(late, { failed: "StaleTurn" })
      equal(yield* inputs, [0, 7, 30, 100])
      equal(yield* verified, [3, []])
    }).pipe(withServices(store)),
  ),
]
