/**
 * The rules of claims: one sender at a time has an item, for as long as its lease lasts.
 *
 * A claim is proved by its token, which nobody can guess. It ends on time whether or not anybody notices; the item is then
 * where it was. A token names its item, so that a sender which comes back late is told apart from one that never was.
 */
import * as Data from "effect/Data"
import type { PauseCause, SessionRow } from "../session/model.ts"
import type { Scope } from "../session/program.ts"
import { fn } from "../storage/transaction.ts"
import type { Handle } from "../storage/transaction.ts"
import {
  firstWaiting,
  isFrom,
  isClaimed,
  nextBeside,
  openQueue,
  pauseOf,
  readLeft,
  readQueue,
  requireStored,
  settle,
  settleTime,
  unclaimed,
} from "./line.ts"
import type { Item, QueueNow } from "./line.ts"
import type { Claim, QueueItemRow } from "./model.ts"

/** The claim is over, or never was the caller's: another may be sending the item. Nothing was written; stop sending it. */
export class LeaseLost extends Data.TaggedError("LeaseLost")<{ readonly sessionId: string }> {
  override get message() {
    return `the claim in session ${this.sessionId} is over: somebody else may be sending the item`
  }
}

/** Which item is wanted. */
export interface Wanted {
  /** This one, though the queue is paused or another item is claimed. Default: the first that waits. */
  readonly itemId?: string | undefined
  /** Only items from one of these. Default: from anywhere. */
  readonly sources?: ReadonlyArray<string> | undefined
  /** Whether the first item is given though the queue is paused. The pause stays. */
  readonly continuePaused?: boolean | undefined
}

/** Why there is no item to be had now. */
export interface Nothing {
  /** `paused`: see `cause`. `claimed`: somebody is sending one, `until` then at the latest. `empty`: none waits. */
  readonly reason: "paused" | "claimed" | "empty"
  readonly cause?: PauseCause
  /** Milliseconds since 1970. */
  readonly until?: number
}

export type Picked =
  | { readonly item: Item; readonly nothing?: never }
  | { readonly item?: never; readonly nothing: Nothing }

/** The item that is sent next, or why there is none. */
export const pick = fn(function* (_tx, queue: QueueNow, { continuePaused = false, itemId, sources }: Wanted) {
  const nothing = (nothing: Nothing): Picked => ({ nothing })
  if (itemId !== undefined) {
    const item = yield* requireStored(queue, itemId)
    if (isClaimed(item, queue.now)) return nothing({ reason: "claimed", until: item.claimedUntil! })
    const picked: Picked = { item }
    return picked
  }
  const pause = pauseOf(queue)
  if (pause !== undefined && !continuePaused) return nothing({ reason: "paused", cause: pause.cause })
  const [claimed] = queue.claimed
  if (claimed !== undefined) return nothing({ reason: "claimed", until: claimed.claimedUntil! })
  const item = yield* firstWaiting(queue, (one) => isFrom(one, sources))
  const picked: Picked = item === undefined ? { nothing: { reason: "empty" } } : { item }
  return picked
})

export type Claimed =
  | { readonly item: QueueItemRow; readonly nothing?: never }
  | { readonly item?: never; readonly nothing: Nothing }

/** Gives one sender an item. `claim.token` begins a token; the item's id completes it. */
export const claim = fn(function* (tx, scope: Scope, sessionId: string, wanted: Wanted, claim: Claim, now: number) {
  const queue = yield* openQueue(scope, sessionId, now)
  const { item, nothing } = yield* pick(queue, wanted)
  if (item === undefined) {
    yield* settleTime(queue)
    const answer: Claimed = { nothing }
    return answer
  }
  const next = yield* nextBeside(queue, [item.id])
  const given: QueueItemRow = {
    ...item,
    attempts: item.attempts + 1,
    claim: { ...claim, token: tokenOf(item.id, claim.token) },
    claimedUntil: now + claim.lease,
  }
  settle(tx, queue, { changed: [{ item: given, reason: "claimed" }], next })
  const answer: Claimed = { item: given }
  return answer
})

const tokenOf = (itemId: string, secret: string): string => `${itemId}.${secret}`

/** The id of the item that a token is for. Ids hold no dot. */
const itemOf = (token: string): string => token.split(".", 1)[0]!

/** The item that the token is a claim of, while that claim holds. */
const heldBy = ({ claimed }: QueueNow, token: string): Item | undefined =>
  claimed.find((item) => item.claim?.token === token)

const requireClaim = fn(function* (tx, queue: QueueNow, token: string) {
  return heldBy(queue, token) ?? (yield* tx.fail(new LeaseLost({ sessionId: queue.session.id })))
})

/** Begins the lease of a claim anew. Answers until when it lasts. */
export const renew = fn(function* (tx, scope: Scope, sessionId: string, token: string, now: number) {
  const queue = yield* openQueue(scope, sessionId, now)
  const item = yield* requireClaim(queue, token)
  const next = yield* nextBeside(queue, [item.id])
  const claimedUntil = now + item.claim!.lease
  settle(tx, queue, { changed: [{ item: { ...item, claimedUntil } }], next })
  return claimedUntil
})

/** Gives an item back, to the place where it was. */
export const release = fn(function* (tx, scope: Scope, sessionId: string, token: string, now: number) {
  const queue = yield* openQueue(scope, sessionId, now)
  const item = yield* requireClaim(queue, token)
  const next = yield* nextBeside(queue, [item.id])
  settle(tx, queue, { changed: [{ item: unclaimed(item), reason: "requeued" }], next })
})

/** Takes an item out that its sender will not send. */
export const reject = fn(function* (tx, scope: Scope, sessionId: string, token: string, now: number) {
  const queue = yield* openQueue(scope, sessionId, now)
  const item = yield* requireClaim(queue, token)
  const next = yield* nextBeside(queue, [item.id])
  settle(tx, queue, { leaving: [{ id: item.id, item, reason: "rejected" }], next })
})

/** Takes an item out that was sent. Said again by the same sender it stays so. */
export const complete = fn(function* (tx, scope: Scope, sessionId: string, token: string, now: number) {
  const queue = yield* openQueue(scope, sessionId, now)
  const item = heldBy(queue, token)
  if (item === undefined) {
    const left = yield* readLeft(sessionId, itemOf(token), now)
    if (left?.token !== token) return yield* tx.fail(new LeaseLost({ sessionId }))
    return yield* settleTime(queue)
  }
  const next = yield* nextBeside(queue, [item.id])
  settle(tx, queue, { leaving: [{ id: item.id, item, reason: "accepted", token }], next })
})

/** Claims that are over because their owner is, and what they leave. */
export interface Release {
  readonly queue: QueueNow
  readonly freed: ReadonlyArray<Item>
  /** The first item that waits without them. */
  readonly next: Item | undefined
}

/** The claims that an owner has in a session. Where nothing is claimed nothing is read. */
export const planRelease = fn(function* (_tx, session: SessionRow, owner: string, now: number) {
  if ((session.queue?.claimed ?? 0) === 0) return undefined
  const queue = yield* readQueue(session, now)
  const freed = queue.claimed.filter(({ claim }) => claim?.owner === owner)
  const release: Release = { queue, freed, next: yield* nextBeside(queue, []) }
  return release
})

/** Puts the items of a dead owner back to where they were. */
export const applyRelease = (tx: Handle, { freed, next, queue }: Release): void => {
  settle(tx, queue, { changed: freed.map((item) => ({ item: unclaimed(item), reason: "requeued" })), next })
}
