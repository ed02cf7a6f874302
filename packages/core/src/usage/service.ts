/**
 * Usage: what model calls use and cost, counted once, and summed as it is recorded.
 *
 * Guarantee: a call is counted once, under its id, however often and in whatever order it is told, and it stays counted
 * whatever becomes of its turn, its messages and its session. Recording is one commit of the call and of every sum that it
 * belongs to; summaries read sums alone, so that they take as long for a million calls as for a hundred.
 *
 * Not promised: that a summary of more than 500 sums is of one moment.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Stream from "effect/Stream"
import * as z from "zod/mini"
import { sessionCalls } from "../call.ts"
import { isId } from "../id.ts"
import { checkInput } from "../input.ts"
import { ProjectId } from "../project/model.ts"
import { Name } from "../session/input.ts"
import type { SessionAbsent } from "../session/program.ts"
import { isSeen } from "../scope.ts"
import { Settings } from "../settings.ts"
import { InvalidInput } from "../storage/error.ts"
import type { StorageError } from "../storage/error.ts"
import { key } from "../storage/key.ts"
import { span } from "../storage/span.ts"
import { Storage } from "../storage/storage.ts"
import type { StaleTurn } from "../turn/fence.ts"
import { watch } from "../watch.ts"
import { writeFields, writingOf } from "../write-options.ts"
import type { TransactOptions } from "../write-options.ts"
import { UsageSumTable } from "./model.ts"
import { Time, toCall } from "./input.ts"
import type { UsageInput } from "./input.ts"
import { allTime } from "./ledger.ts"
import type { Moment, Span } from "./ledger.ts"
import { PriceTableInput } from "./prices.ts"
import type { PriceTable } from "./prices.ts"
import * as program from "./program.ts"
import { toUsageCall } from "./record.ts"
import type { UsageCall } from "./record.ts"
import { quarter } from "./slots.ts"
import { groupings, Summing, sums, withTasks } from "./summary.ts"
import type { Grouping, Place, Subject, UsageGroup, Window } from "./summary.ts"
import type { UsageTotals } from "./totals.ts"
import { checkDay, checkSessions, checkTurns, nextDay } from "./verify.ts"
import type { TurnKey, UsageDifference } from "./verify.ts"
import { zoneOf } from "./zones.ts"

export { billionths } from "./input.ts"
export type { UsageInput } from "./input.ts"
export type { CallOutcome, Tokens } from "./model.ts"
export type { Price, PriceTable, Rates } from "./prices.ts"
export type { UsageCall } from "./record.ts"
export type { UsageGroup } from "./summary.ts"
export { fromAiSdk, fromAnthropic, fromOpenAi } from "./tokens.ts"
export type { AiSdkUsage, AnthropicUsage, OpenAiUsage } from "./tokens.ts"
export type { UsageTotals } from "./totals.ts"
export type { UsageDifference } from "./verify.ts"

export interface RecordOptions extends TransactOptions {
  /**
   * Records it as a write of the running turn, whose lease is renewed; another one is `StaleTurn`. Without it a call is
   * recorded whether a turn runs or not: what a turn used that was taken over is told so.
   */
  readonly epoch?: number
}

/** What became of a call that was told, and the call as it stands in the ledger. */
export type Recorded =
  | {
      /** It is new, tells more than was known and has taken its place, or tells nothing more. */
      readonly status: "recorded" | "replaced" | "unchanged"
      readonly call: UsageCall
    }
  | {
      /** Another session has recorded it: it counts there. Its call is absent where that session is not seen. */
      readonly status: "duplicate"
      readonly call?: UsageCall
    }

