/**
 * Messages: what is said in a conversation, on the path and beside it.
 *
 * Guarantee: every append is one commit of entry, head, counts, preview and revision. It is acknowledged when it is
 * stored as asked; a crash leaves the state before or after. The same id with the same content is stored once, however
 * often it is sent.
 *
 * Not promised: an order between appends that were not awaited one after another, or that clocks agree with the order.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as z from "zod/mini"
import { sessionCalls } from "../call.ts"
import type { InvalidCursor } from "../cursor.ts"
import { withFiles } from "../attachment/files.ts"
import { checkId, Ids, isId } from "../id.ts"
import { checkInput, Text } from "../input.ts"
import type { SessionRow } from "../session/model.ts"
import { previewOf } from "../session/preview.ts"
import { shownOf } from "../session/shown.ts"
import type { IdConflict, SessionAbsent } from "../session/program.ts"
import { Settings } from "../settings.ts"
import type { SkeinSettings } from "../settings.ts"
import type { Durability } from "../storage/backend.ts"
import { InvalidInput, isTaken } from "../storage/error.ts"
import type { StorageError } from "../storage/error.ts"
import { annotate } from "../storage/span.ts"
import { Storage } from "../storage/storage.ts"
import { isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import type { RunActive, StaleTurn } from "../turn/fence.ts"
import { expectedFields, writeFields, writingOf } from "../write-options.ts"
import type { TransactOptions } from "../write-options.ts"
import { MessageInput as MessageInputSchema, toEntry } from "./body.ts"
import type { MessageInput } from "./body.ts"
import { inRuns, loadedAtOnce, refilled } from "./large.ts"
import { LiveDrafts } from "./live-drafts.ts"
import { loaded } from "./load.ts"
import type { EntryRow } from "./model.ts"
import {
  cursorBefore,
  cursorOf,
  PageQuery as PageQueryInput,
  PathOptions,
  PromptsQuery as PromptsQueryInput,
  toAnchor,
  windowFrom,
  windowOf,
} from "./page.ts"

import type { NewEntry } from "./placement.ts"
import * as program from "./program.ts"
import type { HeadMoved, MessageNotFound } from "./program.ts"
import { redact } from "./redact.ts"
import { toMessage } from "./record.ts"
import { redactionWith } from "./replacement.ts"
import type { Message } from "./record.ts"
import type { SessionView } from "./session-view.ts"
import * as tree from "./tree.ts"
import { textOf } from "./text.ts"
import { userMessageId } from "./user-message-id.ts"
import { watchSession } from "./watch-session.ts"

export { HeadMoved, MessageNotFound } from "./program.ts"
export type { MessageInput } from "./body.ts"
export type { Message } from "./record.ts"
export { userMessageId } from "./user-message-id.ts"
export type { SessionView, ViewedMessage } from "./session-view.ts"

/** How to append. */
export interface AppendOptions {
  /** Fails with `HeadMoved` unless this message is at the head; `null` is the root. Default: any head. */
  readonly expectedHead?: string | null
  /** Fails with `HeadMoved` unless the session's `headVersion` is this. Default: any. */
  readonly expectedVersion?: number
  /**
   * Writes behind this message of the session instead of the head. The head stays where it is, which
   * `moveHead: false` says aloud.
   */
  readonly at?: string
  readonly moveHead?: false
  /** The running turn that writes. While one runs, appends at the head without it are `RunActive`. */
  readonly epoch?: number
  /** Default `"strict"`. */
  readonly durability?: Durability
}

/** Which page: before, after or around a message or a cursor of another page; none: the last one. */
export interface PageQuery {
  readonly before?: string
  readonly after?: string
  readonly around?: string
  /** 1 to 500. Default 80. */
  readonly limit?: number
}

