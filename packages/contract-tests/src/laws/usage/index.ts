/**
 * Laws of usage.
 */
import { SessionTable, TurnTable, UsageSumTable } from "@skein/core"
import { Heads } from "@skein/core/head"
import { Projects } from "@skein/core/project"
import { Sessions } from "@skein/core/session"
import { Storage, Tx } from "@skein/core/storage"
import { Turns } from "@skein/core/turn"
import { billionths, fromAiSdk, fromAnthropic, fromOpenAi, Usage } from "@skein/core/usage"
import type { PriceTable, UsageInput, UsageQuery, UsageTotals } from "@skein/core/usage"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { atTime } from "../../clock.ts"
import { counting } from "../../counting.ts"
import { check, equal } from "../../equal.ts"
import { law, lawWith } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf, tagOf } from "../../outcome.ts"
import { withServices } from "../../services.ts"
import { follow } from "../../watching.ts"
import { begin, checkout, sayAll, session } from "../conversation.ts"
import { randomSummaries } from "./histories.ts"

/** A call that is told with nothing but what matters. */
const call = (callId: string, given: Partial<UsageInput> = {}): UsageInput => ({
  callId,
  provider: "p",
  model: "m",
  ...given,
})

const record = (sessionId: string, given: UsageInput, options?: { readonly epoch?: number }) =>
  Usage.use((usage) => usage.record(sessionId, given, options))
const summary = (query?: UsageQuery) => Usage.use((usage) => usage.summary(query))
const totalOf = (query?: UsageQuery) => Effect.map(summary(query), ({ total }) => total)

/** Input, cached input and output, and how many calls they are of. */
const brief = ({ cacheRead, calls, input, output }: UsageTotals) => [input, cacheRead, output, calls]

/** The field that was refused, and why. */
const refusal = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error): readonly [field: unknown, problem: string] => {
    const { field, problem } = error as { readonly field?: string; readonly problem?: string }
    return [field ?? tagOf(error), problem ?? ""]
  })

/** The sums are what the ledger adds up to. */
const verified = Effect.flatMap(
  Usage.use((usage) => usage.verify()),
  ({ differences }) => Effect.sync(() => equal(differences, [], "what differs from the ledger")),
)

const noon = Date.UTC(2025, 0, 15, 12)
const hour = 3_600_000

