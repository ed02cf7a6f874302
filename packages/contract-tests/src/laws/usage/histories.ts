/**
 * Random calls, told in random order and more than once, and random questions about them, against a plain list of calls
 * that is added up from the start for each.
 */
import { Sessions } from "@skein/core/session"
import { Usage } from "@skein/core/usage"
import type { UsageInput, UsageQuery, UsageTotals } from "@skein/core/usage"
import * as Effect from "effect/Effect"
import { equal, show } from "../../equal.ts"
import type { Store } from "../../law.ts"
import { makeRandom } from "../../random.ts"
import type { Random } from "../../random.ts"
import { withServices } from "../../services.ts"

/** A call as the list has it. */
interface Call extends Required<Pick<UsageInput, "callId" | "provider" | "model" | "at" | "outcome">> {
  readonly session: string
  readonly agent: string | null
  readonly project: string
  readonly tokens: Readonly<Record<(typeof kinds)[number], number | null>>
  readonly cost: number | null
  readonly currency: string
  readonly turnId: string | undefined
  /** Whether it is the first call of its turn. */
  readonly opens: boolean
}

const kinds = ["input", "output", "reasoning", "cacheRead", "cacheWrite"] as const

const quarter = 900_000
const day = 96 * quarter

/** Around days on which clocks are changed somewhere, and one on which they are not. */
const times = ["2025-03-09", "2025-03-30", "2025-07-01", "2025-11-02", "2011-12-29"].map((date) => Date.parse(date))

const zones = [
  "UTC",
  "Asia/Kathmandu",
  "America/New_York",
  "Europe/London",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "America/St_Johns",
]

const sessions = [
  { id: "s0", workspace: "/a", agent: "coder" },
  { id: "s1", workspace: "/a" },
  { id: "s2", workspace: "/b", agent: "reviewer", kind: "task", parentId: "s0" },
  { id: "s3", workspace: "/b", agent: "coder", kind: "task", parentId: "s2" },
] as const

const recorded = 120

export const randomSummaries = (store: Store) =>
  Effect.gen(function* () {
    const random = makeRandom(store.seed)
    const usage = yield* Usage
    for (const { ...given } of sessions) yield* Sessions.use((service) => service.create(given))
    const calls = new Map<string, Call>()
    for (let i = 0; i < recorded; i++) {
      const callId = `c${random.nat(recorded / 2)}`
      const known = calls.get(callId)
      const told = known === undefined || random.nat(3) > 0 ? newCall(random, callId, known, calls) : smaller(known)
      if (told !== known && (known === undefined || total(told) > total(known))) calls.set(callId, told)
      yield* usage.record(told.session, toInput(told))
    }
    for (let i = 0; i < store.runs; i++) {
      const query = randomQuery(random)
      const { groups, total } = yield* usage.summary(query)
      const expected = answer([...calls.values()], query)
      const what = () => `the summary of ${show(query)}`
      equal(total, expected.total, what)
      equal(
        groups.map(({ from: _from, to: _to, ...group }) => group),
        expected.groups,
        what,
      )
    }
    equal((yield* usage.verify()).differences, [], "what differs from the ledger")
  }).pipe(withServices(store))

const total = ({ tokens }: Call): number => kinds.reduce((sum, kind) => sum + (tokens[kind] ?? 0), 0)

/** A call, or of a known one a larger snapshot, which may be of another time, model and outcome. */
const newCall = (random: Random, callId: string, known: Call | undefined, calls: ReadonlyMap<string, Call>): Call => {
  const session = sessions[known === undefined ? random.nat(sessions.length) : Number(known.session.slice(1))]!
  const turnId = known === undefined ? random.pick([undefined, `t${random.nat(6)}`]) : known.turnId
  const isFirst = ![...calls.values()].some((call) => call.session === session.id && call.turnId === turnId)
  const more = known === undefined ? 0 : total(known) + 1
  const tokens = Object.fromEntries(kinds.map((kind) => [kind, random.pick([null, 0, random.nat(100_000)])]))
  return {
    callId,
    session: session.id,
    agent: "agent" in session ? session.agent : null,
    project: `workspace:${session.workspace}`,
    provider: random.pick(["p", "q"]),
    model: random.pick(["m", "n"]),
    at: random.pick(times) + (random.nat(3) - 1) * day + random.nat(day),
    outcome: random.pick(["completed", "completed", "failed", "aborted"] as const),
    tokens: { ...(tokens as Call["tokens"]), input: random.pick(known === undefined ? [null, 5] : [more]) },
    cost: random.pick([null, 0, random.nat(10 ** 12)]),
    currency: random.pick(["USD", "EUR"]),
    turnId,
    opens: known?.opens ?? (turnId !== undefined && isFirst),
  }
}

