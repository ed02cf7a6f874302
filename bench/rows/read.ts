import { copyFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { History } from "../../packages/core/src/history/service.ts"
import { Messages } from "../../packages/core/src/message/service.ts"
import { answer, sessionOf } from "../content.ts"
import { Raw } from "../raw.ts"
import { compare } from "../row.ts"
import type { Suite } from "../row.ts"
import { openFile } from "../skein.ts"

const length = 10_000

/** A conversation of 10,000 messages, opened at its end and read whole. */
export const readConversation: Suite = {
  name: "read",
  run: async ({ directory, rounds }) => {
    const ours = join(directory, "read.db")
    const theirs = join(directory, "read-raw.db")
    const filled = openFile(ours)
    await filled.run(sessionOf("s1", length, () => ({ body: answer })))
    await filled.close()
    copyFileSync(ours, theirs)

    const skein = openFile(ours)
    const raw = new Raw(theirs)
    const messages = await skein.run(Effect.service(Messages))
    const history = await skein.run(Effect.service(History))
    const budget = { atMost: 1.5 }
    const rows = [
      await compare(
        { name: "last 80 of 10,000 messages", unit: "µs", budget },
        { ours: () => skein.run(messages.page("s1", { limit: 80 })), baseline: () => raw.lastPage("s1", 80) },
        { rounds: rounds(600) },
      ),
      await compare(
        { name: "all 10,000 messages", unit: "ms", budget },
        { ours: () => skein.run(Stream.runCollect(messages.stream("s1"))), baseline: () => raw.whole("s1") },
        { rounds: rounds(20) },
      ),
      await compare(
        { name: "model history of 10,000 messages", unit: "ms", budget },
        { ours: () => skein.run(history.read("s1")), baseline: () => raw.whole("s1") },
        { rounds: rounds(20) },
      ),
    ]
    raw.close()
    await skein.close()
    return rows
  },
}
