/**
 * Questions about the shape of a conversation: siblings, branches, ancestors.
 *
 * Guarantee: answers know the session's path and the branches it owns, and nothing else of its tree.
 */
import type { SessionRow } from "../session/model.ts"
import { requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { hiddenOf, shownOf } from "../session/shown.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import { requireWhole, wholes } from "./large.ts"
import { BranchTable, EntryTable, noFacts } from "./model.ts"
import type { BranchRow, EntryRef, EntryRow } from "./model.ts"
import { entriesAt, isOnPath, lastEntries, readOrdinals, readPath, reaches } from "./path.ts"
import type { Path } from "./path.ts"
import { isDisplayed, isSamePlace, placeKey } from "./placement.ts"
import { MessageNotFound, ownBranches, placeBefore, requireEntry, standing } from "./program.ts"

/** One message of the session, or `MessageNotFound`. */
export const getMessage = fn(function* (_tx, scope: Scope, sessionId: string, messageId: string) {
  const session = yield* requireSession(scope, sessionId)
  return yield* requireWhole(yield* requireEntry(session, messageId))
})

/** Those of the messages that the session sees, in the order asked for. One that cannot be read says so. */
export const getMessages = fn(function* (tx, scope: Scope, sessionId: string, messageIds: ReadonlyArray<string>) {
  const session = yield* requireSession(scope, sessionId)
  const found = yield* tx.all(
    messageIds.map((id) =>
      tx.range(EntryTable, "byId", { from: [session.treeId, id], to: [session.treeId, id], unreadable: "keep" }),
    ),
  )
  const rows = found.flat()
  const seen = yield* visiblePlaces(session, rows.map(placeOfRow))
  return yield* wholes(rows.filter((_, i) => seen[i]))
})

export const placeOfRow = (row: Readonly<EntryRow> | Unreadable): EntryRef =>
  isUnreadable(row) ? { branch: Number(row.key[1]), pos: Number(row.key[2]) } : row

/**
 * The messages that follow the same place as this one: the one on the same branch first, then those that left there, in
 * the order they were made. One that cannot be read stands in its place.
 */
export const siblings = fn(function* (_tx, scope: Scope, sessionId: string, messageId: string) {
  const session = yield* requireSession(scope, sessionId)
  const entry = yield* requireEntry(session, messageId)
  const before = yield* placeBefore(entry, session.treeId)
  const [found] = yield* alternatives(session, [{ entry, before }])
  return found!
})

/** An entry and the place that it follows. */
export interface Following {
  readonly entry: Readonly<EntryRow> | Unreadable
  readonly before: EntryRef
}

/** All that follows one place, as far as people see it, and which of these it was asked for. */
export interface Alternatives {
  readonly messages: ReadonlyArray<Readonly<EntryRow> | Unreadable>
  readonly index: number
}

/**
 * For each entry, what else follows the same place. Where nothing does, no entry is read; entries of one branch are looked
 * up together.
 */
export const alternatives = fn(function* (_tx, session: SessionRow, followings: ReadonlyArray<Following>) {
  const leaving = yield* branchesLeaving(
    session.treeId,
    followings.map(({ before }) => before),
  )
  const wanted = followings.map(({ before, entry }) => {
    const on = before.branch === 0 ? [] : [{ branch: before.branch, pos: before.pos + 1 }]
    const off = (leaving.get(placeKey(before)) ?? []).map((branch) => ({ branch, pos: 1 }))
    return { entry, places: [...on, ...off] }
  })
  const others = wanted.flatMap(({ entry, places }) => places.filter((place) => !isSamePlace(place, placeOfRow(entry))))
  const found = yield* visibleEntries(session, others)
  return wanted.map(({ entry, places }): Alternatives => {
    const messages: Array<Readonly<EntryRow> | Unreadable> = []
    let index = 0
    for (const place of places) {
      const isIt = isSamePlace(place, placeOfRow(entry))
      const row = isIt ? entry : found.get(placeKey(place))
      if (row === undefined || !(isIt || isUnreadable(row) || isDisplayed(row))) continue
      if (isIt) index = messages.length
      messages.push(row)
    }
    return { messages, index }
  })
})

/** The branches that left each of the places, oldest first. Those that cannot be read are nobody's. */
const branchesLeaving = fn(function* (tx, treeId: string, places: ReadonlyArray<EntryRef>) {
  const found = new Map<string, Array<number>>()
  let open: ReadonlyArray<Span> = spansOf(places)
  while (open.length > 0) {
    const windows: ReadonlyArray<ReadonlyArray<Readonly<BranchRow> | Unreadable>> = yield* tx.all(
      open.map(({ after, branch, from, to }) =>
        tx.range(BranchTable, "byParent", {
          ...(after === undefined ? { from: [treeId, branch, from] } : { after: [treeId, branch, ...after] }),
          to: [treeId, branch, to],
          unreadable: "keep",
        }),
      ),
    )
    const rest: Array<Span> = []
    for (const [i, window] of windows.entries()) {
      const rows = window.filter((row): row is Readonly<BranchRow> => !isUnreadable(row))
      for (const { branch, forkAt, parent } of rows) {
        const key = placeKey({ branch: parent, pos: forkAt })
        const others = found.get(key)
        if (others === undefined) found.set(key, [branch])
        else others.push(branch)
      }
      const last = rows.at(-1)
      if (window.length === maxRange && last !== undefined)
        rest.push({ ...open[i]!, after: [last.forkAt, last.branch] })
    }
    open = rest
  }
  return found
})

/** A run of places on a branch; behind a branch that left one of them, where that is given. */
interface Span {
  readonly branch: number
  readonly from: number
  readonly to: number
  readonly after?: readonly [forkAt: number, branch: number]
}

/** For each branch, from the first place on it to the last. */
const spansOf = (places: ReadonlyArray<EntryRef>): ReadonlyArray<Span> => {
  const spans = new Map<number, Span>()
  for (const { branch, pos } of places) {
    const { from, to } = spans.get(branch) ?? { from: pos, to: pos }
    spans.set(branch, { branch, from: Math.min(from, pos), to: Math.max(to, pos) })
  }
  return [...spans.values()]
}

/** Those of the places at which the session sees an entry, and what stands there. */
const visibleEntries = fn(function* (_tx, session: SessionRow, places: ReadonlyArray<EntryRef>) {
  const found = new Map<string, Readonly<EntryRow> | Unreadable>()
  for (let i = 0; i < places.length; i += maxRange) {
    const some = places.slice(i, i + maxRange)
    const rows: ReadonlyArray<Readonly<EntryRow> | Unreadable | undefined> = yield* entriesAt(session.treeId, some)
    const seen: ReadonlyArray<boolean> = yield* visiblePlaces(session, some)
    for (const [at, row] of rows.entries()) {
      if (row !== undefined && seen[at] === true) found.set(placeKey(some[at]!), row)
    }
  }
  return found
})

/** Which of the places the session sees. */
const visiblePlaces = fn(function* (tx, session: SessionRow, places: ReadonlyArray<EntryRef>) {
  const branches = yield* tx.all(
    places.map(({ branch }) =>
      tx.range(BranchTable, "key", {
        from: [session.treeId, branch],
        to: [session.treeId, branch],
        unreadable: "keep",
      }),
    ),
  )
  const lowest = Math.min(...places.map(({ branch }) => branch))
  const inherited: Path | undefined =
    session.base && (yield* readPath(session.treeId, session.base, noFacts, (step) => step.branch <= lowest))
  return places.map((place, i) => {
    const branch = branches[i]?.[0]
    const isOwn = branch !== undefined && !isUnreadable(branch) && branch.owner === session.id
    return isOwn || (inherited !== undefined && isOnPath(inherited, place))
  })
})

/** A branch of the session and where it ends. */
export interface BranchTip {
  readonly branch: Readonly<BranchRow>
  readonly tip: Readonly<EntryRow> | Unreadable
  /** Whether it was merged, and nothing was said on it since. */
  readonly isMerged: boolean
  /** The last entry on it that people see, if there is one. */
  readonly lastShown: Readonly<EntryRow> | Unreadable | undefined
}

/** The branches that the session owns, oldest first, each with its end. */
const branchesOf = fn(function* (tx, session: SessionRow) {
  const branches = yield* ownBranches(session)
  const tips: Array<BranchTip> = []
  for (let i = 0; i < branches.length; i += maxRange) {
    const some = branches.slice(i, i + maxRange)
    const ends: ReadonlyArray<Readonly<EntryRow> | Unreadable | undefined> = yield* lastEntries(
      session.treeId,
      some.map(({ branch }) => branch),
    )
    const shown = yield* tx.all(
      some.map(({ branch, treeId }) =>
        tx.range(EntryTable, "byShown", { prefix: [treeId, branch], reverse: true, limit: 1, unreadable: "keep" }),
      ),
    )
    for (const [at, branch] of some.entries()) {
      const tip = ends[at]
      if (tip === undefined) continue
      tips.push({ branch, tip, isMerged: branch.merged === placeOfRow(tip).pos, lastShown: shown[at]?.[0] })
    }
  }
  return tips
})

export const listBranches = fn(function* (_tx, scope: Scope, sessionId: string) {
  const session = yield* requireSession(scope, sessionId)
  return { session, branches: yield* branchesOf(session) }
})

/** What people see on the way from the root to a message, that message last: the newest `limit` of it. */
export const pathTo = fn(function* (_tx, scope: Scope, sessionId: string, messageId: string, limit: number) {
  const session = yield* requireSession(scope, sessionId)
  const entry = yield* requireEntry(session, messageId)
  const to = entry.facts.displays
  const from = Math.max(hiddenOf(session).displays + 1, to - limit + 1)
  const path = yield* readPath(session.treeId, entry, entry.facts, (step) => step.displays < from)
  return yield* readOrdinals(session.treeId, path, "byShown", from, to)
})

/** Whether `ancestorId` comes before `messageId` on the path to it. */
export const isAncestor = fn(function* (_tx, scope: Scope, sessionId: string, ancestorId: string, messageId: string) {
  const session = yield* requireSession(scope, sessionId)
  const ancestor = yield* requireEntry(session, ancestorId)
  const entry = yield* requireEntry(session, messageId)
  if (ancestor.branch === entry.branch) return ancestor.pos < entry.pos
  return isOnPath(yield* readPath(session.treeId, entry, entry.facts, reaches(ancestor)), ancestor)
})

/** The last message that the paths to both share; `undefined` when that is the root. */
export const commonAncestor = fn(function* (tx, scope: Scope, sessionId: string, oneId: string, otherId: string) {
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
export const prompts = fn(function* (tx, scope: Scope, sessionId: string, before: string | undefined, limit: number) {
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
  const from = Math.max(hiddenOf(session).prompts + 1, to - limit + 1)
  if (from > to) return []
  const path = yield* readPath(session.treeId, head, facts, (step) => step.prompts < from)
  const rows = yield* readOrdinals(session.treeId, path, "byPrompt", from, to)
  return rows.filter((row): row is Readonly<EntryRow> => !isUnreadable(row)).toReversed()
})

/** The last prompt on the path. */
export const lastPrompt = fn(function* (tx, scope: Scope, sessionId: string) {
  const session = yield* requireSession(scope, sessionId)
  const { facts } = yield* standing(session)
  if (facts.lastPrompt === undefined || shownOf(session, facts).prompts === 0) return undefined
  const entry = yield* tx.get(EntryTable, [session.treeId, facts.lastPrompt.branch, facts.lastPrompt.pos])
  return entry && (yield* requireWhole(entry))
})
