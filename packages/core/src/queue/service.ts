/**
 * Queues: what is still to be said in a session, while a turn runs or nobody is there to run one.
 *
 * Guarantee: every call is one commit. What was enqueued and acknowledged is there until it was sent, or until somebody
 * took it out: every way to leave has a name, and listeners in this process are told. One sender at a time has an item,
 * under a lease; a sender that dies loses the claim, never the item. An item that is dispatched leaves the queue in the
 * commit that stores its message and begins its turn, so that it was sent once or still waits.
 *
 * Not promised: that an item which is claimed by hand is sent once. Its sender may die between storing the message and
 * `complete`; storing it with `commitUserMessage` under the item's id, or `dispatch`, makes that safe.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { sessionCalls } from "../call.ts"
import { checkId, Ids } from "../id.ts"
import { checkInput, jsonProblem } from "../input.ts"
import { toEntry } from "../message/body.ts"
import { problemInFiles, withFiles } from "../attachment/files.ts"
import { loaded } from "../message/load.ts"
import { isBlank, speakerOf } from "../message/text.ts"
import { toMessage } from "../message/record.ts"
import type { Message } from "../message/record.ts"
import type { PauseCause } from "../session/model.ts"
import type { IdConflict, OperationConflict, Scope, SessionAbsent } from "../session/program.ts"
import { Settings } from "../settings.ts"
import type { SkeinSettings } from "../settings.ts"
import type { Durability } from "../storage/backend.ts"
import { InvalidInput } from "../storage/error.ts"
import type { StorageError } from "../storage/error.ts"
import { Storage } from "../storage/storage.ts"
import { inSpan } from "../storage/span.ts"
import type { StaleTurn } from "../turn/fence.ts"
import { Instance } from "../turn/instance.ts"
import type { Tx } from "../storage/transaction.ts"
import { copyOf, digest } from "../value.ts"
import { checkWriteOptions, writingOf } from "../write-options.ts"
import type { TransactOptions } from "../write-options.ts"
import * as claims from "./claim.ts"
import type { LeaseLost, Nothing } from "./claim.ts"
import { inject } from "./dispatch.ts"
import {
  ClaimOptionsInput,
  EnqueueOptionsInput,
  EpochInput,
  InjectOptionsInput,
  ListInput,
  OrderInput,
  PauseOptionsInput,
  QueueMessageInput,
  QueuePatchInput,
  ResumeOptionsInput,
  TokenInput,
} from "./input.ts"
import type { EnqueueOptions, QueueMessage, QueuePatch } from "./input.ts"
import type { QueueItemRow } from "./model.ts"
import * as program from "./program.ts"
import type { Enqueued, ItemNotFound, Pausing } from "./program.ts"
import { toListedItem, toQueueItem } from "./record.ts"
import type { ListedItem, QueueItem } from "./record.ts"
import { makeWorker } from "./work.ts"
import type { BeginError, Dispatched, DispatchOptions, Turn, WorkOptions } from "./work.ts"

export { LeaseLost } from "./claim.ts"
export type { Nothing } from "./claim.ts"
export { NothingQueued } from "./dispatch.ts"
export { ItemNotFound } from "./program.ts"
export type { Dispatched, DispatchOptions, WorkOptions } from "./work.ts"
export type { Enqueued, LeaveReason, Pausing } from "./program.ts"
export type { EnqueueOptions, QueueMessage, QueuePatch } from "./input.ts"
export type { ListedItem, QueuedMessage, QueueItem } from "./record.ts"

/** How long a claim lasts unless it is renewed, in milliseconds. */
export const claimLease = 30_000

export interface QueueListQuery {
  /** Only items behind this one. */
  readonly after?: string
  /** 1 to 500. Default 100. */
  readonly limit?: number
}

/** Which item to claim. */
export interface ClaimOptions extends TransactOptions {
  /** This one, though the queue is paused or another item is claimed. Default: the first that waits. */
  readonly item?: string
  /** Only an item from one of these sources; others do not stand in its way. Default: any. */
  readonly sources?: ReadonlyArray<string>
  /** Default `false`. When true the first item is given though the queue is paused, and the pause stays. */
  readonly continuePaused?: boolean
}

