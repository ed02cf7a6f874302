/**
 * Works off queues until it is killed, or has run as many turns as it was told; and says when it has begun one.
 */
import * as Effect from "effect/Effect"
import { Queue } from "../../packages/core/src/queue/service.ts"
import type { Turn } from "../../packages/core/src/turn/service.ts"
import { randomFrom } from "../port/random.ts"
import { child, tell } from "./child.ts"
import type { DrainOptions } from "./drain.ts"
import { assistant, calling, result, spent } from "./operations.ts"
import { openFile } from "./store.ts"

const answer = Effect.fnUntraced(function* (turn: Turn, pause: Effect.Effect<void>) {
  const { id } = turn
  tell(id)
  yield* turn.draft(calling(`${id}-calling`, `${id}-call`))
  yield* pause
  yield* turn.settle(calling(`${id}-calling`, `${id}-call`))
  yield* turn.spent(spent(`${id}-1`, 10))
  yield* pause
  yield* turn.settle(result(`${id}-result`, `${id}-call`))
  yield* turn.draft(assistant(`${id}-answer`))
  yield* pause
  yield* turn.spent(spent(`${id}-2`, 20))
  yield* turn.settle(assistant(`${id}-answer`))
})

child<DrainOptions>(async ({ concurrency, path, pause, seed, turns = Infinity }) => {
  const store = openFile(path)
  const random = randomFrom(seed)
  // So that turns of one process overlap.
  const rest = Effect.suspend(() => Effect.sleep(random() * pause))
  const enough = new AbortController()
  let begun = 0
  const body = (turn: Turn) => {
    if (++begun === turns) enough.abort()
    return answer(turn, rest)
  }
  await store.run(
    Effect.flatMap(Effect.service(Queue), (queue) => queue.work(body, { concurrency, signal: enough.signal })),
  )
  await store.close()
})
