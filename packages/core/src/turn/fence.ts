/**
 * The fence around a running turn: who may write while it runs.
 *
 * Guarantee: while a turn runs, a write that moves the head either carries the epoch of that very turn, or is refused
 * before anything is written. The epoch alone decides: an owner that is late, but was not superseded, is let through.
 */
import * as Data from "effect/Data"
import type { EntryRef, EntryRow } from "../message/model.ts"
import type { ActiveTurn, SessionRow } from "../session/model.ts"
import { fn } from "../storage/transaction.ts"
import type { TurnRow } from "./model.ts"

/** Whether the instance that runs a turn is gone: as the system tells, as far as it can. */
export type OwnerGone = "yes" | "no" | "unknown"

/**
 * A turn runs in the session. Wait until it ends, `abort` it, or take it over; where its owner is gone, `recover` ends
 * it. Nothing was written.
 */
export class RunActive extends Data.TaggedError("RunActive")<{
  readonly sessionId: string
  readonly turn: string
  readonly epoch: number
  /** The instance that runs it, and its host. */
  readonly owner: string
  readonly host: string
  readonly startedAt: number
  /** When its lease ends unless it is renewed, in milliseconds of its host's clock. */
  readonly until: number
  readonly ownerGone: OwnerGone
}> {
  readonly code = "run_active"
  override get message() {
    const gone = this.ownerGone === "yes" ? ", whose owner is gone: recover() ends it" : ": wait for it, or abort it"
    return `turn ${this.turn} runs in session ${this.sessionId}${gone}`
  }
}

/** The turn is not the one that runs: it was ended, recovered or taken over. Nothing was written; stop working on it. */
export class StaleTurn extends Data.TaggedError("StaleTurn")<{
  readonly sessionId: string
  readonly epoch: number
  /** The epoch of the turn that runs now. Absent: none does. */
  readonly activeEpoch?: number
}> {
  override get message() {
    const { activeEpoch, epoch, sessionId } = this
    const now = activeEpoch === undefined ? "none runs" : `turn ${activeEpoch} runs`
    return `turn ${epoch} of session ${sessionId} is over: ${now}; stop working on it`
  }
}

export const runActive = (session: SessionRow, turn: ActiveTurn, ownerGone: OwnerGone = "unknown"): RunActive => {
  const { epoch, host, id, owner, startedAt, until } = turn
  return new RunActive({ sessionId: session.id, turn: id, epoch, owner, host, startedAt, until, ownerGone })
}

/** Fails with `RunActive` while a turn runs. */
export const requireIdle = fn(function* (tx, session: SessionRow) {
  if (session.activeTurn !== undefined) return yield* tx.fail(runActive(session, session.activeTurn))
})

/** Fails with `StaleTurn`. */
export const staleTurn = fn(function* (tx, { activeTurn, id: sessionId }: SessionRow, epoch: number) {
  const active = activeTurn !== undefined && { activeEpoch: activeTurn.epoch }
  return yield* tx.fail(new StaleTurn({ sessionId, epoch, ...active }))
})

/** The running turn, if it is this one; else `StaleTurn`. */
export const requireTurn = fn(function* (_tx, session: SessionRow, epoch: number) {
  const { activeTurn } = session
  return activeTurn?.epoch === epoch ? activeTurn : yield* staleTurn(session, epoch)
})

/** The running turn that a write belongs to; `undefined` where none runs. With one running, its epoch must be given. */
export const requireWriter = fn(function* (_tx, session: SessionRow, epoch: number | undefined) {
  if (epoch !== undefined) return yield* requireTurn(session, epoch)
  yield* requireIdle(session)
  return undefined
})

/** The first entry of a turn, or what it began with where it wrote nothing; also while it runs. */
export const firstOf = (session: SessionRow, turn: Readonly<TurnRow>): EntryRef | undefined => {
  const { first, last } = turn.epoch === session.activeTurn?.epoch ? session.activeTurn : turn
  return first ?? last
}

/** A session whose running turn has written: its lease begins anew, and it knows what it wrote. */
export const renewed = (row: SessionRow, now: number, rows: ReadonlyArray<EntryRow> = []): SessionRow => {
  const turn = row.activeTurn
  if (turn === undefined) return row
  const next: ActiveTurn = { ...turn, beat: turn.beat + 1, until: now + turn.lease }
  const last = rows.at(-1)
  if (last !== undefined) {
    next.first ??= { branch: rows[0]!.branch, pos: rows[0]!.pos }
    next.last = { branch: last.branch, pos: last.pos }
  }
  return { ...row, activeTurn: next }
}