/** An item that is the caller's to send, or why there is none. */
export type Claimed<M = unknown> =
  | {
      readonly item: QueueItem<M>
      /** Proves the claim. Nobody can guess it. */
      readonly token: string
      /** When the claim ends unless it is renewed, in milliseconds since 1970. */
      readonly until: number
    }
  | ({ readonly item: undefined } & Nothing)

export interface InjectOptions extends TransactOptions {
  /** Only items from these sources. Default: any. */
  readonly sources?: ReadonlyArray<string>
}

export interface PauseOptions extends TransactOptions {
  /** Why. Default `user-stop`. */
  readonly cause?: PauseCause
  /** The turn that was stopped, or failed. */
  readonly turn?: string
}

export interface ResumeOptions extends TransactOptions {
  /** Fails with `OperationConflict` unless the queue is paused for this cause. Default: any, or not paused. */
  readonly expected?: PauseCause
}

type Absent = SessionAbsent | InvalidInput | StorageError

export class Queue extends Context.Service<
  Queue,
  {
    /**
     * Puts a message into the queue of a session.
     *
     * @throws InvalidInput  an empty message, one that is not the user's, a time of expiry that is over
     * @throws IdConflict    `clientRequestId` was used for something else
     * @see QUE-01
     *
     * @example
     * const { position } = yield* queue.enqueue("ses_1", { body: { role: "user", content: "And the tests" } })
     * position // => 1
     */
    readonly enqueue: (
      sessionId: string,
      message: QueueMessage,
      options?: EnqueueOptions,
    ) => Effect.Effect<Enqueued, IdConflict | Absent>
    /** What waits, in order, claimed items included. */
    readonly list: (
      sessionId: string,
      query?: QueueListQuery,
    ) => Effect.Effect<ReadonlyArray<ListedItem>, ItemNotFound | Absent>
    /** How many items wait, claimed ones included. */
    readonly count: (sessionId: string) => Effect.Effect<number, Absent>
    /**
     * Changes an item in its place: an absent field stays, `null` clears.
     *
     * @throws ItemNotFound       it has left
     * @throws OperationConflict  it is claimed: somebody is sending it
     */
    readonly update: (
      sessionId: string,
      itemId: string,
      patch: QueuePatch,
      options?: TransactOptions,
    ) => Effect.Effect<QueueItem, ItemNotFound | OperationConflict | Absent>
    /**
     * Takes an item out, and answers what it was.
     *
     * @throws ItemNotFound       it has left
     * @throws OperationConflict  it is claimed: somebody is sending it
     */
    readonly cancel: (
      sessionId: string,
      itemId: string,
      options?: TransactOptions,
    ) => Effect.Effect<QueueItem, ItemNotFound | OperationConflict | Absent>
    /**
     * Puts the items that wait into another order. `order` names each of them once; claimed ones stay where they are.
     *
     * @throws InvalidInput  `order` leaves an item out, names one twice, or one that does not wait
     */
    readonly reorder: (
      sessionId: string,
      order: ReadonlyArray<string>,
      options?: TransactOptions,
    ) => Effect.Effect<void, Absent>
    /** Puts an item before all others. Fails as `cancel` does. */
    readonly promote: (
      sessionId: string,
      itemId: string,
      options?: TransactOptions,
    ) => Effect.Effect<void, ItemNotFound | OperationConflict | Absent>
    /** Takes everything out that waits, save what is claimed. Answers how many items that were. */
    readonly clear: (sessionId: string, options?: TransactOptions) => Effect.Effect<number, Absent>
    /**
     * Takes an item to send it, for 30 seconds: until then nobody else gets it.
     *
     * Without an item the answer says why: the queue is `paused`, an item is `claimed` by somebody, or it is `empty`.
     * Delivery is at least once: a sender that dies is not told apart from a slow one, and its item comes back with
     * `attempts` raised by 1.
     *
     * @throws ItemNotFound  the item that was named has left
     * @see QUE-03
     *
     * @example
     * const claim = yield* queue.claim("ses_1")
     * if (claim.item === undefined) claim.reason // => "empty"
     */
    readonly claim: (sessionId: string, options?: ClaimOptions) => Effect.Effect<Claimed, ItemNotFound | Absent>
    /**
     * Begins the 30 seconds anew, and answers when they end. Default durability: `relaxed`.
     *
     * @throws LeaseLost  the claim is over, or was never the caller's
     */
    readonly renew: (
      sessionId: string,
      token: string,
      options?: TransactOptions,
    ) => Effect.Effect<number, LeaseLost | Absent>
    /** Gives an item back, to the place where it was. Fails as `renew` does. */
    readonly release: (
      sessionId: string,
      token: string,
      options?: TransactOptions,
    ) => Effect.Effect<void, LeaseLost | Absent>
    /** Takes an item out that will not be sent. Fails as `renew` does. */
    readonly reject: (
      sessionId: string,
      token: string,
      options?: TransactOptions,
    ) => Effect.Effect<void, LeaseLost | Absent>
    /** Takes an item out that was sent. Again with the same token it succeeds. Fails as `renew` does. */
    readonly complete: (
      sessionId: string,
      token: string,
      options?: TransactOptions,
    ) => Effect.Effect<void, LeaseLost | Absent>
    /**
     * Begins a turn with an item: in one commit the item leaves the queue, its message is stored, and the turn begins. After a
     * crash at any moment it was sent once or still waits. For a loop of your own, as `Turns.begin`; else use `work`, or
     * `Turns.run` with `{ item }` or `{ next }`.
     *
     * @throws RunActive          a turn runs whose owner is not known to be gone
     * @throws ItemNotFound       the item that was named has left
     * @throws OperationConflict  it was sent before, by hand
     * @throws IdConflict         the id of its message, or of its turn, is taken by something else
     * @see QUE-04
     */
    readonly dispatch: (sessionId: string, options?: DispatchOptions) => Effect.Effect<Dispatched, BeginError>
    /**
     * Hands the text items that wait over to a running turn, as what its user says now: all in one commit. Items with
     * attachments, with a model or a turn of their own stay, and so do all while the queue is paused.
     *
     * @throws StaleTurn  the turn is not the one that runs
     * @see QUE-07
     */
    readonly injected: (
      sessionId: string,
      epoch: number,
      options?: InjectOptions,
    ) => Effect.Effect<ReadonlyArray<Message>, StaleTurn | Absent>
    /**
     * Works off queues until `signal` fires: runs `body` as a turn for one item after another, of the session first that has
     * waited longest, one turn a session. Waits where there is nothing to do.
     *
     * A turn that fails, or is stopped, pauses its own queue and no other. An item that cannot be sent by its own fault is
     * rejected after `maxAttempts`, and its queue pauses. Interrupted, it stops the turns that run; with `signal` they end by
     * themselves first.
     *
     * @throws StorageError  the store was closed
     * @see QUE-08
     */
    readonly work: <A, E, R>(
      body: (turn: Turn) => Effect.Effect<A, E, R>,
      options?: WorkOptions,
    ) => Effect.Effect<void, SessionAbsent | InvalidInput | StorageError, R>
    /**
     * Lets nothing be sent any more until `resume`, or until nothing waits. The first pause stays.
     *
     * @see QUE-05
     */
    readonly pause: (sessionId: string, options?: PauseOptions) => Effect.Effect<Pausing, Absent>
    /**
     * Lets items be sent again. Answers whether the queue was paused.
     *
     * @throws OperationConflict  it is not paused for the expected cause
     */
    readonly resume: (sessionId: string, options?: ResumeOptions) => Effect.Effect<boolean, OperationConflict | Absent>
  }
