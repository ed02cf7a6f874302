/**
 * Random histories of one conversation against an oracle: every answer, and everything that can be asked.
 *
 * Guarantee: what calls that were begun together answer, and what they leave, is what they come to one after another in
 * some order; and a conversation is what a list of entries that each know the one before would be.
 */
import type { Services } from "@skein/core"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { Difference, equal } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Law, Store } from "../../law.ts"
import { openServices } from "../../services.ts"
import { history as anyHistory } from "./arbitrary.ts"
import { decide } from "./decide.ts"
import { expectedGlance, expectedPicture, sampleOf } from "./expect.ts"
import type { CallSpec, History } from "./model.ts"
import { newTalk, run } from "./oracle.ts"
import type { Talk } from "./oracle.ts"
import { answerTo, begin, glance, picture } from "./subject.ts"
import { tell } from "./tell.ts"
import type { Called } from "./tell.ts"

/** All orders of a few things. */
const ordersOf = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  items.length < 2
    ? [items]
    : items.flatMap((first, i) => ordersOf(items.filter((_, j) => j !== i)).map((rest) => [first, ...rest]))

/** What the conversation may be after calls that were begun together: one for each order that explains the answers. */
const explain = (talks: ReadonlyArray<Talk>, calls: ReadonlyArray<Called>): ReadonlyArray<Talk> => {
  const found = new Map<string, Talk>()
  let problem: unknown
  for (const before of talks) {
    for (const order of ordersOf(calls)) {
      let talk = before
      try {
        for (const { answer, operation } of order) {
          const step = run(talk, operation, answer)
          equal(answer, step.answer, `the answer to "${operation.do}"`)
          talk = step.talk
        }
        found.set(JSON.stringify(talk), talk)
      } catch (difference) {
        problem ??= difference
      }
    }
  }
  if (found.size === 0) throw problem
  return [...found.values()]
}

/** Those of the conversations that look as what was found. */
const alike = (talks: ReadonlyArray<Talk>, found: unknown, look: (talk: Talk) => unknown, what: string) => {
  let problem: unknown
  const kept = talks.filter((talk) => {
    try {
      equal(found, look(talk), what)
      return true
    } catch (difference) {
      problem ??= difference
      return false
    }
  })
  if (kept.length === 0) throw problem
  return kept
}

/** Everything is looked at after each so many rounds, and in the end. */
const lookEvery = 6

/**
 * A message that is sent again is looked for when it was refused. It is not promised that both see one state: what is
 * deleted in between was there to refuse it, and is not there to be answered.
 */
const mayRunTogether = (round: ReadonlyArray<CallSpec>): boolean => {
  const verbs = round.map(({ operation }) => operation.do)
  return !(verbs.includes("append again") && verbs.includes("delete branch"))
}

/** Plays a history, and throws where it is not as it must be. `told` takes down what is done. */
const follow = (store: Store, history: History, told: Array<ReadonlyArray<Called>>) =>
  Effect.gen(function* () {
    const { limit, rounds, shared } = history
    let name = 0
    const talks = yield* Effect.scoped(
      Effect.gen(function* () {
        const first = yield* openServices(store)
        const contexts = [first, shared ? yield* openServices(store) : first] as const
        const on = <A, E>(storage: 0 | 1, effect: Effect.Effect<A, E, Services>) =>
          Effect.provide(effect, contexts[storage])
        const { headVersion, historyVersion } = yield* on(0, begin)
        let talks: ReadonlyArray<Talk> = [newTalk(headVersion, historyVersion)]
        for (const [i, round] of rounds.entries()) {
          const known = talks[0]!
          const asked = round.map(({ operation, storage }) => ({
            operation: decide(known, operation, name++),
            storage,
          }))
          const calls = yield* Effect.all(
            asked.map((one) => Effect.map(on(one.storage, answerTo(one.operation)), (answer) => ({ ...one, answer }))),
            { concurrency: mayRunTogether(round) ? "unbounded" : 1 },
          )
          told.push(calls)
          talks = explain(talks, calls)
          talks = alike(talks, yield* on(1, glance), expectedGlance, "what is seen")
          if ((i + 1) % lookEvery > 0) continue
          const sample = sampleOf(talks[0]!, limit)
          talks = alike(talks, yield* on(0, picture(sample)), (talk) => expectedPicture(talk, sample), "what is asked")
        }
        return talks
      }),
    )
    const sample = sampleOf(talks[0]!, limit)
    const found = yield* Effect.scoped(
      Effect.flatMap(openServices(store), (context) => Effect.provide(picture(sample), context)),
    )
    alike(talks, found, (talk) => expectedPicture(talk, sample), "what is found in the end")
  })

const reasonOf = ({ errorInstance, interrupted }: fc.RunDetails<[History]>): string =>
  errorInstance instanceof Error
    ? errorInstance.message
    : interrupted
      ? "there was not enough time"
      : String(errorInstance)

/** A conversation is as long as five histories of rows are. */
const runsFor = ({ runs }: Store): number => Math.ceil(runs / 5)

export const conversationLaws: ReadonlyArray<Law> = [
  law(
    "MSG-01 MSG-05 MSG-06 MSG-07 HED-01 HED-02 HED-03 HIS-01 HIS-05 any history of a conversation is as a list would have it",
    (store) =>
      Effect.gen(function* () {
        const context = yield* Effect.context<never>()
        let told: Array<ReadonlyArray<Called>> = []
        const play = (history: History) =>
          Effect.runPromiseWith(context)(
            Effect.scoped(Effect.flatMap(store.fresh, (fresh) => follow(fresh, history, (told = [])))),
          )
        const result = yield* Effect.promise(() =>
          fc.check(fc.asyncProperty(anyHistory, play), {
            seed: store.seed,
            numRuns: runsFor(store),
            endOnFailure: !store.shrink,
            // Before the law's own time is over, so that what was found so far is told.
            interruptAfterTimeLimit: 0.75 * store.limit,
            markInterruptAsFailure: true,
          }),
        )
        if (!result.failed) return
        const [smallest] = result.counterexample ?? []
        // The last that was tried is not the smallest that fails.
        if (smallest !== undefined) yield* Effect.promise(() => play(smallest).catch(() => undefined))
        const story = smallest === undefined ? "" : `\n${tell(smallest, told)}`
        throw new Difference(`${reasonOf(result)}\nafter ${result.numRuns} histories, shrunk to:${story}`)
      }),
  ),
]
