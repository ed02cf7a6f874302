/**
 * The rules of sending: an item leaves its queue in the commit that stores its message and begins a turn with it.
 *
 * What stops one item stands in the way of those behind it, so that nothing is sent out of turn: whoever works off queues
 * sets it aside. An item that was sent by hand and is still in the queue, because its sender died in between, is never sent
 * again.
 */
import * as Data from "effect/Data"
import type { EntryRow } from "../message/model.ts"
import type { NewEntry } from "../message/placement.ts"
import { findSubmitted, placeAtHead, writeAtHead } from "../message/program.ts"
import { userMessageId } from "../message/user-message-id.ts"
import { isSeen } from "../scope.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { IdConflict, OperationConflict, requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { fn, isUnreadable } from "../storage/transaction.ts"
import type { Handle } from "../storage/transaction.ts"
import { requireTurn } from "../turn/fence.ts"
import { TurnTable } from "../turn/model.ts"
import { pick } from "./claim.ts"
import type { Nothing, Wanted } from "./claim.ts"
import {
  allItems,
  isFrom,
  isReadable,
  isWaiting,
  nextBeside,
  pauseOf,
  readQueue,
  settle,
  settleTime,
  unclaimed,
} from "./line.ts"
import type { Found, Item, Leaving, QueueNow } from "./line.ts"
import { paused } from "./state.ts"

/** No item is to be had now. Nothing was written. */
export class NothingQueued extends Data.TaggedError("NothingQueued")<Nothing & { readonly sessionId: string }> {
  override get message() {
    const why = { paused: "its queue is paused", claimed: "an item is claimed", empty: "nothing waits" }[this.reason]
    return `session ${this.sessionId} has nothing to send: ${why}`
  }
}

/** The entry that an item becomes. */
export const entryOf = ({ attachments, id, message, sessionId }: Item): NewEntry => {
  const { blank: _blank, ...said } = message
  return {
    ...said,
    ...(attachments !== undefined && attachments.length > 0 && { attachments: [...attachments] }),
    id: said.id ?? userMessageId(sessionId, id),
    kind: "message",
    role: "user",
  }
}

/** An item that is about to be sent. */
export interface Sending {
  readonly queue: QueueNow
  readonly item: Item
  readonly entry: NewEntry
  /** The entry as it is stored already, by hand, with nothing said since. */
  readonly stored: EntryRow | undefined
  /** The first of the items that stay. */
  readonly next: Item | undefined
}

/** Why an item cannot be sent, by its own fault; or that it was. */
type Fault =
  | { readonly _tag: "Sent" }
  | { readonly _tag: "Spent"; readonly attempts: number }
  | { readonly _tag: "Taken"; readonly id: string }

/** Looks whether an item can be sent. */
const inspect = fn(function* (tx, session: SessionRow, item: Item, maxAttempts: number) {
  const { attempts, requestedTurnId } = item
  const entry = entryOf(item)
  const before = yield* findSubmitted(session, entry)
  const holder =
    requestedTurnId === undefined ? undefined : yield* tx.find(TurnTable, "byId", [session.id, requestedTurnId])
  const fault = ((): Fault | undefined => {
    if (before !== undefined && !before.isSame) return { _tag: "Taken", id: entry.id }
    if (before !== undefined && (before.turn !== undefined || !before.isHead)) return { _tag: "Sent" }
    if (attempts >= maxAttempts) return { _tag: "Spent", attempts }
    return holder === undefined ? undefined : { _tag: "Taken", id: holder.id }
  })()
  return { entry, stored: before?.entry, fault }
})

/**
 * Reads and decides which item is sent, for `applySending`.
 *
 * @param maxAttempts  how often an item may have been tried
 */
export const planSending = fn(function* (tx, session: SessionRow, wanted: Wanted, maxAttempts: number, now: number) {
  const queue = yield* readQueue(session, now)
  const { item, nothing } = yield* pick(queue, wanted)
  if (item === undefined) return yield* tx.fail(new NothingQueued({ sessionId: session.id, ...nothing }))
  const { entry, fault, stored } = yield* inspect(session, item, maxAttempts)
  if (fault?._tag === "Taken") return yield* tx.fail(new IdConflict({ id: fault.id }))
  if (fault?._tag === "Sent") {
    return yield* tx.fail(new OperationConflict({ id: item.id, field: "state", expected: "queued", actual: "sent" }))
  }
  if (fault !== undefined) {
    const { attempts } = fault
    const limit = new OperationConflict({ id: item.id, field: "attempts", expected: maxAttempts - 1, actual: attempts })
    return yield* tx.fail(limit)
  }
  const sending: Sending = { queue, item, entry, stored, next: yield* nextBeside(queue, [item.id]) }
  return sending
})