>()("@skein/core/queue/Queue") {
  static readonly layer = Layer.effect(
    Queue,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings
      const ids = yield* Ids
      const instance = yield* Instance

      const now = Clock.currentTimeMillis

      /** What an item says, checked. It has an id where it has one of its own. */
      const toContent = Effect.fnUntraced(function* (given: unknown, time: number, name: string) {
        const message = yield* checkInput(QueueMessageInput, given, name)
        const makers = { settings, ids: { mint: () => Effect.succeed(unnamed) } }
        const entry = yield* toEntry(makers, { ...message, role: "user" }, time, name)
        const speaker = speakerOf(settings, entry)
        if (speaker !== undefined && speaker !== "user") {
          const problem = `must be user: the body is the ${speaker}'s`
          return yield* Effect.fail(new InvalidInput({ field: `${name}.role`, value: speaker, problem }))
        }
        const { attachments, id, kind: _kind, role: _role, ...said } = entry
        const content: QueueItemRow["message"] = { ...said, ...(isBlank(settings, entry) && { blank: true }) }
        return { content: id === unnamed ? content : { ...content, id }, attachments }
      })

      /** A call that is proved by the token of a claim. */
      const held =
        <A>(of: TokenProgram<A>, durability?: Durability) =>
        (sessionId: string, token: string, given: TransactOptions = {}) =>
          Effect.gen(function* () {
            yield* checkInput(TokenInput, token, "token")
            const options = yield* checkWriteOptions(given)
            const proved = of(settings, sessionId, token, yield* now)
            return yield* storage.transact(proved, writingOf(options.durability ?? durability))
          })

      const { dispatch, work } = yield* makeWorker

      return Queue.of({
        work: (body, options) =>
          inSpan(
            "skein.queue.work",
            () => ({}),
            () => work(body, options),
          ),
        ...sessionCalls("queue", {
          dispatch,
          injected: Effect.fnUntraced(function* (sessionId: string, given: number, options: InjectOptions = {}) {
            const epoch = yield* checkInput(EpochInput, given, "epoch")
            const { durability, sources } = yield* checkInput(InjectOptionsInput, options, "options")
            const injecting = inject(settings, sessionId, epoch, sources, yield* now)
            const rows = yield* storage.transact(injecting, writingOf(durability))
            return (yield* loaded(storage, rows)).map(toMessage)
          }),
          enqueue: Effect.fnUntraced(function* (sessionId: string, given: QueueMessage, asked: EnqueueOptions = {}) {
            const options = yield* checkInput(EnqueueOptionsInput, asked, "options")
            const { durability, placement, ...fields } = options
            const time = yield* now
            const { attachments, content: message } = yield* toContent(given, time, "message")
            const source = fields.source ?? message.source
            const item: program.NewItem = {
              ...(attachments !== undefined && { attachments }),
              ...(yield* checkFree(settings, fields, "options")),
              ...(source !== undefined && { source }),
              sessionId,
              id: yield* ids.mint("q_"),
              message,
            }
            const request = digest({
              ...given,
              createdAt: undefined,
              attachments: fields.attachments ?? given.attachments,
            })
            const enqueuing = program.enqueue(settings, item, placement, request, time)
            return yield* withFiles(storage, [item], time, storage.transact(enqueuing, writingOf(durability)))
          }),
          list: Effect.fnUntraced(function* (sessionId: string, given: QueueListQuery = {}) {
            const { after, limit } = yield* checkInput(ListInput, given, "query")
            const time = yield* now
            const items = yield* storage.read(program.list(settings, sessionId, { after, limit }, time))
            return items.map(toListedItem(time))
          }),
          count: Effect.fnUntraced(function* (sessionId: string) {
            return yield* storage.read(program.count(settings, sessionId, yield* now))
          }),
          update: Effect.fnUntraced(function* (
            sessionId: string,
            itemId: string,
            given: QueuePatch,
            options: TransactOptions = {},
          ) {
            yield* checkId("itemId", itemId)
            const { message, ...fields } = yield* checkInput(QueuePatchInput, given, "patch")
            const writing = yield* checkWriteOptions(options)
            const time = yield* now
            const said = message === undefined ? undefined : yield* toContent(message, time, "patch.message")
            const patch: program.ItemPatch = {
              ...(said?.attachments !== undefined && { attachments: said.attachments }),
              ...(yield* checkFree(settings, fields, "patch")),
              ...(said !== undefined && { message: said.content }),
            }
            const updating = storage.transact(program.update(settings, sessionId, itemId, patch, time), writing)
            const files = [{ attachments: patch.attachments ?? undefined }]
            return toQueueItem(yield* withFiles(storage, files, time, updating), time)
          }),
          cancel: Effect.fnUntraced(function* (sessionId: string, itemId: string, options: TransactOptions = {}) {
            yield* checkId("itemId", itemId)
            const writing = yield* checkWriteOptions(options)
            const time = yield* now
            const cancelled = yield* storage.transact(program.cancel(settings, sessionId, itemId, time), writing)
            return toQueueItem(cancelled, time)
          }),
          reorder: Effect.fnUntraced(function* (
            sessionId: string,
            order: ReadonlyArray<string>,
            options: TransactOptions = {},
          ) {
            const ids = yield* checkInput(OrderInput, order, "order")
            const writing = yield* checkWriteOptions(options)
            yield* storage.transact(program.reorder(settings, sessionId, ids, yield* now), writing)
          }),
          promote: Effect.fnUntraced(function* (sessionId: string, itemId: string, options: TransactOptions = {}) {
            yield* checkId("itemId", itemId)
            const writing = yield* checkWriteOptions(options)
            yield* storage.transact(program.promote(settings, sessionId, itemId, yield* now), writing)
          }),
          clear: Effect.fnUntraced(function* (sessionId: string, options: TransactOptions = {}) {
            const writing = yield* checkWriteOptions(options)
            return yield* storage.transact(program.clear(settings, sessionId, yield* now), writing)
          }),
          claim: Effect.fnUntraced(function* (sessionId: string, given: ClaimOptions = {}) {
            const { continuePaused, durability, item, sources } = yield* checkInput(ClaimOptionsInput, given, "options")
            const time = yield* now
            // So that others can tell at once when it is gone.
            yield* instance.live
            const claim = { token: yield* ids.mint(""), owner: instance.owner, lease: claimLease }
            const claiming = claims.claim(settings, sessionId, { itemId: item, sources, continuePaused }, claim, time)
            const claimed = yield* storage.transact(claiming, writingOf(durability))
            if (claimed.nothing !== undefined) return { item: undefined, ...claimed.nothing }
            const { claim: lease, claimedUntil } = claimed.item
            return { item: toQueueItem(claimed.item, time), token: lease!.token, until: claimedUntil! }
          }),
          renew: held(claims.renew, "relaxed"),
          release: held(claims.release),
          reject: held(claims.reject),
          complete: held(claims.complete),
          pause: Effect.fnUntraced(function* (sessionId: string, options: PauseOptions = {}) {
            const { cause, durability, turn } = yield* checkInput(PauseOptionsInput, options, "options")
            const pausing = program.pause(settings, sessionId, cause, turn, yield* now)
            return yield* storage.transact(pausing, writingOf(durability))
          }),
          resume: Effect.fnUntraced(function* (sessionId: string, options: ResumeOptions = {}) {
            const { durability, expected } = yield* checkInput(ResumeOptionsInput, options, "options")
            const resuming = program.resume(settings, sessionId, expected, yield* now)
            return yield* storage.transact(resuming, writingOf(durability))
          }),
        }),
      })
    }),
  )
}

/** What stands for the id of a message that has none of its own: no id is empty. */
const unnamed = ""

type TokenProgram<A> = (scope: Scope, sessionId: string, token: string, now: number) => Tx<A, SessionAbsent | LeaseLost>

/** Fields that are the host's own affair: checked to be JSON, and copied, for the host may go on to change them. */
const checkFree = <Fields extends { readonly attachments?: unknown; readonly model?: unknown }>(
  { limits }: SkeinSettings,
  fields: Fields,
  name: string,
) => {
  const attachments = (fields.attachments ?? []) as ReadonlyArray<unknown>
  const field = `${name}.attachments`
  const problem = jsonProblem(attachments, field) ?? problemInFiles(limits, attachments, field)
  return problem === undefined ? Effect.succeed(copyOf(fields)) : Effect.fail(problem)
}
