/**
 * Takes turns back, or rolls that back, and dies at the n-th change to the disk. Prints how many there were if it does not.
 */
import process from "node:process"
import * as Effect from "effect/Effect"
import { fileHistory } from "../../src/index.ts"
import { dieAt } from "./dying.ts"

const [directory, workspaceDir, act, n, when] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  "before" | "behind",
]
const files = fileHistory({ directory })
const attempt = { sessionId: "ses_1", workspaceDir, turns: ["t2", "t1"], id: "run_1" }
const hash = act === "apply" ? (await Effect.runPromise(files.plan(attempt))).hash : ""
const count = dieAt(Number(n), when)
await Effect.runPromise(act === "apply" ? files.apply(attempt, hash) : files.rollback(attempt))
console.log(count())
