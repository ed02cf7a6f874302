/**
 * What `--continue` does: opens the store, finds the latest session of the workspace, and says the next thing to it.
 */
import * as Effect from "effect/Effect"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { Turns } from "../../packages/core/src/turn/service.ts"
import { child } from "./child.ts"
import type { ContinuedOptions, ContinuedReport } from "./continued.ts"
import { openFile } from "./store.ts"

/** Since the start of the process. */
const loading = performance.now()

child<ContinuedOptions>(async ({ path, prompt, workspace }): Promise<ContinuedReport> => {
  const begun = performance.now()
  const store = openFile(path)
  const report = await store.run(
    Effect.gen(function* () {
      const turns = yield* Turns
      const session = (yield* (yield* Sessions).latest({ workspace }))?.id
      if (session === undefined) return { session, loading, accepting: Infinity }
      const start = { prompt: { body: { role: "user", content: prompt } } }
      const accepting = yield* turns.run(session, start, () => Effect.sync(() => performance.now() - begun))
      return { session, loading, accepting }
    }),
  )
  await store.close()
  return report
})
