/**
 * The tree of a conversation: trees, their branches, and the entries on them.
 *
 * The parent link is on the branch, not on the message: a branch is a straight run of entries with dense positions from
 * 1, and knows its nearest ancestors (`trail`). Positions and branch numbers are assigned inside a commit and never
 * reused; a parent's number is smaller than its child's.
 */
import * as z from "zod/mini"
import { index, int, table, text, unique } from "../storage/table.ts"

/** A place in a tree. `(0, 0)` is the root: the place before the first entry. */
export const EntryRef = z.object({ branch: z.number(), pos: z.number() })
export type EntryRef = z.output<typeof EntryRef>

export const root: EntryRef = { branch: 0, pos: 0 }

/** What holds of the path up to an entry, the entry included. Written with it and never changed. */
export const Facts = z.object({
  /** Entries on the path. */
  entries: z.number(),
  /** Entries that people see. */
  displays: z.number(),
  /** Prompts: what the user said, and was not hidden. */
  prompts: z.number(),
  turns: z.number(),
  lastPrompt: z.optional(EntryRef),
  lastCompaction: z.optional(EntryRef),
  /** The last entry that the model is given. With the last compaction and amendment it says all that is replayed. */
  lastReplayed: z.optional(EntryRef),
  lastAmendment: z.optional(EntryRef),
})
export type Facts = z.output<typeof Facts>

export const noFacts: Facts = { entries: 0, displays: 0, prompts: 0, turns: 0 }

export const TreeRow = z.object({
  treeId: z.string(),
  /** The number that the next branch gets. */
  nextBranch: z.number(),
  /** How many redactions the tree has seen: part of every reader's `historyVersion`. */
  redactions: z.number(),
})
export type TreeRow = z.output<typeof TreeRow>
export const TreeTable = table("tree", { row: TreeRow, key: [text("treeId")] })

/** How many ancestors a branch knows. */
export const trailLength = 64

/** An ancestor of a branch, and how much of it belongs to the path. */
export const TrailStep = z.object({
  branch: z.number(),
  /** Last position on the path. */
  upTo: z.number(),
  /** `displays` of the facts there. */
  displays: z.number(),
  /** `prompts` of the facts there. */
  prompts: z.number(),
})
export type TrailStep = z.output<typeof TrailStep>

export const BranchName = z.object({ text: z.string(), origin: z.enum(["automatic", "manual"]) })

export const BranchRow = z.object({
  treeId: z.string(),
  branch: z.number(),
  /** The branch it left, 0 at the root. */
  parent: z.number(),
  /** The last position of the parent on this path, 0 at the root. */
  forkAt: z.number(),
  /** The session that extends it. */
  owner: z.string(),
  /** The nearest ancestors, nearest first. */
  trail: z.array(TrailStep),
  createdAt: z.number(),
  name: z.optional(BranchName),
  /** The position of its end when that was merged. While it ends there, it is not listed. */
  merged: z.optional(z.number()),
  /** Its end was deleted: it is never extended again, so that no place is used twice. */
  closed: z.optional(z.boolean()),
})
export type BranchRow = z.output<typeof BranchRow>
export const BranchTable = table("branch", {
  row: BranchRow,
  key: [text("treeId"), int("branch")],
  indexes: {
    byOwner: index(text("owner"), int("branch")),
    byParent: index(text("treeId"), int("parent"), int("forkAt")),
  },
})

export const roles = ["user", "assistant", "tool", "system"] as const
export const Role = z.enum(roles)
export type Role = z.output<typeof Role>

export const EntryKind = z.enum(["message", "compaction", "amendment", "note", "link"])
export type EntryKind = z.output<typeof EntryKind>

/** What a body means: the dialect that reads it. */
export const Format = z.object({ dialect: z.string(), version: z.number() })
export type Format = z.output<typeof Format>

/** A compaction: what the model is told instead of what came before. */
export const Compaction = z.object({
  summary: z.string(),
  /** The first entry that is replayed after the summary; absent: nothing before the compaction is. */
  keepFrom: z.optional(EntryRef),
  method: z.optional(z.string()),
  tokensBefore: z.optional(z.number()),
  tokensAfter: z.optional(z.number()),
  operationId: z.optional(z.string()),
  /** How many compactions in a row, this one included, saved nothing. */
  savedNothing: z.number(),
})
export type Compaction = z.output<typeof Compaction>

