/**
 * The rules of turns: how one begins, what it writes, and how it ends.
 *
 * One turn at a time holds a session. Its epoch is the fence, checked in every commit; its lease only says when others
 * may give its owner up. Beginning is one commit with what the turn begins with, and ending is one with what it ends with.
 * A concept that begins or ends turns in a commit of its own composes the halves: `planBegin` and `applyBegin`, `planEnd`
 * and `applyEnd`.
 */
import { applyNewMove, requireShown, standAt } from "../head/program.ts"
import type { Stand } from "../head/program.ts"
import { InvalidBoundary } from "../history/program.ts"
import { checkShape, readDrafts, settleDrafts, writeDraft } from "../message/draft.ts"
import type { Cut } from "../message/draft.ts"
import { EntryTable, root } from "../message/model.ts"
import type { EntryRef, EntryRow } from "../message/model.ts"
import { entriesAt } from "../message/path.ts"
import { isPrompt, isSamePlace } from "../message/placement.ts"
import type { NewEntry, Placement } from "../message/placement.ts"
import {
  expectHead,
  findEntry,
  findSubmitted,
  headId,
  isSameContent,
  notify,
  notifyResumed,
  placeAtHead,
  placeBefore,
  placeBehind,
  refOf,
  requireEntry,
  writeAtHead,
} from "../message/program.ts"
import type { ExpectedHead } from "../message/program.ts"
import type { QueryViewRow } from "../query-view/model.ts"
import { closeViews, openViews } from "../query-view/program.ts"
import type { Wanted } from "../queue/claim.ts"
import { applySending, planSending } from "../queue/dispatch.ts"
import type { Sending } from "../queue/dispatch.ts"
import type { QueueItemRow } from "../queue/model.ts"
import { answered, paused, withDue } from "../queue/state.ts"
import { SessionTable } from "../session/model.ts"
import type { ActiveTurn, SessionFailure, SessionRow, SessionStatus } from "../session/model.ts"
import { IdConflict, OperationConflict, requireSession } from "../session/program.ts"
import { isSeen } from "../scope.ts"
import type { Scope } from "../scope.ts"
import { InvalidInput } from "../storage/error.ts"
import { fn, isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Handle, Unreadable } from "../storage/transaction.ts"
import { applyUsage, planUsage } from "../usage/program.ts"
import type { NewCall, Recording, UsagePlan } from "../usage/program.ts"
import { renewed, requireTurn, runActive, staleTurn } from "./fence.ts"
import { TurnTable } from "./model.ts"
import type { TurnOutcome, TurnRow } from "./model.ts"

/** What a turn begins with. Entries are made before. */
export type Start =
  | { readonly _tag: "None" }
  | { readonly _tag: "Prompt"; readonly entry: NewEntry }
  | { readonly _tag: "Edit"; readonly message: string; readonly entry: NewEntry }
  | { readonly _tag: "Retry"; readonly message: string }
  | { readonly _tag: "Answer"; readonly entries: ReadonlyArray<NewEntry> }
  /** What waits in the queue: the item that is wanted, unless it was tried `maxAttempts` times. */
  | { readonly _tag: "Item"; readonly wanted: Wanted; readonly maxAttempts: number }

/** The turn that is to begin, and who runs it. */
export interface NewTurn extends Pick<TurnRow, "id" | "owner" | "host" | "start"> {
  /** The length of its lease, in milliseconds. */
  readonly lease: number
}

/** A turn that was found to be over, as it was seen: one that has renewed its lease since is not. */
export interface Over {
  readonly epoch: number
  readonly beat: number
}

/** How to begin. */
export interface BeginOptions extends ExpectedHead {
  /** Ends the turn that runs as `interrupted`. */
  readonly takeOver: boolean
  /** The running turn is known to be over: it is ended as recovery would. */
  readonly over?: Over | undefined
}

/** What a beginning has read and decided. */
export interface BeginPlan {
  readonly session: SessionRow
  /** The turn that has to end first, and why. */
  readonly ending: { readonly plan: EndPlan; readonly reason: string } | undefined
  /** What waited for an answer, and is settled: with it, or because it gets none any more. */
  readonly leaving: ReadonlyArray<EntryRow>
  /** Where the head goes first. */
  readonly move: { readonly to: Stand; readonly reason: "edit" | "retry" } | undefined
  readonly placement: Placement
  readonly entries: ReadonlyArray<NewEntry>
  /** The entry that was left unsettled, and what it becomes: the new turn goes on with it. */
  readonly adopted: { readonly entry: EntryRow; readonly content: NewEntry } | undefined
  /** An entry that is there already and begins the turn. */
  readonly stored: EntryRow | undefined
  /** The queue item that the entry was. */
  readonly sending: Sending | undefined
  /** The prompt that is answered, where the turn does not begin with one. */
  readonly answers: EntryRow | undefined
}

