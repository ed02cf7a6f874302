/**
 * Random histories of concurrent clients against an oracle: every answer, and the state that is left.
 *
 * Guarantee: what a history comes to is what its programs come to when they run one after another in the order of their
 * commits, and that order agrees with who was answered before whom was called.
 */
import { Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { Difference, equal } from "../../../equal.ts"
import { law } from "../../../law.ts"
import type { Store } from "../../../law.ts"
import { read, withStorage } from "../../../storage.ts"
import { history } from "./arbitrary.ts"
import type { Read } from "./decide.ts"
import type { History } from "./model.ts"
import { Oracle } from "./oracle.ts"
import { ask, declare, play } from "./subject.ts"
import { tell, tellStep } from "./tell.ts"

/** Everything there is, by key and by every index, both ways. */
const everything = ({ tables }: History): ReadonlyArray<Read> =>
  tables.flatMap(({ indexes }, table) =>
    [undefined, ...indexes.keys()].flatMap((index) =>
      [false, true].map((reverse): Read => ({ do: "range", table, index, bounds: {}, reverse, limit: undefined })),
    ),
  )

const follow = (store: Store, history: History) =>
  Effect.gen(function* () {
    const opened = declare(history)
    const played = yield* Effect.scoped(play(store, history, opened))
    const oracle = new Oracle(history.tables)
    // Those that only read at a place did so before the commit at it.
    const inOrder = played.toSorted((a, b) => a.place - b.place || Number(a.committed) - Number(b.committed))
    for (const [at, { committed, ending, floor, place, step }] of inOrder.entries()) {
      const told = () => `step ${at + 1}, ${tellStep(history, step)},`
      equal(ending, oracle.run(step.program), told)
      equal(place < floor, false, () => `${told()} called after ${floor} commits, ran before commit ${place}: that`)
      const shared = committed && inOrder[at + 1]?.place === place
      equal(shared, false, () => `${told()} and another committed at ${place}: that`)
    }
    const state = Tx.make(function* (tx) {
      return yield* tx.all(everything(history).map((one) => ask(tx, opened.tables, one)))
    })
    const found = yield* withStorage(store, { schema: opened.schema })(read(state))
    equal(
      found,
      everything(history).map((one) => oracle.read(one)),
      "what is stored in the end",
    )
  })

const reasonOf = ({ errorInstance, interrupted }: fc.RunDetails<[History]>): string =>
  errorInstance instanceof Error
    ? errorInstance.message
    : interrupted
      ? "there was not enough time"
      : String(errorInstance)

export const randomHistoryLaws = [
  law("STO-02, STO-03, STO-04 any history of concurrent clients ends as if one had run after another", (store) =>
    Effect.gen(function* () {
      const context = yield* Effect.context<never>()
      const property = fc.asyncProperty(history, (one) =>
        Effect.runPromiseWith(context)(Effect.scoped(Effect.flatMap(store.fresh, (fresh) => follow(fresh, one)))),
      )
      const result = yield* Effect.promise(() =>
        fc.check(property, {
          seed: store.seed,
          numRuns: store.runs,
          endOnFailure: !store.shrink,
          // Before the law's own time is over, so that what was found so far is told.
          interruptAfterTimeLimit: 0.75 * store.limit,
          markInterruptAsFailure: true,
        }),
      )
      if (!result.failed) return
      const [counterexample] = result.counterexample ?? []
      const told = counterexample === undefined ? "" : `\n${tell(counterexample)}`
      throw new Difference(`${reasonOf(result)}\nafter ${result.numRuns} histories, shrunk to:${told}`)
    }),
  ),
]
