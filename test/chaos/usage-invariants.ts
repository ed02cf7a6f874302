/**
 * What must hold of usage at every moment: every sum is what the ledger adds up to, worked out anew from its rows.
 */
import type { Spent, Tally, UsageRow, UsageSumRow } from "../../packages/core/src/usage/model.ts"
import { differs, grouped } from "./differs.ts"
import { unless } from "./outcome.ts"
import type { StoreRows } from "./rows.ts"

/** One sentence for each thing that does not hold. */
export const usageProblems = ({ calls, sessions, sums, turns }: StoreRows): ReadonlyArray<string> => {
  const ofSession = grouped(calls, ({ sessionId }) => sessionId)
  const ofTurn = grouped(calls, ({ sessionId, turn }) => `${sessionId} ${turn}`)
  return [
    ...sumProblems(calls, sums),
    ...sessions.flatMap(({ id, usage }) =>
      differs(`the usage of session ${id}`, spent(usage), spentOn(ofSession.get(id) ?? [])),
    ),
    ...turns.flatMap(({ epoch, id, sessionId, usage }) =>
      differs(
        `the usage of turn ${epoch} of session ${sessionId}`,
        spent(usage),
        spentOn(ofTurn.get(`${sessionId} ${id}`) ?? []),
      ),
    ),
    ...[...ofTurn.values()].flatMap((own) => {
      const { sessionId, turn } = own[0]!
      const opening = own.filter(({ opensTurn }) => opensTurn === true).length
      return unless(
        opening === (turn === "" ? 0 : 1),
        `turn ${turn} of session ${sessionId} is counted with ${opening} of its calls`,
      )
    }),
  ]
}

const quarter = 15 * 60 * 1_000
const day = 96 * quarter

/** The order in which a quarter-hour's text has its numbers. */
const measures = [
  ...(["calls", "input", "output", "cost", "cacheRead", "turns"] as const),
  ...(["reasoning", "cacheWrite", "failed", "aborted", "unknown"] as const),
]

const tallyOf = (calls: ReadonlyArray<UsageRow>): Tally => {
  const sum = (of: (call: UsageRow) => number | null) => calls.reduce((total, call) => total + (of(call) ?? 0), 0)
  const count = (is: (call: UsageRow) => boolean) => calls.filter(is).length
  return {
    calls: calls.length,
    input: sum(({ input }) => input),
    output: sum(({ output }) => output),
    cost: sum(({ cost }) => cost),
    cacheRead: sum(({ cacheRead }) => cacheRead),
    turns: count(({ opensTurn }) => opensTurn === true),
    reasoning: sum(({ reasoning }) => reasoning),
    cacheWrite: sum(({ cacheWrite }) => cacheWrite),
    failed: count(({ outcome }) => outcome === "failed"),
    aborted: count(({ outcome }) => outcome === "aborted"),
    unknown: count(({ input, output }) => input === null || output === null),
  }
}

/** Totals of a session or a turn, by currency. */
type Totals = ReadonlyArray<readonly [currency: string, tally: Tally]>

const inOrder = (totals: Totals): Totals => totals.toSorted(([a], [b]) => (a < b ? -1 : 1))

const spent = (usage: ReadonlyArray<Spent> = []): Totals =>
  inOrder(usage.map(({ currency = "none", ...tally }) => [currency, tally]))

const spentOn = (calls: ReadonlyArray<UsageRow>): Totals =>
  inOrder([...grouped(calls, ({ currency = "none" }) => currency)].map(([currency, own]) => [currency, tallyOf(own)]))

/** Everything that calls of one sum have in common. */
type Coordinates = ReadonlyArray<string | number | null>

const common = (
  of: Pick<UsageRow, "provider" | "model"> & { readonly [Name in "agent" | "currency" | "owner"]?: string | undefined },
) => [of.provider, of.model, of.agent ?? null, of.currency ?? null, of.owner ?? null]

/** The sums that a call belongs to. */
const sumsOf = (call: UsageRow): ReadonlyArray<Coordinates> => {
  const own = [Math.floor(call.at / day), ...common(call)]
  return [
    ["all", null, null, ...own],
    ["project", call.projectId, null, ...own],
    ["session", call.projectId, call.sessionId, ...own],
  ]
}

const coordinatesOf = (sum: UsageSumRow): Coordinates => [
  sum.kind,
  sum.projectId ?? null,
  sum.sessionId ?? null,
  sum.day,
  ...common(sum),
]

const sumProblems = (calls: ReadonlyArray<UsageRow>, sums: ReadonlyArray<UsageSumRow>): ReadonlyArray<string> => {
  const parts = calls.flatMap((call) => sumsOf(call).map((of) => ({ call, of: JSON.stringify(of) })))
  const expected = grouped(parts, ({ of }) => of)
  const stored = new Map(sums.map((sum) => [JSON.stringify(coordinatesOf(sum)), sum]))
  const ids = new Set([...expected.keys(), ...stored.keys()])
  return [
    ...unless(stored.size === sums.length, "two sums are of the same calls"),
    ...[...ids].flatMap((id) => {
      const own = (expected.get(id) ?? []).map(({ call }) => call)
      const sum = stored.get(id)
      return [
        ...differs(`the sum of ${id}`, sum?.tally, tallyOf(own)),
        ...differs(`the quarter-hours of ${id}`, sum?.slots, slotsOf(own)),
      ]
    }),
  ]
}

/** The text that a day's quarter-hours make. */
const slotsOf = (calls: ReadonlyArray<UsageRow>): string => {
  const bySlot = [...grouped(calls, ({ at }) => Math.floor((at % day) / quarter))]
  return bySlot
    .toSorted(([a], [b]) => a - b)
    .map(([slot, own]) => {
      const tally = tallyOf(own)
      const numbers = measures.map((measure) => (tally[measure] === 0 ? "" : tally[measure].toString(36)))
      return `${slot.toString(36)},${numbers.join().replace(/,+$/, "")};`
    })
    .join("")
}
