/**
 * Participants: those who keep something of sessions outside of the store, and have to be told when one is deleted.
 */
import type { Answer } from "../host.ts"

/** A session that is gone, as those are told of it who keep something of it outside of the store. */
export interface DeletedSession {
  readonly sessionId: string
  readonly deletedAt: number
  readonly owner?: string
}

/** Somebody who keeps something of sessions outside of the store: files, an index, a working copy. */
export interface DeleteParticipant {
  /** Says who it is where it failed. */
  readonly name: string
  /**
   * Removes what it keeps of a session. It is asked when nothing of the session is left in the store, and again, by
   * `recover`, until all participants have succeeded: also after a crash, so that it may be asked for what it has removed.
   */
  readonly onDelete: (session: DeletedSession) => Answer<unknown>
}