/** Reads and decides how a turn begins. */
export const planBegin = fn(function* (_tx, session: SessionRow, start: Start, options: BeginOptions, now: number) {
  const ending = yield* planSuccession(session, options)
  yield* expectHead(session, options)
  const waitingDraft = session.waiting?.draft
  const leaving = yield* readDrafts(session.treeId, waitingDraft === undefined ? [] : [waitingDraft])
  const plan = yield* planStart(session, start, leaving, now)
  const answers = yield* lastPrompt(session.treeId, plan)
  const result: BeginPlan = { session, ending, leaving: plan.adopted === undefined ? leaving : [], answers, ...plan }
  return result
})

/** What becomes of the turn that runs: it ends, or it is in the way. */
const planSuccession = fn(function* (tx, session: SessionRow, { over, takeOver }: BeginOptions) {
  const { activeTurn } = session
  if (activeTurn === undefined) return undefined
  const isOver = over?.epoch === activeTurn.epoch && over.beat === activeTurn.beat
  if (!isOver && !takeOver) return yield* tx.fail(runActive(session, activeTurn))
  return { plan: yield* planEnd(session, activeTurn), reason: isOver ? crashRecovery : "taken-over" }
})

/** Why turns end that were found dead. */
export const crashRecovery = "crash-recovery"

/** The prompt that a turn answers which begins without one. */
const lastPrompt = fn(function* (_tx, treeId: string, { entries, placement, stored }: StartPlan) {
  const at = placement.facts.lastPrompt
  if (at === undefined || stored !== undefined || entries.some(isPrompt)) return undefined
  const [entry] = yield* entriesAt(treeId, [at])
  return isUnreadable(entry) ? undefined : entry
})

type StartPlan = Pick<BeginPlan, "move" | "placement" | "entries" | "adopted" | "stored" | "sending">

const planStart = fn(function* (tx, session: SessionRow, start: Start, waiting: ReadonlyArray<EntryRow>, now: number) {
  const plain = { move: undefined, entries: [], adopted: undefined, stored: undefined, sending: undefined }
  if (start._tag === "Edit" || start._tag === "Retry") {
    const { message } = start
    const move: BeginPlan["move"] = yield* planSibling(
      session,
      start._tag === "Edit"
        ? { reason: "edit", message, field: "start.edit" }
        : { reason: "retry", message, field: "start.retry" },
    )
    const placement: Placement =
      move === undefined ? yield* placeAtHead(session) : yield* placeBehind(session, move.to.ref, move.to.facts)
    const plan: StartPlan = { ...plain, placement, move, entries: start._tag === "Edit" ? [start.entry] : [] }
    return plan
  }
  const placement: Placement = yield* placeAtHead(session)
  if (start._tag === "Prompt") {
    const stored = yield* findPrompt(session, start.entry)
    const plan: StartPlan = { ...plain, placement, stored, entries: stored === undefined ? [start.entry] : [] }
    return plan
  }
  if (start._tag === "Item") {
    const sending = yield* planSending(session, start.wanted, start.maxAttempts, now)
    const { entry, stored } = sending
    const plan: StartPlan = { ...plain, placement, stored, sending, entries: stored === undefined ? [entry] : [] }
    return plan
  }
  if (start._tag === "Answer") {
    if (session.waiting === undefined) {
      return yield* tx.fail(
        new OperationConflict({ id: session.id, field: "status", expected: "needs_input", actual: session.status }),
      )
    }
    const [entry] = waiting
    const [content] = start.entries
    // An answer that is the waiting message itself, filled in, goes on in its place.
    if (entry !== undefined && content !== undefined && start.entries.length === 1 && content.role === entry.role) {
      yield* checkShape(entry, content)
      const plan: StartPlan = { ...plain, placement, adopted: { entry, content } }
      return plan
    }
    const plan: StartPlan = { ...plain, placement, entries: start.entries }
    return plan
  }
  const plan: StartPlan = { ...plain, placement }
  return plan
})

