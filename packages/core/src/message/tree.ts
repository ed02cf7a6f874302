/**
 * Questions about the shape of a conversation: siblings, branches, ancestors.
 *
 * Guarantee: answers know the session's path and the branches it owns, and nothing else of its tree.
 */
import type { SessionRow } from "../session/model.ts"
import { requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { isUnreadable, make } from "../storage/transaction.ts"
import { BranchTable, EntryTable, noFacts } from "./model.ts"
import type { BranchRow, EntryRef, EntryRow } from "./model.ts"
import { isOnPath, readOrdinals, readPath, reaches } from "./path.ts"
import type { Path } from "./path.ts"
import { isDisplayed } from "./placement.ts"
import { findEntry, MessageNotFound, placeBefore, requireEntry, standing } from "./program.ts"

/** One message of the session, or `MessageNotFound`. */
export const getMessage = (scope: Scope, sessionId: string, messageId: string) =>
  make(function* () {
    const session = yield* requireSession(scope, sessionId)
    return yield* requireEntry(session, messageId)
  })

/** Those of the messages that the session sees, in the order asked for. */
export const getMessages = (scope: Scope, sessionId: string, messageIds: ReadonlyArray<string>) =>
  make(function* () {
    const session = yield* requireSession(scope, sessionId)
    const found: Array<EntryRow> = []
    for (const id of messageIds) {
      const entry = yield* findEntry(session, id)
      if (entry !== undefined) found.push(entry)
    }
    return found
  })

/** The messages that follow the same place as this one, in the order they were made. */
export const siblings = (scope: Scope, sessionId: string, messageId: string) =>
  make(function* (tx) {
    const session = yield* requireSession(scope, sessionId)
    const entry = yield* requireEntry(session, messageId)
    const { treeId } = session
    const before = yield* placeBefore(entry, treeId)
    const branches = yield* tx.range(BranchTable, "byParent", { prefix: [treeId, before.branch, before.pos] })
    const places = [
      ...(before.branch === 0 ? [] : [{ branch: before.branch, pos: before.pos + 1 }]),
      ...branches.map(({ branch }) => ({ branch, pos: 1 })),
    ]
    const found = yield* tx.all(places.map(({ branch, pos }) => tx.get(EntryTable, [treeId, branch, pos])))
    const seen = yield* visiblePlaces(session, places)
    const messages = found.filter(
      (row, i): row is Readonly<EntryRow> =>
        row !== undefined && (row.id === messageId || (seen[i] === true && isDisplayed(row))),
    )
    return { messages, index: messages.findIndex((row) => row.id === messageId) }
  })

/** Which of the places the session sees. */
const visiblePlaces = (session: SessionRow, places: ReadonlyArray<EntryRef>) =>
  make(function* (tx) {
    const branches = yield* tx.all(places.map(({ branch }) => tx.get(BranchTable, [session.treeId, branch])))
    const lowest = Math.min(...places.map(({ branch }) => branch))
    const inherited: Path | undefined =
      session.base && (yield* readPath(session.treeId, session.base, noFacts, (step) => step.branch <= lowest))
    return places.map(
      (place, i) => branches[i]?.owner === session.id || (inherited !== undefined && isOnPath(inherited, place)),
    )
  })

/** A branch of the session and where it ends. */
export interface BranchTip {
  readonly branch: Readonly<BranchRow>
  readonly tip: Readonly<EntryRow>
}

/** The branches that the session owns, oldest first, each with its last entry: at most 500. */
export const branchesOf = (session: SessionRow) =>
  make(function* (tx) {
    const branches = yield* tx.range(BranchTable, "byOwner", { prefix: [session.id] })
    const ends = yield* tx.all(
      branches.map(({ branch, treeId }) =>
        tx.range(EntryTable, "key", { prefix: [treeId, branch], reverse: true, limit: 1 }),
      ),
    )
    return branches.flatMap((branch, i): ReadonlyArray<BranchTip> => {
      const tip = ends[i]?.[0]
      return tip === undefined ? [] : [{ branch, tip }]
    })
  })

export const listBranches = (scope: Scope, sessionId: string) =>
  make(function* () {
    const session = yield* requireSession(scope, sessionId)
    return { session, branches: yield* branchesOf(session) }
  })

/** What people see on the way from the root to a message, that message last: the newest `limit` of it. */
export const pathTo = (scope: Scope, sessionId: string, messageId: string, limit: number) =>
  make(function* () {
    const session = yield* requireSession(scope, sessionId)
    const entry = yield* requireEntry(session, messageId)
    const to = entry.facts.displays
    const from = Math.max(1, to - limit + 1)
    const path = yield* readPath(session.treeId, entry, entry.facts, (step) => step.displays < from)
    return yield* readOrdinals(session.treeId, path, "byShown", from, to)
  })

/** Whether `ancestorId` comes before `messageId` on the path to it. */
export const isAncestor = (scope: Scope, sessionId: string, ancestorId: string, messageId: string) =>
  make(function* () {
    const session = yield* requireSession(scope, sessionId)
    const ancestor = yield* requireEntry(session, ancestorId)
    const entry = yield* requireEntry(session, messageId)
    if (ancestor.branch === entry.branch) return ancestor.pos < entry.pos
    return isOnPath(yield* readPath(session.treeId, entry, entry.facts, reaches(ancestor)), ancestor)
  })

/** The last message that the paths to both share; `undefined` when that is the root. */
export const commonAncestor = (scope: Scope, sessionId: string, oneId: string, otherId: string) =>
  make(function* (tx) {
    const session = yield* requireSession(scope, sessionId)
    const one = yield* requireEntry(session, oneId)
    const other = yield* requireEntry(session, otherId)
    const never = () => false
    const onePath: Path = yield* readPath(session.treeId, one, one.facts, never)
    const otherPath: Path = yield* readPath(session.treeId, other, other.facts, never)
    for (const step of onePath.steps) {
      const shared = otherPath.steps.find(({ branch }) => branch === step.branch)
      if (shared === undefined) continue
      return yield* tx.get(EntryTable, [session.treeId, step.branch, Math.min(step.upTo, shared.upTo)])
    }
    return undefined
  })

/** The user's own prompts on the path, newest first. */
export const prompts = (scope: Scope, sessionId: string, before: string | undefined, limit: number) =>
  make(function* (tx) {
    const session = yield* requireSession(scope, sessionId)
    const { facts, head } = yield* standing(session)
    let to = facts.prompts
    if (before !== undefined) {
      const anchor = yield* tx.find(EntryTable, "byId", [session.treeId, before])
      const path = anchor && (yield* readPath(session.treeId, head, facts, reaches(anchor)))
      if (anchor?.prompt === undefined || path === undefined || !isOnPath(path, anchor)) {
        return yield* tx.fail(new MessageNotFound({ sessionId, messageId: before }))
      }
      to = anchor.prompt - 1
    }
    const from = Math.max(1, to - limit + 1)
    if (from > to) return []
    const path = yield* readPath(session.treeId, head, facts, (step) => step.prompts < from)
    const rows = yield* readOrdinals(session.treeId, path, "byPrompt", from, to)
    return rows.filter((row): row is Readonly<EntryRow> => !isUnreadable(row)).toReversed()
  })

/** The last prompt on the path. */
export const lastPrompt = (scope: Scope, sessionId: string) =>
  make(function* (tx) {
    const session = yield* requireSession(scope, sessionId)
    const { facts } = yield* standing(session)
    if (facts.lastPrompt === undefined) return undefined
    return yield* tx.get(EntryTable, [session.treeId, facts.lastPrompt.branch, facts.lastPrompt.pos])
  })
