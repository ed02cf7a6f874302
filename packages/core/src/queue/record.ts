/**
 * Queue items as callers see them.
 */
import { noFacts } from "../message/model.ts"
import { toMessage } from "../message/record.ts"
import type { Message } from "../message/record.ts"
import type { Model } from "../session/model.ts"
import { copyOf } from "../value.ts"
import { entryOf } from "./dispatch.ts"
import { isClaimed, isReadable, idOf } from "./line.ts"
import type { Found } from "./line.ts"

/** A message that will be said. Its id is the one that it will be stored under. */
export type QueuedMessage<M = unknown> = Pick<
  Message<M>,
  "id" | "role" | "display" | "model" | "format" | "metadata" | "source" | "sourceContext" | "createdAt"
>

/** One thing that is still to be said. All times are milliseconds since 1970. */
export interface QueueItem<M = unknown> {
  readonly id: string
  /** `claimed`: somebody is sending it, until `claimedUntil` at the latest. */
  readonly state: "queued" | "claimed"
  /** Absent: the item is stored, and cannot be read. */
  readonly message?: QueuedMessage<M>
  readonly source?: string
  /** Any JSON of the host's. */
  readonly attachments?: ReadonlyArray<unknown>
  /** The model that it is meant for. */
  readonly model?: Model
  /** The id that its turn is to have. */
  readonly requestedTurnId?: string
  readonly dedupeKey?: string
  readonly clientRequestId?: string
  readonly enqueuedAt?: number
  readonly expiresAt?: number
  readonly claimedUntil?: number
  /** How often it was claimed by hand, or could not be sent for a fault of its own. */
  readonly attempts: number
  /** What is wrong with it, where the stored row cannot be read. */
  readonly unreadable?: string
}

/** An item as a list has it. */
export interface ListedItem<M = unknown> extends QueueItem<M> {
  /** Its place in the queue, from 1. */
  readonly position: number
}

export const toListedItem =
  (now: number) =>
  ({ item, position }: { readonly item: Found; readonly position: number }): ListedItem => ({
    ...toQueueItem(item, now),
    position,
  })

export const toQueueItem = (item: Found, now: number): QueueItem => {
  if (!isReadable(item)) {
    return { id: idOf(item), state: "queued", attempts: 0, unreadable: item.problem }
  }
  const place = { treeId: "", branch: 0, pos: 0, facts: noFacts }
  const {
    attachments: _attachments,
    branch: _branch,
    kind: _kind,
    ...message
  } = toMessage({ ...entryOf(item), ...place })
  const { attempts, enqueuedAt, id } = item
  const record: { -readonly [Name in keyof QueueItem]: QueueItem[Name] } = {
    id,
    state: isClaimed(item, now) ? "claimed" : "queued",
    message,
    enqueuedAt,
    attempts,
  }
  if (item.source !== undefined) record.source = item.source
  if (item.attachments !== undefined) record.attachments = copyOf(item.attachments)
  if (item.model !== undefined) record.model = { ...item.model }
  if (item.requestedTurnId !== undefined) record.requestedTurnId = item.requestedTurnId
  if (item.dedupeKey !== undefined) record.dedupeKey = item.dedupeKey
  if (item.clientRequestId !== undefined) record.clientRequestId = item.clientRequestId
  if (item.expiresAt !== undefined) record.expiresAt = item.expiresAt
  if (record.state === "claimed") record.claimedUntil = item.claimedUntil!
  return record
}
