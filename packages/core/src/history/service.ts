/**
 * History: what the model is given of a conversation.
 *
 * Guarantee: what is replayed is the last compaction on the path as a summary, what it kept, and what followed, with
 * every tool call next to its one result, whatever was stored. Every difference from what is stored is reported. Reading
 * writes nothing.
 *
 * Not promised: that two readers get the same messages while somebody writes. `historyVersion` tells them apart.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as z from "zod/mini"
import { sessionCalls } from "../call.ts"
import { checkId, Ids } from "../id.ts"
import { checkInput } from "../input.ts"
import type { NewEntry } from "../message/placement.ts"
import type { HeadMoved, MessageNotFound } from "../message/program.ts"
import type { IdConflict, SessionAbsent } from "../session/program.ts"
import { Settings } from "../settings.ts"
import { InvalidInput, isTaken } from "../storage/error.ts"
import type { StorageError } from "../storage/error.ts"
import type { Json } from "../storage/json.ts"
import { Storage } from "../storage/storage.ts"
import type { RunActive, StaleTurn } from "../turn/fence.ts"
import { checkWriteOptions } from "../write-options.ts"
import type { TransactOptions } from "../write-options.ts"
import * as program from "./program.ts"
import type { InvalidBoundary } from "./program.ts"
import { historyReader, summaryOf } from "./read.ts"
import type { ModelHistory } from "./read.ts"
import type { MessageEntry } from "./render.ts"
import { PartsRenderer } from "./render-parts.ts"
import { roundsOf } from "./rounds.ts"
import { inParts } from "./stretches.ts"

export { InvalidBoundary } from "./program.ts"
export type { ModelHistory } from "./read.ts"
export type { RenderRepair } from "./render.ts"

export interface CompactInput {
  /** What the model is told instead of what came before. Must not be blank. */
  readonly summary: string
  /** The first message that is still replayed. Default: none of the messages before the compaction. */
  readonly keepFrom?: string
  /** How the summary was made, for whoever looks at it later. */
  readonly method?: string
  readonly tokensBefore?: number
  readonly tokensAfter?: number
  /** Fails with `HeadMoved` unless this message is at the head. Default: any head. */
  readonly expectedHead?: string | null
  /** The running turn that compacts. While one runs, compacting without it is `RunActive`. */
  readonly epoch?: number
  /** Calls with one operation id make one compaction. */
  readonly operationId?: string
}

export interface Compacted {
  /** The id of the compaction's entry. */
  readonly id: string
  /** `tokensBefore` less `tokensAfter`, where both were given. */
  readonly savedTokens?: number
  /** How many compactions in a row, this one included, saved nothing. */
  readonly savedNothing: number
}

/** One of `trim`, `archive` and `restore` says how the results are given from now on. */
export interface AmendInput {
  /** A message on the path that holds tool results. */
  readonly message: string
  /** The call whose result is meant. Default: all results of the message. */
  readonly call?: string
  /** At most so many characters of the result, 0 or more, without files; it says how many more there were. */
  readonly trim?: number
  /** What the model is told instead: where the result went, or what was in it. */
  readonly archive?: string
  /** As it is stored again. */
  readonly restore?: true
  /** Fails with `HeadMoved` unless this message is at the head. Default: any head. */
  readonly expectedHead?: string | null
  /** The running turn that amends. While one runs, amending without it is `RunActive`. */
  readonly epoch?: number
  /** Calls with one operation id make one amendment. */
  readonly operationId?: string
}

export interface Amended {
  /** The id of the amendment's entry that rules now. Absent: the results are given as they are stored, and were before. */
  readonly id?: string
}

export interface TailOptions {
  /** At most so many tokens. */
  readonly tokens: number
  /** Tokens of one message, 0 or more, by whatever counter the model asks for. */
  readonly count: (message: unknown) => number
}

type Absent = SessionAbsent | InvalidInput | StorageError

