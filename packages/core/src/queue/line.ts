/**
 * What every operation on a queue has in common: how it finds the queue, and what it leaves.
 *
 * Guarantee: an operation finds the queue as it is at its time. Items that have expired are leaving and claims that have
 * run out are over, whether or not anybody has written that down. `readQueue` reads, the operation decides, and `settle`
 * writes it all, with what the session's row knows of its queue and what listeners are told. So operations compose with
 * programs of other concepts.
 */
import * as Data from "effect/Data"
import { filesIn } from "../attachment/files.ts"
import { QueueFileTable } from "../attachment/model.ts"
import type { QueueChanged } from "../notice.ts"
import { receiptsKept, OperationTable } from "../operation/model.ts"
import { readReceipt } from "../operation/program.ts"
import type { OperationRow } from "../operation/model.ts"
import { SessionTable } from "../session/model.ts"
import type { QueuePause, QueueState, SessionRow } from "../session/model.ts"
import { OperationConflict, requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { key } from "../storage/key.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Handle, Unreadable } from "../storage/transaction.ts"
import { QueueItemTable } from "./model.ts"
import type { QueueItemRow } from "./model.ts"
import { withQueue } from "./state.ts"

/** The item does not wait in the queue of the session: it has left, or never was there. */
export class ItemNotFound extends Data.TaggedError("ItemNotFound")<{
  readonly sessionId: string
  readonly itemId: string
  /** How it left, where that is remembered. */
  readonly left?: LeaveReason
}> {
  override get message() {
    const how = this.left === undefined ? "" : `: it was ${this.left}`
    return `no item ${this.itemId} waits in session ${this.sessionId}${how}`
  }
}

/** How an item leaves a queue. */
export type LeaveReason = "accepted" | "cancelled" | "expired" | "injected" | "rejected"

export type Item = Readonly<QueueItemRow>
export type Found = Item | Unreadable

export const isReadable = (row: Found): row is Item => !isUnreadable(row)

export const isClaimed = ({ claimedUntil }: Item, now: number): boolean =>
  claimedUntil !== undefined && claimedUntil > now

export const isExpired = (item: Item, now: number): boolean =>
  item.expiresAt !== undefined && item.expiresAt <= now && !isClaimed(item, now)

export const isWaiting = (item: Item, now: number): boolean => !isClaimed(item, now) && !isExpired(item, now)

/** Whether an item comes from one of the sources that are asked for. */
export const isFrom = ({ source }: Item, sources: ReadonlyArray<string> | undefined): boolean =>
  sources === undefined || (source !== undefined && sources.includes(source))

export const unclaimed = ({ claim: _claim, claimedUntil: _until, ...item }: Item): QueueItemRow => item

/** A queue as an operation finds it. */
export interface QueueNow {
  readonly session: SessionRow
  readonly now: number
  /** The first items, in order: all of them where they are fewer than a glance takes. */
  readonly first: ReadonlyArray<Found>
  /** Items that leave with whatever is done next. */
  readonly expired: ReadonlyArray<Item>
  /** Items whose claim has run out. */
  readonly lapsed: ReadonlyArray<Item>
  /** Items whose claim holds. */
  readonly claimed: ReadonlyArray<Item>
}

/** How many items are read at first: operations are mostly about one of these. */
const glance = 8

/** The queue of a session at `now`. */
export const readQueue = fn(function* (tx, session: SessionRow, now: number) {
  if (session.queue === undefined) {
    const nothing: QueueNow = { session, now, first: [], expired: [], lapsed: [], claimed: [] }
    return nothing
  }
  const prefix = [session.id] as const
  const isClaimedByAny = session.queue.claimed > 0
  const [first, expiring, claims] = yield* tx.all([
    tx.range(QueueItemTable, "byOrder", { prefix, limit: glance, unreadable: "keep" }),
    expiringAfter(tx, session.id, undefined, now),
    tx.range(QueueItemTable, "byClaim", { prefix, unreadable: "keep", ...(!isClaimedByAny && { limit: 0 }) }),
  ])
  const expired = yield* expiredOf(session.id, expiring, now)
  const claimed = claims.filter(isReadable).filter((item) => isClaimed(item, now))
  const lapsed = claims.filter(isReadable).filter((item) => !isClaimed(item, now))
  const queue: QueueNow = { session, now, first, expired, lapsed, claimed }
  return queue
})

export const openQueue = fn(function* (_tx, scope: Scope, sessionId: string, now: number) {
  return yield* readQueue(yield* requireSession(scope, sessionId), now)
})

/** Whether nothing is left but what has expired. */
export const isEmpty = ({ expired, session }: QueueNow): boolean => (session.queue?.items ?? 0) === expired.length

/** Why a queue stands still. */
export const pauseOf = (queue: QueueNow): QueuePause | undefined =>
  isEmpty(queue) ? undefined : queue.session.queue?.pause

/** Items whose time is over, claimed ones included, behind one of them or from the first on. */
const expiringAfter = (tx: Handle, sessionId: string, after: Item | undefined, now: number) =>
  tx.range(QueueItemTable, "byExpiry", {
    prefix: [sessionId],
    ...(after !== undefined && { after: [sessionId, after.expiresAt!, after.id] as const }),
    to: [sessionId, now],
    unreadable: "keep",
  })

/** Those of them that have expired, given the first, as many as there are. */
const expiredOf = fn(function* (tx, sessionId: string, first: ReadonlyArray<Found>, now: number) {
  const found: Array<Item> = []
  let rows = first
  for (;;) {
    const readable = rows.filter(isReadable)
    found.push(...readable.filter((item) => isExpired(item, now)))
    const last = readable.at(-1)
    if (rows.length < maxRange || last === undefined) return found
    rows = yield* expiringAfter(tx, sessionId, last, now)
  }
})

/** The items of a session that have expired, as many as there are. */
export const expiredBy = fn(function* (tx, sessionId: string, now: number) {
  return yield* expiredOf(sessionId, yield* expiringAfter(tx, sessionId, undefined, now), now)
})

/** Items in order, behind one of them or from the first on. */
export const itemsAfter = fn(function* (tx, sessionId: string, after: Item | undefined) {
  const rows: ReadonlyArray<Found> = yield* tx.range(QueueItemTable, "byOrder", {
    prefix: [sessionId],
    ...(after !== undefined && { after: [sessionId, after.order, after.id] as const }),
    unreadable: "keep",
  })
  return rows
})

/** An item with its 1-based place. */
export interface Listed {
  readonly item: Found
  readonly position: number
}

/** The items behind one, or from the first one on, of which the first has the position. */
export const listBehind = fn(function* (
  _tx,
  sessionId: string,
  after: Item | undefined,
  first: number,
  limit: number,
  now: number,
) {
  let last = after
  let position = first
  const listed: Array<Listed> = []
  for (;;) {
    const rows: ReadonlyArray<Found> = yield* itemsAfter(sessionId, last)
    for (const item of rows) {
      if (listed.length === limit) return listed
      if (!isReadable(item) || !isExpired(item, now)) listed.push({ item, position: position++ })
    }
    last = rows.findLast(isReadable)
    if (rows.length < maxRange || last === undefined) return listed
  }
})

/** All items, in order, as many as there are. */
export const allItems = fn(function* (_tx, sessionId: string) {
  const found = new Map<string, Found>()
  let last: Item | undefined
  for (;;) {
    const rows: ReadonlyArray<Found> = yield* itemsAfter(sessionId, last)
    for (const row of rows) found.set(idOf(row), row)
    const end = rows.findLast(isReadable)
    if (rows.length < maxRange || end === undefined) return [...found.values()]
    last = end
  }
})

export const idOf = (row: Found): string => (isUnreadable(row) ? String(row.key[1]) : row.id)

/** The first item that waits and fits. */
export const firstWaiting = fn(function* (_tx, { first, now, session }: QueueNow, fits: (item: Item) => boolean) {
  let rows: ReadonlyArray<Found> = first
  let isLast = rows.length < glance
  for (;;) {
    const found = rows.find((row): row is Item => isReadable(row) && isWaiting(row, now) && fits(row))
    if (found !== undefined || isLast) return found
    const end = rows.findLast(isReadable)
    rows = yield* itemsAfter(session.id, end)
    isLast = rows.length < maxRange || !rows.some(isReadable)
  }
})

/** The first item that waits, apart from some. */
export const nextBeside = (queue: QueueNow, ids: ReadonlyArray<string>) =>
  firstWaiting(queue, (item) => !ids.includes(item.id))

export interface Leaving {
  readonly id: string
  /** Absent: it cannot be read. */
  readonly item?: Item
  readonly reason: LeaveReason
  /** The claim that it left with. */
  readonly token?: string
}

export interface Changed {
  readonly item: QueueItemRow
  /** Absent: nobody is told. */
  readonly reason?: QueueChanged["reason"]
  readonly isNew?: true
}

/** What an operation makes of a queue. */
interface Change {
  readonly leaving?: ReadonlyArray<Leaving>
  /** Items as they are from now on. */
  readonly changed?: ReadonlyArray<Changed>
  /** Of the items that are neither, the first that waits. */
  readonly next: Item | undefined
  /** What happens to the queue as a whole, and the session's row that comes of it. */
  readonly whole?: {
    readonly reason: "paused" | "resumed" | "reordered"
    readonly of?: (row: SessionRow) => SessionRow
  }
}

/** Writes what an operation makes of a queue, with what had run out before. Answers the session's row. */
export const settle = (
  tx: Handle,
  queue: QueueNow,
  { changed = [], leaving = [], next, whole }: Change,
): SessionRow => {
  const { claimed, expired, lapsed, now, session } = queue
  const gone: ReadonlyArray<Leaving> = [
    ...expired.map((item): Leaving => ({ id: item.id, item, reason: "expired" })),
    ...leaving,
  ]
  const goneIds = new Set(gone.map(({ id }) => id))
  const changedIds = new Set(changed.map(({ item }) => item.id))
  const returned = lapsed.filter((item) => !isExpired(item, now))
  for (const { id, item, reason, token } of gone) {
    tx.remove(QueueItemTable, [session.id, id])
    for (let n = 0; n < (item?.files ?? 0); n++) tx.remove(QueueFileTable, [session.id, id, n])
    if (item?.clientRequestId !== undefined || token !== undefined) {
      tx.put(OperationTable, leftReceipt(session.id, id, { left: reason, ...(token !== undefined && { token }) }, now))
    }
  }
  for (const item of returned) {
    if (goneIds.has(item.id) || changedIds.has(item.id)) continue
    tx.update(QueueItemTable, [session.id, item.id], unclaimed)
  }
  for (const { isNew, item: given } of changed) {
    const item = holdingFiles(tx, given)
    if (isNew === true) tx.insert(QueueItemTable, item)
    else tx.update(QueueItemTable, [session.id, item.id], () => item)
  }

  const facts: Array<Pick<QueueChanged, "itemId" | "reason">> = [
    ...returned.map(({ id }) => ({ itemId: id, reason: "requeued" as const })),
    ...gone.map(({ id, reason }) => ({ itemId: id, reason })),
    ...changed.flatMap(({ item, reason }) => (reason === undefined ? [] : [{ itemId: item.id, reason }])),
    ...(whole === undefined ? [] : [{ reason: whole.reason }]),
  ]
  if (facts.length === 0 && changed.length === 0) return session

  const state = stateAfter(queue, {
    items: (session.queue?.items ?? 0) - gone.length + changed.filter(({ isNew }) => isNew).length,
    rows: changed.map(({ item }) => item),
    claims: claimed.filter(({ id }) => !goneIds.has(id) && !changedIds.has(id)),
    next,
  })
  // A pause ends by itself when nothing waits any more, though something else be enqueued at once.
  const isEmptied = (session.queue?.items ?? 0) === gone.length
  const row = tx.update(SessionTable, [session.id], (before) => {
    const pause = isEmptied ? undefined : before.queue?.pause
    const after = withQueue(before, { ...state, ...(pause !== undefined && { pause }) })
    const queued = whole?.of === undefined ? after : whole.of(after)
    if (facts.length === 0) return queued
    return { ...queued, revision: before.revision + 1, updatedAt: Math.max(before.updatedAt, now) }
  })
  if (isEmptied && session.queue?.pause !== undefined && whole === undefined) facts.push({ reason: "resumed" })
  for (const fact of facts) {
    const notice: QueueChanged = { _tag: "QueueChanged", sessionId: session.id, revision: row.revision, ...fact }
    tx.notify(notice)
  }
  return row
}

/** Writes down the files of an item, which hold their blobs while it waits. */
const holdingFiles = (tx: Handle, item: QueueItemRow): QueueItemRow => {
  const files = filesIn(item.attachments)
  const { id: itemId, sessionId } = item
  for (const [n, { hash }] of files.entries()) tx.put(QueueFileTable, { sessionId, itemId, n, hash })
  for (let n = files.length; n < (item.files ?? 0); n++) tx.remove(QueueFileTable, [sessionId, itemId, n])
  return files.length > (item.files ?? 0) ? { ...item, files: files.length } : item
}

/** Writes down what has run out, and nothing else. */
export const settleTime = fn(function* (tx, queue: QueueNow) {
  const next = yield* nextBeside(queue, [])
  settle(tx, queue, { next })
})

interface After {
  readonly items: number
  /** Rows that were changed or added. */
  readonly rows: ReadonlyArray<Item>
  /** Claims that hold, of other rows. */
  readonly claims: ReadonlyArray<Item>
  readonly next: Item | undefined
}

const stateAfter = ({ now, session }: QueueNow, { claims, items, next, rows }: After): Omit<QueueState, "pause"> => {
  const { back, front } = session.queue ?? noQueue
  const orders = rows.map(({ order }) => order)
  const ends = [...claims, ...rows].flatMap(({ claimedUntil }) => (claimedUntil === undefined ? [] : [claimedUntil]))
  const waiting = [...(next === undefined ? [] : [next]), ...rows.filter((row) => row.claimedUntil === undefined)]
  const first = waiting.toSorted((a, b) => a.order - b.order)[0]
  return {
    items,
    // Where nothing readable waits, nothing can be sent, however long it has been there.
    since: ends.length > 0 ? Math.max(...ends) : (first?.enqueuedAt ?? now),
    claimed: ends.length,
    front: Math.min(front, ...orders),
    back: Math.max(back, ...orders),
  }
}

/** Where the orders of a queue begin. */
export const noQueue = { front: 1, back: 0 }

export const requestId = (sessionId: string, clientRequestId: string): string =>
  key(`queue request ${sessionId} ${clientRequestId}`)
const leftId = (sessionId: string, itemId: string): string => key(`queue item ${sessionId} ${itemId}`)

/** What is remembered of an item that has left. */
export interface Left {
  readonly left: LeaveReason
  /** The claim that it left with. */
  readonly token?: string
}

const leftReceipt = (sessionId: string, itemId: string, result: Left, now: number): OperationRow => ({
  id: leftId(sessionId, itemId),
  sessionId,
  result,
  expiresAt: now + receiptsKept,
})

export const readLeft = fn(function* (_tx, sessionId: string, itemId: string, now: number) {
  const receipt = yield* readReceipt(leftId(sessionId, itemId), now)
  return receipt?.result as Left | undefined
})

/** The item that waits or is claimed, as it is stored; or `ItemNotFound`. */
export const requireItem = fn(function* (tx, { now, session }: QueueNow, itemId: string) {
  const [row] = yield* tx.range(QueueItemTable, "key", { prefix: [session.id, itemId], unreadable: "keep" })
  const found: Found | undefined = row
  if (found !== undefined && (isUnreadable(found) || !isExpired(found, now))) return found
  const left = found === undefined ? (yield* readLeft(session.id, itemId, now))?.left : "expired"
  return yield* tx.fail(new ItemNotFound({ sessionId: session.id, itemId, ...(left !== undefined && { left }) }))
})

/** As `requireItem`, of an item that can be read: by itself, one that cannot fails as such. */
export const requireStored = fn(function* (tx, queue: QueueNow, itemId: string) {
  const found: Found = yield* requireItem(queue, itemId)
  if (isReadable(found)) return found
  return (yield* tx.get(QueueItemTable, [queue.session.id, itemId]))!
})

/** As `requireItem`, of an item that nobody has claimed. */
export const requireWaiting = fn(function* (tx, queue: QueueNow, itemId: string) {
  const found: Found = yield* requireItem(queue, itemId)
  if (isReadable(found) && isClaimed(found, queue.now)) {
    return yield* tx.fail(new OperationConflict({ id: itemId, field: "state", expected: "queued", actual: "claimed" }))
  }
  return found
})

/** As `requireStored`, of an item that nobody has claimed. */
export const requireReadable = fn(function* (_tx, queue: QueueNow, itemId: string) {
  const found: Found = yield* requireWaiting(queue, itemId)
  return isReadable(found) ? found : yield* requireStored(queue, itemId)
})
