/**
 * A fork with a new workspace: what the store has to say of it, before the host makes the workspace, and after.
 *
 * Guarantee: the fork is no session before its workspace is there; so no list ever has half of one. Until then its row
 * waits in an operation, which keeps the place that it leaves from, whatever happens to its source. Whoever is at an
 * operation holds it by a lease: of two, one goes on. FRK-04
 */
import type { UsesOf } from "../history/boundary.ts"
import { OperationTable, receiptsKept } from "../operation/model.ts"
import type { Holder, OperationRow } from "../operation/model.ts"
import { findHeld, listUnfinished } from "../operation/program.ts"
import type { HeldBy } from "../operation/program.ts"
import { ProjectTable } from "../project/model.ts"
import { showAgain } from "../project/program.ts"
import type { Workspace } from "../project/workspace.ts"
import { isSeen } from "../scope.ts"
import type { Scope } from "../scope.ts"
import { SessionTable } from "../session/model.ts"
import type { RunLocation, SessionRow } from "../session/model.ts"
import { requireSession } from "../session/program.ts"
import { fn } from "../storage/transaction.ts"
import { findOperation, placedIn, planFork } from "./program.ts"
import type { Named, NewFork } from "./program.ts"
import type { PreparedWorkspace, WorkspaceRequest } from "./workspaces.ts"

/** The kind of these operations. */
export const unfinishedFork = "fork"

/** How far one has got: the host was asked for a workspace, has made it, or is to take it back. */
export type Stage = "preparing" | "prepared" | "removing"

/** What is known of a fork while it is made. */
export interface Making {
  /** The row that its session is going to have, but for where it works. */
  readonly session: SessionRow
  readonly request: WorkspaceRequest
  readonly prepared?: PreparedWorkspace
}

export const makingOf = (row: Readonly<OperationRow>): Making => row.result as Making

/** Notes that a fork is to be made; or answers the operation that is there. */
export const begin = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  fork: NewFork & { readonly wanted: WorkspaceRequest["wanted"]; readonly operation: string },
  named: Named,
  holder: Holder,
  usesOf: UsesOf,
  now: number,
) {
  const known = yield* findOperation(named, now)
  if (known !== undefined) return { operation: known, isNew: false }
  const source = yield* requireSession(scope, sessionId)
  const session: SessionRow = yield* planFork(source, fork, usesOf, now)
  const { runLocation, title, treeId, workspaceDir } = session
  const request: WorkspaceRequest = {
    operation: fork.operation,
    sessionId: session.id,
    source: {
      sessionId,
      ...(workspaceDir !== undefined && { workspace: workspaceDir }),
      ...(runLocation !== undefined && { runLocation }),
    },
    ...(title !== undefined && { title }),
    wanted: fork.wanted,
  }
  const making: Making = { session, request }
  const stage: Stage = "preparing"
  const operation: OperationRow = {
    id: named.key,
    sessionId,
    digest: named.digest,
    result: making,
    expiresAt: now + receiptsKept,
    unfinished: unfinishedFork,
    stage,
    holder,
    treeId,
    baseBranch: session.base!.branch,
    basePos: session.base!.pos,
  }
  tx.put(OperationTable, operation)
  return { operation, isNew: true }
})

/** Notes what the host has made. */
export const notePrepared = fn(function* (tx, held: HeldBy, prepared: PreparedWorkspace) {
  if ((yield* findHeld(held)) === undefined) return undefined
  const stage: Stage = "prepared"
  return tx.update(OperationTable, [held.key], (row) => ({ ...row, stage, result: { ...makingOf(row), prepared } }))
})

/** Makes the session, and of the operation a receipt. */
export const publish = fn(function* (
  tx,
  held: HeldBy,
  workspace: Workspace,
  runLocation: RunLocation | undefined,
  now: number,
) {
  const row = yield* findHeld(held)
  if (row === undefined) return undefined
  const making: Making = makingOf(row)
  const placed = placedIn(making.session, workspace, runLocation)
  const session: SessionRow = { ...placed, createdAt: now, updatedAt: now, activityAt: now }
  const home = yield* tx.get(ProjectTable, [session.projectId])
  if (home !== undefined) showAgain(tx, home, now)
  tx.insert(SessionTable, session)
  const { digest, id, sessionId } = row
  const result = { sessionId: session.id }
  tx.update(OperationTable, [held.key], () => ({
    id,
    sessionId,
    ...(digest !== undefined && { digest }),
    result,
    expiresAt: now + receiptsKept,
  }))
  return session
})

/** The forks that are not finished, behind one of them: at most 500. */
export const listForks = fn(function* (_tx, scope: Scope, after: string | undefined) {
  const { next, operations } = yield* listUnfinished(unfinishedFork, after)
  return { operations: operations.filter((row) => isSeen(scope, makingOf(row).session)), next }
})
