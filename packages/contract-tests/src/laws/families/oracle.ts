/**
 * What a family of conversations must be: entries that each know the one before, and sessions that stand among them.
 *
 * It shares nothing with the code under test. It knows no branches, no positions and no facts: every question is answered
 * by walking back from an entry to the first one. Nothing of it is ever changed, so that many orders can be tried.
 */

/** What a message is: said by the user, answered, only given to the model. */
export type Kind = "said" | "answered" | "given"

export interface Entry {
  readonly id: string
  readonly kind: Kind
  readonly before: string | null
  /** The session that said it. */
  readonly owner: string
  /** The name of the file that came with it. */
  readonly file: string | undefined
}

export interface Move {
  readonly from: string | null
  readonly to: string | null
  /** The move that it took back, or made again. */
  readonly of: number | undefined
}

export interface Talk {
  readonly id: string
  /** Where it left another one; `undefined`: it is the first of its tree. */
  readonly base: string | null | undefined
  /** Of a side conversation: who began it. */
  readonly parent: string | undefined
  /** What it has inherited and does not show. */
  readonly hidden: ReadonlySet<string>
  readonly head: string | null
  readonly title: string | undefined
  readonly moves: ReadonlyArray<Move>
  /** How many of its first moves were forgotten. */
  readonly forgotten: number
  readonly undo: ReadonlyArray<number>
  readonly redo: ReadonlyArray<number>
  readonly deleted: boolean
}

export interface Family {
  readonly entries: ReadonlyMap<string, Entry>
  /** Entries that were pruned. */
  readonly gone: ReadonlySet<string>
  readonly talks: ReadonlyMap<string, Talk>
}

export interface NewMessage {
  readonly id: string
  readonly kind: Kind
  readonly file?: string
}

export type Operation =
  | { readonly do: "append"; readonly session: string; readonly messages: ReadonlyArray<NewMessage> }
  | { readonly do: "checkout"; readonly session: string; readonly to: string | null }
  | { readonly do: "undo" | "redo"; readonly session: string }
  | { readonly do: "fork"; readonly session: string; readonly at: string | undefined }
  | { readonly do: "side"; readonly session: string }
  | { readonly do: "rewind" | "edit" | "retry"; readonly session: string; readonly message: string }
  | { readonly do: "delete" | "prune"; readonly session: string }

/** A session that an operation has made, as it was answered. */
export interface Made {
  readonly id: string
  readonly head: string | null
  readonly title: string | undefined
}

export type Answer = { readonly done: unknown } | { readonly failed: string } | { readonly defect: string }

export interface Step {
  readonly family: Family
  readonly answer: Answer
}

/** A family of sessions in which nothing was said. */
export const newFamily = (titles: ReadonlyMap<string, string | undefined>): Family => ({
  entries: new Map(),
  gone: new Set(),
  talks: new Map([...titles].map(([id, title]) => [id, { ...newTalk(id), title }])),
})

const newTalk = (id: string): Talk => ({
  id,
  base: undefined,
  parent: undefined,
  hidden: new Set(),
  head: null,
  title: undefined,
  moves: [],
  forgotten: 0,
  undo: [],
  redo: [],
  deleted: false,
})

// Questions.

/** The entries from the first one to this. */
export const pathTo = ({ entries }: Family, to: string | null): ReadonlyArray<Entry> => {
  const path: Array<Entry> = []
  for (let at = to; at !== null;) {
    const entry = entries.get(at)!
    path.push(entry)
    at = entry.before
  }
  return path.toReversed()
}

const isOn = (family: Family, to: string | null, id: string): boolean => pathTo(family, to).some((one) => one.id === id)

/** What a session shows of its path. */
export const shownBy = (family: Family, talk: Talk): ReadonlyArray<Entry> =>
  pathTo(family, talk.head).filter(({ id, kind }) => kind !== "given" && !talk.hidden.has(id))

/** Whether a session sees an entry: what it said itself, and what it has inherited. */
export const sees = (family: Family, talk: Talk, id: string): boolean => {
  const entry = family.entries.get(id)
  if (entry === undefined || family.gone.has(id)) return false
  return entry.owner === talk.id || (talk.base !== undefined && isOn(family, talk.base, id))
}

/** Whether a head may stand at a place: a side conversation does not go back to before its beginning. */
const isShownAt = (family: Family, talk: Talk, to: string | null): boolean =>
  talk.hidden.size === 0 || isOn(family, to, talk.base!)