/** What is to be said again, beside itself: another wording of a prompt, or another answer. */
export interface Sibling {
  readonly reason: "edit" | "retry"
  readonly message: string
  /** What the caller calls `message`, for errors. */
  readonly field: string
}

/** Where the head goes so that what comes next is a sibling of a message. `undefined`: it stands there. RWD-04 */
export const planSibling = fn(function* (tx, session: SessionRow, { field, message, reason }: Sibling) {
  const entry = yield* requireEntry(session, message)
  if (reason === "edit" && !isPrompt(entry)) {
    const problem = "must name something that the user said"
    return yield* tx.fail(new InvalidInput({ field, value: message, problem }))
  }
  if (reason === "retry" && entry.role === "tool") {
    const problem = "is a tool result: name the message that made the call, or the prompt"
    return yield* tx.fail(new InvalidBoundary({ sessionId: session.id, boundary: entry.id, problem }))
  }
  const place: EntryRef =
    reason === "retry" && isPrompt(entry) ? refOf(entry) : yield* placeBefore(entry, session.treeId)
  yield* requireShown(session, place, message)
  if (isSamePlace(place, session.head)) return undefined
  const to = yield* standAt(session, place)
  if (to === undefined) {
    const problem = "follows a message that is gone"
    return yield* tx.fail(new InvalidBoundary({ sessionId: session.id, boundary: entry.id, problem }))
  }
  return { to, reason }
})

/** A prompt that was submitted before, when it can still begin a turn; `undefined` when it was not. */
const findPrompt = fn(function* (tx, session: SessionRow, entry: NewEntry) {
  const before = yield* findSubmitted(session, entry)
  if (before === undefined) return undefined
  const { id } = entry
  if (!before.isSame) return yield* tx.fail(new IdConflict({ id }))
  if (before.turn !== undefined) {
    return yield* tx.fail(new OperationConflict({ id, field: "turn", expected: null, actual: before.turn }))
  }
  if (!before.isHead) {
    return yield* tx.fail(new OperationConflict({ id, field: "head", expected: id, actual: headId(session) }))
  }
  return before.entry
})

/** Of the ids that were to be new in a session, the first that is taken. */
export const findTaken = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  entryIds: ReadonlyArray<string>,
  turnId: string | undefined,
) {
  const { treeId } = yield* requireSession(scope, sessionId)
  const turn = turnId === undefined ? undefined : yield* tx.find(TurnTable, "byId", [sessionId, turnId])
  if (turn !== undefined) return turn.id
  const entries = yield* tx.all(entryIds.map((id) => tx.find(EntryTable, "byId", [treeId, id])))
  return entries.find((entry) => entry !== undefined && entry.draft !== true)?.id
})

/** A turn that has begun. */
export interface Begun {
  readonly turn: TurnRow
  /** What it began with: the prompt, the answer, or what it goes on with. */
  readonly entries: ReadonlyArray<EntryRow>
  /** The prompt that it answers. Absent where nobody has said anything. */
  readonly prompt: EntryRow | undefined
  /** What it goes on with, which is not settled yet. */
  readonly adopted: EntryRow | undefined
  /** The queue item that it sends. */
  readonly item: Readonly<QueueItemRow> | undefined
  /** The turn that was ended for it. */
  readonly ended: TurnRow | undefined
}

