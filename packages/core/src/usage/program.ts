/**
 * The rules of usage: how calls come into the ledger and into the sums.
 *
 * Guarantee: a call is counted once, under its id, however often it is told. The sums, and the totals of session and
 * turn, are at every commit what the ledger adds up to.
 *
 * `planUsage` reads and decides, `applyUsage` writes: so calls are recorded in the commit of something else, too. One
 * plan a commit: it takes any number of calls.
 */
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { isSeen } from "../scope.ts"
import type { Scope } from "../scope.ts"
import { requireSession } from "../session/program.ts"
import { InvalidInput } from "../storage/error.ts"
import { key } from "../storage/key.ts"
import { fn } from "../storage/transaction.ts"
import type { Handle } from "../storage/transaction.ts"
import { renewed, requireTurn } from "../turn/fence.ts"
import { applyCounting, planCounting } from "./counting.ts"
import type { Change, Counting } from "./counting.ts"
import { callsIn } from "./ledger.ts"
import type { Moment, Span } from "./ledger.ts"
import { UsageTable } from "./model.ts"
import type { CallOutcome, Reading, Tokens, UsageRow } from "./model.ts"
import { costOf } from "./prices.ts"
import type { PriceTable } from "./prices.ts"
import { tokenKinds, tokensIn } from "./tally.ts"

/** A call as it is told, checked. */
export interface NewCall extends Tokens {
  readonly callId: string
  readonly provider: string
  readonly model: string
  /** Undefined: now, or of a call that is told again, as it was. */
  readonly at: number | undefined
  readonly outcome: CallOutcome
  /** As the caller says; `null`: ask the table of prices. */
  readonly cost: number | null
  readonly currency: string
  /** Empty: it belongs to none. */
  readonly turn: string
  readonly entryId: string | undefined
  readonly raw: unknown
  /** The running totals that its numbers are, by their name as a key. Undefined: they are its own. */
  readonly counter: string | undefined
}

/** What calls are recorded with. */
export interface Recording {
  readonly now: number
  readonly prices: PriceTable | undefined
}

/** What became of a call that was told. A `duplicate` is in the ledger as a call of another session. */
export interface Told {
  readonly status: "recorded" | "replaced" | "unchanged" | "duplicate"
  readonly row: UsageRow
}

export interface UsagePlan {
  readonly told: ReadonlyArray<Told>
  readonly counting: Counting
  readonly now: number
}

/** Records a call, as a write of the running turn where its epoch is given. */
export const record = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  call: NewCall,
  epoch: number | undefined,
  recording: Recording,
) {
  const session = yield* requireSession(scope, sessionId)
  const turn = epoch === undefined ? undefined : yield* requireTurn(session, epoch)
  const own = turn !== undefined && call.turn === "" ? { ...call, turn: turn.id } : call
  const plan = yield* planUsage(session, [own], recording)
  const [told] = applyUsage(tx, plan)
  if (turn !== undefined) tx.update(SessionTable, [sessionId], (row) => renewed(row, recording.now))
  return told!
})

/** Reads what calls of a session change, and decides what becomes of each. The session's row was read. */
export const planUsage = fn(function* (tx, session: SessionRow, calls: ReadonlyArray<NewCall>, recording: Recording) {
  const ledger = yield* readLedger(session, calls)
  const told: Array<Told> = []
  const changes = new Map<string, Change>()
  for (const call of calls) {
    const id = key(call.callId)
    const known = ledger.rows.get(id)
    if (known !== undefined && known.sessionId !== session.id) {
      told.push({ status: "duplicate", row: known })
      continue
    }
    if (isOfOtherMoney(call, ledger.tops.get(call.counter))) {
      const problem = "must be the currency in which these totals were told before"
      return yield* tx.fail(new InvalidInput({ field: "call.currency", value: call.currency, problem }))
    }
    const row = nextRow(session, call, known, ledger, recording)
    if (row === undefined) {
      told.push({ status: "unchanged", row: known! })
      continue
    }
    ledger.rows.set(id, row)
    if (row.turn !== "") ledger.opened.add(row.turn)
    if (row.counter !== undefined) ledger.tops.set(row.counter, row)
    const earlier = changes.get(id)
    changes.set(id, { before: earlier === undefined ? known : earlier.before, after: row })
    told.push({ status: known === undefined ? "recorded" : "replaced", row })
  }
  const plan: UsagePlan = { told, counting: yield* planCounting([...changes.values()]), now: recording.now }
  return plan
})

