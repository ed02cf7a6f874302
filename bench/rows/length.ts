import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Messages } from "../../packages/core/src/message/service.ts"
import { sessionOf, shortAnswer } from "../content.ts"
import { compare } from "../row.ts"
import type { Suite } from "../row.ts"
import { openFile } from "../skein.ts"

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
    await skein.close()
    return rows
  },
}