/** Writes the beginning of a turn, and the end of the one before where it still ran. */
export const applyBegin = (tx: Handle, plan: BeginPlan, turn: NewTurn, now: number): Begun => {
  const { adopted, ending, entries, leaving, move, placement, sending, session, stored } = plan
  const ended =
    ending && applyEnd(tx, session, ending.plan, { outcome: "interrupted", reason: ending.reason }, now).turn
  if (move !== undefined) applyNewMove(tx, session, move.to, leaving, { reason: move.reason, at: now })
  else settleDrafts(tx, session, leaving, turn.start === "answer" ? undefined : "interrupted", now)
  if (sending !== undefined) applySending(tx, sending)
  const { host, lease, owner } = turn
  const id = sending?.item.requestedTurnId ?? turn.id
  const epoch = session.epoch + 1
  const active: ActiveTurn = { id, epoch, owner, host, startedAt: now, beat: 0, lease, until: now + lease, drafts: [] }
  if (id !== turn.id) active.minted = turn.id
  const begun = stored ?? adopted?.entry
  if (begun !== undefined) active.last = refOf(begun)
  if (adopted !== undefined) active.drafts = [refOf(adopted.entry)]
  if (turn.start === "answer" && session.waiting?.from !== undefined) active.resumes = session.waiting.from
  const before = tx.update(SessionTable, [session.id], (row) => row)
  const after = tx.update(SessionTable, [session.id], (row) => running(row, active, adopted !== undefined, now))
  const { revision } = after
  const row: TurnRow = {
    sessionId: session.id,
    epoch,
    id,
    owner,
    host,
    start: turn.start,
    startedAt: now,
    runningSince: now,
  }
  tx.insert(TurnTable, row)
  notifyResumed(tx, before, after)
  notify(tx, { _tag: "TurnBegan", sessionId: session.id, revision, turn: row })
  notify(tx, { _tag: "StatusChanged", sessionId: session.id, revision, status: "running" })
  const written = entries.length === 0 ? [] : writeAtHead(tx, session, placement, entries, active, now)
  const went = adopted && writeDraft(tx, session, adopted.entry, adopted.content, now)
  const begunWith = [stored, went, ...written].filter((entry) => entry !== undefined)
  const prompt = begunWith.findLast(isPrompt) ?? plan.answers
  return { turn: row, entries: begunWith, prompt, adopted: went, item: sending?.item, ended }
}

/** The session while a turn runs. */
const running = (row: SessionRow, activeTurn: ActiveTurn, isAnswered: boolean, now: number): SessionRow => {
  const { error: _error, waiting, ...rest } = row
  const next: SessionRow = {
    ...rest,
    status: "running",
    epoch: activeTurn.epoch,
    activeTurn,
    // Calls that waited are told otherwise from now on.
    historyVersion: row.historyVersion + (waiting !== undefined || isAnswered ? 1 : 0),
    revision: row.revision + 1,
    updatedAt: Math.max(row.updatedAt, now),
    activityAt: Math.max(row.activityAt, now),
  }
  return withDue(answered(next))
}

/** Begins a turn in a session. TRN-01 */
export const begin = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  start: Start,
  options: BeginOptions,
  turn: NewTurn,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  const plan = yield* planBegin(session, start, options, now)
  return applyBegin(tx, plan, turn, now)
})

/** What an end has read. */
export interface EndPlan {
  readonly turn: TurnRow
  readonly active: ActiveTurn
  readonly drafts: ReadonlyArray<EntryRow>
  /** Questions whose steps it has running. */
  readonly views: ReadonlyArray<Readonly<QueryViewRow>>
}

/** Reads what the end of the running turn touches. */
export const planEnd = fn(function* (tx, session: SessionRow, active: ActiveTurn) {
  const turn = yield* tx.get(TurnTable, [session.id, active.epoch])
  const drafts = yield* readDrafts(session.treeId, active.drafts)
  // The row of a running turn is written with the session that names it.
  const views = yield* openViews(session)
  const plan: EndPlan = { turn: turn ?? lostTurn(session, active), active, drafts, views }
  return plan
})

/** What stands for the row of a turn that cannot be found: its session still has to be freed. */
const lostTurn = ({ id: sessionId }: SessionRow, { epoch, host, id, owner, startedAt }: ActiveTurn): TurnRow => ({
  sessionId,
  epoch,
  id,
  owner,
  host,
  start: "none",
  startedAt,
})

/** How a turn ends. */
export interface Ending {
  readonly outcome: TurnOutcome
  readonly reason?: string | undefined
  readonly error?: SessionFailure | undefined
  /** With `needs_input`: the calls that wait; absent: all that are open. */
  readonly calls?: ReadonlyArray<string> | undefined
  /** Somebody looks at it: nothing becomes unread. */
  readonly seen?: boolean | undefined
}

/** What came of an end. */
export interface Ended {
  readonly turn: TurnRow
  /** Whether the session should be given an automatic title now: SES-04. */
  readonly titleDue: boolean
  /** Whether what waits in the queue goes on, or was stopped; `empty`: nothing waits. */
  readonly queue: "open" | "paused" | "empty"
}

