/** A small page that keeps a conversation: what `npm run size` measures. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { memory } from "@skein/adapter-memory"
import { coreSchema } from "@skein/core"
import { Messages } from "@skein/core/message"
import { Sessions } from "@skein/core/session"
import { Storage } from "@skein/core/storage"

const runtime = ManagedRuntime.make(
  Layer.merge(Sessions.layer, Messages.layer).pipe(Layer.provide(Storage.layer(coreSchema())), Layer.provide(memory())),
)

const page = Effect.gen(function* () {
  const sessions = yield* Sessions
  const messages = yield* Messages
  const session = yield* sessions.create({ title: "First steps" })
  yield* messages.append(session.id, { role: "user", body: { role: "user", content: "Hello" } })
  const { messages: shown } = yield* messages.page(session.id)
  return `${session.title}: ${shown.length}`
})

document.title = await runtime.runPromise(page)
