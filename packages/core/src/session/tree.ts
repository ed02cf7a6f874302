/**
 * Who started whom: sessions with their children, level by level.
 *
 * Guarantee: one read, at most `largestForest` sessions. What is not in it can be paged: a session whose children are
 * not all here says where they go on. A chain that was damaged into a circle is cut where it meets itself.
 */
import type { Place } from "../cursor.ts"
import { isSeen } from "../scope.ts"
import type { Scope } from "../scope.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Handle, Unreadable } from "../storage/transaction.ts"
import { toDegraded } from "./list.ts"
import { SessionTable } from "./model.ts"
import type { SessionRow } from "./model.ts"
import { requireSession } from "./program.ts"
import type { DegradedSession } from "./record.ts"

/** How many sessions one answer holds. */
export const largestForest = 500

/** How many parents are asked for their children in one step. */
const batch = 50

export interface Branching {
  readonly row: Readonly<SessionRow>
  readonly children: Array<Branching>
  /** Where its children go on, when not all of them are here. */
  next: Place | undefined
}

export interface Forest {
  readonly nodes: ReadonlyArray<Branching>
  readonly degraded: ReadonlyArray<DegradedSession>
}

/** Before all children. */
const beginning: Place = { at: Number.MAX_SAFE_INTEGER, id: "" }

export interface Extent {
  /** How many children of one session. */
  readonly limit: number
  /** How many levels below. */
  readonly depth: number
}

/** Children of one session behind `after`, with theirs. */
export const childrenOf = fn(function* (tx, scope: Scope, parentId: string, after: Place | undefined, extent: Extent) {
  yield* requireSession(scope, parentId)
  const [family] = yield* readFamilies(scope, [{ parentId, after }], extent.limit)
  const forest = yield* grow(scope, family!.rows, extent, [parentId])
  return { nodes: forest.nodes, next: family!.next, degraded: [...family!.degraded, ...forest.degraded] }
})

/** Sessions with the children below them. */
export const grow = fn(function* (
  tx,
  scope: Scope,
  roots: ReadonlyArray<Readonly<SessionRow>>,
  { depth, limit }: Extent,
  above: ReadonlyArray<string> = [],
) {
  const nodes = roots.map(leaf)
  const degraded: Array<DegradedSession> = []
  const seen = new Set([...above, ...roots.map(({ id }) => id)])
  let level: ReadonlyArray<Branching> = nodes
  for (let down = 0; down < depth && level.length > 0; down++) {
    const below: Array<Branching> = []
    for (let at = 0; at < level.length && seen.size < largestForest; at += batch) {
      const parents = level.slice(at, at + batch)
      const families = yield* readFamilies(
        scope,
        parents.map(({ row }) => ({ parentId: row.id })),
        limit,
      )
      for (const [i, family] of families.entries()) {
        const parent = parents[i]!
        const fresh = family.rows.filter(({ id }) => !seen.has(id))
        if (seen.size + fresh.length > largestForest) continue
        for (const { id } of fresh) seen.add(id)
        parent.children.push(...fresh.map(leaf))
        parent.next = family.next
        degraded.push(...family.degraded)
        below.push(...parent.children)
      }
    }
    level = below
  }
  const forest: Forest = { nodes, degraded }
  return forest
})

/** A session whose children nobody has looked for. */
const leaf = (row: Readonly<SessionRow>): Branching => ({ row, children: [], next: beginning })

interface Family {
  readonly rows: ReadonlyArray<Readonly<SessionRow>>
  readonly degraded: ReadonlyArray<DegradedSession>
  readonly next: Place | undefined
}

interface Asked {
  readonly parentId: string
  readonly after?: Place | undefined
}

const readFamilies = fn(function* (tx, scope: Scope, asked: ReadonlyArray<Asked>, limit: number) {
  const windows = yield* tx.all(asked.map((one) => readChildren(tx, one, limit + 1)))
  const families: Array<Family> = []
  for (const [i, window] of windows.entries()) {
    const damaged = window.find(isUnreadable)
    // Damage takes up room in the window: a larger one makes up for it.
    const rows = damaged === undefined ? window : yield* readChildren(tx, asked[i]!, maxRange)
    const family = familyOf(scope, rows, limit)
    if (family.next === undefined && rows.length === maxRange) {
      yield* tx.get(SessionTable, [String(damaged!.key[0])])
    }
    families.push(family)
  }
  return families
})

const readChildren = (tx: Handle, { after, parentId }: Asked, limit: number) =>
  tx.range(SessionTable, "byParent", {
    prefix: [parentId],
    ...(after !== undefined && { after: [parentId, after.at, after.id] as const }),
    limit,
    unreadable: "keep",
  })

/** The first `limit` readable rows, and what could not be read before them, or at the end. */
const familyOf = (scope: Scope, window: ReadonlyArray<Readonly<SessionRow> | Unreadable>, limit: number): Family => {
  const rows: Array<Readonly<SessionRow>> = []
  let degraded: Array<DegradedSession> = []
  let waiting: Array<DegradedSession> = []
  for (const row of window) {
    if (isUnreadable(row)) {
      waiting.push(toDegraded(row))
      continue
    }
    if (rows.length === limit) {
      const { createdAt, id } = rows.at(-1)!
      return { rows: rows.filter((one) => isSeen(scope, one)), degraded, next: { at: createdAt, id } }
    }
    rows.push(row)
    degraded = [...degraded, ...waiting]
    waiting = []
  }
  return { rows: rows.filter((one) => isSeen(scope, one)), degraded: [...degraded, ...waiting], next: undefined }
}
