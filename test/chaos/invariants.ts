/**
 * What must hold of the rows of every store at every moment, whatever was going on: the data model of design 3.
 *
 * Guarantee: everything is worked out again from the entries alone, by other means than the code that wrote it, and
 * compared. Nothing is assumed of the rows but what their tables' schemas say.
 *
 * @example
 * assert.deepStrictEqual(problemsIn(yield* rowsOfStorage(storage)), [])
 */
import type { HeadMoveRow } from "../../packages/core/src/head/model.ts"
import type { BranchRow, EntryRef, EntryRow, Facts, TrailStep, TreeRow } from "../../packages/core/src/message/model.ts"
import type { SessionRow } from "../../packages/core/src/session/model.ts"
import { blobProblems } from "./blob-invariants.ts"
import { differs, show } from "./differs.ts"
import { queueProblems } from "./queue-invariants.ts"
import type { StoreRows } from "./rows.ts"
import { turnProblems } from "./turn-invariants.ts"
import { usageProblems } from "./usage-invariants.ts"

/** One sentence for each thing that does not hold. Empty: all does. */
export const problemsIn = (rows: StoreRows): ReadonlyArray<string> => {
  const store = arrange(rows)
  return [
    ...[...store.trees.values()].flatMap(treeProblems),
    ...strayProblems(rows, store),
    ...rows.sessions.flatMap((session) => sessionProblems(session, rows, store)),
    ...journalProblems(rows),
    ...turnProblems(rows),
    ...queueProblems(rows),
    ...usageProblems(rows),
    ...blobProblems(rows),
  ]
}

interface Tree {
  readonly row: TreeRow
  /** By number, in the order of numbers: a parent comes before its children. */
  readonly branches: Map<number, Branch>
}
interface Branch {
  readonly row: BranchRow
  /** In the order of positions. */
  readonly entries: Array<EntryRow>
}
interface Store {
  readonly trees: Map<string, Tree>
}

const arrange = ({ branches, entries, trees }: StoreRows): Store => {
  const arranged = new Map(trees.map((row): [string, Tree] => [row.treeId, { row, branches: new Map() }]))
  for (const row of branches.toSorted((a, b) => a.branch - b.branch)) {
    arranged.get(row.treeId)?.branches.set(row.branch, { row, entries: [] })
  }
  for (const row of entries.toSorted((a, b) => a.pos - b.pos)) {
    arranged.get(row.treeId)?.branches.get(row.branch)?.entries.push(row)
  }
  return { trees: arranged }
}

/** Rows that belong to something which is not there. */
const strayProblems = (rows: StoreRows, { trees }: Store): ReadonlyArray<string> => [
  ...rows.branches
    .filter(({ treeId }) => !trees.has(treeId))
    .map((row) => `${nameOf(row)} is of a tree that does not exist`),
  ...rows.entries
    .filter(({ branch, treeId }) => !trees.get(treeId)?.branches.has(branch))
    .map((row) => `${placeOf(row)} is on a branch that does not exist`),
  ...rows.branches
    .filter(({ owner, treeId }) => !rows.sessions.some(({ id, treeId: of }) => id === owner && of === treeId))
    .map((row) => `${nameOf(row)} is owned by ${row.owner}, which is no session of the tree`),
]

const nameOf = ({ branch, treeId }: { readonly branch: number; readonly treeId: string }) =>
  `branch ${branch} of tree ${treeId}`
const placeOf = (row: EntryRef & { readonly treeId: string }) => `entry ${row.pos} on ${nameOf(row)}`

// Trees

const treeProblems = (tree: Tree): ReadonlyArray<string> => {
  const { branches, row } = tree
  const highest = Math.max(0, ...branches.keys())
  const ids = [...branches.values()].flatMap(({ entries }) => entries.map(({ id }) => id))
  return [
    ...(row.nextBranch > highest ? [] : [`tree ${row.treeId} would give the number ${row.nextBranch} again`]),
    ...(new Set(ids).size === ids.length ? [] : [`tree ${row.treeId} has two entries with one id`]),
    ...[...branches.values()].flatMap((branch) => branchProblems(tree, branch)),
  ]
}

