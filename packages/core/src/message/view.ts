/**
 * What a conversation looks like: its session, the end of its path with what else was said in the same places, and what
 * waits to be said. One state of all of it.
 */
import { listBehind } from "../queue/line.ts"
import { requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { fn, maxRange } from "../storage/transaction.ts"
import { TreeTable } from "./model.ts"
import { placeBefore } from "./path.ts"
import { pageOf, standing } from "./program.ts"
import type { WindowOf } from "./program.ts"
import { alternatives, placeOfRow } from "./tree.ts"

/**
 * Reads a view.
 *
 * @param known  `mark` of the view that was read last. Where it is the same, no message can have changed since: the page
 * is not read again, and left out
 */
export const view = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  windowOf: WindowOf,
  known: string | undefined,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  const tree = yield* tx.get(TreeTable, [session.treeId])
  const { headVersion, revision, treeId } = session
  const mark = [treeId, revision, headVersion, tree?.redactions].join()
  const isEmpty = session.queue === undefined
  const queue = isEmpty ? [] : yield* listBehind(sessionId, undefined, 1, maxRange, now)
  if (mark === known) return { session, queue, mark }
  const stands = yield* standing(session)
  const { path, ...page } = yield* pageOf(session, stands, undefined, windowOf)
  const followings = page.rows.map((entry) => ({ entry, before: placeBefore(path, placeOfRow(entry)) }))
  return { session, queue, mark, page, alternatives: yield* alternatives(session, followings) }
})
