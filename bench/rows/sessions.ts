import { copyFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { key } from "@skein/core/storage"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { Raw } from "../raw.ts"
import { compare } from "../row.ts"
import type { Suite } from "../row.ts"
import { openFile } from "../skein.ts"

const sessionCount = 20_000
const workspaces = 20

/** The list that a terminal opens with: the latest sessions of its directory. */
export const listSessions: Suite = {
  name: "sessions",
  run: async ({ directory, rounds }) => {
    const ours = join(directory, "sessions.db")
    const theirs = join(directory, "sessions-raw.db")
    const filled = openFile(ours)
    const numbers = Array.from({ length: sessionCount }, (_, i) => i)
    await filled.run(
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const create = (i: number) =>
          sessions.create({ id: `s${i}`, title: `Conversation ${i}`, workspace: `/projects/app-${i % workspaces}` })
        yield* Effect.forEach(numbers, create, { concurrency: 64, discard: true })
      }),
    )
    await filled.close()
    copyFileSync(ours, theirs)

    const skein = openFile(ours)
    const raw = new Raw(theirs)
    const sessions = await skein.run(Effect.service(Sessions))
    const workspace = "/projects/app-7"
    const row = await compare(
      { name: "50 of 20,000 sessions by workspace", unit: "µs", budget: { atMost: 1.5 } },
      {
        ours: () => skein.run(sessions.list({ workspace, limit: 50 })),
        // One more than is shown tells whether there is another page.
        baseline: () => raw.latestSessions(key(workspace), 51),
      },
      { rounds: rounds(600) },
    )
    raw.close()
    await skein.close()
    return [row]
  },
}
