/**
 * A process dies that was running thousands of turns (TRN-05): one call ends them all, found by an index, so that its cost
 * does not depend on how many sessions lie idle beside them.
 */
import { join } from "node:path"
import { sqlite } from "@skein/adapter-sqlite"
import * as Effect from "effect/Effect"
import { counted } from "../../bench/counted.ts"
import { Maintenance } from "../../packages/core/src/maintenance/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { inDirectory } from "./directory.ts"
import { copyStore } from "./file.ts"
import { addIdleSessions } from "./idle.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { start } from "./processes.ts"
import { openStore } from "./store.ts"

export interface DyingOptions {
  readonly path: string
  /** How many turns it is running when it dies. */
  readonly turns: number
}

interface Options {
  readonly dead: number
  readonly idle: number
  /** Whether times are compared too: they also depend on what the machine does besides. */
  readonly judgeTimes: boolean
}

/** How much longer it may take beside the idle sessions: the file is larger, and so are the trees that lead into it. */
const largestRatio = 2

export const manyDead = ({ dead, idle, judgeTimes }: Options): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const alone = join(directory, "alone.db")
    const beside = join(directory, "beside.db")
    const options: DyingOptions = { path: alone, turns: dead }
    const child = start("many-dead", options)
    await child.ready
    child.go()
    await child.news
    await child.kill()
    copyStore(alone, beside)
    await addIdleSessions(beside, idle)

    // The fastest of two, each on a copy of its own: the first ones are compiled while they run.
    const fastest = async (path: string) => {
      const found = [await recovery(copyStore(path, `${path}-1`)), await recovery(copyStore(path, `${path}-2`))]
      return found.toSorted((a, b) => a.took - b.took)[0]!
    }
    const few = await fastest(alone)
    const many = await fastest(beside)
    const ratio = many.took / few.took
    return {
      figures: [
        `${few.interrupted} dead turns recovered in ${few.took.toFixed(0)} ms, ${few.rowsRead} rows read`,
        `beside ${idle} idle sessions in ${many.took.toFixed(0)} ms, ${many.rowsRead} rows read`,
        `ratio ${ratio.toFixed(2)}`,
      ].join("; "),
      failures: [few, many]
        .flatMap(({ interrupted, left }) => [
          ...unless(interrupted === dead, `${interrupted} of ${dead} dead turns were recovered`),
          ...unless(left === 0, `${left} sessions still run`),
        ])
        .concat(
          unless(
            many.rowsRead === few.rowsRead,
            `it read ${many.rowsRead} rows beside idle sessions, ${few.rowsRead} without`,
          ),
          unless(
            !judgeTimes || ratio <= largestRatio,
            `it took ${ratio.toFixed(2)} times as long beside idle sessions`,
          ),
        ),
    }
  })

/** Recovers a store in one call, and takes the time of the processor for it, which nobody else can take: milliseconds. */
const recovery = async (path: string) => {
  const { backend, taken } = counted(sqlite({ url: `file:${path}` }))
  const store = openStore(backend)
  const maintenance = await store.run(Effect.service(Maintenance))
  taken()
  const begun = process.cpuUsage()
  const { interrupted } = await store.run(maintenance.recover())
  const { system, user } = process.cpuUsage(begun)
  const rowsRead = taken().reduce((sum, run) => sum + run.rowsRead, 0)
  const running = await store.run(
    Effect.flatMap(Effect.service(Sessions), (sessions) => sessions.list({ status: ["running"] })),
  )
  await store.close()
  return { interrupted: interrupted.length, left: running.sessions.length, took: (user + system) / 1_000, rowsRead }
}
