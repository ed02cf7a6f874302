/**
 * The rules of projecting: what an event of a running agent changes, once.
 *
 * An agent that runs elsewhere tells what it does as a numbered list of events. What one of them means is written in the
 * commit that also remembers that it was applied: one that comes again, after a crash or because its answer was lost,
 * changes nothing.
 */
import { checkShape, readDrafts, settleDrafts, writeDraft } from "../message/draft.ts"
import { EntryTable } from "../message/model.ts"
import type { EntryRow } from "../message/model.ts"
import type { NewEntry } from "../message/placement.ts"
import { notify, placeAtHead, writeAtHead } from "../message/program.ts"
import type { Placement } from "../message/placement.ts"
import { SessionTable } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { IdConflict, requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { fn } from "../storage/transaction.ts"
import type { NewFrame } from "../stream/frame.ts"
import { applyUsage, planUsage } from "../usage/program.ts"
import type { NewCall, Recording, UsagePlan } from "../usage/program.ts"
import { judge, withApplied } from "./applied.ts"
import type { Conflict, EventMark } from "./applied.ts"
import { renewed } from "./fence.ts"
import { TurnTable } from "./model.ts"
import { withDraft } from "./program.ts"

/** An entry of an event. Without a name of its own it is the one that is being written, or a new one. */
export interface Projected {
  readonly entry: NewEntry
  readonly isNamed: boolean
}

/** What an event means. It is written in this order. */
export interface Projection {
  /** What was being written, as it stays. */
  readonly settle: Projected | undefined
  /** What is said besides. */
  readonly entries: ReadonlyArray<Projected>
  /** What is being written, as it is by now. */
  readonly draft: Projected | undefined
  /** Model calls; those that name no turn are this one's. */
  readonly calls: ReadonlyArray<NewCall>
  /** What readers of the live stream are told. */
  readonly frame: NewFrame | undefined
}

/** What became of an event. */
export type Reply =
  | { readonly reply: "applied"; readonly entries: ReadonlyArray<EntryRow> }
  | { readonly reply: "duplicate" }
  | { readonly reply: "stale" }
  | { readonly reply: "conflict"; readonly conflict: Conflict; readonly expected: number }

/** Applies the next event of the running turn; any other changes nothing and says why. TRN-06 */
export const project = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  epoch: number,
  event: EventMark & { readonly id: string },
  { calls, draft, entries, frame, settle }: Projection,
  recording: Recording,
) {
  const { now } = recording
  const session = yield* requireSession(scope, sessionId)
  const turn = yield* tx.get(TurnTable, [sessionId, epoch])
  const { activeTurn } = session
  const judged = judge(turn?.applied, event)
  if (judged === "duplicate") return answer({ reply: judged })
  if (turn === undefined || activeTurn?.epoch !== epoch) return answer({ reply: "stale" })
  if (judged !== "next") {
    return answer({ reply: "conflict", conflict: judged, expected: (turn.applied?.last ?? 0) + 1 })
  }
  const open = yield* readDrafts(session.treeId, activeTurn.drafts)
  const settling = settle && target(open, settle)
  const growing =
    draft &&
    target(
      open.filter((one) => one !== settling),
      draft,
    )
  if (settling !== undefined) yield* checkShape(settling, settle!.entry)
  if (growing !== undefined) yield* checkShape(growing, draft!.entry)
  const fresh = [
    ...(settle === undefined || settling !== undefined ? [] : [settle]),
    ...entries,
    ...(draft === undefined || growing !== undefined ? [] : [{ ...draft, entry: { ...draft.entry, draft: true } }]),
  ]
  yield* requireFree(session, fresh)
  const placement: Placement | undefined = fresh.length === 0 ? undefined : yield* placeAtHead(session)
  const own = calls.map((call) => (call.turn === "" ? { ...call, turn: turn.id } : call))
  const usage: UsagePlan | undefined = own.length === 0 ? undefined : yield* planUsage(session, own, recording)

  const written: Array<EntryRow> = []
  if (settling !== undefined) {
    written.push(...settleDrafts(tx, session, [settling], undefined, now, () => settle!.entry))
  }
  if (placement !== undefined) {
    const made = fresh.map(({ entry }) => entry)
    written.push(...writeAtHead(tx, session, placement, made, activeTurn, now))
    const last = written.at(-1)!
    if (last.draft === true) tx.update(SessionTable, [sessionId], (row) => withDraft(row, last))
  }
  if (growing !== undefined) written.push(writeDraft(tx, session, growing, draft!.entry, now))
  if (usage !== undefined) applyUsage(tx, usage)
  tx.update(TurnTable, [sessionId, epoch], (row) => ({ ...row, applied: withApplied(row.applied, event) }))
  tx.update(SessionTable, [sessionId], (row) => renewed(row, now))
  if (frame !== undefined) {
    const id = `event.${turn.id}.${event.id}`
    notify(tx, { _tag: "EventProjected", sessionId, frame: { ...frame, id, turn: turn.id } })
  }
  return answer({ reply: "applied", entries: written })
})

const answer = (reply: Reply): Reply => reply

/** The open entry that is meant. */
const target = (open: ReadonlyArray<EntryRow>, { entry, isNamed }: Projected): EntryRow | undefined =>
  isNamed ? open.find(({ id }) => id === entry.id) : open.at(-1)

/** Fails where a new entry has the name of one that is there, or two have one name. */
const requireFree = fn(function* (tx, { treeId }: SessionRow, fresh: ReadonlyArray<Projected>) {
  const names = fresh.filter(({ isNamed }) => isNamed).map(({ entry }) => entry.id)
  const found = yield* tx.all(names.map((id) => tx.find(EntryTable, "byId", [treeId, id])))
  const taken = found.find((one) => one !== undefined)?.id ?? names.find((id, i) => names.indexOf(id) < i)
  if (taken !== undefined) return yield* tx.fail(new IdConflict({ id: taken }))
})
