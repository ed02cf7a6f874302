/**
 * Where entries go, and what follows from it: pure functions over rows, shared by everything that appends.
 *
 * Guarantee: positions on a branch are dense from 1, facts hold of the path up to their entry, and a session's row is
 * changed to fit in the same commit.
 */
import type { SessionRow } from "../session/model.ts"
import { trailLength } from "./model.ts"
import type { BranchRow, EntryRef, EntryRow, Facts, TrailStep } from "./model.ts"

/** An entry before it has a place. */
export type NewEntry = Omit<EntryRow, "treeId" | "branch" | "pos" | "facts" | "shown" | "prompt" | "amends" | "linked">

/** The place behind which entries go. */
export interface Placement {
  readonly treeId: string
  /** The branch that is extended, or opened when `opens` is given. */
  readonly branch: number
  /** The last position that is taken. */
  readonly after: number
  /** Facts of the path there. */
  readonly facts: Facts
  /** The branch to be written first. */
  readonly opens: BranchRow | undefined
}

/** The trail of a branch that leaves `parent` at a place with these facts. */
export const trailFrom = (parent: BranchRow | undefined, at: EntryRef, facts: Facts): ReadonlyArray<TrailStep> => {
  if (at.branch === 0) return []
  const step: TrailStep = { branch: at.branch, upTo: at.pos, displays: facts.displays, prompts: facts.prompts }
  return [step, ...(parent?.trail ?? [])].slice(0, trailLength)
}

/** The body that people see; `null` where it is large and kept elsewhere. */
export const displayOf = ({ body, display }: Pick<EntryRow, "body" | "display">): unknown =>
  body === undefined ? display : body

/** The body that the model is given; `null` where it is large and kept elsewhere. */
export const modelOf = ({ body, model }: Pick<EntryRow, "body" | "model">): unknown =>
  body === undefined ? model : body

/** Whether people see an entry. */
export const isDisplayed = (entry: Pick<EntryRow, "body" | "display">): boolean =>
  entry.body !== undefined || entry.display !== undefined

/** Whether an entry is replayed to the model. */
export const isReplayed = (entry: Pick<EntryRow, "body" | "model" | "kind">): boolean =>
  entry.kind === "message" && (entry.body !== undefined || entry.model !== undefined)

/** Whether it is something that the user said and can see. */
export const isPrompt = (entry: Pick<EntryRow, "body" | "display" | "kind" | "role">): boolean =>
  entry.kind === "message" && entry.role === "user" && isDisplayed(entry)

/** The rows of `entries` behind a placement, in order. */
export const place = (placement: Placement, entries: ReadonlyArray<NewEntry>): ReadonlyArray<EntryRow> => {
  const { branch, treeId } = placement
  let { after: pos, facts } = placement
  return entries.map((entry) => {
    pos++
    facts = grow(facts, entry, { branch, pos })
    // In this order: fields that are set on a copy cost thirty times what they cost before it.
    const row: EntryRow = { treeId, branch, pos, facts, ...entry }
    if (isDisplayed(entry)) row.shown = facts.displays
    if (isPrompt(entry)) row.prompt = facts.prompts
    if (entry.kind === "amendment") row.amends = pos
    if (entry.link !== undefined && entry.link.branch === undefined) row.linked = entry.link.session
    return row
  })
}

const grow = (facts: Facts, entry: NewEntry, at: EntryRef): Facts => {
  const grown: Facts = {
    ...facts,
    entries: facts.entries + 1,
    displays: facts.displays + (isDisplayed(entry) ? 1 : 0),
    turns: facts.turns + (entry.startsTurn === true ? 1 : 0),
  }
  if (isPrompt(entry)) {
    grown.prompts = facts.prompts + 1
    grown.lastPrompt = at
  }
  if (entry.kind === "compaction") grown.lastCompaction = at
  if (isReplayed(entry)) grown.lastReplayed = at
  if (entry.kind === "amendment") grown.lastAmendment = at
  return grown
}

/** Whether two places are one; absent ones are. */
export const isSamePlace = (a: EntryRef | undefined, b: EntryRef | undefined): boolean =>
  a?.branch === b?.branch && a?.pos === b?.pos

/** A place as one text, for maps. */
export const placeKey = ({ branch, pos }: EntryRef): string => `${branch}.${pos}`

/** Which of two places of one path is the earlier: a parent's number is smaller than its child's. */
export const comesBefore = (a: EntryRef, b: EntryRef): boolean =>
  a.branch === b.branch ? a.pos < b.pos : a.branch < b.branch

/** Whether the model is given something else at one place of a tree than at another. */
export const replaysOtherwise = (a: Facts, b: Facts): boolean =>
  !isSamePlace(a.lastReplayed, b.lastReplayed) ||
  !isSamePlace(a.lastCompaction, b.lastCompaction) ||
  !isSamePlace(a.lastAmendment, b.lastAmendment)

/** Whether an entry, as it is stored, changes what the model is given. What is still written is not replayed yet. */
export const changesReplay = (entry: EntryRow): boolean =>
  entry.kind === "compaction" || entry.kind === "amendment" || (isReplayed(entry) && entry.draft !== true)

/**
 * The session after `rows` were appended at its head.
 *
 * @param isActivity  whether somebody said something: then the session's activity moves too
 */
export const advance = (
  session: SessionRow,
  rows: ReadonlyArray<EntryRow>,
  now: number,
  isActivity = true,
): SessionRow => {
  const last = rows.at(-1)
  if (last === undefined) return session
  const prompt = rows.findLast(isPrompt)
  const next: SessionRow = {
    ...session,
    head: { branch: last.branch, pos: last.pos, id: last.id },
    headVersion: session.headVersion + 1,
    historyVersion: session.historyVersion + (rows.some(changesReplay) ? 1 : 0),
    revision: session.revision + 1,
    facts: last.facts,
    tip: last.facts.entries - last.pos,
    preview: prompt?.preview ?? session.preview,
    updatedAt: Math.max(session.updatedAt, now),
    activityAt: isActivity ? Math.max(session.activityAt, now) : session.activityAt,
  }
  // A new append ends redo; the journal stays.
  delete next.redo
  return next
}