/** Writes what was planned, and answers what became of each call. Nothing is written where nothing changes. */
export const applyUsage = (tx: Handle, { counting, now, told }: UsagePlan): ReadonlyArray<Told> => {
  applyCounting(tx, counting, now)
  return told
}

/** What the ledger knows of some calls, and by what they are judged. */
interface Ledger {
  readonly rows: Map<string, UsageRow>
  /** Turns that have a call. */
  readonly opened: Set<string>
  /** The last call of each counter. */
  readonly tops: Map<string | undefined, UsageRow>
}

const readLedger = fn(function* (tx, session: SessionRow, calls: ReadonlyArray<NewCall>) {
  const ids = distinct(calls.map(({ callId }) => key(callId)))
  const turns = distinct(calls.map(({ turn }) => turn)).filter((turn) => turn !== "")
  const counters = distinct(calls.map(({ counter }) => counter)).filter((counter) => counter !== undefined)
  const rows = yield* tx.all(ids.map((id) => tx.get(UsageTable, [id])))
  const ledger: Ledger = { rows: new Map(), opened: new Set(), tops: new Map() }
  for (const row of rows) if (row !== undefined) ledger.rows.set(row.call, row)
  const marks = [
    ...turns.map((turn) => tx.range(UsageTable, "bySession", { prefix: [session.id, turn], limit: 1 })),
    ...counters.map((counter) =>
      tx.range(UsageTable, "byCounter", { prefix: [session.id, counter], reverse: true, limit: 1 }),
    ),
  ]
  if (marks.length === 0) return ledger
  for (const [i, [row]] of (yield* tx.all(marks)).entries()) {
    if (row === undefined) continue
    if (i < turns.length) ledger.opened.add(row.turn)
    else ledger.tops.set(row.counter, row)
  }
  return ledger
})

const distinct = <A>(items: ReadonlyArray<A>): ReadonlyArray<A> => (items.length < 2 ? items : [...new Set(items)])

const isOfOtherMoney = (call: NewCall, top: UsageRow | undefined): boolean =>
  call.cost !== null && typeof top?.reading?.cost === "number" && top.currency !== call.currency

/** The row of a call as it is told now; `undefined`: it is in the ledger, and nothing more is told of it. */
const nextRow = (
  session: SessionRow,
  call: NewCall,
  known: UsageRow | undefined,
  { opened, tops }: Ledger,
  { now, prices }: Recording,
): UsageRow | undefined => {
  const spent = call.counter === undefined ? call : sinceReading(call, known, tops.get(call.counter))
  if (known !== undefined && !tellsMore(spent, known)) return undefined
  const { counter, raw } = call
  const turn = known?.turn || call.turn
  const priced = priceOf(spent, prices)
  const row: UsageRow = {
    call: key(call.callId),
    callId: call.callId,
    provider: call.provider,
    model: call.model,
    at: call.at ?? known?.at ?? now,
    outcome: call.outcome,
    input: spent.input,
    output: spent.output,
    reasoning: spent.reasoning,
    cacheRead: spent.cacheRead,
    cacheWrite: spent.cacheWrite,
    cost: priced.cost,
    sessionId: session.id,
    turn,
    treeId: session.treeId,
    projectId: known?.projectId ?? session.projectId,
  }
  const entryId = known?.entryId ?? call.entryId
  const agent = known === undefined ? session.agent : known.agent
  if (priced.currency !== undefined) row.currency = priced.currency
  if (priced.pricedBy !== undefined) row.pricedBy = priced.pricedBy
  if (entryId !== undefined) row.entryId = entryId
  if (known?.opensTurn ?? (turn !== "" && !opened.has(turn))) row.opensTurn = true
  if (raw !== undefined) row.raw = raw
  if (agent !== undefined) row.agent = agent
  if (session.owner !== undefined) row.owner = session.owner
  if (counter !== undefined) Object.assign(row, { counter, ...readingOf(call, tops.get(counter)) })
  return row
}

