/**
 * `kill -9` at random moments of processes that work off the queues of one store (A26, A53, A54, A56, QUE-04): at every
 * moment each item was sent once or still waits, and whoever comes after a dead worker goes on where it was.
 *
 * The turn of an item calls a tool, hears from it, answers, and records what it used; so a kill falls between any two of
 * its commits, or into one. Nobody retries what a dead worker had begun: its item was sent, and its turn is over.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Maintenance } from "../../packages/core/src/maintenance/service.ts"
import { Queue } from "../../packages/core/src/queue/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { Usage } from "../../packages/core/src/usage/service.ts"
import { randomFrom } from "../port/random.ts"
import { differs, grouped } from "./differs.ts"
import { inDirectory } from "./directory.ts"
import { copyStore, countRows, inspectFile } from "./file.ts"
import { openCalls } from "./history.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { start } from "./processes.ts"
import type { StoreRows } from "./rows.ts"
import { openFile } from "./store.ts"

export interface DrainOptions {
  readonly path: string
  /** How many turns it runs at a time. */
  readonly concurrency: number
  readonly seed: number
  /** How long a turn rests between two of its writes, at most, in milliseconds. */
  readonly pause: number
  /** How many turns it begins, or a few more. Absent: as many as there are. */
  readonly turns?: number
}

interface Options {
  readonly items: number
  readonly sessions: number
  readonly kills: number
  readonly seed: number
}

/** How many workers that are going to be killed there are at a time, and how many turns each runs at a time. */
const lanes = 2
const concurrency = 3
/** After how many kills the whole store is looked at. */
const lookEvery = 20
/** How long a worker lives at most once it has begun what it was to begin, and how long that may take: milliseconds. */
const longestRest = 40
const longestWait = 5_000

export const drain = ({ items, kills, seed, sessions: count }: Options): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const sessions = Array.from({ length: count }, (_, i) => `s${i + 1}`)
    const said = Array.from({ length: items }, (_, i) => `${sessions[i % count]!} item ${Math.floor(i / count) + 1}`)
    await enqueueAll(path, sessions, said)

    const random = randomFrom(seed)
    const failures: Array<string> = []
    const note = (when: string, problems: ReadonlyArray<string>) =>
      failures.push(...problems.map((problem) => `${when}: ${problem}`))
    // One that is slow, and lives while the others die.
    const share = Math.ceil(items / 5)
    const steady = start("drain", { path, concurrency: 1, pause: 300, seed, turns: share } satisfies DrainOptions)
    await steady.ready
    steady.go()
    let begun = 0
    /** One worker after another, each with some items to send, of which it begins some before it is killed. */
    const lane = async () => {
      while (begun < kills) {
        const kill = ++begun
        // So that there is something left for the last one: the slow one takes some, and what is under way comes on top.
        const most = 2 * ((0.6 * waitingIn(path)) / (kills - kill + 1) - concurrency)
        const turns = 1 + Math.floor(random() * Math.max(0, most))
        const options = { path, concurrency, pause: 6, seed: seed + kill, turns }
        await killAfter(options, Math.floor(random() * (turns + 1)), random() * longestRest)
        if (kill % lookEvery === 0) note(`after ${kill} kills`, storedProblems(path, said))
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    await steady.kill()
    const left = waitingIn(path)
    note("after the last kill", storedProblems(path, said))
    // On a copy: whoever works on it next finds it as it was left.
    note("after recovery", await recoveredProblems(copyStore(path, join(directory, "recovered.db"))))

    await finish({ path, concurrency: 2 * concurrency, pause: 6, seed, turns: left })
    note("at the end", [
      ...storedProblems(path, said),
      ...(await recoveredProblems(path)),
      ...unless(waitingIn(path) === 0, "something still waits that nobody is in the way of"),
      // Whoever runs turns removes them.
      ...unless(left === 0 || !existsSync(`${path}-locks`), "locks of the dead are left"),
    ])
    const killed = inspectFile(path).rows.turns.filter(({ outcome }) => outcome === "interrupted").length
    return {
      figures: [
        `${kills + 1} kills of workers with ${items} items in ${count} sessions`,
        `${items - left} were sent until then, ${killed} turns were killed`,
        `${failures.length} failures`,
      ].join(", "),
      failures: [...failures, ...unless(killed > 0, "no turn was killed, so that this has shown nothing")],
    }
  })

