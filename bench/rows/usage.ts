import { join } from "node:path"
import * as Effect from "effect/Effect"
import { SessionTable } from "../../packages/core/src/session/model.ts"
import { Messages } from "../../packages/core/src/message/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { Storage } from "../../packages/core/src/storage/storage.ts"
import { fn } from "../../packages/core/src/storage/transaction.ts"
import { applyUsage, planUsage } from "../../packages/core/src/usage/program.ts"
import type { NewCall } from "../../packages/core/src/usage/program.ts"
import { Usage } from "../../packages/core/src/usage/service.ts"
import type { UsageQuery } from "../../packages/core/src/usage/service.ts"
import { answer } from "../content.ts"
import { p50, timed } from "../measure.ts"
import { compare } from "../row.ts"
import type { Bench, Row, Suite } from "../row.ts"
import { openFile } from "../skein.ts"
import type { OpenSkein } from "../skein.ts"

const models = ["claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro"]
const sessionCount = 40
const projects = 8
const days = 365
const dayLength = 86_400_000
const start = Date.UTC(2025, 0, 1)

/** The longest that somebody should wait for a year, in milliseconds. */
const patience = 40

/** A year of calls by day, in three time zones; and what it takes to record one. */
export const usageOfAYear: Suite = {
  name: "usage",
  run: async (bench) => {
    const skein = openFile(join(bench.directory, "usage.db"))
    const calls = bench.quick ? 100_000 : 1_000_000
    await fillYear(skein, calls)
    const rows: Array<Row> = []
    for (const [what, query] of [
      ["all", {}],
      ["a session", { session: "s0" }],
    ] as const) {
      for (const timeZone of ["UTC", "Asia/Kathmandu", "America/New_York"]) {
        rows.push(await yearByDay(bench, skein, `${what} by day, ${timeZone}`, { ...query, timeZone }))
      }
    }
    rows.push(await recordAgainstAppend(bench, skein))
    await skein.close()
    return [{ ...rows[0]!, note: `a year of ${calls.toLocaleString("en")} calls` }, ...rows.slice(1)]
  },
}

const yearByDay = async ({ rounds }: Bench, skein: OpenSkein, name: string, query: UsageQuery): Promise<Row> => {
  const usage = await skein.run(Effect.service(Usage))
  const year = { from: start, to: start + days * dayLength, groupBy: "day" as const }
  const times: Array<number> = []
  const count = rounds(60)
  for (let round = -5; round < count; round++) {
    const time = await timed(() => skein.run(usage.summary({ ...query, ...year })))
    if (round >= 0) times.push(time)
  }
  const ours = p50(times)
  return { name, unit: "ms", ours, baseline: patience, ratio: ours / patience, budget: { atMost: 1 } }
}

/** On the last day of the year, whose sums are as long as they get. */
const recordAgainstAppend = async ({ rounds }: Bench, skein: OpenSkein): Promise<Row> => {
  const usage = await skein.run(Effect.service(Usage))
  const messages = await skein.run(Effect.service(Messages))
  const durability = "relaxed" as const
  let n = 0
  return compare(
    { name: "record a call against an append", unit: "µs", budget: { atMost: 3 } },
    {
      ours: () => {
        const { input, output, cacheRead, cost, model, provider } = callAt(n++, start)
        const at = start + days * dayLength - 1
        const call = { callId: `new${n}`, turnId: `new${n >> 3}`, provider, model, at, input, output, cacheRead, cost }
        return skein.run(usage.record("s0", call, { durability }))
      },
      baseline: () => skein.run(messages.append("s0", { body: answer }, { durability })),
    },
    { rounds: rounds(2_000) },
  )
}

/** Records a year: many calls a commit, as the end of a turn records them. */
const fillYear = async (skein: OpenSkein, calls: number): Promise<void> => {
  const numbers = Array.from({ length: sessionCount }, (_, i) => i)
  await skein.run(
    Effect.gen(function* () {
      const sessions = yield* Sessions
      for (const i of numbers) yield* sessions.create({ id: `s${i}`, workspace: `/projects/app-${i % projects}` })
    }),
  )
  const storage = await skein.run(Effect.service(Storage))
  const daily = Math.ceil(calls / days)
  for (let day = 0; day < days; day++) {
    const ofDay = Array.from({ length: Math.min(daily, calls - day * daily) }, (_, i) =>
      callAt(day * daily + i, start + day * dayLength + Math.floor((i * dayLength) / daily)),
    )
    const commits = numbers.map((i) =>
      storage.transact(
        recordMany(
          `s${i}`,
          ofDay.filter((_, n) => n % sessionCount === i),
        ),
        { durability: "relaxed" },
      ),
    )
    await skein.run(Effect.all(commits, { concurrency: "unbounded", discard: true }))
  }
}

const recordMany = fn(function* (tx, sessionId: string, calls: ReadonlyArray<NewCall>) {
  const session = yield* tx.get(SessionTable, [sessionId])
  applyUsage(tx, yield* planUsage(session!, calls, { now: start, prices: undefined }))
})

/** A call like those of a coding agent: most of a long prompt is cached. */
const callAt = (i: number, at: number): NewCall => ({
  callId: `call${i}`,
  provider: ["anthropic", "openai", "google"][i % models.length]!,
  model: models[i % models.length]!,
  at,
  outcome: i % 50 === 0 ? "failed" : "completed",
  input: 2_000 + ((i * 7_919) % 9_000),
  output: 200 + ((i * 104_729) % 1_500),
  reasoning: null,
  cacheRead: 40_000 + ((i * 1_299_709) % 90_000),
  cacheWrite: null,
  cost: 20_000_000 + ((i * 15_485_863) % 300_000_000),
  currency: "USD",
  turn: `t${i >> 3}`,
  entryId: undefined,
  raw: undefined,
  counter: undefined,
})