export interface MessagePage<M = unknown> {
  /** In the order of the path, oldest first. An unreadable message stands in its place and says so. */
  readonly messages: ReadonlyArray<Message<M>>
  /** Give it as `before` to go back. Absent: this page begins with the first message. */
  readonly before?: string
  /** Give it as `after` to go on. Absent: this page ends at the head. */
  readonly after?: string
  /** True when the stored head led nowhere and the last readable branch stands in for it. */
  readonly degraded: boolean
}

/** One of several continuations of a conversation. */
export interface Branch {
  readonly branch: number
  readonly name?: string
  readonly createdAt: number
  /** The last message on it. */
  readonly tip: string
  /** How many messages people see from the first one to its tip. */
  readonly messages: number
  /** What was last said on it by anybody, as a person would read it, at most 80 characters. */
  readonly lastText: string
  /** Whether the head stands on it. */
  readonly current: boolean
  /** It was merged, and nothing was said on it since. */
  readonly merged?: true
}

export interface BranchesQuery {
  /** Default `false`. When true, those that were merged are listed too. */
  readonly merged?: boolean
}

/** What a user said, and the key under which it is said once. */
export type Submission = { readonly sessionId: string; readonly messageKey: string } & Omit<MessageInput, "id" | "role">
export type CommitOptions = Omit<AppendOptions, "at" | "moveHead">

/** Which prompts: before a prompt, newest first. */
export interface PromptsQuery {
  /** A prompt's id. */
  readonly before?: string
  /** 1 to 500. Default 50. */
  readonly limit?: number
}

export interface RedactOptions extends TransactOptions {
  /** What stands for what was said: at most 10,000 characters. Default `[redacted]`. */
  readonly replacement?: string
}

type Absent = SessionAbsent | InvalidInput | StorageError
type AppendError = HeadMoved | IdConflict | MessageNotFound | RunActive | StaleTurn | Absent

