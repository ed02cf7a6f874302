/**
 * A process dies that was running thousands of turns (TRN-05): one call ends them all, found by an index, so that its cost
 * does not depend on how many sessions lie idle beside them. No more does finding the few that have something to do
 * (QUE-08).
 */
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Maintenance } from "../../packages/core/src/maintenance/service.ts"
import { Queue } from "../../packages/core/src/queue/service.ts"
import { inDirectory } from "./directory.ts"
import { enqueueAll } from "./drain.ts"
import { besideIdle } from "./idle.ts"
import type { Compared } from "./idle.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { start } from "./processes.ts"

export interface DyingOptions {
  readonly path: string
  /** How many turns it is running when it dies. */
  readonly turns: number
}

interface Options {
  readonly idle: number
  /** Whether times are compared too: they also depend on what the machine does besides. */
  readonly judgeTimes: boolean
}

/** How much longer it may take beside idle sessions: the file is larger, and so are the trees that lead into it. */
const largestRatio = 2

/** What does not hold of costs, and what they are. */
const judged = (what: string, { alone, beside, ratio }: Compared<unknown>, { idle, judgeTimes }: Options): Outcome => ({
  figures: [
    `${what}: ${alone.took.toFixed(0)} ms and ${alone.rowsRead} rows read`,
    `beside ${idle} idle sessions ${beside.took.toFixed(0)} ms and ${beside.rowsRead}`,
    `ratio ${ratio.toFixed(2)}`,
  ].join(", "),
  failures: [
    ...unless(
      alone.rowsRead === beside.rowsRead,
      `${what} read ${beside.rowsRead} rows beside idle sessions, ${alone.rowsRead} without`,
    ),
    ...unless(
      !judgeTimes || ratio <= largestRatio,
      `${what} took ${ratio.toFixed(2)} times as long beside idle sessions`,
    ),
  ],
})

export const manyDead = ({ dead, ...options }: Options & { readonly dead: number }): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const child = start("many-dead", { path, turns: dead } satisfies DyingOptions)
    await child.ready
    child.go()
    await child.news
    await child.kill()
    const compared = await besideIdle(path, { idle: options.idle, tries: 2 }, (store) =>
      store.run(Effect.flatMap(Effect.service(Maintenance), (maintenance) => maintenance.recover())),
    )
    const { figures, failures } = judged(`${dead} dead turns recovered`, compared, options)
    return {
      figures,
      failures: [
        ...failures,
        ...[compared.alone, compared.beside].flatMap(({ answer: { interrupted, running } }) => [
          ...unless(interrupted.length === dead, `${interrupted.length} of ${dead} dead turns were recovered`),
          ...unless(running === 0, `${running} turns still run`),
        ]),
      ],
    }
  })

/** Three sessions have something to do. */
export const fewDue = (options: Options): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const sessions = ["s1", "s2", "s3"]
    await enqueueAll(
      path,
      sessions,
      sessions.map((id) => `${id} item 1`),
    )
    const compared = await besideIdle(path, { idle: options.idle, tries: 8 }, async (store) => {
      const enough = new AbortController()
      const seen: Array<string> = []
      const body = ({ sessionId }: { readonly sessionId: string }) =>
        Effect.sync(() => {
          if (seen.push(sessionId) === sessions.length) enough.abort()
        })
      await store.run(Effect.flatMap(Effect.service(Queue), (queue) => queue.work(body, { signal: enough.signal })))
      return seen
    })
    const { figures, failures } = judged("3 due sessions worked on", compared, options)
    return {
      figures,
      failures: [
        ...failures,
        ...[compared.alone, compared.beside].flatMap(({ answer }) =>
          unless(answer.toSorted().join() === sessions.join(), `${answer.join()} were worked on`),
        ),
      ],
    }
  })
