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
import { Ids } from "../id.ts"
import { checkInput } from "../input.ts"
import type { EntryRow } from "../message/model.ts"
import { isReplayed } from "../message/placement.ts"
import type { NewEntry } from "../message/placement.ts"
import type { HeadMoved, MessageNotFound } from "../message/program.ts"
import { unreadableId } from "../message/record.ts"
import type { SessionNotFound } from "../session/program.ts"
import { Settings } from "../settings.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import type { Json } from "../storage/json.ts"
import { span } from "../storage/span.ts"
import { Storage } from "../storage/storage.ts"
import { isUnreadable } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import * as program from "./program.ts"
import type { HistoryPlan, InvalidBoundary } from "./program.ts"
import { render } from "./render.ts"
import type { RenderEntry, RenderRepair } from "./render.ts"
import { openCalls, toolSpan } from "./tool-span.ts"
import type { ToolSpan } from "./tool-span.ts"

export { InvalidBoundary } from "./program.ts"
export type { RenderRepair } from "./render.ts"

/** What is replayed, in the reader's dialect. */
export interface ModelHistory<M = unknown> {
  readonly messages: ReadonlyArray<M>
  /** What is given otherwise than it is stored, or left out, and why. */
  readonly repairs: ReadonlyArray<RenderRepair>
  /** Changes with every commit that changes what is replayed, and with nothing else. */
  readonly historyVersion: number
  /** True when the stored head led nowhere and the last readable branch stands in for it. */
  readonly degraded: boolean
}

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

type Absent = SessionNotFound | InvalidInput | StorageError

export class History extends Context.Service<
  History,
  {
    /** All that is replayed. @see HIS-01, HIS-02, HIS-06 */
    readonly read: (sessionId: string) => Effect.Effect<ModelHistory, Absent>
    /**
     * The same, in parts and with as much memory as the longest tool round needs. A call that is never answered is held
     * back to the end.
     */
    readonly stream: (sessionId: string) => Stream.Stream<unknown, Absent>
    /**
     * The newest messages that fit into `tokens`, never beginning inside a tool round.
     *
     * @param count  tokens of one message, by whatever counter the model asks for
     */
    readonly tail: (
      sessionId: string,
      options: { readonly tokens: number; readonly count: (message: unknown) => number },
    ) => Effect.Effect<ModelHistory, Absent>
    /**
     * Replaces what came before by a summary, for the model alone: what people see stays.
     *
     * @throws InvalidInput     the summary is blank; nothing is hidden
     * @throws InvalidBoundary  `keepFrom` is off the path, before what the previous compaction kept, or inside a tool
     *                          round; without `keepFrom`: the head is inside a tool round
     * @throws MessageNotFound  the session does not see `keepFrom`
     * @see HIS-03
     */
    readonly compact: (
      sessionId: string,
      input: CompactInput,
    ) => Effect.Effect<Compacted, InvalidBoundary | MessageNotFound | HeadMoved | Absent>
  }