/** Writes the end of the running turn: its row, its drafts, and the session, which is free again. */
export const applyEnd = (
  tx: Handle,
  session: SessionRow,
  { active, drafts, turn, views }: EndPlan,
  ending: Ending,
  now: number,
  last: ReadonlyArray<NewEntry> = [],
): Ended => {
  // As it is by now: this commit may have written entries of the turn.
  const { activeTurn = active, head, queue } = tx.update(SessionTable, [session.id], (row) => row)
  const newest = (id: string) => last.find((entry) => entry.id === id)
  const isWhole = ({ id }: EntryRow) => newest(id)?.draft === undefined && newest(id) !== undefined
  const kept = ending.outcome === "needs_input" ? drafts.find((draft) => isSamePlace(draft, head)) : undefined
  const settling = drafts.filter((draft) => draft !== kept)
  settleDrafts(tx, session, settling.filter(isWhole), undefined, now, newest)
  const cut = settling.filter((draft) => !isWhole(draft))
  settleDrafts(tx, session, cut, cutOf(ending.outcome), now, newest)
  const content = kept && newest(kept.id)
  if (kept !== undefined && content !== undefined) writeDraft(tx, session, kept, content, now)
  // A turn that was found dead ran for as long as anything was heard of it.
  const ranUntil = ending.reason === crashRecovery ? active.until - active.lease : now
  const over = isLost(turn)
    ? ended(turn, activeTurn, ending, ranUntil, now)
    : tx.update(TurnTable, [session.id, turn.epoch], (row) => ended(row, activeTurn, ending, ranUntil, now))
  if (isLost(turn)) tx.insert(TurnTable, over)
  const row = tx.update(SessionTable, [session.id], (one) => idle(one, activeTurn, ending, kept, now))
  const { revision, status } = row
  if (row.queue?.pause !== undefined && queue?.pause === undefined) {
    notify(tx, { _tag: "QueueChanged", sessionId: session.id, revision, reason: "paused" })
  }
  closeViews(tx, views, ranUntil, revision)
  notify(tx, {
    _tag: "StatusChanged",
    sessionId: session.id,
    revision,
    status,
    ...(row.error !== undefined && { error: row.error }),
  })
  notify(tx, { _tag: "TurnEnded", sessionId: session.id, revision, turn: over })
  return { turn: over, titleDue: isTitleDue(ending.outcome, row), queue: queueOf(row) }
}

/** A row that was not found is not known to run. */
const isLost = ({ runningSince }: TurnRow): boolean => runningSince === undefined

const statusOf: Readonly<Record<TurnOutcome, SessionStatus>> = {
  completed: "idle",
  failed: "failed",
  aborted: "aborted",
  needs_input: "needs_input",
  done: "done",
  interrupted: "interrupted",
}

/** How drafts of a turn are settled that ended so. */
const cutOf = (outcome: TurnOutcome): Cut | undefined =>
  outcome === "aborted" || outcome === "failed" || outcome === "interrupted" ? outcome : undefined

const ended = (
  turn: TurnRow,
  { first, last }: ActiveTurn,
  { error, outcome, reason }: Ending,
  ranUntil: number,
  now: number,
): TurnRow => {
  const { runningSince: _runningSince, ...rest } = turn
  return {
    ...rest,
    endedAt: Math.max(turn.startedAt, now),
    duration: Math.max(0, Math.min(ranUntil, now) - turn.startedAt),
    outcome,
    ...(reason !== undefined && { reason }),
    ...(error !== undefined && { error }),
    // What it began with was there before; it is all that there is of a turn that wrote nothing.
    ...(last !== undefined && { first: first ?? last, last }),
    ...(cutOf(outcome) !== undefined && { broken: turn.epoch }),
  }
}

/** The session after its turn. */
const idle = (
  session: SessionRow,
  { abort, first, id: turn, last, resumes }: ActiveTurn,
  { calls, error, outcome, seen }: Ending,
  kept: EntryRow | undefined,
  now: number,
): SessionRow => {
  const { activeTurn: _activeTurn, error: _error, waiting: _waiting, ...rest } = session
  const waits = outcome === "needs_input"
  const from = resumes ?? first ?? last
  const row: SessionRow = {
    ...rest,
    status: statusOf[outcome],
    ...(error !== undefined && { error }),
    ...(waits && {
      waiting: {
        turn,
        ...(from !== undefined && { from }),
        ...(calls !== undefined && { calls: [...calls] }),
        ...(kept && { draft: refOf(kept) }),
      },
    }),
    unread: session.unread || (outcome !== "aborted" && seen !== true),
    answers: session.answers + (isAnswer(outcome) ? 1 : 0),
    // What the model is told of calls without a result follows from how their turn ended.
    historyVersion: session.historyVersion + (last !== undefined && !isAnswer(outcome) ? 1 : 0),
    revision: session.revision + 1,
    updatedAt: Math.max(session.updatedAt, now),
    // Nobody did anything when a turn is found dead.
    activityAt: outcome === "interrupted" ? session.activityAt : Math.max(session.activityAt, now),
  }
  if (outcome === "failed") return withDue(paused(row, "turn-final-failure", turn, now))
  // Who stopped a turn wants no other to begin, also where it came to its end before it heard of that.
  if (outcome === "aborted" || abort !== undefined) return withDue(paused(row, "user-stop", turn, now))
  // What was to be said before it asked is no answer.
  if (waits) return withDue(paused(row, "needs-input", turn, now))
  return withDue(row)
}

