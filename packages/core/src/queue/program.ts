/**
 * The rules of queues: what waits in a session, in which order, and what people do with it.
 *
 * What is claimed is being sent: it may be looked at, and nothing else.
 */
import { OperationTable, receiptsKept } from "../operation/model.ts"
import { readReceipt } from "../operation/program.ts"
import type { PauseCause, QueuePause } from "../session/model.ts"
import { IdConflict, OperationConflict, requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { InvalidInput } from "../storage/error.ts"
import { key } from "../storage/key.ts"
import { fn, maxRange } from "../storage/transaction.ts"
import { canonical } from "../value.ts"
import {
  allItems,
  expiredBy,
  idOf,
  isEmpty,
  isExpired,
  isReadable,
  isWaiting,
  listBehind,
  nextBeside,
  noQueue,
  openQueue,
  pauseOf,
  readLeft,
  requestId,
  requireReadable,
  requireStored,
  requireWaiting,
  settle,
  settleTime,
  unclaimed,
} from "./line.ts"
import type { Changed, Found, Item, Leaving, LeaveReason, QueueNow } from "./line.ts"
import { QueueItemTable } from "./model.ts"
import type { QueueItemRow } from "./model.ts"
import { paused, resumed } from "./state.ts"

export { ItemNotFound } from "./line.ts"
export type { LeaveReason } from "./line.ts"

/** What is to be said, before it has a place in the queue. */
export type NewItem = Omit<QueueItemRow, "order" | "attempts" | "claim" | "claimedUntil" | "dedupe" | "enqueuedAt">

/** An item that was enqueued, now or before. */
export interface Enqueued {
  /** The id of the item. */
  readonly id: string
  /** `replaced`: in the place of one with the same `dedupeKey`. `known`: by the same request, made before. */
  readonly outcome: "enqueued" | "replaced" | "known"
  /** Its place in the queue, from 1. Absent: it has left. */
  readonly position?: number
  /** How it left. */
  readonly left?: LeaveReason
}

/** Puts an item into the queue of its session; or finds the one that was put there by the same request. */
export const enqueue = fn(function* (
  tx,
  scope: Scope,
  wanted: NewItem,
  placement: "front" | "back",
  digest: string,
  now: number,
) {
  const { clientRequestId, dedupeKey, sessionId } = wanted
  const queue = yield* openQueue(scope, sessionId, now)
  const request = clientRequestId === undefined ? undefined : requestId(sessionId, clientRequestId)
  const receipt = request === undefined ? undefined : yield* readReceipt(request, now)
  if (receipt !== undefined) {
    if (receipt.digest !== digest) return yield* tx.fail(new IdConflict({ id: clientRequestId! }))
    const before = yield* known(queue, (receipt.result as { readonly itemId: string }).itemId)
    yield* settleTime(queue)
    return before
  }
  yield* requireContent(wanted)
  yield* requireFuture(wanted, now)
  const dedupe = dedupeKey === undefined ? undefined : key(dedupeKey)
  const twin = dedupe === undefined ? undefined : yield* waitingTwin(queue, dedupe)
  const next = yield* nextBeside(queue, twin === undefined ? [] : [twin.id])
  const position: number = twin === undefined ? placeFor(queue, placement) : yield* positionOf(queue, twin)
  const { back, front } = queue.session.queue ?? noQueue
  const item: QueueItemRow = {
    ...wanted,
    order: placement === "front" ? front - 1 : back + 1,
    enqueuedAt: now,
    attempts: 0,
    ...(dedupe !== undefined && { dedupe }),
    ...(twin !== undefined && placeOf(twin)),
  }
  if (request !== undefined) {
    const result = { itemId: item.id }
    tx.put(OperationTable, { id: request, sessionId, digest, result, expiresAt: now + receiptsKept })
  }
  const outcome = twin === undefined ? "enqueued" : "replaced"
  settle(tx, queue, { changed: [{ item, reason: outcome, ...(twin === undefined && { isNew: true }) }], next })
  const enqueued: Enqueued = { id: item.id, outcome, position }
  return enqueued
})

/** What an item keeps that another message takes the place of. */
const placeOf = ({ clientRequestId, enqueuedAt, files, id, order }: Item) => ({
  id,
  order,
  enqueuedAt,
  ...(clientRequestId !== undefined && { clientRequestId }),
  ...(files !== undefined && { files }),
})

/** The 1-based place that a new item gets. */
const placeFor = ({ expired, session }: QueueNow, placement: "front" | "back"): number =>
  placement === "front" ? 1 : (session.queue?.items ?? 0) - expired.length + 1

/** What became of an item that a request had put into the queue. */
const known = fn(function* (tx, queue: QueueNow, itemId: string) {
  const { now, session } = queue
  const item = yield* tx.get(QueueItemTable, [session.id, itemId])
  const enqueued: Enqueued = { id: itemId, outcome: "known" }
  if (item !== undefined && !isExpired(item, now)) return { ...enqueued, position: yield* positionOf(queue, item) }
  const left = item === undefined ? (yield* readLeft(session.id, itemId, now))?.left : "expired"
  return { ...enqueued, ...(left !== undefined && { left }) }
})

const waitingTwin = fn(function* (tx, { now, session }: QueueNow, dedupe: string) {
  const rows: ReadonlyArray<Found> = yield* tx.range(QueueItemTable, "byDedupe", {
    prefix: [session.id, dedupe],
    unreadable: "keep",
  })
  const twins = rows.filter(isReadable).filter((item) => isWaiting(item, now))
  // There are two where one was claimed, was enqueued again, and came back.
  return twins.toSorted((a, b) => a.order - b.order)[0]
})

/** Fails where an item would say nothing. */
const requireContent = fn(function* (tx, { attachments = [], message }: Pick<QueueItemRow, "attachments" | "message">) {
  if (message.blank !== true || attachments.length > 0) return
  const value = message.body ?? message.display ?? message.model
  const problem = "is an empty message: give it text, or attachments"
  return yield* tx.fail(new InvalidInput({ field: "message", value, problem }))
})

/** Fails where an item would have expired before anybody saw it. */
const requireFuture = fn(function* (tx, { expiresAt }: Pick<QueueItemRow, "expiresAt">, now: number) {
  if (expiresAt === undefined || expiresAt > now) return
  const problem = "is over: leave it out, or give a time to come"
  return yield* tx.fail(new InvalidInput({ field: "options.expiresAt", value: expiresAt, problem }))
})

/** How many items stand before one, and that one: what counts as its position. */
const positionOf = fn(function* (tx, { now, session }: QueueNow, { id, order }: Item) {
  const before = [session.id, order, id] as const
  let count = 1
  let last: Item | undefined
  for (;;) {
    const rows: ReadonlyArray<Found> = yield* tx.range(QueueItemTable, "byOrder", {
      prefix: [session.id],
      ...(last !== undefined && { after: [session.id, last.order, last.id] as const }),
      before,
      unreadable: "keep",
    })
    count += rows.filter((row) => !isReadable(row) || !isExpired(row, now)).length
    const end = rows.findLast(isReadable)
    if (rows.length < maxRange || end === undefined) return count
    last = end
  }
})

/** Items in the order of the queue, behind one of them or from the first on. */
export const list = fn(function* (
  _tx,
  scope: Scope,
  sessionId: string,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
  now: number,
) {
  const queue = yield* openQueue(scope, sessionId, now)
  if (after === undefined) return yield* listBehind(sessionId, undefined, 1, limit, now)
  const last = yield* requireStored(queue, after)
  return yield* listBehind(sessionId, last, (yield* positionOf(queue, last)) + 1, limit, now)
})

/** How many items wait, claimed ones included. */
export const count = fn(function* (_tx, scope: Scope, sessionId: string, now: number) {
  const session = yield* requireSession(scope, sessionId)
  if (session.queue === undefined) return 0
  return session.queue.items - (yield* expiredBy(sessionId, now)).length
})

/** What may change of an item that waits. Absent: stays; `null`: none. */
export type ItemPatch = {
  readonly [Name in "source" | "attachments" | "model" | "requestedTurnId" | "expiresAt"]?: QueueItemRow[Name] | null
} & { readonly message?: QueueItemRow["message"] }

/** Changes an item in its place. What says something else begins anew. */
export const update = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  itemId: string,
  patch: ItemPatch,
  now: number,
) {
  const queue = yield* openQueue(scope, sessionId, now)
  const stored = yield* requireReadable(queue, itemId)
  const item = patched(stored, patch)
  yield* requireContent(item)
  if (patch.expiresAt !== undefined) yield* requireFuture(item, now)
  const isSame = canonical(item) === canonical(unclaimed(stored))
  const next = yield* nextBeside(queue, isSame ? [] : [itemId])
  settle(tx, queue, { changed: isSame ? [] : [{ item, reason: "updated" }], next })
  return item
})

