import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Messages } from "../../packages/core/src/message/service.ts"
import { sessionOf, shortAnswer } from "../content.ts"
import { heap } from "../measure.ts"
import { compare } from "../row.ts"
import type { Suite } from "../row.ts"
import { openFile } from "../skein.ts"
import type { OpenSkein } from "../skein.ts"

/** The last page must not cost more because the conversation is long: ours against ours. */
export const lengthOfConversation: Suite = {
  name: "length",
  run: async ({ directory, quick, rounds }) => {
    const long = quick ? 20_000 : 100_000
    const skein = openFile(join(directory, "length.db"))
    await skein.run(sessionOf("short", 100, () => ({ body: shortAnswer })))
    await skein.run(sessionOf("long", long, () => ({ body: shortAnswer })))
    await skein.run(sessionOf("sparse", long, (i) => (i % 50 === 49 ? { body: shortAnswer } : { model: shortAnswer })))
    const messages = await skein.run(Effect.service(Messages))
    const page = (id: string) => () => skein.run(messages.page(id, { limit: 80 }))
    const count = long.toLocaleString("en")
    const rows = [
      await compare(
        { name: `page of ${count} messages against one of 100`, unit: "µs", budget: { atMost: 1.1 } },
        { ours: page("long"), baseline: page("short") },
        { rounds: rounds(1_000) },
      ),
      await compare(
        { name: `the same, one display in 50 entries`, unit: "µs", budget: { atMost: 1.5 } },
        { ours: page("sparse"), baseline: page("short") },
        { rounds: rounds(1_000) },
      ),
    ]
    const grown = await grownBy(() => walk(skein, "long"))
    await skein.close()
    const budget = 50
    const heapRow = {
      unit: "MiB",
      ours: grown,
      baseline: budget,
      ratio: grown / budget,
      budget: { atMost: 1 },
    } as const
    return [...rows, { name: `heap after walking over ${count} messages`, ...heapRow }]
  },
}

/** How much more of the heap is in use after something, at most, in MiB. */
const grownBy = async (work: () => Promise<void>): Promise<number> => {
  const before = heap()
  await work()
  return Math.max(0, (heap() - before) / 1_048_576)
}

/** Reads a whole conversation, page by page. */
const walk = (skein: OpenSkein, id: string): Promise<void> =>
  skein.run(Effect.flatMap(Effect.service(Messages), (messages) => Stream.runDrain(messages.stream(id))))
