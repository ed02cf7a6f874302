/**
 * Opens a store and takes the lock that is its second argument. Then, at each line that it is given, it prints whether the
 * lock that is its third argument is held.
 */
import * as Effect from "effect/Effect"
import { createInterface } from "node:readline"
import { open } from "../store.ts"

const [path = "", own = "", other = ""] = process.argv.slice(2)

const print = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`)

const program = Effect.gen(function* () {
  const { locks } = yield* open(path)
  yield* locks!.hold(own)
  print("held")
  yield* Effect.promise(async () => {
    for await (const _line of createInterface({ input: process.stdin })) {
      print(await Effect.runPromise(locks!.isHeld(other)))
    }
  })
})

await Effect.runPromise(Effect.scoped(program))
