/**
 * Queue items: what is still to be said in a session, in the order in which it will be.
 */
import * as z from "zod/mini"
import { EntryRow } from "../message/model.ts"
import { Model } from "../session/model.ts"
import { index, int, table, text } from "../storage/table.ts"

/** What will be said: an entry without a place, and without an id where it has none of its own. */
export const QueuedMessage = z.object({
  id: z.optional(z.string()),
  /** There is nothing in it, so that it needs attachments to say anything. */
  blank: z.optional(z.boolean()),
  ...z.pick(EntryRow, {
    createdAt: true,
    format: true,
    body: true,
    display: true,
    model: true,
    large: true,
    metadata: true,
    source: true,
    sourceContext: true,
    preview: true,
  }).shape,
})
export type QueuedMessage = z.output<typeof QueuedMessage>

/** Who is sending an item, and what proves it. */
export const Claim = z.object({
  token: z.string(),
  /** The instance that claimed it. */
  owner: z.string(),
  /** The length of the lease, in milliseconds. */
  lease: z.number(),
})
export type Claim = z.output<typeof Claim>

export const QueueItemRow = z.object({
  sessionId: z.string(),
  id: z.string(),
  /** Sorts the items of a session; it may have gaps. */
  order: z.number(),
  message: QueuedMessage,
  source: z.optional(z.string()),
  attachments: z.optional(z.array(z.unknown())),
  /** How many of its files were written down at most: so many are taken back when it leaves. */
  files: z.optional(z.number()),
  /** The model that it is meant for. */
  model: z.optional(Model),
  /** The id that its turn is to have. */
  requestedTurnId: z.optional(z.string()),
  dedupeKey: z.optional(z.string()),
  clientRequestId: z.optional(z.string()),
  enqueuedAt: z.number(),
  expiresAt: z.optional(z.number()),
  /** How often it was claimed by hand, or could not be sent for a fault of its own. */
  attempts: z.number(),
  claim: z.optional(Claim),

  // Index fields.
  /** When its claim ends. There while it is claimed. */
  claimedUntil: z.optional(z.number()),
  /** `dedupeKey` as a key. */
  dedupe: z.optional(z.string()),
})
export type QueueItemRow = z.output<typeof QueueItemRow>

export const QueueItemTable = table("queue_item", {
  row: QueueItemRow,
  key: [text("sessionId"), text("id")],
  ownedBy: "session",
  indexes: {
    byOrder: index(text("sessionId"), int("order")),
    byExpiry: index(text("sessionId"), int("expiresAt")),
    byEnd: index(int("expiresAt")),
    byClaim: index(text("sessionId"), int("claimedUntil")),
    byDedupe: index(text("sessionId"), text("dedupe")),
  },
})
