/**
 * Links: another conversation, or another branch of this one, put at the head of a session.
 *
 * Guarantee: a link says what it leads to as it was when it was put there. It is never changed and stays, whatever becomes
 * of that. What was merged is still there: it is left out of lists of branches for as long as nothing more is said on it.
 */
import type { EntryRow, Link } from "../message/model.ts"
import { BranchTable, EntryTable } from "../message/model.ts"
import { isOnPath, lastEntries, readPath, reaches } from "../message/path.ts"
import type { NewEntry } from "../message/placement.ts"
import { expectHead, headId, placeAtHead, requireEntry, standing, writeAtHead } from "../message/program.ts"
import type { ExpectedHead } from "../message/program.ts"
import type { Scope } from "../scope.ts"
import { isSeen } from "../scope.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { requireSession } from "../session/program.ts"
import { InvalidInput } from "../storage/error.ts"
import { fn, isUnreadable } from "../storage/transaction.ts"
import { requireIdle } from "../turn/fence.ts"
import { BranchNotFound, changed, requireBranch, standOn } from "./program.ts"

/** What is linked to: another session, by its id, or a branch of the same one, by its number. */
export type LinkTarget = string | number

/** Puts a link at the head. Nobody said anything: activity stays. `displayOf` says how people see a title. */
export const attach = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  to: LinkTarget,
  entry: Pick<NewEntry, "id" | "createdAt" | "format">,
  displayOf: (title: string) => unknown,
  expected: ExpectedHead,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  yield* requireIdle(session)
  yield* expectHead(session, expected)
  const link = typeof to === "number" ? yield* linkToBranch(session, to) : yield* linkToSession(scope, session, to)
  const placement = yield* placeAtHead(session)
  const row: NewEntry = { ...entry, kind: "link", role: "user", display: displayOf(link.title), link }
  return writeAtHead(tx, session, placement, [row], undefined, now, false)[0]!
})

const linkToSession = fn(function* (tx, scope: Scope, session: SessionRow, to: string) {
  if (to === session.id) {
    return yield* tx.fail(new InvalidInput({ field: "to", value: to, problem: "is the session itself" }))
  }
  const other = yield* requireSession(scope, to)
  const entry = headId(other)
  if (entry === null) {
    const problem = "has nothing at its head that could be linked to"
    return yield* tx.fail(new InvalidInput({ field: "to", value: to, problem }))
  }
  const link: Link = { session: to, entry, title: other.title || other.preview || to }
  return link
})

const linkToBranch = fn(function* (tx, session: SessionRow, to: number) {
  const { id, treeId } = session
  const branch = yield* requireBranch(session, to)
  const [end] = yield* lastEntries(treeId, [to])
  if (end === undefined || isUnreadable(end)) {
    return yield* tx.fail(new BranchNotFound({ sessionId: id, branch: to }))
  }
  const { facts, head } = yield* standing(session)
  if (isOnPath(yield* readPath(treeId, head, facts, reaches(end)), end)) {
    return yield* tx.fail(new InvalidInput({ field: "to", value: to, problem: "ends on the path of the session" }))
  }
  const { preview } = yield* standOn(session, end)
  const link: Link = { session: id, branch: to, entry: end.id, title: branch.name?.text || preview || `${to}` }
  return link
})

/**
 * Marks the end of what a link leads to as merged, or takes that back. Answers whether it is merged now: `false` as well
 * where it is gone, or has gone on since, or the other session has said nothing of its own.
 */
export const merge = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  linkId: string,
  isMerged: boolean,
  expected: ExpectedHead,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  yield* requireIdle(session)
  yield* expectHead(session, expected)
  const { kind, link } = yield* requireEntry(session, linkId)
  if (link === undefined) {
    const problem = `must be a link, and is of kind ${kind}`
    return yield* tx.fail(new InvalidInput({ field: "link", value: linkId, problem }))
  }
  const other = link.session === sessionId ? session : yield* tx.get(SessionTable, [link.session])
  if (other === undefined || !isSeen(scope, other)) return false
  yield* requireIdle(other)
  const end = yield* findEnd(other, link)
  if (end === undefined) return false
  const { branch, pos, treeId } = end
  const row = yield* tx.get(BranchTable, [treeId, branch])
  if (row?.owner !== other.id) return false
  if ((row.merged === pos) === isMerged) return isMerged
  tx.update(BranchTable, [treeId, branch], ({ merged: _merged, ...rest }) =>
    isMerged ? { ...rest, merged: pos } : rest,
  )
  tx.update(SessionTable, [other.id], (one) => changed(one, now))
  return isMerged
})

/** Where a link leads to, while that is the end of its branch. */
const findEnd = fn(function* (tx, { treeId }: SessionRow, link: Link) {
  const entry: Readonly<EntryRow> | undefined = yield* tx.find(EntryTable, "byId", [treeId, link.entry])
  if (entry === undefined) return undefined
  const [last] = yield* lastEntries(treeId, [entry.branch])
  return last !== undefined && !isUnreadable(last) && last.pos === entry.pos ? entry : undefined
})
