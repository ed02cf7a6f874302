/**
 * What an error of IndexedDB means.
 *
 * Guarantee: total, never throws, and keeps the original as `cause`. Errors are told apart by name alone: messages differ
 * between browsers, and so do the classes.
 */
import { Busy, Closed, CommitUncertain, Constraint, Corrupt, Full, Unavailable, Unknown } from "@skein/core/storage"
import type { StorageReason } from "@skein/core/storage"

/**
 * What was going on. `commit` begins when all writes have been issued without a failure: only from then on may an
 * error hide a commit.
 */
export type Phase = "open" | "begin" | "run" | "commit"

export const classify = (cause: unknown, during: Phase): StorageReason => {
  switch (nameOf(cause)) {
    case "QuotaExceededError":
      return new Full({ cause })
    case "ConstraintError":
      return new Constraint({ cause })
    case "NotReadableError":
      return new Corrupt({ cause, detail: "the browser has lost the file that held a large value" })
    case "VersionError":
      // The number counts changes of structure. A higher one means that somebody was faster, not that code is too old.
      return new Busy({ cause, detail: "another opener changed the store at the same moment" })
    case "SecurityError":
      return new Unavailable({ cause, detail: "the browser refuses storage here" })
    case "InvalidStateError":
      if (during === "begin") return new Closed({ cause, detail: "the browser closed the store" })
      if (during === "open") return new Unavailable({ cause, detail: "the browser refuses storage here" })
      return unknown(cause, during)
    case "AbortError":
    case "TimeoutError":
    case "UnknownError":
    case nothing:
      return during === "commit" ? unknown(cause, during) : new Unavailable({ cause })
    default:
      return unknown(cause, during)
  }
}

const unknown = (cause: unknown, during: Phase): StorageReason =>
  during === "commit" ? new CommitUncertain({ cause }) : new Unknown({ cause })

/** A request that failed only because its transaction was aborted says nothing about why. */
export const isAbort = (error: unknown): boolean => nameOf(error) === "AbortError"

/** The name of `null`: the error of a transaction that ended with its connection. */
const nothing = Symbol("nothing")

const nameOf = (thrown: unknown): unknown => {
  if (thrown === null) return nothing
  return typeof thrown === "object" && "name" in thrown ? thrown.name : undefined
}
