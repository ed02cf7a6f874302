/**
 * Opens and closes one store many times, and prints how many file descriptors the process had before and after.
 */
import type { Engine } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { readdirSync } from "node:fs"
import { setImmediate } from "node:timers/promises"
import { insert, range, read, write } from "../../../../test/port/machine.ts"
import { Note, open } from "../store.ts"

const [path = ""] = process.argv.slice(2)

/** What was closed is still held by its user: that must not keep files open. */
const closed: Array<Engine> = []

const cycle = (n: number) =>
  Effect.gen(function* () {
    const engine = yield* open(path)
    yield* write(engine, { rows: [insert(Note, { book: "b", n })] })
    yield* read(engine, range(Note), range(Note, { index: "byId" }))
    yield* engine.close
    closed.push(engine)
  })

const countAfterCollection = async (): Promise<number> => {
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.()
    await setImmediate()
  }
  return readdirSync("/proc/self/fd").length
}

await Effect.runPromise(cycle(-1))
const before = await countAfterCollection()
for (let n = 0; n < 50; n++) await Effect.runPromise(cycle(n))
process.stdout.write(JSON.stringify({ before, after: await countAfterCollection(), engines: closed.length }))
