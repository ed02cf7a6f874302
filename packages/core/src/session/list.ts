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
import type { ProjectRow } from "../project/model.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Handle, Query as Read, Unreadable } from "../storage/transaction.ts"
import type { Query, Source } from "./filter.ts"
import { SessionTable } from "./model.ts"
import type { SessionRow } from "./model.ts"
import type { DegradedSession } from "./record.ts"

type Row = Readonly<SessionRow>

/** How many rows are tested at a time once a page turns out to need more than its own number. */
export const windowSize = 200

export interface Window {
  /** The rows that fit. */
  readonly rows: ReadonlyArray<Row>
  /** What could not be read before a row that fits, since the one before it: by the id of the row. */
  readonly degraded: ReadonlyMap<string, ReadonlyArray<DegradedSession>>
  /** What could not be read after the last row that fits. */
  readonly rest: ReadonlyArray<DegradedSession>
  /** Names of the projects of the rows, by id. */
  readonly names: ReadonlyMap<string, string>
  /** How many rows were tested. */
  readonly examined: number
  /** Where the next window begins. Undefined: there are no more rows. */
  readonly end: Place | undefined
}

export const placeIn = (row: Row): Place => ({ at: row.activityAt, id: row.id })

/** Tests the next rows of a query behind `after`: at least `size` where there are so many, until `room` of them fit. */
export const scan = fn(function* (tx, query: Query, after: Place | undefined, size: number, room: number) {
  const { damage, end, named, rest, rows } = yield* merged(query, after, size)
  const fitting: Array<Row> = []
  const degraded = new Map<string, ReadonlyArray<DegradedSession>>()
  let waiting: ReadonlyArray<DegradedSession> = []
  let examined = 0
  for (const row of rows) {
    if (fitting.length === room) break
    examined++
    const before = damage.get(row.id)
    if (before !== undefined) waiting = [...waiting, ...before.map(toDegraded)]
    if (!query.matches(row)) continue
    fitting.push(row)
    if (waiting.length > 0) degraded.set(row.id, waiting)
    waiting = []
  }
  const names = yield* projectNames(fitting, named)
  const window: Window = {
    rows: fitting,
    degraded,
    rest: [...waiting, ...rest.map(toDegraded)],
    names,
    examined,
    end,
  }
  return window
})

/** Rows in order. Unreadable ones have no place of their own: they are kept with the row that comes next. */
interface Stretch {
  readonly rows: ReadonlyArray<Row>
  /** By the id of the row. */
  readonly damage: ReadonlyMap<string, ReadonlyArray<Unreadable>>
  /** Unreadable rows behind the last one. */
  readonly rest: ReadonlyArray<Unreadable>
}

/** What one source gave. */
interface SourceStretch extends Stretch {
  /** Whether the source has no more. */
  readonly ends: boolean
}

const noDamage: Stretch["damage"] = new Map()

/** The next rows of all sources in one order, as far as no source can have another one in between. */
const merged = fn(function* (tx, query: Query, after: Place | undefined, size: number) {
  const { named, stretches } = yield* stretchesOf(query, after, size)
  const lasts = stretches.filter(({ ends }) => !ends).map(({ rows }) => placeIn(rows.at(-1)!))
  const end = lasts.toSorted(byPlace)[0]
  const rest = end === undefined ? stretches.flatMap((one) => one.rest) : []
  const filled = stretches.filter(({ rows }) => rows.length > 0)
  const [first = stretches[0], ...others] = filled
  if (first === undefined || others.length === 0) {
    const { damage = noDamage, rows = [] } = first ?? {}
    return { rows, damage, rest, end, named }
  }
  const rows = filled
    .flatMap((one) => one.rows)
    .filter((row) => end === undefined || byPlace(placeIn(row), end) <= 0)
    .toSorted((a, b) => byPlace(placeIn(a), placeIn(b)))
  const damage = new Map<string, ReadonlyArray<Unreadable>>()
  for (const one of filled) {
    for (const [id, before] of one.damage) damage.set(id, [...(damage.get(id) ?? []), ...before])
  }
  // A session that stands in two sources comes twice in a row.
  return { rows: rows.filter((row, i) => row.id !== rows[i - 1]?.id), damage, rest, end, named }
})

/** Newest first, then by id. */
const byPlace = (a: Place, b: Place): number => b.at - a.at || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

const stretchesOf = fn(function* (tx, query: Query, after: Place | undefined, size: number) {
  const [named, ...windows] = yield* tx.all([
    readProject(tx, query.projectId),
    ...query.sources.map((source) => readSource(tx, source, query, after, size)),
  ])
  const stretches = windows.map((rows) => toStretch(rows, size))
  for (const [i, { ends, rest, rows }] of stretches.entries()) {
    if (ends || rows.length > 0) continue
    // Damage as long as the window: nothing says where to go on. A longer one may reach behind it.
    const longer = toStretch(yield* readSource(tx, query.sources[i]!, query, after, maxRange), maxRange)
    if (!longer.ends && longer.rows.length === 0) yield* tx.get(SessionTable, [String(rest[0]!.key[0])])
    stretches[i] = longer
  }
  return { named, stretches }
})

const toStretch = (window: ReadonlyArray<Row | Unreadable>, limit: number): SourceStretch => {
  const ends = window.length < limit
  if (isWhole(window)) return { rows: window, damage: noDamage, rest: [], ends }
  const rows: Array<Row> = []
  const damage = new Map<string, ReadonlyArray<Unreadable>>()
  let before: Array<Unreadable> = []
  for (const row of window) {
    if (isUnreadable(row)) {
      before.push(row)
      continue
    }
    rows.push(row)
    if (before.length > 0) damage.set(row.id, before)
    before = []
  }
  return { rows, damage, rest: before, ends }
}

const isWhole = (window: ReadonlyArray<Row | Unreadable>): window is ReadonlyArray<Row> => !window.some(isUnreadable)

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

/** At most one row. As a range, so that one that cannot be read hides no session. */
const readProject = (tx: Handle, id: string): Read<ReadonlyArray<Readonly<ProjectRow> | Unreadable>> =>
  tx.range(ProjectTable, "key", { from: [id], to: [id], unreadable: "keep" })

/** Names of the projects of sessions, of which `named` was read already. One that cannot be read has no name. */
const projectNames = fn(function* (
  tx,
  rows: ReadonlyArray<Row>,
  named: ReadonlyArray<Readonly<ProjectRow> | Unreadable>,
) {
  const names = new Map<string, string>()
  const keep = ([project]: typeof named) => {
    if (project !== undefined && !isUnreadable(project)) names.set(project.id, project.name)
  }
  keep(named)
  const others = new Set<string>()
  for (const { projectId } of rows) if (!names.has(projectId)) others.add(projectId)
  if (others.size > 0) (yield* tx.all([...others].map((id) => readProject(tx, id)))).forEach(keep)
  return names
})

export const toDegraded = ({ key, problem }: Unreadable): DegradedSession => ({ id: String(key[0]), problem })