export interface UsageQuery {
  /** From when, in milliseconds since 1970, rounded down to a quarter-hour. Default: the beginning. */
  readonly from?: number
  /** Up to when, and not then, rounded up to a quarter-hour. Default: no end. */
  readonly to?: number
  /** At most one of these four. Default: all. */
  readonly session?: string
  readonly tree?: string
  readonly project?: string
  readonly all?: true
  /** With `session`: tasks that it started, and they, are counted with it. Forks and side conversations are not. */
  readonly includeDescendants?: boolean
  /** Only what sessions of this agent used. */
  readonly agent?: string
  /** What to tell apart. Default: nothing. */
  readonly groupBy?: Grouping
  /** Whose days: an IANA name. Default `UTC`. */
  readonly timeZone?: string
}

export interface UsageSummary {
  readonly total: UsageTotals
  /** Days in their order, others by the tokens they used. A group of nothing is left out. Empty without `groupBy`. */
  readonly groups: ReadonlyArray<UsageGroup>
  readonly timeZone: string
  /** How many sums are stored and cannot be read. What they hold is missing. */
  readonly unreadable: number
}

export interface RepriceOptions extends TransactOptions {
  /** Default: the table that the store was opened with. */
  readonly prices?: PriceTable
  /** Only calls of this time, in milliseconds since 1970; `to` itself not included. */
  readonly from?: number
  readonly to?: number
  /** Whether a cost that the caller gave is replaced, too. Default `false`. */
  readonly given?: boolean
}

export interface UsageCheck {
  /** How many calls the ledger has, and how many sessions and turns were looked at. */
  readonly calls: number
  readonly sessions: number
  readonly turns: number
  /** What is not as the ledger says; the first 1,000. Empty: everything is. */
  readonly differences: ReadonlyArray<UsageDifference>
}

type Failed = InvalidInput | StorageError
type Absent = SessionAbsent | Failed

export class Usage extends Context.Service<
  Usage,
  {
    /**
     * Records a model call of a session, whatever came of it.
     *
     * Told again, a call changes nothing, unless more is told of it: more tokens, or as many and more kinds of them, or its
     * cost. Then it replaces what was known, also its time, and the sums follow.
     *
     * @throws InvalidInput  a number that is negative or no whole one, an unknown form of currency; or a sum of more than
     *   2^53 − 1 tokens or billionths (9,007,199 units of a currency), of a day, a session or a turn, would follow
     * @throws StaleTurn     the turn with this epoch is not the one that runs; nothing was written
     * @see USE-01, USE-02
     *
     * @example
     * const { call } = yield* usage.record("ses_1", {
     *   callId: "call_1", provider: "openai", model: "gpt-5", input: 3_914, cacheRead: 16_298, output: 931,
     * })
     * call.reasoning // => null
     */
    readonly record: (
      sessionId: string,
      call: UsageInput,
      options?: RecordOptions,
    ) => Effect.Effect<Recorded, StaleTurn | Absent>
    /**
     * What was used, in all or in groups, from the sums.
     *
     * `project` and `agent` are those that a session had when a call was recorded. Days are those of the time zone, `UTC`
     * by default; a day on which the clocks are changed has 23 or 25 hours.
     *
     * @throws InvalidInput     an unknown time zone, or a contradiction
     * @throws SessionNotFound  there is no such `session`
     * @see USE-03, USE-04
     *
     * @example
     * const { groups } = yield* usage.summary({ groupBy: "day", timeZone: "Europe/Berlin" })
     */
    readonly summary: (query?: UsageQuery) => Effect.Effect<UsageSummary, Absent>
    /**
     * Prices calls anew by a table: those that have no cost yet, or have theirs from a table. Tokens never change, nor does
     * a cost for which the table has no price. It works in steps, and can be called again after a crash.
     *
     * @throws InvalidInput  there is no table, or it is none
     * @see USE-06
     */
    readonly reprice: (options?: RepriceOptions) => Effect.Effect<{ readonly changed: number }, Failed>
    /**
     * Works the sums, and the totals of sessions and turns, out from the ledger again, and says what differs. Others may
     * record meanwhile.
     */
    readonly verify: () => Effect.Effect<UsageCheck, Failed>
    /**
     * The summary, at once and whenever what was recorded or priced has changed it, in this process or another: at most
     * thirty times a second. Ends when the store is closed. @see USE-05
     */
    readonly watch: (query?: UsageQuery) => Stream.Stream<UsageSummary, Absent>
  }
