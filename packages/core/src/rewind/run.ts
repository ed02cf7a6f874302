/**
 * A rewind that takes files back: what the store knows of it while the host is at it.
 *
 * Guarantee: the note of a run is there before the host touches a file, and goes in the commit that moves the head. So a
 * note that is there says that the head has not moved, whoever reads it. Of one session there is one run at a time.
 */
import type { Move } from "../head/program.ts"
import type { UsesOf } from "../history/boundary.ts"
import { OperationTable } from "../operation/model.ts"
import type { Holder, OperationRow } from "../operation/model.ts"
import { findHeld, listUnfinished } from "../operation/program.ts"
import { isSeen } from "../scope.ts"
import type { Scope } from "../scope.ts"
import { OperationConflict, requireSession } from "../session/program.ts"
import { key } from "../storage/key.ts"
import { fn } from "../storage/transaction.ts"
import { applyEnd, planEnd } from "../turn/program.ts"
import type { FileRun } from "./file-history.ts"
import { applyRewind, planRewind, rewound } from "./program.ts"
import type { Recorded, RewindPlan, Seen, Wanted } from "./program.ts"

/** The kind of these operations. */
const unfinishedRewind = "rewind"

/** How far one has got: the host takes files back, or makes them what they were before. */
export type Stage = "applying" | "rolling-back"
const applying: Stage = "applying"

/** What is known of a run. */
export interface Noted {
  readonly run: FileRun
  /** Whom the session belongs to. */
  readonly owner?: string
  /** The operation that it is part of. */
  readonly operation?: string
}

export const notedIn = (row: Readonly<OperationRow>): Noted => row.result as Noted

const runKey = (sessionId: string): string => key(`rewind files ${sessionId}`)

/** Ends a turn that was asked to stop and still runs: no file may be taken back while it writes. */
export const endStopped = fn(function* (tx, scope: Scope, sessionId: string, { epoch }: Seen, now: number) {
  const session = yield* requireSession(scope, sessionId)
  if (session.activeTurn?.epoch !== epoch) return
  const plan = yield* planEnd(session, session.activeTurn)
  applyEnd(tx, session, plan, { outcome: "aborted", reason: rewound }, now)
})

/** The note of the run of a session; `undefined`: there is none. */
export const findRun = fn(function* (tx, scope: Scope, sessionId: string) {
  yield* requireSession(scope, sessionId)
  return yield* tx.get(OperationTable, [runKey(sessionId)])
})

/** Notes that files are to be taken back, if the rewind is to be had; or answers the note of the run that is there. */
export const beginRun = fn(function* (
  tx,
  scope: Scope,
  wanted: Wanted,
  { operation, stopped }: Pick<Recorded, "operation" | "stopped">,
  run: FileRun,
  holder: Holder,
  usesOf: UsesOf,
  now: number,
) {
  const session = yield* requireSession(scope, run.sessionId)
  const known = yield* tx.get(OperationTable, [runKey(run.sessionId)])
  if (known !== undefined) return { note: known, isNew: false }
  yield* planRewind(session, wanted, stopped, usesOf, now)
  const { owner } = session
  const noted: Noted = {
    run,
    ...(owner !== undefined && { owner }),
    ...(operation !== undefined && { operation: operation.id }),
  }
  const note: OperationRow = {
    id: runKey(run.sessionId),
    sessionId: run.sessionId,
    result: noted,
    expiresAt: Number.MAX_SAFE_INTEGER,
    unfinished: unfinishedRewind,
    stage: applying,
    holder,
  }
  tx.insert(OperationTable, note)
  return { note, isNew: true }
})

/**
 * Moves the head of a session whose files are what they are to be, and forgets the run. Fails where that is not its
 * holder's any more, for then files are made what they were.
 */
export const finishRun = fn(function* (
  tx,
  scope: Scope,
  owner: string,
  { sessionId, id, turns }: FileRun,
  wanted: Wanted,
  record: Omit<Recorded, "files">,
  usesOf: UsesOf,
  move: Omit<Move, "reason">,
) {
  const note = yield* findHeld({ key: runKey(sessionId), owner })
  const session = yield* requireSession(scope, sessionId)
  if (note === undefined || notedIn(note).run.id !== id || note.stage !== applying) {
    return yield* tx.fail(new OperationConflict({ id: sessionId, field: "files", expected: id }))
  }
  const plan: RewindPlan = yield* planRewind(session, wanted, undefined, usesOf, move.at)
  const result = applyRewind(tx, plan, { ...record, files: turns }, move)
  tx.remove(OperationTable, [note.id])
  return result
})

/** The runs that are not finished, behind one of them: at most 500. */
export const listRuns = fn(function* (_tx, scope: Scope, after: string | undefined) {
  const { next, operations } = yield* listUnfinished(unfinishedRewind, after)
  return { operations: operations.filter((row) => isSeen(scope, notedIn(row))), next }
})
