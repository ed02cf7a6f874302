/**
 * Workspaces for forks: what a host implements so that a fork works in a place of its own, such as a git worktree.
 *
 * Guarantee: `prepare` is called again with the same request after a crash, and `remove` for whatever came of a request
 * whose fork is not made; never both at once for one request.
 */
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { RunLocation } from "../session/model.ts"

/** What a host is asked for. The same operation is asked for with the same request. */
export interface WorkspaceRequest {
  /** Names the operation, and nothing else: 1 to 128 of `A–Z a–z 0–9 _ -`, fit for the name of a directory or a branch. */
  readonly operation: string
  /** The session that the fork is going to be. */
  readonly sessionId: string
  readonly source: {
    readonly sessionId: string
    /** The directory that the source works in, as it was spelled. */
    readonly workspace?: string
    readonly runLocation?: RunLocation
  }
  /** What the fork is going to be called. */
  readonly title?: string
  /** What the caller of `fork` gave as `workspace`: JSON, to be checked by the host. */
  readonly wanted: Readonly<Record<string, unknown>>
}

/** The place that a host has made. */
export interface PreparedWorkspace {
  /** The directory, as people should see it. */
  readonly workspace: string
  readonly runLocation?: RunLocation
}

/**
 * Makes workspaces for forks, and takes them back. Answers with an effect or with a promise.
 *
 * @example
 * const workspaces: Workspaces = {
 *   prepare: async ({ operation, source }) => ({ workspace: await copyOf(source.workspace!, operation) }),
 *   remove: ({ operation }) => removeCopy(operation),
 * }
 */
export interface Workspaces {
  /** Makes the workspace; or answers, or finishes, the one that was made or begun for this operation before. */
  readonly prepare: (
    request: WorkspaceRequest,
  ) => Effect.Effect<PreparedWorkspace, unknown> | PromiseLike<PreparedWorkspace>
  /** Takes back whatever `prepare` made for this operation, finished or not. Nothing is there: succeeds. */
  readonly remove: (request: WorkspaceRequest) => Effect.Effect<void, unknown> | PromiseLike<void>
}

/** The host could not make the workspace of a fork. There is no fork; what was made of the workspace is taken back. */
export class WorkspaceFailed extends Data.TaggedError("WorkspaceFailed")<{
  readonly sessionId: string
  readonly problem: string
  readonly cause?: unknown
}> {
  override get message() {
    return `the workspace of a fork of ${this.sessionId} could not be made: ${this.problem}`
  }
}
