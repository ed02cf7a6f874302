/**
 * What a conversation must be: entries that each know the one before, in plain memory.
 *
 * It shares nothing with the code under test. It knows no positions, no facts and no trails: every question is answered
 * by walking back from an entry to the first one.
 */
import type { Draft, Expected, Operation } from "./operation.ts"

export interface Entry {
  /** Its place in `entries`. */
  readonly n: number
  readonly id: string
  readonly draft: Draft | undefined
  /** Of a compaction: what it says, and from where on it keeps. */
  readonly compaction: { readonly summary: string; readonly keeps: number | undefined } | undefined
  readonly before: number | null
  readonly branch: number
  readonly gone: boolean
}

export interface Branch {
  readonly number: number
  /** The entries on it, first to last. */
  readonly run: ReadonlyArray<number>
  /** Whether its end was cut off: then nothing is added to it any more. */
  readonly cut: boolean
  readonly name: { readonly text: string; readonly automatic: boolean } | undefined
}

export interface Move {
  readonly from: number | null
  readonly to: number | null
  readonly reason: string
  /** The move that it took back, or made again. */
  readonly of: number | undefined
}

export interface Talk {
  /** All that were ever made, in the order in which they were. */
  readonly entries: ReadonlyArray<Entry>
  readonly branches: ReadonlyArray<Branch>
  /** How many branches were ever opened. */
  readonly opened: number
  readonly head: number | null
  readonly headVersion: number
  readonly historyVersion: number
  readonly moves: ReadonlyArray<Move>
  /** Moves that undo and redo act on, the next one last. */
  readonly undo: ReadonlyArray<number>
  readonly redo: ReadonlyArray<number>
  /** What was ever said, and behind what. */
  readonly spoken: ReadonlyArray<{ readonly draft: Draft; readonly behind: string | null }>
}

export type Answer =
  | { readonly done: unknown }
  | { readonly failed: string; readonly actual?: string | null }
  | { readonly defect: string }

export const newTalk = (headVersion: number, historyVersion: number): Talk => ({
  entries: [],
  branches: [],
  opened: 0,
  head: null,
  headVersion,
  historyVersion,
  moves: [],
  undo: [],
  redo: [],
  spoken: [],
})

// Views of a conversation.

export const isLive = ({ gone }: Entry): boolean => !gone

/** The entries from the first one to this. */
export const pathTo = ({ entries }: Talk, to: number | null): ReadonlyArray<Entry> => {
  const path: Array<Entry> = []
  for (let at = to; at !== null; at = entries[at]!.before) path.unshift(entries[at]!)
  return path
}

/** Everything but what only the model is given; a compaction is seen. */
export const isShown = ({ draft }: Entry): boolean => draft?.kind !== "given"
export const isPrompt = ({ draft }: Entry): boolean => draft?.kind === "said"
const isGiven = ({ draft }: Entry): boolean => draft !== undefined && draft.kind !== "shown"

export const textOf = ({ compaction, draft }: Entry): string => draft?.text ?? compaction!.summary

/** What the model is told. */
export const replay = (talk: Talk, to: number | null = talk.head): ReadonlyArray<string> => {
  const path = pathTo(talk, to)
  const compacted = path.findLast(({ compaction }) => compaction !== undefined)
  if (compacted === undefined) return path.filter(isGiven).map(textOf)
  const start = path.findIndex(({ n }) => n === (compacted.compaction!.keeps ?? compacted.n))
  return [textOf(compacted), ...path.slice(start).filter(isGiven).map(textOf)]
}

export const withId = ({ entries }: Talk, id: string): Entry | undefined =>
  entries.find((entry) => entry.id === id && isLive(entry))

const idAt = ({ entries }: Talk, at: number | null): string | null => (at === null ? null : entries[at]!.id)

/** Absent where the place is gone. */
export const placeOf = ({ entries }: Talk, at: number | null): string | null | undefined =>
  at === null ? null : entries[at]!.gone ? undefined : entries[at]!.id

const branchWith = ({ branches }: Talk, number: number): Branch | undefined =>
  branches.find((branch) => branch.number === number)

/** How far a branch is kept, as other branches left it: up to this place of its run. */
const keptTo = ({ branches, entries }: Talk, { run }: Branch): number =>
  Math.max(0, ...branches.map((other) => 1 + run.indexOf(entries[other.run[0]!]!.before ?? -1)))

// What operations do.

interface Step {
  readonly talk: Talk
  readonly answer: Answer
}

