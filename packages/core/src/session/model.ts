/**
 * Sessions: one row a conversation, as a user sees it in a list.
 *
 * A list reads these rows and nothing else. Everything that a list shows or filters by is therefore here, kept in the
 * same commit as what it is derived from.
 */
import * as z from "zod/mini"
import { EntryRef, Facts } from "../message/model.ts"
import { descInt, index, int, table, text, unique } from "../storage/table.ts"
import { Spent } from "../usage/model.ts"

export const SessionKind = z.enum(["conversation", "task", "peek", "channel", "cron", "unknown"])
export type SessionKind = z.output<typeof SessionKind>

export const SessionStatus = z.enum(["idle", "running", "needs_input", "done", "failed", "aborted", "interrupted"])
export type SessionStatus = z.output<typeof SessionStatus>

export const TitleOrigin = z.enum(["none", "automatic", "manual"])
export type TitleOrigin = z.output<typeof TitleOrigin>

export const RunLocation = z.object({
  kind: z.enum(["current", "new-worktree", "worktree"]),
  branch: z.optional(z.string()),
  parentRepository: z.optional(z.string()),
})
export type RunLocation = z.output<typeof RunLocation>

export const Channel = z.object({
  type: z.string(),
  account: z.optional(z.string()),
  peerId: z.optional(z.string()),
  peerName: z.optional(z.string()),
})
export type Channel = z.output<typeof Channel>

export const Model = z.object({
  provider: z.string(),
  model: z.string(),
  variant: z.optional(z.string()),
  thinking: z.optional(z.string()),
  contextWindow: z.optional(z.number()),
  maxOutputTokens: z.optional(z.number()),
})
export type Model = z.output<typeof Model>

export const SessionFailure = z.object({
  message: z.string(),
  code: z.optional(z.string()),
  source: z.optional(z.string()),
  detail: z.optional(z.string()),
})
export type SessionFailure = z.output<typeof SessionFailure>

/** The one list a session stands in: archived before kind before hidden, so that a list reads one shelf. */
export const Shelf = z.enum(["main", "task", "peek", "cron", "archived", "hidden"])
export type Shelf = z.output<typeof Shelf>

/** The turn that holds a session: what its writers and its observers need of it, in the row that both touch anyway. */
export const ActiveTurn = z.object({
  id: z.string(),
  /** The fence: every write of the turn carries it, and only the newest is let through. */
  epoch: z.number(),
  /** The id that was minted for it, where its queue item had one of its own: who began it knows it by that. */
  minted: z.optional(z.string()),
  /** The instance that runs it, and the host whose wall clock `until` was read from. */
  owner: z.string(),
  host: z.string(),
  startedAt: z.number(),
  /** Counts renewals of the lease: an observer without a common clock sees by it that the owner lives. */
  beat: z.number(),
  /** The length of the lease, and when it ends, in milliseconds. Others may give the turn up then; its owner need not. */
  lease: z.number(),
  until: z.number(),
  /** The first and the last entry that it wrote. The last may be one that it began with and that was there before. */
  first: z.optional(EntryRef),
  last: z.optional(EntryRef),
  /** Entries that it is still writing. */
  drafts: z.array(EntryRef),
  /** Questions whose steps it has running, by the keys of their views. */
  views: z.optional(z.array(z.string())),
  /** Of a turn that answers: since which entry the calls were made that may still wait when it ends. */
  resumes: z.optional(EntryRef),
  /** Somebody wants it to stop. */
  abort: z.optional(z.object({ at: z.number(), reason: z.optional(z.string()) })),
})
export type ActiveTurn = z.output<typeof ActiveTurn>

/** What a turn that ended with `needs_input` waits for. The next turn answers it, or closes it. */
export const Waiting = z.object({
  turn: z.string(),
  /** The first entry whose calls may wait: the turn's, or that of the turn that it went on with. */
  from: z.optional(EntryRef),
  /** Ids of the tool calls that wait for an answer. Absent: all that have none. */
  calls: z.optional(z.array(z.string())),
  /** The entry that stays unsettled until it is answered. */
  draft: z.optional(EntryRef),
})
export type Waiting = z.output<typeof Waiting>

/** `needs-input`: a turn waits for an answer. That pause ends with the question, whoever answers or closes it. */
export const PauseCause = z.enum(["user-stop", "turn-final-failure", "needs-input"])
export type PauseCause = z.output<typeof PauseCause>

/** Why a queue stands still, and since when. */
export const QueuePause = z.object({ cause: PauseCause, turn: z.optional(z.string()), at: z.number() })
export type QueuePause = z.output<typeof QueuePause>

/** What the session's row knows of its queue. Absent while nothing waits. */
export const QueueState = z.object({
  /** How many items wait, claimed ones included. */
  items: z.number(),
  /** Since when the first item waits; while any is claimed, when the last of the claims ends. */
  since: z.number(),
  /** How many items are claimed. */
  claimed: z.number(),
  /** No item has a smaller order, or a greater one. */
  front: z.number(),
  back: z.number(),
  pause: z.optional(QueuePause),
})
export type QueueState = z.output<typeof QueueState>