/** Takes the item out that is sent with this commit. */
export const applySending = (tx: Handle, { item, next, queue }: Sending): void => {
  settle(tx, queue, { leaving: [{ id: item.id, item, reason: "accepted" }], next })
}

/**
 * Sets the next item aside, where it cannot be sent: one that was sent leaves as accepted; any other has one attempt less,
 * and after the last one it is rejected and the queue pauses. Answers false where it can be sent after all.
 */
export const setAside = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  wanted: Wanted,
  maxAttempts: number,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  const queue = yield* readQueue(session, now)
  const { item } = yield* pick(queue, wanted)
  const { fault } = item === undefined ? {} : yield* inspect(session, item, maxAttempts)
  if (item === undefined || fault === undefined) {
    yield* settleTime(queue)
    return false
  }
  const next = yield* nextBeside(queue, [item.id])
  if (fault._tag === "Sent") {
    settle(tx, queue, { leaving: [{ id: item.id, item, reason: "accepted" }], next })
    return true
  }
  const attempts = item.attempts + 1
  if (attempts < maxAttempts) {
    settle(tx, queue, { changed: [{ item: { ...unclaimed(item), attempts } }], next })
    return true
  }
  settle(tx, queue, {
    leaving: [{ id: item.id, item, reason: "rejected" }],
    next,
    ...(next !== undefined && {
      whole: { reason: "paused", of: (row) => paused(row, "turn-final-failure", undefined, now) },
    }),
  })
  return true
})

/** Whether an item may be said in a turn that runs: it is text, and asks for no turn of its own. */
const mayJoin = ({ attachments = [], model, requestedTurnId }: Item): boolean =>
  attachments.length === 0 && model === undefined && requestedTurnId === undefined

/**
 * Hands the text items that wait over to the running turn: its user says them now, in their order. A paused queue hands
 * nothing over.
 */
export const inject = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  epoch: number,
  sources: ReadonlyArray<string> | undefined,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  const turn = yield* requireTurn(session, epoch)
  const queue = yield* readQueue(session, now)
  const placement = yield* placeAtHead(session)
  const leaving: Array<Leaving> = []
  const entries: Array<NewEntry> = []
  const waiting: ReadonlyArray<Found> = pauseOf(queue) === undefined ? yield* allItems(sessionId) : []
  for (const item of waiting) {
    if (!isReadable(item) || !isWaiting(item, now) || !mayJoin(item) || !isFrom(item, sources)) continue
    const { entry, fault, stored } = yield* inspect(session, item, Infinity)
    if (fault?._tag === "Taken") continue
    if (stored === undefined) entries.push(entry)
    leaving.push({ id: item.id, item, reason: stored === undefined ? "injected" : "accepted" })
  }
  const next = yield* nextBeside(
    queue,
    leaving.map(({ id }) => id),
  )
  settle(tx, queue, { leaving, next })
  return entries.length === 0 ? [] : writeAtHead(tx, session, placement, entries, turn, now)
})

/** A session whose queue may be worked on, as it was seen. */
export interface DueSession {
  readonly id: string
  readonly due: number
  readonly revision: number
}

export interface Due {
  readonly sessions: ReadonlyArray<DueSession>
  /** Behind which one to go on. */
  readonly next: DueSession | undefined
  /** At the end: when there will be another one. */
  readonly later: number | undefined
}

/** How many sessions are looked at at a time. */
const dueWindow = 100

/** Some sessions whose queues may be worked on, the one that has waited longest first. */
export const findDue = fn(function* (tx, scope: Scope, after: DueSession | undefined, now: number) {
  const rows = yield* tx.range(SessionTable, "byDue", {
    ...(after !== undefined && { after: [after.due, after.id] as const }),
    to: [now],
    limit: dueWindow,
    unreadable: "keep",
  })
  const readable = rows.filter((row): row is Readonly<SessionRow> => !isUnreadable(row))
  const last = rows.length < dueWindow ? undefined : readable.at(-1)
  const [later] = last === undefined ? yield* tx.range(SessionTable, "byDue", { after: [now], limit: 1 }) : []
  const found: Due = {
    sessions: readable.filter((row) => isSeen(scope, row)).map(toDue),
    next: last && toDue(last),
    later: later?.due,
  }
  return found
})

// A row that stands in the index has the field that it is sorted by.
const toDue = ({ due, id, revision }: Readonly<SessionRow>): DueSession => ({ id, due: due!, revision })

/** One session, as `findDue` gives it. */
export const findDueSession = fn(function* (_tx, scope: Scope, sessionId: string, now: number) {
  const { due, id, revision } = yield* requireSession(scope, sessionId)
  const isDue = due !== undefined && due <= now
  const found: Due = {
    sessions: isDue ? [{ id, due, revision }] : [],
    next: undefined,
    later: isDue ? undefined : due,
  }
  return found
})
