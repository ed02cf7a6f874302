/**
 * Stopping the turn that runs, for a head that is to go back.
 *
 * Guarantee: a turn is asked to stop only where nothing else is in the way, and is waited for no longer than was said.
 *
 * Not promised: that it has stopped. Who goes on ends it in the commit that goes back.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { UsesOf } from "../history/boundary.ts"
import { Settings } from "../settings.ts"
import { Storage } from "../storage/storage.ts"
import { active } from "../turn/program.ts"
import { Turns } from "../turn/service.ts"
import { foresee, rewound } from "./program.ts"
import type { Wanted } from "./program.ts"

/** How often it is looked whether a turn has ended, in milliseconds: at first, and later. */
const [soon, later] = [10, 500]

/** Asks the turn that runs to stop, waits for it, and answers which one that was; `undefined`: none runs. */
export const stopping = Effect.gen(function* () {
  const storage = yield* Storage
  const settings = yield* Settings
  const turns = yield* Turns

  const untilEnded = Effect.fnUntraced(function* (sessionId: string, epoch: number) {
    let pause = soon
    while ((yield* storage.read(active(settings, sessionId)))?.epoch === epoch) {
      yield* Effect.sleep(pause)
      pause = Math.min(2 * pause, later)
    }
  })

  return Effect.fnUntraced(function* (sessionId: string, wanted: Wanted, usesOf: UsesOf, waitMs: number) {
    const now = yield* Clock.currentTimeMillis
    const seen = yield* storage.read(foresee(settings, sessionId, wanted, usesOf, now))
    if (seen === undefined) return undefined
    yield* turns.abort(sessionId, { reason: rewound })
    yield* Effect.timeoutOption(untilEnded(sessionId, seen.epoch), waitMs)
    return seen
  })
})