export const tokensOf = ({ cacheRead, cacheWrite, input, output, reasoning }: Tokens): Tokens => ({
  input,
  output,
  reasoning,
  cacheRead,
  cacheWrite,
})

type Priced = Pick<UsageRow, "cost" | "currency" | "pricedBy">

/** What the caller says, else what the table says, else unknown. */
const priceOf = (call: NewCall, prices: PriceTable | undefined): Priced => {
  const { cost, currency } = call
  if (cost !== null) return { cost, currency, pricedBy: "caller" }
  return pricedByTable(call, prices)
}

const pricedByTable = (call: Parameters<typeof costOf>[1], prices: PriceTable | undefined): Priced => {
  const found = costOf(prices, call)
  return found === undefined ? { cost: null } : { ...found, pricedBy: "table" }
}

/**
 * Whether more is told of a call than is known: more tokens, or as many and more kinds of them, or then a cost, or a
 * higher one.
 */
const tellsMore = (told: NewCall, known: UsageRow): boolean => {
  const before = extentOf(known, known.pricedBy === "caller" ? known.cost : null)
  const now = extentOf(told, told.cost)
  const differs = now.findIndex((size, i) => size !== before[i])
  return differs >= 0 && now[differs]! > before[differs]!
}

const extentOf = (tokens: Tokens, cost: number | null): ReadonlyArray<number> => [
  tokensIn(tokens),
  tokenKinds.filter((kind) => tokens[kind] !== null).length,
  cost === null ? 0 : 1,
  cost ?? 0,
]

const readingKinds = [...tokenKinds, "cost"] as const

/**
 * A call with what its running totals have grown by since the last reading of their counter; for a call that is known,
 * on top of what it had. Totals that went back have grown by nothing.
 */
const sinceReading = (call: NewCall, known: UsageRow | undefined, top: UsageRow | undefined): NewCall => {
  const grown = { ...call }
  const had: Reading | undefined = known && {
    ...tokensOf(known),
    cost: known.pricedBy === "caller" ? known.cost : null,
  }
  for (const kind of readingKinds) {
    const before = had?.[kind] ?? null
    const told = call[kind]
    grown[kind] = told === null ? before : (before ?? 0) + Math.max(0, told - (top?.reading?.[kind] ?? 0))
  }
  return grown
}

/** The highest totals that a counter has shown. */
const readingOf = (call: NewCall, top: UsageRow | undefined): Pick<UsageRow, "reading" | "reach"> => {
  const reading: Reading = { ...tokensOf(call), cost: call.cost }
  for (const kind of readingKinds) {
    const before = top?.reading?.[kind] ?? null
    if (before !== null) reading[kind] = Math.max(before, reading[kind] ?? 0)
  }
  return { reading, reach: tokensIn(reading) }
}

/** How many calls one step prices anew. */
const pricedAtOnce = 100

/**
 * Prices the next calls behind `after` by a table. A cost that the caller gave stays, unless `given`; so does that of a
 * call for which the table has no price.
 */
export const reprice = fn(function* (
  tx,
  scope: Scope,
  span: Span,
  after: Moment | undefined,
  given: boolean,
  { now, prices }: Recording,
) {
  const { calls, end } = yield* callsIn(span, after, pricedAtOnce)
  const changes = calls.flatMap((before): ReadonlyArray<Change> => {
    if (!isSeen(scope, before) || (before.pricedBy === "caller" && !given)) return []
    const priced = pricedByTable(before, prices)
    const isSame = priced.cost === before.cost && priced.currency === before.currency
    return priced.cost === null || isSame ? [] : [{ before, after: { ...before, ...priced } }]
  })
  applyCounting(tx, yield* planCounting(changes), now)
  return { changed: changes.length, end }
})
