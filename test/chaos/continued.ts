/**
 * `kill -9` of an agent at work, and another process that goes on (A26): it opens the store, takes the latest session of
 * the workspace, and is let in with the next prompt at once. Nobody waits for a dead process.
 */
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Messages } from "../../packages/core/src/message/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { startAgent } from "./agent.ts"
import { inDirectory } from "./directory.ts"
import { inspectFile } from "./file.ts"
import { openCalls } from "./history.ts"
import { user } from "./operations.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { race } from "./processes.ts"
import { openFile } from "./store.ts"

export interface ContinuedOptions {
  readonly path: string
  readonly workspace: string
  /** What is said to the latest session. */
  readonly prompt: string
}
/** Times in milliseconds. */
export interface ContinuedReport {
  readonly session: string | undefined
  /** From the start of the process until the library was loaded. */
  readonly loading: number
  /** From then until the prompt was accepted: stored, with its turn running. */
  readonly accepting: number
}

interface Options {
  readonly rounds: number
  /** How many sessions there are beside. */
  readonly others: number
}

/** How long whoever goes on may wait, in milliseconds. */
const longestWait = 1_000

const workspace = "/projects/one"

export const continued = ({ others, rounds }: Options): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const store = openFile(path)
    const ids = Array.from({ length: others }, (_, i) => `other${i}`)
    await store.run(
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const messages = yield* Messages
        yield* sessions.create({ id: "s1", workspace })
        yield* Effect.forEach(
          ids,
          Effect.fnUntraced(function* (id, i) {
            yield* sessions.create({ id, workspace: i % 2 === 0 ? workspace : `/projects/other${i % 10}` })
            yield* messages.append(id, user(`${id}-1`))
          }),
          { concurrency: 50 },
        )
      }),
    )
    await store.close()

    const reports: Array<ContinuedReport> = []
    const failures: Array<string> = []
    for (let round = 1; round <= rounds; round++) {
      const name = `a${round}`
      const agent = await startAgent({ path, session: "s1", name })
      await agent.kill()
      const options: ContinuedOptions = { path, workspace, prompt: `and after ${name}?` }
      const [report] = (await race("continued", [options])) as ReadonlyArray<ContinuedReport>
      reports.push(report!)
      failures.push(...(await afterwards(path, name)).map((problem) => `round ${round}: ${problem}`))
    }
    const longest = (of: (report: ContinuedReport) => number) => Math.max(...reports.map(of)).toFixed(0)
    const accepting = longest((report) => report.accepting)
    return {
      figures: [
        `${rounds} agents killed among ${others} sessions`,
        `accepted at most ${accepting} ms after opening`,
        `${longest((report) => report.loading + report.accepting)} ms after the start of the process`,
      ].join(", "),
      failures: [
        ...failures,
        ...unless(
          reports.every(({ session }) => session === "s1"),
          "the latest session is another",
        ),
        ...unless(Number(accepting) <= longestWait, `a prompt was accepted only after ${accepting} ms`),
      ],
    }
  })

/** What does not hold once somebody has gone on after the agent of that name. */
const afterwards = async (path: string, name: string): Promise<ReadonlyArray<string>> => {
  const { problems, rows } = inspectFile(path)
  const [dead, next] = rows.turns.toSorted((a, b) => a.epoch - b.epoch).slice(-2)
  const said = rows.entries.filter(({ turn }) => turn === dead?.id)
  const store = openFile(path)
  const open = (await Promise.all(rows.sessions.map((session) => openCalls(store, session)))).flat()
  await store.close()
  return [
    ...problems,
    ...open,
    ...unless(
      dead?.outcome === "interrupted" && dead.reason === "crash-recovery",
      `the killed agent's turn is ${dead?.outcome}, because of ${dead?.reason}`,
    ),
    ...unless(next?.outcome === "completed", `the turn after it is ${next?.outcome}`),
    ...unless(
      said.some(({ id }) => id === `${name}-calling`),
      "what the agent had said is lost",
    ),
    ...unless(!said.some(({ draft }) => draft === true), "what it was writing is still being written"),
  ]
}
