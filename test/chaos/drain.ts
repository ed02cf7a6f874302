/**
 * `kill -9` at random moments of processes that work off the queues of one store (A26, A53, A54, A56, QUE-04): at every
 * moment each item was sent once or still waits, and whoever comes after a dead worker goes on where it was.
 *
 * The turn of an item calls a tool, hears from it, answers, and records what it used; so a kill falls between any two of
 * its commits, or into one. Nobody retries what a dead worker had begun: its item was sent, and its turn is over.
 */
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Maintenance } from "../../packages/core/src/maintenance/service.ts"
import { Queue } from "../../packages/core/src/queue/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { Usage } from "../../packages/core/src/usage/service.ts"
import { randomFrom } from "../port/random.ts"
import { differs, grouped } from "./differs.ts"
import { inDirectory } from "./directory.ts"
import { countRows, inspectFile } from "./file.ts"
import { openCalls } from "./history.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { start } from "./processes.ts"
import type { Child } from "./processes.ts"
import type { StoreRows } from "./rows.ts"
import { openFile } from "./store.ts"

export interface DrainOptions {
  readonly path: string
  /** How many turns it runs at a time. */
  readonly concurrency: number
  readonly seed: number
  /** How many turns it runs before it ends. Absent: it never does. */
  readonly turns?: number
}

interface Options {
  readonly items: number
  readonly sessions: number
  readonly kills: number
  /** How many processes work at the same time. */
  readonly workers: number
  readonly seed: number
}

const concurrency = 3
/** After how many kills the whole store is looked at. */
const lookEvery = 20
/** How long a worker is left alone after it has sent what it was to send, at most, in milliseconds. */
const longestRest = 40

export const drain = ({ items, kills, seed, sessions: count, workers }: Options): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const sessions = Array.from({ length: count }, (_, i) => `s${i + 1}`)
    const said = Array.from({ length: items }, (_, i) => `${sessions[i % count]!} item ${Math.floor(i / count) + 1}`)
    await enqueueAll(path, sessions, said)

    const random = randomFrom(seed)
    const failures: Array<string> = []
    const note = (when: string, problems: ReadonlyArray<string>) =>
      failures.push(...problems.map((problem) => `${when}: ${problem}`))
    const target = new Workers(path, workers, seed)
    for (let kill = 1; kill <= kills; kill++) {
      // So that there is something left to send for the last one, whatever the others send meanwhile.
      const most = (2 * waitingIn(path)) / ((kills - kill + 1) * workers)
      await target.killOne(Math.floor(random() * workers), Math.ceil(random() * most), random() * longestRest)
      if (kill % lookEvery === 0) note(`after ${kill} kills`, storedProblems(path, said))
    }
    await target.stop()
    const left = waitingIn(path)
    note("after the last kill", storedProblems(path, said))
    note("after recovery", await recoveredProblems(path))
    const killed = inspectFile(path).rows.turns.filter(({ outcome }) => outcome === "interrupted").length

    await finish({ path, concurrency: 2 * concurrency, seed, turns: left })
    note("at the end", [
      ...storedProblems(path, said),
      ...(await recoveredProblems(path)),
      ...unless(waitingIn(path) === 0, "something still waits that nobody is in the way of"),
    ])
    return {
      figures: [
        `${kills} kills of ${workers} workers with ${items} items in ${count} sessions`,
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
      yield* Effect.forEach(
        said,
        (text) => queue.enqueue(text.split(" ")[0]!, { body: { role: "user", content: text } }),
        {
          concurrency: 50,
        },
      )
    }),
  )
  await store.close()
}

/** The processes that work on one file; while one of them dies the next one is loading. */
class Workers {
  readonly #path: string
  readonly #working: Array<Promise<Child>>
  #seed: number
  #next: Child

  constructor(path: string, workers: number, seed: number) {
    this.#path = path
    this.#seed = seed
    this.#next = this.#load()
    this.#working = Array.from({ length: workers }, () => this.#replace())
  }

  #load(): Child {
    return start("drain", { path: this.#path, concurrency, seed: ++this.#seed } satisfies DrainOptions)
  }

  async #replace(): Promise<Child> {
    const child = this.#next
    this.#next = this.#load()
    await child.ready
    child.go()
    return child
  }

  /** Kills one once it has sent so many items more, and a moment has passed. */
  async killOne(which: number, items: number, rest: number): Promise<void> {
    const victim = await this.#working[which]!
    await new Promise<void>((resolve) => {
      let heard = 0
      if (items === 0) resolve()
      victim.listen(() => {
        if (++heard === items) resolve()
      })
      void victim.ended.then(() => resolve())
      // Where the others have taken all that there was.
      setTimeout(resolve, 2_000).unref()
    })
    await new Promise((resolve) => setTimeout(resolve, rest))
    await victim.kill()
    this.#working[which] = this.#replace()
  }

  async stop(): Promise<void> {
    const children = await Promise.all(this.#working)
    await Promise.all([...children, this.#next].map((child) => child.kill()))
  }
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
