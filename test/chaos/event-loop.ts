/**
 * How long the event loop stood still, and what it stood still for.
 *
 * A timer that fires late says that something held the thread. What held it is known for the library's statements, which
 * are timed, for garbage collection, which the runtime reports, and for a processor that was busy with other programs,
 * which Linux reports.
 */
import { readFileSync } from "node:fs"
import { PerformanceObserver } from "node:perf_hooks"
import type { Around } from "./steps.ts"

/** Milliseconds. */
export interface Standstill {
  /** The longest time that one statement waited for a lock. */
  readonly longestLock: number
  /** The longest time between two turns of the loop. */
  readonly longestGap: number
  /** The same after taking off what the disk, garbage collection and other programs took of each gap. */
  readonly longestUnexplained: number
}

export interface LoopWatch {
  /** Times statements. */
  readonly around: Around
  /** Forgets the turns so far: loading and compiling code stands still too, and says nothing. */
  readonly begin: () => void
  readonly stop: () => Standstill
}

/** BEGIN takes the lock for writing and does nothing else. */
const takesLock = (sql: string) => /^\s*BEGIN/i.test(sql)
/** The switch to a write-ahead log needs the file for itself, and writes to it when it gets it. */
const mayBeRefused = (sql: string) => /^\s*PRAGMA journal_mode/i.test(sql)
/** COMMIT waits until everything is on disk. */
const flushes = (sql: string) => /^\s*COMMIT/i.test(sql)

/** How long this thread was ready to run and was not let, in milliseconds; 0 where the system does not say. */
const timeQueued = (): number => Number(fromSystem("schedstat", /^\d+ (\d+)/) ?? 0) / 1_000_000

/** How often this thread went to sleep of itself. Where the system does not say, always once more. */
const sleeps = (): number => Number(fromSystem("status", /\nvoluntary_ctxt_switches:\s+(\d+)/) ?? ++unknownSleeps)
let unknownSleeps = 0

const fromSystem = (file: string, figure: RegExp): string | undefined => {
  try {
    return figure.exec(readFileSync(`/proc/self/${file}`, "utf8"))?.[1]
  } catch {
    return undefined
  }
}

interface Gap {
  readonly from: number
  readonly to: number
  /** How much of it went into waiting for the disk, or for the processor. */
  readonly explained: number
}

export const watchLoop = (): LoopWatch => {
  let longestLock = 0
  let turned = performance.now()
  let queued = timeQueued()
  let flushed = 0
  let gaps: Array<Gap> = []
  const collections: Array<{ readonly at: number; readonly took: number }> = []
  const observer = new PerformanceObserver((list) => {
    for (const { duration, startTime } of list.getEntries()) collections.push({ at: startTime, took: duration })
  })
  observer.observe({ entryTypes: ["gc"] })
  const turn = () => {
    const now = performance.now()
    const nowQueued = timeQueued()
    gaps.push({ from: turned, to: now, explained: flushed + nowQueued - queued })
    turned = now
    queued = nowQueued
    flushed = 0
  }
  const timer = setInterval(turn, 1)

  const waited = <A>(run: () => A, refusedOnly: boolean): A => {
    const before = { now: performance.now(), queued: timeQueued(), sleeps: sleeps() }
    const note = () => {
      const time = performance.now() - before.now - (timeQueued() - before.queued)
      // Whoever waits sleeps: without that the time went elsewhere.
      if (sleeps() > before.sleeps) longestLock = Math.max(longestLock, time)
    }
    try {
      const answer = run()
      if (!refusedOnly) note()
      return answer
    } catch (thrown) {
      note()
      throw thrown
    }
  }
  const timedFlush = <A>(run: () => A): A => {
    const start = performance.now()
    try {
      return run()
    } finally {
      flushed += performance.now() - start
    }
  }
  return {
    around: ({ sql }, run) => {
      if (takesLock(sql)) return waited(run, false)
      if (mayBeRefused(sql)) return waited(run, true)
      return flushes(sql) ? timedFlush(run) : run()
    },
    begin: () => {
      turn()
      gaps = []
    },
    stop: () => {
      clearInterval(timer)
      turn()
      for (const { duration, startTime } of observer.takeRecords()) collections.push({ at: startTime, took: duration })
      observer.disconnect()
      const collected = ({ from, to }: Gap) =>
        collections.filter(({ at }) => at >= from && at < to).reduce((sum, { took }) => sum + took, 0)
      return {
        longestLock,
        longestGap: longest(gaps.map(({ from, to }) => to - from)),
        longestUnexplained: longest(gaps.map((gap) => gap.to - gap.from - gap.explained - collected(gap))),
      }
    },
  }
}

const longest = (times: ReadonlyArray<number>) => times.reduce((most, time) => Math.max(most, time), 0)
