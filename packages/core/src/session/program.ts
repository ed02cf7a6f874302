/**
 * The rules of sessions.
 */
import * as Data from "effect/Data"
import { make } from "../storage/transaction.ts"
import { SessionTable } from "./model.ts"
import type { SessionRow, Shelf } from "./model.ts"

/** No session has this id, or not for the owner that the store was opened for. */
export class SessionNotFound extends Data.TaggedError("SessionNotFound")<{
  readonly sessionId: string
  /** For `resolve`: the sessions that the prefix fits, where it fits several. */
  readonly candidates?: ReadonlyArray<string>
}> {
  override get message() {
    return this.candidates === undefined
      ? `no session ${this.sessionId}`
      : `${this.sessionId} is the beginning of several sessions: ${this.candidates.join(", ")}`
  }
}

/** The id is taken by something with another content. Nothing was written. */
export class IdConflict extends Data.TaggedError("IdConflict")<{ readonly id: string }> {
  override get message() {
    return `${this.id} is taken by another content: use another id, or send the same content again`
  }
}

/** Whose sessions a program may see. */
export interface Scope {
  readonly owner: string | undefined
}

/** Whether a session is seen in this scope: SES-16. */
export const isSeen = (scope: Scope, session: SessionRow): boolean =>
  scope.owner === undefined || session.owner === scope.owner

/** The session, or `SessionNotFound`. */
export const requireSession = (scope: Scope, sessionId: string) =>
  make(function* (tx) {
    const session = yield* tx.get(SessionTable, [sessionId])
    if (session === undefined || !isSeen(scope, session)) return yield* tx.fail(new SessionNotFound({ sessionId }))
    return session
  })

/** The list that a session stands in. */
export const shelfOf = ({
  archived,
  kind,
  visibility,
}: Pick<SessionRow, "archived" | "kind" | "visibility">): Shelf => {
  if (archived) return "archived"
  if (kind === "task" || kind === "peek" || kind === "cron") return kind
  return visibility === "hidden" ? "hidden" : "main"
}
