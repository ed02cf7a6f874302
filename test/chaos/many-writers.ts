/**
 * Several processes create one file together and append to it at the same time (A31, STO-07, STO-08).
 *
 * Nothing may fail, everything must be stored in order, and nobody may stand still for a lock.
 */
import { join } from "node:path"
import { inDirectory } from "./directory.ts"
import type { Standstill } from "./event-loop.ts"
import { inspectFile } from "./file.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { race } from "./processes.ts"

export interface WriterOptions {
  readonly path: string
  readonly session: string
  readonly appends: number
}
export interface WriterReport extends Standstill {
  readonly failures: ReadonlyArray<string>
}

/** How long a wait for a lock may block the event loop, in milliseconds. */
const longestWait = 50

interface Options {
  readonly processes: number
  readonly appends: number
  /** Whether the timers are judged too. They also stand still when the machine has something else to do. */
  readonly judgeTimers: boolean
}

export const manyWriters = ({ appends, judgeTimers, processes }: Options): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const sessions = Array.from({ length: processes }, (_, i) => `s${i + 1}`)
    const options = sessions.map((session): WriterOptions => ({ path, session, appends }))
    const reports = (await race("many-writers", options)) as ReadonlyArray<WriterReport>
    const { problems, rows } = inspectFile(path)

    const stored = (session: string) => rows.entries.filter(({ treeId }) => treeId === treeOf(session))
    const treeOf = (session: string) => rows.sessions.find(({ id }) => id === session)?.treeId
    const longest = (of: (report: WriterReport) => number) => Math.max(...reports.map(of))
    const failed = reports.flatMap(({ failures }) => failures)
    const lock = longest(({ longestLock }) => longestLock)
    const unexplained = longest(({ longestUnexplained }) => longestUnexplained)
    const total = processes * appends
    return {
      figures: [
        `${processes} × ${appends} appends: ${rows.entries.length} stored, ${failed.length} failed`,
        `longest wait for a lock ${lock.toFixed(1)} ms`,
        `longest gap of a timer ${longest(({ longestGap }) => longestGap).toFixed(1)} ms`,
        `${unexplained.toFixed(1)} ms without disk and garbage collection`,
      ].join(", "),
      failures: [
        ...failed,
        ...problems,
        ...unless(rows.entries.length === total, `${rows.entries.length} of ${total} entries are stored`),
        ...sessions.flatMap((session) =>
          unless(
            stored(session).every(({ id, pos }) => id === `${session}-${pos}`),
            `the messages of ${session} are out of order`,
          ),
        ),
        ...unless(lock <= longestWait, `a wait for a lock took ${lock.toFixed(1)} ms`),
        ...unless(!judgeTimers || unexplained <= longestWait, `a timer was ${unexplained.toFixed(1)} ms late`),
      ],
    }
  })
