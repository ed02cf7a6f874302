/**
 * Skein as promises: the interface most people meet first.
 *
 * Guarantee: every method does what the Effect service of the same name does, and rejects with the same error classes:
 * `_tag` is the stable code. No method throws: what it is given wrong is a rejection with `InvalidInput`. A method whose
 * `signal` fires before its commit writes nothing and rejects with the signal's reason; during the commit it waits for the
 * outcome first. What can be iterated does nothing before somebody iterates it, and ends when that ends.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Forks } from "./fork/service.ts"
import type { ForkOptions, OperationOptions } from "./fork/service.ts"
import { Deletions } from "./deletion/service.ts"
import type { DeleteOptions, DeleteOutcome, Deletion, Erasure, Pruned, PruneOptions } from "./deletion/service.ts"
import { Attachments } from "./attachment/service.ts"
import type { Attachment, AttachmentPage, AttachmentsQuery, NewAttachment } from "./attachment/service.ts"
import { Heads } from "./head/service.ts"
import type {
  DeleteBranchOptions,
  Destination,
  HeadMove,
  LinkOptions,
  LinkTarget,
  Moved,
  MoveOptions,
  MovesQuery,
  NameOptions,
} from "./head/service.ts"
import type { Dialect } from "./history/dialect.ts"
import { History } from "./history/service.ts"
import type { Amended, AmendInput, Compacted, CompactInput } from "./history/service.ts"
import { Maintenance } from "./maintenance/service.ts"
import type {
  CompactedStorage,
  Recovered,
  RecoverOptions,
  Retained,
  RetentionOptions,
  RunOptions as MaintenanceOptions,
  StoreStats,
  Swept,
} from "./maintenance/service.ts"
import { Messages } from "./message/service.ts"
import type {
  AppendOptions,
  Branch,
  BranchesQuery,
  CommitOptions,
  Message,
  MessageInput,
  MessagePage,
  PageQuery,
  PromptsQuery,
  RedactOptions,
  SessionView,
} from "./message/service.ts"
import { Projects } from "./project/service.ts"
import type { Project, ProjectList, Relocated } from "./project/service.ts"
import { QueryViews } from "./query-view/service.ts"
import type { ExpandQuery, QueryView, TurnQuery, ViewChange } from "./query-view/service.ts"
import { Queue } from "./queue/service.ts"
import type {
  Claimed,
  ClaimOptions,
  Dispatched,
  DispatchOptions,
  Enqueued,
  EnqueueOptions,
  InjectOptions,
  ListedItem,
  PauseOptions,
  Pausing,
  QueueItem,
  QueueListQuery,
  QueueMessage,
  QueuePatch,
  ResumeOptions,
  WorkOptions,
} from "./queue/service.ts"
import { isSignal } from "./input.ts"
import { Rewinds } from "./rewind/service.ts"
import type { PlanOptions, RewindOptions, RewindPlan, Rewound } from "./rewind/service.ts"
import { layer } from "./services.ts"
import type { LayerOptions, Services } from "./services.ts"
import { Sessions } from "./session/service.ts"
import type {
  LatestQuery,
  ListQuery,
  NewSession,
  Opened,
  Session,
  SessionPage,
  SessionPatch,
  SessionTree,
  TreeQuery,
  UpdateOptions,
} from "./session/service.ts"
import { defaultSettings } from "./settings.ts"
import type { Backend } from "./storage/backend.ts"
import { InvalidInput } from "./storage/error.ts"
import type { StorageError } from "./storage/error.ts"
import type { Json } from "./storage/json.ts"
import { Storage } from "./storage/storage.ts"
import type { TransactOptions } from "./storage/storage.ts"
import type { Tx } from "./storage/transaction.ts"
import { Streams } from "./stream/service.ts"
import type { Frame, Publication, ResumeQuery } from "./stream/service.ts"
import { frameStream } from "./stream/web.ts"
import type { FrameStream } from "./stream/web.ts"
import { graceMs, promiseBody } from "./turn/promise.ts"
import type { Turn } from "./turn/promise.ts"
import { Turns } from "./turn/service.ts"
import type {
  BeginOptions,
  Mapper,
  Meaning,
  Projection,
  RunOptions,
  TurnBegun,
  TurnEnd,
  TurnEnding,
  TurnEvent,
  TurnRecord,
  TurnsQuery,
  NextItem,
  TurnStart,
} from "./turn/service.ts"
import { Usage } from "./usage/service.ts"
import type {
  Recorded,
  RecordOptions,
  RepriceOptions,
  UsageCheck,
  UsageInput,
  UsageQuery,
  UsageSummary,
} from "./usage/service.ts"

export type { Turn } from "./turn/promise.ts"

export interface CallOptions {
  /** Gives the call up. */
  readonly signal?: AbortSignal
}

export interface OpenOptions<M> extends LayerOptions {
  /** What the bodies of messages mean, and in what form history is given: it decides `M`. Default: JSON. */
  readonly dialect?: Dialect<M>
}

/**
 * A message to append: its body, or plain text that the user said, or an envelope: `{ body }` with an id, a role or
 * metadata, `{ display }` that is never replayed, `{ model }` that is never shown, or both.
 */
export type NewMessage<M> = M | string | Envelope<M>

export interface Envelope<M> extends Omit<MessageInput, "body" | "display" | "model"> {
  readonly body?: M
  readonly display?: M
  readonly model?: M
}

/** What a user said, and the key under which it is stored once. */
export interface Submission<M> {
  readonly messageKey: string
  /** As for `append`. Its id comes from the key, and its role is `user`. */
  readonly message: M | string | Omit<Envelope<M>, "id" | "role">
}

/** What a turn begins with, in one commit with the beginning. See `TurnStart`. */
export type Start<M> =
  | { readonly prompt: NewMessage<M> }
  | { readonly item: string }
  | { readonly next: NextItem }
  | { readonly edit: string; readonly content: NewMessage<M> }
  | { readonly retry: string }
  | { readonly answer: NewMessage<M> | ReadonlyArray<NewMessage<M>> }

/** How a turn ends. */
export interface Ending<M> extends Omit<TurnEnding, "messages"> {
  /** Its last messages, stored in the same commit. */
  readonly messages?: ReadonlyArray<NewMessage<M>>
}

