/**
 * Summaries: which sums answer a question, and how they are put together.
 *
 * Guarantee: only sums are read, so that the cost does not grow with the number of calls, and of these the fewest that
 * tell apart what is asked for. A window is one read: no reader holds a snapshot for longer than that.
 */
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { requireSession } from "../session/program.ts"
import { isSeen } from "../scope.ts"
import type { Scope } from "../scope.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Handle, Query as Read, Unreadable } from "../storage/transaction.ts"
import { scopeOf } from "./counting.ts"
import type { Span } from "./ledger.ts"
import { UsageSumTable } from "./model.ts"
import type { SumKind, Tally, UsageSumRow } from "./model.ts"
import { dayOf, quartersADay, slotOf, spentBefore } from "./slots.ts"
import { noCalls, plus, tokensIn } from "./tally.ts"
import { groupTotals, Sums, totalsOf } from "./totals.ts"
import type { UsageTotals } from "./totals.ts"
import type { Stretch, Zone } from "./zones.ts"

export const groupings = ["session", "agent", "model", "provider", "day", "project"] as const
export type Grouping = (typeof groupings)[number]

/** What a summary is of. `all` is what an owner has, or without an owner's key everybody. */
export type Subject =
  | { readonly of: "all"; readonly ownerKey: string | undefined }
  | { readonly of: "project" | "session" | "tree"; readonly id: string }

/** Sums that stand together in an order of their table. */
type Source =
  | { readonly order: "key"; readonly scope: string }
  | { readonly order: "byKind"; readonly kind: SumKind }
  | { readonly order: "byOwner"; readonly kind: SumKind; readonly ownerKey: string }
  | { readonly order: "byProject" | "byTree"; readonly id: string }

/** The sums that tell the groups of a subject apart. */
const sourceOf = (subject: Subject, grouping: Grouping | undefined): Source => {
  switch (subject.of) {
    case "session":
      return { order: "key", scope: scopeOf("session", subject.id) }
    case "tree":
      return { order: "byTree", id: subject.id }
    case "project":
      if (grouping === "session") return { order: "byProject", id: subject.id }
      return { order: "key", scope: scopeOf("project", subject.id) }
    case "all": {
      const { ownerKey } = subject
      const kind = grouping === "session" || grouping === "project" ? grouping : "all"
      if (ownerKey === undefined) return { order: "byKind", kind }
      return kind === "all" ? { order: "key", scope: scopeOf(kind, ownerKey) } : { order: "byOwner", kind, ownerKey }
    }
  }
}

/** Where a sum stands in its table, and so in every order that is read. */
export type Place = Pick<UsageSumRow, "scope" | "day" | "cell">

export interface Window {
  readonly rows: ReadonlyArray<Readonly<UsageSumRow>>
  /** How many could not be read. */
  readonly unreadable: number
  /** Where the next window begins. Undefined: there are no more rows. */
  readonly end: Place | undefined
}

/** The next sums of a subject behind `after`. */
export const sums = fn(function* (
  tx,
  scope: Scope,
  subject: Subject,
  grouping: Grouping | undefined,
  span: Span,
  after: Place | undefined,
) {
  const found = yield* readSums(tx, sourceOf(subject, grouping), daysOf(span), after)
  const readable = found.filter((row): row is Readonly<UsageSumRow> => !isUnreadable(row))
  const window: Window = {
    rows: readable.filter((row) => isSeen(scope, row) && (grouping !== "session" || row.kind === "session")),
    unreadable: found.length - readable.length,
    end: found.length < maxRange ? undefined : placeOf(found.at(-1)!),
  }
  return window
})

/** The first and the last UTC day of a time. */
const daysOf = ({ from, to }: Span) => ({ first: dayOf(from), last: dayOf(to - 1) })

export const placeOf = (row: Readonly<UsageSumRow> | Unreadable): Place => {
  if (!isUnreadable(row)) return row
  const [scope, day, cell] = row.key as readonly [string, number, string]
  return { scope, day, cell }
}

const readSums = (
  tx: Handle,
  source: Source,
  days: ReturnType<typeof daysOf>,
  after: Place | undefined,
): Read<ReadonlyArray<Readonly<UsageSumRow> | Unreadable>> => {
  const keep = { unreadable: "keep" } as const
  switch (source.order) {
    case "key": {
      const { scope } = source
      const start =
        after === undefined
          ? { from: [scope, days.first] as const }
          : { after: [scope, after.day, after.cell] as const }
      return tx.range(UsageSumTable, "key", { ...start, to: [scope, days.last], ...keep })
    }
    case "byKind":
      return tx.range(UsageSumTable, source.order, { ...boundsIn([source.kind], days, after), ...keep })
    case "byOwner":
      return tx.range(UsageSumTable, source.order, {
        ...boundsIn([source.kind, source.ownerKey], days, after),
        ...keep,
      })
    default:
      return tx.range(UsageSumTable, source.order, { ...boundsIn([source.id], days, after), ...keep })
  }
}

/** Bounds of an index that has days behind `prefix`. */
const boundsIn = <const Prefix extends ReadonlyArray<string>>(
  prefix: Prefix,
  { first, last }: ReturnType<typeof daysOf>,
  after: Place | undefined,
) => ({
  ...(after === undefined
    ? { from: [...prefix, first] as const }
    : { after: [...prefix, after.day, after.scope, after.cell] as const }),
  to: [...prefix, last] as const,
})

/**
 * A session, and where they are wanted the tasks below it at any depth. A chain that was damaged into a circle is cut where
 * it meets itself.
 */