>()("@skein/core/usage/Usage") {
  static readonly layer = Layer.effect(
    Usage,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings

      const recording = (prices: PriceTable | undefined): Effect.Effect<program.Recording> =>
        Effect.map(Clock.currentTimeMillis, (now) => ({ now, prices }))

      const { record } = sessionCalls("usage", {
        record: Effect.fnUntraced(function* (sessionId: string, given: UsageInput, options: RecordOptions = {}) {
          const call = toCall(given, "call")
          if (call instanceof InvalidInput) return yield* call
          const { durability, epoch } = yield* checkInput(RecordOptionsInput, options, "options")
          const recorded = program.record(settings, sessionId, call, epoch, yield* recording(settings.prices))
          const { row, status } = yield* storage.transact(recorded, writingOf(durability))
          const answer: Recorded =
            status === "duplicate" && !isSeen(settings, row) ? { status } : { status, call: toUsageCall(row) }
          return answer
        }),
      })

      /** The sums of a subject, window by window. */
      const addAll = Effect.fnUntraced(function* (
        summing: Summing,
        subject: Subject,
        grouping: Grouping | undefined,
        time: Span,
      ) {
        let after: Place | undefined
        let unreadable = 0
        do {
          const window: Window = yield* storage.read(sums(settings, subject, grouping, time, after))
          for (const row of window.rows) summing.add(row)
          unreadable += window.unreadable
          after = window.end
        } while (after !== undefined)
        return unreadable
      })

      const summary = Effect.fnUntraced(function* (given: UsageQuery = {}) {
        const query = yield* checkInput(UsageQueryInput, given, "query")
        const contradiction = contradictionIn(query)
        if (contradiction !== undefined) return yield* contradiction
        const { agent, groupBy: grouping, includeDescendants = false, session, timeZone = "UTC" } = query
        const zone = zoneOf(timeZone, "query.timeZone")
        if (zone instanceof InvalidInput) return yield* zone
        const time = spanOf(query)
        const summing = new Summing({ grouping, agent, span: time, zone })
        let unreadable = 0
        let subjects: ReadonlyArray<Subject> = [subjectOf(query, settings.owner)]
        if (session !== undefined) {
          const found = yield* storage.read(withTasks(settings, session, includeDescendants))
          subjects = found.ids.map((id) => ({ of: "session", id }))
          unreadable += found.unreadable
        }
        if (time.from < time.to) {
          for (const subject of subjects) unreadable += yield* addAll(summing, subject, grouping, time)
        }
        const answer: UsageSummary = { total: summing.total, groups: summing.groups, timeZone, unreadable }
        return answer
      })

      const reprice = Effect.fnUntraced(function* (given: RepriceOptions = {}) {
        const options = yield* checkInput(RepriceInput, given, "options")
        const { durability, given: replaced = false, prices = settings.prices } = options
        if (prices === undefined) {
          const problem = "must be given: the store was opened without a table of prices"
          return yield* new InvalidInput({ field: "options.prices", value: prices, problem })
        }
        const { from = allTime.from, to = allTime.to } = options
        let changed = 0
        let after: Moment | undefined
        do {
          const step = program.reprice(settings, { from, to }, after, replaced, yield* recording(prices))
          const done: { readonly changed: number; readonly end: Moment | undefined } = yield* storage.transact(
            step,
            writingOf(durability),
          )
          changed += done.changed
          after = done.end
        } while (after !== undefined)
        return { changed }
      })

      const verify = Effect.fnUntraced(function* () {
        const differences: Array<UsageDifference> = []
        const note = (found: ReadonlyArray<UsageDifference>) => {
          differences.push(...found.slice(0, mostDifferences - differences.length))
        }
        let calls = 0
        let day = yield* storage.read(nextDay(0))
        while (day !== undefined) {
          const found = yield* storage.read(checkDay(settings, day))
          calls += found.checked
          note(found.differences)
          day = yield* storage.read(nextDay(day + 1))
        }
        const sessions = yield* walk((after: string | undefined) => storage.read(checkSessions(settings, after)), note)
        const turns = yield* walk((after: TurnKey | undefined) => storage.read(checkTurns(settings, after)), note)
        const check: UsageCheck = { calls, sessions, turns, differences }
        return check
      })

      return Usage.of({
        record,
        summary: (query) => span("skein.usage.summary")(summary(query)),
        reprice: (options) => span("skein.usage.reprice")(reprice(options)),
        verify: () => span("skein.usage.verify")(verify()),
        watch: (query) =>
          watch(storage, {
            look: () => span("skein.usage.watch")(summary(query)),
            concerns: ({ table }) => table === UsageSumTable.name,
          }),
      })
    }),
  )
}

