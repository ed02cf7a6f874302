/**
 * The rules of importing: what of another program's session is new here, where it goes, and what people's changes keep.
 *
 * Messages are found again by their ids, so that a part that was imported before, by whomever, is never written twice.
 * They are staged on branches that belong to no session, which nobody sees, also after a crash; the one commit that
 * publishes the session gives them to it. What people did meanwhile stays: a head, a title or a flag follows the source
 * only while it is as the last import left it.
 */
import * as Data from "effect/Data"
import { TombstoneTable } from "../deletion/model.ts"
import { applyNewMove, planLeaving, planMove } from "../head/program.ts"
import type { Stand } from "../head/program.ts"
import { BranchTable, EntryTable, noFacts, root, TreeTable } from "../message/model.ts"
import type { EntryRef, EntryRow } from "../message/model.ts"
import { isOnPath, readPath, reaches } from "../message/path.ts"
import type { NewEntry, Placement } from "../message/placement.ts"
import { isSameContent, ownBranches, placeBehind, writeEntries } from "../message/program.ts"
import { ProjectTable } from "../project/model.ts"
import type { ProjectRow } from "../project/model.ts"
import { showAgain } from "../project/program.ts"
import { isSeen } from "../scope.ts"
import type { Scope } from "../scope.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { IdConflict, requireFree, shelfOf } from "../session/program.ts"
import { fn } from "../storage/transaction.ts"
import type { Handle } from "../storage/transaction.ts"
import { canonical, digest } from "../value.ts"
import { applyContinuation, planContinuation } from "./continuation.ts"
import type { Continuation } from "./continuation.ts"
import { ImportTable, stagingId } from "./model.ts"
import type { ImportRow, LedgerKey, Left } from "./model.ts"

/** A session could not be imported. Nothing of it is seen that was not seen before. */
export class ImportFailed extends Data.TaggedError("ImportFailed")<{
  /** Its id at the source. */
  readonly session: string
  /** What was being done. */
  readonly stage: "metadata" | "display"
  readonly reason: string
  readonly cause?: unknown
}> {
  override get message() {
    return `session ${this.session} was not imported: ${this.reason}`
  }
}

/** A session of a source, as it would be here if it were new. */
export interface Arrival {
  readonly ledger: LedgerKey
  readonly draft: SessionRow
  readonly project: ProjectRow
}

/** The session's row, where it is here already. Its tree is made of its source, so that another one tells another origin. */
const present = fn(function* (tx, scope: Scope, draft: SessionRow) {
  const stored = yield* tx.get(SessionTable, [draft.id])
  if (stored !== undefined && (!isSeen(scope, stored) || stored.treeId !== draft.treeId)) {
    return yield* tx.fail(new IdConflict({ id: draft.id }))
  }
  if (stored === undefined) yield* requireFree(scope, draft.id)
  return stored
})

export const find = fn(function* (tx, { owner, session, source }: LedgerKey) {
  return yield* tx.get(ImportTable, [owner, source, session])
})

/** The session as whoever stages for it: no session has this id. */
const stagingOf = (session: SessionRow): SessionRow => ({ ...session, id: stagingId(session.id) })

/** A message on its way in. */
export interface Arriving {
  readonly entry: NewEntry
  /** For a compaction: the entry from which on it is replayed. */
  readonly keepFrom?: string
}

/** Messages that follow one another at the source. */
export interface Part {
  /** The entry that they follow, `null` at the root. */
  readonly after: string | null
  readonly messages: ReadonlyArray<Arriving>
  /** Whether those that are not here are new. If not, they were here once and have been deleted. */
  readonly fresh: boolean
  /** The last message that was imported before: it may have been unfinished, and comes in its present version. */
  readonly renew: string | undefined
}

export interface Staged {
  /** How many messages of the part are settled. The others want another go. */
  readonly handled: number
  /** How many of those are here, and how many were written now. */
  readonly stored: number
  readonly added: number
  /** The last entry of those that is here, or what they follow. */
  readonly last: string | null
  /** Entries that say something else at the source by now. */
  readonly changed: ReadonlyArray<string>
  /** Compactions whose tail is not here: they are kept as notes, and hide nothing. */
  readonly tailless: ReadonlyArray<string>
}

