/**
 * Many processes, `kill -9` and faults, at length. The tests beside this file are the same in short.
 *
 *   npm run chaos                 everything, a few minutes
 *   npm run chaos -- kills        only what has this in its name
 *   SKEIN_SEED=7 npm run chaos    with the same random moments as another run
 *
 * Each line ends with what was found; the last one counts them. Exits with 1 where something does not hold.
 */
import { memory } from "@skein/adapter-memory"
import { sqlite } from "@skein/adapter-sqlite"
import { seedOfRun } from "../port/seed.ts"
import { continued } from "./continued.ts"
import { removals, stoppedRemoval } from "./deletion.ts"
import { drain } from "./drain.ts"
import { fullDisk } from "./full-disk.ts"
import { crashes, killedEverywhere, refusals } from "./half-done.ts"
import { kills } from "./kills.ts"
import { fewDue, manyDead } from "./many-dead.ts"
import { manyWriters } from "./many-writers.ts"
import { oneSession } from "./one-session.ts"
import { operations, successions } from "./operations.ts"
import { aborts, leftAlone } from "./other-process.ts"
import type { Outcome } from "./outcome.ts"
import { paused } from "./paused.ts"
import { stopped } from "./stopped.ts"
import { interruptedUpgrades, racedUpgrades, upgradeKilledEverywhere } from "./upgrades.ts"
import { worktrees } from "./worktree.ts"
import { workers } from "./workers.ts"

const seed = seedOfRun()

/** One campaign for all of several things, such as operations. */
const each = async <A>(things: ReadonlyArray<A>, campaign: (thing: A) => Promise<Outcome>): Promise<Outcome> => {
  const outcomes: Array<Outcome> = []
  for (const thing of things) outcomes.push(await campaign(thing))
  const count = outcomes.reduce((sum, { figures }) => sum + Number(/: (\d+) /.exec(figures)?.[1]), 0)
  return {
    figures: `${things.length} operations, ${count} times`,
    failures: outcomes.flatMap(({ failures }) => failures),
  }
}

const campaigns: Readonly<Record<string, () => Promise<Outcome>>> = {
  "many writers": () => manyWriters({ processes: 4, appends: 300, judgeTimers: true }),
  "one session": () => oneSession({ appends: 100 }),
  "kills, one writer": () => kills({ kills: 50, writers: 1, killsPerFile: 10, seed }),
  "kills, many writers": () => kills({ kills: 50, writers: 3, killsPerFile: 10, seed: seed + 1 }),
  "refused at every row, memory": () => each(operations, (operation) => refusals(() => memory(), operation)),
  "refused at every row, SQLite": () =>
    each(operations, (operation) => refusals(() => sqlite({ url: ":memory:" }), operation)),
  "stopped at every statement": () => each(operations, crashes),
  "killed at every statement": () => killedEverywhere([...operations, ...successions]),
  "removals stopped at every statement": () => each(removals, stoppedRemoval),
  "fork into a new place killed": worktrees,
  "full disk": fullDisk,
  "killed and continued": () => continued({ rounds: 10, others: 200 }),
  "stopped and given up": () => stopped({ rounds: 5 }),
  "aborted from another process": () => aborts({ rounds: 10 }),
  "left alone while it lives": () => leftAlone({ lease: 1_000, leases: 8 }),
  "two workers": () => workers({ processes: 2, sessions: 3, turns: 300, takesOver: false, seed: seed + 2 }),
  "two workers, taking over": () => workers({ processes: 2, sessions: 3, turns: 300, takesOver: true, seed: seed + 3 }),
  "killed while they drain queues": () => drain({ items: 1_000, sessions: 100, kills: 200, seed: seed + 4 }),
  "paused under two workers": () => paused({ sessions: 20, items: 20, pauses: 6, seed: seed + 5 }),
  "many dead turns": () => manyDead({ dead: 2_500, idle: 100_000, judgeTimes: true }),
  "few sessions with work": () => fewDue({ idle: 100_000, judgeTimes: true }),
  "upgrade stopped at every statement": interruptedUpgrades,
  "upgrade killed at every statement": upgradeKilledEverywhere,
  "upgrade raced": () => racedUpgrades({ processes: 3, rounds: 5 }),
}

/** A campaign that does not come to its end has failed too. */
const longestCampaign = 10 * 60_000

const bounded = (campaign: Promise<Outcome>): Promise<Outcome> =>
  Promise.race([
    campaign,
    new Promise<Outcome>((resolve) =>
      setTimeout(() => resolve({ figures: "", failures: ["it did not come to its end"] }), longestCampaign).unref(),
    ),
  ])

const asked = process.argv.slice(2)
const chosen = Object.entries(campaigns).filter(
  ([name]) => asked.length === 0 || asked.some((part) => name.includes(part)),
)
if (chosen.length === 0) throw new Error(`nothing is called so; there are: ${Object.keys(campaigns).join(" · ")}`)

console.log(`seed ${seed}`)
const broken: Array<string> = []
for (const [name, campaign] of chosen) {
  const start = performance.now()
  const { failures, figures } = await bounded(campaign())
  const seconds = ((performance.now() - start) / 1_000).toFixed(1)
  for (const failure of failures.slice(0, 20)) console.log(`       ${failure}`)
  console.log(`${failures.length === 0 ? "ok    " : "FAILED"} ${name.padEnd(34)} ${seconds.padStart(6)} s   ${figures}`)
  if (failures.length > 0) broken.push(name)
}
console.log(
  broken.length === 0
    ? `${chosen.length} campaigns, all hold`
    : `${broken.length} of ${chosen.length}: ${broken.join("; ")}`,
)
process.exit(broken.length === 0 ? 0 : 1)
