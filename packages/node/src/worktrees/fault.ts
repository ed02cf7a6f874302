/**
 * What goes wrong with worktrees.
 */
import * as Data from "effect/Data"

/** No worktree can be made or removed there, as things are. Nothing that somebody did is gone. */
export class WorktreeFault extends Data.TaggedError("WorktreeFault")<{
  /** In words that end a sentence about the path: "is no git repository". */
  readonly problem: string
  readonly path: string
  readonly cause?: unknown
}> {
  override get message() {
    return `${this.path} ${this.problem}`
  }
}
