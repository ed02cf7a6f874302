/**
 * The rules of recovery: what becomes of what a dead owner held.
 */
import { applyRelease, planRelease } from "../queue/claim.ts"
import type { Release } from "../queue/claim.ts"
import { isSeen } from "../scope.ts"
import type { Scope } from "../scope.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { fn } from "../storage/transaction.ts"
import { applyEnd, crashRecovery, planEnd } from "../turn/program.ts"
import type { Dead, EndPlan } from "../turn/program.ts"

/**
 * Ends turns that were found dead, as they were seen: what has renewed its lease since is left alone. What their owners had
 * claimed is back in its place. Nobody said anything, so that no activity moves. TRN-05
 */
export const endDead = fn(function* (tx, scope: Scope, dead: ReadonlyArray<Dead>, now: number) {
  const sessions = yield* tx.all(dead.map(({ sessionId }) => tx.get(SessionTable, [sessionId])))
  const plans: Array<{ readonly session: SessionRow; readonly plan: EndPlan; readonly release: Release | undefined }> =
    []
  for (const [i, session] of sessions.entries()) {
    const activeTurn = session?.activeTurn
    if (session === undefined || activeTurn === undefined || !isSeen(scope, session)) continue
    if (activeTurn.epoch !== dead[i]!.epoch || activeTurn.beat !== dead[i]!.beat) continue
    const release = yield* planRelease(session, activeTurn.owner, now)
    plans.push({ session, plan: yield* planEnd(session, activeTurn), release })
  }
  const ending = { outcome: "interrupted", reason: crashRecovery } as const
  return plans.map(({ plan, release, session }) => {
    if (release !== undefined) applyRelease(tx, release)
    return applyEnd(tx, session, plan, ending, now).turn
  })
})
