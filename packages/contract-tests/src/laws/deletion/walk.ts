/**
 * An oracle that walks everything: what a store has to keep, found by following every link from one entry to the one
 * before, in the rows as they are. It shares nothing with the code that it judges.
 */
import type { BranchTable, EntryTable, HeadMoveTable, OperationTable, SessionTable } from "@skein/core"
import type { RowOf } from "@skein/core/storage"
import type { Rows } from "../../everything.ts"

type Session = RowOf<typeof SessionTable>
type Branch = RowOf<typeof BranchTable>
type Entry = RowOf<typeof EntryTable>
type Move = RowOf<typeof HeadMoveTable>
type Operation = RowOf<typeof OperationTable>

/** A place as text: tree, branch and position. */
export type Place = string

const placeOf = (treeId: string, branch: number, pos: number): Place => `${treeId} ${branch}.${pos}`

export interface Walk {
  /** What is wrong with the rows themselves: what something leads to is not there. */
  readonly problems: ReadonlyArray<string>
  /** The entries that are there, each with its id and content, and the place of the one before. */
  readonly entries: ReadonlyMap<Place, { readonly content: string; readonly before: Place }>
  /** Entries to which a head, a base, a move, a name or an unfinished operation leads. */
  readonly reached: ReadonlySet<Place>
  /** Entries on branches of living sessions: theirs until they prune. */
  readonly own: ReadonlyMap<Place, string>
  /** Branches with a name, each with its owner and its last entry. */
  readonly named: ReadonlyMap<string, { readonly owner: string; readonly tip: Place }>
  /** The sessions, and where each is led to: what no other session may change. */
  readonly sessions: ReadonlyMap<string, string>
}

/**
 * Walks all rows of a store.
 *
 * @param given  places that were deleted with their branch, by hand: a move that led there leads nowhere
 */
export const walk = (found: Record<string, Rows>, given: ReadonlySet<Place>): Walk => {
  const rowsOf = <Row>(name: string) => (found[name] ?? []) as unknown as ReadonlyArray<Row>
  const sessions = rowsOf<Session>("session")
  const moves = rowsOf<Move>("head_move")
  const problems: Array<string> = []

  const branches = new Map(rowsOf<Branch>("branch").map((row) => [placeOf(row.treeId, row.branch, 0), row]))
  const entries = new Map<Place, { readonly content: string; readonly before: Place }>()
  const living = new Set(sessions.map(({ id }) => id))
  const own = new Map<Place, string>()
  for (const { body, branch, facts, id, pos, treeId } of rowsOf<Entry>("entry")) {
    const row = branches.get(placeOf(treeId, branch, 0))
    const place = placeOf(treeId, branch, pos)
    if (row === undefined) {
      problems.push(`the entry ${id} stands on a branch that is not there`)
      continue
    }
    const before = pos > 1 ? placeOf(treeId, branch, pos - 1) : placeOf(treeId, row.parent, row.forkAt)
    entries.set(place, { content: JSON.stringify([id, body, facts]), before })
    if (living.has(row.owner)) own.set(place, row.owner)
  }

  const reached = new Set<Place>()
  const follow = (treeId: string, ref: { readonly branch: number; readonly pos: number }, who: string) => {
    const root = placeOf(treeId, 0, 0)
    for (let place = placeOf(treeId, ref.branch, ref.pos); place !== root && !reached.has(place);) {
      const entry = entries.get(place)
      if (entry === undefined) {
        problems.push(`${who} leads to ${place}, where nothing is`)
        return
      }
      reached.add(place)
      place = entry.before
    }
  }
  for (const { base, head, id, treeId } of sessions) {
    follow(treeId, head, `the head of ${id}`)
    if (base !== undefined) follow(treeId, base, `the base of ${id}`)
  }
  const trees = new Map(sessions.map(({ id, treeId }) => [id, treeId]))
  for (const { from, n, sessionId, to } of moves) {
    const treeId = trees.get(sessionId)
    if (treeId === undefined) continue
    for (const ref of [from, to]) {
      if (!given.has(placeOf(treeId, ref.branch, ref.pos))) follow(treeId, ref, `move ${n} of ${sessionId}`)
    }
  }
  const named = new Map<string, { readonly owner: string; readonly tip: Place }>()
  for (const { branch, name, owner, treeId } of branches.values()) {
    if (name === undefined || !living.has(owner)) continue
    const tip = [...entries.keys()].filter((place) => place.startsWith(`${treeId} ${branch}.`)).length
    named.set(`${treeId} ${branch}`, { owner, tip: placeOf(treeId, branch, tip) })
    follow(treeId, { branch, pos: tip }, `the branch ${name.text}`)
  }
  for (const { baseBranch, basePos, id, treeId, unfinished } of rowsOf<Operation>("operation")) {
    if (unfinished === undefined || treeId === undefined || baseBranch === undefined) continue
    follow(treeId, { branch: baseBranch, pos: basePos ?? 0 }, `the operation ${id}`)
  }
  // What a living session has on branches of its own leads on to what is before.
  for (const [place, owner] of own) {
    const { before } = entries.get(place)!
    if (!own.has(before) && !reached.has(before)) follow(before.split(" ")[0]!, refOf(before), `a branch of ${owner}`)
  }

  return {
    problems,
    entries,
    reached,
    own,
    named,
    sessions: new Map(
      sessions.map(({ head, headVersion, id, preview, title }) => [
        id,
        JSON.stringify([head, headVersion, preview, title, moves.filter(({ sessionId }) => sessionId === id)]),
      ]),
    ),
  }
}

const refOf = (place: Place) => {
  const [branch = "0", pos = "0"] = place.split(" ")[1]!.split(".")
  return { branch: Number(branch), pos: Number(pos) }
}

/** Entries that are there though nobody can get to them. */
export const leftOver = (
  { entries, own, reached }: Walk,
  pruned: (sessionId: string) => boolean,
): ReadonlyArray<Place> =>
  [...entries.keys()].filter((place) => {
    const owner = own.get(place)
    return !reached.has(place) && (owner === undefined || pruned(owner))
  })