/** What may change of a queued item. An absent field stays as it is, `null` clears it. */
export interface ItemPatch<M> extends Omit<QueuePatch, "message"> {
  /** As for `append`; the role is `user`. */
  readonly message?: M | string | Omit<Envelope<M>, "role">
}

/** A reader that comes before the turn that it is for. It is the frames of that turn and of the session, once. */
export interface Reservation<M> extends FrameStream<M> {
  /** What comes behind this cursor is kept for it. */
  readonly cursor: string
  /** Says which turn it is for: then its frames begin. */
  bindTurn(turn: string): Promise<void>
  /** Its frames end with what has come by now: no turn will. */
  complete(): Promise<void>
  /** Ends at once. Closing twice is safe. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** An open store. `M` is the type of message bodies. Sessions and messages are named by their ids. */
export interface Skein<M = Json> {
  readonly sessions: {
    /** Creates a session. The same id with the same input again gives the same session. */
    create(input?: NewSession, options?: TransactOptions & CallOptions): Promise<Session>
    get(session: string, options?: CallOptions): Promise<Session>
    /** Opens a session for work: out of the archive, and from an internal one to the public one above it. */
    open(
      session: string,
      options?: { readonly callerWorkspace?: string } & TransactOptions & CallOptions,
    ): Promise<Opened>
    /** The session of latest activity; `undefined` when there is none. */
    latest(query?: LatestQuery & CallOptions): Promise<Session | undefined>
    /** The session with this id, or the only one whose id begins so. */
    resolve(idOrPrefix: string, options?: CallOptions): Promise<Session>
    /** A page of sessions, latest activity first. */
    list(query?: ListQuery & CallOptions): Promise<SessionPage>
    /** The page as it changes: at once, then at most thirty times a second. */
    watch(query?: ListQuery & CallOptions): AsyncIterable<SessionPage>
    /** Sessions that nobody started, with all that they started below them. */
    tree(query?: TreeQuery & CallOptions): Promise<SessionTree>
    children(session: string, query?: Pick<TreeQuery, "limit" | "cursor" | "depth"> & CallOptions): Promise<SessionTree>
    /** Changes what may change: an absent field stays, `null` clears. */
    update(session: string, patch: SessionPatch, options?: UpdateOptions & CallOptions): Promise<Session>
    rename(session: string, title: string | null, options?: UpdateOptions & CallOptions): Promise<Session>
    autoTitle(session: string, text: string, options?: TransactOptions & CallOptions): Promise<Session>
    archive(session: string, options?: UpdateOptions & CallOptions): Promise<Session>
    unarchive(session: string, options?: UpdateOptions & CallOptions): Promise<Session>
    pin(session: string, pinned?: boolean, options?: UpdateOptions & CallOptions): Promise<Session>
    setGroup(session: string, group: string | null, options?: UpdateOptions & CallOptions): Promise<Session>
    markRead(session: string, options?: UpdateOptions & CallOptions): Promise<Session>
    touch(session: string, options?: TransactOptions & CallOptions): Promise<Session>
    /** The main session of an agent, made on first use. */
    delete(session: string, options?: DeleteOptions & CallOptions): Promise<Deletion>
    deleteMany(
      sessions: ReadonlyArray<string>,
      options?: DeleteOptions & CallOptions,
    ): Promise<ReadonlyArray<DeleteOutcome>>
    /** Deletes it, and takes what it has written from everybody, and what it cost from the sums. */
    erase(session: string, options?: DeleteOptions & CallOptions): Promise<Erasure>
    forget(session: string, options?: TransactOptions & CallOptions): Promise<boolean>
    ensureRoot(agent: string, options?: { readonly owner?: string } & TransactOptions & CallOptions): Promise<Session>
  }
  readonly projects: {
    ensureDefault(options?: TransactOptions & CallOptions): Promise<Project>
    ensureForWorkspace(workspace: string, options?: TransactOptions & CallOptions): Promise<Project>
    get(project: string, options?: CallOptions): Promise<Project>
    list(filter?: { readonly hidden?: boolean | "any" } & CallOptions): Promise<ProjectList>
    rename(project: string, name: string, options?: TransactOptions & CallOptions): Promise<Project>
    pin(project: string, pinned?: boolean, options?: TransactOptions & CallOptions): Promise<Project>
    hide(project: string, hidden?: boolean, options?: TransactOptions & CallOptions): Promise<Project>
    /** Follows a directory that was moved, with all sessions that work in it. */
    relocate(
      move: { readonly from: string; readonly to: string },
      options?: TransactOptions & CallOptions,
    ): Promise<Relocated>
  }
  readonly messages: {
    /**
     * Appends a message at the head, or with `at` beside it.
     *
     * @example
     * const skein = await Skein.open(memory())
     * const { id } = await skein.sessions.create()
     * const message = await skein.messages.append(id, "Hello")
     * message.role // => "user"
     */
    append(session: string, message: NewMessage<M>, options?: AppendOptions & CallOptions): Promise<Message<M>>
    /** Appends several in one commit. */
    appendMany(
      session: string,
      messages: ReadonlyArray<NewMessage<M>>,
      options?: AppendOptions & CallOptions,
    ): Promise<ReadonlyArray<Message<M>>>
    /** Stores what a user said once, however often it is submitted under one key. */
    commitUserMessage(
      session: string,
      submission: Submission<M>,
      options?: CommitOptions & CallOptions,
    ): Promise<{ readonly message: Message<M>; readonly onPath: boolean }>
    /** What people see on the path: the last page, or the one before, after or around a message. */
    page(session: string, query?: PageQuery & CallOptions): Promise<MessagePage<M>>
    /**
     * The conversation as it changes: session, last messages with what else was said in their places, what is still being
     * written, and the queue. One state of all of it, at once, then at most thirty times a second.
     *
     * @example
     * const skein = await Skein.open(memory())
     * const { id } = await skein.sessions.create()
     * await skein.messages.append(id, "Hello")
     * for await (const { messages } of skein.messages.watch(id)) {
     *   messages.length // => 1
     *   break
     * }
     */
    watch(session: string, options?: { readonly limit?: number } & CallOptions): AsyncIterable<SessionView<M>>
    get(session: string, message: string, options?: CallOptions): Promise<Message<M>>
    count(session: string, options?: CallOptions): Promise<number>
    /** The user's own prompts on the path, newest first. */
    prompts(
      session: string,
      query?: PromptsQuery & CallOptions,
    ): Promise<ReadonlyArray<Message<M> & { readonly text: string }>>
    /** The messages that follow the same place: "2 of 3". */
    siblings(
      session: string,
      message: string,
      options?: CallOptions,
    ): Promise<{ readonly messages: ReadonlyArray<Message<M>>; readonly index: number }>
    /** Takes the content of a message away, for every session of its tree. Its id, its place and its tool calls stay. */
    redact(session: string, message: string, options?: RedactOptions & CallOptions): Promise<Message<M>>
    /** What people see from the first message to this one. */
    path(
      session: string,
      message: string,
      options?: { readonly limit?: number } & CallOptions,
    ): Promise<ReadonlyArray<Message<M>>>
  }
  readonly history: {
    /** What the model is given: summary, kept tail, what followed, every tool call with its result. */
    read(session: string, options?: CallOptions): Promise<ReadonlyArray<M>>
    /** Replaces what came before by a summary, for the model alone. */
    compact(session: string, input: CompactInput, options?: TransactOptions & CallOptions): Promise<Compacted>
    /** Trims, archives or restores the tool results of a message, for the model alone. */
    amend(session: string, input: AmendInput, options?: TransactOptions & CallOptions): Promise<Amended>
  }
  readonly attachments: {
    /**
     * Keeps the bytes of a file, and answers what a message names it by.
     *
     * @example
     * const skein = await Skein.open(memory())
     * const { id } = await skein.sessions.create()
     * const data = new Uint8Array([72, 105])
     * const plan = await skein.attachments.put(id, { name: "plan.txt", mime: "text/plain", data })
     * await skein.messages.append(id, { body: { role: "user", content: "See here." }, attachments: [plan] })
     * const { attachments } = await skein.attachments.list(id)
     * attachments[0].name // => "plan.txt"
     */
    put(session: string, file: NewAttachment, options?: TransactOptions & CallOptions): Promise<Attachment>
    /** The bytes of a file, chunk by chunk as they are asked for. */
    open(session: string, hash: string, options?: CallOptions): AsyncIterable<Uint8Array>
    /** The files on the path, newest first. */
    list(session: string, query?: AttachmentsQuery & CallOptions): Promise<AttachmentPage>
    /** The path to open for a path of a file, where that may be opened. */
    resolve(session: string, path: string, options?: CallOptions): Promise<string>
  }
  readonly queue: {
    /**
     * Puts a message into the queue of a session, to be said by the user when its turn comes.
     *
     * @example
     * const skein = await Skein.open(memory())
     * await skein.sessions.create({ id: "s1" })
     * const { position } = await skein.queue.enqueue("s1", "And the tests, please")
     * position // => 1
     */
    enqueue(
      session: string,
      message: M | string | Omit<Envelope<M>, "role">,
      options?: EnqueueOptions & CallOptions,
    ): Promise<Enqueued>
    /** What waits, in order, claimed items included. */
    list(session: string, query?: QueueListQuery & CallOptions): Promise<ReadonlyArray<ListedItem<M>>>
    count(session: string, options?: CallOptions): Promise<number>
    /** Changes an item in its place. */
    update(
      session: string,
      item: string,
      patch: ItemPatch<M>,
      options?: TransactOptions & CallOptions,
    ): Promise<QueueItem<M>>
    /** Takes an item out that nobody is sending, and answers what it was. */
    cancel(session: string, item: string, options?: TransactOptions & CallOptions): Promise<QueueItem<M>>
    /** Puts the items that wait into another order: `order` names each of them once. */
    reorder(session: string, order: ReadonlyArray<string>, options?: TransactOptions & CallOptions): Promise<void>
    /** Puts an item before all others. */
    promote(session: string, item: string, options?: TransactOptions & CallOptions): Promise<void>
    /** Takes out everything that nobody is sending. */
    clear(session: string, options?: TransactOptions & CallOptions): Promise<number>
    /** Takes an item to send it, for 30 seconds; or says why there is none to be had. */
    claim(session: string, options?: ClaimOptions & CallOptions): Promise<Claimed<M>>
    /** Begins the 30 seconds anew. */
    renew(session: string, token: string, options?: TransactOptions & CallOptions): Promise<number>
    /** Gives a claimed item back, to the place where it was. */
    release(session: string, token: string, options?: TransactOptions & CallOptions): Promise<void>
    /** Takes a claimed item out that will not be sent. */
    reject(session: string, token: string, options?: TransactOptions & CallOptions): Promise<void>
    /** Takes a claimed item out that was sent. */
    complete(session: string, token: string, options?: TransactOptions & CallOptions): Promise<void>
    /** For a loop of your own: begins a turn with an item, in one commit; or says why there is none to be had. */
    dispatch(session: string, options?: DispatchOptions & CallOptions): Promise<Dispatched>
    /** Hands the text items that wait over to the running turn, as what its user says now. */
    injected(session: string, epoch: number, options?: InjectOptions & CallOptions): Promise<ReadonlyArray<Message<M>>>
    /**
     * Works off queues: runs `body` as a turn for one item after another, of the session first that has waited longest, until
     * `signal` fires; then it lets the turns end that run, and returns.
     *
     * @example
     * const skein = await Skein.open(memory())
     * await skein.sessions.create({ id: "s1" })
     * await skein.queue.enqueue("s1", "Hello")
     * const enough = new AbortController()
     * await skein.queue.work(
     *   async (turn) => {
     *     await turn.settle({ role: "assistant", content: "Hi" })
     *     enough.abort()
     *   },
     *   { signal: enough.signal },
     * )
     * await skein.messages.count("s1") // => 2
     */
    work(body: (turn: Turn<M>) => Promise<unknown>, options?: Omit<WorkOptions, "graceMs"> & CallOptions): Promise<void>
    /** Lets nothing be sent any more, until `resume` or until nothing waits. */
    pause(session: string, options?: PauseOptions & CallOptions): Promise<Pausing>
    /** Lets items be sent again. Answers whether the queue was paused. */
    resume(session: string, options?: ResumeOptions & CallOptions): Promise<boolean>
  }
  readonly forks: {
    /** Another session that goes on from a message of this one: by default the last settled answer. Copies nothing. */
    fork(session: string, options?: ForkOptions & CallOptions): Promise<Session>
    /** A hidden conversation beside this one, also while it runs: it knows what was said, and shows nothing of it. */
    side(session: string, options?: OperationOptions & CallOptions): Promise<Session>
  }
  readonly heads: {
    /** Moves the head to a message, to the end of a branch, or with `null` before the first message. */
    checkout(session: string, to: Destination, options?: MoveOptions & CallOptions): Promise<Moved>
    /** Takes the last move back. `undefined`: there is none. */
    undo(session: string, options?: MoveOptions & CallOptions): Promise<Moved | undefined>
    /** Makes it again. `undefined`: there is none, or something was said since. */
    redo(session: string, options?: MoveOptions & CallOptions): Promise<Moved | undefined>
    moves(session: string, query?: MovesQuery & CallOptions): Promise<ReadonlyArray<HeadMove>>
    /** The session's branches, oldest first; those that were merged only where they are asked for. */
    branches(session: string, query?: BranchesQuery & CallOptions): Promise<ReadonlyArray<Branch>>
    /** The end of the longest way on from a message. */
    deepest(session: string, message: string, options?: CallOptions): Promise<Message<M>>
    nameBranch(session: string, branch: number, name: string, options?: NameOptions & CallOptions): Promise<string>
    deleteBranch(
      session: string,
      branch: number,
      options?: DeleteBranchOptions & CallOptions,
    ): Promise<{ readonly removed: number; readonly head: string | null }>
    /**
     * Puts a link at the head: to another session, or to the end of another branch of this one.
     *
     * @example
     * const skein = await Skein.open(memory())
     * const [trip, hotels] = [await skein.sessions.create(), await skein.sessions.create({ title: "Hotels" })]
     * await skein.messages.append(hotels.id, "Which hotels are there?")
     * const { link } = await skein.heads.attach(trip.id, hotels.id)
     * link?.title // => "Hotels"
     */
    attach(session: string, to: LinkTarget, options?: LinkOptions & CallOptions): Promise<Message<M>>
    /** Leaves the end of what a link leads to out of `branches`. `false`: it is gone, or has gone on. */
    merge(session: string, link: string, options?: LinkOptions & CallOptions): Promise<boolean>
    /** Takes that back. */
    unmerge(session: string, link: string, options?: LinkOptions & CallOptions): Promise<void>
  }
  readonly rewinds: {
    /** What going back to before a prompt would do. Changes nothing. */
    plan(session: string, prompt: string, options?: PlanOptions & CallOptions): Promise<RewindPlan<M>>
    /**
     * Goes back to before something that the user said. Nothing is deleted: `heads.undo` restores.
     *
     * @example
     * const skein = await Skein.open(memory())
     * const { id } = await skein.sessions.create()
     * const prompt = await skein.messages.append(id, "Hello")
     * const { left } = await skein.rewinds.rewind(id, prompt.id)
     * left.messages // => 1
     */
    rewind(session: string, prompt: string, options?: RewindOptions & CallOptions): Promise<Rewound>
    /** Goes to where another wording of a prompt is said, beside it. */
    edit(session: string, prompt: string, options?: MoveOptions & CallOptions): Promise<Moved>
    /** Goes to where a message is answered again, beside it: the message, or the prompt that it answers. */
    retry(session: string, message: string, options?: MoveOptions & CallOptions): Promise<Moved>
    /** Forgets the way back to what was left, and deletes what nobody needs then. */
    prune(session: string, options?: PruneOptions & CallOptions): Promise<Pruned>
  }
  readonly turns: {
    /**
     * Runs `body` as a turn of the session: begins it with a prompt, an edit, a retry or an answer, renews its lease, and
     * ends it the way the body ends: it returns: completed; it throws: failed; it was stopped: aborted.
     *
     * @throws RunActive    another turn runs; `takeOver` ends it first
     * @throws TurnAborted  it was stopped before the body had ended
     * @throws StaleTurn    others ended it meanwhile
     *
     * @example
     * const skein = await Skein.open(memory())
     * const { id } = await skein.sessions.create()
     * await skein.turns.run(id, { prompt: "Hello" }, (turn) => turn.settle({ role: "assistant", content: "Hi" }))
     * const { status } = await skein.sessions.get(id)
     * status // => "idle"
     */
    run<A>(
      session: string,
      start: Start<M>,
      body: (turn: Turn<M>) => Promise<A>,
      options?: Omit<RunOptions, "graceMs"> & CallOptions,
    ): Promise<A>
    /** Asks the running turn to stop, wherever it runs. False: none runs. */
    abort(session: string, options?: TransactOptions & { readonly reason?: string } & CallOptions): Promise<boolean>
    /** Ends the turns whose owners are gone, in the whole store. Do this when a program starts. */
    recover(options?: RecoverOptions & CallOptions): Promise<Recovered>
    /**
     * Applies an event of an agent that tells by events what it does, once: what `mapper` says that it means is written in
     * one commit. See `Turns.project`.
     */
    project<D>(
      session: string,
      event: TurnEvent<D>,
      mapper: Mapper<D, NewMessage<M>>,
      options?: TransactOptions & CallOptions,
    ): Promise<Projection>
    /** The turns of a session, newest first. */
    list(session: string, query?: TurnsQuery & CallOptions): Promise<ReadonlyArray<TurnRecord>>
    /** For a loop of your own: begins a turn, which has to be renewed by `heartbeat` and ended by `end`. */
    begin(session: string, start: Start<M>, options?: BeginOptions & CallOptions): Promise<TurnBegun>
    heartbeat(
      session: string,
      epoch: number,
      options?: CallOptions,
    ): Promise<{ readonly abort?: { readonly reason?: string } }>
    end(session: string, epoch: number, ending: Ending<M>, options?: TransactOptions & CallOptions): Promise<TurnEnd>
  }
  readonly queryViews: {
    /** Shows the steps of a question as running, in the turn that runs. */
    start(session: string, query: TurnQuery, options?: TransactOptions & CallOptions): Promise<ViewChange>
    /** Ends and folds the steps of a question that this turn has running. */
    finish(session: string, query: TurnQuery, options?: TransactOptions & CallOptions): Promise<ViewChange>
    /** Keeps the steps of a question unfolded, also when they are finished. */
    forceExpand(session: string, query: ExpandQuery, options?: TransactOptions & CallOptions): Promise<ViewChange>
    /** The views of those of the questions that were ever started. */
    list(session: string, queryKeys: ReadonlyArray<string>, options?: CallOptions): Promise<ReadonlyArray<QueryView>>
  }
  readonly usage: {
    /**
     * Records a model call, whatever came of it. Told again it is not counted again.
     *
     * @example
     * const skein = await Skein.open(memory(), { prices: { openai: { "gpt-5": { input: 1.25, cacheRead: 0.125, output: 10 } } } })
     * const { id } = await skein.sessions.create()
     * const usage = { prompt_tokens: 2_000, completion_tokens: 500, prompt_tokens_details: { cached_tokens: 1_000 } }
     * await skein.usage.record(id, { callId: "call_1", provider: "openai", model: "gpt-5", usage })
     * const { total } = await skein.usage.summary({ session: id })
     * total.cost // => { USD: 6_375_000 }
     */
    record(session: string, call: UsageInput, options?: RecordOptions & CallOptions): Promise<Recorded>
    /** What was used, in all or by session, agent, model, provider, day or project. */
    summary(query?: UsageQuery & CallOptions): Promise<UsageSummary>
    /** The summary as it changes: at once, then at most thirty times a second. */
    watch(query?: UsageQuery & CallOptions): AsyncIterable<UsageSummary>
    /** Prices calls anew by a table. Tokens never change. */
    reprice(options?: RepriceOptions & CallOptions): Promise<{ readonly changed: number }>
    /** Whether the sums are what the calls add up to. */
    verify(options?: CallOptions): Promise<UsageCheck>
  }
  readonly streams: {
    /**
     * The live stream of a session behind a message or a cursor: what is stored, what is kept, then what comes, up to the
     * end of the running turn. Where none runs it ends at once.
     *
     * @example
     * const skein = await Skein.open(memory())
     * const { id } = await skein.sessions.create()
     * await skein.turns.run(id, { prompt: "Hello" }, (turn) => turn.settle({ role: "assistant", content: "Hi" }))
     * const kinds = []
     * for await (const frame of skein.streams.resume(id)) kinds.push(frame.kind)
     * kinds // => ["turn-terminal"]
     */
    resume(session: string, query?: ResumeQuery & CallOptions): FrameStream<M>
    /** Gives a frame to everybody who reads the session, and answers its cursor. Nothing is stored. */
    publish(session: string, frame: Publication, options?: CallOptions): Promise<string>
    /** Begins to keep frames for a turn that is not there yet. It has to be closed, or read to its end. */
    reserve(session: string, options?: CallOptions): Promise<Reservation<M>>
    /** How many readers and reservations a session has in this process. */
    readers(session: string, options?: CallOptions): Promise<number>
  }
  /** Commits a transaction program of your own, over skein's tables and yours. */
  readonly maintenance: {
    recover(options?: RecoverOptions & CallOptions): Promise<Recovered>
    /** Deletes sessions that have been left alone for long, or are too many: none, unless a limit is given. */
    retention(options?: RetentionOptions & CallOptions): Promise<Retained>
    /** Where the bytes of the store are. */
    stats(options?: CallOptions): Promise<StoreStats>
    /** Gives room back to the system that is free in the store, where the engine can. */
    compactStorage(options?: CallOptions): Promise<CompactedStorage>
    /** Takes away what time makes superfluous. */
    sweep(options?: CallOptions): Promise<Swept>
    /** Recovers and sweeps again and again, one process a store, until `signal` fires or the store is closed. */
    run(options?: MaintenanceOptions): Promise<void>
  }
  transact<A, E>(program: Tx<A, E>, options?: TransactOptions & CallOptions): Promise<A>
  /** Runs a program that only reads, on one snapshot. */
  read<A, E>(program: Tx<A, E>, options?: CallOptions): Promise<A>
  /** Runs an Effect on the services of this store: plug-ins are such, and what has no method here. */
  run<A, E>(effect: Effect.Effect<A, E, Services>, options?: CallOptions): Promise<A>
  /** Lets what is in flight end and closes the store. Closing twice is safe. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Opens a store.
 *
 * @param backend  what an adapter's function gives: `memory()`, `sqlite({ url })`, `indexeddb({ name })`
 * @throws InvalidInput  an option that is unknown, or is not what it says; nothing was opened
 * @throws StorageError  `VersionMismatch`, `Unavailable`, `Corrupt` …, each with a sentence that says what to do
 *
 * @example
 * const skein = await Skein.open(memory())
 * const session = await skein.sessions.create({ id: "s1" })
 * session.status // => "idle"
 * await skein.close()
 */
const open = async <M = Json>(
  backend: Layer.Layer<Backend, StorageError>,
  options: OpenOptions<M> = {},
): Promise<Skein<M>> => {
  const runtime = ManagedRuntime.make(Layer.provide(layer(options), checkedBackend(backend)))
  const run = async <A, E>(effect: Effect.Effect<A, E>, signal: AbortSignal | undefined): Promise<A> => {
    // An effect that never waits would run to its end in spite of the signal.
    signal?.throwIfAborted()
    const exit = await Effect.runPromiseExit(effect, signal === undefined ? undefined : { signal })
    if (Exit.isSuccess(exit)) return exit.value
    throw signal?.aborted === true && Cause.hasInterruptsOnly(exit.cause) ? signal.reason : Cause.squash(exit.cause)
  }
  const context = await runtime.runPromiseExit(
    Effect.all({
      attachments: Attachments,
      forks: Forks,
      heads: Heads,
      history: History,
      messages: Messages,
      projects: Projects,
      queue: Queue,
      queryViews: QueryViews,
      rewinds: Rewinds,
      deletions: Deletions,
      maintenance: Maintenance,
      turns: Turns,
      usage: Usage,
      sessions: Sessions,
      streams: Streams,
      storage: Storage,
      services: Effect.context<Services>(),
    }),
  )
  if (Exit.isFailure(context)) {
    await runtime.dispose()
    throw Cause.squash(context.cause)
  }
  const {
    attachments,
    forks,
    deletions,
    heads,
    history,
    maintenance,
    messages,
    projects,
    queryViews,
    rewinds,
    queue,
    services,
    sessions,
    storage,
    streams,
    turns,
    usage,
  } = context.value
  const { dialect = defaultSettings.dialect } = options
  const toInput = (message: NewMessage<M>): MessageInput => {
    if (typeof message === "string") return { role: "user", body: dialect.prompt(message) }
    return isEnvelope(message) ? message : { body: message }
  }
  const toInputs = (list: ReadonlyArray<NewMessage<M>>, field = "messages"): ReadonlyArray<MessageInput> => {
    if (Array.isArray(list)) return list.map(toInput)
    throw new InvalidInput({ field, value: list, problem: "must be an array" })
  }
  const toStart = (start: Start<M>): TurnStart => {
    if (typeof start !== "object" || start === null) return start
    if ("prompt" in start) return { ...start, prompt: toInput(start.prompt) }
    if ("edit" in start) return { ...start, content: toInput(start.content) }
    if (!("answer" in start)) return start
    const { answer } = start
    return { ...start, answer: isList(answer) ? answer.map(toInput) : toInput(answer) }
  }
  const toEnding = (ending: Ending<M>): TurnEnding => {
    const { messages: list, ...rest } = ending ?? {}
    return list === undefined ? rest : { ...rest, messages: toInputs(list, "ending.messages") }
  }
  const toMeaning = (meaning: Meaning<NewMessage<M>> | undefined): Meaning | undefined => {
    if (typeof meaning !== "object" || meaning === null) return meaning
    const { draft, entries, settle, ...rest } = meaning
    return {
      ...rest,
      ...(settle !== undefined && { settle: toInput(settle) }),
      ...(entries !== undefined && { entries: toInputs(entries, "meaning.entries") }),
      ...(draft !== undefined && { draft: toInput(draft) }),
    }
  }
  const toSubmission = (sessionId: string, submission: Submission<M>) => {
    if (typeof submission !== "object" || submission === null) {
      throw new InvalidInput({ field: "submission", value: submission, problem: "must be { messageKey, message }" })
    }
    const { message, messageKey } = submission
    const input = typeof message === "string" ? { body: dialect.prompt(message) } : toInput(message)
    return { ...input, sessionId, messageKey }
  }
  // A role that is not the user's is refused where it is checked.
  const toQueued = (message: NewMessage<M>) => toInput(message) as QueueMessage
  const toPatch = (patch: ItemPatch<M>): QueuePatch =>
    patch?.message === undefined ? (patch as QueuePatch) : { ...patch, message: toQueued(patch.message) }
  /** A call of a service that has options of its own, by the name that the service gives them. */
  const call = async <Options extends object, A, E>(
    given: (Options & CallOptions) | undefined,
    effectWith: (options: Own<Options> | undefined) => Effect.Effect<A, E>,
    name = "options",
  ): Promise<A> => {
    const { options, signal } = parted(given, name)
    return run(effectWith(options), signal)
  }
  /** A call of a service that has none. */
  const plainCall = <A, E>(given: CallOptions | undefined, effect: () => Effect.Effect<A, E>): Promise<A> =>
    call(given, (options) => {
      refuseOptions(options)
      return effect()
    })
  /** A stream of a service, for as long as somebody iterates. */
  const iterate = <Options extends object, A, E>(
    given: (Options & CallOptions) | undefined,
    streamWith: (options: Own<Options> | undefined) => Stream.Stream<A, E>,
    name = "options",
  ): AsyncIterable<A> =>
    Stream.toAsyncIterable(
      Stream.suspend(() => {
        const { options, signal } = parted(given, name)
        const stream = streamWith(options)
        return signal === undefined ? stream : Stream.interruptWhen(stream, fired(signal))
      }),
    )
  // Bodies are of the reader's dialect as far as the caller keeps to it; `M` says so and nothing is checked.
  const typed = <A>(answer: Promise<unknown>) => answer as Promise<A>
  const typedFrames = <E>(frames: Stream.Stream<Frame, E>) => frames as Stream.Stream<Frame<M>, E>
  const close = () => runtime.dispose()

  return {
    sessions: {
      create: (input, options) => call(options, (own) => sessions.create(input, own)),
      get: (session, options) => plainCall(options, () => sessions.get(session)),
      open: (session, options) => call(options, (own) => sessions.open(session, own)),
      latest: (query) => call(query, (own) => sessions.latest(own), "query"),
      resolve: (idOrPrefix, options) => plainCall(options, () => sessions.resolve(idOrPrefix)),
      list: (query) => call(query, (own) => sessions.list(own), "query"),
      watch: (query) => iterate(query, (own) => sessions.watch(own), "query"),
      tree: (query) => call(query, (own) => sessions.tree(own), "query"),
      children: (session, query) => call(query, (own) => sessions.children(session, own), "query"),
      update: (session, patch, options) => call(options, (own) => sessions.update(session, patch, own)),
      rename: (session, title, options) => call(options, (own) => sessions.rename(session, title, own)),
      autoTitle: (session, text, options) => call(options, (own) => sessions.autoTitle(session, text, own)),
      archive: (session, options) => call(options, (own) => sessions.archive(session, own)),
      unarchive: (session, options) => call(options, (own) => sessions.unarchive(session, own)),
      pin: (session, pinned, options) => call(options, (own) => sessions.pin(session, pinned, own)),
      setGroup: (session, group, options) => call(options, (own) => sessions.setGroup(session, group, own)),
      markRead: (session, options) => call(options, (own) => sessions.markRead(session, own)),
      touch: (session, options) => call(options, (own) => sessions.touch(session, own)),
      delete: (session, options) => call(options, (own) => deletions.delete(session, own)),
      deleteMany: (list, options) => call(options, (own) => deletions.deleteMany(list, own)),
      erase: (session, options) => call(options, (own) => deletions.erase(session, own)),
      forget: (session, options) => call(options, (own) => deletions.forget(session, own)),
      ensureRoot: (agent, options) => call(options, (own) => sessions.ensureRoot(agent, own)),
    },
    projects: {
      ensureDefault: (options) => call(options, (own) => projects.ensureDefault(own)),
      ensureForWorkspace: (workspace, options) => call(options, (own) => projects.ensureForWorkspace(workspace, own)),
      get: (project, options) => plainCall(options, () => projects.get(project)),
      list: (filter) => call(filter, (own) => projects.list(own), "filter"),
      rename: (project, name, options) => call(options, (own) => projects.rename(project, name, own)),
      pin: (project, pinned, options) => call(options, (own) => projects.pin(project, pinned, own)),
      hide: (project, hidden, options) => call(options, (own) => projects.hide(project, hidden, own)),
      relocate: (move, options) => call(options, (own) => projects.relocate(move, own)),
    },
    messages: {
      append: (session, message, options) =>
        typed(call(options, (own) => messages.append(session, toInput(message), own))),
      appendMany: (session, list, options) =>
        typed(call(options, (own) => messages.appendMany(session, toInputs(list), own))),
      commitUserMessage: (session, submission, options) =>
        typed(call(options, (own) => messages.commitUserMessage(toSubmission(session, submission), own))),
      page: (session, query) => typed(call(query, (own) => messages.page(session, own), "query")),
      watch: (session, options) =>
        iterate(options, (own) => messages.watch(session, own)) as AsyncIterable<SessionView<M>>,
      get: (session, message, options) => typed(plainCall(options, () => messages.get(session, message))),
      count: (session, options) => plainCall(options, () => messages.count(session)),
      prompts: (session, query) => typed(call(query, (own) => messages.prompts(session, own), "query")),
      siblings: (session, message, options) => typed(plainCall(options, () => messages.siblings(session, message))),
      redact: (session, message, options) => typed(call(options, (own) => messages.redact(session, message, own))),
      path: (session, message, options) => typed(call(options, (own) => messages.path(session, message, own))),
    },
    history: {
      read: (session, options) =>
        typed(plainCall(options, () => Effect.map(history.read(session), (read) => read.messages))),
      compact: (session, input, options) => call(options, (own) => history.compact(session, input, own)),
      amend: (session, input, options) => call(options, (own) => history.amend(session, input, own)),
    },
    attachments: {
      put: (session, file, options) => call(options, (own) => attachments.put(session, file, own)),
      open: (session, hash, options) =>
        iterate(options, (own) => {
          refuseOptions(own)
          return attachments.open(session, hash)
        }),
      list: (session, query) => call(query, (own) => attachments.list(session, own), "query"),
      resolve: (session, path, options) => plainCall(options, () => attachments.resolve(session, path)),
    },
    queue: {
      enqueue: (session, message, options) => call(options, (own) => queue.enqueue(session, toQueued(message), own)),
      list: (session, query) => typed(call(query, (own) => queue.list(session, own), "query")),
      count: (session, options) => plainCall(options, () => queue.count(session)),
      update: (session, item, patch, options) =>
        typed(call(options, (own) => queue.update(session, item, toPatch(patch), own))),
      cancel: (session, item, options) => typed(call(options, (own) => queue.cancel(session, item, own))),
      reorder: (session, order, options) => call(options, (own) => queue.reorder(session, order, own)),
      promote: (session, item, options) => call(options, (own) => queue.promote(session, item, own)),
      clear: (session, options) => call(options, (own) => queue.clear(session, own)),
      claim: (session, options) => typed(call(options, (own) => queue.claim(session, own))),
      renew: (session, token, options) => call(options, (own) => queue.renew(session, token, own)),
      release: (session, token, options) => call(options, (own) => queue.release(session, token, own)),
      reject: (session, token, options) => call(options, (own) => queue.reject(session, token, own)),
      dispatch: (session, options) => call(options, (own) => queue.dispatch(session, own)),
      injected: (session, epoch, options) => typed(call(options, (own) => queue.injected(session, epoch, own))),
      // Its signal ends the work, and gives no call up.
      work: async (body, given) => {
        const { options = {}, signal } = parted(given, "options")
        const ending = { ...options, graceMs, ...(signal !== undefined && { signal }) }
        return run(queue.work(promiseBody(checkedBody(body), toInput), ending), undefined)
      },
      complete: (session, token, options) => call(options, (own) => queue.complete(session, token, own)),
      pause: (session, options) => call(options, (own) => queue.pause(session, own)),
      resume: (session, options) => call(options, (own) => queue.resume(session, own)),
    },
    forks: {
      fork: (session, options) => call(options, (own) => forks.fork(session, own)),
      side: (session, options) => call(options, (own) => forks.side(session, own)),
    },
    heads: {
      checkout: (session, to, options) => call(options, (own) => heads.checkout(session, to, own)),
      undo: (session, options) => call(options, (own) => heads.undo(session, own)),
      redo: (session, options) => call(options, (own) => heads.redo(session, own)),
      moves: (session, query) => call(query, (own) => heads.moves(session, own), "query"),
      branches: (session, query) => call(query, (own) => messages.branches(session, own), "query"),
      deepest: (session, message, options) => typed(plainCall(options, () => heads.deepest(session, message))),
      nameBranch: (session, branch, name, options) =>
        call(options, (own) => heads.nameBranch(session, branch, name, own)),
      deleteBranch: (session, branch, options) => call(options, (own) => heads.deleteBranch(session, branch, own)),
      attach: (session, to, options) => typed(call(options, (own) => heads.attach(session, to, own))),
      merge: (session, link, options) => call(options, (own) => heads.merge(session, link, own)),
      unmerge: (session, link, options) => call(options, (own) => heads.unmerge(session, link, own)),
    },
    rewinds: {
      plan: (session, prompt, options) => typed(call(options, (own) => rewinds.plan(session, prompt, own))),
      rewind: (session, prompt, options) => call(options, (own) => rewinds.rewind(session, prompt, own)),
      edit: (session, prompt, options) => call(options, (own) => rewinds.edit(session, prompt, own)),
      retry: (session, message, options) => call(options, (own) => rewinds.retry(session, message, own)),
      prune: (session, options) => call(options, (own) => deletions.prune(session, own)),
    },
    turns: {
      run: (session, start, body, options) =>
        call(options, (own) =>
          turns.run(session, toStart(start), promiseBody(checkedBody(body), toInput), { ...own, graceMs }),
        ),
      abort: (session, options) => call(options, (own) => turns.abort(session, own)),
      recover: (options) => call(options, (own) => maintenance.recover(own)),
      project: (session, event, mapper, options) =>
        call(options, (own) =>
          turns.project(session, event, typeof mapper === "function" ? (one) => toMeaning(mapper(one)) : mapper, own),
        ),
      list: (session, query) => call(query, (own) => turns.list(session, own), "query"),
      begin: (session, start, options) => call(options, (own) => turns.begin(session, toStart(start), own)),
      heartbeat: (session, epoch, options) => plainCall(options, () => turns.heartbeat(session, epoch)),
      end: (session, epoch, ending, options) =>
        call(options, (own) => turns.end(session, epoch, toEnding(ending), own)),
    },
    queryViews: {
      start: (session, query, options) => call(options, (own) => queryViews.start(session, query, own)),
      finish: (session, query, options) => call(options, (own) => queryViews.finish(session, query, own)),
      forceExpand: (session, query, options) => call(options, (own) => queryViews.forceExpand(session, query, own)),
      list: (session, queryKeys, options) => plainCall(options, () => queryViews.list(session, queryKeys)),
    },
    usage: {
      record: (session, given, options) => call(options, (own) => usage.record(session, given, own)),
      summary: (query) => call(query, (own) => usage.summary(own), "query"),
      watch: (query) => iterate(query, (own) => usage.watch(own), "query"),
      reprice: (options) => call(options, (own) => usage.reprice(own)),
      verify: (options) => plainCall(options, () => usage.verify()),
    },
    streams: {
      resume: (session, query) =>
        frameStream((cursor) =>
          iterate(
            query,
            (own) => typedFrames(streams.resume(session, cursor === undefined ? own : { afterCursor: cursor })),
            "query",
          ),
        ),
      publish: (session, frame, options) => plainCall(options, () => streams.publish(session, frame)),
      reserve: (session, options) =>
        plainCall(options, () =>
          Effect.gen(function* () {
            const life = yield* Scope.make()
            const { bindTurn, complete, cursor, frames } = yield* Scope.provide(streams.reserve(session), life)
            const release = Scope.close(life, Exit.void)
            const end = () => run(release, undefined)
            const reservation: Reservation<M> = {
              ...frameStream(() => iterate(undefined, () => typedFrames(Stream.ensuring(frames, release)))),
              cursor,
              bindTurn: (turn) => run(bindTurn(turn), undefined),
              complete: () => run(complete, undefined),
              close: end,
              [Symbol.asyncDispose]: end,
            }
            return reservation
          }),
        ),
      readers: (session, options) => plainCall(options, () => streams.readers(session)),
    },
    maintenance: {
      recover: (options) => call(options, (own) => maintenance.recover(own)),
      retention: (options) => call(options, (own) => maintenance.retention(own)),
      stats: (options) => plainCall(options, maintenance.stats),
      compactStorage: (options) => plainCall(options, maintenance.compactStorage),
      sweep: (options) => plainCall(options, maintenance.sweep),
      // Its signal ends the rounds, and gives no call up.
      run: async (given) => run(maintenance.run(given), undefined),
    },
    transact: (program, options) => call(options, (own) => storage.transact(program, own)),
    read: (program, options) => plainCall(options, () => storage.read(program)),
    run: (effect, options) => plainCall(options, () => Effect.provideContext(checkedEffect(effect), services)),
    close,
    [Symbol.asyncDispose]: close,
  }
}

export const Skein = { open }

type Own<Options> = Omit<Options & CallOptions, "signal">

/** Parts what a caller gave into the signal, which the services know nothing of, and what is theirs. */
const parted = <Options extends object>(
  given: (Options & CallOptions) | undefined,
  name: string,
): { readonly options?: Own<Options>; readonly signal?: AbortSignal } => {
  if (given === undefined) return {}
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new InvalidInput({ field: name, value: given, problem: "must be an object" })
  }
  const { signal, ...options } = given
  if (signal === undefined) return { options }
  if (isSignal(signal)) return { options, signal }
  throw new InvalidInput({ field: `${name}.signal`, value: signal, problem: "must be an AbortSignal" })
}

/** Refuses what is given to a method that takes nothing but a signal. */
const refuseOptions = (options: object | undefined): void => {
  for (const [name, value] of Object.entries(options ?? {})) {
    throw new InvalidInput({ field: `options.${name}`, value, problem: "is not a known field" })
  }
}

/** Dies of the signal's reason when it fires. */
const fired = (signal: AbortSignal): Effect.Effect<never> =>
  Effect.callback((resume) => {
    const end = () => resume(Effect.die(signal.reason))
    if (signal.aborted) return end()
    signal.addEventListener("abort", end)
    return Effect.sync(() => signal.removeEventListener("abort", end))
  })

const checkedBackend = <Adapter extends Layer.Any>(backend: Adapter): Adapter => {
  if (Layer.isLayer(backend)) return backend
  const problem = "must be what an adapter's function gives, such as memory()"
  throw new InvalidInput({ field: "backend", value: backend, problem })
}

/** An array is a list of answers, also where a dialect's messages are lists: it reads their items one by one, too. */
const isList = <M>(answer: M | ReadonlyArray<M>): answer is ReadonlyArray<M> => Array.isArray(answer)

const checkedBody = <Body>(body: Body): Body => {
  if (typeof body === "function") return body
  throw new InvalidInput({ field: "body", value: body, problem: "must be a function of the turn" })
}

const checkedEffect = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  if (Effect.isEffect(effect)) return effect
  throw new InvalidInput({ field: "effect", value: effect, problem: "must be an Effect" })
}

/** The keys that make a value an envelope instead of a body. */
const envelopeKeys = new Set([
  "body",
  "display",
  "model",
  "role",
  "id",
  "format",
  "metadata",
  "source",
  "sourceContext",
  "createdAt",
  "attachments",
])

/** An envelope holds a body and nothing that is not an envelope's; everything else is a body itself. */
const isEnvelope = <M>(message: NewMessage<M>): message is Envelope<M> => {
  if (typeof message !== "object" || message === null || Array.isArray(message)) return false
  const keys = Object.keys(message)
  return (
    keys.some((key) => key === "body" || key === "display" || key === "model") &&
    keys.every((key) => envelopeKeys.has(key))
  )
}
