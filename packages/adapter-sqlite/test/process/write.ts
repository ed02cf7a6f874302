/**
 * Opens a store, and at each line that it is given adds a note to it and says which.
 */
import * as Effect from "effect/Effect"
import { createInterface } from "node:readline"
import { insert, write } from "../../../../test/port/machine.ts"
import { Note, open } from "../store.ts"

const [path = ""] = process.argv.slice(2)

const engine = await Effect.runPromise(open(path))
process.stdout.write(`"ready"\n`)
let n = 0
for await (const _line of createInterface({ input: process.stdin })) {
  await Effect.runPromise(write(engine, { rows: [insert(Note, { book: "child", n: ++n })] }))
  process.stdout.write(`${n}\n`)
}
