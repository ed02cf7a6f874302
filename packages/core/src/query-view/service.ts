/**
 * Query views: whether the steps between a question and its answer are folded away, and how long they took.
 *
 * Guarantee: there is one view a question. Steps are shown while they run and folded when they are finished, unless
 * somebody unfolded them. Only the turn that runs can start and finish; when it ends, however it ends, what it had running
 * is finished in the same commit, so that nothing is shown as running that is not. Each moment that a turn spends on a
 * question is counted once, and a clock that goes back takes nothing away.
 *
 * Not promised: that the durations of questions which one turn worked on at the same time add up to the turn's.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as z from "zod/mini"
import { sessionCalls } from "../call.ts"
import { checkInput, Text } from "../input.ts"
import type { SessionAbsent } from "../session/program.ts"
import { Settings } from "../settings.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import { Storage } from "../storage/storage.ts"
import type { StaleTurn } from "../turn/fence.ts"
import { checkWriteOptions } from "../write-options.ts"
import type { TransactOptions } from "../write-options.ts"
import * as program from "./program.ts"
import { toView } from "./record.ts"
import type { QueryView } from "./record.ts"

export type { QueryView } from "./record.ts"

/** What a call did. */
export interface ViewChange {
  /** The view as it is now. Absent: the question was never started. */
  readonly view?: QueryView
  /** `false`: it was so already, or is not this turn's to change. */
  readonly changed: boolean
}

/** A question in the turn that works on it. */
export interface TurnQuery {
  /** Any text of 1 to 1,000 characters that stands for the question, such as the id of its message. */
  readonly queryKey: string
  /** The epoch of the turn. */
  readonly epoch: number
}

/** A question whose steps somebody wants to see, or no longer. */
export interface ExpandQuery {
  readonly queryKey: string
  /** Default `true`. With `false` the steps are folded again once they are finished. */
  readonly expanded?: boolean
  /** Given where a turn asks: then only the one that runs may. Default: a person asks, at any time. */
  readonly epoch?: number
}

type Absent = SessionAbsent | InvalidInput | StorageError

export class QueryViews extends Context.Service<
  QueryViews,
  {
    /**
     * Shows the steps of a question as running, from now on. Started again in the same turn nothing changes; in a later
     * one it runs on, and its duration adds up.
     *
     * @throws StaleTurn     the turn with this epoch is not the one that runs; nothing was written
     * @throws InvalidInput  100 questions of this turn run at the same time
     * @see QVW-01
     *
     * @example
     * const { view } = yield* queryViews.start("ses_1", { queryKey: "msg_1", epoch: 1 })
     * view?.folded // => false
     */
    readonly start: (
      sessionId: string,
      query: TurnQuery,
      options?: TransactOptions,
    ) => Effect.Effect<ViewChange, StaleTurn | Absent>
    /**
     * Ends the steps of a question, and folds them unless they are expanded.
     *
     * What this turn did not start, or finished already, does not change: then `changed` is `false`.
     *
     * @throws StaleTurn  the turn with this epoch is not the one that runs; nothing was written
     */
    readonly finish: (
      sessionId: string,
      query: TurnQuery,
      options?: TransactOptions,
    ) => Effect.Effect<ViewChange, StaleTurn | Absent>
    /** Keeps the steps of a question unfolded, also when they are finished; a question never started does not change. */
    readonly forceExpand: (
      sessionId: string,
      query: ExpandQuery,
      options?: TransactOptions,
    ) => Effect.Effect<ViewChange, StaleTurn | Absent>
    /** The views of some questions, at most 500, in the order asked for; those never started are left out. */
    readonly list: (
      sessionId: string,
      queryKeys: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<QueryView>, Absent>
  }
>()("@skein/core/query-view/QueryViews") {
  static readonly layer = Layer.effect(
    QueryViews,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings

      const ofTurn = (rule: typeof program.start | typeof program.finish) =>
        Effect.fnUntraced(function* (sessionId: string, query: TurnQuery, options: TransactOptions = {}) {
          const { epoch, queryKey } = yield* checkInput(TurnQueryInput, query, "query")
          const writing = yield* checkWriteOptions(options)
          const now = yield* Clock.currentTimeMillis
          return toChange(yield* storage.transact(rule(settings, sessionId, queryKey, epoch, now), writing))
        })

      return QueryViews.of(
        sessionCalls("query-view", {
          start: ofTurn(program.start),
          finish: ofTurn(program.finish),
          forceExpand: Effect.fnUntraced(function* (
            sessionId: string,
            query: ExpandQuery,
            options: TransactOptions = {},
          ) {
            const { epoch, expanded, queryKey } = yield* checkInput(ExpandQueryInput, query, "query")
            const writing = yield* checkWriteOptions(options)
            const now = yield* Clock.currentTimeMillis
            const expanding = program.forceExpand(settings, sessionId, queryKey, expanded, epoch, now)
            return toChange(yield* storage.transact(expanding, writing))
          }),
          list: Effect.fnUntraced(function* (sessionId: string, queryKeys: ReadonlyArray<string>) {
            const questions = yield* checkInput(QueryKeys, queryKeys, "queryKeys")
            return (yield* storage.read(program.list(settings, sessionId, questions))).map(toView)
          }),
        }),
      )
    }),
  )
}

const QueryKey = Text.check(z.minLength(1), z.maxLength(1_000))
const QueryKeys = z.array(QueryKey).check(z.maxLength(500))
const Epoch = z.int().check(z.positive())
const TurnQueryInput = z.strictObject({ queryKey: QueryKey, epoch: Epoch })
const ExpandQueryInput = z.strictObject({
  queryKey: QueryKey,
  expanded: z._default(z.boolean(), true),
  epoch: z.optional(Epoch),
})

const toChange = ({ changed, view }: program.Viewed): ViewChange =>
  view === undefined ? { changed } : { view: toView(view), changed }
