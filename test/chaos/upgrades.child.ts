/**
 * Opens an older store, which upgrades it, and tells what is in it; or is killed after one of the statements.
 */
import { child } from "./child.ts"
import { seen, upgrading } from "./older.ts"
import { sqliteWith, watched } from "./steps.ts"
import { openStore } from "./store.ts"
import type { UpgraderOptions } from "./upgrades.ts"

child<UpgraderOptions>(async ({ killAfter, path }) => {
  let isOpening = true
  const driver = watched(({ n }, run) => {
    const answer = run()
    if (isOpening && n === killAfter) process.kill(process.pid, "SIGKILL")
    return answer
  })
  const store = openStore(upgrading(sqliteWith(driver, { url: `file:${path}` })))
  const what = await store.run(seen)
  isOpening = false
  await store.close()
  return what
})
