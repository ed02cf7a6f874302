/** What a user's project may look like. It is compiled against the published packages, by every supported compiler. */
import * as indexeddb from "@skein/adapter-indexeddb"
import { memory } from "@skein/adapter-memory"
import * as sqlite from "@skein/adapter-sqlite"
import * as contractTests from "@skein/contract-tests"
import * as suite from "@skein/contract-tests/suite"
import { layer, Skein } from "@skein/core"
import * as heads from "@skein/core/head"
import * as history from "@skein/core/history"
import * as imports from "@skein/core/import"
import { Messages } from "@skein/core/message"
import * as projects from "@skein/core/project"
import { Sessions } from "@skein/core/session"
import type { StorageError } from "@skein/core/storage"
import * as legacyImport from "@skein/plugin-legacy-import"
import * as opencode from "@skein/plugin-legacy-import/opencode"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export const everythingElse = [
  indexeddb,
  sqlite,
  contractTests,
  suite,
  heads,
  history,
  imports,
  projects,
  legacyImport,
  opencode,
]

/** With promises. */
export const withPromises = async (): Promise<string> => {
  const skein = await Skein.open(memory())
  const session = await skein.sessions.create({ title: "First steps" })
  const message = await skein.messages.append(session.id, "Hello")
  await skein.close()
  return message.id
}

/** With Effect: what may fail and what is needed are part of the type. */
export const withEffect: Effect.Effect<number, unknown> = Effect.gen(function* () {
  const sessions = yield* Sessions
  const messages = yield* Messages
  const session = yield* sessions.create()
  return (yield* messages.page(session.id)).messages.length
}).pipe(Effect.provide(Layer.provide(layer(), memory())))

// A declaration that cannot be resolved is `any`, which would accept these.
// @ts-expect-error a retry is yes or no
export const notANumber = (error: StorageError): number => error.isRetryable
// @ts-expect-error the title is text
export const notATitle = () => Sessions.use((sessions) => sessions.create({ title: 1 }))