const isAnswer = (outcome: TurnOutcome): boolean => outcome === "completed" || outcome === "done"

/** At which answers a session is given an automatic title. */
const titleAnswers = [1, 6, 16, 40]

const isTitleDue = (outcome: TurnOutcome, { answers, titleOrigin }: SessionRow): boolean =>
  isAnswer(outcome) && titleOrigin !== "manual" && titleAnswers.includes(answers)

const queueOf = ({ queue }: SessionRow): Ended["queue"] =>
  queue === undefined ? "empty" : queue.pause === undefined ? "open" : "paused"

/** What a turn writes in the commit of its end. */
export interface LastWrites {
  readonly entries: ReadonlyArray<NewEntry>
  /** Model calls; those that name no turn are this one's. */
  readonly calls: ReadonlyArray<NewCall>
}

/**
 * Ends a turn, with its last entries and model calls in the same commit. Of the entries, those that it was writing under their ids are settled so, or as
 * the turn ends where they say that they are drafts. A turn that has ended so before is answered as it ended; any other that
 * does not run is `StaleTurn`. TRN-03
 */
export const end = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  epoch: number,
  { calls, entries }: LastWrites,
  ending: Ending,
  recording: Recording,
) {
  const { now } = recording
  const session = yield* requireSession(scope, sessionId)
  const usedBy = fn(function* (_tx, turn: string) {
    const own = calls.map((call) => (call.turn === "" ? { ...call, turn } : call))
    return own.length === 0 ? undefined : yield* planUsage(session, own, recording)
  })
  if (session.activeTurn?.epoch !== epoch) {
    const before = yield* tx.get(TurnTable, [sessionId, epoch])
    const isRepeated = before?.outcome === ending.outcome && (yield* areStored(session.treeId, before.last, entries))
    if (before === undefined || !isRepeated) return yield* staleTurn(session, epoch)
    // What was used counts also when the turn is over, and what was told before counts once.
    const late: UsagePlan | undefined = yield* usedBy(before.id)
    if (late !== undefined) applyUsage(tx, late)
    const repeated: Ended = { turn: before, titleDue: false, queue: queueOf(session) }
    return repeated
  }
  const plan: EndPlan = yield* planEnd(session, session.activeTurn)
  const drafted = (entry: NewEntry) => plan.drafts.find(({ id }) => id === entry.id)
  for (const entry of entries) {
    const draft = drafted(entry)
    if (draft !== undefined) yield* checkShape(draft, entry)
  }
  const fresh = entries.filter((entry) => drafted(entry) === undefined)
  const used: UsagePlan | undefined = yield* usedBy(plan.turn.id)
  const placement: Placement | undefined = fresh.length === 0 ? undefined : yield* placeAtHead(session)
  if (used !== undefined) applyUsage(tx, used)
  if (placement === undefined) return applyEnd(tx, session, plan, ending, now, entries)
  const rows = writeAtHead(tx, session, placement, fresh, plan.active, now)
  const drafts = [...plan.drafts, ...rows.filter(({ draft }) => draft === true)]
  return applyEnd(tx, session, { ...plan, drafts }, ending, now, entries)
})

/**
 * Whether the last entries of a turn are stored already: under their ids, or, where those were minted anew, among the last
 * that it wrote, in their order.
 */