export const withTasks = fn(function* (tx, scope: Scope, sessionId: string, wanted: boolean) {
  yield* requireSession(scope, sessionId)
  const found = new Set([sessionId])
  let unreadable = 0
  // Grows while it is walked.
  for (const parentId of wanted ? found : []) {
    let after: readonly [string, number, string] | undefined
    do {
      const rows: ReadonlyArray<Readonly<SessionRow> | Unreadable> = yield* tx.range(SessionTable, "byParent", {
        prefix: [parentId],
        ...(after !== undefined && { after }),
        unreadable: "keep",
      })
      const readable = rows.filter((row): row is Readonly<SessionRow> => !isUnreadable(row))
      for (const row of readable) if (row.kind === "task" && isSeen(scope, row)) found.add(row.id)
      const last = readable.at(-1)
      after = rows.length < maxRange || last === undefined ? undefined : [parentId, last.createdAt, last.id]
      unreadable += rows.length - readable.length
    } while (after !== undefined)
  }
  return { ids: [...found], unreadable }
})

/** Totals of calls that have something in common; of what that is, the fields that were asked for. */
export interface UsageGroup extends UsageTotals {
  readonly session?: string
  /** `null`: of sessions without an agent. */
  readonly agent?: string | null
  readonly provider?: string
  readonly model?: string
  readonly project?: string
  /** `YYYY-MM-DD` in the time zone. */
  readonly day?: string
  /** When the day begins and ends, in milliseconds since 1970: it may have 23 or 25 hours. */
  readonly from?: number
  readonly to?: number
}

type Common = Omit<UsageGroup, keyof UsageTotals>

/** What a summary is made with. */
export interface Question {
  readonly grouping: Grouping | undefined
  readonly agent: string | undefined
  readonly span: Span
  readonly zone: Zone
}

/** A summary that grows, a sum at a time. */
export class Summing {
  readonly #question: Question
  readonly #total = new Sums()
  readonly #groups = new Map<string, { readonly common: Common; readonly sums: Sums }>()
  readonly #days = new Map<number, ReadonlyArray<Stretch>>()

  constructor(question: Question) {
    this.#question = question
  }

  add(row: Readonly<UsageSumRow>): void {
    const { agent } = this.#question
    if (agent !== undefined && row.agent !== agent) return
    let place = 0
    let before: Tally = noCalls
    for (const { date, from, to } of this.#stretches(row.day)) {
      if (from > place) before = spentBefore(row.slots, from, row.tally)
      const upTo = to === quartersADay ? row.tally : spentBefore(row.slots, to, row.tally)
      this.#take(row, date, before === noCalls ? upTo : plus(upTo, before, -1))
      place = to
      before = upTo
    }
  }

  #take(row: Readonly<UsageSumRow>, date: string, tally: Tally): void {
    if (tally.calls === 0) return
    this.#total.add(row.currency, tally)
    const { grouping } = this.#question
    if (grouping === undefined) return
    const id = groupId(grouping, row, date)
    let group = this.#groups.get(id)
    if (group === undefined) {
      group = { common: commonOf(grouping, row, date, this.#question.zone), sums: new Sums() }
      this.#groups.set(id, group)
    }
    group.sums.add(row.currency, tally)
  }

  /** The parts of a UTC day that are asked for, local days apart where they are to be told apart. */
  #stretches(day: number): ReadonlyArray<Stretch> {
    const known = this.#days.get(day)
    if (known !== undefined) return known
    const { grouping, span, zone } = this.#question
    const first = day === dayOf(span.from) ? slotOf(span.from) : 0
    const end = day === dayOf(span.to) ? slotOf(span.to) : quartersADay
    const all = grouping === "day" ? zone.stretches(day) : [{ date: "", from: 0, to: quartersADay }]
    const found = all
      .map(({ date, from, to }) => ({ date, from: Math.max(from, first), to: Math.min(to, end) }))
      .filter(({ from, to }) => from < to)
    this.#days.set(day, found)
    return found
  }

  get total(): UsageTotals {
    return totalsOf(this.#total.spent)
  }

  /** Days in their order; others by the tokens they used, the most first. */
  get groups(): ReadonlyArray<UsageGroup> {
    const { grouping } = this.#question
    const hasTurns = grouping !== "model" && grouping !== "provider"
    return [...this.#groups]
      .map(([id, { common, sums }]) => {
        const group: UsageGroup = groupTotals(common, sums.spent, hasTurns)
        return { id, group, size: grouping === "day" ? 0 : tokensIn(group) }
      })
      .toSorted((a, b) => b.size - a.size || (a.id < b.id ? -1 : 1))
      .map(({ group }) => group)
  }
}

const groupId = (grouping: Grouping, row: Readonly<UsageSumRow>, date: string): string => {
  switch (grouping) {
    case "session":
      return row.sessionId!
    case "agent":
      return row.agent ?? ""
    case "model":
      return `${row.provider}\0${row.model}`
    case "provider":
      return row.provider
    case "project":
      return row.projectId!
    case "day":
      return date
  }
}

const commonOf = (grouping: Grouping, row: Readonly<UsageSumRow>, date: string, zone: Zone): Common => {
  switch (grouping) {
    case "session":
      return { session: row.sessionId! }
    case "agent":
      return { agent: row.agent ?? null }
    case "model":
      return { provider: row.provider, model: row.model }
    case "provider":
      return { provider: row.provider }
    case "project":
      return { project: row.projectId! }
    case "day":
      return { day: date, ...zone.boundsOf(date) }
  }
}
