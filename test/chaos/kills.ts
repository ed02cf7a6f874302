/**
 * `kill -9` at random moments while processes append (STO-04, MSG-02).
 *
 * A writer notes each message in a file of its own once the append has resolved. Whatever is noted must be in the store
 * afterwards, in order, without damage; of what was under way, one message a writer may be there as well.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { randomFrom } from "../port/random.ts"
import { inDirectory } from "./directory.ts"
import { inspectFile } from "./file.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { start } from "./processes.ts"
import type { Child } from "./processes.ts"
import type { StoreRows } from "./rows.ts"
import { openFile } from "./store.ts"

export interface AppenderOptions {
  readonly path: string
  /** Where it notes what was acknowledged, one id a line. */
  readonly notes: string
  /** What its messages are called. */
  readonly name: string
  /** A session of its own, and one that all of them write to. */
  readonly sessions: ReadonlyArray<string>
}

interface Options {
  readonly kills: number
  /** How many append at the same time. */
  readonly writers: number
  readonly seed: number
  /** How many kills one file has to stand. */
  readonly killsPerFile: number
}

/** How long a writer is left alone after its first acknowledgement, at most, in milliseconds. */
const longestLife = 120

export const kills = async ({ kills, killsPerFile, seed, writers }: Options): Promise<Outcome> => {
  const random = randomFrom(seed)
  const failures: Array<string> = []
  let killed = 0
  let acknowledged = 0
  let unacknowledged = 0
  while (killed < kills) {
    await inDirectory(async (directory) => {
      const file = new Target(directory, writers)
      await file.create()
      for (let i = 0; i < killsPerFile && killed < kills; i++) {
        await file.killOne(random)
        killed++
        failures.push(...file.check().map((problem) => `after kill ${killed}: ${problem}`))
      }
      await file.stop()
      failures.push(...file.check())
      acknowledged += file.acknowledged
      unacknowledged += file.unacknowledged
    })
  }
  return {
    figures: [
      `${killed} kills of ${writers === 1 ? "a lone writer" : `one of ${writers} writers`}`,
      `${acknowledged} acknowledged`,
      `${failures.length} failures`,
      `${unacknowledged} stored without acknowledgement`,
    ].join(", "),
    failures,
  }
}

/** One file and those who write to it. */
class Target {
  readonly #path: string
  readonly #directory: string
  readonly #writers: number
  readonly #names: Array<string> = []
  #children: Array<Child> = []
  #loading: Array<Child> = []
  acknowledged = 0
  unacknowledged = 0

  constructor(directory: string, writers: number) {
    this.#directory = directory
    this.#path = join(directory, "store.db")
    this.#writers = writers
  }

  async create(): Promise<void> {
    const store = openFile(this.#path)
    const ids = ["shared", ...Array.from({ length: this.#writers }, (_, i) => `own${i}`)]
    await store.run(
      Effect.gen(function* () {
        const sessions = yield* Sessions
        for (const id of ids) yield* sessions.create({ id })
      }),
    )
    await store.close()
    this.#children = ids.slice(1).map((own) => this.#start(own))
  }

  #start(own: string): Child {
    const name = `w${this.#names.length}`
    this.#names.push(name)
    const options: AppenderOptions = { path: this.#path, notes: this.#notesOf(name), name, sessions: [own, "shared"] }
    const child = start("kills", options)
    this.#loading.push(child)
    return child
  }

  #notesOf(name: string): string {
    return join(this.#directory, `${name}.notes`)
  }

  /** Kills a writer in the midst of its work, while another process that takes its place is loading. */
  async killOne(random: () => number): Promise<void> {
    const at = Math.floor(random() * this.#children.length)
    const life = random() * longestLife
    await this.#letGo()
    const victim = this.#children[at]!
    const substitute = this.#start(`own${at}`)
    await victim.news
    await new Promise((resolve) => setTimeout(resolve, life))
    await victim.kill()
    this.#children[at] = substitute
  }

  /** Lets those go that have been loading. */
  async #letGo(): Promise<void> {
    for (const child of this.#loading) {
      await child.ready
      child.go()
    }
    this.#loading = []
  }

  async stop(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.kill()))
    this.#children = []
  }

  /** What was lost, doubled or damaged so far. Others may be writing meanwhile. */
  check(): ReadonlyArray<string> {
    // Notes first: what is noted while the store is being read need not be in it.
    const noted = this.#names.map((name) => ({ name, ids: this.#noted(name) }))
    const { problems, rows } = inspectFile(this.#path)
    const stored = new Set(rows.entries.map(({ id }) => id))
    const ids = noted.flatMap((one) => one.ids)
    const lost = ids.filter((id) => !stored.has(id))
    this.acknowledged = ids.length
    this.unacknowledged = stored.size - (ids.length - lost.length)
    return [
      ...problems,
      ...lost.map((id) => `${id} was acknowledged and is lost`),
      ...this.#names.flatMap((name) => orderProblems(name, rows)),
      // Those who still write have gone on since their notes were read.
      ...unless(
        this.#children.length > 0 || this.unacknowledged <= this.#names.length,
        `${this.unacknowledged} were stored without acknowledgement by ${this.#names.length} writers, one message each`,
      ),
    ]
  }

  /** The last line is left out when it was cut off. */
  #noted(name: string): ReadonlyArray<string> {
    const path = this.#notesOf(name)
    return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : []
  }
}

/** A writer counts its messages: each conversation has them in this order, and together they have no gap. */
const orderProblems = (name: string, { entries }: StoreRows): ReadonlyArray<string> => {
  const own = entries
    .filter(({ id }) => id.startsWith(`${name}-`))
    .map(({ id, pos, treeId }) => ({ n: Number(id.slice(name.length + 1)), pos, treeId }))
    .toSorted((a, b) => a.n - b.n)
  const last = new Map<string, number>()
  const inOrder = own.every(({ pos, treeId }) => {
    const isBehind = pos > (last.get(treeId) ?? 0)
    last.set(treeId, pos)
    return isBehind
  })
  return [
    ...unless(
      own.every(({ n }, i) => n === i + 1),
      `the messages of ${name} have a gap`,
    ),
    ...unless(inOrder, `the messages of ${name} are out of order`),
  ]
}