/** Where the head stands. `id` is the entry's, absent at the root. */
export const Head = z.object({ ...EntryRef.shape, id: z.optional(z.string()) })
export type Head = z.output<typeof Head>

/** The last entry that is not shown, and how many of those that people see and of the prompts are at it or before. */
export const DisplayFrom = z.object({ ...EntryRef.shape, id: z.string(), displays: z.number(), prompts: z.number() })
export type DisplayFrom = z.output<typeof DisplayFrom>

export const SessionRow = z.object({
  id: z.string(),
  treeId: z.string(),
  title: z.optional(z.string()),
  titleOrigin: TitleOrigin,
  /** How many automatic titles were given. */
  autoTitles: z.number(),
  agent: z.optional(z.string()),
  owner: z.optional(z.string()),
  projectId: z.string(),
  workspaceDir: z.optional(z.string()),
  runLocation: z.optional(RunLocation),
  parentId: z.optional(z.string()),
  forkedFrom: z.optional(z.object({ sessionId: z.string(), entry: z.nullable(z.string()) })),
  type: z.enum(["root", "branch"]),
  kind: SessionKind,
  status: SessionStatus,
  error: z.optional(SessionFailure),
  visibility: z.enum(["visible", "hidden"]),
  pinned: z.boolean(),
  archived: z.boolean(),
  group: z.optional(z.string()),
  unread: z.boolean(),
  source: z.optional(z.string()),
  channel: z.optional(Channel),
  model: z.optional(Model),
  purpose: z.optional(z.string()),
  preview: z.string(),
  metadata: z.optional(z.unknown()),
  origin: z.string(),
  readiness: z.enum(["metadata", "display", "ready", "failed"]),
  /** Digest of the input that created it: the same input under the same id is the same session. */
  inputDigest: z.optional(z.string()),
  createdAt: z.number(),
  updatedAt: z.number(),
  activityAt: z.number(),

  head: Head,
  headVersion: z.number(),
  historyVersion: z.number(),
  revision: z.number(),
  /** Facts of the path up to the head. */
  facts: Facts,
  /**
   * Present when the head is the tip of a branch that this session owns: then the next entry goes right behind it. The
   * number is how many entries the path has before that branch, so that `head.pos + tip` must equal `facts.entries`: a
   * head that was damaged is noticed without reading anything else.
   */
  tip: z.optional(z.number()),
  /** Where a fork left its source. Never changes. */
  base: z.optional(EntryRef),
  /** What a side conversation has inherited and does not show: so much of its path. Never changes. */
  displayFrom: z.optional(DisplayFrom),
  /** Moves journalled so far, and the moves that undo and redo would act on. */
  moves: z.number(),
  undo: z.optional(z.number()),
  redo: z.optional(z.number()),

  /** How many turns it has had: the epoch of the last one. */
  epoch: z.number(),
  activeTurn: z.optional(ActiveTurn),
  waiting: z.optional(Waiting),
  /** How many turns were completed: automatic titles are due by it. */
  answers: z.number(),
  queue: z.optional(QueueState),

  /** What its model calls add up to, by currency. Absent: there were none. */
  usage: z.optional(z.array(Spent)),

  // Index fields: keys made of what stands above.
  shelf: Shelf,
  workspaceKey: z.optional(z.string()),
  ownerKey: z.optional(z.string()),
  /** Of sessions of type `root`: agent and owner, for there is one of each. */
  rootKey: z.optional(z.string()),
  /** The workspace as it was spelled, where links were resolved: it is found by that too, when the link is gone. */
  spelledKey: z.optional(z.string()),
  /** `base`, apart. */
  baseBranch: z.optional(z.number()),
  basePos: z.optional(z.number()),
  /** Of forks that have a title: what it says without its number, as a key, and the number. See `title.ts`. */
  titleKey: z.optional(z.string()),
  titleNumber: z.optional(z.number()),
  /** Present while its queue may be worked on: what waits there has waited since then. See `withDue`. */
  due: z.optional(z.number()),
})
export type SessionRow = z.output<typeof SessionRow>

export const SessionTable = table("session", {
  row: SessionRow,
  key: [text("id")],
  indexes: {
    byShelf: index(text("shelf"), descInt("activityAt")),
    byWorkspace: index(text("shelf"), text("workspaceKey"), descInt("activityAt")),
    bySpelling: index(text("shelf"), text("spelledKey"), descInt("activityAt")),
    byProject: index(text("shelf"), text("projectId"), descInt("activityAt")),
    byOwner: index(text("shelf"), text("ownerKey"), descInt("activityAt")),
    byParent: index(text("parentId"), descInt("createdAt")),
    byTree: index(text("treeId")),
    byBase: index(text("treeId"), int("baseBranch"), int("basePos")),
    byForkTitle: index(text("treeId"), text("titleKey"), int("titleNumber")),
    byRoot: unique(text("rootKey")),
    byDue: index(int("due")),
  },
})
