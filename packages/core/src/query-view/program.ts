/**
 * The rules of query views: when the steps of a question run, for how long they ran, and who unfolded them.
 *
 * A question runs while a turn works on it. It may run in several turns, one after another; what it ran in each adds up.
 * No question outlives the turn that it runs in: whatever ends a turn closes its views in the same commit.
 */
import type { QueryViewChanged } from "../notice.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { InvalidInput } from "../storage/error.ts"
import { key } from "../storage/key.ts"
import { fn, isUnreadable } from "../storage/transaction.ts"
import type { Handle, Unreadable } from "../storage/transaction.ts"
import { renewed, requireTurn } from "../turn/fence.ts"
import { mostRunning, QueryViewTable } from "./model.ts"
import type { QueryViewRow } from "./model.ts"

/** What is stored of a question, if anything is, and whether this call changed it. */
export interface Viewed {
  readonly view: Readonly<QueryViewRow> | undefined
  readonly changed: boolean
}

/** Begins the steps of a question, or resumes them. Nothing changes where this turn has them running. */
export const start = fn(function* (tx, scope: Scope, sessionId: string, question: string, epoch: number, now: number) {
  const session = yield* requireSession(scope, sessionId)
  const turn = yield* requireTurn(session, epoch)
  const queryKey = key(question)
  const stored = yield* tx.get(QueryViewTable, [sessionId, queryKey])
  if (stored !== undefined && runsIn(stored, epoch)) return unchanged(stored)
  if ((turn.views?.length ?? 0) >= mostRunning) {
    const problem = `cannot start: ${mostRunning} questions of this turn run; finish one first`
    return yield* tx.fail(new InvalidInput({ field: "query.queryKey", value: question, problem }))
  }
  const run = { turn: turn.id, epoch, runningSince: now }
  if (stored === undefined) {
    const first = { sessionId, queryKey, question, startedAt: now, duration: 0, expanded: false, ...run }
    tx.insert(QueryViewTable, first)
    return told(tx, first, now, (views) => [...views, queryKey])
  }
  const view = tx.update(QueryViewTable, [sessionId, queryKey], ({ finishedAt: _finishedAt, ...row }) => ({
    ...row,
    ...run,
  }))
  return told(tx, view, now, (views) => [...views, queryKey])
})

/** Ends the steps of a question that this turn has running. Nothing changes where it has not. */
export const finish = fn(function* (tx, scope: Scope, sessionId: string, question: string, epoch: number, now: number) {
  const session = yield* requireSession(scope, sessionId)
  yield* requireTurn(session, epoch)
  const queryKey = key(question)
  const stored = yield* tx.get(QueryViewTable, [sessionId, queryKey])
  if (stored === undefined || !runsIn(stored, epoch)) return unchanged(stored)
  const view = tx.update(QueryViewTable, [sessionId, queryKey], (row) => finished(row, now))
  return told(tx, view, now, (views) => views.filter((one) => one !== queryKey))
})

/** Unfolds the steps of a question, or lets them be folded again. With an epoch only for the turn that runs. */
export const forceExpand = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  question: string,
  expanded: boolean,
  epoch: number | undefined,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  if (epoch !== undefined) yield* requireTurn(session, epoch)
  const queryKey = key(question)
  const stored = yield* tx.get(QueryViewTable, [sessionId, queryKey])
  if (stored === undefined || stored.expanded === expanded) return unchanged(stored)
  const view = tx.update(QueryViewTable, [sessionId, queryKey], (row) => ({ ...row, expanded }))
  return told(tx, view, now, (views) => views, epoch !== undefined)
})

/** What is stored of some questions, in their order. */
export const list = fn(function* (tx, scope: Scope, sessionId: string, questions: ReadonlyArray<string>) {
  yield* requireSession(scope, sessionId)
  const rows = yield* tx.all(questions.map((question) => tx.get(QueryViewTable, [sessionId, key(question)])))
  return rows.filter((row) => row !== undefined)
})

/**
 * Reads the views that the running turn of a session has open, for `closeViews`. One that cannot be read is left out: it
 * must not keep a turn from ending.
 */
export const openViews = fn(function* (tx, session: SessionRow) {
  const found = yield* tx.all(
    (session.activeTurn?.views ?? []).map((queryKey) =>
      tx.range(QueryViewTable, "key", { prefix: [session.id, queryKey], limit: 1, unreadable: "keep" }),
    ),
  )
  const isView = (view: Readonly<QueryViewRow> | Unreadable): view is Readonly<QueryViewRow> => !isUnreadable(view)
  return found.flat().filter(isView)
})

/**
 * Closes the views that a turn had open, in the commit that ends it: they ran up to `at`, which for a turn that was found
 * dead is the last that was heard of it.
 *
 * @param revision  the session's, as that commit leaves it
 */
export const closeViews = (
  tx: Handle,
  views: ReadonlyArray<Readonly<QueryViewRow>>,
  at: number,
  revision: number,
): void => {
  for (const { queryKey, sessionId } of views) {
    notify(
      tx,
      tx.update(QueryViewTable, [sessionId, queryKey], (row) => finished(row, at)),
      revision,
    )
  }
}

const runsIn = (view: QueryViewRow, epoch: number): boolean => view.runningSince !== undefined && view.epoch === epoch

/** A clock that went back since it was begun gives no time. */
const finished = ({ runningSince, ...view }: QueryViewRow, at: number): QueryViewRow => {
  if (runningSince === undefined) return view
  const finishedAt = Math.max(at, runningSince)
  return { ...view, finishedAt, duration: view.duration + finishedAt - runningSince }
}

const unchanged = (view: Readonly<QueryViewRow> | undefined): Viewed => ({ view, changed: false })

/** Writes to the session what a changed view means for it, and tells of it. */
const told = (
  tx: Handle,
  view: Readonly<QueryViewRow>,
  now: number,
  change: (views: ReadonlyArray<string>) => ReadonlyArray<string>,
  byTurn = true,
): Viewed => {
  const { revision } = tx.update(SessionTable, [view.sessionId], (row) => {
    const next = byTurn ? renewed(withViews(row, change), now) : row
    return { ...next, revision: row.revision + 1, updatedAt: Math.max(row.updatedAt, now) }
  })
  notify(tx, view, revision)
  return { view, changed: true }
}

const withViews = (row: SessionRow, change: (views: ReadonlyArray<string>) => ReadonlyArray<string>): SessionRow => {
  if (row.activeTurn === undefined) return row
  return { ...row, activeTurn: { ...row.activeTurn, views: [...change(row.activeTurn.views ?? [])] } }
}

const notify = (tx: Handle, view: Readonly<QueryViewRow>, revision: number): void => {
  const notice: QueryViewChanged = { _tag: "QueryViewChanged", sessionId: view.sessionId, revision, view }
  tx.notify(notice)
}
