/**
 * Lists of sessions: windows of the shelves, merged, tested, and put together to pages.
 *
 * Guarantee: a page holds the first sessions behind its cursor that fit, in the order of activity, newest first, then
 * id. An unreadable row is named in its place and hides nobody.
 *
 * A window is one read: no reader holds a snapshot for longer than that.
 */
import type { Place } from "../cursor.ts"
import { ProjectTable } from "../project/model.ts"
import { isUnreadable, make, maxRange } from "../storage/transaction.ts"
import type { Handle, Query as Read, Unreadable } from "../storage/transaction.ts"
import type { Query, Source } from "./filter.ts"
import { SessionTable } from "./model.ts"
import type { SessionRow } from "./model.ts"
import type { DegradedSession } from "./record.ts"

type Row = Readonly<SessionRow>

/** How many rows are tested at a time once a page turns out to need more than its own number. */
export const windowSize = 200

/** A session that fits, and what could not be read since the one before it. */
export interface Hit {
  readonly row: Row
  readonly degraded: ReadonlyArray<DegradedSession>
  readonly projectName: string | undefined
}

export interface Window {
  readonly hits: ReadonlyArray<Hit>
  /** What could not be read after the last hit. */
  readonly rest: ReadonlyArray<DegradedSession>
  /** How many rows were tested. */
  readonly examined: number
  /** Where the next window begins. Undefined: there are no more rows. */
  readonly end: Place | undefined
}

export const placeIn = (row: Row): Place => ({ at: row.activityAt, id: row.id })

/** Tests the next rows of a query behind `after`: at least `size` where there are so many, until `room` of them fit. */
export const scan = (query: Query, after: Place | undefined, size: number, room: number) =>
  make(function* () {
    const { rows, end, rest } = yield* merged(query, after, size)
    const hits: Array<{ readonly row: Row; readonly degraded: ReadonlyArray<DegradedSession> }> = []
    let degraded: Array<DegradedSession> = []
    let examined = 0
    for (const { before, row } of rows) {
      examined++
      degraded.push(...before.map(toDegraded))
      if (!query.matches(row)) continue
      hits.push({ row, degraded })
      degraded = []
      if (hits.length === room) break
    }
    const names = yield* projectNames(hits.map(({ row }) => row.projectId))
    const window: Window = {
      hits: hits.map((hit) => ({ ...hit, projectName: names.get(hit.row.projectId) })),
      rest: [...degraded, ...rest.map(toDegraded)],
      examined,
      end,
    }
    return window
  })

/** A row and the unreadable ones right before it. */
interface Entry {
  readonly row: Row
  readonly before: ReadonlyArray<Unreadable>
}

/** What one source gave. */
interface Stretch {
  readonly entries: ReadonlyArray<Entry>
  /** Unreadable rows behind the last entry. */
  readonly rest: ReadonlyArray<Unreadable>
  /** Whether the source has no more. */
  readonly ends: boolean
}

/** The next rows of all sources in one order, as far as no source can have another one in between. */
const merged = (query: Query, after: Place | undefined, size: number) =>
  make(function* () {
    const stretches = yield* stretchesOf(query, after, size)
    const open = stretches.filter(({ ends }) => !ends)
    const limits = open.map(({ entries }) => placeIn(entries.at(-1)!.row))
    const end = limits.toSorted(byPlace)[0]
    const [only] = stretches
    if (stretches.length === 1 && only !== undefined) {
      return { rows: only.entries, end, rest: only.ends ? only.rest : [] }
    }
    const rows = stretches
      .flatMap(({ entries }) => entries)
      .filter(({ row }) => end === undefined || byPlace(placeIn(row), end) <= 0)
      .toSorted((a, b) => byPlace(placeIn(a.row), placeIn(b.row)))
    return {
      // A session that stands in two sources comes twice in a row.
      rows: rows.filter(({ row }, i) => row.id !== rows[i - 1]?.row.id),
      end,
      rest: end === undefined ? stretches.flatMap(({ rest }) => rest) : [],
    }
  })

/** Newest first, then by id. */
const byPlace = (a: Place, b: Place): number => b.at - a.at || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

const stretchesOf = (query: Query, after: Place | undefined, size: number) =>
  make(function* (tx) {
    const windows = yield* tx.all(query.sources.map((source) => readSource(tx, source, query, after, size)))
    const stretches = windows.map((rows) => stretch(rows, size))
    for (const [i, { ends, entries, rest }] of stretches.entries()) {
      if (ends || entries.length > 0) continue
      // Damage as long as the window: nothing says where to go on. A longer one may reach behind it.
      const longer = stretch(yield* readSource(tx, query.sources[i]!, query, after, maxRange), maxRange)
      if (!longer.ends && longer.entries.length === 0) yield* tx.get(SessionTable, [String(rest[0]!.key[0])])
      stretches[i] = longer
    }
    return stretches
  })

const stretch = (rows: ReadonlyArray<Row | Unreadable>, limit: number): Stretch => {
  const entries: Array<Entry> = []
  let before: Array<Unreadable> = []
  for (const row of rows) {
    if (isUnreadable(row)) before.push(row)
    else {
      entries.push({ row, before })
      before = []
    }
  }
  return { entries, rest: before, ends: rows.length < limit }
}

const readSource = (
  tx: Handle,
  source: Source,
  { activity }: Query,
  after: Place | undefined,
  limit: number,
): Read<ReadonlyArray<Row | Unreadable>> => {
  const keep = { limit, unreadable: "keep" } as const
  if (source.index === "byShelf") {
    const prefix = [source.shelf] as const
    return tx.range(SessionTable, source.index, { prefix, ...boundsIn(prefix, activity, after), ...keep })
  }
  const prefix = [source.shelf, source.key] as const
  return tx.range(SessionTable, source.index, { prefix, ...boundsIn(prefix, activity, after), ...keep })
}

/** Bounds behind a prefix: activity from the newest down, then ids. */
const boundsIn = <const Prefix extends ReadonlyArray<string>>(
  prefix: Prefix,
  { from, to }: Query["activity"],
  after: Place | undefined,
) => ({
  ...(after !== undefined && { after: [...prefix, after.at, after.id] as const }),
  ...(after === undefined && to !== undefined && { from: [...prefix, to - 1] as const }),
  ...(from !== undefined && { to: [...prefix, from] as const }),
})

/** Names of projects by id; one that cannot be read has none. */
export const projectNames = (projectIds: ReadonlyArray<string>) =>
  make(function* (tx) {
    const distinct = [...new Set(projectIds)]
    const found = yield* tx.all(
      distinct.map((id) => tx.range(ProjectTable, "key", { from: [id], to: [id], unreadable: "keep" })),
    )
    const names = new Map<string, string>()
    for (const [project] of found)
      if (project !== undefined && !isUnreadable(project)) names.set(project.id, project.name)
    return names
  })

export const toDegraded = ({ key, problem }: Unreadable): DegradedSession => ({ id: String(key[0]), problem })