export class History extends Context.Service<
  History,
  {
    /** All that is replayed. @see HIS-01, HIS-02, HIS-06 */
    readonly read: (sessionId: string) => Effect.Effect<ModelHistory, Absent>
    /**
     * Exactly the messages that `read` gives, in parts, with as much memory as the longest answer needs. A call that is
     * never answered is held back to the end.
     */
    readonly stream: (sessionId: string) => Stream.Stream<unknown, Absent>
    /**
     * The newest messages that fit into `tokens`, never beginning inside a tool round.
     *
     * @throws InvalidInput  `count` gave something that is no number of tokens
     *
     * @example
     * const { messages } = yield* history.tail("ses_1", { tokens: 8_000, count: (message) => countTokens(message) })
     */
    readonly tail: (sessionId: string, options: TailOptions) => Effect.Effect<ModelHistory, Absent>
    /**
     * Replaces what came before by a summary, for the model alone: what people see stays, and so does `activityAt`.
     *
     * @throws InvalidInput     the summary is blank; nothing is hidden
     * @throws InvalidBoundary  `keepFrom` is off the path, before what the previous compaction kept, or inside a tool
     *                          round: it would part a call from its result, or from the one that may still come; without
     *                          `keepFrom`: the head is inside a tool round
     * @throws MessageNotFound  the session does not see `keepFrom`
     * @throws RunActive        a turn runs, and its `epoch` is not given
     * @throws IdConflict       the operation has made a compaction with another summary, `keepFrom` or method
     * @see HIS-03
     */
    readonly compact: (
      sessionId: string,
      input: CompactInput,
      options?: TransactOptions,
    ) => Effect.Effect<
      Compacted,
      InvalidBoundary | MessageNotFound | HeadMoved | IdConflict | RunActive | StaleTurn | Absent
    >
    /**
     * Trims, archives or restores tool results, for the model alone: what people see stays, and so does `activityAt`. It
     * holds behind the head only, so that going back before it takes it back. Where it changes nothing, nothing is written.
     *
     * @throws InvalidInput     the message holds no such result, is off the path, was compacted, or is still being written
     * @throws MessageNotFound  the session does not see the message
     * @throws RunActive        a turn runs, and its `epoch` is not given
     * @throws IdConflict       the operation has made another amendment
     * @see HIS-04
     *
     * @example
     * yield* history.amend("ses_1", { message: "msg_7", trim: 2_000 })
     * yield* history.amend("ses_1", { message: "msg_7", restore: true })
     */
    readonly amend: (
      sessionId: string,
      input: AmendInput,
      options?: TransactOptions,
    ) => Effect.Effect<Amended, MessageNotFound | HeadMoved | IdConflict | RunActive | StaleTurn | Absent>
  }
>()("@skein/core/history/History") {
  static readonly layer = Layer.effect(
    History,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings
      const ids = yield* Ids
      const { dialect, dialects } = settings
      const { load, read, readRuns, resultsOf, usesOf, usesOfRow } = historyReader(storage, settings)

      /** The id of an entry that an operation makes once. */
      const entryId = (sessionId: string, prefix: string, operationId: string | undefined) =>
        operationId === undefined
          ? ids.mint(`${prefix}_`)
          : Effect.succeed(`${prefix}-${bytesToHex(sha256(utf8ToBytes(`${sessionId}\0${operationId}`)))}`)

      /** Makes an entry once: one that the same operation has made before is answered as stored. */
      const once = <A, E extends { readonly _tag: string }, F>(
        operationId: string | undefined,
        making: Effect.Effect<A, E>,
        find: Effect.Effect<A | undefined, F>,
      ): Effect.Effect<A, E | F> =>
        Effect.catch(making, (error): Effect.Effect<A, E | F> =>
          operationId !== undefined && mayBeOfARepetition(error)
            ? Effect.flatMap(find, (stored): Effect.Effect<A, E> =>
                stored === undefined ? Effect.fail(error) : Effect.succeed(stored),
              )
            : Effect.fail(error),
        )

      const stream = (sessionId: string) =>
        Stream.unwrap(
          Effect.gen(function* () {
            yield* checkId("sessionId", sessionId)
            const plan = yield* storage.read(program.plan(settings, sessionId))
            const parts = new PartsRenderer(dialect, dialects)
            const give = (messages: () => ReadonlyArray<unknown>) =>
              Stream.suspend(() => Stream.fromIterable(messages()))
            const path = Stream.fromIterable(inParts(plan.stretches)).pipe(
              Stream.mapEffect((stretches) => readRuns(plan, stretches)),
              Stream.flatMap((runs) => Stream.fromIterable(runs)),
              Stream.mapEffect((rows) => load(plan, rows)),
              Stream.flatMap(({ entries }) => give(() => parts.next(entries))),
            )
            return give(() => parts.next(summaryOf(plan))).pipe(
              Stream.concat(path),
              Stream.concat(give(() => parts.end())),
            )
          }),
        )

      const calls = sessionCalls("history", {
        read,
        tail: Effect.fnUntraced(function* (sessionId: string, options: TailOptions) {
          const { count, tokens } = yield* checkInput(TailOptionsInput, options, "options")
          const history = yield* read(sessionId)
          const { messages } = history
          // Messages that leave say themselves who speaks.
          const asEntry = (body: Json): MessageEntry => ({ id: "", role: "assistant", body, dialect: dialect.name })
          const rounds = roundsOf(messages.map((message) => usesOf(asEntry(message as Json))))
          // The earliest of the calls that a message answers: rounds are in the order of their calls.
          const answered = new Map(rounds.toReversed().map(({ call, result }) => [result, call]))
          let start = messages.length
          let used = 0
          let needed = messages.length
          for (let i = messages.length - 1; i >= 0; i--) {
            used += yield* checkCount(count(messages[i]))
            if (used > tokens) break
            needed = Math.min(needed, answered.get(i) ?? i)
            if (needed === i) start = i
          }
          return { ...history, messages: messages.slice(start) }
        }),
        compact: Effect.fnUntraced(function* (sessionId: string, given: CompactInput, options: TransactOptions = {}) {
          const { epoch, expectedHead, ...input } = yield* checkInput(CompactInputSchema, given, "input")
          if (input.keepFrom !== undefined) yield* checkId("input.keepFrom", input.keepFrom)
          if (typeof expectedHead === "string") yield* checkId("input.expectedHead", expectedHead)
          yield* checkWriteOptions(options)
          const now = yield* Clock.currentTimeMillis
          const entry: NewEntry = {
            id: yield* entryId(sessionId, "cmp", input.operationId),
            kind: "compaction",
            role: "system",
            createdAt: now,
            display: dialect.summary(input.summary),
            format: { dialect: dialect.name, version: dialect.version },
          }
          const wanted: program.NewCompaction = {
            entry,
            summary: input.summary,
            keepFrom: input.keepFrom,
            method: input.method,
            tokensBefore: input.tokensBefore,
            tokensAfter: input.tokensAfter,
            operationId: input.operationId,
          }
          const compacting = storage.transact(
            program.compact(settings, sessionId, wanted, { epoch, expectedHead }, usesOfRow, now),
            options,
          )
          const found = storage.read(program.findCompaction(settings, sessionId, wanted))
          const row = yield* once(input.operationId, compacting, found)
          const { savedNothing = 0, tokensAfter, tokensBefore } = row.compaction ?? {}
          const compacted: Compacted = {
            id: row.id,
            savedNothing,
            ...(tokensBefore === undefined || tokensAfter === undefined
              ? {}
              : { savedTokens: tokensBefore - tokensAfter }),
          }
          return compacted
        }),
        amend: Effect.fnUntraced(function* (sessionId: string, given: AmendInput, options: TransactOptions = {}) {
          const { epoch, expectedHead, ...input } = yield* checkInput(AmendInputSchema, given, "input")
          yield* checkId("input.message", input.message)
          if (typeof expectedHead === "string") yield* checkId("input.expectedHead", expectedHead)
          yield* checkWriteOptions(options)
          const now = yield* Clock.currentTimeMillis
          const { archive, call, message, operationId, trim } = input
          const entry: NewEntry = {
            id: yield* entryId(sessionId, "amd", operationId),
            kind: "amendment",
            role: "system",
            createdAt: now,
          }
          const wanted: program.NewAmendment = {
            entry,
            amendment: {
              message,
              ...(call !== undefined && { call }),
              ...(trim !== undefined && { trim }),
              ...(archive !== undefined && { archive }),
            },
          }
          const amending = storage.transact(
            program.amend(settings, sessionId, wanted, { epoch, expectedHead }, resultsOf, now),
            options,
          )
          const row = yield* once(
            operationId,
            amending,
            storage.read(program.findAmendment(settings, sessionId, wanted)),
          )
          const amended: Amended = row === undefined ? {} : { id: row.id }
          return amended
        }),
      })
      return History.of({ ...calls, stream })
    }),
  )
}

