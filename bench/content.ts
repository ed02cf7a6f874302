/**
 * What the stores are filled with.
 */
import { Messages } from "../packages/core/src/message/service.ts"
import type { MessageInput } from "../packages/core/src/message/service.ts"
import { Sessions } from "../packages/core/src/session/service.ts"
import * as Effect from "effect/Effect"

const sentence = "The quick brown fox jumps over the lazy dog, and nobody in the yard looks up. "

/** An answer of about 1 kB. */
export const answer = { role: "assistant", content: sentence.repeat(12) }
/** An answer of about 200 bytes, for long sessions. */
export const shortAnswer = { role: "assistant", content: sentence.repeat(2) }

/** Appends many messages, a thousand a commit. */
export const fill = Effect.fnUntraced(function* (
  sessionId: string,
  count: number,
  messageAt: (i: number) => MessageInput,
) {
  const messages = yield* Messages
  for (let from = 0; from < count; from += 1_000) {
    const batch = Array.from({ length: Math.min(1_000, count - from) }, (_, i) => messageAt(from + i))
    yield* messages.appendMany(sessionId, batch, { durability: "relaxed" })
  }
})

/** A session with so many messages. */
export const sessionOf = Effect.fnUntraced(function* (
  id: string,
  count: number,
  messageAt: (i: number) => MessageInput,
) {
  const sessions = yield* Sessions
  yield* sessions.create({ id, workspace: "/projects/app" })
  yield* fill(id, count, messageAt)
})