/** Writes the first run of messages of a part that are not here, behind the one they follow. */
export const stage = fn(function* (tx, scope: Scope, { draft }: Arrival, part: Part, now: number) {
  const stored = yield* present(scope, draft)
  const { treeId } = draft
  const places = yield* locate(treeId, part)
  const isNew = ({ at, renewed }: Place) => at === undefined && (part.fresh || renewed)
  const first = places.findIndex(isNew)
  if (first < 0) return settled(part, places, [], [])
  const length = places.slice(first).findIndex((place) => !isNew(place))
  const run = places.slice(first, length < 0 ? undefined : first + length)
  const before = places.slice(0, first).findLast(({ at }) => at !== undefined)?.at?.id ?? part.after
  const placement = yield* placeAfter(stagingOf(stored ?? draft), before)
  const tree = yield* tx.get(TreeTable, [treeId])
  const { entries, tailless } = yield* withTails(treeId, placement, run)

  if (tree === undefined) tx.insert(TreeTable, { treeId, nextBranch: 1, redactions: 0 })
  const rows = writeEntries(tx, placement, entries, now)
  return settled(part, places.slice(0, first + run.length), rows, tailless)
})

/** Where a message is here. */
interface Place {
  readonly message: Arriving
  readonly at: EntryRow | undefined
  /** Whether it differs at the source by now. */
  readonly changed: boolean
  /** Whether it is to be written in its present version. */
  readonly renewed: boolean
}

/** Finds messages by their ids. One that has changed since is found by the id of its new version, if that is here. */
const locate = fn(function* (tx, treeId: string, { messages, renew }: Part) {
  const byId = (id: string) => tx.find(EntryTable, "byId", [treeId, id])
  const found = yield* tx.all(messages.map(({ entry }) => byId(entry.id)))
  const differs = messages.map(({ entry }, i) => {
    const row = found[i]
    // What was redacted here is to stay so.
    return row !== undefined && row.redacted === undefined && !isSameContent(row, entry)
  })
  const versions = yield* tx.all(messages.flatMap(({ entry }, i) => (differs[i] ? [byId(versionId(entry))] : [])))
  const inOrder = versions.values()
  return messages.map((message, i): Place => {
    const at = found[i]
    const version = differs[i] ? inOrder.next().value : undefined
    if (!differs[i] || version !== undefined) return { message, at: version ?? at, changed: false, renewed: false }
    if (message.entry.id !== renew) return { message, at, changed: true, renewed: false }
    const entry = { ...message.entry, id: versionId(message.entry) }
    return { message: { ...message, entry }, at: undefined, changed: false, renewed: true }
  })
})

/** The id of a message that was imported before it was finished, in its later version. */
const versionId = (entry: NewEntry): string =>
  `${entry.id.slice(0, 119)}-${digest([entry.role, entry.body, entry.display, entry.model, entry.metadata]).slice(0, 8)}`

/** The place behind an entry that is here, or behind the root. */
const placeAfter = fn(function* (tx, session: SessionRow, id: string | null) {
  const entry = id === null ? undefined : yield* tx.find(EntryTable, "byId", [session.treeId, id])
  return yield* placeBehind(session, entry ?? root, entry?.facts ?? noFacts)
})

/** The entries of a run, each compaction with the place it keeps from. */
const withTails = fn(function* (tx, treeId: string, { after, branch }: Placement, run: ReadonlyArray<Place>) {
  const inRun = new Map<string, EntryRef>(
    run.map(({ message }, i) => [message.entry.id, { branch, pos: after + i + 1 }]),
  )
  const wanted = run.flatMap(({ message: { keepFrom } }) =>
    keepFrom === undefined || inRun.has(keepFrom) ? [] : [keepFrom],
  )
  const found = yield* tx.all(wanted.map((id) => tx.find(EntryTable, "byId", [treeId, id])))
  const refs = new Map(inRun)
  for (const row of found) if (row !== undefined) refs.set(row.id, { branch: row.branch, pos: row.pos })
  const tailless: Array<string> = []
  const entries = run.map(({ message: { entry, keepFrom } }): NewEntry => {
    if (entry.compaction === undefined || keepFrom === undefined) return entry
    const ref = refs.get(keepFrom)
    if (ref !== undefined) return { ...entry, compaction: { ...entry.compaction, keepFrom: ref } }
    tailless.push(entry.id)
    const { compaction: _, ...note } = entry
    return { ...note, kind: "note" }
  })
  return { entries, tailless }
})