/** Runs one operation. What the subject minted is taken from what it answered. */
export const run = (talk: Talk, operation: Operation, given: Answer): Step => {
  const step = attempt(talk, operation, given)
  const changed = replay(talk).join() !== replay(step.talk).join()
  return changed ? { ...step, talk: { ...step.talk, historyVersion: talk.historyVersion + 1 } } : step
}

const attempt = (talk: Talk, operation: Operation, given: Answer): Step => {
  const failed = (tag: string): Step => ({ talk, answer: { failed: tag } })
  const stored = operation.do === "append" ? findStored(talk, operation) : undefined
  if (stored !== undefined) return { talk, answer: stored }
  if ("expected" in operation && !isAsSeen(talk, operation.expected)) {
    return { talk, answer: { failed: "HeadMoved", actual: idAt(talk, talk.head) } }
  }
  switch (operation.do) {
    case "append":
      return append(talk, operation)
    case "checkout": {
      const { to } = operation
      if (typeof to === "number") {
        const branch = branchWith(talk, to)
        return branch === undefined ? failed("BranchNotFound") : checkout(talk, branch.run.at(-1)!)
      }
      const entry = to === null ? undefined : withId(talk, to)
      if (to !== null && entry === undefined) return failed("MessageNotFound")
      return checkout(talk, entry?.n ?? null)
    }
    case "undo":
    case "redo":
      return walkJournal(talk, operation.do)
    case "compact": {
      const keeps = operation.keepFrom === undefined ? undefined : withId(talk, operation.keepFrom)
      if (operation.keepFrom !== undefined && keeps === undefined) return failed("MessageNotFound")
      if (keeps !== undefined && !mayKeepFrom(talk, keeps)) return failed("InvalidBoundary")
      const id = "done" in given && typeof given.done === "string" ? given.done : "none"
      const compaction = { summary: operation.summary, keeps: keeps?.n }
      const next = ended(add(talk, talk.head, [{ id, draft: undefined, compaction }]))
      return { talk: next, answer: { done: id } }
    }
    case "delete branch":
      return deleteBranch(talk, operation)
    case "name branch": {
      const { automatic, branch: number, name } = operation
      const branch = branchWith(talk, number)
      if (branch === undefined) return failed("BranchNotFound")
      if (automatic && branch.name?.automatic === false) return { talk, answer: { done: branch.name.text } }
      return {
        talk: withBranch(talk, { ...branch, name: { text: name, automatic } }),
        answer: { done: name },
      }
    }
    case "page": {
      const shown = pathTo(talk, talk.head).filter(isShown)
      return { talk, answer: { done: shown.slice(-operation.limit).map(({ id }) => id) } }
    }
  }
}

const isAsSeen = (talk: Talk, { head, version }: Expected): boolean =>
  (head === undefined || head === idAt(talk, talk.head)) && (version === undefined || version === talk.headVersion)

type Append = Extract<Operation, { readonly do: "append" }>

/** What is answered to a message that is there, wherever the head is by now. */
const findStored = (talk: Talk, { at, expected, messages }: Append): Answer | undefined => {
  const [message] = messages
  const stored = message && withId(talk, message.id)
  // Behind what is gone nothing is.
  if (stored === undefined || (at !== undefined && withId(talk, at) === undefined)) return undefined
  const behind = at ?? expected.head
  const isSame = stored.draft?.text === message!.text && stored.draft.kind === message!.kind
  const isThere = behind === undefined || behind === idAt(talk, stored.before)
  return isSame && isThere ? { done: [message!.id] } : { failed: "IdConflict" }
}

const append = (talk: Talk, { at, messages }: Append): Step => {
  const place = at === undefined ? undefined : withId(talk, at)
  if (at !== undefined && place === undefined) return { talk, answer: { failed: "MessageNotFound" } }
  if (messages.length === 0) return { talk, answer: { done: [] } }
  const ids = messages.map(({ id }) => id)
  const before = place === undefined ? talk.head : place.n
  const news = messages.map((draft) => ({ id: draft.id, draft, compaction: undefined }))
  const spoken = messages.map((draft, i) => ({ draft, behind: i === 0 ? idAt(talk, before) : ids[i - 1]! }))
  const added: Talk = { ...add(talk, before, news), spoken: [...talk.spoken, ...spoken] }
  return { talk: place === undefined ? ended(added) : added, answer: { done: ids } }
}