const branchProblems = (tree: Tree, { entries, row }: Branch): ReadonlyArray<string> => {
  const name = nameOf(row)
  if (row.branch < 1) return [`${name} has no number of a branch`]
  if (row.parent >= row.branch) return [`${name} has a parent that is not older: ${row.parent}`]
  const left = { branch: row.parent, pos: row.forkAt }
  const before = factsAt(tree, left)
  if (before === undefined) return [`${name} leaves ${show(left)}, where nothing is`]
  return [
    ...differs(`the trail of ${name}`, row.trail, trailOf(tree, left)),
    ...(entries.length > 0 ? [] : [`${name} has no entry`]),
    ...differs(
      `the positions of ${name}`,
      entries.map(({ pos }) => pos),
      entries.map((_, i) => i + 1),
    ),
    ...entries.flatMap((entry, i) => entryProblems(tree, entry, entries[i - 1]?.facts ?? before)),
  ]
}

const noFacts: Facts = { entries: 0, displays: 0, prompts: 0, turns: 0 }

const entryAt = ({ branches }: Tree, { branch, pos }: EntryRef): EntryRow | undefined => {
  const { entries = [] } = branches.get(branch) ?? {}
  return entries[pos - 1]?.pos === pos ? entries[pos - 1] : entries.find((entry) => entry.pos === pos)
}

/** Facts as they are stored at a place; each was compared with the place before it. Undefined: nothing is there. */
const factsAt = (tree: Tree, at: EntryRef): Facts | undefined =>
  at.branch === 0 && at.pos === 0 ? noFacts : entryAt(tree, at)?.facts

/** The nearest 64 ancestors of a branch that leaves its parent at a place, found by walking from parent to parent. */
const trailOf = (tree: Tree, left: EntryRef): ReadonlyArray<TrailStep> => {
  const trail: Array<TrailStep> = []
  for (let at = left; at.branch > 0 && trail.length < 64;) {
    const { displays, prompts } = factsAt(tree, at) ?? noFacts
    trail.push({ branch: at.branch, upTo: at.pos, displays, prompts })
    const parent = tree.branches.get(at.branch)?.row
    if (parent === undefined || parent.parent >= at.branch) break
    at = { branch: parent.parent, pos: parent.forkAt }
  }
  return trail
}

/** Whether a place is an entry on the path to `head`, or the root. */
const isBehind = (tree: Tree, head: EntryRef, place: EntryRef): boolean => {
  if (place.branch === 0) return place.pos === 0
  for (let at = head; at.branch >= place.branch;) {
    if (at.branch === place.branch) return place.pos >= 1 && place.pos <= at.pos
    const row = tree.branches.get(at.branch)?.row
    if (row === undefined || row.parent >= at.branch) return false
    at = { branch: row.parent, pos: row.forkAt }
  }
  return false
}

// Entries

const isSeen = (entry: EntryRow) => entry.body !== undefined || entry.display !== undefined
const isReplayed = (entry: EntryRow) =>
  entry.kind === "message" && (entry.body !== undefined || entry.model !== undefined)
const isPrompt = (entry: EntryRow) => isSeen(entry) && entry.kind === "message" && entry.role === "user"

