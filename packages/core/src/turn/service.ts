/**
 * Turns: runs of the agent, one at a time in a session.
 *
 * Guarantee: a turn begins in one commit with what it begins with, and ends in one with what it ends with. While it runs,
 * nobody else moves the head; a turn that was superseded writes nothing more. A turn whose owner is gone is in nobody's way.
 *
 * Not promised: that a body which does not listen to its signal stops; then its writes are refused.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as z from "zod/mini"
import { withFiles } from "../attachment/files.ts"
import { sessionCalls } from "../call.ts"
import { historyReader } from "../history/read.ts"
import type { ModelHistory } from "../history/read.ts"
import type { InvalidBoundary } from "../history/program.ts"
import { Ids, isId, unfitId } from "../id.ts"
import { checkInput, Text } from "../input.ts"
import { toEntry, toEntryWithId } from "../message/body.ts"
import type { MessageInput } from "../message/body.ts"
import { measured, refilled } from "../message/large.ts"
import { loaded } from "../message/load.ts"
import type { EntryRef, EntryRow } from "../message/model.ts"
import { isSamePlace } from "../message/placement.ts"
import type { NewEntry } from "../message/placement.ts"
import type { HeadMoved, MessageNotFound } from "../message/program.ts"
import { toMessage } from "../message/record.ts"
import type { Message } from "../message/record.ts"
import { inject } from "../queue/dispatch.ts"
import type { NothingQueued } from "../queue/dispatch.ts"
import type { ItemNotFound } from "../queue/line.ts"
import { toQueueItem } from "../queue/record.ts"
import type { QueueItem } from "../queue/record.ts"
import type { SessionFailure } from "../session/model.ts"
import { SessionFailure as SessionFailureInput } from "../session/model.ts"
import { IdConflict } from "../session/program.ts"
import type { OperationConflict, SessionAbsent } from "../session/program.ts"
import { Settings } from "../settings.ts"
import { InvalidInput, isTaken, isUncertain } from "../storage/error.ts"
import type { StorageError } from "../storage/error.ts"
import { Storage } from "../storage/storage.ts"
import { isUnreadable } from "../storage/transaction.ts"
import { toPublished } from "../stream/publication.ts"
import type { Publication } from "../stream/publication.ts"
import { Rings } from "../stream/rings.ts"
import { toCall } from "../usage/input.ts"
import type { UsageInput } from "../usage/input.ts"
import { record as recordCall } from "../usage/program.ts"
import type { NewCall } from "../usage/program.ts"
import { checkWriteOptions, expectedFields, writeFields, writingOf } from "../write-options.ts"
import type { TransactOptions } from "../write-options.ts"
import type { Conflict } from "./applied.ts"
import { toProjection } from "./event.ts"
import type { Mapper, TurnEvent } from "./event.ts"
import { RunActive } from "./fence.ts"
import type { StaleTurn } from "./fence.ts"
import { Instance } from "./instance.ts"
import type { WriteError } from "./instance.ts"
import type { TurnOutcome, TurnRow } from "./model.ts"
import * as program from "./program.ts"
import { project } from "./project.ts"
import type { Begun, Ended, Ending, Over, Start } from "./program.ts"
import { toTurnRecord } from "./record.ts"
import type { TurnRecord } from "./record.ts"
import { runBody } from "./run.ts"
import { toStart } from "./start.ts"
import type { TurnStart } from "./start.ts"
import type { Ground, TurnAborted, Workbench } from "./run.ts"

export type { Conflict } from "./applied.ts"
export type { EventFrame, Mapper, Meaning, TurnEvent } from "./event.ts"
export { RunActive, StaleTurn } from "./fence.ts"
export type { OwnerGone } from "./fence.ts"
export type { TurnRecord } from "./record.ts"
export type { WriteError } from "./instance.ts"
export { TurnAborted } from "./run.ts"
export type { NextItem, TurnStart } from "./start.ts"
export { NothingQueued } from "../queue/dispatch.ts"

export interface BeginOptions extends TransactOptions {
  /** Ends a turn that runs, as `interrupted`. Default `false`: then it is `RunActive`. */
  readonly takeOver?: boolean
  /** Fails with `HeadMoved` unless this message is at the head; `null` is the root. Default: any head. */
  readonly expectedHead?: string | null
  /** Fails with `HeadMoved` unless the session's `headVersion` is this. Default: any. */
  readonly expectedVersion?: number
  /** The id of the turn. Default: minted. */
  readonly turnId?: string
}

