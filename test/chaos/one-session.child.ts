/**
 * One of two processes that append to one session, each behind the head that it knows of.
 */
import * as Effect from "effect/Effect"
import { HeadMoved, Messages } from "../../packages/core/src/message/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { child } from "./child.ts"
import type { CompetitorOptions, CompetitorReport } from "./one-session.ts"
import { openFile } from "./store.ts"

child<CompetitorOptions>(async ({ appends, expectedHead, name, path }): Promise<CompetitorReport> => {
  const store = openFile(path)
  const refused: Array<string> = []
  const stored: Array<string> = []
  const append = (n: number) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const messages = yield* Messages
      const head = expectedHead ?? (yield* sessions.get("s1")).head
      const message = { id: `${name}-${n}`, body: { role: "user", content: `${name} says ${n}` } }
      return (yield* messages.append("s1", message, { expectedHead: head })).id
    })
  for (let n = 1; n <= appends;) {
    try {
      stored.push(await store.run(append(n)))
      n++
    } catch (failure) {
      const isMoved = failure instanceof HeadMoved
      refused.push(isMoved ? `HeadMoved ${failure.expected} ${failure.actual}` : String(failure))
      // A head that was given is stale for good, and other failures are not to be tried again.
      if (expectedHead !== undefined || !isMoved) break
    }
  }
  await store.close()
  return { refused, stored }
})
