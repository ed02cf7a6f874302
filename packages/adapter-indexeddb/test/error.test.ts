import { assert, it } from "@effect/vitest"
import { classify } from "../src/error.ts"
import type { Phase } from "../src/error.ts"

const dom = (name: string) => new DOMException("", name)

// what the browser throws          during    reason             retry
const rows: ReadonlyArray<readonly [unknown, Phase, string, boolean]> = [
  [dom("QuotaExceededError"), "commit", "Full", false],
  [dom("QuotaExceededError"), "open", "Full", false],
  [dom("ConstraintError"), "run", "Constraint", false],
  [dom("ConstraintError"), "commit", "Constraint", false],
  [dom("VersionError"), "open", "Busy", true],
  [dom("InvalidStateError"), "begin", "Closed", false],
  [dom("InvalidStateError"), "open", "Unavailable", true],
  [dom("InvalidStateError"), "run", "Unknown", false],
  [dom("SecurityError"), "open", "Unavailable", true],
  [dom("AbortError"), "open", "Unavailable", true],
  [dom("AbortError"), "run", "Unavailable", true],
  [dom("AbortError"), "commit", "CommitUncertain", false],
  [dom("TimeoutError"), "run", "Unavailable", true],
  [dom("TimeoutError"), "commit", "CommitUncertain", false],
  [dom("UnknownError"), "open", "Unavailable", true],
  [dom("UnknownError"), "run", "Unavailable", true],
  [dom("UnknownError"), "commit", "CommitUncertain", false],
  [dom("NotReadableError"), "run", "Corrupt", false],
  [dom("DataError"), "run", "Unknown", false],
  [dom("DataCloneError"), "run", "Unknown", false],
  [dom("TransactionInactiveError"), "run", "Unknown", false],
  [dom("NotFoundError"), "begin", "Unknown", false],
  [dom("ErrorOfTheFuture"), "run", "Unknown", false],
  [dom("ErrorOfTheFuture"), "commit", "CommitUncertain", false],
  // A message is no name, and neither is a number.
  [new Error("QuotaExceededError"), "run", "Unknown", false],
  [{ name: 22 }, "run", "Unknown", false],
  [{ name: "QuotaExceededError" }, "commit", "Full", false],
  // A transaction that ended with its connection has no error.
  [null, "run", "Unavailable", true],
  [null, "commit", "CommitUncertain", false],
  [undefined, "commit", "CommitUncertain", false],
]

it.each(rows)("STO-07 %s during %s is %s", (thrown, during, tag, isRetryable) => {
  const reason = classify(thrown, during)
  assert.deepStrictEqual([reason._tag, reason.isRetryable, reason.cause], [tag, isRetryable, thrown])
})
