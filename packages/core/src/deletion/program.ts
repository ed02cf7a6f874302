/**
 * The rules of deletion: who goes with a session, and in which steps everything of it goes.
 *
 * The mark comes first. It takes the row of the session away, so that it is in no list and nothing can be written for it any
 * more, and leaves a tombstone, which says so to whoever asks and knows what is left to do. Each step after it is one
 * commit of bounded size that looks anew what is there, so that it does not matter who does it, or how often.
 */
import { ImportTable, stagingId } from "../import/model.ts"
import type { ImportRow } from "../import/model.ts"
import { BranchTable, EntryTable, TreeTable } from "../message/model.ts"
import type { BranchRow } from "../message/model.ts"
import { notify } from "../message/program.ts"
import { redactEntry } from "../message/redact.ts"
import type { RedactionOf } from "../message/redact.ts"
import { OperationTable } from "../operation/model.ts"
import { isSeen } from "../scope.ts"
import type { Scope } from "../scope.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionKind, SessionRow } from "../session/model.ts"
import { isInternal, requireSession } from "../session/program.ts"
import { keyOf } from "../storage/table.ts"
import type { AnyTable, KeyOf, KeyPart, Table } from "../storage/table.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Handle, Unreadable } from "../storage/transaction.ts"
import { runActive } from "../turn/fence.ts"
import { applyCounting, planCounting } from "../usage/counting.ts"
import { UsageTable } from "../usage/model.ts"
import { erasingId, nobody, TombstoneTable } from "./model.ts"
import type { TombstoneRow } from "./model.ts"
import { linkedAmong, neededUpTo } from "./need.ts"
import { branchWindow, planEnding, removeEndings, Room } from "./removal.ts"
import type { Ending } from "./removal.ts"

/** A session that a deletion concerns. */
export interface Concerned {
  readonly id: string
  readonly kind: SessionKind
}

/** What a mark did. */
export interface Marked {
  /** Sessions that are gone: the one that was asked for first, then those that went with it. */
  readonly deleted: ReadonlyArray<Concerned>
  /** Sessions that were started by one of those, and have moved up. */
  readonly moved: ReadonlyArray<Concerned>
}

/** How many sessions one commit marks, and how many it moves up. The others follow in steps. */
export const maxMarked = 100

export interface Deleting {
  /** Whether running turns are fenced instead of refused. */
  readonly force: boolean
  /** Whether what it wrote is taken from others as well. */
  readonly erase: boolean
  readonly now: number
}

/**
 * Marks a session as deleted, and those that it started for itself, at any depth. Fails with `RunActive` where one of them
 * has a turn that runs, unless it is forced to.
 */
export const mark = fn(function* (tx, scope: Scope, sessionId: string, { erase, force, now }: Deleting) {
  const session = yield* requireSession(scope, sessionId)
  const family = yield* readFamily(session)
  const running = force ? undefined : family.internal.find(({ activeTurn }) => activeTurn !== undefined)
  if (running !== undefined) return yield* tx.fail(runActive(running, running.activeTurn!))
  return yield* markFamily(session, family, erase, now)
})

/** Marks a session that is still as it was when it was judged, with all that goes with it; `undefined`: it is not. */
export const markUnused = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  isUnused: (row: Readonly<SessionRow>) => boolean,
  now: number,
) {
  const session = yield* tx.get(SessionTable, [sessionId])
  if (session === undefined || !isSeen(scope, session)) return undefined
  const family = yield* readFamily(session)
  if (family.others.length > 0 || !family.internal.every(isUnused)) return undefined
  if ((yield* linkedAmong(family.internal.map(({ id }) => id))).size > 0) return undefined
  return yield* markFamily(session, family, false, now)
})

interface Family {
  /** The session, and what goes with it. */
  readonly internal: ReadonlyArray<Readonly<SessionRow>>
  readonly others: ReadonlyArray<Readonly<SessionRow>>
}

