/**
 * Two processes write to one session (A32, MSG-01).
 *
 * Of two that append behind the same head one wins and the other is told where the head is now. With a retry after each
 * refusal everything that both want to say is said once, in one straight line.
 */
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Messages } from "../../packages/core/src/message/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { inDirectory } from "./directory.ts"
import { inspectFile } from "./file.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { race } from "./processes.ts"
import { openFile } from "./store.ts"

export interface CompetitorOptions {
  readonly path: string
  /** What its messages are called. */
  readonly name: string
  /** How many it has to get in. */
  readonly appends: number
  /** Where it believes the head to be. Absent: it reads the head before each try. */
  readonly expectedHead?: string
}
export interface CompetitorReport {
  /** How each refusal ended, as `tag expected actual`. */
  readonly refused: ReadonlyArray<string>
  readonly stored: ReadonlyArray<string>
}

export const oneSession = ({ appends }: { readonly appends: number }): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const store = openFile(path)
    await store.run(
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const messages = yield* Messages
        yield* sessions.create({ id: "s1" })
        yield* messages.append("s1", { id: "m2", body: { role: "user", content: "the head that both have seen" } })
      }),
    )
    await store.close()

    const names = ["a", "b"]
    const once = names.map((name): CompetitorOptions => ({ path, name, appends: 1, expectedHead: "m2" }))
    const first = (await race("one-session", once)) as ReadonlyArray<CompetitorReport>
    const winners = first.flatMap(({ stored }) => stored)
    const losers = first.flatMap(({ refused }) => refused)
    const again = names.map((name): CompetitorOptions => ({ path, name: `${name}${name}`, appends }))
    const racing = (await race("one-session", again)) as ReadonlyArray<CompetitorReport>

    const { problems, rows } = inspectFile(path)
    const ids = rows.entries.map(({ id }) => id)
    const expected = ["m2", ...winners, ...racing.flatMap(({ stored }) => stored)]
    const refusals = racing.reduce((sum, { refused }) => sum + refused.length, 0)
    return {
      figures: [
        `same head: ${winners.length} stored, ${losers.join(" and ") || "nobody refused"}`,
        `2 × ${appends} with retries: ${ids.length - 1 - winners.length} stored, ${refusals} refusals`,
      ].join("; "),
      failures: [
        ...problems,
        ...unless(winners.length === 1, `${winners.length} of two that expected one head were stored`),
        ...unless(losers.join() === `HeadMoved m2 ${winners[0]}`, `the other was told: ${losers.join()}`),
        ...unless(
          racing.every(({ stored }) => stored.length === appends),
          "not everything was said",
        ),
        ...unless(
          racing.every(({ refused }) => refused.every((how) => how.startsWith("HeadMoved "))),
          `refused otherwise than by HeadMoved: ${racing.flatMap(({ refused }) => refused).join("; ")}`,
        ),
        ...unless(ids.toSorted().join() === expected.toSorted().join(), `stored are ${ids.join()}`),
        ...unless(rows.branches.length === 1, `the conversation has ${rows.branches.length} branches`),
      ],
    }
  })
