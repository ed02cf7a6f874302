import { join } from "node:path"
import * as Effect from "effect/Effect"
import { sqlite } from "@skein/adapter-sqlite"
import { Heads } from "../../packages/core/src/head/service.ts"
import { Messages } from "../../packages/core/src/message/service.ts"
import { answer, sessionOf } from "../content.ts"
import { counted } from "../counted.ts"
import { compare } from "../row.ts"
import type { Row, Suite } from "../row.ts"
import { open } from "../skein.ts"

const branchCount = 400

/** A page from a path that crosses many branches against one from a path of the same length on one branch. */
export const crossedBranches: Suite = {
  name: "branches",
  run: async ({ directory, rounds }) => {
    const { backend, taken } = counted(sqlite({ url: `file:${join(directory, "branches.db")}` }))
    const skein = open(backend)
    await skein.run(sessionOf("straight", 2 * branchCount, () => ({ body: answer })))
    await skein.run(crossing("crossing"))
    const messages = await skein.run(Effect.service(Messages))
    const page = (id: string) => () => skein.run(messages.page(id, { limit: 80 }))
    const time = await compare(
      {
        name: `page across ${branchCount} branches against one branch`,
        unit: "µs",
        budget: { atMost: 2.2 },
      },
      { ours: page("crossing"), baseline: page("straight") },
      { rounds: rounds(600) },
    )
    taken()
    await page("crossing")()
    const steps = taken().flatMap((run) => run.steps)
    await skein.close()

    const branchReads = steps.flat().filter((read) => read.table.name === "branch").length
    const alls = steps.filter((reads) => reads.length > 1).length
    return [time, limit("its reads of branches", branchReads, 2), limit("its reads of several ranges at once", alls, 1)]
  },
}

/** A number that was counted, against the largest that is allowed. */
const limit = (name: string, found: number, most: number): Row => ({
  name,
  unit: "rows",
  ours: found,
  baseline: most,
  ratio: found / most,
  budget: { atMost: 1 },
})

/** A conversation whose path takes two entries of each branch: a third one stays behind. */
const crossing = Effect.fnUntraced(function* (id: string) {
  const messages = yield* Messages
  const heads = yield* Heads
  yield* sessionOf(id, 0, () => ({ body: answer }))
  for (let branch = 0; branch < branchCount; branch++) {
    const [, second] = yield* messages.appendMany(
      id,
      Array.from({ length: 3 }, () => ({ body: answer })),
      { durability: "relaxed" },
    )
    yield* heads.checkout(id, second!.id)
  }
})
