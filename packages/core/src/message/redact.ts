/**
 * The rules of redacting: the content of an entry goes, for every session of its tree.
 *
 * The entry keeps its id, its place, who speaks and its tool calls. Every other trace that the tree has of the content goes
 * in the same commit: what was known of it beside the bodies, the previews of sessions whose last prompt it is, and the bytes
 * of its large bodies and files, unless somebody else uses them.
 */
import { applyErasure, planErasure, planRelease } from "../attachment/program.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { InvalidInput } from "../storage/error.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import { canonical } from "../value.ts"
import { whole } from "./large.ts"
import { EntryTable, TreeTable } from "./model.ts"
import type { EntryRow } from "./model.ts"
import { isOnPath, readPath, reaches } from "./path.ts"
import { isSamePlace } from "./placement.ts"
import { notifyEntries, requireEntry } from "./program.ts"

/** What takes the place of an entry's content. Pure: the dialects are known before. */
export type RedactionOf = (
  entry: EntryRow,
) => Pick<EntryRow, "body" | "display" | "model" | "format" | "preview" | "compaction" | "amendment" | "link">

/** Redacts an entry of the session. Where nothing of its content is left already, nothing is written. MSG-08 */
export const redact = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  messageId: string,
  redactionOf: RedactionOf,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  const entry = yield* requireEntry(session, messageId)
  const problem = problemOf(entry)
  if (problem !== undefined) {
    return yield* tx.fail(new InvalidInput({ field: "messageId", value: messageId, problem }))
  }
  return (yield* redactEntry(entry, redactionOf, now, session)).row
})

/** An entry without its content, and the sessions on whose path it stands. */
export interface Redacted {
  readonly row: Readonly<EntryRow>
  readonly seenBy: ReadonlyArray<string>
}

/** Takes the content of an entry away. Whoever asks for it hears of it also where the entry is not on its path. */
export const redactEntry = fn(function* (
  tx,
  entry: Readonly<EntryRow>,
  redactionOf: RedactionOf,
  now: number,
  asking?: SessionRow,
) {
  const { branch, pos, treeId } = entry
  const full: Readonly<EntryRow> | Unreadable = yield* whole(entry)
  // What cannot be read is to go all the same.
  const next = emptied(entry, redactionOf(isUnreadable(full) ? entry : full), now)
  const unchanged: Redacted = { row: entry, seenBy: [] }
  if (canonical(next) === canonical({ ...entry, redacted: now })) return unchanged
  const tree = yield* tx.get(TreeTable, [treeId])
  const release = yield* planRelease(treeId, branch, { from: pos, to: pos })
  const erased = yield* planErasure(release)
  const affected = yield* seeingSessions(treeId, entry)

  applyErasure(tx, release, erased, now)
  const row = tx.update(EntryTable, [treeId, branch, pos], () => next)
  if (tree !== undefined) tx.update(TreeTable, [treeId], (one) => ({ ...one, redactions: one.redactions + 1 }))
  const beside = asking !== undefined && affected.every(({ id }) => id !== asking.id) ? [asking] : []
  for (const one of [...affected, ...beside]) {
    const after = tx.update(SessionTable, [one.id], (old) => ({
      ...old,
      preview: showsPrompt(old, entry) ? (row.preview ?? "") : old.preview,
      revision: old.revision + 1,
      updatedAt: Math.max(old.updatedAt, now),
    }))
    const isBeside = beside.includes(one)
    notifyEntries(tx, after, [row], { replaced: true, redacted: true, ...(isBeside && { beside: true as const }) })
  }
  const redacted: Redacted = { row, seenBy: affected.map(({ id }) => id) }
  return redacted
})

/** Whether the preview of a session is what an entry says: a side conversation may show nothing of it. */
const showsPrompt = ({ facts, preview }: SessionRow, entry: EntryRow): boolean =>
  isSamePlace(facts.lastPrompt, entry) && preview === entry.preview

const problemOf = ({ draft, kind }: EntryRow): string | undefined => {
  if (draft === true) return "is still being written"
  const hasContent = kind === "message" || kind === "compaction" || kind === "link"
  return hasContent ? undefined : `has no content: it is of kind ${kind}`
}

/** An entry of which nothing is left but where it stands and what links it to others. */
const emptied = (entry: EntryRow, content: ReturnType<RedactionOf>, now: number): EntryRow => {
  const kept: EntryRow = { ...entry, ...content, redacted: now }
  for (const field of ["attachments", "large", "metadata", "sourceContext"] as const) delete kept[field]
  return kept
}

/** The sessions of a tree on whose path an entry stands. */
const seeingSessions = fn(function* (tx, treeId: string, entry: EntryRow) {
  const found: Array<Readonly<SessionRow>> = []
  let after: string | undefined
  for (;;) {
    const rows: ReadonlyArray<Readonly<SessionRow> | Unreadable> = yield* tx.range(SessionTable, "byTree", {
      prefix: [treeId],
      ...(after !== undefined && { after: [treeId, after] as const }),
      unreadable: "keep",
    })
    for (const row of rows) {
      if (isUnreadable(row)) continue
      const path = yield* readPath(treeId, row.head, row.facts, reaches(entry))
      if (isOnPath(path, entry)) found.push(row)
    }
    if (rows.length < maxRange) return found
    const end = rows.at(-1)!
    after = isUnreadable(end) ? String(end.key[0]) : end.id
  }
})
