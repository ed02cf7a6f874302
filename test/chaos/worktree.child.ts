/**
 * Forks a session into a place of its own, and is killed at one of the steps.
 */
import { child } from "./child.ts"
import { sqliteWith, watched } from "./steps.ts"
import { openStore } from "./store.ts"
import { directories, forkAway } from "./places.ts"
import type { WorktreeOptions } from "./worktree.ts"

child<WorktreeOptions>(async ({ path, places, step }) => {
  let done: number | undefined
  const stepped = () => {
    if (done !== undefined && ++done === step) process.kill(process.pid, "SIGKILL")
  }
  const driver = watched((_, run) => {
    const answer = run()
    stepped()
    return answer
  })
  const store = openStore(sqliteWith(driver, { url: `file:${path}` }), { workspaces: directories(places, stepped) })
  // Opening is not part of it.
  await store.rows()
  done = -1
  stepped()
  await store.run(forkAway)
  done = undefined
  await store.close()
})
