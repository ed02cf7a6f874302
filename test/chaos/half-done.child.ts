/**
 * Does one operation and is killed at one of its statements.
 */
import { child } from "./child.ts"
import type { StepOptions } from "./half-done.ts"
import { operations, successions } from "./operations.ts"
import { sqliteWith, watched } from "./steps.ts"
import { openStore } from "./store.ts"

child<StepOptions>(async ({ operation: name, path, step }) => {
  const operation = [...operations, ...successions].find((one) => one.name === name)
  if (operation === undefined) throw new Error(`no operation ${name}`)
  let done: number | undefined
  const killAfter = (count: number) => {
    if (count === step) process.kill(process.pid, "SIGKILL")
  }
  const driver = watched((_, run) => {
    if (done === undefined) return run()
    const answer = run()
    killAfter(++done)
    return answer
  })
  const store = openStore(sqliteWith(driver, { url: `file:${path}` }))
  // Opening is not part of the operation.
  await store.rows()
  done = 0
  killAfter(0)
  await store.run(operation.run)
  done = undefined
  await store.close()
})
