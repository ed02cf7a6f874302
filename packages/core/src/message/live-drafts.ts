/**
 * What turns are writing right now, newer than what is stored of it: given by the stream, where there is one.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Message } from "./record.ts"

/** A message that is being written, as it is by now. The same object until there is more of it. */
export interface LiveDraft {
  readonly turn: string | undefined
  readonly message: Omit<Message, "branch">
}

/** The drafts of one session. */
export interface SessionDrafts {
  /** What there is of a message. */
  readonly newest: (messageId: string) => LiveDraft | undefined
  /** Waits until there may be more of some message than the last time. */
  readonly news: Effect.Effect<void>
}

export interface LiveDraftsService {
  /** The drafts of a session, until the scope ends. */
  readonly of: (sessionId: string) => Effect.Effect<SessionDrafts, never, Scope.Scope>
}

export class LiveDrafts extends Context.Reference<LiveDraftsService | undefined>("@skein/core/message/LiveDrafts", {
  defaultValue: () => undefined,
}) {}
