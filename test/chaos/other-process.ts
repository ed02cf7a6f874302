/**
 * What one process does to a turn that another one runs: `abort` is felt soon, whatever the lease (TRN-08), and recovery
 * leaves the turn alone for as long as its owner lives, though it lasts for many leases (A28, TRN-05).
 */
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Maintenance } from "../../packages/core/src/maintenance/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { Turns } from "../../packages/core/src/turn/service.ts"
import { reportOf, startAgent } from "./agent.ts"
import type { AgentReport } from "./agent.ts"
import { inDirectory } from "./directory.ts"
import { inspectFile } from "./file.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import type { StoreRows } from "./rows.ts"
import { openFile } from "./store.ts"
import type { Store } from "./store.ts"

/** How long an agent may go on before it feels that it is to stop, in milliseconds. */
const longestDelay = 1_000

const createSession = (id: string) => Effect.flatMap(Effect.service(Sessions), (sessions) => sessions.create({ id }))

const inStore = (use: (store: Store, path: string) => Promise<Outcome>): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const store = openFile(path)
    try {
      return await use(store, path)
    } finally {
      await store.close()
    }
  })

/** Agents whose lease is long are stopped from here, one after another. */
export const aborts = ({ rounds }: { readonly rounds: number }): Promise<Outcome> =>
  inStore(async (store, path) => {
    const failures: Array<string> = []
    const delays: Array<number> = []
    const abort = (session: string) =>
      store.run(Effect.flatMap(Effect.service(Turns), (turns) => turns.abort(session, { reason: "enough" })))
    for (let round = 1; round <= rounds; round++) {
      const session = `s${round}`
      await store.run(createSession(session))
      const agent = await startAgent({ path, session, name: session })
      const before = Date.now()
      const answers = [await abort(session), await abort(session)]
      const report = await reportOf(agent)
      answers.push(await abort(session))
      delays.push((report.signalledAt ?? Infinity) - before)
      const { problems, rows } = inspectFile(path)
      failures.push(
        ...problems,
        ...unless(answers.join() === "true,true,false", `abort answered ${answers.join()}`),
        ...unless(report.ended === "TurnAborted", `the agent's turn ended as ${report.ended}`),
        ...abortProblems(rows, session, report),
      )
    }
    const longest = Math.max(...delays)
    return {
      figures: `${rounds} agents aborted from another process: felt after ${longest} ms at most`,
      failures: [...failures, ...unless(longest <= longestDelay, `an abort was felt only after ${longest} ms`)],
    }
  })

/** What does not hold of a session whose agent was aborted in the midst of a message. */
const abortProblems = (
  { entries, sessions, turns }: StoreRows,
  session: string,
  { drafted, stored }: AgentReport,
): ReadonlyArray<string> => {
  const row = sessions.find(({ id }) => id === session)
  const turn = turns.find(({ sessionId }) => sessionId === session)
  const own = entries.filter((entry) => entry.turn === turn?.id)
  return [
    ...unless(row?.status === "aborted", `session ${session} is ${row?.status}`),
    ...unless(
      turn?.outcome === "aborted" && turn.reason === "enough",
      `turn of ${session} is ${turn?.outcome}, because of ${turn?.reason}`,
    ),
    ...unless(
      stored.every((id) => own.some((entry) => entry.id === id && entry.cut === undefined)),
      `something that was said in ${session} is lost`,
    ),
    ...unless(
      own.some(({ draft, id }) => id === drafted && draft === undefined),
      `what the agent of ${session} was writing is lost`,
    ),
  ]
}

interface LeftAlone {
  /** The length of the lease, in milliseconds. */
  readonly lease: number
  /** How many leases its turn lasts. */
  readonly leases: number
}

/** An agent whose lease is short works for many of them, while its turn is looked for as dead all the time. */
export const leftAlone = ({ lease, leases }: LeftAlone): Promise<Outcome> =>
  inStore(async (store, path) => {
    await store.run(createSession("s1"))
    const agent = await startAgent({ path, session: "s1", name: "a", lease, messages: (lease * leases) / 20 })
    let isWorking = true
    const over = agent.ended.then(() => (isWorking = false))
    const report = reportOf(agent)
    let recoveries = 0
    const interrupted: Array<string> = []
    while (isWorking) {
      const recovered = await store.run(
        Effect.flatMap(Effect.service(Maintenance), (maintenance) => maintenance.recover()),
      )
      interrupted.push(...recovered.interrupted)
      recoveries++
      await Promise.race([over, new Promise((resolve) => setTimeout(resolve, 20))])
    }
    const { ended, longestGap } = await report
    const { problems } = inspectFile(path)
    // One that the machine has stopped for too long did not renew its lease, and was rightly given up.
    const isJudged = longestGap < lease / 3
    return {
      figures: [
        `a turn of ${leases} leases of ${lease} ms, ${recoveries} recoveries meanwhile: ${ended}`,
        ...(isJudged ? [] : [`not judged, the agent stood still for ${longestGap.toFixed(0)} ms`]),
      ].join("; "),
      failures: [
        ...problems,
        ...unless(!isJudged || interrupted.length === 0, `${interrupted.join()} was interrupted while its owner lived`),
        ...unless(!isJudged || ended === "completed", `the turn of a living owner ended as ${ended}`),
      ],
    }
  })
