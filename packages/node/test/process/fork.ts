/**
 * Forks a session into a worktree, and dies where it is told: at the n-th change to the disk, or where `DIE_GIT` tells the
 * program that stands for git. Prints how many changes there were if it does not.
 */
import process from "node:process"
import { sqlite } from "@skein/adapter-sqlite"
import { Skein } from "@skein/core"
import { worktrees } from "../../src/index.ts"
import { dieAt } from "./dying.ts"

const [url, directory, git, n, when] = process.argv.slice(2) as [string, string, string, string, "before" | "behind"]
const skein = await Skein.open(sqlite({ url }), { workspaces: worktrees({ directory, git }) })
const count = dieAt(Number(n), when)
await skein.forks.fork("ses_1", { workspace: { changes: "copy" }, operationId: "once" })
console.log(count())
await skein.close()