const markFamily = fn(function* (tx, session: SessionRow, { internal, others }: Family, erase: boolean, now: number) {
  const ids = new Set(internal.map(({ id }) => id))
  const parentId = session.parentId !== undefined && !ids.has(session.parentId) ? session.parentId : undefined
  const going = yield* planMarks(internal.slice(0, maxMarked))
  applyMarks(tx, going, { now, parentId, erase })
  moveUp(tx, others.slice(0, maxMarked), parentId, now)
  const marked: Marked = { deleted: internal.map(concerned), moved: others.map(concerned) }
  return marked
})

const concerned = ({ id, kind }: SessionRow): Concerned => ({ id, kind })

/** A session with all that it started for itself, at any depth; and what those started for people. */
const readFamily = fn(function* (_tx, session: SessionRow) {
  const internal: Array<Readonly<SessionRow>> = [session]
  const others: Array<Readonly<SessionRow>> = []
  const met = new Set([session.id])
  for (const { id } of internal) {
    let last: SessionRow | undefined
    do {
      const children: Children = yield* readChildren(id, last)
      for (const child of children.rows) {
        if (met.has(child.id)) continue
        met.add(child.id)
        ;(isInternal(child) ? internal : others).push(child)
      }
      last = children.last
    } while (last !== undefined)
  }
  const family: Family = { internal, others }
  return family
})

interface Children {
  readonly rows: ReadonlyArray<Readonly<SessionRow>>
  /** Behind which one there may be more. */
  readonly last: Readonly<SessionRow> | undefined
}

/** Some sessions that a session started. One that cannot be read stays as it is. */
const readChildren = fn(function* (tx, sessionId: string, last?: SessionRow) {
  const found = yield* tx.range(SessionTable, "byParent", {
    prefix: [sessionId],
    ...(last !== undefined && { after: [sessionId, last.createdAt, last.id] as const }),
    unreadable: "keep",
  })
  const rows = found.filter((row): row is Readonly<SessionRow> => !isUnreadable(row))
  const children: Children = { rows, last: found.length < maxRange ? undefined : rows.at(-1) }
  return children
})

/** A session that is to be marked, and where it stands in the ledger of imports. */
interface Going {
  readonly session: Readonly<SessionRow>
  readonly imports: ReadonlyArray<Readonly<ImportRow>>
}

const planMarks = fn(function* (tx, sessions: ReadonlyArray<Readonly<SessionRow>>) {
  const imports = yield* tx.all(sessions.map(({ id }) => tx.range(ImportTable, "byLocalId", { prefix: [id] })))
  return sessions.map((session, i): Going => ({ session, imports: imports[i]! }))
})

/** Takes sessions away, and leaves a mark of each. */
const applyMarks = (
  tx: Handle,
  going: ReadonlyArray<Going>,
  { erase, now, parentId }: { readonly now: number; readonly parentId: string | undefined; readonly erase: boolean },
): void => {
  for (const { imports, session } of going) {
    const { base, id, owner, treeId } = session
    const tombstone: TombstoneRow = { id, treeId, deletedAt: now, leftSince: now }
    if (owner !== undefined) tombstone.owner = owner
    if (parentId !== undefined) tombstone.parentId = parentId
    if (base !== undefined && base.branch > 0) tombstone.bases = [base.branch]
    if (erase) tombstone.erase = true
    tx.remove(SessionTable, [id])
    tx.insert(TombstoneTable, tombstone)
    for (const row of imports) {
      tx.update(ImportTable, [row.owner, row.source, row.session], (one): ImportRow => ({
        ...(erase ? withoutContent(one) : one),
        status: "deleted",
        deletedAt: now,
      }))
    }
    notify(tx, { _tag: "SessionWasDeleted", sessionId: id, deletedAt: now })
  }
}

/** What the ledger of imports has to say of a session of which it may tell nothing. */
const withoutContent = ({ error: _error, left: _left, ...row }: Readonly<ImportRow>): ImportRow => ({
  ...row,
  remarks: [],
})

/** Sessions have another parent, or none. */
const moveUp = (
  tx: Handle,
  sessions: ReadonlyArray<Readonly<SessionRow>>,
  parentId: string | undefined,
  now: number,
): void => {
  for (const { id } of sessions) {
    tx.update(SessionTable, [id], ({ parentId: _parent, ...row }) => ({
      ...row,
      ...(parentId !== undefined && { parentId }),
      revision: row.revision + 1,
      updatedAt: Math.max(row.updatedAt, now),
    }))
  }
}

