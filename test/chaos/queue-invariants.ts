/**
 * What must hold of queues at every moment: a session's row knows what waits in it, and when there is something to do.
 */
import type { QueueItemRow } from "../../packages/core/src/queue/model.ts"
import type { SessionRow } from "../../packages/core/src/session/model.ts"
import { differs, grouped } from "./differs.ts"
import { unless } from "./outcome.ts"
import type { StoreRows } from "./rows.ts"

/** One sentence for each thing that does not hold. */
export const queueProblems = ({ items, sessions }: StoreRows): ReadonlyArray<string> => {
  const bySession = grouped(items, ({ sessionId }) => sessionId)
  const known = new Set(sessions.map(({ id }) => id))
  return [
    ...items
      .filter(({ sessionId }) => !known.has(sessionId))
      .map(({ id, sessionId }) => `item ${id} is of session ${sessionId}, which does not exist`),
    ...items
      .filter(({ claim, claimedUntil }) => (claim === undefined) !== (claimedUntil === undefined))
      .map(({ id }) => `item ${id} is claimed without an end, or the reverse`),
    ...sessions.flatMap((session) => stateProblems(session, bySession.get(session.id) ?? [])),
  ]
}

const stateProblems = (session: SessionRow, items: ReadonlyArray<QueueItemRow>): ReadonlyArray<string> => {
  const name = `session ${session.id}`
  const { activeTurn, due, queue } = session
  const orders = items.map(({ order }) => order)
  const mayBeSent = queue !== undefined && queue.pause === undefined && activeTurn === undefined
  return [
    ...differs(`since when ${name} is due`, due, mayBeSent ? queue.since : undefined),
    ...differs(`whether anything waits in ${name}`, queue !== undefined, items.length > 0),
    ...unless(new Set(orders).size === orders.length, `two items of ${name} have one place`),
    ...(queue === undefined
      ? []
      : [
          ...differs(`how many items wait in ${name}`, queue.items, items.length),
          ...differs(`how many items of ${name} are claimed`, queue.claimed, items.filter(isClaimed).length),
          ...differs(`since when the queue of ${name} waits`, queue.since, sinceOf(items)),
          ...unless(
            queue.front <= Math.min(...orders) && queue.back >= Math.max(...orders),
            `the places of the queue of ${name} end before its items do`,
          ),
        ]),
  ]
}

const isClaimed = ({ claimedUntil }: QueueItemRow) => claimedUntil !== undefined

/** When the last claim ends, or else since when the first item waits. */
const sinceOf = (items: ReadonlyArray<QueueItemRow>): number | undefined => {
  const claims = items.flatMap(({ claimedUntil }) => (claimedUntil === undefined ? [] : [claimedUntil]))
  if (claims.length > 0) return Math.max(...claims)
  return items.toSorted((a, b) => a.order - b.order)[0]?.enqueuedAt
}
