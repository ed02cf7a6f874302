/**
 * Skein as promises: the interface most people meet first.
 *
 * Guarantee: every method does what the Effect service of the same name does, and rejects with the same error classes:
 * `_tag` is the stable code. A method whose `signal` fires before its commit writes nothing and rejects with the signal's
 * reason; during the commit it waits for the outcome first.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { Heads } from "./head/service.ts"
import type { Destination, HeadMove, Moved, MoveOptions } from "./head/service.ts"
import type { Dialect } from "./history/dialect.ts"
import { History } from "./history/service.ts"
import type { Compacted, CompactInput } from "./history/service.ts"
import { Messages } from "./message/service.ts"
import type { AppendOptions, Branch, Message, MessageInput, MessagePage, PageQuery } from "./message/service.ts"
import { Projects } from "./project/service.ts"
import type { Project, ProjectList, Relocated } from "./project/service.ts"
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
import type { StorageError } from "./storage/error.ts"
import type { Json } from "./storage/json.ts"
import { Storage } from "./storage/storage.ts"
import type { TransactOptions } from "./storage/storage.ts"
import type { Tx } from "./storage/transaction.ts"

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
      submission: { readonly messageKey: string; readonly message: NewMessage<M> },
      options?: Omit<AppendOptions, "at" | "moveHead"> & CallOptions,
    ): Promise<{ readonly message: Message<M>; readonly onPath: boolean }>
    /** What people see on the path: the last page, or the one before, after or around a message. */
    page(session: string, query?: PageQuery & CallOptions): Promise<MessagePage<M>>
    get(session: string, message: string, options?: CallOptions): Promise<Message<M>>
    count(session: string, options?: CallOptions): Promise<number>
    /** The user's own prompts on the path, newest first. */
    prompts(
      session: string,
      query?: { readonly before?: string; readonly limit?: number } & CallOptions,
    ): Promise<ReadonlyArray<Message<M> & { readonly text: string }>>
    /** The messages that follow the same place: "2 of 3". */
    siblings(
      session: string,
      message: string,
      options?: CallOptions,
    ): Promise<{ readonly messages: ReadonlyArray<Message<M>>; readonly index: number }>
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
    compact(session: string, input: CompactInput, options?: CallOptions): Promise<Compacted>
  }
  readonly heads: {
    /** Moves the head to a message, to the end of a branch, or with `null` before the first message. */
    checkout(session: string, to: Destination, options?: MoveOptions & CallOptions): Promise<Moved>
    /** Takes the last move back. `undefined`: there is none. */
    undo(session: string, options?: { readonly author?: string } & CallOptions): Promise<Moved | undefined>
    /** Makes it again. `undefined`: there is none, or something was said since. */
    redo(session: string, options?: { readonly author?: string } & CallOptions): Promise<Moved | undefined>
    moves(
      session: string,
      query?: { readonly before?: number; readonly limit?: number } & CallOptions,
    ): Promise<ReadonlyArray<HeadMove>>
    /** The session's branches, oldest first. */
    branches(session: string, options?: CallOptions): Promise<ReadonlyArray<Branch>>
    /** The end of the longest way on from a message. */
    deepest(session: string, message: string, options?: CallOptions): Promise<Message<M>>
    nameBranch(
      session: string,
      branch: number,
      name: string,
      options?: { readonly automatic?: boolean } & CallOptions,
    ): Promise<string>
    deleteBranch(
      session: string,
      branch: number,
      options?: { readonly moveTo?: Destination; readonly author?: string } & CallOptions,
    ): Promise<{ readonly removed: number; readonly head: string | null }>
  }
  /** Commits a transaction program of your own, over skein's tables and yours. */
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
  const runtime = ManagedRuntime.make(Layer.provide(layer(options), backend))
  const run = async <A, E>(effect: Effect.Effect<A, E>, signal?: AbortSignal): Promise<A> => {
    // An effect that never waits would run to its end in spite of the signal.
    signal?.throwIfAborted()
    const exit = await Effect.runPromiseExit(effect, signal === undefined ? undefined : { signal })
    if (Exit.isSuccess(exit)) return exit.value
    throw signal?.aborted === true && Cause.hasInterruptsOnly(exit.cause) ? signal.reason : Cause.squash(exit.cause)
  }
  const context = await runtime.runPromiseExit(
    Effect.all({
      heads: Heads,
      history: History,
      messages: Messages,
      projects: Projects,
      sessions: Sessions,
      storage: Storage,
      services: Effect.context<Services>(),
    }),
  )
  if (Exit.isFailure(context)) {
    await runtime.dispose()
    throw Cause.squash(context.cause)
  }
  const { heads, history, messages, projects, services, sessions, storage } = context.value
  const { dialect = defaultSettings.dialect } = options
  const toInput = (message: NewMessage<M>): MessageInput => {
    if (typeof message === "string") return { role: "user", body: dialect.prompt(message) }
    return isEnvelope(message) ? message : { body: message }
  }
  // Bodies are of the reader's dialect as far as the caller keeps to it; `M` says so and nothing is checked.
  const typed = <A>(effect: Effect.Effect<unknown, unknown>, signal?: AbortSignal) => run(effect, signal) as Promise<A>
  const close = () => runtime.dispose()

  return {
    sessions: {
      create: (input, call = {}) => withSignal(call, (options, signal) => run(sessions.create(input, options), signal)),
      get: (session, call) => run(sessions.get(session), call?.signal),
      open: (session, call = {}) => withSignal(call, (options, signal) => run(sessions.open(session, options), signal)),
      latest: (call = {}) => withSignal(call, (query, signal) => run(sessions.latest(query), signal)),
      resolve: (idOrPrefix, call) => run(sessions.resolve(idOrPrefix), call?.signal),
      list: (call = {}) => withSignal(call, (query, signal) => run(sessions.list(query), signal)),
      tree: (call = {}) => withSignal(call, (query, signal) => run(sessions.tree(query), signal)),
      children: (session, call = {}) =>
        withSignal(call, (query, signal) => run(sessions.children(session, query), signal)),
      update: (session, patch, call = {}) =>
        withSignal(call, (options, signal) => run(sessions.update(session, patch, options), signal)),
      rename: (session, title, call = {}) =>
        withSignal(call, (options, signal) => run(sessions.rename(session, title, options), signal)),
      autoTitle: (session, text, call = {}) =>
        withSignal(call, (options, signal) => run(sessions.autoTitle(session, text, options), signal)),
      archive: (session, call = {}) =>
        withSignal(call, (options, signal) => run(sessions.archive(session, options), signal)),
      unarchive: (session, call = {}) =>
        withSignal(call, (options, signal) => run(sessions.unarchive(session, options), signal)),
      pin: (session, pinned, call = {}) =>
        withSignal(call, (options, signal) => run(sessions.pin(session, pinned, options), signal)),
      setGroup: (session, group, call = {}) =>
        withSignal(call, (options, signal) => run(sessions.setGroup(session, group, options), signal)),
      markRead: (session, call = {}) =>
        withSignal(call, (options, signal) => run(sessions.markRead(session, options), signal)),
      touch: (session, call = {}) =>
        withSignal(call, (options, signal) => run(sessions.touch(session, options), signal)),
      ensureRoot: (agent, call = {}) =>
        withSignal(call, (options, signal) => run(sessions.ensureRoot(agent, options), signal)),
    },
    projects: {
      ensureDefault: (call = {}) => withSignal(call, (options, signal) => run(projects.ensureDefault(options), signal)),
      ensureForWorkspace: (workspace, call = {}) =>
        withSignal(call, (options, signal) => run(projects.ensureForWorkspace(workspace, options), signal)),
      get: (project, call) => run(projects.get(project), call?.signal),
      list: (call = {}) => withSignal(call, (filter, signal) => run(projects.list(filter), signal)),
      rename: (project, name, call = {}) =>
        withSignal(call, (options, signal) => run(projects.rename(project, name, options), signal)),
      pin: (project, pinned, call = {}) =>
        withSignal(call, (options, signal) => run(projects.pin(project, pinned, options), signal)),
      hide: (project, hidden, call = {}) =>
        withSignal(call, (options, signal) => run(projects.hide(project, hidden, options), signal)),
      relocate: (move, call = {}) =>
        withSignal(call, (options, signal) => run(projects.relocate(move, options), signal)),
    },
    messages: {
      append: (session, message, call = {}) =>
        withSignal(call, (options, signal) => typed(messages.append(session, toInput(message), options), signal)),
      appendMany: (session, list, call = {}) =>
        withSignal(call, (options, signal) => typed(messages.appendMany(session, list.map(toInput), options), signal)),
      commitUserMessage: (session, { message, messageKey }, call = {}) =>
        withSignal(call, (options, signal) =>
          typed(messages.commitUserMessage({ ...toInput(message), sessionId: session, messageKey }, options), signal),
        ),
      page: (session, call = {}) => withSignal(call, (query, signal) => typed(messages.page(session, query), signal)),
      get: (session, message, call) => typed(messages.get(session, message), call?.signal),
      count: (session, call) => run(messages.count(session), call?.signal),
      prompts: (session, call = {}) =>
        withSignal(call, (query, signal) => typed(messages.prompts(session, query), signal)),
      siblings: (session, message, call) => typed(messages.siblings(session, message), call?.signal),
      path: (session, message, call = {}) =>
        withSignal(call, (options, signal) => typed(messages.path(session, message, options), signal)),
    },
    history: {
      read: async (session, call) => (await run(history.read(session), call?.signal)).messages as ReadonlyArray<M>,
      compact: (session, input, call) => run(history.compact(session, input), call?.signal),
    },
    heads: {
      checkout: (session, to, call = {}) =>
        withSignal(call, (options, signal) => run(heads.checkout(session, to, options), signal)),
      undo: (session, call = {}) => withSignal(call, (options, signal) => run(heads.undo(session, options), signal)),
      redo: (session, call = {}) => withSignal(call, (options, signal) => run(heads.redo(session, options), signal)),
      moves: (session, call = {}) => withSignal(call, (query, signal) => run(heads.moves(session, query), signal)),
      branches: (session, call) => run(messages.branches(session), call?.signal),
      deepest: (session, message, call) => typed(heads.deepest(session, message), call?.signal),
      nameBranch: (session, branch, name, call = {}) =>
        withSignal(call, (options, signal) => run(heads.nameBranch(session, branch, name, options), signal)),
      deleteBranch: (session, branch, call = {}) =>
        withSignal(call, (options, signal) => run(heads.deleteBranch(session, branch, options), signal)),
    },
    transact: (program, call = {}) =>
      withSignal(call, (options, signal) => run(storage.transact(program, options), signal)),
    read: (program, call) => run(storage.read(program), call?.signal),
    run: (effect, call) => run(Effect.provideContext(effect, services), call?.signal),
    close,
    [Symbol.asyncDispose]: close,
  }
}

export const Skein = { open }

/** Takes the signal out of what a caller gave: the services know nothing of it. */
const withSignal = <Options extends object, A>(
  { signal, ...options }: Options & CallOptions,
  call: (options: Omit<Options & CallOptions, "signal">, signal: AbortSignal | undefined) => Promise<A>,
): Promise<A> => call(options, signal)

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