/** A snapshot that tells no more than is known. */
const smaller = (known: Call): Call => ({
  ...known,
  at: known.at + day,
  tokens: { ...known.tokens, input: known.tokens.input === null ? null : 0, output: null },
  cost: null,
})

const toInput = ({ at, callId, cost, currency, model, outcome, provider, tokens, turnId }: Call): UsageInput => ({
  callId,
  provider,
  model,
  at,
  outcome,
  ...tokens,
  cost,
  currency,
  ...(turnId !== undefined && { turnId }),
})

const randomQuery = (random: Random): UsageQuery => {
  const subject = random.pick<UsageQuery>([
    {},
    {},
    { session: random.pick(sessions).id },
    { session: random.pick(sessions).id, includeDescendants: true },
    { project: random.pick(["workspace:/a", "workspace:/b"]) },
  ])
  const moment = () => random.pick(times) + (random.nat(193) - 96) * quarter
  const [from, to] = [moment(), moment()].toSorted((a, b) => a - b) as [number, number]
  return {
    ...subject,
    ...(random.nat(3) === 0 && { agent: random.pick(["coder", "reviewer"]) }),
    ...(random.nat(2) === 0 && { from }),
    ...(random.nat(2) === 0 && { to }),
    ...(random.nat(5) > 0 && {
      groupBy: random.pick(["day", "day", "session", "agent", "model", "provider", "project"] as const),
    }),
    timeZone: random.pick(zones),
  }
}

const isAsked = (call: Call, { agent, from = 0, includeDescendants, project, session, to = Infinity }: UsageQuery) =>
  call.at >= from &&
  call.at < to &&
  (agent === undefined || call.agent === agent) &&
  (project === undefined || call.project === project) &&
  (session === undefined || call.session === session || (includeDescendants === true && isBelow(call.session, session)))

/** s3 was started by s2, and s2 by s0. */
const isBelow = (session: string, above: string): boolean =>
  (session === "s3" && (above === "s2" || above === "s0")) || (session === "s2" && above === "s0")

const answer = (calls: ReadonlyArray<Call>, query: UsageQuery) => {
  const asked = calls.filter((call) => isAsked(call, query))
  const { groupBy } = query
  if (groupBy === undefined) return { total: totalsOf(asked, true), groups: [] }
  const groups = new Map<string, Array<Call>>()
  for (const call of asked) {
    const id = JSON.stringify(commonOf(call, query))
    groups.set(id, [...(groups.get(id) ?? []), call])
  }
  const ordered = [...groups]
    .map(([id, members]) => ({ id, members, tokens: members.reduce((sum, call) => sum + total(call), 0) }))
    .toSorted((a, b) => (groupBy === "day" ? 0 : b.tokens - a.tokens) || (a.id < b.id ? -1 : 1))
  const hasTurns = groupBy !== "model" && groupBy !== "provider"
  return {
    total: totalsOf(asked, true),
    groups: ordered.map(({ id, members }) => ({ ...JSON.parse(id), ...totalsOf(members, hasTurns) })),
  }
}

const commonOf = (call: Call, { groupBy, timeZone }: UsageQuery) => {
  const { agent, model, project, provider, session } = call
  switch (groupBy) {
    case "day":
      return { day: localDate(call.at, timeZone!) }
    case "model":
      return { provider, model }
    default:
      return { [groupBy!]: { agent, project, provider, session }[groupBy!] }
  }
}

/** The date on a calendar that hangs there. */
const localDate = (time: number, timeZone: string): string =>
  new Date(time).toLocaleDateString("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" })

const totalsOf = (calls: ReadonlyArray<Call>, hasTurns: boolean): UsageTotals => {
  const count = (fits: (call: Call) => boolean) => calls.filter(fits).length
  const sum = (kind: (typeof kinds)[number]) => calls.reduce((all, { tokens }) => all + (tokens[kind] ?? 0), 0)
  const unpriced = calls.filter(({ cost }) => cost === null)
  const cost: Record<string, number> = {}
  for (const { cost: one, currency } of calls) if (one !== null) cost[currency] = (cost[currency] ?? 0) + one
  const unknownCalls = count(({ tokens }) => tokens.input === null || tokens.output === null)
  return {
    calls: calls.length,
    failed: count(({ outcome }) => outcome === "failed"),
    aborted: count(({ outcome }) => outcome === "aborted"),
    turns: hasTurns ? count(({ opens }) => opens) : null,
    input: sum("input"),
    output: sum("output"),
    reasoning: sum("reasoning"),
    cacheRead: sum("cacheRead"),
    cacheWrite: sum("cacheWrite"),
    cost,
    unpricedCalls: unpriced.length,
    unpricedTokens: unpriced.reduce((all, call) => all + total(call), 0),
    unknownCalls,
    partial: unknownCalls > 0,
  }
}
