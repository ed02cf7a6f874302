/**
 * From a change of the ledger to all that follows from it: the sums, and the totals of session and turn.
 *
 * Guarantee: each row is read once and written once, however many calls change it. What would make a sum inexact is
 * refused before anything is written.
 */
import type { UsageRecorded } from "../notice.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { InvalidInput } from "../storage/error.ts"
import { key } from "../storage/key.ts"
import { fn } from "../storage/transaction.ts"
import type { Handle } from "../storage/transaction.ts"
import { TurnTable } from "../turn/model.ts"
import { canonical } from "../value.ts"
import { UsageSumTable, UsageTable } from "./model.ts"
import type { Spent, SumKind, UsageRow, UsageSumRow } from "./model.ts"
import { dayOf, slotOf, withTally } from "./slots.ts"
import { inexactIn, noCalls, plus, tallyOf, withParts } from "./tally.ts"
import type { Part } from "./tally.ts"

/** A row of the ledger as it was counted, and as it is to be counted: a new one, another one, or none any more. */
export type Change =
  | { readonly before: UsageRow | undefined; readonly after: UsageRow }
  | { readonly before: UsageRow; readonly after: undefined }

/** What changes of the ledger make of other rows. */
export interface Counting {
  readonly changes: ReadonlyArray<Change>
  readonly sums: ReadonlyArray<{ readonly isNew: boolean; readonly row: UsageSumRow }>
  readonly sessions: ReadonlyArray<{ readonly id: string; readonly usage: Array<Spent> }>
  readonly turns: ReadonlyArray<{ readonly key: readonly [string, number]; readonly usage: Array<Spent> }>
}

/** Reads what changes of the ledger touch, and works out what becomes of it. A session or turn that is gone has no totals. */
export const planCounting = fn(function* (tx, changes: ReadonlyArray<Change>) {
  const nothing: Counting = { changes, sums: [], sessions: [], turns: [] }
  if (changes.length === 0) return nothing
  const parts = changes.flatMap(({ after, before }): ReadonlyArray<Part> => [
    ...(before === undefined ? [] : [{ call: before, times: -1 } as const]),
    ...(after === undefined ? [] : [{ call: after, times: 1 } as const]),
  ])
  const bySum = grouped(parts, sumsOf, sumId)
  const bySession = grouped(parts, ({ sessionId }) => [sessionId], String)
  const byTurn = grouped(parts, turnsOf, String)
  const sumRows = yield* tx.all(bySum.map(({ of }) => tx.get(UsageSumTable, [of.scope, of.day, of.cell])))
  const sessionRows = yield* tx.all(bySession.map(({ of }) => tx.get(SessionTable, [of])))
  const turnRows = byTurn.length === 0 ? [] : yield* tx.all(byTurn.map(({ of }) => tx.find(TurnTable, "byId", of)))
  const counting: Counting = {
    changes,
    sums: bySum.map(({ of, parts }, i) => ({ isNew: sumRows[i] === undefined, row: counted(sumRows[i] ?? of, parts) })),
    sessions: bySession.flatMap(({ of, parts }, i) => {
      const row = sessionRows[i]
      return row === undefined ? [] : [{ id: of, usage: withParts(row.usage ?? [], parts) }]
    }),
    turns: byTurn.flatMap(({ parts }, i) => {
      const row = turnRows[i]
      return row === undefined ? [] : [{ key: [row.sessionId, row.epoch], usage: withParts(row.usage ?? [], parts) }]
    }),
  }
  const { sessions, sums, turns } = counting
  const tallies = [...sums.map(({ row }) => row.tally), ...[...sessions, ...turns].flatMap(({ usage }) => usage)]
  const tooMuch = inexactIn(tallies)
  if (tooMuch !== undefined) {
    const [measure, value] = tooMuch
    const problem = `would make a sum of more than ${Number.MAX_SAFE_INTEGER}, the largest that is exact`
    return yield* tx.fail(new InvalidInput({ field: `call.${measure}`, value, problem }))
  }
  return counting
})