export class Messages extends Context.Service<
  Messages,
  {
    /**
     * Appends a message at the head, or with `at` beside it.
     *
     * @throws InvalidInput  a body that is not JSON, an unsafe id, a role that nobody knows
     * @throws HeadMoved     the head is not at `expectedHead`; nothing was written
     * @throws IdConflict    the id is taken by another content
     * @throws RunActive     a turn runs, and `epoch` is not given
     * @throws StaleTurn     `epoch` is not of the turn that runs
     * @see MSG-01, MSG-02
     *
     * @example
     * const { id } = yield* messages.append("ses_1", { body: { role: "user", content: "Hello" } })
     */
    readonly append: (
      sessionId: string,
      message: MessageInput,
      options?: AppendOptions,
    ) => Effect.Effect<Message, AppendError>
    /** Appends several in one commit; an empty list does nothing. */
    readonly appendMany: (
      sessionId: string,
      messages: ReadonlyArray<MessageInput>,
      options?: AppendOptions,
    ) => Effect.Effect<ReadonlyArray<Message>, AppendError>
    /**
     * Stores what a user said under an id made of session and `messageKey`, so that submitting twice, at the same time
     * or after a crash, stores once.
     *
     * @returns the message, and whether it is on the path now: one that was rewound is returned and nothing moves
     * @throws IdConflict  the key was used for another content, which is replaced where the `turn` it names never began
     * @see MSG-03
     */
    readonly commitUserMessage: (
      submission: Submission,
      options?: CommitOptions,
    ) => Effect.Effect<{ readonly message: Message; readonly onPath: boolean }, AppendError>
    /**
     * A page of what people see on the path.
     *
     * @throws MessageNotFound  the anchor is not a message on the path
     * @throws InvalidCursor    a cursor of another session, or of a place that was rewound
     * @see MSG-05
     */
    readonly page: (
      sessionId: string,
      query?: PageQuery,
    ) => Effect.Effect<MessagePage, MessageNotFound | InvalidCursor | Absent>
    /** All that people see on the path, from the first message on, in bounded memory. */
    readonly stream: (sessionId: string) => Stream.Stream<Message, MessageNotFound | InvalidCursor | Absent>
    /**
     * The conversation as it is now, at once and whenever it has changed, whoever changed it, in this process or another:
     * at most thirty times a second. What stayed as it was stays the same object. Ends when the store is closed.
     *
     * @param options  `limit`: how many messages of the end of the path, 1 to 500, default 80
     * @see MSG-10
     *
     * @example
     * yield* Stream.runForEach(messages.watch("ses_1"), ({ messages, session }) => show(session.status, messages))
     */
    readonly watch: (sessionId: string, options?: { readonly limit?: number }) => Stream.Stream<SessionView, Absent>
    readonly get: (sessionId: string, messageId: string) => Effect.Effect<Message, MessageNotFound | Absent>
    /** Those of the messages that are there, in the order asked for. At most 500 ids. */
    readonly getMany: (
      sessionId: string,
      messageIds: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<Message>, Absent>
    /** How many messages people see on the path. */
    readonly count: (sessionId: string) => Effect.Effect<number, Absent>
    /** The user's own prompts on the path, newest first. Of one that is large, `text` is the beginning. */
    readonly prompts: (
      sessionId: string,
      query?: PromptsQuery,
    ) => Effect.Effect<ReadonlyArray<Message & { readonly text: string }>, MessageNotFound | Absent>
    /** The whole text of the last prompt on the path; `undefined` when there is none. */
    readonly latestUserText: (sessionId: string) => Effect.Effect<string | undefined, Absent>
    /** The messages that follow the same place, this one included: "2 of 3". */
    readonly siblings: (
      sessionId: string,
      messageId: string,
    ) => Effect.Effect<{ readonly messages: ReadonlyArray<Message>; readonly index: number }, MessageNotFound | Absent>
    /** The session's branches, oldest first; without those that were merged, unless they are asked for. */
    readonly branches: (sessionId: string, query?: BranchesQuery) => Effect.Effect<ReadonlyArray<Branch>, Absent>
    /** What people see from the root to a message; the newest `limit`, 1 to 500, default 80. */
    readonly path: (
      sessionId: string,
      messageId: string,
      options?: { readonly limit?: number },
    ) => Effect.Effect<ReadonlyArray<Message>, MessageNotFound | Absent>
    /**
     * Takes the content of a message away, for every session of its tree: its text, what its tools were given and gave back,
     * its files and metadata. Its id, its place and its tool calls stay, so that the rest can be replayed.
     *
     * @param options  `replacement`: what stands for what was said, at most 10,000 characters, default `[redacted]`
     * @returns the message as it is from now on
     * @throws InvalidInput  the message is still being written, or has no content, as an amendment
     * @see MSG-08
     *
     * @example
     * yield* messages.redact("ses_1", "msg_7", { replacement: "A key was here." })
     */
    readonly redact: (
      sessionId: string,
      messageId: string,
      options?: RedactOptions,
    ) => Effect.Effect<Message, MessageNotFound | Absent>
    /** Whether `ancestor` comes before `message` on the path to it. No message is its own ancestor. */
    readonly isAncestor: (
      sessionId: string,
      pair: { readonly ancestor: string; readonly message: string },
    ) => Effect.Effect<boolean, MessageNotFound | Absent>
    /** The last message that the paths to both share; `undefined` when they share nothing. */
    readonly commonAncestor: (
      sessionId: string,
      pair: { readonly one: string; readonly other: string },
    ) => Effect.Effect<Message | undefined, MessageNotFound | Absent>
  }
>()("@skein/core/message/Messages") {
  static readonly layer = Layer.effect(
    Messages,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings
      const makers = { settings, ids: yield* Ids }
      const live = yield* LiveDrafts

      /**
       * Stores entries once: what is refused because it is stored, or because the head has moved since it was stored, is
       * answered with what is stored, if it is the same. What was there when it was refused and is gone when it is looked
       * for is no reason to refuse any more: then it is tried once again.
       */
      const submit = (
        sessionId: string,
        entries: ReadonlyArray<NewEntry>,
        options: CheckedOptions,
        now: number,
        isLastTry = false,
      ): Effect.Effect<program.Stored, AppendError> => {
        const { at, durability, epoch, expectedHead, expectedVersion } = options
        const where: program.AppendOptions = { at, expectedHead, expectedVersion, epoch }
        const appending = program.append(settings, sessionId, entries, where, now)
        const committing = storage.transact(appending, durability === undefined ? undefined : { durability })
        const appended = withFiles(storage, entries, now, committing)
        return Effect.matchEffect(appended, {
          onSuccess: (rows): Effect.Effect<program.Stored, AppendError> => Effect.succeed({ rows, onPath: true }),
          onFailure: (error): Effect.Effect<program.Stored, AppendError> => {
            if (!isTaken(error) && error._tag !== "HeadMoved") return Effect.fail(error)
            const looked = storage.read(program.findStored(settings, sessionId, entries, where))
            return Effect.flatMap(looked, (stored): Effect.Effect<program.Stored, AppendError> => {
              if (stored !== undefined) return Effect.succeed(stored)
              return isLastTry ? Effect.fail(error) : submit(sessionId, entries, options, now, true)
            })
          },
        })
      }

      const readRows = Effect.fnUntraced(function* (
        sessionId: string,
        given: string | undefined,
        window: program.WindowOf,
      ) {
        const anchor = given === undefined ? undefined : yield* toAnchor(sessionId, given)
        const found = yield* storage.read(program.page(settings, sessionId, anchor, window))
        const { displays, rows, to } = found
        const after = to < displays && rows.length > 0 ? cursorOf(sessionId, rows.at(-1)!, to) : undefined
        return { ...found, after }
      })

      const calls = sessionCalls("message", {
        append: Effect.fnUntraced(function* (sessionId: string, message: MessageInput, given: AppendOptions = {}) {
          const options = yield* checkAppendOptions(given)
          const now = yield* Clock.currentTimeMillis
          const entry = yield* toEntry(makers, message, now, "message")
          return toMessage(refilled((yield* submit(sessionId, [entry], options, now)).rows[0]!, entry))
        }),
        appendMany: Effect.fnUntraced(function* (
          sessionId: string,
          messages: ReadonlyArray<MessageInput>,
          given: AppendOptions = {},
        ) {
          yield* checkInput(ManyMessages, messages, "messages")
          const options = yield* checkAppendOptions(given)
          const now = yield* Clock.currentTimeMillis
          const entries: Array<NewEntry> = []
          for (const [i, message] of messages.entries()) {
            entries.push(yield* toEntry(makers, message, now, `messages[${i}]`))
          }
          yield* annotate(() => ({ "skein.messages": entries.length }))
          const { rows } = yield* submit(sessionId, entries, options, now)
          return rows.map((row, i) => toMessage(refilled(row, entries[i]!)))
        }),
        commitUserMessage: Effect.fnUntraced(function* (
          sessionId: string,
          { messageKey, ...message }: Omit<Submission, "sessionId">,
          given: CommitOptions = {},
        ) {
          const options = yield* checkInput(CommitOptionsInput, given, "options")
          const now = yield* Clock.currentTimeMillis
          const id = userMessageId(sessionId, messageKey)
          const entry = yield* toEntry(makers, { ...message, role: "user", id }, now, "submission")
          const submitted = submit(sessionId, [entry], options, now)
          const { onPath, rows } = yield* Effect.catchTag(submitted, "IdConflict", () =>
            storage.transact(
              program.replaceUnanswered(settings, sessionId, entry, options.epoch, now),
              writingOf(options.durability),
            ),
          )
          return { message: toMessage(refilled(rows[0]!, entry)), onPath }
        }),
        page: Effect.fnUntraced(function* (sessionId: string, given: PageQuery = {}) {
          const query = yield* checkInput(PageQueryInput, given, "query")
          const anchor = query.before ?? query.after ?? query.around
          const { after, ...found } = yield* readRows(sessionId, anchor, windowOf(query))
          const page: MessagePage = {
            messages: found.rows.map(toMessage),
            degraded: found.degraded,
            ...cursorBefore(sessionId, found),
            ...(after !== undefined && { after }),
          }
          return page
        }),
        get: Effect.fnUntraced(function* (sessionId: string, messageId: string) {
          const id = yield* checkId("messageId", messageId)
          return toMessage(yield* storage.read(tree.getMessage(settings, sessionId, id)))
        }),
        getMany: Effect.fnUntraced(function* (sessionId: string, messageIds: ReadonlyArray<string>) {
          const ids = yield* checkInput(ManyIds, messageIds, "messageIds")
          return (yield* storage.read(tree.getMessages(settings, sessionId, ids))).map(toMessage)
        }),
        count: (sessionId: string) =>
          Effect.map(storage.read(program.count(settings, sessionId)), ({ displays }) => displays),
        prompts: Effect.fnUntraced(function* (sessionId: string, given: PromptsQuery = {}) {
          const { before, limit } = yield* checkInput(PromptsQueryInput, given, "query")
          const rows = yield* storage.read(tree.prompts(settings, sessionId, before, limit))
          return rows.map((row) => ({ ...toMessage(row), text: textOf(settings, row) }))
        }),
        latestUserText: (sessionId: string) =>
          Effect.map(storage.read(tree.lastPrompt(settings, sessionId)), (row) => row && textOf(settings, row)),
        siblings: Effect.fnUntraced(function* (sessionId: string, messageId: string) {
          const id = yield* checkId("messageId", messageId)
          const { index, messages } = yield* storage.read(tree.siblings(settings, sessionId, id))
          return { messages: messages.map(toMessage), index }
        }),
        branches: Effect.fnUntraced(function* (sessionId: string, given: BranchesQuery = {}) {
          const { merged } = yield* checkInput(BranchesQueryInput, given, "query")
          const { branches, session } = yield* storage.read(tree.listBranches(settings, sessionId))
          return branches
            .filter(({ isMerged }) => merged || !isMerged)
            .map((branch) => toBranch(settings, session, branch))
        }),
        path: Effect.fnUntraced(function* (
          sessionId: string,
          messageId: string,
          given: { readonly limit?: number } = {},
        ) {
          const id = yield* checkId("messageId", messageId)
          const { limit } = yield* checkInput(PathOptions, given, "options")
          return (yield* storage.read(tree.pathTo(settings, sessionId, id, limit))).map(toMessage)
        }),
        redact: Effect.fnUntraced(function* (sessionId: string, messageId: string, given: RedactOptions = {}) {
          const id = yield* checkId("messageId", messageId)
          const { durability, replacement = "[redacted]" } = yield* checkInput(RedactOptionsInput, given, "options")
          const now = yield* Clock.currentTimeMillis
          const redacting = redact(settings, sessionId, id, redactionWith(settings, replacement), now)
          return toMessage(yield* storage.transact(redacting, writingOf(durability)))
        }),
        isAncestor: Effect.fnUntraced(function* (
          sessionId: string,
          pair: { readonly ancestor: string; readonly message: string },
        ) {
          const { ancestor, message } = yield* checkInput(AncestorPair, pair, "pair")
          return yield* storage.read(tree.isAncestor(settings, sessionId, ancestor, message))
        }),
        commonAncestor: Effect.fnUntraced(function* (
          sessionId: string,
          pair: { readonly one: string; readonly other: string },
        ) {
          const { one, other } = yield* checkInput(CommonPair, pair, "pair")
          const row = yield* storage.read(tree.commonAncestor(settings, sessionId, one, other))
          return row && toMessage(row)
        }),
      })

      return Messages.of({
        ...calls,
        commitUserMessage: (submission, options) =>
          Effect.flatMap(checkInput(SubmissionInput, submission, "submission"), ({ sessionId, ...message }) =>
            calls.commitUserMessage(sessionId, message, options),
          ),
        watch: (sessionId, given = {}) =>
          Stream.unwrap(
            Effect.gen(function* () {
              yield* checkId("sessionId", sessionId)
              const { limit } = yield* checkInput(PathOptions, given, "options")
              return watchSession({ storage, scope: settings, live }, sessionId, limit)
            }),
          ),
        stream: (sessionId) =>
          Stream.paginate<string | undefined, ReadonlyArray<PageRow>, MessageNotFound | InvalidCursor | Absent>(
            undefined,
            Effect.fnUntraced(function* (last) {
              yield* checkId("sessionId", sessionId)
              const { after, rows } = yield* readRows(sessionId, last, windowFrom(maxRange))
              return [inRuns(rows, loadedAtOnce), Option.fromUndefinedOr(after)]
            }),
          ).pipe(
            Stream.mapEffect((rows) => loaded(storage, rows)),
            Stream.flatMap((rows) => Stream.fromIterable(rows.map(toMessage))),
          ),
      })
    }),
  )
}