/** What a step did. */
export interface Progress {
  /** Whether there is more to do; whether nothing of the session is left in the store; or whether that was so before. */
  readonly state: "more" | "emptied" | "done"
  /** Sessions that were marked meanwhile, and have steps of their own to go. */
  readonly marked: ReadonlyArray<string>
  /** Other sessions that saw what was erased. */
  readonly touched: ReadonlyArray<string>
}

const none: ReadonlyArray<string> = []
const more = (done: Partial<Progress> = {}): Progress => ({ state: "more", marked: none, touched: none, ...done })

/** One step of what is left to do of a deletion. */
export const step = fn(function* (
  tx,
  tables: ReadonlyArray<AnyTable>,
  sessionId: string,
  redactionOf: RedactionOf,
  now: number,
) {
  const tombstone = yield* tx.get(TombstoneTable, [sessionId])
  const done: Progress = { state: "done", marked: none, touched: none }
  if (tombstone?.leftSince === undefined) return done
  const children = (yield* readChildren(tombstone.id)).rows.slice(0, maxMarked)
  if (children.length > 0) return more({ marked: yield* releaseChildren(tombstone, children, now) })
  const isBusy =
    (yield* removeOwned(tables, sessionId)) ||
    (yield* removeReceipts(sessionId)) ||
    (yield* removeBranches(tombstone, now)) ||
    (yield* eraseUsage(tombstone, now))
  if (isBusy) return more()
  const touched = yield* eraseShared(tombstone, redactionOf, now)
  if (touched !== undefined) return more({ touched })
  if (yield* removeInherited(tombstone, now)) return more()
  yield* removeTree(tombstone.treeId)
  const emptied: Progress = { state: "emptied", marked: none, touched: none }
  return emptied
})

/** Marks, or moves up, what the mark of their parent had no room for, or did not know yet. */
const releaseChildren = fn(function* (
  tx,
  tombstone: TombstoneRow,
  children: ReadonlyArray<Readonly<SessionRow>>,
  now: number,
) {
  const parentId = yield* livingParent(tombstone.parentId)
  const going = yield* planMarks(children.filter(isInternal))
  applyMarks(tx, going, { now, parentId, erase: tombstone.erase ?? false })
  const others = children.filter((child) => !isInternal(child))
  moveUp(tx, others, parentId, now)
  return going.map(({ session }) => session.id)
})

/** The session, or the nearest one above it that is not deleted as well. */
const livingParent = fn(function* (tx, sessionId: string | undefined) {
  let id = sessionId
  for (const met = new Set<string>(); id !== undefined && !met.has(id);) {
    met.add(id)
    const tombstone: Readonly<TombstoneRow> | undefined = yield* tx.get(TombstoneTable, [id])
    if (tombstone === undefined) return id
    id = tombstone.parentId
  }
  return undefined
})

/** A table whose rows belong to sessions, as far as that says what its key is. */
type OwnedTable = Table<
  string,
  Record<string, unknown>,
  readonly [sessionId: string, rest: KeyPart],
  Record<never, never>
>

/** Removes rows of tables that say that they belong to sessions. */
const removeOwned = fn(function* (tx, tables: ReadonlyArray<AnyTable>, sessionId: string) {
  const room = new Room()
  const ends: Array<{ readonly of: OwnedTable; readonly to: KeyOf<OwnedTable> }> = []
  for (const of of tables as ReadonlyArray<OwnedTable>) {
    if (of.ownedBy !== "session") continue
    let to: KeyOf<OwnedTable> | undefined
    for (let isOver = false; !isOver && !room.isFull;) {
      const limit = room.window
      const rows: ReadonlyArray<Readonly<Record<string, unknown>> | Unreadable> = yield* tx.range(of, "key", {
        prefix: [sessionId],
        ...(to !== undefined && { after: to }),
        limit,
        unreadable: "keep",
      })
      isOver = rows.length < limit
      for (const row of rows) {
        if (!room.takes(of, row)) break
        to = (isUnreadable(row) ? row.key : keyOf(of, row)) as KeyOf<OwnedTable>
      }
    }
    if (to !== undefined) ends.push({ of, to })
    if (room.isFull) break
  }
  for (const { of, to } of ends) tx.removeRange(of, { prefix: [sessionId], to })
  return ends.length > 0
})