const patched = (stored: Item, patch: ItemPatch): QueueItemRow => {
  const next: Record<string, unknown> = { ...unclaimed(stored), ...(patch.message !== undefined && { attempts: 0 }) }
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete next[name]
    else if (value !== undefined) next[name] = value
  }
  // The fields of a patch are fields of a row, with the same types.
  return next as QueueItemRow
}

/** Takes an item out that waits. Answers what it was. */
export const cancel = fn(function* (tx, scope: Scope, sessionId: string, itemId: string, now: number) {
  const queue = yield* openQueue(scope, sessionId, now)
  const found: Found = yield* requireWaiting(queue, itemId)
  const next = yield* nextBeside(queue, [itemId])
  settle(tx, queue, { leaving: [leavingAs(found, "cancelled")], next })
  return found
})

const leavingAs = (row: Found, reason: LeaveReason): Leaving => ({
  id: idOf(row),
  ...(isReadable(row) && { item: row }),
  reason,
})

/** Takes everything out that waits. Answers how many items that were. */
export const clear = fn(function* (tx, scope: Scope, sessionId: string, now: number) {
  const queue = yield* openQueue(scope, sessionId, now)
  const rows = (yield* allItems(sessionId)).filter((row) => !isReadable(row) || isWaiting(row, now))
  settle(tx, queue, { leaving: rows.map((row) => leavingAs(row, "cancelled")), next: undefined })
  return rows.length
})