type PageRow = Readonly<EntryRow> | Unreadable

const toBranch = (settings: SkeinSettings, session: SessionRow, found: tree.BranchTip): Branch => {
  const { branch, isMerged, lastShown, tip } = found
  const readable = isUnreadable(tip) ? lastShown : tip
  return {
    branch: branch.branch,
    ...(branch.name === undefined ? {} : { name: branch.name.text }),
    createdAt: branch.createdAt,
    tip: toMessage(tip).id,
    messages: readable === undefined || isUnreadable(readable) ? 0 : shownOf(session, readable.facts).displays,
    lastText: lastShown === undefined || isUnreadable(lastShown) ? "" : previewOf(textOf(settings, lastShown)),
    current: session.head.branch === branch.branch,
    ...(isMerged && { merged: true }),
  }
}

const MessageId = z.string().check(z.refine(isId, "must be a message id"))
const ManyIds = z.array(MessageId).check(z.maxLength(500))
const ManyMessages = z.array(z.unknown())
const BranchesQueryInput = z.strictObject({ merged: z._default(z.boolean(), false) })
const AncestorPair = z.strictObject({ ancestor: MessageId, message: MessageId })
const CommonPair = z.strictObject({ one: MessageId, other: MessageId })

const RedactOptionsInput = z.strictObject({ ...writeFields, replacement: z.optional(Text.check(z.maxLength(10_000))) })

const { id: _id, role: _role, ...userFields } = MessageInputSchema.shape
const SubmissionInput = z.strictObject({
  ...userFields,
  sessionId: z.string(),
  messageKey: Text.check(z.minLength(1), z.maxLength(1_000)),
})

const Epoch = z.int().check(z.positive())
const CommitOptionsInput = z.strictObject({ ...writeFields, ...expectedFields, epoch: z.optional(Epoch) })
const AppendOptionsInput = z.strictObject({
  ...writeFields,
  ...expectedFields,
  epoch: z.optional(Epoch),
  at: z.optional(z.string()),
  moveHead: z.optional(z.literal(false)),
})

type CheckedOptions = z.output<typeof AppendOptionsInput>

const checkAppendOptions = (given: AppendOptions): Effect.Effect<CheckedOptions, InvalidInput> => {
  const { at, moveHead } = given ?? {}
  return moveHead === false && at === undefined
    ? Effect.fail(
        new InvalidInput({
          field: "options.moveHead",
          value: moveHead,
          problem: "needs `at`: the message to write behind",
        }),
      )
    : checkInput(AppendOptionsInput, given, "options")
}
