/**
 * Ends the process as the system would, at the n-th change that it makes to the disk from now on: right before it, or right
 * behind it.
 */
import fs from "node:fs/promises"
import { syncBuiltinESMExports } from "node:module"
import process from "node:process"

/** What changes the disk. Files are written through handles, which are opened first. */
const changes = ["rename", "rm", "rmdir", "unlink", "copyFile", "mkdir", "open", "chmod"] as const

/** @returns how many there were so far */
export const dieAt = (n: number, when: "before" | "behind"): (() => number) => {
  let count = 0
  const dying = fs as unknown as Record<string, (...args: ReadonlyArray<unknown>) => Promise<unknown>>
  for (const name of changes) {
    const change = dying[name]!
    dying[name] = async (...args) => {
      const isLast = ++count === n
      if (isLast && when === "before") process.kill(process.pid, "SIGKILL")
      const answer = await change(...args)
      if (isLast) process.kill(process.pid, "SIGKILL")
      return answer
    }
  }
  syncBuiltinESMExports()
  return () => count
}
