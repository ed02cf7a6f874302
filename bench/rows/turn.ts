import * as Effect from "effect/Effect"
import { Messages } from "../../packages/core/src/message/service.ts"
import { Queue } from "../../packages/core/src/queue/service.ts"
import type { Durability } from "../../packages/core/src/storage/backend.ts"
import { Turns } from "../../packages/core/src/turn/service.ts"
import { answer } from "../content.ts"
import { timed } from "../measure.ts"
import { RawTurns } from "../raw-turns.ts"
import { compare, rowOf } from "../row.ts"
import type { Suite } from "../row.ts"
import { openBeside } from "../skein.ts"

const prompt = { role: "user", content: "What is a skein?" }

/** Two stores of one conversation: ours, and the same file for the baseline. */
const openBoth = async (directory: string, durability: Durability) => {
  const { copy, ...skein } = await openBeside(directory)
  const services = await skein.run(Effect.all({ messages: Messages, queue: Queue, turns: Turns }))
  return { skein, raw: new RawTurns(copy, durability), ...services }
}

/** A turn as a loop of its own makes it: begun with a prompt, one answer, ended; each awaited before the next. */
const turnOneByOne = (durability: Durability): Suite => ({
  name: `turn-${durability}`,
  run: async ({ directory, rounds }) => {
    const { messages, raw, skein, turns } = await openBoth(directory, durability)
    const turn = Effect.gen(function* () {
      const { epoch } = (yield* turns.begin("s1", { prompt: { body: prompt } }, { durability })).turn
      yield* messages.append("s1", { body: answer }, { epoch, durability })
      yield* turns.end("s1", epoch, { outcome: "completed" }, { durability })
    })
    const row = await compare(
      { name: `begin, append and end of a turn, ${durability}`, unit: "µs" },
      {
        ours: () => Effect.runPromise(turn),
        baseline: () => {
          const epoch = raw.begin("s1", prompt)
          raw.append("s1", epoch, answer)
          raw.end("s1", epoch)
        },
      },
      { rounds: rounds(1_500), warmup: 500 },
    )
    raw.close()
    await skein.close()
    return [row]
  },
})

/** A prompt that is enqueued and sent at once. The end of its turn is not measured. */
const dispatchOneByOne = (durability: Durability): Suite => ({
  name: `dispatch-${durability}`,
  run: async ({ directory, rounds }) => {
    const { queue, raw, skein, turns } = await openBoth(directory, durability)
    const sent = Effect.gen(function* () {
      yield* queue.enqueue("s1", { body: prompt }, { durability })
      return (yield* queue.dispatch("s1", { durability })).turn!.epoch
    })
    const times = { ours: new Array<number>(), baseline: new Array<number>() }
    for (let round = -300; round < rounds(1_500); round++) {
      let epoch = 0
      const ours = await timed(async () => void (epoch = await Effect.runPromise(sent)))
      await Effect.runPromise(turns.end("s1", epoch, { outcome: "completed" }, { durability }))
      const baseline = await timed(() => {
        raw.enqueue("s1", prompt)
        epoch = raw.dispatch("s1")
      })
      raw.end("s1", epoch)
      if (round < 0) continue
      times.ours.push(ours)
      times.baseline.push(baseline)
    }
    raw.close()
    await skein.close()
    return [rowOf({ name: `enqueue and dispatch, ${durability}`, unit: "µs" }, times)]
  },
})

export const dispatchStrict = dispatchOneByOne("strict")
export const dispatchRelaxed = dispatchOneByOne("relaxed")
export const turnStrict = turnOneByOne("strict")
export const turnRelaxed = turnOneByOne("relaxed")