export interface RunOptions extends BeginOptions {
  /** Told how the turn ended, once that is stored. */
  readonly onEnd?: (end: TurnEnd) => void
  /** Somebody is looking: the session does not become unread. */
  readonly seen?: boolean
  /** How long a body may go on after it was told to stop, in milliseconds. Default 0: it is interrupted at once. */
  readonly graceMs?: number
}

/** A turn that has begun. */
export interface TurnBegun {
  readonly turn: TurnRecord
  /** The prompt that it answers. Absent where nobody has said anything. */
  readonly prompt?: Message
  /** What was stored with the beginning. */
  readonly messages: ReadonlyArray<Message>
  /** The item of the queue that it sends. */
  readonly item?: QueueItem
  /** The turn that was ended for it. */
  readonly ended?: TurnRecord
}

/** How a turn ends. */
export interface TurnEnding {
  readonly outcome: Exclude<TurnOutcome, "interrupted">
  /** Its last messages, stored in the same commit. */
  readonly messages?: ReadonlyArray<MessageInput>
  /** Its model calls that are not recorded yet, recorded in the same commit. */
  readonly usage?: ReadonlyArray<UsageInput>
  readonly reason?: string
  /** Needed with `failed`, and only then. */
  readonly error?: SessionFailure
  /** With `needs_input`: ids of the tool calls that wait. Default: all that have no result. */
  readonly calls?: ReadonlyArray<string>
  /** Somebody is looking: the session does not become unread. */
  readonly seen?: boolean
}

/** What came of the end of a turn. */
export interface TurnEnd {
  readonly turn: TurnRecord
  /** Whether the session should be given an automatic title now: SES-04. */
  readonly titleDue: boolean
  /** What the queue does now: `paused` where the turn failed or was stopped and something waits. */
  readonly queue: "open" | "paused" | "empty"
}

export interface TurnsQuery {
  /** Only turns with a smaller epoch. */
  readonly before?: number
  /** 1 to 250. Default 50. */
  readonly limit?: number
}

/** What became of an event of a turn. Anything but `applied` has changed nothing. */
export type Projection =
  /** It was the next one. With the messages that it wrote. */
  | { readonly reply: "applied"; readonly messages: ReadonlyArray<Message> }
  /** It was applied before. */
  | { readonly reply: "duplicate" }
  /** Its turn is not the one that runs: stop working on it. */
  | { readonly reply: "stale" }
  /** It is neither the next one nor one that was applied; `expected` is the number of the next. */
  | { readonly reply: "conflict"; readonly conflict: Conflict; readonly expected: number }

/** What is published beside its data. See `Publication`. */
export type PublishOptions = Omit<Publication, "data" | "turn">

/** A running turn, as its body sees it. */
export interface Turn {
  readonly id: string
  readonly sessionId: string
  readonly epoch: number
  /** The prompt that it answers. */
  readonly prompt: Message | undefined
  /** The item of the queue that it sends. */
  readonly item: QueueItem | undefined
  /** Fires when the turn is to stop: it was aborted, taken over or found dead. */
  readonly signal: AbortSignal
  /** What the model is given, without what this turn is still writing. */
  readonly history: Effect.Effect<ModelHistory, SessionAbsent | InvalidInput | StorageError>
  /**
   * The message that is being written, as it is by now: heard by readers at once, stored at once the first time and then
   * every `checkpointMs`.
   *
   * @throws InvalidInput  it is no message, a prompt, or another one than is being written
   */
  readonly draft: (message: MessageInput) => Effect.Effect<void, InvalidInput>
  /** Stores a message as it stays: the one that is being written, or a new one. The next draft is the next message. */
  readonly settle: (message: MessageInput) => Effect.Effect<Message, WriteError>
  /**
   * Gives a frame of the turn to everybody who reads the session, and answers its cursor. Nothing is stored.
   *
   * @throws InvalidInput  `data` is not JSON, or a delta names an entry without an offset
   */
  readonly publish: (data: unknown, options?: PublishOptions) => Effect.Effect<string, InvalidInput>
  /**
   * Records a model call of the turn, under its own id: told again it counts once. It counts also when the turn is over.
   *
   * @throws InvalidInput  a number that is negative or no whole one
   */
  readonly spent: (call: Omit<UsageInput, "turnId">) => Effect.Effect<void, WriteError>
  /** What waits in the queue as text, said by the user now: messages of this turn, which have left the queue. QUE-07 */
  readonly injected: Effect.Effect<ReadonlyArray<Message>, WriteError>
  /** Ends the turn, when its body ends well, as waiting for an answer to these tool calls; default: all open ones. */
  readonly needsInput: (calls?: ReadonlyArray<string>) => Effect.Effect<void>
  /** Ends the turn, when its body ends well, as the last one: the task will not go on. */
  readonly done: Effect.Effect<void>
}

