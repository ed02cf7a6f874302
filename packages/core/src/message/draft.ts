/**
 * Drafts: entries that are still being written.
 *
 * Guarantee: an entry keeps its place, its role and who sees it from its first draft on; only its bodies change, until it
 * is settled, and then never again. What follows from it (facts, ordinals) is written once.
 */
import { SessionTable } from "../session/model.ts"
import type { ActiveTurn, SessionRow } from "../session/model.ts"
import { InvalidInput } from "../storage/error.ts"
import { fn, isUnreadable } from "../storage/transaction.ts"
import type { Handle } from "../storage/transaction.ts"
import { renewed } from "../turn/fence.ts"
import { stow } from "./large.ts"
import { EntryTable } from "./model.ts"
import type { EntryRef, EntryRow } from "./model.ts"
import { entriesAt } from "./path.ts"
import { changesReplay, isDisplayed, isReplayed, isSamePlace } from "./placement.ts"
import type { NewEntry } from "./placement.ts"
import { notify, notifyEntries } from "./program.ts"

/** How a draft is settled that did not come to its own end. */
export type Cut = NonNullable<EntryRow["cut"]>

/** The entries at these places that are drafts. What cannot be read is left as it is. */
export const readDrafts = fn(function* (_tx, treeId: string, places: ReadonlyArray<EntryRef>) {
  const rows = places.length === 0 ? [] : yield* entriesAt(treeId, places)
  return rows.flatMap((row) => (row === undefined || isUnreadable(row) || row.draft !== true ? [] : [row]))
})

/** Refuses a body that people, or the model, would see where they did not before. */
export const checkShape = fn(function* (tx, stored: EntryRow, entry: NewEntry) {
  const refuse = (field: string, problem: string) => tx.fail(new InvalidInput({ field, value: entry.id, problem }))
  if (stored.role !== entry.role) return yield* refuse("draft.role", `must stay ${stored.role}`)
  if (isDisplayed(stored) !== isDisplayed(entry) || isReplayed(stored) !== isReplayed(entry)) {
    return yield* refuse("draft", "must keep the bodies it began with: shown, replayed, or both")
  }
})

/** A stored draft with the content of another entry. It stays the entry, and the part of its turn, that it was. */
export const redrafted = (
  row: EntryRow,
  { attachments, body, display, format, large, metadata, model }: NewEntry,
): EntryRow => {
  const {
    attachments: _,
    body: _body,
    display: _display,
    large: _large,
    metadata: _metadata,
    model: _model,
    ...kept
  } = row
  return {
    ...kept,
    ...(body !== undefined && { body }),
    ...(display !== undefined && { display }),
    ...(model !== undefined && { model }),
    ...(large !== undefined && { large }),
    ...(attachments !== undefined && { attachments }),
    ...(metadata !== undefined && { metadata }),
    ...(format !== undefined && { format }),
  }
}

/** The entry as it stays. */
export const settled = (row: EntryRow, cut: Cut | undefined): EntryRow => {
  const { draft: _draft, ...rest } = row
  return cut === undefined ? rest : { ...rest, cut }
}

/**
 * Writes new content of a stored draft. The session's revision says so; nothing else of it moves, unless the model is given
 * the draft already: one that waited for an answer.
 */
export const writeDraft = (
  tx: Handle,
  session: SessionRow,
  stored: EntryRow,
  entry: NewEntry,
  now: number,
): EntryRow => {
  const row = tx.update(EntryTable, keyOf(stored), (old) => redrafted(old, entry))
  const { headVersion, revision } = tx.update(SessionTable, [session.id], (one) => {
    const isGiven = isReplayed(row) && row.turn !== one.activeTurn?.id
    const historyVersion = one.historyVersion + (isGiven ? 1 : 0)
    return renewed({ ...one, historyVersion, revision: one.revision + 1 }, now)
  })
  notify(tx, { _tag: "DraftStored", sessionId: session.id, revision, headVersion, entry: row })
  return row
}

/** Settles drafts, each with its newest content where that is given, and takes them off the running turn. */
export const settleDrafts = (
  tx: Handle,
  session: SessionRow,
  drafts: ReadonlyArray<EntryRow>,
  cut: Cut | undefined,
  now: number,
  newest: (entryId: string) => NewEntry | undefined = () => undefined,
): ReadonlyArray<EntryRow> => {
  if (drafts.length === 0) return []
  const rows = drafts.map((draft) => {
    const row = tx.update(EntryTable, keyOf(draft), (old) => {
      const content = newest(draft.id)
      return settled(content === undefined ? old : redrafted(old, content), cut)
    })
    return stow(tx, row, now)
  })
  const after = tx.update(SessionTable, [session.id], (one) => ({
    ...withoutDrafts(one, rows),
    historyVersion: one.historyVersion + (rows.some(changesReplay) ? 1 : 0),
    revision: one.revision + 1,
    updatedAt: Math.max(one.updatedAt, now),
  }))
  notifyEntries(tx, after, rows)
  return rows
}

const withoutDrafts = (session: SessionRow, rows: ReadonlyArray<EntryRow>): SessionRow => {
  const { activeTurn } = session
  if (activeTurn === undefined) return session
  return { ...session, activeTurn: { ...activeTurn, drafts: without(activeTurn, rows) } }
}

const without = ({ drafts }: ActiveTurn, rows: ReadonlyArray<EntryRow>): Array<EntryRef> =>
  drafts.filter((draft) => !rows.some((row) => isSamePlace(row, draft)))

const keyOf = ({ branch, pos, treeId }: EntryRow) => [treeId, branch, pos] as const
