/**
 * Usage: the ledger of model calls, and running sums of it.
 *
 * The ledger has one row a call, with the coordinates that it was counted under: they stay, whatever becomes of the
 * session. The sums are kept in the commit that records a call. A sum is of one UTC day and of calls that differ in
 * nothing that is asked for: of all that an owner has, of a project, and of a session. It knows its quarter-hours, so
 * that the days of every time zone can be cut from it.
 */
import * as z from "zod/mini"
import { index, int, table, text } from "../storage/table.ts"

/** How a model call ended. All of them count. */
export const CallOutcome = z.enum(["completed", "failed", "aborted"])
export type CallOutcome = z.output<typeof CallOutcome>

/** Tokens of a call, each counted under one name. `null`: not known, which is not zero. */
export const Tokens = z.object({
  /** What was read and not found in a cache. */
  input: z.nullable(z.number()),
  /** What was written, without `reasoning`. */
  output: z.nullable(z.number()),
  reasoning: z.nullable(z.number()),
  cacheRead: z.nullable(z.number()),
  cacheWrite: z.nullable(z.number()),
})
export type Tokens = z.output<typeof Tokens>

/** What several calls add up to. Fields that are mostly zero come last: the text of a quarter-hour leaves them out. */
export const Tally = z.object({
  calls: z.number(),
  input: z.number(),
  output: z.number(),
  /** What is known of it, in billionths of the currency. */
  cost: z.number(),
  cacheRead: z.number(),
  /** Turns whose first call is among them. */
  turns: z.number(),
  reasoning: z.number(),
  cacheWrite: z.number(),
  failed: z.number(),
  aborted: z.number(),
  /** Calls of which `input` or `output` is not known. */
  unknown: z.number(),
})
export type Tally = z.output<typeof Tally>

/** Calls whose cost is in one currency; without a currency those whose cost is not known. */
export const Spent = z.object({ currency: z.optional(z.string()), ...Tally.shape })
export type Spent = z.output<typeof Spent>

/** Where running totals stood when a call was recorded by them. */
export const Reading = z.object({ ...Tokens.shape, cost: z.nullable(z.number()) })
export type Reading = z.output<typeof Reading>

export const UsageRow = z.object({
  /** The call's id as a key. */
  call: z.string(),
  callId: z.string(),
  provider: z.string(),
  model: z.string(),
  at: z.number(),
  outcome: CallOutcome,
  ...Tokens.shape,
  /** In billionths of the currency. */
  cost: z.nullable(z.number()),
  /** Present where the cost is known. */
  currency: z.optional(z.string()),
  /** Who said what it cost. */
  pricedBy: z.optional(z.enum(["caller", "table"])),
  entryId: z.optional(z.string()),
  /** Whether its turn is counted with it: it is the turn's first call. */
  opensTurn: z.optional(z.boolean()),
  raw: z.optional(z.unknown()),

  // What it was counted under.
  sessionId: z.string(),
  /** Empty: it belongs to none. */
  turn: z.string(),
  treeId: z.string(),
  projectId: z.string(),
  agent: z.optional(z.string()),
  owner: z.optional(z.string()),

  // Of calls that are told by running totals.
  /** The totals that it is a difference of, by their name as a key. */
  counter: z.optional(z.string()),
  reading: z.optional(Reading),
  /** All tokens of the reading: the highest one of a counter is the last. */
  reach: z.optional(z.number()),
})
export type UsageRow = z.output<typeof UsageRow>

export const UsageTable = table("usage", {
  row: UsageRow,
  key: [text("call")],
  indexes: {
    bySession: index(text("sessionId"), text("turn")),
    byTime: index(int("at")),
    byCounter: index(text("sessionId"), text("counter"), int("reach")),
  },
})

/** What a sum is a sum of. */
export const SumKind = z.enum(["all", "project", "session"])
export type SumKind = z.output<typeof SumKind>

export const UsageSumRow = z.object({
  /** The kind and the id of what it is a sum of. */
  scope: z.string(),
  /** Days since 1970, in UTC. */
  day: z.number(),
  /** What its calls have in common, as a key. */
  cell: z.string(),

  kind: SumKind,
  provider: z.string(),
  model: z.string(),
  agent: z.optional(z.string()),
  currency: z.optional(z.string()),
  owner: z.optional(z.string()),
  ownerKey: z.optional(z.string()),
  projectId: z.optional(z.string()),
  sessionId: z.optional(z.string()),
  treeId: z.optional(z.string()),

  /** The whole day. */
  tally: Tally,
  /** The same by quarter-hours: see `slots.ts`. */
  slots: z.string(),
})
export type UsageSumRow = z.output<typeof UsageSumRow>

export const UsageSumTable = table("usage_sum", {
  row: UsageSumRow,
  key: [text("scope"), int("day"), text("cell")],
  indexes: {
    byKind: index(text("kind"), int("day")),
    byOwner: index(text("kind"), text("ownerKey"), int("day")),
    byProject: index(text("projectId"), int("day")),
    byTree: index(text("treeId"), int("day")),
  },
})