const entryProblems = (tree: Tree, entry: EntryRow, before: Facts): ReadonlyArray<string> => {
  const name = placeOf(entry)
  const here = { branch: entry.branch, pos: entry.pos }
  const displays = before.displays + Number(isSeen(entry))
  const prompts = before.prompts + Number(isPrompt(entry))
  const lastPrompt = isPrompt(entry) ? here : before.lastPrompt
  const lastCompaction = entry.kind === "compaction" ? here : before.lastCompaction
  const lastReplayed = isReplayed(entry) ? here : before.lastReplayed
  const lastAmendment = entry.kind === "amendment" ? here : before.lastAmendment
  const facts: Facts = {
    entries: before.entries + 1,
    displays,
    prompts,
    turns: before.turns + Number(entry.startsTurn === true),
    ...(lastPrompt && { lastPrompt }),
    ...(lastCompaction && { lastCompaction }),
    ...(lastReplayed && { lastReplayed }),
    ...(lastAmendment && { lastAmendment }),
  }
  return [
    ...differs(`the facts of ${name}`, entry.facts, facts),
    ...differs(`the ordinal of ${name} among what people see`, entry.shown, isSeen(entry) ? displays : undefined),
    ...differs(`the ordinal of ${name} among the prompts`, entry.prompt, isPrompt(entry) ? prompts : undefined),
    ...differs(`that ${name} has a preview`, entry.preview !== undefined, isPrompt(entry)),
    ...differs(
      `that ${name} is found among the amendments`,
      entry.amends,
      entry.kind === "amendment" ? here.pos : undefined,
    ),
    ...differs(`that ${name} has a compaction`, entry.compaction !== undefined, entry.kind === "compaction"),
    ...compactionProblems(tree, entry, before),
  ]
}

const compactionProblems = (tree: Tree, entry: EntryRow, before: Facts): ReadonlyArray<string> => {
  const keepFrom = entry.compaction?.keepFrom
  if (keepFrom === undefined) return []
  const name = placeOf(entry)
  if (!isBehind(tree, entry, keepFrom)) return [`${name} keeps from ${show(keepFrom)}, which is not on its path`]
  const previous = before.lastCompaction && entryAt(tree, before.lastCompaction)
  const floor = previous?.compaction?.keepFrom ?? before.lastCompaction
  const isEarlier = floor !== undefined && countAt(tree, keepFrom) < countAt(tree, floor)
  return isEarlier ? [`${name} keeps from before what the compaction before it kept`] : []
}

const countAt = (tree: Tree, place: EntryRef): number => factsAt(tree, place)?.entries ?? 0

// Sessions

const halfPair = /\p{Cs}/u

const sessionProblems = (session: SessionRow, rows: StoreRows, { trees }: Store): ReadonlyArray<string> => {
  const name = `session ${session.id}`
  const tree = trees.get(session.treeId)
  if (tree === undefined) return [`${name} is of a tree that does not exist`]
  const { head, projectId } = session
  return [
    ...(rows.projects.some(({ id }) => id === projectId) ? [] : [`${name} is of project ${projectId}, which is none`]),
    ...differs(`the shelf of ${name}`, session.shelf, shelfOf(session)),
    ...baseProblems(session, tree),
    ...(isSeenBy(tree, session, head) ? [] : [`${name} stands at ${show(head)}, which it does not see`]),
    ...headProblems(session, tree),
    ...(halfPair.test(session.preview) ? [`the preview of ${name} holds half a character`] : []),
    ...(session.preview.length <= 80 ? [] : [`the preview of ${name} is too long`]),
  ]
}

const baseProblems = (
  { base, baseBranch, basePos, displayFrom, id }: SessionRow,
  tree: Tree,
): ReadonlyArray<string> => {
  const name = `session ${id}`
  const { displays, prompts } = displayFrom === undefined ? noFacts : (factsAt(tree, displayFrom) ?? noFacts)
  return [
    ...(base === undefined || factsAt(tree, base) ? [] : [`${name} was forked where nothing is`]),
    ...differs(`where ${name} is found`, [baseBranch, basePos], [base?.branch, base?.pos]),
    ...differs(
      `what ${name} does not show`,
      [displayFrom?.displays ?? 0, displayFrom?.prompts ?? 0],
      [displays, prompts],
    ),
  ]
}