const settled = (
  part: Part,
  places: ReadonlyArray<Place>,
  added: ReadonlyArray<EntryRow>,
  tailless: ReadonlyArray<string>,
): Staged => {
  const here = places.flatMap(({ at }) => (at === undefined ? [] : [at.id]))
  return {
    handled: places.length,
    stored: here.length + added.length,
    added: added.length,
    last: added.at(-1)?.id ?? here.at(-1) ?? part.after,
    changed: places.flatMap(({ changed, message }) => (changed ? [message.entry.id] : [])),
    tailless,
  }
}

/** What an import did to a session. */
export interface Published {
  readonly outcome: "created" | "updated" | "unchanged"
  /** What differs at the source and was changed here too: it stays as it is here. */
  readonly kept: ReadonlyArray<keyof Left>
  /** Whether the message is not here where the session stood at its source. */
  readonly headLost: boolean
}

/** Where a session stands at its source. */
export interface ArrivingHead {
  /** Undefined: at its last message. */
  readonly wanted: string | null | undefined
  /** The last message that is here. */
  readonly last: string | null
}

/** Shows what was staged: the session as its source has it, with what people changed here left alone. */
export const publish = fn(function* (
  tx,
  scope: Scope,
  arrival: Arrival,
  record: Omit<ImportRow, "left">,
  { last, wanted }: ArrivingHead,
  now: number,
) {
  const { draft, ledger, project } = arrival
  const stored = yield* present(scope, draft)
  const leaving = stored === undefined ? [] : yield* planLeaving(stored)
  const [before, home, tree] = yield* tx.all([
    tx.get(ImportTable, [ledger.owner, ledger.source, ledger.session]),
    tx.get(ProjectTable, [draft.projectId]),
    tx.get(TreeTable, [draft.treeId]),
  ])
  const found = typeof wanted === "string" ? yield* tx.find(EntryTable, "byId", [draft.treeId, wanted]) : undefined
  const headLost = typeof wanted === "string" && found === undefined
  const head = wanted === undefined || headLost ? last : (found?.id ?? null)
  const { continuation, staged, stand } = yield* planHead(stored ?? draft, head)
  const left: Left = { head, archived: draft.archived, status: draft.status }
  if (draft.title !== undefined) left.title = draft.title
  const row: ImportRow = { ...record, left }
  const path = yield* readPath(draft.treeId, stand.ref, stand.facts, reaches((stored ?? draft).head))

  if (continuation === undefined) {
    for (const { branch } of staged) {
      tx.update(BranchTable, [draft.treeId, branch], (one) => ({ ...one, owner: draft.id }))
    }
  } else {
    applyContinuation(tx, continuation, now)
  }
  if (stored === undefined) {
    if (home === undefined) tx.insert(ProjectTable, project)
    else showAgain(tx, home, now)
    if (tree === undefined) tx.insert(TreeTable, { treeId: draft.treeId, nextBranch: 1, redactions: 0 })
    tx.insert(SessionTable, standing(draft, stand))
    writeRecord(tx, before, row)
    const published: Published = { outcome: "created", kept: [], headLost }
    return published
  }

  const { kept, moved } = following(leftOf(stored), before?.left, left)
  if (moved.includes("head")) {
    // What only goes on is no move: it is as if it had been appended.
    if (isOnPath(path, stored.head)) tx.update(SessionTable, [stored.id], (row) => standing(row, stand))
    else applyNewMove(tx, stored, stand, leaving, { reason: "import", at: now })
  } else if (continuation?.behind.branch === stored.head.branch) tx.update(SessionTable, [stored.id], withoutTip)
  const change = (row: Readonly<SessionRow>) => renewed(row, draft, moved)
  if (canonical(change(stored)) !== canonical(stored)) {
    tx.update(SessionTable, [stored.id], (row) => ({ ...change(row), revision: row.revision + 1 }))
  }
  writeRecord(tx, before, row)
  const published: Published = { outcome: moved.length > 0 ? "updated" : "unchanged", kept, headLost }
  return published
})

/** Where the head is to stand once everything that is staged belongs to the session, and what that is. */
const planHead = fn(function* (tx, session: SessionRow, head: string | null) {
  const staging = stagingOf(session)
  const staged = yield* ownBranches(staging)
  const entry = head === null ? undefined : yield* tx.find(EntryTable, "byId", [session.treeId, head])
  const isStaged = staged.some(({ branch }) => branch === entry?.branch)
  const stand = yield* planMove(isStaged ? staging : session, head)
  const continuation = yield* planContinuation(session, staged)
  return { staged, continuation, stand: continuation === undefined ? stand : movedStand(stand, continuation) }
})