/** An amendment: how the model is given the tool results of a message that is before it on the path. */
export const Amendment = z.object({
  /** The message, and its id. */
  of: EntryRef,
  message: z.string(),
  /** The call whose result is meant; absent: all of the message. */
  call: z.optional(z.string()),
  /** At most so many characters of it, without files. */
  trim: z.optional(z.number()),
  /** What the model is told instead. With neither of the two the result is given as it is stored. */
  archive: z.optional(z.string()),
})
export type Amendment = z.output<typeof Amendment>

/** A body that is kept as a blob, and how many bytes its JSON has. */
export const BodyBlob = z.object({ hash: z.string(), bytes: z.number() })
export type BodyBlob = z.output<typeof BodyBlob>

/** Which bodies of an entry are large, and what is looked at without loading them. */
export const Large = z.object({
  body: z.optional(BodyBlob),
  display: z.optional(BodyBlob),
  model: z.optional(BodyBlob),
  /** The beginning of what a person would read of it. */
  text: z.string(),
  /** The calls and results in what the model is given. */
  uses: z.array(z.object({ type: z.enum(["call", "result"]), id: z.string() })),
})
export type Large = z.output<typeof Large>

/** A link: another conversation, or another branch of this one, as it was when it was put here. */
export const Link = z.object({
  session: z.string(),
  /** A branch of the very session that the link was put into. Absent: the other session's head is meant. */
  branch: z.optional(z.number()),
  /** The id of the last message there. */
  entry: z.string(),
  title: z.string(),
})
export type Link = z.output<typeof Link>

export const EntryRow = z.object({
  treeId: z.string(),
  branch: z.number(),
  pos: z.number(),
  id: z.string(),
  kind: EntryKind,
  role: Role,
  createdAt: z.number(),
  /** One body that is both shown and replayed. */
  body: z.optional(z.unknown()),
  /** What people see, where it is not what the model is given. */
  display: z.optional(z.unknown()),
  /** What the model is given, where it is not what people see. */
  model: z.optional(z.unknown()),
  /** Its large bodies: settled they are `null` here, and in the blobs that this names. See `large.ts`. */
  large: z.optional(Large),
  format: z.optional(Format),
  metadata: z.optional(z.unknown()),
  source: z.optional(z.string()),
  sourceContext: z.optional(z.unknown()),
  /** Any JSON of the host's that goes with it. */
  attachments: z.optional(z.array(z.unknown())),
  /** The turn it belongs to. */
  turn: z.optional(z.string()),
  /** Whether it is the first entry of its turn. */
  startsTurn: z.optional(z.boolean()),
  /** It is still being written: its bodies will change. Absent: it is settled and never will. */
  draft: z.optional(z.boolean()),
  /** Settled by something else than its end: the turn was aborted, or was found dead. */
  cut: z.optional(z.enum(["aborted", "failed", "interrupted"])),
  /** When its content was redacted. */
  redacted: z.optional(z.number()),
  compaction: z.optional(Compaction),
  amendment: z.optional(Amendment),
  link: z.optional(Link),
  /** For prompts: what the session's preview says while this is the last one. */
  preview: z.optional(z.string()),
  facts: Facts,
  /** The ordinal among what people see on its path; absent where nobody sees it. */
  shown: z.optional(z.number()),
  /** The ordinal among the prompts on its path; absent where it is none. */
  prompt: z.optional(z.number()),
  /** Its own position where it is an amendment, which is how those of a path are found. */
  amends: z.optional(z.number()),
  /** The other session where it is a link to one. */
  linked: z.optional(z.string()),
})
export type EntryRow = z.output<typeof EntryRow>
export const EntryTable = table("entry", {
  row: EntryRow,
  key: [text("treeId"), int("branch"), int("pos")],
  indexes: {
    byId: unique(text("treeId"), text("id")),
    byShown: index(text("treeId"), int("branch"), int("shown")),
    byPrompt: index(text("treeId"), int("branch"), int("prompt")),
    byAmendment: index(text("treeId"), int("branch"), int("amends")),
    // Whether anything links to a session, which retention then leaves alone, is one look-up of `[session]`.
    byLinked: index(text("linked")),
  },
})
