/**
 * A process that loses the processor in the midst of its turn and gets it back when others have given it up (A28, TRN-02):
 * it holds its lock all the time, so that only its lease tells. Whoever recovers, or begins the next turn, ends its turn;
 * from then on it writes nothing, whatever it tries.
 */
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import * as Effect from "effect/Effect"
import { Maintenance } from "../../packages/core/src/maintenance/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { Turns } from "../../packages/core/src/turn/service.ts"
import { reportOf, startAgent } from "./agent.ts"
import type { AgentReport } from "./agent.ts"
import { inDirectory } from "./directory.ts"
import { inspectFile, isBeingWritten } from "./file.ts"
import { user } from "./operations.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import type { Child } from "./processes.ts"
import { openFile } from "./store.ts"
import type { Store } from "./store.ts"

/** Milliseconds: short, for somebody waits until it is over. */
const lease = 500
/** How long that may take, with all that the machine does besides. */
const patience = 20_000

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** How the others give a turn up. Resolves to whether they could. */
type GiveUp = (store: Store) => Promise<boolean>

const recovering: GiveUp = async (store) => {
  const { interrupted } = await store.run(Effect.flatMap(Effect.service(Maintenance), (one) => one.recover()))
  return interrupted.includes("s1")
}

/** Begins the next turn, which is refused while the lease of the other may last. */
const beginning: GiveUp = (store) =>
  store.run(
    Effect.flatMap(Effect.service(Turns), (turns) =>
      turns.begin("s1", { prompt: user("next") }).pipe(
        Effect.as(true),
        Effect.catchTag("RunActive", () => Effect.succeed(false)),
      ),
    ),
  )

/** Asks it to stop, which it cannot hear; once its lease is over it is ended for it. */
const aborting: GiveUp = (store) =>
  store.run(
    Effect.gen(function* () {
      yield* (yield* Turns).abort("s1")
      return (yield* (yield* Sessions).get("s1")).status === "aborted"
    }),
  )

const untilGivenUp = async (store: Store, giveUp: GiveUp): Promise<boolean> => {
  const end = performance.now() + patience
  while (performance.now() < end) {
    if (await giveUp(store)) return true
    await wait(lease / 10)
  }
  return false
}

/** Stops an agent between two commits: a file that somebody has begun to write nobody else can. */
const freeze = async (agent: Child, path: string): Promise<void> => {
  for (;;) {
    agent.freeze()
    await wait(10)
    if (!isBeingWritten(path)) return
    agent.thaw()
    await wait(1)
  }
}

/** Stops an agent, gives it up, and lets it go on. */
const stopOne = (giveUp: GiveUp): Promise<ReadonlyArray<string>> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const store = openFile(path, { lease })
    await store.run(Effect.flatMap(Effect.service(Sessions), (sessions) => sessions.create({ id: "s1" })))
    const agent = await startAgent({ path, session: "s1", name: "a", lease })
    await freeze(agent, path)
    const isGivenUp = await untilGivenUp(store, giveUp)
    const before = inspectFile(path)
    agent.thaw()
    const report = await reportOf(agent)
    const after = inspectFile(path)
    await store.close()
    return [
      ...before.problems,
      ...unless(isGivenUp, "nobody could give it up"),
      ...unless(isDeepStrictEqual(after.rows, before.rows), "it has changed something after it was given up"),
      ...refusals(report),
      ...unless(
        report.stored.every((id) => before.rows.entries.some((entry) => entry.id === id && entry.draft !== true)),
        "something is lost that it was told is stored",
      ),
    ]
  })

/** What it was told wrong. */
const refusals = ({ afterwards, ended }: AgentReport): ReadonlyArray<string> => [
  ...unless(ended === "StaleTurn", `its turn ended as ${ended}`),
  ...Object.entries(afterwards).flatMap(([what, how]) => unless(how === "StaleTurn", `its ${what} ended as ${how}`)),
]

const givingUp: Readonly<Record<string, GiveUp>> = {
  recovered: recovering,
  "another began": beginning,
  aborted: aborting,
}

export const stopped = async ({ rounds }: { readonly rounds: number }): Promise<Outcome> => {
  const failures: Array<string> = []
  for (let round = 1; round <= rounds; round++) {
    for (const [how, giveUp] of Object.entries(givingUp)) {
      failures.push(...(await stopOne(giveUp)).map((problem) => `round ${round}, ${how}: ${problem}`))
    }
  }
  return { figures: `${3 * rounds} agents stopped, given up after ${lease} ms, and continued`, failures }
}
