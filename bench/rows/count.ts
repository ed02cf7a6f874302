import { join } from "node:path"
import * as Effect from "effect/Effect"
import { sqlite } from "@skein/adapter-sqlite"
import { Messages } from "../../packages/core/src/message/service.ts"
import { answer, sessionOf } from "../content.ts"
import { counted } from "../counted.ts"
import type { Row, Suite } from "../row.ts"
import { open } from "../skein.ts"

/** What an append at the tip of a branch asks of the engine. */
export const rowsOfAppend: Suite = {
  name: "count",
  run: async ({ directory }) => {
    const { backend, taken } = counted(sqlite({ url: `file:${join(directory, "count.db")}` }))
    const skein = open(backend)
    await skein.run(sessionOf("s1", 10, () => ({ body: answer })))
    const messages = await skein.run(Effect.service(Messages))
    taken()
    await skein.run(messages.append("s1", { body: answer }))
    const runs = taken()
    await skein.close()
    const sum = (of: (run: (typeof runs)[number]) => number) => runs.reduce((total, run) => total + of(run), 0)
    return [
      exactly(
        "rows read by an append",
        sum(({ rowsRead }) => rowsRead),
        1,
      ),
      exactly(
        "rows written by an append",
        sum(({ rowsWritten }) => rowsWritten),
        2,
      ),
    ]
  },
}

const exactly = (name: string, found: number, expected: number): Row => ({
  name,
  unit: "rows",
  ours: found,
  baseline: expected,
  ratio: found / expected,
  budget: { atMost: 1 },
})