/** How many items wait. */
export const waitingIn = (path: string): number => countRows(path)["queue_item"] ?? 0

export const enqueueAll = async (path: string, sessions: ReadonlyArray<string>, said: ReadonlyArray<string>) => {
  const store = openFile(path)
  await store.run(
    Effect.gen(function* () {
      const queue = yield* Queue
      const service = yield* Sessions
      yield* Effect.forEach(sessions, (id) => service.create({ id }), { concurrency: 50 })
      // In the order in which they were started, for those of one session.
      const enqueue = (text: string) => queue.enqueue(text.split(" ")[0]!, { body: { role: "user", content: text } })
      yield* Effect.forEach(said, enqueue, { concurrency: 50 })
    }),
  )
  await store.close()
}

/** Lets a worker begin some turns, and kills it a while later, in milliseconds. */
const killAfter = async (options: DrainOptions, turns: number, rest: number): Promise<void> => {
  const victim = start("drain", options)
  await victim.ready
  const begun = new Promise<void>((resolve) => {
    let heard = 0
    victim.listen(() => {
      if (++heard === turns) resolve()
    })
    if (turns === 0) resolve()
    // Where others have taken all that there was.
    setTimeout(resolve, longestWait).unref()
  })
  victim.go()
  await begun
  await new Promise((resolve) => setTimeout(resolve, rest))
  await victim.kill()
}

/** Lets one worker send the rest. */
const finish = async (options: DrainOptions): Promise<void> => {
  if (options.turns === 0) return
  const child = start("drain", options)
  await child.ready
  child.go()
  await child.result
}

const textOf = (body: unknown): string => String((body as { readonly content?: unknown } | undefined)?.content)

/** What was lost, doubled, or sent out of turn so far. Others may be at work. */
const storedProblems = (path: string, said: ReadonlyArray<string>): ReadonlyArray<string> => {
  const { problems, rows } = inspectFile(path)
  return [...problems, ...itemProblems(rows, said), ...orderProblems(rows)]
}

const itemProblems = ({ entries, items, turns }: StoreRows, said: ReadonlyArray<string>): ReadonlyArray<string> => {
  const prompts = entries.filter(({ role }) => role === "user")
  const seen = [...prompts.map(({ body }) => textOf(body)), ...items.map(({ message }) => textOf(message.body))]
  const begun = turns.filter((turn) => turn.start === "item").length
  return [
    ...differs("what was sent or waits", seen.toSorted(), said.toSorted()),
    ...differs("how many turns were begun with an item", begun, prompts.length),
  ]
}

/** Items of one session are sent in the order in which they came. */
const orderProblems = ({ entries }: StoreRows): ReadonlyArray<string> =>
  [...grouped(entries, ({ treeId }) => treeId).values()].flatMap((own) => {
    const numbers = own.filter(({ role }) => role === "user").map(({ body }) => Number(textOf(body).split(" ").at(-1)))
    return differs(
      "the order of what was sent",
      numbers,
      numbers.map((_, i) => i + 1),
    )
  })

/** What does not hold once somebody has recovered a store that nobody works on. */
export const recoveredProblems = async (path: string): Promise<ReadonlyArray<string>> => {
  const store = openFile(path)
  await store.run(Effect.flatMap(Effect.service(Maintenance), (maintenance) => maintenance.recover()))
  const { sessions } = await store.rows()
  const open = await Promise.all(sessions.map((session) => openCalls(store, session)))
  const { differences } = await store.run(Effect.flatMap(Effect.service(Usage), (usage) => usage.verify()))
  const problems = await store.problems()
  await store.close()
  return [
    ...problems,
    ...open.flat(),
    ...differences.map((difference) => `usage: ${JSON.stringify(difference)}`),
    ...sessions.filter(({ status }) => status === "running").map(({ id }) => `session ${id} still runs`),
  ]
}