type Absent = SessionAbsent | InvalidInput | StorageError
export type BeginError =
  | RunActive
  | HeadMoved
  | MessageNotFound
  | InvalidBoundary
  | IdConflict
  | OperationConflict
  | ItemNotFound
  | NothingQueued
  | Absent

export class Turns extends Context.Service<
  Turns,
  {
    /**
     * Begins a turn, in one commit with what it begins with. For those who build their own loop: renew with `heartbeat`,
     * end with `end`; else use `run`.
     *
     * @throws RunActive          a turn runs whose owner is not known to be gone
     * @throws HeadMoved          the head is not as expected
     * @throws OperationConflict  the prompt was submitted before and its turn has begun, or nothing waits for an answer
     * @throws IdConflict         the prompt's id is taken by something else
     * @throws ItemNotFound       the item has left the queue
     * @throws NothingQueued      the item is claimed; or nothing is next, and why
     * @see TRN-01
     */
    readonly begin: (
      sessionId: string,
      start: TurnStart,
      options?: BeginOptions,
    ) => Effect.Effect<TurnBegun, BeginError>
    /**
     * Renews the lease of a turn, and tells whether somebody wants it to stop. An owner that is late is not refused.
     *
     * @throws StaleTurn  it is over
     * @see TRN-02
     */
    readonly heartbeat: (
      sessionId: string,
      epoch: number,
    ) => Effect.Effect<{ readonly abort?: { readonly reason?: string } }, StaleTurn | Absent>
    /**
     * Ends a turn, in one commit with its last messages. Ending it again with the same outcome changes nothing.
     *
     * @throws StaleTurn  it is over, and ended otherwise
     * @see TRN-03
     */
    readonly end: (
      sessionId: string,
      epoch: number,
      ending: TurnEnding,
      options?: TransactOptions,
    ) => Effect.Effect<TurnEnd, StaleTurn | IdConflict | Absent>
    /** Says that a running turn waits for a person (`true`), or that it goes on. */
    readonly setWaiting: (sessionId: string, epoch: number, waits: boolean) => Effect.Effect<void, StaleTurn | Absent>
    /**
     * Stores a message that a turn is still writing: at the head, or in place of what was stored of it under the same id.
     * Survives the process, not a power cut. `settle` stores it as it stays.
     *
     * @throws IdConflict  the id is of something that is settled
     * @see MSG-04
     */
    readonly draft: (sessionId: string, epoch: number, message: MessageInput) => Effect.Effect<Message, WriteError>
    readonly settle: (sessionId: string, epoch: number, message: MessageInput) => Effect.Effect<Message, WriteError>
    /**
     * Runs `body` as a turn: begins it, renews its lease, and ends it the way the body ends. A success completes it, a
     * failure fails it, an interruption and `abort` end it as aborted, with what was drafted.
     *
     * @throws TurnAborted  it was stopped before the body had ended
     * @throws StaleTurn    it was taken over, or given up by others; nothing was written since
     * @see TRN-04
     *
     * @example
     * const answer = yield* turns.run("ses_1", { prompt: { body: { role: "user", content: "Hello" } } }, (turn) =>
     *   turn.settle({ body: { role: "assistant", content: "Hi" } }))
     */
    readonly run: <A, E, R>(
      sessionId: string,
      start: TurnStart,
      body: (turn: Turn) => Effect.Effect<A, E, R>,
      options?: RunOptions,
    ) => Effect.Effect<A, E | BeginError | TurnAborted | WriteError, R>
    /**
     * Applies an event of an agent that tells by events what it does: what `mapper` says that it means is written in one
     * commit, once. Sent again, after a crash or because its answer was lost, it is a `duplicate`, also when the turn has
     * ended since; of the newest 32 events the content is compared.
     *
     * Every event is a commit. One that writes nothing but a draft or a frame survives the process, not a power cut, unless
     * `durability` is `"strict"`: what was lost is asked for again by `expected` of a conflict, a `gap`.
     *
     * @param mapper  pure; what it throws is thrown
     * @throws InvalidInput  the event is none, or what it means cannot be written; nothing was
     * @throws IdConflict    a new message has the id of one that is there
     * @see TRN-06
     *
     * @example
     * const { reply } = yield* turns.project("ses_1", { epoch: 1, sequence: 1, id: "e1", data: { text: "Hi" } }, (event) => ({
     *   draft: { role: "assistant", body: event.data.text },
     *   frame: { data: event.data },
     * }))
     * reply // => "applied"
     */
    readonly project: <D>(
      sessionId: string,
      event: TurnEvent<D>,
      mapper: Mapper<D>,
      options?: TransactOptions,
    ) => Effect.Effect<Projection, IdConflict | Absent>
    /**
     * Asks the running turn to stop, wherever it runs; one whose owner is gone is ended at once. False: none runs.
     *
     * @see TRN-08
     */
    readonly abort: (
      sessionId: string,
      options?: TransactOptions & { readonly reason?: string },
    ) => Effect.Effect<boolean, Absent>
    /** The turns of a session, newest first. @see TRN-09 */
    readonly list: (sessionId: string, query?: TurnsQuery) => Effect.Effect<ReadonlyArray<TurnRecord>, Absent>
  }