/** Removes what is remembered of operations that are finished. Whoever finishes the others removes those. */
const removeReceipts = fn(function* (tx, sessionId: string) {
  const rows = yield* tx.range(OperationTable, "bySession", { prefix: [sessionId], unreadable: "keep" })
  const finished = rows.filter((row) => isUnreadable(row) || row.unfinished === undefined)
  for (const row of finished) tx.remove(OperationTable, [isUnreadable(row) ? String(row.key[0]) : row.id])
  return finished.length > 0
})

/** Removes what nobody needs of the branches of a session, leaves first. What others need of them belongs to nobody. */
const removeBranches = fn(function* (tx, { erase, id, treeId }: TombstoneRow, now: number) {
  const room = new Room()
  const endings: Array<Ending> = []
  const gone = new Set<number>()
  const kept: Array<number> = []
  for (const owner of [stagingId(id), id]) {
    let last: number | undefined
    for (let isOver = false; !isOver && !room.isFull;) {
      const rows: ReadonlyArray<Readonly<BranchRow> | Unreadable> = yield* tx.range(BranchTable, "byOwner", {
        prefix: [owner],
        ...(last !== undefined && { before: [owner, last] as const }),
        reverse: true,
        limit: branchWindow,
        unreadable: "keep",
      })
      isOver = rows.length < branchWindow
      for (const row of rows) {
        const branch: number = isUnreadable(row) ? Number(row.key[1]) : row.branch
        last = branch
        const needed: number = yield* neededUpTo(treeId, branch, gone)
        const ending: Ending = yield* planEnding(treeId, branch, needed, room)
        if (ending.from !== undefined) endings.push(ending)
        if (!ending.isAll || !room.takes(BranchTable, row)) break
        if (needed === 0) gone.add(branch)
        // One that cannot be read can be given to nobody, and stays as it is.
        else if (!isUnreadable(row)) kept.push(branch)
      }
    }
  }
  removeEndings(tx, treeId, endings, gone, now)
  for (const branch of kept) {
    tx.update(BranchTable, [treeId, branch], (row) => {
      const { name: _name, ...rest } = row
      return { ...rest, owner: erase === true ? erasingId(id) : nobody, closed: true }
    })
  }
  return endings.length > 0 || gone.size > 0 || kept.length > 0
})

/**
 * Removes what only the session needed of branches that belong to nobody: of one that it left, and of those before it for
 * as long as nothing is left of the one behind.
 */
const removeInherited = fn(function* (tx, tombstone: TombstoneRow, now: number) {
  const { bases: [base, ...others] = [], id, treeId } = tombstone
  if (base === undefined) return false
  const room = new Room()
  const endings: Array<Ending> = []
  const gone = new Set<number>()
  let next: number | undefined = base
  while (next !== undefined && !room.isFull) {
    const [row]: ReadonlyArray<Readonly<BranchRow> | Unreadable> = yield* tx.range(BranchTable, "key", {
      prefix: [treeId, next],
      unreadable: "keep",
    })
    if (row === undefined || isUnreadable(row) || row.owner !== nobody) {
      next = undefined
      break
    }
    const needed: number = yield* neededUpTo(treeId, next, gone)
    const ending: Ending = yield* planEnding(treeId, next, needed, room)
    if (ending.from !== undefined) endings.push(ending)
    if (!ending.isAll || (needed === 0 && !room.takes(BranchTable, row))) break
    if (needed === 0) gone.add(next)
    next = needed === 0 ? row.parent : undefined
  }
  removeEndings(tx, treeId, endings, gone, now)
  const bases = next === undefined ? others : [next, ...others]
  tx.update(TombstoneTable, [id], ({ bases: _bases, ...rest }) => ({ ...rest, ...(bases.length > 0 && { bases }) }))
  return true
})

/** Takes calls out of the ledger and the sums, of a session that is erased. */
const eraseUsage = fn(function* (tx, { erase, id }: TombstoneRow, now: number) {
  if (erase !== true) return false
  const rows = yield* tx.range(UsageTable, "bySession", { prefix: [id], limit: callsErased })
  if (rows.length === 0) return false
  applyCounting(tx, yield* planCounting(rows.map((before) => ({ before, after: undefined }))), now)
  return true
})

