import { assert, it } from "@effect/vitest"
import { coreSchema } from "@skein/core"
import { Backend } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { indexeddb } from "../src/index.ts"

it.effect.each([undefined, null, {}, { name: "" }, { name: 5 }])("STO-07 %j names no database", (options) =>
  Effect.gen(function* () {
    const opening = Backend.use((backend) => backend.open(coreSchema()))
    const reason = yield* Effect.flip(Effect.provide(opening, indexeddb(options as never)))
    assert.deepInclude(reason, { _tag: "Unavailable", detail: "the option `name` must name the database" })
  }),
)