const areStored = fn(function* (tx, treeId: string, last: EntryRef = root, entries: ReadonlyArray<NewEntry>) {
  const found = yield* tx.all(entries.map(({ id }) => tx.find(EntryTable, "byId", [treeId, id])))
  const places = entries.map((_, i) => ({ branch: last.branch, pos: last.pos - entries.length + 1 + i }))
  const written = entries.length === 0 ? [] : yield* entriesAt(treeId, places)
  const isFound = (row: EntryRow) => found.some((one) => one !== undefined && isSamePlace(one, row))
  const unnamed = written.filter(isSettled).filter((row) => !isFound(row))
  const missing = found.filter((row) => row === undefined).length
  const rest = unnamed.slice(unnamed.length - missing)
  return entries.every((entry, i) => {
    const row = found[i] ?? rest.shift()
    return isSettled(row) && isSameContent(row, entry)
  })
})

/** Renews the lease of a running turn, and tells whether somebody wants it to stop. TRN-02 */
export const heartbeat = fn(function* (tx, scope: Scope, sessionId: string, epoch: number, now: number) {
  const session = yield* requireSession(scope, sessionId)
  const { abort } = yield* requireTurn(session, epoch)
  tx.update(SessionTable, [sessionId], (row) => renewed(row, now))
  return abort
})

/**
 * Marks the running turn, so that its owner stops it; where the owner is known to be gone, ends it. False: none runs.
 * Twice is once. TRN-08
 */
export const abort = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  reason: string | undefined,
  over: Over | undefined,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  const { activeTurn } = session
  if (activeTurn === undefined) return false
  if (over?.epoch === activeTurn.epoch && over.beat === activeTurn.beat) {
    const plan: EndPlan = yield* planEnd(session, activeTurn)
    applyEnd(tx, session, plan, { outcome: "aborted", reason }, now)
    return true
  }
  if (activeTurn.abort !== undefined) return true
  const mark = { at: now, ...(reason !== undefined && { reason }) }
  const { revision } = tx.update(SessionTable, [sessionId], (row) => ({
    ...row,
    activeTurn: { ...row.activeTurn!, abort: mark },
    revision: row.revision + 1,
    updatedAt: Math.max(row.updatedAt, now),
  }))
  const { epoch } = activeTurn
  notify(tx, { _tag: "AbortRequested", sessionId, revision, epoch, ...(reason !== undefined && { reason }) })
  return true
})

/** A running turn says that it waits for a person, or that it goes on. It keeps running. */
export const setWaiting = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  epoch: number,
  waits: boolean,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  yield* requireTurn(session, epoch)
  const status = waits ? "needs_input" : "running"
  const { revision } = tx.update(SessionTable, [sessionId], (row) =>
    renewed({ ...row, status, revision: row.revision + 1, updatedAt: Math.max(row.updatedAt, now) }, now),
  )
  if (session.status !== status) notify(tx, { _tag: "StatusChanged", sessionId, revision, status })
})

/** How many messages a turn writes at a time: the session's row names each of them. */
const mostDrafts = 100

/**
 * Stores what a turn is still writing: the first time at the head, then in its place. Settled it stays as it is.
 *
 * @param stored  where it is, when it was stored before
 */
export const write = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  epoch: number,
  entry: NewEntry,
  stored: EntryRef | undefined,
  now: number,
) {
  const session = yield* requireSession(scope, sessionId)
  const turn = yield* requireTurn(session, epoch)
  if (stored === undefined) {
    if (entry.draft === true && turn.drafts.length >= mostDrafts) {
      const problem = `is one more than the ${mostDrafts} messages that a turn may be writing at a time: settle some`
      return yield* tx.fail(new InvalidInput({ field: "message.id", value: entry.id, problem }))
    }
    const placement: Placement = yield* placeAtHead(session)
    const [row] = writeAtHead(tx, session, placement, [entry], turn, now)
    if (entry.draft === true) tx.update(SessionTable, [sessionId], (one) => withDraft(one, refOf(row!)))
    return row!
  }
  const [row] = yield* entriesAt(session.treeId, [stored])
  const isOwn = turn.drafts.some((draft) => isSamePlace(draft, stored))
  if (row === undefined || isUnreadable(row) || !isOwn) {
    const isRepeated = isSettled(row) && entry.draft !== true && isSameContent(row, entry)
    return isRepeated ? row : yield* tx.fail(new IdConflict({ id: entry.id }))
  }
  yield* checkShape(row, entry)
  if (entry.draft === true) return writeDraft(tx, session, row, entry, now)
  const [settled] = settleDrafts(tx, session, [row], undefined, now, () => entry)
  tx.update(SessionTable, [sessionId], (one) => renewed(one, now))
  return settled!
})

