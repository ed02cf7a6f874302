/**
 * What other programs call the status of a session, and what it is called here: both ways, for importers and for those
 * who serve clients that know other words.
 *
 * Guarantee: every word is read as something, and every status has a word that is read as the status again, or as the
 * nearest one that the other program can tell apart. What was running in a program that is gone runs no more: `settled`
 * never says so.
 */
import type { SessionStatus } from "../session/model.ts"
import type { TurnOutcome } from "./model.ts"

/** What a word of another program means. */
export interface ReadStatus<Status> {
  /** While the program that wrote it still works on the session. */
  readonly status: Status
  /** Once that program is gone: as it is imported. Nothing runs any more. */
  readonly settled: Status
  /** `false` for a word that nobody knows. An absent one is no unknown word. */
  readonly known: boolean
}

/** The words of one other program. */
export interface StatusWords<Status extends string, Word extends string> {
  /** All words that are read. */
  readonly words: ReadonlyArray<string>
  /** What a word means. Anything else, absent or unknown, is read as `otherwise`. */
  readonly read: (word: unknown) => ReadStatus<Status>
  readonly otherwise: Status
  /** The word for a status. */
  readonly write: (status: Status) => Word
}

/** Words that mean the same: a status, or one while their program runs and another once it is gone. */
type Reading<Status> = readonly [means: Status | Omit<ReadStatus<Status>, "known">, words: ReadonlyArray<string>]

const statusWords = <Status extends string, Word extends string>(
  reading: ReadonlyArray<Reading<Status>>,
  otherwise: Status,
  writing: Readonly<Record<Status, Word>>,
): StatusWords<Status, Word> => {
  const meanings = new Map<unknown, Reading<Status>[0]>(
    reading.flatMap(([means, words]) => words.map((word) => [word, means] as const)),
  )
  return {
    words: reading.flatMap(([, words]) => words),
    read: (word) => {
      const means = meanings.get(word)
      const known = means !== undefined || word === undefined || word === null || word === ""
      const found = means ?? otherwise
      return typeof found === "string" ? { status: found, settled: found, known } : { ...found, known }
    },
    otherwise,
    write: (status) => writing[status],
  }
}

/** What was running, and was interrupted if nobody runs it any more. */
const running = { status: "running", settled: "interrupted" } as const

/**
 * Sessions of mcode. It calls everything that ended well `finished`, which is `idle` here, and has many words for what
 * runs. A session that waits for an answer, or is done, has no word there: nothing runs in it, so that it is idle, or
 * finished.
 *
 * @example
 * mcodeStatus.read("processing").settled // => "interrupted"
 * mcodeStatus.write("failed") // => "error"
 */
export const mcodeStatus = statusWords<SessionStatus, McodeStatus>(
  [
    ["idle", ["idle", "finished", "complete", "success", "done", "empty"]],
    ["failed", ["error", "failed"]],
    ["aborted", ["aborted", "cancelled"]],
    ["interrupted", ["interrupted"]],
    [
      running,
      ["started", "running", "pending", "partial", "in_progress", "queued", "processing", "streaming", "active"],
    ],
  ],
  "idle",
  {
    idle: "idle",
    running: "started",
    needs_input: "idle",
    done: "finished",
    failed: "error",
    aborted: "aborted",
    interrupted: "interrupted",
  },
)
export type McodeStatus = "idle" | "finished" | "started" | "error" | "aborted" | "interrupted"

/**
 * Sessions of OpenProgram, which has a word for each status. `cancelling` runs until it is `cancelled`, which is
 * `aborted` here.
 *
 * @example
 * openProgramStatus.read("cancelling").settled // => "aborted"
 * openProgramStatus.write("aborted") // => "cancelled"
 */
export const openProgramStatus = statusWords<SessionStatus, OpenProgramStatus>(
  [
    ["idle", ["idle"]],
    [running, ["running"]],
    ["needs_input", ["needs_input"]],
    ["done", ["done"]],
    ["failed", ["failed"]],
    ["interrupted", ["interrupted"]],
    [{ status: "running", settled: "aborted" }, ["cancelling"]],
    ["aborted", ["cancelled"]],
  ],
  "idle",
  {
    idle: "idle",
    running: "running",
    needs_input: "needs_input",
    done: "done",
    failed: "failed",
    aborted: "cancelled",
    interrupted: "interrupted",
  },
)
export type OpenProgramStatus = "idle" | "running" | "needs_input" | "done" | "failed" | "interrupted" | "cancelled"

/**
 * Nodes of OpenProgram: single steps, whose status is what a turn's outcome is here, or `running`. A node without a
 * status is finished.
 */
export const openProgramNodeStatus = statusWords<TurnOutcome | "running", OpenProgramNodeStatus>(
  [
    [running, ["running", "pending"]],
    ["completed", ["completed", "done", "success"]],
    ["failed", ["error"]],
    ["aborted", ["cancelled", "aborted"]],
    ["interrupted", ["interrupted"]],
    ["needs_input", ["paused"]],
  ],
  "completed",
  {
    running: "running",
    completed: "completed",
    done: "done",
    failed: "error",
    aborted: "cancelled",
    interrupted: "interrupted",
    needs_input: "paused",
  },
)
export type OpenProgramNodeStatus = "running" | "completed" | "done" | "error" | "cancelled" | "interrupted" | "paused"

/**
 * The four words that clients know. `aborted` and `interrupted` are both `Abort`. `done` and `needs_input` are `Idle`:
 * nothing runs, and the next word is the user's; see `wireStatusOf` for a turn that waits and runs on.
 *
 * @example
 * wireStatus.write("interrupted") // => "Abort"
 * wireStatus.read("Abort").status // => "aborted"
 */
export const wireStatus = statusWords<SessionStatus, WireStatus>(
  [
    ["idle", ["Idle"]],
    [running, ["Running"]],
    ["failed", ["Error"]],
    ["aborted", ["Abort"]],
  ],
  "idle",
  {
    idle: "Idle",
    running: "Running",
    needs_input: "Idle",
    done: "Idle",
    failed: "Error",
    aborted: "Abort",
    interrupted: "Abort",
  },
)
export type WireStatus = "Idle" | "Running" | "Error" | "Abort"

/** The word for a session as it stands: `Running` while a turn runs, also one that waits for an answer meanwhile. */
export const wireStatusOf = (session: { readonly status: SessionStatus; readonly activeTurn?: unknown }): WireStatus =>
  wireStatus.write(session.activeTurn === undefined ? session.status : "running")