const mostDifferences = 1_000

interface Checked<Place> {
  readonly checked: number
  readonly differences: ReadonlyArray<UsageDifference>
  readonly end: Place | undefined
}

/** Checks step by step until there is nothing more: how many were. */
const walk = Effect.fnUntraced(function* <Place, E>(
  check: (after: Place | undefined) => Effect.Effect<Checked<Place>, E>,
  note: (differences: ReadonlyArray<UsageDifference>) => void,
) {
  let checked = 0
  let after: Place | undefined
  do {
    const found: Checked<Place> = yield* check(after)
    checked += found.checked
    note(found.differences)
    after = found.end
  } while (after !== undefined)
  return checked
})

const SessionId = z.string().check(z.refine(isId, "must be 1 to 128 characters of A–Z, a–z, 0–9, _ and -"))
const RecordOptionsInput = z.strictObject({ ...writeFields, epoch: z.optional(z.int().check(z.positive())) })
const UsageQueryInput = z.strictObject({
  from: z.optional(Time),
  to: z.optional(Time),
  session: z.optional(SessionId),
  tree: z.optional(SessionId),
  project: z.optional(ProjectId),
  all: z.optional(z.literal(true)),
  includeDescendants: z.optional(z.boolean()),
  agent: z.optional(Name),
  groupBy: z.optional(z.enum(groupings)),
  timeZone: z.optional(z.string()),
})
const RepriceInput = z.strictObject({
  ...writeFields,
  prices: z.optional(PriceTableInput),
  from: z.optional(Time),
  to: z.optional(Time),
  given: z.optional(z.boolean()),
})

type CheckedQuery = z.output<typeof UsageQueryInput>

const contradictionIn = (query: CheckedQuery): InvalidInput | undefined => {
  const [first, second] = (["session", "tree", "project", "all"] as const).filter((name) => query[name] !== undefined)
  if (second !== undefined) {
    return new InvalidInput({
      field: `query.${second}`,
      value: query[second],
      problem: `contradicts ${first}: give one`,
    })
  }
  if (query.includeDescendants === true && query.session === undefined) {
    return new InvalidInput({ field: "query.includeDescendants", value: true, problem: "needs a session" })
  }
  return undefined
}

const subjectOf = ({ project, tree }: CheckedQuery, owner: string | undefined): Subject => {
  if (project !== undefined) return { of: "project", id: project }
  if (tree !== undefined) return { of: "tree", id: tree }
  return { of: "all", ownerKey: owner === undefined ? undefined : key(owner) }
}

const spanOf = ({ from = allTime.from, to = allTime.to }: CheckedQuery): Span => ({
  from: Math.floor(from / quarter) * quarter,
  to: Math.ceil(to / quarter) * quarter,
})
