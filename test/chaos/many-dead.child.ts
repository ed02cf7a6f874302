/**
 * Runs many turns at once, says so, and waits for its end.
 */
import * as Effect from "effect/Effect"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { Turns } from "../../packages/core/src/turn/service.ts"
import { child, tell } from "./child.ts"
import type { DyingOptions } from "./many-dead.ts"
import { assistant, user } from "./operations.ts"
import { openFile } from "./store.ts"

child<DyingOptions>(async ({ path, turns: count }) => {
  const store = openFile(path)
  await store.run(
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const turns = yield* Turns
      const begin = Effect.gen(function* () {
        const { id } = yield* sessions.create({ workspace: "/projects/one" })
        yield* turns.begin(id, { prompt: user(`prompt-${id}`) })
        yield* turns.draft(id, 1, assistant(`draft-${id}`))
      })
      yield* Effect.forEach(Array.from({ length: count }), () => begin, { concurrency: 64 })
    }),
  )
  tell("all run")
  await new Promise(() => {})
})
