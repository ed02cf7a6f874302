/**
 * A crash at every statement: after each one the files are copied, as a process that stops there would leave them.
 */
import { join } from "node:path"
import { copyStore } from "./file.ts"
import { sqliteWith, watched } from "./steps.ts"
import { openStore } from "./store.ts"
import type { Store } from "./store.ts"

/** What work left in a store, and what it would have left at each of its statements. */
export interface Crashes<A, B> {
  readonly before: A
  readonly after: B
  /** The files: as they were before the first statement, then after each. */
  readonly copies: ReadonlyArray<string>
}

/**
 * Works on a store of its own in `directory`.
 *
 * @param prepare  what comes before, and is not watched
 * @param run      what a crash befalls
 */
export const crashing = async <A, B>(
  directory: string,
  {
    after,
    before,
    prepare,
    run,
  }: {
    readonly prepare: (store: Store) => Promise<unknown>
    readonly before: (store: Store) => Promise<A>
    readonly run: (store: Store) => Promise<unknown>
    readonly after: (store: Store) => Promise<B>
  },
): Promise<Crashes<A, B>> => {
  const path = join(directory, "store.db")
  const copies: Array<string> = []
  let isWatching = false
  const copy = () => {
    copies.push(copyStore(path, join(directory, `after-${copies.length}.db`)))
  }
  const driver = watched((_, work) => {
    const answer = work()
    if (isWatching) copy()
    return answer
  })
  const store = openStore(sqliteWith(driver, { url: `file:${path}` }))
  await prepare(store)
  const earlier = await before(store)
  isWatching = true
  copy()
  await run(store)
  isWatching = false
  const later = await after(store)
  await store.close()
  return { before: earlier, after: later, copies }
}
