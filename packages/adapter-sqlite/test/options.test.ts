import { assert, it } from "@effect/vitest"
import { Storage } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { sqlite } from "../src/index.ts"
import type { Options } from "../src/index.ts"
import { schema } from "./store.ts"

it.effect("STO-07 options that are none fail when the store is opened, not when they are given", () =>
  Effect.gen(function* () {
    for (const given of [undefined, null, 5, "file:chat.db", {}, { url: undefined }]) {
      const backend = sqlite(given as unknown as Options)
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Layer.provide(Storage.layer(schema), backend))))
      assert.deepInclude(error, { _tag: "StorageError", operation: "open" })
      assert.strictEqual(error.reason._tag, "Unavailable")
      assert.include(error.message, "url must be a file: URL, or :memory:")
    }
  }),
)
