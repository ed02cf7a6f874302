/**
 * The rules of forks: a new session on the same tree, from a message that both have in common.
 *
 * Nothing is copied. A fork is a row of its own with a head on the tree of its source; what it says goes to branches of
 * its own, and what its source says later is on none of its paths.
 */
import { checkCut, lastCut } from "../history/cut.ts"
import type { UsesOf } from "../history/boundary.ts"
import { noFacts, root } from "../message/model.ts"
import type { EntryRow } from "../message/model.ts"
import { advance } from "../message/placement.ts"
import type { NewEntry } from "../message/placement.ts"
import { placeBehind, refOf, requireEntry, writeEntries } from "../message/program.ts"
import { entriesAt } from "../message/path.ts"
import { OperationTable, receiptsKept } from "../operation/model.ts"
import type { OperationRow } from "../operation/model.ts"
import { readReceipt } from "../operation/program.ts"
import { ProjectTable } from "../project/model.ts"
import { showAgain } from "../project/program.ts"
import { workspaceFields } from "../project/workspace.ts"
import type { Workspace } from "../project/workspace.ts"
import { freshSession } from "../session/fresh.ts"
import { SessionTable } from "../session/model.ts"
import type { RunLocation, SessionRow } from "../session/model.ts"
import { IdConflict, requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { forkTitleFields, joinTitle, splitTitle } from "../session/title.ts"
import { key } from "../storage/key.ts"
import { fn, isUnreadable } from "../storage/transaction.ts"

/** An operation as its caller names it: the key of its row, and what tells whether the same is asked again. */
export interface Named {
  readonly operationId: string
  readonly key: string
  readonly digest: string
}

/** A fork to be made. */
export interface NewFork {
  /** Its id, as it was minted. */
  readonly id: string
  /** The message behind which it goes on; absent: the last settled answer. */
  readonly at: string | undefined
  readonly title: string | undefined
  readonly workspace: Workspace | undefined
}

/** The operation of this name, if it was done or is being done. */
export const findOperation = fn(function* (tx, named: Named | undefined, now: number) {
  if (named === undefined) return undefined
  const row = yield* readReceipt(named.key, now)
  if (row !== undefined && row.digest !== named.digest) {
    return yield* tx.fail(new IdConflict({ id: named.operationId }))
  }
  return row
})

/** The session that an operation has made. */
export const madeBy = fn(function* (_tx, scope: Scope, operation: Readonly<OperationRow>) {
  return yield* requireSession(scope, (operation.result as { readonly sessionId: string }).sessionId)
})

/** Makes a fork in one commit; or answers the one that the operation has made. FRK-01 */
export const fork = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  wanted: NewFork,
  named: Named | undefined,
  usesOf: UsesOf,
  now: number,
) {
  const done = yield* findOperation(named, now)
  if (done !== undefined) return yield* madeBy(scope, done)
  const source = yield* requireSession(scope, sessionId)
  const row: SessionRow = yield* planFork(source, wanted, usesOf, now)
  const home = yield* tx.get(ProjectTable, [row.projectId])
  if (home !== undefined) showAgain(tx, home, now)
  tx.insert(SessionTable, row)
  if (named !== undefined) tx.put(OperationTable, receipt(named, source, row, now))
  return row
})

/** Reads what the row of a fork is to be. */
export const planFork = fn(function* (_tx, source: SessionRow, wanted: NewFork, usesOf: UsesOf, now: number) {
  const { at, id, title, workspace } = wanted
  const entry = at === undefined ? yield* lastCut(source, usesOf, isAnswer) : yield* requireEntry(source, at)
  if (at !== undefined && entry !== undefined) yield* checkCut(source, entry, usesOf)
  const inherited = yield* inherit(source, entry, id, now)
  const row: SessionRow = {
    ...(workspace === undefined ? inherited : placedIn(inherited, workspace)),
    forkedFrom: { sessionId: source.id, entry: entry?.id ?? null },
    ...(yield* planTitle(source, title)),
  }
  return row
})

const isAnswer = ({ role }: Readonly<EntryRow>): boolean => role === "assistant"

