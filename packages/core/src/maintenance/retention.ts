/**
 * Retention: which sessions have been left alone for so long, or are so many, that they may go.
 *
 * Guarantee: off unless asked for. A session is judged by its latest activity, and that of all it started for itself. One
 * that runs, that has something in its queue, that started a session which stays, that another one links to, or that is the
 * main session of an agent is never taken; nor is a pinned one, unless that is asked for. Whether a session is still as it was judged is looked at
 * again in the commit that deletes it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import * as deletion from "../deletion/program.ts"
import type { DeletionWork, ParticipantFailure } from "../deletion/work.ts"
import { checkInput } from "../input.ts"
import { isSeen } from "../scope.ts"
import { isInternal } from "../session/program.ts"
import type { SessionRow } from "../session/model.ts"
import type { SkeinSettings } from "../settings.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import type { Storage } from "../storage/storage.ts"
import { survey } from "./program.ts"
import type { SurveyPlace } from "./program.ts"

export interface RetentionOptions {
  /** Sessions without activity for longer may go, in milliseconds. Default: however old. */
  readonly maxAge?: number
  /** So many are kept, those of latest activity; what was started for another session is not counted. Default: all. */
  readonly maxCount?: number
  /** Whether pinned sessions stay. Default `true`. */
  readonly keepPinned?: boolean
  /** Says what would go, and deletes nothing. Default `false`. */
  readonly dryRun?: boolean
}

/** A session that may go. */
export interface Dispensable {
  readonly sessionId: string
  /** The latest activity of it and of what it started for itself, in milliseconds since 1970. */
  readonly activityAt: number
  readonly reason: "age" | "count"
}

export interface Retained {
  /** What went, or would go: what was started by another one comes before that. */
  readonly sessions: ReadonlyArray<Dispensable>
  /** All ids that are gone, with those of what these sessions had started for themselves. Empty on a dry run. */
  readonly deleted: ReadonlyArray<string>
  readonly failures: ReadonlyArray<ParticipantFailure>
}

/** What of a session it is judged by. */
export type Surveyed = Pick<SessionRow, "id" | "kind" | "type" | "activityAt" | "parentId" | "pinned"> & {
  readonly isBusy: boolean
}

export const surveyed = ({
  activeTurn,
  activityAt,
  id,
  kind,
  parentId,
  pinned,
  queue,
  type,
}: Readonly<SessionRow>): Surveyed => ({
  id,
  kind,
  type,
  activityAt,
  pinned,
  isBusy: activeTurn !== undefined || (queue?.items ?? 0) > 0,
  ...(parentId !== undefined && { parentId }),
})

type Limits = {
  readonly maxAge?: number | undefined
  readonly maxCount?: number | undefined
  readonly keepPinned: boolean
}

const mayGo = ({ isBusy, pinned, type }: Surveyed, { keepPinned }: Limits): boolean =>
  !isBusy && type !== "root" && !(pinned && keepPinned)

/** The sessions that may go, each behind those that it started. */
export const dispensable = (rows: ReadonlyArray<Surveyed>, limits: Limits, now: number): ReadonlyArray<Dispensable> => {
  const { maxAge, maxCount } = limits
  const known = new Set(rows.map(({ id }) => id))
  const children = new Map<string, Array<Surveyed>>()
  for (const row of rows) {
    if (row.parentId === undefined) continue
    const others = children.get(row.parentId)
    if (others === undefined) children.set(row.parentId, [row])
    else others.push(row)
  }
  /** A session and what goes with it, and what it has started that does not. */
  const familyOf = (row: Surveyed) => {
    const family = [row]
    const others: Array<Surveyed> = []
    for (const { id } of family) {
      for (const child of children.get(id) ?? []) {
        if (!isInternal(child)) others.push(child)
        else if (!family.includes(child)) family.push(child)
      }
    }
    return { family, others, activityAt: Math.max(...family.map(({ activityAt }) => activityAt)) }
  }
  const judged = rows
    .filter((row) => !(isInternal(row) && row.parentId !== undefined && known.has(row.parentId)))
    .map((row) => ({ row, ...familyOf(row) }))
    .toSorted((a, b) => b.activityAt - a.activityAt || (a.row.id < b.row.id ? -1 : 1))
  const places = new Map(judged.map((one, place) => [one.row.id, { ...one, place }]))
  const verdicts = new Map<string, boolean>()
  const found: Array<Dispensable> = []
  const judge = (id: string): boolean => {
    const before = verdicts.get(id)
    const one = places.get(id)
    if (before !== undefined || one === undefined) return before ?? false
    // Of sessions in a circle none may go.
    verdicts.set(id, false)
    const isOld = maxAge !== undefined && one.activityAt < now - maxAge
    const reason = isOld ? "age" : maxCount !== undefined && one.place >= maxCount ? "count" : undefined
    const isLinked = one.others.map((other) => judge(other.id)).includes(false)
    if (reason === undefined || isLinked || !one.family.every((row) => mayGo(row, limits))) return false
    verdicts.set(id, true)
    found.push({ sessionId: id, activityAt: one.activityAt, reason })
    return true
  }
  for (const { row } of judged) judge(row.id)
  return found
}

export const makeRetention =
  (storage: Storage["Service"], settings: SkeinSettings, work: DeletionWork) =>
  (given: RetentionOptions = {}): Effect.Effect<Retained, InvalidInput | StorageError> =>
    Effect.gen(function* () {
      const options = yield* checkInput(RetentionInput, given, "options")
      const { dryRun = false, keepPinned = true, maxAge, maxCount } = options
      const limits: Limits = { maxAge, maxCount, keepPinned }
      const failures: Array<ParticipantFailure> = []
      const deleted: Array<string> = []
      if (maxAge === undefined && maxCount === undefined) return { sessions: [], deleted, failures }
      const rows: Array<Surveyed> = []
      let next: SurveyPlace | undefined
      do {
        const page = yield* storage.read(survey(next))
        const stays = (row: SessionRow) => !isSeen(settings, row) || page.linked.has(row.id)
        rows.push(...page.rows.map((row) => ({ ...surveyed(row), ...(stays(row) && { isBusy: true }) })))
        next = page.next
      } while (next !== undefined)
      const found = dispensable(rows, limits, yield* Clock.currentTimeMillis)
      if (dryRun) return { sessions: found, deleted, failures }
      const sessions: Array<Dispensable> = []
      for (const one of found) {
        const isStill = (row: SessionRow) => row.activityAt <= one.activityAt && mayGo(surveyed(row), limits)
        const now = yield* Clock.currentTimeMillis
        const marked = yield* storage.transact(deletion.markUnused(settings, one.sessionId, isStill, now))
        if (marked === undefined) continue
        sessions.push(one)
        deleted.push(...marked.deleted.map(({ id }) => id))
        failures.push(...(yield* work.proceed(marked.deleted.map(({ id }) => id))).failures)
      }
      return { sessions, deleted, failures }
    })

const RetentionInput = z.strictObject({
  maxAge: z.optional(z.number().check(z.nonnegative())),
  maxCount: z.optional(z.int().check(z.nonnegative())),
  keepPinned: z.optional(z.boolean()),
  dryRun: z.optional(z.boolean()),
})