>()("@skein/core/turn/Turns") {
  static readonly layer = Layer.effect(
    Turns,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings
      const history = historyReader(storage, settings)
      const instance = yield* Instance
      const rings = yield* Rings
      const ids = yield* Ids
      const scope = yield* Effect.scope
      const now = Clock.currentTimeMillis
      const recording = Effect.map(now, (at) => ({ now: at, prices: settings.prices }))

      const makeEntry = (message: MessageInput, at: number, name: string) =>
        toEntry({ settings, ids }, message, at, name)

      /** What is wrong with ids that were to be new, where that is why a commit was refused. */
      const taken =
        (sessionId: string, entries: ReadonlyArray<NewEntry>, turnId?: string) =>
        <E>(error: E): Effect.Effect<never, E | IdConflict | Absent> => {
          if (!isTaken(error)) return Effect.fail(error)
          const ids = entries.map(({ id }) => id)
          const looked = storage.read(program.findTaken(settings, sessionId, ids, turnId))
          const twice = ids.find((id, i) => ids.indexOf(id) < i)
          return Effect.flatMap(looked, (id = twice) => Effect.fail(id === undefined ? error : new IdConflict({ id })))
        }

      /** Begins; where a turn is in the way whose owner may be given up, that is ended in the same commit. */
      const tryBegin = (
        sessionId: string,
        start: Start,
        options: Omit<program.BeginOptions, "over">,
        turn: program.NewTurn,
        writing: TransactOptions,
        over?: Over,
        tries = 3,
      ): Effect.Effect<Begun, BeginError> =>
        Effect.flatMap(now, (at) =>
          withFiles(
            storage,
            entriesOf(start),
            at,
            storage.transact(program.begin(settings, sessionId, start, { ...options, over }, turn, at), writing),
          ).pipe(
            Effect.catch(taken(sessionId, entriesOf(start), turn.id)),
            Effect.catchTag("RunActive", (inTheWay) =>
              Effect.flatMap(judged(sessionId), (seen): Effect.Effect<Begun, BeginError> => {
                if (seen instanceof RunActive) return Effect.fail(seen)
                if (tries === 0) return Effect.fail(inTheWay)
                return tryBegin(sessionId, start, options, turn, writing, seen, tries - 1)
              }),
            ),
          ),
        )

      /** What is known of the turn that is in the way: that it is over, as it was seen; or the error that says more of it. */
      const judged = Effect.fnUntraced(function* (sessionId: string) {
        const active = yield* storage.read(program.active(settings, sessionId))
        // It has ended meanwhile.
        if (active === undefined) return undefined
        const { isOver, ownerGone } = yield* instance.judge(sessionId, active)
        const { beat, epoch, host, id, owner, startedAt, until } = active
        if (isOver && !instance.runs(sessionId, epoch)) return { epoch, beat }
        return new RunActive({ sessionId, turn: id, epoch, owner, host, startedAt, until, ownerGone })
      })

      const begin = (
        sessionId: string,
        given: TurnStart,
        { durability, takeOver = false, turnId, ...expected }: z.output<typeof BeginOptionsInput>,
      ): Effect.Effect<Begun, BeginError> =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const since = yield* now
            const { kind, start } = yield* toStart({ settings, ids }, given, since)
            const { host, lease, live, owner } = instance
            const id = turnId ?? (yield* ids.mint("turn_"))
            const turn: program.NewTurn = { id, owner, host, lease, start: kind }
            const beginning = Effect.andThen(
              live,
              tryBegin(sessionId, start, { ...expected, takeOver }, turn, writingOf(durability)),
            )
            return yield* restore(beginning).pipe(
              Effect.onInterrupt(() => abandon(sessionId, turn, since, { outcome: "aborted" })),
              Effect.tapError((error) =>
                isUncertain(error)
                  ? abandon(sessionId, turn, since, { outcome: "interrupted", reason: "uncertain" })
                  : Effect.void,
              ),
              Effect.flatMap(withBodies),
            )
          }),
        )

      /** What a turn has begun with, as it was said. It has begun, so that what cannot be loaded stays as it is. */
      const withBodies = (begun: Begun): Effect.Effect<Begun> => {
        const { entries, prompt } = begun
        const loading = loaded(storage, prompt === undefined ? entries : [...entries, prompt])
        return Effect.match(loading, {
          onFailure: () => begun,
          onSuccess: (rows) => {
            const find = (entry: EntryRow) =>
              rows.find((row): row is EntryRow => !isUnreadable(row) && isSamePlace(row, entry)) ?? entry
            return { ...begun, entries: entries.map(find), prompt: prompt && find(prompt) }
          },
        })
      }

      /** Ends a turn whose beginning was not answered, if it came to be stored: nobody would know of it. */
      const abandon = (sessionId: string, { id, owner }: program.NewTurn, since: number, ending: Ending) =>
        Effect.ignore(
          Effect.flatMap(storage.read(program.active(settings, sessionId)), (active) => {
            const isIt = active !== undefined && (active.minted ?? active.id) === id
            const isOurs = active?.owner === owner && active.startedAt >= since
            return isIt && isOurs ? end(sessionId, active.epoch, nothing, ending) : Effect.void
          }),
        )

      /** Stores what a turn writes: in its place, where it turns out to be stored already. */
      const write = (
        sessionId: string,
        epoch: number,
        entry: NewEntry,
        stored: EntryRef | undefined,
        writing: TransactOptions,
      ): Effect.Effect<EntryRow, WriteError> =>
        Effect.flatMap(now, (at) => {
          const made = measured(settings, entry)
          const writeAt = (place: EntryRef | undefined) => {
            const committing = storage.transact(program.write(settings, sessionId, epoch, made, place, at), writing)
            return withFiles(storage, [made], at, committing)
          }
          return Effect.catch(writeAt(stored), (error): Effect.Effect<EntryRow, WriteError> => {
            if (!isTaken(error)) return Effect.fail(error)
            return Effect.flatMap(storage.read(program.findDraft(settings, sessionId, entry.id)), (place) =>
              place === undefined ? Effect.fail(new IdConflict({ id: entry.id })) : writeAt(place),
            )
          })
        })

      const end = (
        sessionId: string,
        epoch: number,
        writes: program.LastWrites,
        ending: Ending,
        writing: TransactOptions = {},
      ): Effect.Effect<Ended, StaleTurn | IdConflict | Absent> =>
        Effect.flatMap(recording, (recorded) => {
          const made = { ...writes, entries: writes.entries.map((entry) => measured(settings, entry)) }
          const committing = storage.transact(program.end(settings, sessionId, epoch, made, ending, recorded), writing)
          return Effect.catch(
            withFiles(storage, made.entries, recorded.now, committing),
            taken(sessionId, writes.entries),
          )
        })

      /** Records a model call of a turn; also of one that is over, for it was used all the same. */
      const spent = (
        sessionId: string,
        { epoch, id }: Pick<Turn, "epoch" | "id">,
        given: Omit<UsageInput, "turnId">,
      ): Effect.Effect<void, WriteError> =>
        Effect.flatMap(recording, (recorded) => {
          const call = toCall({ ...given, turnId: id }, "call")
          if (call instanceof InvalidInput) return Effect.fail(call)
          const told = (of: number | undefined) => storage.transact(recordCall(settings, sessionId, call, of, recorded))
          return Effect.asVoid(Effect.catchTag(told(epoch), "StaleTurn", () => told(undefined)))
        })

      const heartbeat = (sessionId: string, epoch: number) =>
        Effect.flatMap(now, (at) =>
          storage.transact(program.heartbeat(settings, sessionId, epoch, at), { durability: "relaxed" }),
        )

      /** Writes a message of a loop that keeps no drafts itself: its place is found by its id. */
      const writeFound = Effect.fnUntraced(function* (
        sessionId: string,
        epoch: number,
        message: MessageInput,
        draft: boolean,
      ) {
        yield* checkInput(Epoch, epoch, "epoch")
        const entry = yield* makeEntry(message, yield* now, "message")
        const stored = yield* storage.read(program.findDraft(settings, sessionId, entry.id))
        const row = yield* write(
          ...([sessionId, epoch, draft ? { ...entry, draft } : entry, stored] as const),
          draft ? { durability: "relaxed" } : {},
        )
        return toMessage(refilled(row, entry))
      })

      const groundOf = (
        { epoch, id, sessionId }: TurnRow,
        { firstId, graceMs = 0, seen }: Pick<RunOptions, "graceMs" | "seen"> & { readonly firstId: string },
        writing: TransactOptions,
      ): Ground => ({
        write: (entry, stored) =>
          write(sessionId, epoch, entry, stored, entry.draft === true ? { durability: "relaxed" } : writing),
        heartbeat: heartbeat(sessionId, epoch),
        end: (entries, ending) => end(sessionId, epoch, { entries, calls: [] }, { ...ending, seen }, writing),
        attend: instance.attend,
        heard: (entry) => rings.draft(sessionId, id, entry),
        heartbeatMs: Math.max(1, Math.min(mostSilent, Math.floor(instance.lease / 3))),
        checkpointMs: settings.checkpointMs,
        graceMs,
        firstId,
        later: (work) => Effect.asVoid(Effect.forkIn(work, scope)),
      })

      const turnOf = (
        { item, prompt, turn: { epoch, id, sessionId, startedAt } }: Begun,
        { drafts, endsAs, signal }: Workbench,
      ): Turn => {
        const made = (message: MessageInput, id: string, at: number): NewEntry | InvalidInput =>
          toEntryWithId(settings, message, id, at, "message")
        return {
          id,
          sessionId,
          epoch,
          prompt: prompt && toMessage(prompt),
          item: item && toQueueItem(item, startedAt),
          signal,
          history: history.read(sessionId),
          draft: (message) =>
            Effect.flatMap(now, (at) => {
              const entry = made(message, drafts.currentId() ?? drafts.nextId(), at)
              const wrong = entry instanceof InvalidInput ? entry : drafts.draft(entry)
              return wrong === undefined ? Effect.void : Effect.fail(wrong)
            }),
          settle: Effect.fnUntraced(function* (message: MessageInput) {
            const at = yield* now
            const fresh = yield* ids.mint("msg_")
            const entry = made(message, drafts.currentId() ?? fresh, at)
            return entry instanceof InvalidInput
              ? yield* Effect.fail(entry)
              : toMessage(refilled(yield* drafts.settle(entry, fresh), entry))
          }),
          publish: (data, options) =>
            Effect.suspend(() => {
              const frame = toPublished({ ...options, turn: id, data })
              if (frame instanceof InvalidInput) return Effect.fail(frame)
              if (!drafts.isClosed()) return Effect.succeed(rings.publish(sessionId, frame))
              return Effect.fail(new InvalidInput({ field: "turn", value: id, problem: "is over: nobody hears it" }))
            }),
          spent: (call) => spent(sessionId, { epoch, id }, call),
          injected: Effect.gen(function* () {
            const rows = yield* storage.transact(inject(settings, sessionId, epoch, undefined, yield* now))
            return (yield* loaded(storage, rows)).map(toMessage)
          }),
          needsInput: (calls) => Effect.sync(() => endsAs({ outcome: "needs_input", calls })),
          done: Effect.sync(() => endsAs({ outcome: "done" })),
        }
      }

      const run = <A, E, R>(
        sessionId: string,
        start: TurnStart,
        body: (turn: Turn) => Effect.Effect<A, E, R>,
        given: RunOptions = {},
      ): Effect.Effect<A, E | BeginError | TurnAborted | WriteError, R> =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const { graceMs = 0, onEnd, seen, ...options } = yield* checkInput(RunOptionsInput, given, "options")
            const firstId = yield* ids.mint("msg_")
            const begun = yield* restore(begin(sessionId, start, options))
            return yield* runBody(
              begun,
              groundOf(
                begun.turn,
                { graceMs, firstId, ...(seen !== undefined && { seen }) },
                writingOf(options.durability),
              ),
              (bench) => body(turnOf(begun, bench)),
              restore,
              (ended) => onEnd?.(toTurnEnd(ended)),
            )
          }),
        )

      const calls = sessionCalls("turn", {
        begin: Effect.fnUntraced(function* (sessionId: string, start: TurnStart, given: BeginOptions = {}) {
          const options = yield* checkInput(BeginOptionsInput, given, "options")
          return toTurnBegun(yield* begin(sessionId, start, options))
        }),
        heartbeat: Effect.fnUntraced(function* (sessionId: string, epoch: number) {
          yield* checkInput(Epoch, epoch, "epoch")
          const abort = yield* heartbeat(sessionId, epoch)
          if (abort === undefined) return {}
          return { abort: abort.reason === undefined ? {} : { reason: abort.reason } }
        }),
        end: Effect.fnUntraced(function* (
          sessionId: string,
          epoch: number,
          given: TurnEnding,
          options: TransactOptions = {},
        ) {
          yield* checkInput(Epoch, epoch, "epoch")
          const { messages = [], usage = [], ...ending } = yield* checkInput(TurnEndingInput, given, "ending")
          const { durability } = yield* checkInput(z.strictObject(writeFields), options, "options")
          const at = yield* now
          const entries: Array<NewEntry> = []
          for (const [i, message] of messages.entries()) {
            entries.push(yield* makeEntry(message as MessageInput, at, `ending.messages[${i}]`))
          }
          const calls: Array<NewCall> = []
          for (const [i, one] of usage.entries()) {
            const call = toCall(one as UsageInput, `ending.usage[${i}]`)
            if (call instanceof InvalidInput) return yield* call
            calls.push(call)
          }
          return toTurnEnd(yield* end(sessionId, epoch, { entries, calls }, ending, writingOf(durability)))
        }),
        setWaiting: Effect.fnUntraced(function* (sessionId: string, epoch: number, waits: boolean) {
          yield* checkInput(Epoch, epoch, "epoch")
          yield* checkInput(z.boolean(), waits, "waits")
          yield* storage.transact(program.setWaiting(settings, sessionId, epoch, waits, yield* now))
        }),
        draft: (sessionId: string, epoch: number, message: MessageInput) => writeFound(sessionId, epoch, message, true),
        settle: (sessionId: string, epoch: number, message: MessageInput) =>
          writeFound(sessionId, epoch, message, false),
        project: Effect.fnUntraced(function* (
          sessionId: string,
          given: TurnEvent<unknown>,
          mapper: Mapper<unknown>,
          options: TransactOptions = {},
        ) {
          const { durability } = yield* checkWriteOptions(options)
          const at = yield* now
          const { epoch, event, projection } = yield* toProjection({ settings, ids }, given, mapper, at)
          const { calls, entries, settle } = projection
          const isPassing = settle === undefined && entries.length === 0 && calls.length === 0
          const recording = { now: at, prices: settings.prices }
          const made = [...(settle === undefined ? [] : [settle]), ...entries].map(({ entry }) => entry)
          const projecting = storage.transact(project(settings, sessionId, epoch, event, projection, recording), {
            durability: durability ?? (isPassing ? "relaxed" : "strict"),
          })
          const reply = yield* withFiles(storage, made, at, projecting)
          return reply.reply === "applied"
            ? { reply: reply.reply, messages: (yield* loaded(storage, reply.entries)).map(toMessage) }
            : reply
        }),
        abort: Effect.fnUntraced(function* (
          sessionId: string,
          given: TransactOptions & { readonly reason?: string } = {},
        ) {
          const { durability, reason } = yield* checkInput(AbortOptionsInput, given, "options")
          const active = yield* storage.read(program.active(settings, sessionId))
          if (active === undefined) return false
          const { isOver } = yield* instance.judge(sessionId, active)
          const over = isOver && !instance.runs(sessionId, active.epoch) ? active : undefined
          const aborting = program.abort(settings, sessionId, reason, over, yield* now)
          return yield* storage.transact(aborting, writingOf(durability))
        }),
        list: Effect.fnUntraced(function* (sessionId: string, given: TurnsQuery = {}) {
          const { before, limit } = yield* checkInput(TurnsQueryInput, given, "query")
          const found = yield* storage.read(program.turns(settings, sessionId, before, limit))
          return found.map(({ row, ...ids }) => toTurnRecord(row, ids))
        }),
      })

      return Turns.of({
        ...calls,
        // The mapper is asked of the event that comes with it, and of nothing else.
        project: (sessionId, event, mapper, options) =>
          calls.project(sessionId, event, mapper as Mapper<unknown>, options),
        run: (sessionId, start, body, options) =>
          isId(sessionId) ? run(sessionId, start, body, options) : Effect.fail(unfitId("sessionId", sessionId)),
      })
    }),
  )
}

