/**
 * What ties items to a conversation: the turn that one is for, and the message that one is. When those leave the path, the
 * item has nothing to be said for any more.
 *
 * A claimed item goes, too: else it would come back when its claim ends, and be said where nobody wants it. Whoever was
 * sending it may still say that it was sent.
 */
import { EntryTable } from "../message/model.ts"
import type { EntryRef } from "../message/model.ts"
import type { SessionRow } from "../session/model.ts"
import { fn } from "../storage/transaction.ts"
import type { Handle } from "../storage/transaction.ts"
import { firstOf } from "../turn/fence.ts"
import { TurnTable } from "../turn/model.ts"
import { entryOf } from "./dispatch.ts"
import { allItems, isExpired, isReadable, nextBeside, readQueue, settle } from "./line.ts"
import type { Item, Leaving, QueueNow } from "./line.ts"

/** Items that leave with what they are tied to. */
export interface Cancelling {
  readonly queue: QueueNow
  readonly items: ReadonlyArray<Item>
  /** The first item that waits without them. */
  readonly next: Item | undefined
}

/**
 * The items of a session that are tied to what leaves; `undefined`: none is. Where nothing waits nothing is read.
 *
 * @param leaves  whether an entry, which may be on any path, leaves
 */
export const planCancelling = fn(function* (
  _tx,
  session: SessionRow,
  leaves: (place: EntryRef) => boolean,
  now: number,
) {
  if (session.queue === undefined) return undefined
  const items: Array<Item> = []
  for (const item of yield* allItems(session.id)) {
    if (!isReadable(item) || isExpired(item, now)) continue
    if (yield* isTied(session, item, leaves)) items.push(item)
  }
  if (items.length === 0) return undefined
  const queue = yield* readQueue(session, now)
  const next = yield* nextBeside(
    queue,
    items.map(({ id }) => id),
  )
  const cancelling: Cancelling = { queue, items, next }
  return cancelling
})

const isTied = fn(function* (tx, session: SessionRow, item: Item, leaves: (place: EntryRef) => boolean) {
  const [said, turn] = yield* tx.all([
    tx.find(EntryTable, "byId", [session.treeId, entryOf(item).id]),
    tx.find(TurnTable, "byId", [session.id, item.requestedTurnId ?? ""]),
  ])
  const began = turn && firstOf(session, turn)
  return (said !== undefined && leaves(said)) || (began !== undefined && leaves(began))
})

export const applyCancelling = (tx: Handle, { items, next, queue }: Cancelling): void => {
  const leaving = items.map((item): Leaving => ({
    id: item.id,
    item,
    reason: "cancelled",
    ...(item.claim && { token: item.claim.token }),
  }))
  settle(tx, queue, { leaving, next })
}
