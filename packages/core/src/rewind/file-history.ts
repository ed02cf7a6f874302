/**
 * The port to what turns did to files: the host keeps it, and takes it back when a rewind does.
 *
 * Guarantee: files and head go back together. A rewind calls, in this order: `eligible`, `plan`, `apply`, `verify`; then
 * the head moves, in one commit. When any of it fails the head stays where it is and `rollback` is called. Before `apply`
 * the store knows of the run, and forgets it in the commit that moves the head: so a process that dies in between leaves
 * a run that `recover` hands to `rollback`, perhaps in another process and more than once. Of two runs of one session the
 * second waits for nobody: it is refused while the first one lives.
 *
 * Not promised: that nobody else writes the files meanwhile. An implementation looks at what it is about to overwrite. And
 * `undo` of a rewind moves the head alone: files stay as they are.
 */
import * as Data from "effect/Data"
import type { Answer } from "../host.ts"

/**
 * Files cannot be read or written, or are not as they have to be. An implementation may fail with anything; with this it
 * also says which file.
 */
export class FileFault extends Data.TaggedError("FileFault")<{
  /** In words that end a sentence about the path, or about the files: "was changed since". */
  readonly problem: string
  /** Which file, where it is one. */
  readonly path?: string
  readonly cause?: unknown
}> {
  override get message() {
    return `${this.path ?? "a file"} ${this.problem}`
  }
}

/** A session, as far as its files are concerned. */
export interface FileSession {
  readonly sessionId: string
  /** The directory that it works in, as it was spelled. Absent: none. */
  readonly workspaceDir?: string
}

/** Turns whose changes are to be taken back. */
export interface FileRewind extends FileSession {
  /**
   * Ids of turns of this session, the newest first, at least one, each once. All of them have ended, or are ended with the
   * rewind. What a turn changed is undone before what an older one did, so that files end up as the oldest found them.
   */
  readonly turns: ReadonlyArray<string>
}

/** One attempt to take changes back. It is known to the store before anything is done. */
export interface FileRun extends FileRewind {
  /** Tells it from all other attempts, of any session: 1 to 128 of `A–Z a–z 0–9 _ -`, fit for the name of a file. */
  readonly id: string
}

/** What would happen to a file. */
export interface FileEffect {
  /** Relative to the workspace, with `/`; absolute where it is outside. */
  readonly path: string
  /** `restored`: it gets an earlier content. `removed`: a turn made it. `created`: a turn removed it. */
  readonly effect: "restored" | "removed" | "created"
  /** Why it would be refused as things stand, such as "was changed since". Absent: nothing is in its way. */
  readonly conflict?: string
}

/** What a rewind would do to files. */
export interface FilePlan {
  /** The first 100 at most, those with a conflict first. */
  readonly effects: ReadonlyArray<FileEffect>
  /** How many files it would touch, and how many of them have a conflict. */
  readonly files: number
  readonly conflicts: number
  /** The turns of which nothing is known: nothing was recorded, or it was pruned. What they changed stays. */
  readonly unknown: ReadonlyArray<string>
  /**
   * Any text of at most 200 characters: the same as long as the plan, and what it was made from, is the same. It covers
   * all files, not the first 100, with what is in them now and what would be.
   */
  readonly hash: string
}

/** Whether the files of a session can be taken back at all, and if not, why: in words that end a sentence about them. */
export type Eligibility = { readonly eligible: true } | { readonly eligible: false; readonly reason: string }

/**
 * Takes files back. Every function answers with an effect or with a promise.
 *
 * @example
 * const skein = await Skein.open(sqlite({ url: "file:chat.db" }), { fileHistory })
 */
export interface FileHistory {
  /**
   * Whether files of a session can be taken back. Changes nothing. Sessions that are not `ready` are never asked about.
   *
   * A session of which nothing was recorded is eligible: its plans are empty. One whose workspace is gone is not.
   */
  readonly eligible: (session: FileSession) => Answer<Eligibility>
  /** What `apply` would do now. Changes nothing. */
  readonly plan: (rewind: FileRewind) => Answer<FilePlan>
  /**
   * Takes changes back, and keeps what `rollback` needs, on disk, before it touches the first file.
   *
   * Fails, with files as they were or as far as it came, where the plan is no longer the one with this hash, or a file has a
   * conflict. Whether it succeeds or fails, is interrupted or dies, `rollback` of the same run may follow. Called once a run.
   *
   * @param hash  of the plan that was made for these very turns just before
   */
  readonly apply: (run: FileRun, hash: string) => Answer<void>
  /**
   * Looks whether files are what `apply` was to make of them, on disk. Changes nothing. Called once `apply` has succeeded,
   * right before the head moves.
   */
  readonly verify: (run: FileRun) => Answer<void>
  /**
   * Makes files what they were before `apply`. A file that is no longer as `apply` left it was written by somebody since,
   * and is left alone.
   *
   * Called again, or for a run that never began, it succeeds and changes nothing. Where it fails it is called again by the
   * next `recover`. Never called once the head has moved.
   */
  readonly rollback: (run: FileRun) => Answer<void>
  /**
   * Forgets what is kept of turns that were recorded before a time, and of runs that were made before it, the oldest
   * first. Their changes can then no longer be taken back; `plan` names such turns as unknown.
   *
   * @param before  milliseconds since 1970
   * @param limit   how many turns are forgotten at most, 1 or more
   * @returns how many were. Fewer than `limit`: there are no more.
   */
  readonly prune: (before: number, limit: number) => Answer<number>
}

/**
 * Files could not be taken back, so that the head stays where it was. Where `restored` is false they are not what they were
 * either: the next `recover` tries again to make them so.
 */
export class FileRewindFailed extends Data.TaggedError("FileRewindFailed")<{
  readonly sessionId: string
  /** What failed. `eligible`: the session's files cannot be taken back at all. `commit`: the head could not be moved. */
  readonly step: "eligible" | "plan" | "apply" | "verify" | "commit"
  readonly problem: string
  readonly path?: string
  readonly restored: boolean
  readonly cause?: unknown
}> {
  override get message() {
    const { path, problem, restored, sessionId } = this
    const what = path === undefined ? problem : `${path} ${problem}`
    const advice = restored
      ? "nothing was changed; rewind with { files: false } leaves them as they are"
      : "they are not what they were: recover() tries again"
    return `files of session ${sessionId} could not be taken back: ${what}; ${advice}`
  }
}
