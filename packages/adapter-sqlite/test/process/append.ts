/**
 * Opens a store through `Storage`, with the schema of a version, and appends to one sequence that all processes share.
 * Prints the places it got, and how many rows it migrated.
 */
import { Storage, Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { setImmediate } from "node:timers/promises"
import { sqlite } from "../../src/index.ts"
import { Counter, Item, schemaAt } from "./schema.ts"

const [path = "", version = "1", appends = "1", startAt = "0", me = "0"] = process.argv.slice(2)

const append = (n: number) =>
  Tx.make(function* (tx) {
    const counter = yield* tx.get(Counter, ["c"])
    if (counter === undefined) tx.insert(Counter, { id: "c", next: 2 })
    else tx.update(Counter, ["c"], (row) => ({ ...row, next: row.next + 1 }))
    const place = counter?.next ?? 1
    tx.insert(Item, { n: place, by: `${me}:${n}` })
    return place
  })

// All processes begin at one moment, whatever the time each took to start.
while (Date.now() < Number(startAt)) await setImmediate()

let migrated = 0
const schema = schemaAt(Number(version), () => migrated++)
const program = Effect.gen(function* () {
  const storage = yield* Storage
  const places = yield* Effect.forEach(Array.from({ length: Number(appends) }), (_, n) => storage.transact(append(n)))
  return { places, migrated }
})

const storage = Storage.layer(schema).pipe(Layer.provide(sqlite({ url: `file:${path}` })))
process.stdout.write(JSON.stringify(await Effect.runPromise(Effect.provide(program, storage))))