/** A stand on a staged message, at the place where that goes. */
const movedStand = (stand: Stand, { rows, staged }: Continuation): Stand => {
  const row = stand.ref.branch === staged.branch ? rows[stand.ref.pos - 1] : undefined
  if (row === undefined) return stand
  const { branch, facts, pos } = row
  return { ...stand, ref: { branch, pos }, facts, tip: stand.tip === undefined ? undefined : facts.entries - pos }
}

/** What was written behind the head on its own branch takes the tip away from it. */
const withoutTip = (row: Readonly<SessionRow>): SessionRow => {
  const { tip: _, ...rest } = row
  return { ...rest, revision: row.revision + 1 }
}

const leftOf = ({ archived, head, status, title }: Readonly<SessionRow>): Left => ({
  head: head.id ?? null,
  ...(title !== undefined && { title }),
  archived,
  status,
})

/** What follows the source, and what does not because it was changed on both sides. */
const following = (here: Left, left: Left | undefined, source: Left) => {
  const differing = (["head", "title", "archived", "status"] as const).filter((field) => source[field] !== here[field])
  const isUntouched = (field: keyof Left) => left === undefined || here[field] === left[field]
  return {
    moved: differing.filter(isUntouched),
    kept: differing.filter((field) => !isUntouched(field) && source[field] !== left?.[field]),
  }
}

/** The session with its head on a stand that its path leads to. */
const standing = (row: Readonly<SessionRow>, { facts, id, preview, ref, tip }: Stand): SessionRow => {
  if (id === undefined) return row
  const { redo: _redo, tip: _tip, ...rest } = row
  return {
    ...rest,
    head: { ...ref, id },
    headVersion: row.headVersion + 1,
    historyVersion: row.historyVersion + 1,
    facts,
    preview,
    ...(tip !== undefined && { tip }),
  }
}

/** The session with what follows its source, and with what it lacked. */
const renewed = (row: Readonly<SessionRow>, draft: SessionRow, moved: ReadonlyArray<keyof Left>): SessionRow => {
  const next: SessionRow = {
    ...row,
    updatedAt: Math.max(row.updatedAt, draft.updatedAt),
    activityAt: Math.max(row.activityAt, draft.activityAt),
  }
  if (row.agent === undefined && draft.agent !== undefined) next.agent = draft.agent
  if (row.model === undefined && draft.model !== undefined) next.model = draft.model
  if (moved.includes("archived")) next.archived = draft.archived
  if (moved.includes("title")) {
    next.titleOrigin = draft.titleOrigin
    if (draft.title === undefined) delete next.title
    else next.title = draft.title
  }
  if (moved.includes("status")) {
    next.status = draft.status
    if (draft.error === undefined) delete next.error
    else next.error = draft.error
  }
  next.shelf = shelfOf(next)
  return next
}

const writeRecord = (tx: Handle, before: Readonly<ImportRow> | undefined, row: ImportRow): void => {
  if (before === undefined) tx.insert(ImportTable, row)
  else tx.update(ImportTable, [row.owner, row.source, row.session], () => row)
}

/** Lets a session come in again that was deleted here, as if it were new; false: it was not, or is not gone yet. */
export const restore = fn(function* (tx, ledger: LedgerKey, now: number) {
  const row = yield* find(ledger)
  if (row?.status !== "deleted") return false
  const mark = yield* tx.get(TombstoneTable, [row.localId])
  if (mark?.leftSince !== undefined) return false
  tx.remove(TombstoneTable, [row.localId])
  tx.update(ImportTable, [row.owner, row.source, row.session], ({ converter, localId, restored = 0 }): ImportRow => ({
    ...ledger,
    localId,
    converter,
    status: "discovered",
    messages: 0,
    stored: 0,
    deleted: 0,
    remarks: [],
    lost: false,
    importedAt: now,
    restored: restored + 1,
  }))
  return true
})

/** Notes that an attempt failed. What an earlier one brought stays, and the next one tries again. */
export const fail = fn(function* (
  tx,
  failed: LedgerKey & Pick<ImportRow, "localId" | "converter" | "error" | "importedAt">,
) {
  const before = yield* find(failed)
  // What was deleted stays so, whatever else becomes of it.
  if (before?.status === "deleted") return
  writeRecord(tx, before, {
    messages: 0,
    stored: 0,
    deleted: 0,
    remarks: [],
    lost: false,
    ...before,
    ...failed,
    status: "failed",
  })
})
