/**
 * What can go wrong below a session: one error, `StorageError`, whose `reason` says what the engine met, and
 * `InvalidInput` for a value that was refused before anything was written.
 *
 * Guarantee: a reason is a class of its own only where callers decide differently. `isRetryable` means that the same
 * call again is safe and may help. Every message ends with what to do.
 *
 * Not promised: the text of messages. Switch on `_tag`.
 */
import * as Data from "effect/Data"

/** What every reason may carry: the engine's own error, and a sentence about this very case. */
interface ReasonFacts {
  readonly cause?: unknown
  readonly detail?: string
}

/** Another writer holds the store, and held it for the whole retry budget. Nothing was written. */
export class Busy extends Data.TaggedError("Busy")<ReasonFacts> {
  readonly isRetryable = true
  readonly advice = "another writer holds the store; try again"
}

/** The engine cannot be reached or opened: a missing directory, no permission, private mode. Nothing was written. */
export class Unavailable extends Data.TaggedError("Unavailable")<ReasonFacts> {
  readonly isRetryable = true
  readonly advice = "check that the place exists and may be read and written, then try again"
}

/** No room: disk, quota or page limit. Nothing of the refused commit was written; reading still works. */
export class Full extends Data.TaggedError("Full")<ReasonFacts> {
  readonly isRetryable = false
  readonly advice = "free space or raise the quota, then call again"
}

/** What is stored cannot be read: no database, a damaged file, or a row that is not what its table says. */
export class Corrupt extends Data.TaggedError("Corrupt")<
  ReasonFacts & { readonly table?: string; readonly key?: ReadonlyArray<string | number> }
> {
  readonly isRetryable = false
  /** Without a key it is the place as a whole that holds no store, or no longer. */
  get advice(): string {
    return this.key === undefined
      ? "nothing was changed; restore a backup, or name another store"
      : "nothing was changed; restore a backup or repair the row"
  }
}

/** The store was written by a newer version than this one supports. Nothing was changed. */
export class VersionMismatch extends Data.TaggedError("VersionMismatch")<
  ReasonFacts & { readonly found: number; readonly supported: number }
> {
  readonly isRetryable = false
  readonly advice = "upgrade this program to the version that wrote the store"
}

/** An upgrade waits for other connections that do not close. */
export class UpgradeBlocked extends Data.TaggedError("UpgradeBlocked")<ReasonFacts> {
  readonly isRetryable = true
  readonly advice = "close the other tabs or programs that use this store, then try again"
}

/** The store was closed. No later call on it succeeds. */
export class Closed extends Data.TaggedError("Closed")<ReasonFacts> {
  readonly isRetryable = false
  readonly advice = "open the store again"
}

/** The engine lost the data that was here: an evicted origin, a recreated database. */
export class Reset extends Data.TaggedError("Reset")<ReasonFacts> {
  readonly isRetryable = false
  readonly advice = "tell the user that the data is gone, then open again to start empty"
}

/** The commit was sent and its answer was lost: the write may or may not be there. */
export class CommitUncertain extends Data.TaggedError("CommitUncertain")<ReasonFacts> {
  readonly isRetryable = false
  readonly advice = "read again before deciding whether to repeat the write"
}

/** The engine refused a row: its key, or a unique value, is taken. Nothing was written. */
export class Constraint extends Data.TaggedError("Constraint")<
  ReasonFacts & { readonly table?: string; readonly index?: string }
> {
  readonly isRetryable = false
  readonly advice = "read the row that is there"
}

/** A failure that the adapter does not know. `cause` is what the engine threw. */
export class Unknown extends Data.TaggedError("Unknown")<ReasonFacts> {
  readonly isRetryable = false
  readonly advice = "see `cause`"
}

export type StorageReason =
  | Busy
  | Unavailable
  | Full
  | Corrupt
  | VersionMismatch
  | UpgradeBlocked
  | Closed
  | Reset
  | CommitUncertain
  | Constraint
  | Unknown

/** What storage was doing when it failed. */
export type StorageOperation = "open" | "read" | "commit" | "lock" | "close"

/**
 * Storage failed. Nothing above the port knows more than `reason` tells.
 *
 * @example
 * Effect.catchReason(program, "StorageError", "Busy", () => tryLater)
 */
export class StorageError extends Data.TaggedError("StorageError")<{
  readonly operation: StorageOperation
  readonly reason: StorageReason
}> {
  override readonly cause = this.reason
  override get message() {
    const { _tag, advice, detail } = this.reason
    return `${this.operation} failed (${_tag}): ${detail === undefined ? "" : `${detail}; `}${advice}`
  }
  /** Whether the same call again is safe and may help. */
  get isRetryable() {
    return this.reason.isRetryable
  }
}

/** Whether a commit was refused because a key or a unique value is taken. */
export const isTaken = (error: unknown): boolean => error instanceof StorageError && error.reason._tag === "Constraint"

/** Whether it is not known if a commit was stored. */
export const isUncertain = (error: unknown): boolean =>
  error instanceof StorageError && error.reason._tag === "CommitUncertain"

/**
 * A value was refused before anything was written.
 *
 * `field` names it as the caller knows it (`"limit"`, `"display.parts[2].text"`), `value` is what was given and
 * `problem` says what is wrong with it.
 */
export class InvalidInput extends Data.TaggedError("InvalidInput")<{
  readonly field: string
  readonly value: unknown
  readonly problem: string
}> {
  override get message() {
    return `${this.field} ${this.problem} (got ${preview(this.value)})`
  }
}

/** A short, safe picture of any value, for messages. */
const preview = (value: unknown): string => {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "an array" : "an object"
  return String(value)
}
