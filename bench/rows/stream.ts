import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { memory } from "@skein/adapter-memory"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { Streams } from "../../packages/core/src/stream/service.ts"
import { Turns } from "../../packages/core/src/turn/service.ts"
import { heap, mean, p50, timed } from "../measure.ts"
import { compare } from "../row.ts"
import type { Row, Suite } from "../row.ts"
import { open } from "../skein.ts"

/** What an agent says in small pieces. */
const piece = { type: "text-delta", text: "and nobody in the " }

/** How many frames a second have to get from who publishes to one reader. */
const wanted = 200_000

/** The live stream, which is in memory on every adapter. */
export const liveStream: Suite = {
  name: "stream",
  run: async ({ rounds }) => {
    const skein = open(memory())
    const streams = await skein.run(Effect.service(Streams))
    let sessions = 0
    /** A session with a running turn, and as many frames as are kept. */
    const running = async (frames = 0) => {
      const id = `s${++sessions}`
      await skein.run(
        Effect.gen(function* () {
          yield* (yield* Sessions).create({ id })
          yield* (yield* Turns).begin(id, { prompt: { role: "user", body: "Hello" } }, { turnId: "t" })
        }),
      )
      await publish(id, frames)
      return id
    }
    const publishing = (id: string, count: number) =>
      Effect.gen(function* () {
        for (let i = 0; i < count; i++) yield* streams.publish(id, { turn: "t", data: piece })
      })
    const publish = (id: string, count: number) => skein.run(publishing(id, count))

    const full = await running(2_000)
    const rows: Array<Row> = [
      await fromWriterToReader(rounds(20)),
      await compare(
        { name: "1,000 frames, ring full or empty", unit: "µs", budget: { atMost: 1.2 } },
        { ours: () => publish(full, 1_000), baseline: () => publish(`empty${++sessions}`, 1_000) },
        { rounds: rounds(300) },
      ),
      await pastStuckReader(rounds(10)),
    ]
    await skein.close()
    return rows

    /** Frames a second, while the writer now and then lets the reader have its turn. */
    async function fromWriterToReader(count: number): Promise<Row> {
      const frames = 100_000
      const rates: Array<number> = []
      let share = 0
      for (let round = -3; round < count; round++) {
        const id = await running()
        const used = process.cpuUsage()
        const time = await timed(() =>
          skein.run(
            Effect.gen(function* () {
              const events = Stream.filter(streams.resume(id), ({ kind }) => kind === "runtime-event")
              const reading = Stream.runCount(Stream.take(events, frames))
              const reader = yield* Effect.forkChild(reading, { startImmediately: true })
              for (let i = 0; i < frames; i += 100) {
                yield* publishing(id, 100)
                yield* Effect.yieldNow
              }
              yield* Fiber.join(reader)
            }),
          ),
        )
        if (round < 0) continue
        const { system, user } = process.cpuUsage(used)
        share += (user + system) / (1_000 * time) / count
        rates.push((1_000 * frames) / time)
      }
      const ratioOf = (of: typeof p50) => ({ ours: of(rates), baseline: wanted, ratio: of(rates) / wanted })
      return {
        name: "frames to one reader, of 200,000 wanted",
        unit: "/s",
        ...ratioOf(p50),
        mean: ratioOf(mean),
        budget: { atLeast: 1 },
        ...(share < 0.9 && { exempt: `other programs left ${Math.round(100 * share)} % of a processor` }),
      }
    }

    /** 100,000 frames while somebody has stopped reading, against the same while nobody reads. */
    async function pastStuckReader(count: number): Promise<Row> {
      const frames = 100_000
      const id = await running()
      const alone = await running()
      const before = heap()
      const row = await skein.run(
        Effect.scoped(
          Effect.gen(function* () {
            const pull = yield* Stream.toPull(streams.resume(id))
            yield* pull
            return yield* Effect.promise(() =>
              compare(
                { name: "100,000 frames, reader stuck or none", unit: "ms", budget: { atMost: 1.2 } },
                { ours: () => publish(id, frames), baseline: () => publish(alone, frames) },
                { rounds: count, warmup: 2 },
              ),
            )
          }),
        ),
      )
      const grown = (heap() - before) / 1_048_576
      return { ...row, note: `the heap has grown by ${grown.toFixed(1)} MiB` }
    }
  },
}
