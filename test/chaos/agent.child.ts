/**
 * Runs one turn, and tries to write more when that is over.
 */
import * as Effect from "effect/Effect"
import { Messages } from "../../packages/core/src/message/service.ts"
import { QueryViews } from "../../packages/core/src/query-view/service.ts"
import { Turns } from "../../packages/core/src/turn/service.ts"
import type { AgentOptions, AgentReport } from "./agent.ts"
import { child, tell } from "./child.ts"
import { assistant, calling, user } from "./operations.ts"
import { openFile } from "./store.ts"

/** Milliseconds between two messages. */
const pause = 20

child<AgentOptions>(async ({ lease, messages = Infinity, name, path, session }): Promise<AgentReport> => {
  const store = openFile(path, { lease })
  const stored: Array<string> = []
  let epoch = 0
  let drafted: string | undefined
  let signalledAt: number | undefined
  let turned = performance.now()
  let longestGap = 0
  const timer = setInterval(() => {
    longestGap = Math.max(longestGap, performance.now() - turned)
    turned = performance.now()
  }, 10)

  const work = Effect.gen(function* () {
    const turns = yield* Turns
    yield* turns.run(session, { prompt: user(`${name}-prompt`) }, (turn) =>
      Effect.gen(function* () {
        epoch = turn.epoch
        turn.signal.addEventListener("abort", () => (signalledAt = Date.now()))
        yield* turn.settle(calling(`${name}-calling`, `${name}-call`))
        for (let n = 1; n <= messages; n++) {
          const message = assistant(`${name}-${n}`)
          yield* turn.draft(message)
          drafted = message.id
          yield* Effect.sleep(pause)
          if (n === 1) tell("working")
          yield* turn.settle(message)
          stored.push(message.id)
        }
      }),
    )
    return "completed"
  })
  const ended = await store.run(Effect.catch(work, (failure) => Effect.succeed(failure._tag)))
  clearInterval(timer)

  const late = { id: `${name}-late`, body: { role: "assistant", content: "I was not told" } }
  const writes = Effect.gen(function* () {
    const turns = yield* Turns
    return {
      append: (yield* Messages).append(session, late, { epoch }),
      draft: turns.draft(session, epoch, late),
      settle: turns.settle(session, epoch, late),
      heartbeat: turns.heartbeat(session, epoch),
      end: turns.end(session, epoch, { outcome: "done", messages: [late] }),
      view: (yield* QueryViews).start(session, { queryKey: late.id, epoch }),
    }
  })
  const afterwards: Record<string, string> = {}
  for (const [what, write] of Object.entries(await store.run(writes))) {
    afterwards[what] = await store.run(
      Effect.match(write as Effect.Effect<unknown, { readonly _tag: string }>, {
        onFailure: ({ _tag }) => _tag,
        onSuccess: () => "success",
      }),
    )
  }
  await store.close()
  return { epoch, ended, drafted, longestGap, stored, afterwards, ...(signalledAt !== undefined && { signalledAt }) }
})