/** The side conversations of a session, those of theirs included. */
export const sidesOf = (family: Family, id: string): ReadonlyArray<Talk> =>
  [...family.talks.values()]
    .filter(({ deleted, parent }) => parent === id && !deleted)
    .flatMap((side) => [side, ...sidesOf(family, side.id)])

/** Entries that somebody who is left can still get to: by a head, by where it was forked, or by a move. */
export const neededIn = (family: Family): ReadonlySet<string> => {
  const needed = new Set<string>()
  for (const { base = null, deleted, forgotten, head, moves } of family.talks.values()) {
    if (deleted) continue
    const places = [head, base, ...moves.slice(forgotten).flatMap(({ from, to }) => [from, to])]
    for (const place of places) for (const { id } of pathTo(family, place)) needed.add(id)
  }
  return needed
}

/** What is kept: all that those who are left have said, where they were forked, and all before it. Design 3. */
export const keptIn = (family: Family): ReadonlySet<string> => {
  const kept = new Set<string>()
  const keep = (place: string | null) => {
    for (let at = place; at !== null && !kept.has(at); at = family.entries.get(at)!.before) kept.add(at)
  }
  const living = [...family.talks.values()].filter(({ deleted }) => !deleted)
  for (const { base = null } of living) keep(base)
  const owners = new Set(living.map(({ id }) => id))
  for (const { id, owner } of family.entries.values()) if (owners.has(owner) && !family.gone.has(id)) keep(id)
  return kept
}

// Operations.

/** Runs one operation. What the subject minted is taken from what it answered. */
export const run = (family: Family, operation: Operation, given: Answer): Step => {
  const talk = family.talks.get(operation.session)
  const failed = (tag: string): Step => ({ family, answer: { failed: tag } })
  if (talk === undefined) return failed("SessionNotFound")
  if (talk.deleted) return failed("SessionDeleted")
  switch (operation.do) {
    case "append":
      return append(family, talk, operation.messages)
    case "checkout": {
      const { to } = operation
      if (to !== null && !sees(family, talk, to)) return failed("MessageNotFound")
      if (!isShownAt(family, talk, to)) return failed("InvalidBoundary")
      return to === talk.head ? moveless(family, talk) : move(family, talk, to)
    }
    case "undo":
    case "redo":
      return walkJournal(family, talk, operation.do)
    case "edit":
    case "retry": {
      const entry = family.entries.get(operation.message)
      if (entry === undefined || !sees(family, talk, entry.id)) return failed("MessageNotFound")
      if (operation.do === "edit" && entry.kind !== "said") return failed("InvalidInput")
      const to = operation.do === "retry" && entry.kind === "said" ? entry.id : entry.before
      if ((to !== null && family.gone.has(to)) || !isShownAt(family, talk, to)) return failed("InvalidBoundary")
      return to === talk.head ? moveless(family, talk) : move(family, talk, to)
    }
    case "rewind": {
      const entry = family.entries.get(operation.message)
      if (entry === undefined || !sees(family, talk, entry.id)) return failed("MessageNotFound")
      const isTarget = entry.kind === "said" && isOn(family, talk.head, entry.id) && !talk.hidden.has(entry.id)
      return isTarget ? move(family, talk, entry.before) : failed("InvalidBoundary")
    }
    case "fork":
      return fork(family, talk, operation.at, given)
    case "side":
      return side(family, talk, given)
    case "delete": {
      const going = new Set([talk.id, ...sidesOf(family, talk.id).map(({ id }) => id)])
      const talks = new Map(
        [...family.talks].map(([id, one]) => [id, going.has(id) ? { ...one, deleted: true } : one] as const),
      )
      return { family: { ...family, talks }, answer: { done: "deleted" } }
    }
    case "prune":
      return prune(family, talk)
  }
}

const withTalk = (family: Family, talk: Talk): Family => ({
  ...family,
  talks: new Map(family.talks).set(talk.id, talk),
})

const append = (family: Family, talk: Talk, messages: ReadonlyArray<NewMessage>): Step => {
  const entries = new Map(family.entries)
  let { head } = talk
  for (const { file, id, kind } of messages) {
    entries.set(id, { id, kind, before: head, owner: talk.id, file })
    head = id
  }
  return {
    family: withTalk({ ...family, entries }, { ...talk, head, redo: [] }),
    answer: { done: messages.map(({ id }) => id) },
  }
}