/** A session that works in another place. */
export const placedIn = (row: SessionRow, workspace: Workspace, runLocation?: RunLocation): SessionRow => {
  const { runLocation: _location, spelledKey: _spelling, ...rest } = row
  return { ...rest, ...workspaceFields(workspace), ...(runLocation !== undefined && { runLocation }) }
}

/** The row of a new session that stands behind an entry of another one, or at the root. */
const inherit = fn(function* (_tx, source: SessionRow, entry: Readonly<EntryRow> | undefined, id: string, now: number) {
  const { agent, model, owner, projectId, runLocation, spelledKey, treeId, workspaceDir, workspaceKey } = source
  const base = entry === undefined ? root : refOf(entry)
  const facts = entry?.facts ?? noFacts
  const [last] = facts.lastPrompt === undefined ? [] : yield* entriesAt(treeId, [facts.lastPrompt])
  return freshSession({
    id,
    treeId,
    projectId,
    createdAt: now,
    base,
    baseBranch: base.branch,
    basePos: base.pos,
    head: entry === undefined ? base : { ...base, id: entry.id },
    facts,
    preview: last === undefined || isUnreadable(last) ? "" : (last.preview ?? ""),
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model }),
    ...(owner !== undefined && { owner }),
    ...(runLocation !== undefined && { runLocation }),
    ...(workspaceDir !== undefined && { workspaceDir }),
    ...(workspaceKey !== undefined && { workspaceKey }),
    ...(spelledKey !== undefined && { spelledKey }),
  })
})

/** Reads what a fork is called: as it is told, else as its source with the next number that no fork of the tree has. */
const planTitle = fn(function* (tx, source: SessionRow, given: string | undefined) {
  if (given !== undefined) {
    const named: Partial<SessionRow> = { title: given, titleOrigin: "manual", ...forkTitleFields(given) }
    return named
  }
  if (source.title === undefined) return {}
  const { number, text } = splitTitle(source.title)
  const taken = yield* tx.range(SessionTable, "byForkTitle", {
    prefix: [source.treeId, key(text)],
    reverse: true,
    limit: damagedAtMost,
    unreadable: "keep",
  })
  const [newest] = taken.filter((row): row is Readonly<SessionRow> => !isUnreadable(row))
  const last = newest?.titleNumber ?? 1
  const title = joinTitle({ text, number: Math.max(number, last) + 1 })
  const next: Partial<SessionRow> = { title, titleOrigin: source.titleOrigin, ...forkTitleFields(title) }
  return next
})

/** How many forks in a row may be damaged before a number comes twice. */
const damagedAtMost = 10

const receipt = (named: Named, source: SessionRow, row: SessionRow, now: number): OperationRow => ({
  id: named.key,
  sessionId: source.id,
  digest: named.digest,
  result: { sessionId: row.id },
  expiresAt: now + receiptsKept,
})

/** A side conversation to be made. */
export interface NewSide {
  readonly id: string
  /** Says to the model that what came before is for reference only. */
  readonly boundary: NewEntry
}

/** What a side conversation is for, in its row. */
export const sidePurpose = "peek_btw_session"

/**
 * Makes a side conversation in one commit: it has inherited what was said so far and settled, shows nothing of it, and
 * begins with the boundary. The source may be running. FRK-05
 */
export const side = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  { boundary, id }: NewSide,
  named: Named | undefined,
  usesOf: UsesOf,
  now: number,
) {
  const done = yield* findOperation(named, now)
  if (done !== undefined) return yield* madeBy(scope, done)
  const source = yield* requireSession(scope, sessionId)
  const entry = yield* lastCut(source, usesOf)
  const begun: SessionRow = yield* inherit(source, entry, id, now)
  const { displays, prompts } = begun.facts
  const row: SessionRow = {
    ...begun,
    kind: "peek",
    shelf: "peek",
    visibility: "hidden",
    purpose: sidePurpose,
    parentId: source.id,
    preview: "",
    ...(entry !== undefined && { displayFrom: { ...refOf(entry), id: entry.id, displays, prompts } }),
  }
  const placement = yield* placeBehind(row, begun.head, begun.facts)
  const rows = writeEntries(tx, placement, [boundary], now)
  const side = advance(row, rows, now)
  tx.insert(SessionTable, side)
  if (named !== undefined) tx.put(OperationTable, receipt(named, source, side, now))
  return side
})