/** Writes changes of the ledger and what follows from them. */
export const applyCounting = (tx: Handle, { changes, sessions, sums, turns }: Counting, now: number): void => {
  for (const { after, before } of changes) {
    if (after === undefined) tx.remove(UsageTable, [before.call])
    else if (before === undefined) tx.insert(UsageTable, after)
    else tx.update(UsageTable, [after.call], () => after)
    const { callId, owner, sessionId } = after ?? before
    const notice: UsageRecorded = { _tag: "UsageRecorded", callId, sessionId, ...(owner !== undefined && { owner }) }
    tx.notify(notice)
  }
  for (const { isNew, row } of sums) {
    const key = [row.scope, row.day, row.cell] as const
    // Of calls that are counted no more, nothing stays.
    if (row.tally.calls === 0 && changes.every(({ after }) => after === undefined)) tx.remove(UsageSumTable, key)
    else if (isNew) tx.insert(UsageSumTable, row)
    else tx.update(UsageSumTable, key, () => row)
  }
  for (const { id, usage } of sessions) tx.update(SessionTable, [id], (row) => spentBy(row, usage, now))
  for (const { key, usage } of turns) tx.update(TurnTable, key, (row) => ({ ...row, usage }))
}

const spentBy = (session: SessionRow, usage: Array<Spent>, now: number): SessionRow => ({
  ...session,
  usage,
  revision: session.revision + 1,
  updatedAt: Math.max(session.updatedAt, now),
})

/** Calls that count in one sum. */
interface Group<Of> {
  readonly of: Of
  readonly parts: Array<Part>
}

const grouped = <Of>(
  parts: ReadonlyArray<Part>,
  groupsOf: (call: UsageRow) => ReadonlyArray<Of>,
  idOf: (of: Of) => string,
): ReadonlyArray<Group<Of>> => {
  const groups = new Map<string, Group<Of>>()
  for (const part of parts) {
    for (const of of groupsOf(part.call)) {
      const id = idOf(of)
      const known = groups.get(id)
      if (known === undefined) groups.set(id, { of, parts: [part] })
      else known.parts.push(part)
    }
  }
  return [...groups.values()]
}

const turnsOf = ({ sessionId, turn }: UsageRow): ReadonlyArray<readonly [string, string]> =>
  turn === "" ? [] : [[sessionId, turn]]

export const sumId = ({ cell, day, scope }: UsageSumRow): string => `${scope}\0${day}\0${cell}`

/** Where sums stand: of a project or a session by its id, of all that an owner has by the owner's key, or without one. */
export const scopeOf = (kind: SumKind, id: string): string => `${kind}:${id}`

/** The sums that a call counts in, before anything was. */
export const sumsOf = (call: UsageRow): ReadonlyArray<UsageSumRow> => {
  const { agent, currency, model, owner, projectId, provider, sessionId, treeId } = call
  const ownerKey = owner === undefined ? undefined : key(owner)
  const common = [provider, model, agent ?? null, currency ?? null]
  const cell = key(canonical(common))
  const sum = (kind: SumKind, id: string | undefined): UsageSumRow => {
    const row: UsageSumRow = {
      scope: scopeOf(kind, id ?? ""),
      day: dayOf(call.at),
      // A session may have been of several projects.
      cell: kind === "session" ? key(canonical([...common, projectId])) : cell,
      kind,
      provider,
      model,
      tally: noCalls,
      slots: "",
    }
    if (agent !== undefined) row.agent = agent
    if (currency !== undefined) row.currency = currency
    if (owner !== undefined) row.owner = owner
    if (ownerKey !== undefined) row.ownerKey = ownerKey
    if (kind !== "all") row.projectId = projectId
    if (kind === "session") {
      row.sessionId = sessionId
      row.treeId = treeId
    }
    return row
  }
  return [sum("all", ownerKey), sum("project", projectId), sum("session", sessionId)]
}

/** A sum with calls counted in, or out. */
export const counted = (sum: UsageSumRow, parts: ReadonlyArray<Part>): UsageSumRow => {
  let { slots, tally } = sum
  for (const { call, times } of parts) {
    const one = tallyOf(call)
    tally = plus(tally, one, times)
    slots = withTally(slots, slotOf(call.at), one, times)
  }
  return { ...sum, tally, slots }
}