const moveless = (family: Family, { head }: Talk): Step => ({ family, answer: { done: { from: head, to: head } } })

const moved = (talk: Talk, to: string | null, of?: number): Talk => ({
  ...talk,
  head: to,
  moves: [...talk.moves, { from: talk.head, to, of }],
})

/** A move that begins a new way on. */
const move = (family: Family, talk: Talk, to: string | null): Step => ({
  family: withTalk(family, { ...moved(talk, to), undo: [...talk.undo, talk.moves.length], redo: [] }),
  answer: { done: { from: talk.head, to } },
})

const walkJournal = (family: Family, talk: Talk, way: "undo" | "redo"): Step => {
  const last = talk[way].at(-1)
  const to = last === undefined ? undefined : talk.moves[last]!.from
  const isThere = to === null || (to !== undefined && !family.gone.has(to))
  if (last === undefined || last < talk.forgotten || !isThere) return { family, answer: { done: undefined } }
  const n = talk.moves.length
  const next = moved(talk, to!, way === "undo" ? last : talk.moves[last]!.of)
  const journal =
    way === "undo"
      ? { undo: talk.undo.slice(0, -1), redo: [...talk.redo, n] }
      : { undo: [...talk.undo, talk.moves[last]!.of!], redo: talk.redo.slice(0, -1) }
  return { family: withTalk(family, { ...next, ...journal }), answer: { done: { from: talk.head, to } } }
}

const madeBy = (given: Answer): Made | undefined =>
  "done" in given && typeof given.done === "object" ? (given.done as Made) : undefined

const fork = (family: Family, talk: Talk, at: string | undefined, given: Answer): Step => {
  if (at !== undefined && !sees(family, talk, at)) return { family, answer: { failed: "MessageNotFound" } }
  if (at !== undefined && family.entries.get(at)!.kind === "given") {
    return { family, answer: { failed: "InvalidBoundary" } }
  }
  const base = at ?? pathTo(family, talk.head).findLast(({ kind }) => kind === "answered")?.id ?? null
  const id = madeBy(given)?.id ?? "none"
  const title = talk.title === undefined ? undefined : nextTitle(family, talk.title)
  const made: Made = { id, head: base, title }
  return {
    family: withTalk(family, { ...newTalk(id), base, head: base, title }),
    answer: { done: made },
  }
}

/** As long as nobody renames anything, numbers of one name are given out one after another, and not again while one lives. */
const nextTitle = ({ talks }: Family, title: string): string => {
  const nameOf = (text: string) => /^(.*?)(?: \((\d+)\))?$/.exec(text)!
  const [, name, own] = nameOf(title)
  const forks = [...talks.values()].filter(({ base, deleted, title: of }) => base !== undefined && !deleted && of)
  const numbers = forks.flatMap((one) => (nameOf(one.title!)[1] === name ? [Number(nameOf(one.title!)[2] ?? 1)] : []))
  return `${name} (${Math.max(Number(own ?? 1), ...numbers) + 1})`
}

const side = (family: Family, talk: Talk, given: Answer): Step => {
  const path = pathTo(family, talk.head)
  const base = path.findLast(({ kind }) => kind !== "given")?.id ?? null
  const made = madeBy(given)
  const id = made?.id ?? "none"
  const boundary = made?.head ?? "none"
  const entry: Entry = { id: boundary, kind: "given", before: base, owner: id, file: undefined }
  const entries = new Map(family.entries).set(boundary, entry)
  const hidden = new Set(pathTo(family, base).map((entry) => entry.id))
  const begun: Talk = { ...newTalk(id), base, parent: talk.id, head: boundary, hidden }
  return {
    family: withTalk({ ...family, entries }, begun),
    answer: { done: { id, head: boundary, title: undefined } satisfies Made },
  }
}

/** Forgets the moves of a session, then all that nobody can get to any more of what it said. */
const prune = (family: Family, talk: Talk): Step => {
  const forgot = withTalk(family, { ...talk, forgotten: talk.moves.length, undo: [], redo: [] })
  const needed = neededIn(forgot)
  const gone = new Set(family.gone)
  for (const { id, owner } of family.entries.values()) if (owner === talk.id && !needed.has(id)) gone.add(id)
  return { family: { ...forgot, gone }, answer: { done: "pruned" } }
}