/** Puts the items that wait into another order. `ids` names each of them once. */
export const reorder = fn(function* (tx, scope: Scope, sessionId: string, ids: ReadonlyArray<string>, now: number) {
  const queue = yield* openQueue(scope, sessionId, now)
  const waiting = (yield* allItems(sessionId)).filter(isReadable).filter((item) => isWaiting(item, now))
  const problem = problemInOrder(waiting, ids)
  if (problem !== undefined) return yield* tx.fail(new InvalidInput({ field: "order", value: ids, problem }))
  const byId = new Map(waiting.map((item) => [item.id, item]))
  const placed = ids.map((id, i) => ({ ...unclaimed(byId.get(id)!), order: waiting[i]!.order }))
  const changed = placed.filter((item) => byId.get(item.id)!.order !== item.order)
  settle(tx, queue, {
    changed: changed.map((item): Changed => ({ item })),
    next: placed[0],
    ...(changed.length > 0 && { whole: { reason: "reordered" } }),
  })
})

/** Why a list of ids is no permutation of the items that wait. */
const problemInOrder = (waiting: ReadonlyArray<Item>, ids: ReadonlyArray<string>): string | undefined => {
  const missing = new Set(waiting.map(({ id }) => id))
  for (const [i, id] of ids.entries()) {
    if (missing.delete(id)) continue
    return ids.indexOf(id) < i ? `names ${id} twice` : `names ${id}, which does not wait in the queue`
  }
  const [left] = missing
  return left === undefined ? undefined : `leaves out ${left}: name every item that waits`
}

/** Puts an item before all others. */
export const promote = fn(function* (tx, scope: Scope, sessionId: string, itemId: string, now: number) {
  const queue = yield* openQueue(scope, sessionId, now)
  const stored = yield* requireReadable(queue, itemId)
  const next = yield* nextBeside(queue, [])
  const isFirst = (yield* positionOf(queue, stored)) === 1
  const item = { ...unclaimed(stored), order: queue.session.queue!.front - 1 }
  settle(tx, queue, { changed: isFirst ? [] : [{ item, reason: "reordered" }], next })
})

/** Whether a queue stands still, and whether this call made it. Without `pause` nothing waits, and nothing was paused. */
export interface Pausing {
  readonly pause?: QueuePause
  readonly isNew: boolean
}

/** Lets nothing be sent any more. Where nothing waits there is nothing to pause; the first pause stays. */
export const pause = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  cause: PauseCause,
  turn: string | undefined,
  now: number,
) {
  const queue = yield* openQueue(scope, sessionId, now)
  const next = yield* nextBeside(queue, [])
  const isNew = !isEmpty(queue) && pauseOf(queue) === undefined
  const row = settle(tx, queue, {
    next,
    ...(isNew && { whole: { reason: "paused", of: (row) => paused(row, cause, turn, now) } }),
  })
  const pausing: Pausing = { isNew, ...(row.queue?.pause !== undefined && { pause: row.queue.pause }) }
  return pausing
})

/** Lets items be sent again. Answers whether the queue was paused. */
export const resume = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  expected: PauseCause | undefined,
  now: number,
) {
  const queue = yield* openQueue(scope, sessionId, now)
  const cause = pauseOf(queue)?.cause
  if (expected !== undefined && cause !== expected) {
    const actual = cause === undefined ? {} : { actual: cause }
    return yield* tx.fail(new OperationConflict({ id: sessionId, field: "queue.pause.cause", expected, ...actual }))
  }
  const next = yield* nextBeside(queue, [])
  settle(tx, queue, { next, ...(cause !== undefined && { whole: { reason: "resumed", of: resumed } }) })
  return cause !== undefined
})