/** Each call may be in sums of its own. */
const callsErased = 100

/**
 * Takes the content of one more entry from those who share it, of a session that is erased; answers who saw it, and
 * `undefined` where there is no more. Then nobody owns the branch, and it may hold more than anybody needs.
 */
const eraseShared = fn(function* (tx, tombstone: TombstoneRow, redactionOf: RedactionOf, now: number) {
  const { erase, erased = 0, id, treeId } = tombstone
  if (erase !== true) return undefined
  const [branch] = yield* tx.range(BranchTable, "byOwner", { prefix: [erasingId(id)], limit: 1 })
  if (branch === undefined) return undefined
  const [entry] = yield* tx.range(EntryTable, "key", {
    prefix: [treeId, branch.branch],
    after: [treeId, branch.branch, erased],
    limit: 1,
    unreadable: "keep",
  })
  if (entry === undefined) {
    tx.update(BranchTable, [treeId, branch.branch], (row) => ({ ...row, owner: nobody }))
    tx.update(TombstoneTable, [id], ({ bases = [], erased: _erased, ...rest }) => ({
      ...rest,
      bases: [...bases, branch.branch],
    }))
    return none
  }
  // What cannot be read shows nothing to anybody.
  const seenBy = isUnreadable(entry) ? none : (yield* redactEntry(entry, redactionOf, now)).seenBy
  const pos = isUnreadable(entry) ? Number(entry.key[2]) : entry.pos
  tx.update(TombstoneTable, [id], (row) => ({ ...row, erased: pos }))
  return seenBy
})

/** Removes a tree that holds nothing any more. */
const removeTree = fn(function* (tx, treeId: string) {
  const one = { prefix: [treeId], limit: 1, unreadable: "keep" } as const
  const [sessions, branches, operations] = yield* tx.all([
    tx.range(SessionTable, "byTree", one),
    tx.range(BranchTable, "key", one),
    tx.range(OperationTable, "byBase", one),
  ])
  if (sessions.length + branches.length + operations.length === 0) tx.remove(TreeTable, [treeId])
})

/** Notes that nothing is left to do. */
export const finish = fn(function* (tx, sessionId: string) {
  const tombstone = yield* tx.get(TombstoneTable, [sessionId])
  if (tombstone === undefined) return
  tx.update(TombstoneTable, [sessionId], ({ id, owner, deletedAt, treeId }) => ({
    id,
    treeId,
    deletedAt,
    ...(owner !== undefined && { owner }),
  }))
})

/** A deletion, as whoever goes on with it has to know it. */
export interface Pending {
  readonly id: string
  readonly leftSince: number
}

/** Some deletions of which something is left to do, oldest first. */
export const pending = fn(function* (tx, scope: Scope, after: Pending | undefined) {
  const rows = yield* tx.range(TombstoneTable, "byLeft", {
    ...(after !== undefined && { after: [after.leftSince, after.id] as const }),
    unreadable: "keep",
  })
  const readable = rows.filter((row): row is Readonly<TombstoneRow> => !isUnreadable(row))
  const last = rows.length < maxRange ? undefined : readable.at(-1)
  const toPending = ({ id, leftSince = 0 }: TombstoneRow): Pending => ({ id, leftSince })
  return { found: readable.filter((row) => isSeen(scope, row)).map(toPending), next: last && toPending(last) }
})

/** The tombstone of a session, where it was deleted and that may be known. */
export const findTombstone = fn(function* (tx, scope: Scope, sessionId: string) {
  const tombstone = yield* tx.get(TombstoneTable, [sessionId])
  return tombstone !== undefined && isSeen(scope, tombstone) ? tombstone : undefined
})

/** Forgets a deletion of which nothing is left to do: the id may be used again. */
export const forget = fn(function* (tx, scope: Scope, sessionId: string) {
  const tombstone = yield* findTombstone(scope, sessionId)
  if (tombstone === undefined || tombstone.leftSince !== undefined) return false
  tx.remove(TombstoneTable, [sessionId])
  return true
})