export const usageLaws: ReadonlyArray<Law> = [
  law("USE-01 a call is recorded once under its id, as it was told, and unknown is not zero", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const told = call("c1", { at: noon, input: 10, output: 5, cacheRead: 0, entryId: "m1", raw: { "a ": [1] } })
      const stored = {
        callId: "c1",
        sessionId: "s",
        entryId: "m1",
        provider: "p",
        model: "m",
        at: noon,
        outcome: "completed",
        input: 10,
        output: 5,
        reasoning: null,
        cacheRead: 0,
        cacheWrite: null,
        cost: null,
        raw: { "a ": [1] },
      }
      equal(yield* record("s", told), { status: "recorded", call: stored })
      equal(yield* record("s", told), { status: "unchanged", call: stored })
      equal(yield* record("s", { ...told, at: noon + hour, raw: 1 }), { status: "unchanged", call: stored })
      equal(yield* totalOf(), {
        calls: 1,
        failed: 0,
        aborted: 0,
        turns: 0,
        input: 10,
        output: 5,
        reasoning: 0,
        cacheRead: 0,
        cacheWrite: 0,
        cost: {},
        unpricedCalls: 1,
        unpricedTokens: 15,
        unknownCalls: 0,
        partial: false,
      })
      const now = yield* atTime(noon + 5)(record("s", call("any id: ü\n", { turnId: "t" })))
      equal("call" in now && now.call?.at, noon + 5)
      yield* verified
    }).pipe(withServices(store)),
  ),

  law("USE-01 a larger snapshot takes the place of what was known, and every sum follows", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* record("s", call("c", { at: noon, input: 10, output: 1, turnId: "t", cost: 7 }))
      const status = (given: Partial<UsageInput>) => Effect.map(record("s", call("c", given)), (told) => told.status)
      equal(yield* status({ input: 10 }), "unchanged")
      equal(yield* status({ input: 9, output: 1, cost: 100 }), "unchanged")
      equal(yield* status({ input: 10, output: 1, outcome: "failed" }), "unchanged")
      // As many tokens, of which more is known.
      equal(yield* status({ input: 3, cacheRead: 7, output: 1 }), "replaced")
      equal(yield* status({ input: 3, cacheRead: 7, output: 1, cost: 8 }), "replaced")
      equal(yield* status({ input: 3, cacheRead: 7, output: 1, cost: 8, currency: "EUR" }), "unchanged")
      equal(brief(yield* totalOf()), [3, 7, 1, 1])
      const moved = { at: noon - 14 * hour, input: 3, output: 20, cacheRead: 7, cost: 9, currency: "EUR" }
      equal(yield* status({ ...moved, model: "other", outcome: "aborted", turnId: "ignored" }), "replaced")
      const { groups, total } = yield* summary({ groupBy: "day" })
      equal(
        groups.map(({ day }) => day),
        ["2025-01-14"],
      )
      equal(brief(total), [3, 7, 20, 1])
      equal([total.cost, total.aborted, total.turns], [{ EUR: 9 }, 1, 1])
      equal(
        (yield* summary({ groupBy: "model" })).groups.map(({ calls, model }) => [model, calls]),
        [["other", 1]],
      )
      equal(yield* totalOf({ session: "s" }), total)
      equal((yield* session("s")).usage, total)
      // Told again without a time it stays where it was.
      equal(yield* status({ input: 3, output: 21, cacheRead: 7 }), "replaced")
      equal(
        (yield* summary({ groupBy: "day" })).groups.map(({ day }) => day),
        ["2025-01-14"],
      )
      yield* verified
    }).pipe(atTime(noon + hour), withServices(store)),
  ),

  law("USE-01 another session's record of a call is a duplicate, and says no more than may be seen", (store) =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        const sessions = yield* Sessions
        yield* sessions.create({ id: "a", owner: "ann" })
        yield* sessions.create({ id: "b", owner: "ben" })
        const { call: first } = yield* record("a", call("c", { input: 1, output: 1 }))
        equal(yield* record("b", call("c", { input: 50, output: 50 })), { status: "duplicate", call: first })
        equal(brief(yield* totalOf()), [1, 0, 1, 1])
        equal((yield* session("b")).usage.calls, 0)
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        equal(yield* record("b", call("c", { input: 50, output: 50 })), { status: "duplicate" })
        equal(yield* outcomeOf(record("a", call("d"))), { failed: "SessionNotFound" })
        equal((yield* totalOf()).calls, 0)
      }).pipe(withServices(store, { owner: "ben" }))
    }),
  ),

  law("USE-01, A58 running totals are recorded as differences, and a repeat changes nothing", (store) =>
    Effect.gen(function* () {
      const cumulative = true
      const first = { cumulative, input: 1_000, cacheRead: 700, output: 60 } as const
      const second = { cumulative, input: 1_800, cacheRead: 1_400, output: 125 } as const
      yield* Effect.gen(function* () {
        yield* begin("s")
        yield* record("s", call("k1", first))
        equal(brief(yield* totalOf()), [1_000, 700, 60, 1])
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        const { call: k2 } = yield* record("s", call("k2", { ...second, at: noon }))
        equal(k2 && [k2.input, k2.cacheRead, k2.output, k2.reasoning], [800, 700, 65, null])
        equal(brief(yield* totalOf()), [1_800, 1_400, 125, 2])
        equal((yield* record("s", call("k2", { ...second, at: noon + hour }))).status, "unchanged")
        equal((yield* record("s", call("k1", first))).status, "unchanged")
        // Late, or gone back: nothing is taken away, and nothing is counted twice afterwards.
        equal(
          (yield* record("s", call("k0", { cumulative, input: 900, cacheRead: 700, output: 50 }))).status,
          "recorded",
        )
        equal(brief(yield* totalOf()), [1_800, 1_400, 125, 3])
        yield* record("s", call("k3", { cumulative, input: 1_900, cacheRead: 1_400, output: 130 }))
        equal(brief(yield* totalOf()), [1_900, 1_400, 130, 4])
        // The totals that k2 was told by have grown: what k3 has counted since is not counted again.
        yield* record("s", call("k2", { cumulative, input: 1_950, cacheRead: 1_400, output: 129 }))
        equal(brief(yield* totalOf()), [1_950, 1_400, 130, 4])
        yield* record("s", call("k4", { cumulative, input: 1_960, cacheRead: 1_400, output: 130 }))
        equal(brief(yield* totalOf()), [1_960, 1_400, 130, 5])
        // Others count for themselves.
        yield* record("s", call("x1", { cumulative: "another", input: 5, output: 5, cost: 40 }))
        yield* record("s", call("x2", { cumulative: "another", input: 6, output: 5, cost: 55 }))
        equal(brief(yield* totalOf()), [1_966, 1_400, 135, 7])
        equal((yield* totalOf()).cost, { USD: 55 })
        const otherMoney = record("s", call("x3", { cumulative: "another", input: 7, cost: 60, currency: "EUR" }))
        equal(yield* outcomeOf(otherMoney), { failed: "InvalidInput" })
        equal((yield* totalOf()).calls, 7)
        yield* verified
      }).pipe(withServices(store))
    }),
  ),

  law("USE-01, A59 a call that is reported once a content block is one call", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const usage = { input_tokens: 2, cache_read_input_tokens: 61_608, output_tokens: 211 }
      for (const entryId of ["thinking", "text", "tool_use"]) yield* record("s", call("msg_1", { entryId, usage }))
      equal(brief(yield* totalOf()), [2, 61_608, 211, 1])
    }).pipe(withServices(store)),
  ),

  law(
    "USE-01, USE-06, A60 whoever reports it, cached and reasoning tokens are counted once, and cost what they cost",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        const openAi = {
          prompt_tokens: 20_212,
          completion_tokens: 931,
          total_tokens: 21_143,
          prompt_tokens_details: { cached_tokens: 16_298 },
        }
        const anthropic = { input_tokens: 3_914, cache_read_input_tokens: 16_298, output_tokens: 931 }
        const aiSdk = { inputTokens: 20_212, outputTokens: 931, cachedInputTokens: 16_298 }
        const details = { noCacheTokens: 3_914, cacheReadTokens: 16_298, cacheWriteTokens: 0 }
        const told: ReadonlyArray<Partial<UsageInput>> = [
          { usage: openAi },
          { usage: anthropic },
          { usage: aiSdk },
          { usage: { ...aiSdk, inputTokenDetails: details } },
          fromOpenAi(openAi),
          fromAnthropic(anthropic),
          fromAiSdk(aiSdk),
        ]
        for (const [i, one] of told.entries()) {
          const { call: stored } = yield* record("s", call(`c${i}`, one))
          equal(stored && [stored.input, stored.cacheRead, stored.output, stored.reasoning], [3_914, 16_298, 931, null])
          equal([stored?.cost, stored?.currency, stored?.pricedBy], [billionths(0.0055649), "USD", "table"])
          equal(stored?.raw, one.usage)
        }
        const thought = { ...openAi, completion_tokens_details: { reasoning_tokens: 900 } }
        const { call: stored } = yield* record("s", call("r", { usage: thought }))
        equal(stored && [stored.output, stored.reasoning, stored.cost], [31, 900, billionths(0.0055649)])
      }).pipe(withServices(store, { prices: { p: { m: { input: 0.5, cacheRead: 0.05, output: 3 } } } })),
  ),

  law(
    "USE-01, USE-03 numbers, currencies, zones and times that make no sense are refused, and nothing is written",
    (store) =>
      Effect.gen(function* () {
        yield* begin("s")
        const before = yield* session("s")
        const refused = Effect.fnUntraced(function* (given: object, field: string, words: string) {
          const [named, problem] = yield* refusal(record("s", call("c", given as UsageInput)))
          equal(named, `call.${field}`)
          check(problem.includes(words), `of ${field} it should be said "${words}": it ${problem}`)
        })
        const tokens = ["input", "output", "reasoning", "cacheRead", "cacheWrite"]
        for (const kind of tokens) {
          for (const value of [-1, 0.5, Number.NaN, Infinity, 2 ** 53, "7"])
            yield* refused({ [kind]: value }, kind, "whole number")
        }
        for (const cost of [-1, 0.02, Number.NaN, 2 ** 53]) yield* refused({ cost }, "cost", "billionths")
        for (const currency of ["usd", "$", "US", "", "US DOLLAR", "1AB", "A".repeat(11)]) {
          yield* refused({ currency }, "currency", "capital letters")
        }
        yield* refused({ at: -1 }, "at", "1970")
        yield* refused({ at: 1e15 }, "at", "9999")
        yield* refused({ callId: "" }, "callId", "at least 1")
        yield* refused({ model: "" }, "model", "at least 1")
        yield* refused({ turnId: "a b" }, "turnId", "characters")
        yield* refused({ outcome: "lost" }, "outcome", "completed")
        yield* refused({ tokens: 1 }, "tokens", "not a known field")
        yield* refused({ raw: { a: () => 1 } }, "raw.a", "JSON")
        yield* refused({ usage: { tokens: 1 } }, "usage", "report")
        yield* refused({ usage: { input_tokens: 1 }, input: 1 }, "input", "one of the two")
        yield* refused({ usage: { input_tokens: -1, output_tokens: 1 } }, "usage (input)", "whole number")
        yield* refused({ usage: { input_tokens: 1, output_tokens: 0.5 } }, "usage (output)", "whole number")
        const queries: ReadonlyArray<readonly [object, string]> = [
          [{ timeZone: "Mars/Olympus" }, "timeZone"],
          [{ timeZone: "" }, "timeZone"],
          [{ groupBy: "hour" }, "groupBy"],
          [{ from: 0.5 }, "from"],
          [{ to: -1 }, "to"],
          [{ session: "s", project: "default" }, "project"],
          [{ all: true, tree: "t" }, "all"],
          [{ includeDescendants: true }, "includeDescendants"],
          [{ session: "a b" }, "session"],
        ]
        for (const [query, field] of queries) {
          equal((yield* refusal(summary(query as UsageQuery)))[0], `query.${field}`)
        }
        equal(yield* outcomeOf(summary({ session: "nobody" })), { failed: "SessionNotFound" })
        equal(yield* outcomeOf(record("nobody", call("c"))), { failed: "SessionNotFound" })
        equal(yield* session("s"), before)
        equal((yield* totalOf()).calls, 0)
      }).pipe(withServices(store)),
  ),

  law("USE-01 a sum that would no longer be exact is refused, and nothing is written", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      const most = Number.MAX_SAFE_INTEGER
      yield* record("s", call("c1", { input: 1, output: most, cost: most }))
      const before = yield* session("s")
      equal((yield* refusal(record("s", call("c2", { cost: 1 }))))[0], "call.cost")
      equal((yield* refusal(record("s", call("c2", { input: 1, output: 1, cost: 0 }))))[0], "call.output")
      equal(yield* session("s"), before)
      yield* record("s", call("c2", { cost: 0, input: 1, output: 0 }))
      equal((yield* totalOf()).cost, { USD: most })
    }).pipe(withServices(store)),
  ),

  law("USE-02, A62 failed and aborted calls count, and what is not known of them is said", (store) =>
    Effect.gen(function* () {
      const turns = yield* Turns
      yield* begin("s")
      const { messages, turn } = yield* turns.begin("s", { prompt: { role: "user", body: "Hello" } })
      const { epoch, id: turnId } = turn
      yield* record("s", call("a1", { outcome: "failed", input: 100, output: 50 }), { epoch })
      yield* record("s", call("a2", { input: 120, output: 60 }), { epoch })
      yield* record("s", call("a3", { outcome: "aborted", turnId }))
      const expected = {
        calls: 3,
        failed: 1,
        aborted: 1,
        turns: 1,
        input: 220,
        output: 110,
        unknownCalls: 1,
        partial: true,
      }
      const told = (totals: UsageTotals) => {
        const { aborted, calls, failed, input, output, partial, turns, unknownCalls } = totals
        equal({ calls, failed, aborted, turns, input, output, unknownCalls, partial }, expected)
      }
      told(yield* totalOf())
      told((yield* session("s")).usage)
      told((yield* turns.list("s"))[0]!.usage)
      // The turn leaves the path: what it used stays used.
      yield* turns.end("s", epoch, { outcome: "completed" })
      yield* checkout("s", null)
      yield* Heads.use((heads) => heads.deleteBranch("s", messages[0]!.branch))
      told(yield* totalOf())
      told((yield* session("s")).usage)
      told((yield* turns.list("s"))[0]!.usage)
      yield* verified
    }).pipe(withServices(store)),
  ),

  law("USE-01 a call is recorded beside a running turn or as its write, and never for one that is over", (store) =>
    Effect.gen(function* () {
      const turns = yield* Turns
      yield* atTime(noon)(begin("s"))
      yield* atTime(noon)(sayAll("s", ["u1"]))
      const { turn } = yield* atTime(noon)(turns.begin("s", { retry: "u1" }))
      const { epoch } = turn
      const before = yield* session("s")
      yield* atTime(noon + 10)(record("s", call("beside", { input: 1, output: 1 })))
      const beside = yield* session("s")
      equal(beside.activeTurn, before.activeTurn)
      equal([beside.head, beside.headVersion, beside.activityAt], [before.head, before.headVersion, before.activityAt])
      equal([beside.revision > before.revision, beside.updatedAt], [true, noon + 10])
      const { call: own } = yield* atTime(noon + 20)(record("s", call("own", { input: 1, output: 1 }), { epoch }))
      equal(own?.turnId, turn.id)
      equal((yield* session("s")).activeTurn?.until, turn.startedAt + 20 + (before.activeTurn!.until - noon))
      equal(yield* outcomeOf(record("s", call("late"), { epoch: epoch + 1 })), { failed: "StaleTurn" })
      yield* turns.end("s", epoch, { outcome: "completed" })
      const ended = yield* session("s")
      equal(yield* outcomeOf(record("s", call("late", { input: 9 }), { epoch })), { failed: "StaleTurn" })
      equal(yield* session("s"), ended)
      // What it used all the same is told without the epoch.
      yield* record("s", call("late", { input: 9, output: 0, turnId: turn.id }))
      equal((yield* turns.list("s"))[0]?.usage.input, 10)
      yield* verified
    }).pipe(withServices(store)),
  ),

  law("USE-02, USE-03, A57 what continues another session counts for itself, and once in all", (store) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const projectId = "workspace:/w"
      yield* sessions.create({ id: "s", workspace: "/w" })
      const input = (sessionId: string, callId: string, tokens: number) =>
        record(sessionId, call(callId, { input: tokens, output: 0 }))
      yield* input("s", "c1", 100)
      for (const [id, tokens] of [
        ["f", 50],
        ["ff", 5],
      ] as const) {
        yield* sessions.create({ id, workspace: "/w" })
        // What was said before it is the source's, under the source's ids.
        equal((yield* input(id, "c1", 100)).status, "duplicate")
        yield* input(id, `of ${id}`, tokens)
      }
      const inputOf = (query: UsageQuery) => Effect.map(totalOf(query), (total) => total.input)
      equal(yield* inputOf({ session: "s" }), 100)
      equal(yield* inputOf({ session: "f" }), 50)
      equal(yield* inputOf({ session: "ff" }), 5)
      equal(yield* inputOf({ project: projectId }), 155)
      equal(yield* inputOf({ all: true }), 155)
      equal(yield* inputOf({ tree: (yield* session("f")).treeId }), 50)
      yield* verified
    }).pipe(withServices(store)),
  ),

  law(
    "USE-04, A63 the tasks below a session are added when asked for, others are not, and none is added twice",
    (store) =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const input = (callId: string, tokens: number) => record(callId, call(callId, { input: tokens, output: 0 }))
        yield* sessions.create({ id: "p" })
        yield* sessions.create({ id: "c", kind: "task", parentId: "p" })
        yield* sessions.create({ id: "g", kind: "task", parentId: "c" })
        yield* sessions.create({ id: "fork" })
        yield* sessions.create({ id: "side", kind: "peek", parentId: "p" })
        yield* input("p", 10)
        yield* input("c", 40)
        yield* input("g", 5)
        yield* input("fork", 7)
        equal((yield* totalOf({ session: "p" })).input, 10)
        equal((yield* totalOf({ session: "p", includeDescendants: true })).input, 55)
        equal((yield* totalOf({ session: "c", includeDescendants: true })).input, 45)
        equal((yield* totalOf()).input, 62)
        yield* input("side", 100)
        const { groups } = yield* summary({ session: "p", includeDescendants: true, groupBy: "session" })
        equal(
          groups.map((group) => [group.session, group.input]),
          [
            ["c", 40],
            ["p", 10],
            ["g", 5],
          ],
        )
        equal((yield* totalOf()).input, 162)
        const list = yield* sessions.list({ text: "" })
        equal(list.sessions.find(({ id }) => id === "p")?.usage.input, 10)
      }).pipe(withServices(store)),
  ),

  law("USE-03, A64 a call is counted on the day that it was in the time zone, on days of any length", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* record("s", call("c", { at: Date.parse("2025-01-25T04:08:00Z"), input: 100, output: 0 }))
      const days = (timeZone?: string, query: UsageQuery = {}) =>
        Effect.map(summary({ groupBy: "day", ...query, ...(timeZone !== undefined && { timeZone }) }), ({ groups }) =>
          groups.map(({ day, input }) => [day, input]),
        )
      equal(yield* days("America/Los_Angeles"), [["2025-01-24", 100]])
      equal(yield* days("UTC"), [["2025-01-25", 100]])
      equal(yield* days(), [["2025-01-25", 100]])
      equal(yield* days("Asia/Shanghai"), [["2025-01-25", 100]])
      equal((yield* summary()).timeZone, "UTC")
      // The last quarter-hours before and the first after each midnight of the two days on which clocks are changed.
      const midnights = [
        "2025-03-09T08:00:00Z",
        "2025-03-10T07:00:00Z",
        "2025-11-02T07:00:00Z",
        "2025-11-03T08:00:00Z",
      ].map((time) => Date.parse(time))
      for (const [i, at] of midnights.entries()) {
        yield* record("s", call(`before ${i}`, { at: at - 1, input: 1, output: 0 }))
        yield* record("s", call(`after ${i}`, { at, input: 1_000, output: 0 }))
      }
      const session = { session: "s", from: Date.parse("2025-03-01"), to: Date.parse("2025-12-01") }
      const expected = [
        ["2025-03-08", 1],
        ["2025-03-09", 1_001],
        ["2025-03-10", 1_000],
        ["2025-11-01", 1],
        ["2025-11-02", 1_001],
        ["2025-11-03", 1_000],
      ]
      equal(yield* days("America/Los_Angeles", session), expected)
      const { groups } = yield* summary({ groupBy: "day", timeZone: "America/Los_Angeles", ...session })
      const lengths = groups.map(({ from, to }) => (to! - from!) / hour)
      equal(lengths, [24, 23, 24, 24, 25, 24])
      equal(groups[1]?.from, midnights[0])
      equal(groups[4]?.to, midnights[3])
      // A quarter of an hour off: Nepal is 5:45 ahead.
      const inNepal = Date.parse("2025-06-01T18:15:00Z")
      yield* record("s", call("n1", { at: inNepal - 1, input: 2, output: 0 }))
      yield* record("s", call("n2", { at: inNepal, input: 3, output: 0 }))
      const june = { from: Date.parse("2025-06-01"), to: Date.parse("2025-06-03") }
      equal(yield* days("Asia/Kathmandu", june), [
        ["2025-06-01", 2],
        ["2025-06-02", 3],
      ])
      equal(yield* days("Asia/Kathmandu", { from: inNepal, to: inNepal + 1 }), [["2025-06-02", 3]])
      equal(yield* days("UTC", { from: inNepal + 900_000 - 1, to: june.to }), [["2025-06-01", 3]])
      equal(yield* days("UTC", { from: inNepal + 900_000, to: june.to }), [])
      equal(yield* days("UTC", { from: june.to, to: june.from }), [])
    }).pipe(withServices(store)),
  ),

  law("USE-03 calls keep the agent and the project that they were counted under", (store) =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const sessions = yield* Sessions
      yield* sessions.create({ id: "s", workspace: "/old", agent: "coder" })
      yield* record("s", call("c1", { at: noon, input: 1, output: 0 }))
      yield* projects.relocate({ from: "/old", to: "/new" })
      yield* record("s", call("c0", { at: noon, input: 4_000, output: 0 }))
      yield* sessions.update("s", { agent: "reviewer" })
      yield* record("s", call("c2", { at: noon, input: 20, output: 0 }))
      yield* sessions.update("s", { agent: null })
      yield* record("s", call("c3", { at: noon, input: 300, output: 0 }))
      // Told again it stays where it was counted.
      yield* record("s", call("c1", { input: 2, output: 0 }))
      const groups = Effect.fnUntraced(function* (groupBy: "agent" | "project" | "session", query: UsageQuery = {}) {
        const found = yield* summary({ groupBy, ...query })
        return found.groups.map((group) => [group[groupBy], group.input])
      })
      equal(yield* groups("agent"), [
        ["coder", 4_002],
        [null, 300],
        ["reviewer", 20],
      ])
      equal(yield* groups("project"), [
        ["workspace:/new", 4_320],
        ["workspace:/old", 2],
      ])
      equal(yield* groups("project", { session: "s" }), [
        ["workspace:/new", 4_320],
        ["workspace:/old", 2],
      ])
      equal(yield* groups("session", { project: "workspace:/old" }), [["s", 2]])
      equal(yield* groups("session", { agent: "reviewer" }), [["s", 20]])
      equal((yield* totalOf({ project: "workspace:/new", agent: "reviewer" })).input, 20)
      equal((yield* totalOf({ agent: "nobody" })).calls, 0)
      yield* verified
    }).pipe(withServices(store)),
  ),

  law("USE-03 any summary is what the calls add up to one by one", randomSummaries),

  law("USE-03 a summary reads no call, and as many sums for many calls as for few", (store) =>
    Effect.gen(function* () {
      const counted = counting(store.backend)
      yield* Effect.gen(function* () {
        yield* begin("s")
        const spend = Effect.fnUntraced(function* (from: number, to: number) {
          for (let i = from; i < to; i++)
            yield* record("s", call(`c${i}`, { at: noon + i * 60_000, input: 1, output: 1 }))
        })
        const rowsRead = Effect.fnUntraced(function* (query: UsageQuery) {
          counted.reset()
          yield* summary(query)
          return [counted.rows("usage"), counted.rows("usage_sum")]
        })
        yield* spend(0, 3)
        for (const calls of [3, 60]) {
          yield* spend(3, calls)
          equal((yield* totalOf()).calls, calls)
          equal(yield* rowsRead({ groupBy: "day", timeZone: "Asia/Kathmandu" }), [0, 1])
          equal(yield* rowsRead({ session: "s", groupBy: "model" }), [0, 1])
          equal(yield* rowsRead({ groupBy: "session" }), [0, 1])
          equal(yield* rowsRead({ project: "default", groupBy: "session" }), [0, 2])
        }
      }).pipe(withServices({ backend: counted.backend }))
    }),
  ),

  law("USE-03, USE-06 what fills more than a read is summed up and priced to its end, in every order", (store) =>
    Effect.gen(function* () {
      // More than one range gives.
      const days = 520
      const owned = { owner: "ann" }
      const { treeId } = yield* Effect.gen(function* () {
        yield* Sessions.use((sessions) => sessions.create({ id: "s" }))
        const told = Array.from({ length: days }, (_, i) => call(`c${i}`, { at: i * 24 * hour, input: 1, output: 1 }))
        yield* Effect.forEach(told, (one) => record("s", one), { concurrency: "unbounded", discard: true })
        return yield* session("s")
      }).pipe(withServices(store, owned))
      const counted = Effect.fnUntraced(function* (query: UsageQuery) {
        const { groups, total } = yield* summary({ groupBy: "day", ...query })
        const [first] = groups
        equal(query.groupBy === undefined ? groups.length : first?.calls, days)
        equal(total.calls, days)
        return first
      })
      const subjects: ReadonlyArray<UsageQuery> = [
        { session: "s" },
        { tree: treeId },
        {},
        { groupBy: "session" },
        { groupBy: "project" },
      ]
      for (const query of subjects) yield* counted(query).pipe(withServices(store, owned))
      yield* Effect.gen(function* () {
        for (const query of subjects) yield* counted(query)
        const { project } = (yield* counted({ groupBy: "project" }))!
        yield* counted({ project: project! })
        yield* counted({ project: project!, groupBy: "session" })
        const prices = { p: { m: { input: 1, output: 1 } } }
        equal(yield* Usage.use((usage) => usage.reprice({ prices })), { changed: days })
        equal((yield* totalOf()).cost, { USD: days * 2_000 })
      }).pipe(withServices(store))
    }),
  ),

  law("USE-03, SES-16 a store opened for an owner sums up nothing else", (store) =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        const sessions = yield* Sessions
        for (const owner of ["ann", "ben"]) {
          yield* sessions.create({ id: owner, owner, workspace: "/w", agent: "coder" })
          yield* record(owner, call(owner, { input: owner === "ann" ? 1 : 20, output: 0 }))
        }
        yield* sessions.create({ id: "s", workspace: "/w", agent: "coder" })
        yield* record("s", call("s", { input: 300, output: 0 }))
        equal((yield* totalOf()).input, 321)
        equal((yield* summary({ groupBy: "project" })).groups.length, 3)
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        const usage = yield* Usage
        const { projectId, treeId } = yield* session("ann")
        const mine: ReadonlyArray<UsageQuery> = [{}, { agent: "coder" }, { session: "ann" }, { project: projectId }]
        for (const query of [...mine, { tree: treeId }]) equal((yield* totalOf(query)).input, 1)
        for (const groupBy of ["session", "project", "agent", "model", "day"] as const) {
          equal(
            (yield* summary({ groupBy })).groups.map(({ input }) => input),
            [1],
          )
        }
        equal((yield* totalOf({ project: projectId.replace("ann", "ben") })).calls, 0)
        equal((yield* totalOf({ project: "workspace:/w" })).calls, 0)
        equal(yield* outcomeOf(summary({ session: "ben" })), { failed: "SessionNotFound" })
        equal((yield* usage.verify()).calls, 1)
        yield* usage.reprice({ prices: { p: { m: { input: 1, output: 1 } } } })
      }).pipe(withServices(store, { owner: "ann" }))
      yield* Effect.gen(function* () {
        equal((yield* totalOf({ session: "ann" })).unpricedCalls, 0)
        equal((yield* totalOf()).unpricedCalls, 2)
        yield* verified
      }).pipe(withServices(store))
    }),
  ),

  law("USE-05 watch gives the summary at once, and again when usage was recorded or priced, and then alone", (store) =>
    Effect.gen(function* () {
      const usage = yield* Usage
      yield* begin("s")
      yield* begin("t")
      const next = yield* follow(usage.watch({ session: "s" }))
      const nextInput = Effect.map(next, ({ total }) => total.input)
      equal(yield* nextInput, 0, "the first value")
      yield* record("s", call("c1", { input: 1, output: 0 }))
      equal(yield* nextInput, 1, "after a call")
      const waiting = yield* Effect.forkChild(nextInput, { startImmediately: true })
      // None of these changes it.
      yield* record("s", call("c1", { input: 1, output: 0 }))
      yield* record("t", call("c2", { input: 20, output: 0 }))
      yield* sayAll("s", ["u1"])
      yield* record("s", call("c3", { input: 300, output: 0 }))
      equal(yield* Fiber.join(waiting), 301, "after another call")
      yield* usage.reprice({ prices: { p: { m: { input: 1, output: 1 } } } })
      equal((yield* next).total.cost, { USD: 301_000 }, "after calls were priced")
      equal(yield* outcomeOf(Stream.runHead(usage.watch({ session: "nobody" }))), { failed: "SessionNotFound" })
    }).pipe(withServices(store)),
  ),

  law("USE-06, A61 a cost that nobody knows is no cost, and is found when there is a price", (store) =>
    Effect.gen(function* () {
      const known: PriceTable = { p: { known: { input: 10, output: 10 }, free: { input: 0, output: 0 } } }
      const costs: Array<number | null | undefined> = []
      yield* Effect.gen(function* () {
        yield* begin("s")
        for (const model of ["known", "ghost", "free"]) {
          const tokens = model === "ghost" ? { input: 600, output: 400 } : { input: 1_000, output: 1_000 }
          costs.push((yield* record("s", call(model, { model, ...tokens }))).call?.cost)
        }
        equal(costs, [billionths(0.02), null, 0])
        const told = (totals: UsageTotals) => [totals.cost, totals.unpricedCalls, totals.unpricedTokens]
        equal(told(yield* totalOf()), [{ USD: billionths(0.02) }, 1, 1_000])
        equal(told((yield* session("s")).usage), [{ USD: billionths(0.02) }, 1, 1_000])
        const { groups } = yield* summary({ groupBy: "model" })
        const byModel = Object.fromEntries(groups.map((group) => [group.model, group.cost]))
        equal(byModel, { known: { USD: billionths(0.02) }, ghost: {}, free: { USD: 0 } })
      }).pipe(withServices(store, { prices: known }))
      yield* Effect.gen(function* () {
        const usage = yield* Usage
        equal(yield* outcomeOf(usage.reprice()), { failed: "InvalidInput" })
        const before = yield* totalOf()
        const ghost: PriceTable = { p: { ghost: { input: 1, output: 2, currency: "EUR" } } }
        equal(yield* usage.reprice({ prices: ghost }), { changed: 1 })
        equal(yield* usage.reprice({ prices: ghost }), { changed: 0 })
        const after = {
          ...before,
          cost: { USD: billionths(0.02), EUR: billionths(0.0014) },
          unpricedCalls: 0,
          unpricedTokens: 0,
        }
        equal(yield* totalOf(), after)
        equal((yield* session("s")).usage, after)
        yield* verified
      }).pipe(withServices(store))
    }),
  ),

  law(
    "USE-06 a price has tiers and rates of its own for caches and reasoning, and a cost that was given stays",
    (store) =>
      Effect.gen(function* () {
        const usage = yield* Usage
        yield* begin("s")
        const costOf = Effect.fnUntraced(function* (callId: string, model: string, tokens: Partial<UsageInput>) {
          return (yield* record("s", call(callId, { model, output: 0, ...tokens }))).call?.cost
        })
        equal(yield* costOf("c1", "plain", { input: 1, output: 1, reasoning: 1, cacheRead: 1, cacheWrite: 1 }), 3_500)
        equal(yield* costOf("c2", "rich", { input: 1, output: 1, reasoning: 1, cacheRead: 1, cacheWrite: 1 }), 12_345)
        // A tier holds for the whole call; what is read from a cache is input, too.
        equal(yield* costOf("c3", "tiers", { input: 100, output: 10 }), 110_000)
        equal(yield* costOf("c4", "tiers", { input: 60, cacheRead: 41, output: 10 }), 222_000)
        equal(yield* costOf("c5", "tiers", { input: 201, output: 10 }), 633_000)
        equal(yield* costOf("c6", "constructor", { input: 1 }), null)
        equal(yield* costOf("c7", "rich", { input: 1, output: null }), null)
        const given = yield* record("s", call("c8", { model: "plain", input: 1, output: 0, cost: 77 }))
        equal([given.call?.cost, given.call?.pricedBy], [77, "caller"])
        const anew: PriceTable = { p: { plain: { input: 2, output: 2 }, tiers: { input: 5, output: 5 } } }
        equal(yield* usage.reprice({ prices: anew, from: 0, to: noon }), { changed: 0 })
        equal(yield* usage.reprice({ prices: anew }), { changed: 4 })
        equal((yield* totalOf()).cost, { USD: 77 + 12_345 + 10_000 + 550_000 + 555_000 + 1_055_000 })
        equal(yield* usage.reprice({ prices: anew, given: true }), { changed: 1 })
        equal((yield* totalOf()).cost, { USD: 2_000 + 12_345 + 10_000 + 550_000 + 555_000 + 1_055_000 })
        equal(yield* outcomeOf(usage.reprice({ prices: { p: { m: { input: -1, output: 1 } } } })), {
          failed: "InvalidInput",
        })
        yield* verified
      }).pipe(atTime(noon), withServices(store, { prices: tieredPrices })),
  ),

  law("USE-01 calls that are recorded at the same time, by one process and by two, are all counted once", (store) =>
    Effect.gen(function* () {
      yield* begin("s").pipe(withServices(store))
      const calls = Array.from({ length: 40 }, (_, i) =>
        call(`c${i % 20}`, { at: noon, input: 1, output: 1, turnId: "t" }),
      )
      const recordAll = Effect.forEach(calls, (one) => record("s", one), { concurrency: "unbounded" })
      const all = yield* Effect.all([recordAll.pipe(withServices(store)), recordAll.pipe(withServices(store))], {
        concurrency: "unbounded",
      })
      equal(all.flat().filter(({ status }) => status === "recorded").length, 20)
      yield* Effect.gen(function* () {
        const total = yield* totalOf()
        equal([...brief(total), total.turns], [20, 0, 20, 20, 1])
        equal((yield* session("s")).usage, total)
        yield* verified
      }).pipe(withServices(store))
    }),
  ),

  law("USE-03 verify finds every sum that is not what the ledger adds up to", (store) =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const storage = yield* Storage
      yield* begin("s")
      const { turn } = yield* Turns.use((turns) => turns.begin("s", { prompt: { role: "user", body: "Hello" } }))
      for (const i of [0, 1, 2]) {
        const at = noon + i * 24 * hour
        yield* record("s", call(`c${i}`, { at, input: 1, output: 1, turnId: turn.id }))
      }
      equal(yield* usage.verify(), { calls: 3, sessions: 1, turns: 1, differences: [] })
      yield* storage.transact(
        Tx.make(function* (tx) {
          const session = yield* tx.get(SessionTable, ["s"])
          yield* tx.get(TurnTable, ["s", turn.epoch])
          const sums = yield* tx.range(UsageSumTable, "key", {})
          const [spent] = session!.usage!
          tx.update(SessionTable, ["s"], (row) => ({ ...row, usage: [{ ...spent!, input: 4 }] }))
          tx.update(TurnTable, ["s", turn.epoch], (row) => ({ ...row, usage: [] }))
          for (const { cell, day, kind, scope } of sums) {
            const ofDay = day - Math.floor(noon / (24 * hour))
            const key = [scope, day, cell] as const
            if (kind === "all" && ofDay === 0) tx.remove(UsageSumTable, key)
            if (kind === "project" && ofDay === 1) tx.update(UsageSumTable, key, (row) => ({ ...row, slots: "" }))
            if (kind !== "session" || ofDay !== 2) continue
            tx.update(UsageSumTable, key, (row) => ({ ...row, tally: { ...row.tally, output: 9 } }))
            tx.insert(UsageSumTable, { ...sums[0]!, scope: "session:gone", kind, day: day + 9 })
          }
        }),
      )
      const { differences } = yield* usage.verify()
      const found = differences.map(({ expected, key, of, stored }) => {
        const what = stored === undefined ? "missing" : expected === undefined ? "too much" : "wrong"
        return [of, key[0], what]
      })
      equal(found, [
        ["sum", "all:", "missing"],
        ["sum", "project:default", "wrong"],
        ["sum", "session:s", "wrong"],
        ["sum", "session:gone", "too much"],
        ["session", "s", "wrong"],
        ["turn", "s", "wrong"],
      ])
    }).pipe(withServices(store)),
  ),

  lawWith({ needs: ["damage"] }, "USE-03, STO-09 a sum that cannot be read hides no other, and is told", (store) =>
    Effect.gen(function* () {
      const day = Math.floor(noon / (24 * hour))
      yield* Effect.gen(function* () {
        yield* begin("s")
        for (let i = 0; i < 3; i++)
          yield* record("s", call(`c${i}`, { at: noon + i * 24 * hour, input: 10 ** i, output: 0 }))
      }).pipe(withServices(store))
      yield* store.damage("usage_sum", ["all:", day + 1, `["p","m",null,null]`])
      yield* store.damage("usage", ["c2"])
      yield* Effect.gen(function* () {
        const usage = yield* Usage
        const { total, unreadable } = yield* summary()
        equal([total.input, unreadable], [101, 1])
        equal((yield* totalOf({ session: "s" })).input, 111)
        const { calls, differences } = yield* usage.verify()
        equal(calls, 2)
        equal(
          differences.map(({ key, of }) => [of, key[0], key[1]]),
          [
            ["sum", "all:", day + 1],
            ["sum", "all:", day + 2],
            ["sum", "project:default", day + 2],
            ["sum", "session:s", day + 2],
          ],
        )
        const prices = { p: { m: { input: 1, output: 1 } } }
        equal(yield* usage.reprice({ prices, to: noon + 1 }), { changed: 1 })
        equal(yield* usage.reprice({ prices, from: noon + 36 * hour }), { changed: 0 })
        equal(yield* outcomeOf(record("s", call("c2"))), { failed: "Corrupt" })
      }).pipe(withServices(store))
    }),
  ),
]

const tieredPrices: PriceTable = {
  p: {
    plain: { input: 0.5, output: 1 },
    rich: { input: 10, output: 2, reasoning: 0.3, cacheRead: 0.04, cacheWrite: 0.005 },
    tiers: {
      input: 1,
      output: 1,
      tiers: [
        { over: 200, input: 3, output: 3 },
        { over: 100, input: 2, output: 2 },
      ],
    },
  },
}