const isSettled = (row: Readonly<EntryRow> | Unreadable | undefined): row is Readonly<EntryRow> =>
  row !== undefined && !isUnreadable(row) && row.draft !== true

/** Where a message is stored that the session sees; `undefined` when it sees none of this id. */
export const findDraft = fn(function* (_tx, scope: Scope, sessionId: string, entryId: string) {
  const session = yield* requireSession(scope, sessionId)
  const entry = yield* findEntry(session, entryId)
  return entry && refOf(entry)
})

/** A session whose running turn is writing one more entry. */
export const withDraft = (session: SessionRow, draft: EntryRef): SessionRow => {
  const { activeTurn } = session
  if (activeTurn === undefined) return session
  return { ...session, activeTurn: { ...activeTurn, drafts: [...activeTurn.drafts, draft] } }
}

/** The turns of a session, newest first, before an epoch; with the ids of the entries that they wrote. TRN-09 */
export const turns = fn(function* (tx, scope: Scope, sessionId: string, before: number | undefined, limit: number) {
  const session = yield* requireSession(scope, sessionId)
  const rows = yield* tx.range(TurnTable, "key", {
    prefix: [sessionId],
    ...(before === undefined ? {} : { before: [sessionId, before] as const }),
    reverse: true,
    limit,
  })
  const { activeTurn } = session
  const ends = rows.flatMap((row) => {
    const { first, last } = row.epoch === activeTurn?.epoch ? activeTurn : row
    return [first ?? last ?? root, last ?? root]
  })
  const entries = yield* entriesAt(session.treeId, ends)
  const idOf = (entry: Readonly<EntryRow> | Unreadable | undefined) =>
    entry === undefined || isUnreadable(entry) ? undefined : entry.id
  return rows.map((row, i): FoundTurn => ({ row, first: idOf(entries[2 * i]), last: idOf(entries[2 * i + 1]) }))
})

/** A turn, and the ids of the entries that it wrote where they are still there. */
export interface FoundTurn {
  readonly row: Readonly<TurnRow>
  readonly first: string | undefined
  readonly last: string | undefined
}

/** A turn that was found dead. */
export interface Dead extends Over {
  readonly sessionId: string
}

/** Where a walk over running turns goes on. */
export type RunningPlace = Pick<TurnRow, "sessionId" | "epoch"> & { readonly runningSince: number }

/**
 * Some running turns, oldest first, and where to go on; those that are over are not looked at, however many there are. A
 * session that cannot be read is left out: nothing of it can be ended.
 */
export const findRunning = fn(function* (tx, scope: Scope, after: RunningPlace | undefined) {
  const turns = yield* tx.range(TurnTable, "byRunning", {
    ...(after !== undefined && { after: [after.runningSince, after.sessionId, after.epoch] as const }),
    unreadable: "keep",
  })
  const rows = turns.filter((turn): turn is Readonly<TurnRow> => !isUnreadable(turn))
  const sessions = yield* tx.all(
    rows.map(({ sessionId }) => tx.range(SessionTable, "key", { prefix: [sessionId], limit: 1, unreadable: "keep" })),
  )
  const found: Array<{ readonly sessionId: string; readonly active: ActiveTurn }> = []
  for (const [session] of sessions) {
    if (session === undefined || isUnreadable(session) || !isSeen(scope, session)) continue
    if (session.activeTurn !== undefined) found.push({ sessionId: session.id, active: session.activeTurn })
  }
  const last = rows.at(-1)
  const next: RunningPlace | undefined =
    last === undefined || turns.length < maxRange ? undefined : { ...last, runningSince: last.runningSince ?? 0 }
  return { found, next }
})

/** The running turn of a session, as whoever waits for it needs it. */
export const active = fn(function* (_tx, scope: Scope, sessionId: string) {
  const session = yield* requireSession(scope, sessionId)
  return session.activeTurn
})

/** The running turns of sessions, in their order: `undefined` where none runs, `unknown` where that cannot be read. */
export const actives = fn(function* (tx, scope: Scope, sessionIds: ReadonlyArray<string>) {
  const found = yield* tx.all(
    sessionIds.map((id) => tx.range(SessionTable, "key", { prefix: [id], limit: 1, unreadable: "keep" })),
  )
  return found.map(([session]): ActiveTurn | undefined | "unknown" => {
    if (session === undefined) return undefined
    if (isUnreadable(session)) return "unknown"
    return isSeen(scope, session) ? session.activeTurn : undefined
  })
})