>()("@skein/core/history/History") {
  static readonly layer = Layer.effect(
    History,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings
      const ids = yield* Ids
      const { dialect, dialects } = settings

      const readPart = (plan: HistoryPlan, stretches: HistoryPlan["stretches"]) =>
        Effect.map(storage.read(program.readStretches(plan.session.treeId, stretches)), toRenderEntries(dialect.name))

      const read = Effect.fnUntraced(function* (sessionId: string) {
        const plan = yield* storage.read(program.plan(settings, sessionId))
        const entries: Array<RenderEntry> = [...summaryOf(plan)]
        const damaged: Array<RenderRepair> = plan.unreadable === undefined ? [] : [unreadableRepair(plan.unreadable)]
        for (const stretches of program.inParts(plan.stretches)) {
          const part = yield* readPart(plan, stretches)
          entries.push(...part.entries)
          damaged.push(...part.damaged)
        }
        const { messages, repairs } = render(entries, dialect, dialects)
        const history: ModelHistory = {
          messages,
          repairs: [...damaged, ...repairs],
          historyVersion: plan.version,
          degraded: plan.degraded,
        }
        return history
      })

      /** Which calls an entry makes and answers, through its own dialect. */
      const spanOf = (entry: EntryRow) => {
        const own = dialects.get(entry.format?.dialect ?? dialect.name)
        const body = (entry.body ?? entry.model) as Json | undefined
        return own === undefined || body === undefined ? { calls: [], results: [] } : toolSpan(own, body, entry.role)
      }

      const stream = (sessionId: string) =>
        Stream.unwrap(
          Effect.map(storage.read(program.plan(settings, sessionId)), (plan) => {
            const parts = program.inParts(plan.stretches)
            let held: ReadonlyArray<RenderEntry> = summaryOf(plan)
            const rest = Stream.suspend(() => Stream.fromIterable(render(held, dialect, dialects).messages))
            return Stream.fromIterable(parts).pipe(
              Stream.mapEffect((stretches) => readPart(plan, stretches)),
              Stream.flatMap(({ entries }) => {
                const all = [...held, ...entries]
                const whole = wholeRounds(all, spanOfEntry)
                held = all.slice(whole)
                return Stream.fromIterable(render(all.slice(0, whole), dialect, dialects).messages)
              }),
              Stream.concat(rest),
            )
          }),
        )

      const spanOfEntry = (entry: RenderEntry) => {
        const own = "summary" in entry ? undefined : (dialects.get(entry.dialect) ?? dialect)
        return "summary" in entry || own === undefined
          ? { calls: [], results: [] }
          : toolSpan(own, entry.body, entry.role)
      }

      return History.of({
        read: (sessionId) => span("skein.history.read", { "skein.session": sessionId })(read(sessionId)),
        stream,
        tail: Effect.fnUntraced(function* (sessionId, { count, tokens }) {
          yield* checkInput(z.number().check(z.nonnegative()), tokens, "tokens")
          const history = yield* read(sessionId)
          const { messages } = history
          const spans = messages.map((message) =>
            toolSpan(dialect, message as Json, dialect.role(message as Json) ?? "user"),
          )
          let start = messages.length
          let used = 0
          for (let i = messages.length - 1; i >= 0; i--) {
            used += count(messages[i])
            if (used > tokens) break
            // Results follow their call at once, so that a message without results begins no round in its middle.
            if (spans[i]!.results.length === 0 || spans[i]!.calls.length > 0) start = i
          }
          return { ...history, messages: messages.slice(start) }
        }),
        compact: Effect.fnUntraced(function* (sessionId, given) {
          const { expectedHead, ...input } = yield* checkInput(CompactInputSchema, given, "input")
          const now = yield* Clock.currentTimeMillis
          const id =
            input.operationId === undefined
              ? yield* ids.mint("cmp_")
              : `cmp-${bytesToHex(sha256(utf8ToBytes(`${sessionId}\0${input.operationId}`)))}`
          const entry: NewEntry = {
            id,
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
          const compacting = storage.transact(program.compact(settings, sessionId, wanted, expectedHead, spanOf, now))
          const row = yield* Effect.catchTag(compacting, "StorageError", (error) =>
            error.reason._tag === "Constraint"
              ? Effect.flatMap(storage.read(program.findCompaction(settings, sessionId, id)), (stored) =>
                  stored === undefined ? Effect.fail(error) : Effect.succeed(stored),
                )
              : Effect.fail(error),
          )
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
      })
    }),
  )
}

const tokenCount = z.int().check(z.nonnegative())
const CompactInputSchema = z.strictObject({
  summary: z.string().check(z.refine((text) => text.trim() !== "", "must not be blank")),
  keepFrom: z.optional(z.string()),
  method: z.optional(z.string()),
  tokensBefore: z.optional(tokenCount),
  tokensAfter: z.optional(tokenCount),
  expectedHead: z.optional(z.nullable(z.string())),
  operationId: z.optional(z.string().check(z.minLength(1), z.maxLength(200))),
})

const summaryOf = ({ summary }: HistoryPlan): ReadonlyArray<RenderEntry> =>
  summary?.compaction === undefined
    ? []
    : [{ id: summary.id, summary: summary.compaction.summary, at: summary.createdAt }]

/** Rows as the renderer takes them; rows that are not replayed are left out, unreadable ones reported. */
const toRenderEntries = (dialectName: string) => (rows: ReadonlyArray<Readonly<EntryRow> | Unreadable>) => {
  const entries: Array<RenderEntry> = []
  const damaged: Array<RenderRepair> = []
  for (const row of rows) {
    if (isUnreadable(row)) damaged.push(unreadableRepair(row))
    else if (isReplayed(row)) {
      entries.push({
        id: row.id,
        role: row.role,
        body: (row.body ?? row.model) as Json,
        dialect: row.format?.dialect ?? dialectName,
        at: row.createdAt,
      })
    }
  }
  return { entries, damaged }
}

const unreadableRepair = (row: Unreadable): RenderRepair => ({
  entry: unreadableId(row),
  kind: "unreadable",
  detail: `the stored entry cannot be read: ${row.problem}`,
})

/** How many entries from the first on hold no call that is open behind them. */
const wholeRounds = (entries: ReadonlyArray<RenderEntry>, spanOf: (entry: RenderEntry) => ToolSpan): number => {
  let open: ReadonlyArray<string> = []
  let whole = 0
  for (const [i, entry] of entries.entries()) {
    open = openCalls([{ calls: open, results: [] }, spanOf(entry)])
    if (open.length === 0) whole = i + 1
  }
  return whole
}
