import { statSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Forks } from "../../packages/core/src/fork/service.ts"
import { Heads } from "../../packages/core/src/head/service.ts"
import { Messages } from "../../packages/core/src/message/service.ts"
import { Rewinds } from "../../packages/core/src/rewind/service.ts"
import { sessionOf, shortAnswer } from "../content.ts"
import { timed } from "../measure.ts"
import type { Times } from "../measure.ts"
import { rowOf } from "../row.ts"
import type { Row, Suite } from "../row.ts"
import { openFile } from "../skein.ts"
import type { OpenSkein } from "../skein.ts"

/** A question and its answer, by turns. */
const talk = (i: number) => ({ body: i % 2 === 0 ? { ...shortAnswer, role: "user" } : shortAnswer })

/** What is done to both sessions, and what puts them back, which is not timed. */
interface Way {
  readonly name: string
  readonly go: (sessionId: string) => Promise<unknown>
  readonly back?: (sessionId: string) => Promise<unknown>
}

/** Going back and sideways must not cost more because the conversation is long: ours against ours. */
export const forksOfLongConversations: Suite = {
  name: "fork",
  run: async ({ directory, quick, rounds }) => {
    const long = quick ? 20_000 : 100_000
    const skein = openFile(join(directory, "fork.db"))
    await skein.run(sessionOf("short", 10, talk))
    await skein.run(sessionOf("long", long, talk))
    const rows: Array<Row> = []
    for (const way of await waysOf(skein)) {
      const name = `${way.name}, ${long.toLocaleString("en")} messages or 10`
      rows.push(rowOf({ name, unit: "µs", budget: { atMost: 2 } }, await inTurns(way, rounds(300))))
    }
    await skein.close()
    return [...rows, await bytesOfFork(directory, rounds(1_000)), await chain(directory, quick ? 500 : 5_000, rounds)]
  },
}

const waysOf = async (skein: OpenSkein): Promise<ReadonlyArray<Way>> => {
  const { forks, heads, messages, rewinds } = await skein.run(
    Effect.all({ forks: Forks, heads: Heads, messages: Messages, rewinds: Rewinds }),
  )
  const last = async (sessionId: string) => (await skein.run(messages.prompts(sessionId, { limit: 1 })))[0]!.id
  const prompts = new Map([
    ["short", await last("short")],
    ["long", await last("long")],
  ])
  const promptOf = (sessionId: string) => prompts.get(sessionId)!
  const back = (sessionId: string) => skein.run(heads.undo(sessionId))
  return [
    { name: "fork", go: (id) => skein.run(forks.fork(id)) },
    { name: "side conversation", go: (id) => skein.run(forks.side(id)) },
    { name: "rewind", go: (id) => skein.run(rewinds.rewind(id, promptOf(id))), back },
    { name: "edit", go: (id) => skein.run(rewinds.edit(id, promptOf(id))), back },
    { name: "retry", go: (id) => skein.run(rewinds.retry(id, promptOf(id))), back },
  ]
}

const inTurns = async (
  { back, go }: Way,
  count: number,
): Promise<{ readonly ours: Times; readonly baseline: Times }> => {
  const times = { ours: new Array<number>(), baseline: new Array<number>() }
  for (let round = -Math.ceil(count / 10); round < count; round++) {
    const ours = await timed(() => go("long"))
    const baseline = await timed(() => go("short"))
    await back?.("long")
    await back?.("short")
    if (round < 0) continue
    times.ours.push(ours)
    times.baseline.push(baseline)
  }
  return times
}

/** How much the file grows by a fork, with all pages of its tables and indexes. */
const bytesOfFork = async (directory: string, count: number): Promise<Row> => {
  const path = join(directory, "bytes.db")
  const grownBy = async (work: (skein: OpenSkein) => Promise<void>) => {
    const skein = openFile(path)
    await work(skein)
    await skein.close()
    return statSync(path).size
  }
  const fork = (many: number) => async (skein: OpenSkein) => {
    const forks = await skein.run(Effect.service(Forks))
    for (let i = 0; i < many; i++) await skein.run(forks.fork("s", { durability: "relaxed" }))
  }
  await grownBy((skein) => skein.run(sessionOf("s", 100, talk)))
  // The pages that the first ones open are no fork's own.
  const before = await grownBy(fork(100))
  const ours = ((await grownBy(fork(count))) - before) / count
  const baseline = 4_096
  return {
    name: "what a fork adds to the file",
    unit: "bytes",
    ours,
    baseline,
    ratio: ours / baseline,
    budget: { atMost: 1 },
  }
}

/** Forks one from the other, each of which says something: a page at the end of the chain against one at its beginning. */
const chain = async (directory: string, length: number, rounds: (full: number) => number): Promise<Row> => {
  const skein = openFile(join(directory, "chain.db"))
  await skein.run(sessionOf("first", 100, talk))
  const { forks, messages } = await skein.run(Effect.all({ forks: Forks, messages: Messages }))
  let last = "first"
  for (let i = 0; i < length; i++) {
    const { id } = await skein.run(forks.fork(last, { durability: "relaxed" }))
    await skein.run(messages.appendMany(id, [talk(0), talk(1)], { durability: "relaxed" }))
    last = id
  }
  const page = (id: string) => skein.run(messages.page(id, { limit: 80 }))
  const name = `page after ${length.toLocaleString("en")} chained forks or none`
  const way: Way = { name, go: (id) => page(id === "long" ? last : "first") }
  const row = rowOf({ name, unit: "µs", budget: { atMost: 3 } }, await inTurns(way, rounds(600)))
  await skein.close()
  return row
}
