/**
 * When work that blocks the thread may begin.
 *
 * Guarantee: work begins in a microtask while the event loop is young, and in a macrotask once the loop has not turned
 * for 5 ms, so that timers and input are served however fast the callers are.
 */

/** How long the loop may stand still before work waits for it to turn, in milliseconds. */
export const maxStandstill = 5

interface Host {
  readonly queueMicrotask: (work: () => void) => void
  readonly performance: { now(): number }
  readonly setImmediate?: (work: () => void) => void
  readonly setTimeout: (work: () => void, ms: number) => void
}

/** The globals that every runtime has, looked up when a store is opened. */
const host = (): Host => globalThis as unknown as Host

export interface TurnTaking {
  /** Runs `work` soon, as the guarantee says. */
  readonly soon: (work: () => void) => void
  /** Monotonic milliseconds, to measure how long the thread has been blocked. Decides nothing that is stored. */
  readonly now: () => number
}

export const makeTurnTaking = (blocking: boolean): TurnTaking => {
  const { performance, queueMicrotask, setImmediate, setTimeout } = host()
  const macrotask = setImmediate ?? ((work: () => void) => setTimeout(work, 0))
  const now = () => performance.now()
  /** When the loop last turned, as far as anybody has looked. */
  let turned: number | undefined
  const noticeTurn = () => {
    turned = undefined
  }
  return {
    now,
    soon: (work) => {
      if (!blocking) return queueMicrotask(work)
      if (turned === undefined) {
        turned = now()
        macrotask(noticeTurn)
      }
      if (now() - turned < maxStandstill) queueMicrotask(work)
      else macrotask(work)
    },
  }
}
