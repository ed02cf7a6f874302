/**
 * Times two ways of doing one thing, in turns, so that whatever the machine is doing meanwhile is done to both.
 */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** How long each run took, in milliseconds. */
export type Times = ReadonlyArray<number>

export interface Pair {
  readonly ours: () => unknown
  readonly baseline: () => unknown
}

export interface Rounds {
  readonly rounds: number
  /** Rounds that come first and do not count. Default: a tenth, at least 3. */
  readonly warmup?: number
}

/** Runs ours, baseline, ours, baseline … */
export const interleave = async (
  { baseline, ours }: Pair,
  { rounds, warmup = Math.max(3, Math.ceil(rounds / 10)) }: Rounds,
): Promise<{ readonly ours: Times; readonly baseline: Times }> => {
  const times = { ours: new Array<number>(), baseline: new Array<number>() }
  for (let round = -warmup; round < rounds; round++) {
    const mine = await timed(ours)
    const other = await timed(baseline)
    if (round < 0) continue
    times.ours.push(mine)
    times.baseline.push(other)
  }
  return times
}

/** How long something took, in milliseconds. What answers at once is not waited for. */
export const timed = async (work: () => unknown): Promise<number> => {
  const start = performance.now()
  const answer = work()
  if (answer instanceof Promise) await answer
  return performance.now() - start
}

/** The middle one: half of the runs were faster. */
export const p50 = (times: Times): number => {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]!
}

export const mean = (times: Times): number => times.reduce((sum, time) => sum + time, 0) / times.length

/** What is in use, in bytes, after a full collection. */
export const heap = (): number => {
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  collect()
  return process.memoryUsage().heapUsed
}