/** Whether an operation may have failed because it has done the same before. */
const mayBeOfARepetition = (error: { readonly _tag: string } | StorageError): boolean =>
  error._tag === "HeadMoved" || error._tag === "InvalidBoundary" || isTaken(error)

const checkCount = (tokens: unknown): Effect.Effect<number, InvalidInput> =>
  typeof tokens === "number" && tokens >= 0
    ? Effect.succeed(tokens)
    : Effect.fail(
        new InvalidInput({ field: "options.count", value: tokens, problem: "must give a number of tokens, 0 or more" }),
      )

const TailOptionsInput = z.strictObject({
  tokens: z.number().check(z.nonnegative()),
  count: z.custom<TailOptions["count"]>((count) => typeof count === "function", "must be a function"),
})

const tokenCount = z.int().check(z.nonnegative())
const CompactInputSchema = z.strictObject({
  summary: z.string().check(z.refine((text) => text.trim() !== "", "must not be blank")),
  keepFrom: z.optional(z.string()),
  method: z.optional(z.string()),
  tokensBefore: z.optional(tokenCount),
  tokensAfter: z.optional(tokenCount),
  expectedHead: z.optional(z.nullable(z.string())),
  epoch: z.optional(z.int().check(z.positive())),
  operationId: z.optional(z.string().check(z.minLength(1), z.maxLength(200))),
})

const ways = ["trim", "archive", "restore"] as const
const AmendInputSchema = z
  .strictObject({
    message: z.string(),
    call: z.optional(z.string().check(z.minLength(1))),
    trim: z.optional(z.int().check(z.nonnegative())),
    archive: z.optional(z.string()),
    restore: z.optional(z.literal(true)),
    expectedHead: z.optional(z.nullable(z.string())),
    epoch: z.optional(z.int().check(z.positive())),
    operationId: z.optional(z.string().check(z.minLength(1), z.maxLength(200))),
  })
  .check(
    z.refine(
      (input) => ways.filter((way) => input[way] !== undefined).length === 1,
      "takes exactly one of trim, archive and restore",
    ),
  )