const headProblems = (session: SessionRow, tree: Tree): ReadonlyArray<string> => {
  const name = `session ${session.id}`
  const { facts, head, preview, tip } = session
  const isAtRoot = head.branch === 0 && head.pos === 0
  const entry = entryAt(tree, head)
  if (entry === undefined && !isAtRoot) return [`${name} stands at ${show(head)}, where nothing is`]
  const { lastPrompt: prompt, prompts } = entry?.facts ?? noFacts
  const lastPrompt = prompts > (session.displayFrom?.prompts ?? 0) ? prompt : undefined
  const branch = tree.branches.get(head.branch)
  const isOpen = branch?.row.owner === session.id && branch.row.closed !== true
  const isTip = isOpen && branch.entries.at(-1)?.pos === head.pos
  return [
    ...differs(`the id at the head of ${name}`, head.id, entry?.id),
    ...differs(`the facts of ${name}`, facts, entry?.facts ?? noFacts),
    ...differs(`the tip of ${name}`, tip, isTip ? facts.entries - head.pos : undefined),
    ...differs(`the preview of ${name}`, preview, (lastPrompt && entryAt(tree, lastPrompt)?.preview) ?? ""),
  ]
}

/** A session sees the branches that it owns, and the path to where it was forked. */
const isSeenBy = (tree: Tree, session: SessionRow, place: EntryRef): boolean =>
  place.branch === 0 ||
  tree.branches.get(place.branch)?.row.owner === session.id ||
  (session.base !== undefined && isBehind(tree, session.base, place))

const shelfOf = ({ archived, kind, visibility }: SessionRow): string => {
  if (archived) return "archived"
  if (["task", "peek", "cron"].includes(kind)) return kind
  return visibility === "visible" ? "main" : "hidden"
}

// The journal

const keptMoves = 1_000

const journalProblems = ({ moves, sessions }: StoreRows): ReadonlyArray<string> => {
  const strays = moves
    .filter(({ sessionId }) => !sessions.some(({ id }) => id === sessionId))
    .map(({ n, sessionId }) => `move ${n} is of session ${sessionId}, which does not exist`)
  const own = (session: SessionRow) => moves.filter(({ sessionId }) => sessionId === session.id)
  return [...strays, ...sessions.flatMap((session) => movesProblems(session, own(session)))]
}

/** What undo and redo act on. */
interface Pointers {
  readonly undo: number | undefined
  readonly redo: number | undefined
}

const movesProblems = (session: SessionRow, moves: ReadonlyArray<HeadMoveRow>): ReadonlyArray<string> => {
  const name = `the journal of session ${session.id}`
  const rows = moves.toSorted((a, b) => a.n - b.n)
  const kept = Math.min(session.moves, keptMoves)
  const problems = [
    ...differs(
      `${name}`,
      rows.map(({ n }) => n),
      Array.from({ length: kept }, (_, i) => session.moves - kept + i + 1),
    ),
  ]
  /** As far as known: undefined where the moves that led there were forgotten. */
  let pointers: Pointers | undefined = kept === session.moves ? { undo: undefined, redo: undefined } : undefined
  for (const row of rows) {
    if (pointers !== undefined) {
      problems.push(...differs(`undo before move ${row.n} of ${name}`, row.undoBefore, pointers.undo))
      // An append ends redo, and is in no journal.
      if (row.redoBefore !== undefined) {
        problems.push(...differs(`redo before move ${row.n} of ${name}`, row.redoBefore, pointers.redo))
      }
    }
    if (row.reason === "undo")
      problems.push(...differs(`what move ${row.n} of ${name} takes back`, row.of, row.undoBefore))
    pointers = pointersAfter(row, rows)
  }
  if (pointers === undefined) return problems
  problems.push(...differs(`undo of ${name}`, session.undo, pointers.undo))
  if (session.redo !== undefined) problems.push(...differs(`redo of ${name}`, session.redo, pointers.redo))
  return problems
}

const pointersAfter = (row: HeadMoveRow, rows: ReadonlyArray<HeadMoveRow>): Pointers | undefined => {
  if (row.reason !== "undo" && row.reason !== "redo") return { undo: row.n, redo: undefined }
  const answered = rows.find(({ n }) => n === (row.reason === "undo" ? row.undoBefore : row.redoBefore))
  if (answered === undefined) return undefined
  return row.reason === "undo"
    ? { undo: answered.undoBefore, redo: row.n }
    : { undo: answered.undoBefore, redo: answered.redoBefore }
}
