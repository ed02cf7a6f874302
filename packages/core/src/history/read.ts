/**
 * Reading model history: from entries on the path to messages in the reader's dialect.
 */
import * as Effect from "effect/Effect"
import { inRuns, loadedAtOnce } from "../message/large.ts"
import { loaded } from "../message/load.ts"
import type { EntryRow } from "../message/model.ts"
import { comesBefore, isReplayed, modelOf, placeKey } from "../message/placement.ts"
import { unreadableId } from "../message/record.ts"
import type { SessionAbsent } from "../session/program.ts"
import type { SkeinSettings } from "../settings.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import type { Json } from "../storage/json.ts"
import type { Storage } from "../storage/storage.ts"
import { isUnreadable } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import * as program from "./program.ts"
import type { HistoryPlan } from "./program.ts"
import { messagesOf, render } from "./render.ts"
import type { MessageEntry, RenderEntry, RenderRepair } from "./render.ts"
import { toolUses } from "./rounds.ts"
import { isAmendable } from "./amendment.ts"
import type { UsesOf } from "./boundary.ts"
import type { ToolUse } from "./rounds.ts"
import { inParts } from "./stretches.ts"

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

/** Part of what is replayed. */
export interface HistoryPart {
  readonly entries: ReadonlyArray<RenderEntry>
  readonly damaged: ReadonlyArray<RenderRepair>
}

type Row = Readonly<EntryRow> | Unreadable

export interface HistoryReader {
  /** All that is replayed. */
  readonly read: (sessionId: string) => Effect.Effect<ModelHistory, SessionAbsent | InvalidInput | StorageError>
  /** What stands on stretches, without large bodies: in runs of which each may be loaded at a time. */
  readonly readRuns: (
    plan: HistoryPlan,
    stretches: HistoryPlan["stretches"],
  ) => Effect.Effect<ReadonlyArray<ReadonlyArray<Row>>, SessionAbsent | InvalidInput | StorageError>
  readonly load: (
    plan: HistoryPlan,
    rows: ReadonlyArray<Row>,
  ) => Effect.Effect<HistoryPart, InvalidInput | StorageError>
  /** The calls and results in a message. */
  readonly usesOf: (entry: MessageEntry) => ReadonlyArray<ToolUse>
  /** The same, of a message as it is stored. */
  readonly usesOfRow: UsesOf
  /** The results that may be amended. */
  readonly resultsOf: program.ResultsOf
}

export const historyReader = (storage: Storage["Service"], settings: SkeinSettings): HistoryReader => {
  const { dialect, dialects } = settings
  const usesOf = (entry: MessageEntry) => entry.uses ?? toolUses(messagesOf(entry, dialect, dialects))
  const resultsOf: program.ResultsOf = (row, amendments) =>
    messagesOf({ ...toMessageEntry(dialect.name, row), amendments }, dialect, dialects)
      .flatMap(({ content }) => content)
      .filter(isAmendable)
  const rendersAs = { dialect: dialect.name, callsOf: (entry: MessageEntry) => callsIn(usesOf(entry)) }

  const readRows = (plan: HistoryPlan, stretches: HistoryPlan["stretches"]) =>
    storage.read(program.part(settings, plan.session, stretches))

  const load = (plan: HistoryPlan, rows: ReadonlyArray<Row>) =>
    Effect.map(loaded(storage, rows.filter(mayBeReplayed)), (whole) => toRenderEntries(whole, plan, rendersAs))

  const read = Effect.fnUntraced(function* (sessionId: string) {
    const plan = yield* storage.read(program.plan(settings, sessionId))
    const entries: Array<RenderEntry> = [...summaryOf(plan)]
    const damaged: Array<RenderRepair> = plan.unreadable === undefined ? [] : [unreadableRepair(plan.unreadable)]
    for (const stretches of inParts(plan.stretches)) {
      const part = yield* load(plan, yield* readRows(plan, stretches))
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
  const usesOfRow: UsesOf = (row) => usesOf(toMessageEntry(dialect.name, row))
  return {
    read,
    readRuns: (plan, stretches) => Effect.map(readRows(plan, stretches), (rows) => inRuns(rows, loadedAtOnce)),
    load,
    usesOf,
    usesOfRow,
    resultsOf,
  }
}

/** What is not replayed need not be loaded. */
const mayBeReplayed = (row: Row): boolean => isUnreadable(row) || isReplayed(row)

export const summaryOf = ({ summary }: HistoryPlan): ReadonlyArray<RenderEntry> =>
  summary?.compaction === undefined
    ? []
    : [{ id: summary.id, summary: summary.compaction.summary, at: summary.createdAt }]

interface RendersAs {
  /** The dialect of bodies that name none. */
  readonly dialect: string
  readonly callsOf: (entry: MessageEntry) => ReadonlyArray<string>
}

/**
 * Rows as the renderer takes them. Rows that are not replayed are left out, and so is what the running turn is still
 * writing; unreadable ones are reported.
 */
const toRenderEntries = (
  rows: ReadonlyArray<Readonly<EntryRow> | Unreadable>,
  { amendments, endings, session: { activeTurn, waiting } }: HistoryPlan,
  { callsOf, dialect }: RendersAs,
) => {
  const entries: Array<RenderEntry> = []
  const damaged: Array<RenderRepair> = []
  for (const row of rows) {
    if (isUnreadable(row)) {
      damaged.push(unreadableRepair(row))
      continue
    }
    const { draft, turn } = row
    if (!isReplayed(row) || (draft === true && turn === activeTurn?.id)) continue
    const amending = amendments.get(placeKey(row))
    const entry = { ...toMessageEntry(dialect, row), ...(amending !== undefined && { amendments: amending }) }
    const ending = row.cut ?? (turn === undefined ? undefined : endings.get(turn))
    const mayWait = turn !== undefined && waiting?.from !== undefined && !comesBefore(row, waiting.from)
    if (mayWait) entries.push({ ...entry, pendingCalls: waiting.calls ?? callsOf(entry) })
    else entries.push(ending === undefined ? entry : { ...entry, ending })
  }
  return { entries, damaged }
}

/** Ids of the calls that are made, whether or not they are answered. */
const callsIn = (uses: ReadonlyArray<ToolUse>): ReadonlyArray<string> =>
  uses.flatMap(({ id, type }) => (type === "call" ? [id] : []))

export const toMessageEntry = (dialectName: string, row: EntryRow): MessageEntry => ({
  id: row.id,
  role: row.role,
  body: modelOf(row) as Json,
  dialect: row.format?.dialect ?? dialectName,
  at: row.createdAt,
  ...(modelOf(row) === null && { uses: row.large?.uses ?? [] }),
})

const unreadableRepair = (row: Unreadable): RenderRepair => ({
  entry: unreadableId(row),
  kind: "unreadable",
  detail: `the stored entry cannot be read: ${row.problem}`,
})
