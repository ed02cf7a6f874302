/**
 * The good backend that mutants are made of: memory, with a write lock that tests can hold.
 */
import { make } from "@skein/adapter-memory"
import { Busy } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { driven } from "./wrap.ts"
import type { Good } from "./wrap.ts"

export interface Lockable {
  readonly backend: Good
  /** Keeps all from writing, until the answer is called. */
  readonly hold: () => () => void
}

export const lockable = (capacity = Infinity): Lockable => {
  let held = false
  const good = Effect.runSync(make({ capacity }))
  const locked = driven(
    good,
    (run) => (machine, options, done) =>
      held && options.mode === "write" ? done(new Busy({})) : run(machine, options, done),
  )
  return {
    backend: { ...locked, open: (schema) => (held ? Effect.fail(new Busy({})) : locked.open(schema)) },
    hold: () => {
      held = true
      return () => {
        held = false
      }
    },
  }
}
