/**
 * What Skein asks of a host, for Node: workspaces for forks as git worktrees, and files that go back with a rewind.
 *
 * Importing this does nothing; neither does making either of them.
 */
export { fileHistory } from "./files/history.ts"
export type { FileHistoryOptions, Files, FileTurn } from "./files/history.ts"
export { WorktreeFault } from "./worktrees/fault.ts"
export type { WantedWorktree } from "./worktrees/make.ts"
export { worktrees } from "./worktrees/worktrees.ts"
export type { ReleaseOptions, WorktreeOptions, Worktrees } from "./worktrees/worktrees.ts"