/** Puts entries behind a place: on its branch where that ends there, else on a new one. */
const add = (
  talk: Talk,
  before: number | null,
  news: ReadonlyArray<Pick<Entry, "id" | "draft" | "compaction">>,
): Talk => {
  const old = before === null ? undefined : branchWith(talk, talk.entries[before]!.branch)
  const extended = old !== undefined && !old.cut && old.run.at(-1) === before ? old : undefined
  const branch = extended ?? { number: talk.opened + 1, run: [], cut: false, name: undefined }
  const first = talk.entries.length
  const entries = news.map((entry, i): Entry => ({
    ...entry,
    n: first + i,
    before: i === 0 ? before : first + i - 1,
    branch: branch.number,
    gone: false,
  }))
  const run = [...branch.run, ...entries.map(({ n }) => n)]
  const grown = withBranch(talk, { ...branch, run })
  return { ...grown, entries: [...talk.entries, ...entries], opened: Math.max(talk.opened, branch.number) }
}

const withBranch = (talk: Talk, branch: Branch): Talk => ({
  ...talk,
  branches: [...talk.branches.filter(({ number }) => number !== branch.number), branch].toSorted(
    (a, b) => a.number - b.number,
  ),
})

/** The head goes along with what was added last, and nothing is left to be made again. */
const ended = (talk: Talk): Talk => ({
  ...talk,
  head: talk.entries.length - 1,
  headVersion: talk.headVersion + 1,
  redo: [],
})

const moved = (talk: Talk, to: number | null, reason: string, of?: number): Talk => ({
  ...talk,
  head: to,
  headVersion: talk.headVersion + 1,
  moves: [...talk.moves, { from: talk.head, to, reason, of }],
})

/** A move that begins a new way on. */
const newMove = (talk: Talk, to: number | null, reason: string): Talk => ({
  ...moved(talk, to, reason),
  undo: [...talk.undo, talk.moves.length],
  redo: [],
})

const checkout = (talk: Talk, to: number | null): Step => ({
  talk: to === talk.head ? talk : newMove(talk, to, "checkout"),
  answer: { done: { from: idAt(talk, talk.head), to: idAt(talk, to) } },
})

const walkJournal = (talk: Talk, way: "undo" | "redo"): Step => {
  const last = talk[way].at(-1)
  const to = last === undefined ? undefined : talk.moves[last]!.from
  if (last === undefined || to === undefined || placeOf(talk, to) === undefined) {
    return { talk, answer: { done: undefined } }
  }
  const n = talk.moves.length
  const next = moved(talk, to, way, way === "undo" ? last : talk.moves[last]!.of)
  const journal =
    way === "undo"
      ? { undo: talk.undo.slice(0, -1), redo: [...talk.redo, n] }
      : { undo: [...talk.undo, talk.moves[last]!.of!], redo: talk.redo.slice(0, -1) }
  return { talk: { ...next, ...journal }, answer: { done: { from: idAt(talk, talk.head), to: idAt(talk, to) } } }
}

const mayKeepFrom = (talk: Talk, keeps: Entry): boolean => {
  const path = pathTo(talk, talk.head)
  const previous = path.findLast(({ compaction }) => compaction !== undefined)
  const floor = previous === undefined ? 0 : path.findIndex(({ n }) => n === (previous.compaction!.keeps ?? previous.n))
  return path.slice(floor).includes(keeps)
}

const deleteBranch = (
  talk: Talk,
  { branch: number, moveTo }: Extract<Operation, { readonly do: "delete branch" }>,
): Step => {
  const branch = branchWith(talk, number)
  if (branch === undefined) return { talk, answer: { failed: "BranchNotFound" } }
  const kept = branch.run.slice(0, keptTo(talk, branch))
  const going = branch.run.slice(kept.length)
  const leaves = talk.head !== null && going.includes(talk.head)
  const target = moveTo === undefined ? undefined : withId(talk, moveTo)
  if (leaves && moveTo !== undefined && target === undefined) return { talk, answer: { failed: "MessageNotFound" } }
  if (leaves && target !== undefined && going.includes(target.n)) return { talk, answer: { failed: "InvalidInput" } }
  const fallback = kept.at(-1) ?? talk.entries[branch.run[0]!]!.before
  const at = leaves ? newMove(talk, target === undefined ? fallback : target.n, "delete-branch") : talk
  const left = at.branches.flatMap((one) => {
    if (one.number !== number) return [one]
    return kept.length === 0 ? [] : [{ ...one, run: kept, cut: one.cut || going.length > 0 }]
  })
  const entries = at.entries.map((entry) => (going.includes(entry.n) ? { ...entry, gone: true } : entry))
  return {
    talk: { ...at, branches: left, entries },
    answer: { done: { removed: going.length, head: idAt(at, at.head) } },
  }
}