/** What a turn adds when it begins. */
const entriesOf = (start: Start): ReadonlyArray<NewEntry> => {
  if ("entries" in start) return start.entries
  return "entry" in start ? [start.entry] : []
}

/** How long an owner is silent at most, in milliseconds: by then it hears that it is to stop, however long its lease is. */
const mostSilent = 10_000

const toTurnBegun = ({ ended, entries, item, prompt, turn }: Begun): TurnBegun => ({
  turn: toTurnRecord(turn, { first: entries[0]?.id }),
  ...(prompt !== undefined && { prompt: toMessage(prompt) }),
  messages: entries.map(toMessage),
  ...(item !== undefined && { item: toQueueItem(item, turn.startedAt) }),
  ...(ended !== undefined && { ended: toTurnRecord(ended) }),
})

const toTurnEnd = ({ queue, titleDue, turn }: Ended): TurnEnd => ({ turn: toTurnRecord(turn), titleDue, queue })

const nothing: program.LastWrites = { entries: [], calls: [] }

const Epoch = z.int().check(z.positive())

const beginFields = {
  ...writeFields,
  ...expectedFields,
  takeOver: z.optional(z.boolean()),
  turnId: z.optional(z.string().check(z.refine(isId, "must be 1 to 128 characters of A–Z, a–z, 0–9, _ and -"))),
}
const BeginOptionsInput = z.strictObject(beginFields)
/** Options of a run that are not about its beginning. */
export const runFields = {
  onEnd: z.optional(z.custom<(end: TurnEnd) => void>((onEnd) => typeof onEnd === "function", "must be a function")),
  seen: z.optional(z.boolean()),
  graceMs: z.optional(z.number().check(z.nonnegative())),
}
const RunOptionsInput = z.strictObject({ ...beginFields, ...runFields })

const TurnEndingInput = z
  .strictObject({
    outcome: z.enum(["completed", "failed", "aborted", "needs_input", "done"]),
    messages: z.optional(z.array(z.unknown())),
    usage: z.optional(z.array(z.unknown())),
    reason: z.optional(Text.check(z.maxLength(1_000))),
    error: z.optional(SessionFailureInput),
    calls: z.optional(z.array(z.string())),
    seen: z.optional(z.boolean()),
  })
  .check(
    z.refine(({ error, outcome }) => (outcome === "failed") === (error !== undefined), {
      error: "must be given when the turn failed, and only then",
      path: ["error"],
    }),
    z.refine(({ calls, outcome }) => calls === undefined || outcome === "needs_input", {
      error: "must be given only where the turn needs input",
      path: ["calls"],
    }),
  )

const AbortOptionsInput = z.strictObject({ ...writeFields, reason: z.optional(Text.check(z.maxLength(1_000))) })
const TurnsQueryInput = z.strictObject({
  before: z.optional(z.int()),
  limit: z._default(z.int().check(z.minimum(1), z.maximum(250)), 50),
})
