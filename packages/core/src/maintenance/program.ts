/**
 * The rules of maintenance: what becomes of what a dead owner held, what time makes superfluous, and who sees to it.
 */
import { findHeld } from "../operation/program.ts"
import { OperationTable } from "../operation/model.ts"
import type { Holder, OperationRow } from "../operation/model.ts"
import { applyRelease, planRelease } from "../queue/claim.ts"
import type { Release } from "../queue/claim.ts"
import { readQueue, settleTime } from "../queue/line.ts"
import { QueueItemTable } from "../queue/model.ts"
import type { QueueItemRow } from "../queue/model.ts"
import { isSeen } from "../scope.ts"
import type { Scope } from "../scope.ts"
import { linkedAmong } from "../deletion/need.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import { applyEnd, crashRecovery, planEnd } from "../turn/program.ts"
import type { Dead, EndPlan } from "../turn/program.ts"

/**
 * Ends turns that were found dead, as they were seen: what has renewed its lease since is left alone. What their owners had
 * claimed is back in its place. Nobody said anything, so that no activity moves. TRN-05
 */
export const endDead = fn(function* (tx, scope: Scope, dead: ReadonlyArray<Dead>, now: number) {
  const sessions = yield* tx.all(dead.map(({ sessionId }) => tx.get(SessionTable, [sessionId])))
  const plans: Array<{ readonly session: SessionRow; readonly plan: EndPlan; readonly release: Release | undefined }> =
    []
  for (const [i, session] of sessions.entries()) {
    const activeTurn = session?.activeTurn
    if (session === undefined || activeTurn === undefined || !isSeen(scope, session)) continue
    if (activeTurn.epoch !== dead[i]!.epoch || activeTurn.beat !== dead[i]!.beat) continue
    const release = yield* planRelease(session, activeTurn.owner, now)
    plans.push({ session, plan: yield* planEnd(session, activeTurn), release })
  }
  const ending = { outcome: "interrupted", reason: crashRecovery } as const
  return plans.map(({ plan, release, session }) => {
    if (release !== undefined) applyRelease(tx, release)
    return applyEnd(tx, session, plan, ending, now).turn
  })
})

/** Where a walk over all sessions goes on. */
export type SurveyPlace = string

/** Some sessions, by their ids, and which of them others link to. One that cannot be read is left out. */
export const survey = fn(function* (tx, after: SurveyPlace | undefined) {
  const found = yield* tx.range(SessionTable, "key", {
    ...(after !== undefined && { after: [after] as const }),
    unreadable: "keep",
  })
  const rows = found.filter((row): row is Readonly<SessionRow> => !isUnreadable(row))
  const last = found.length < maxRange ? undefined : found.at(-1)
  const next: SurveyPlace | undefined = last && (isUnreadable(last) ? String(last.key[0]) : last.id)
  const linked = yield* linkedAmong(rows.map(({ id }) => id))
  return { rows, linked, next }
})

/** Where a walk over items goes on whose time is over. */
export type ExpiredPlace = Pick<QueueItemRow, "sessionId" | "id"> & { readonly expiresAt: number }

/** Sessions in whose queues something waits whose time is over. */
export const findExpired = fn(function* (tx, after: ExpiredPlace | undefined, now: number) {
  const rows: ReadonlyArray<Readonly<QueueItemRow> | Unreadable> = yield* tx.range(QueueItemTable, "byEnd", {
    ...(after !== undefined && { after: [after.expiresAt, after.sessionId, after.id] as const }),
    to: [now],
    unreadable: "keep",
  })
  const items = rows.filter((row): row is Readonly<QueueItemRow> => !isUnreadable(row))
  const last = rows.length < maxRange ? undefined : items.at(-1)
  const next: ExpiredPlace | undefined = last && { ...last, expiresAt: last.expiresAt ?? 0 }
  return { sessions: [...new Set(items.map(({ sessionId }) => sessionId))], next }
})

/** Lets items leave whose time is over, and says how many. */
export const expireItems = fn(function* (tx, scope: Scope, sessionId: string, now: number) {
  const session = yield* tx.get(SessionTable, [sessionId])
  if (session === undefined || !isSeen(scope, session)) return 0
  const queue = yield* readQueue(session, now)
  if (queue.expired.length > 0) yield* settleTime(queue)
  return queue.expired.length
})

/** Forgets what was done so long ago that nobody asks for it again: some of it, and says whether that was all. */
export const expireReceipts = fn(function* (tx, now: number) {
  const rows = yield* tx.range(OperationTable, "byExpiry", { to: [now], unreadable: "keep" })
  const old = rows.filter((row) => isUnreadable(row) || row.unfinished === undefined)
  for (const row of old) tx.remove(OperationTable, [isUnreadable(row) ? String(row.key[0]) : row.id])
  return { count: old.length, isAll: rows.length < maxRange || old.length === 0 }
})

/** The operation that whoever looks after the store holds. No caller can give one this name. */
export const keeping = ":maintenance"

/** Takes the store over to look after it: from nobody, from oneself, or from somebody who was seen to be gone. */
export const keep = fn(function* (tx, holder: Holder, gone: Holder | undefined) {
  const row = yield* tx.get(OperationTable, [keeping])
  const before = row?.holder
  const isFree = before === undefined || before.owner === holder.owner
  const isGone = before !== undefined && before.owner === gone?.owner && before.beat === gone.beat
  if (!isFree && !isGone) return { isKept: false, before }
  const next: OperationRow = {
    id: keeping,
    sessionId: "",
    unfinished: keeping,
    holder: { ...holder, beat: (before?.beat ?? 0) + 1 },
    result: null,
    expiresAt: Number.MAX_SAFE_INTEGER,
  }
  if (row === undefined) tx.insert(OperationTable, next)
  else tx.update(OperationTable, [keeping], () => next)
  return { isKept: true, before }
})

/** Lets go of the store. */
export const letGo = fn(function* (tx, owner: string) {
  if ((yield* findHeld({ key: keeping, owner })) !== undefined) tx.remove(OperationTable, [keeping])
})
