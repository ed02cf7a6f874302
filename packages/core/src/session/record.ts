/**
 * Sessions as callers see them: the row without the bookkeeping.
 */
import { totalsOf } from "../usage/totals.ts"
import type { UsageTotals } from "../usage/totals.ts"
import { copyOf } from "../value.ts"
import { shownOf } from "./shown.ts"
import type {
  Channel,
  Model,
  QueuePause,
  RunLocation,
  SessionFailure,
  SessionKind,
  SessionRow,
  SessionStatus,
  TitleOrigin,
} from "./model.ts"

/** One conversation. All times are milliseconds since 1970; absent fields were never set, or were cleared. */
export interface Session {
  readonly id: string
  /** The family of conversations that share a beginning: a fork has the tree of its source. */
  readonly treeId: string
  readonly title?: string
  /** `manual` is locked: no automatic title replaces it. */
  readonly titleOrigin: TitleOrigin
  readonly agent?: string
  /** Whom it belongs to. Never changes. */
  readonly owner?: string
  readonly projectId: string
  /** The directory it works in, as it was spelled. */
  readonly workspaceDir?: string
  readonly runLocation?: RunLocation
  /** The session that started it. */
  readonly parentId?: string
  /** Where a fork left its source. The source may be gone. */
  readonly forkedFrom?: {
    readonly sessionId: string
    /** The last message that both have; `null`: none. */
    readonly entry: string | null
  }
  /** Of a side conversation: the last message that it has inherited, and does not show. */
  readonly displayFrom?: string
  /** `root`: the main session of its agent. `branch`: any other. */
  readonly type: "root" | "branch"
  readonly kind: SessionKind
  readonly status: SessionStatus
  /** Why it failed, while `status` is `failed`. */
  readonly error?: SessionFailure
  readonly visibility: "visible" | "hidden"
  readonly pinned: boolean
  readonly archived: boolean
  readonly group?: string
  readonly unread: boolean
  /** Where it came from, such as `cli`. */
  readonly source?: string
  readonly channel?: Channel
  readonly model?: Model
  readonly purpose?: string
  /** The last thing the user said on the path, in one line of at most 80 UTF-16 units. Empty: nothing yet. */
  readonly preview: string
  /** Any JSON of the host's. */
  readonly metadata?: unknown
  /** `native`, or the program it was imported from. */
  readonly origin: string
  /** How much of an imported session is here. Native ones are `ready`. */
  readonly readiness: SessionRow["readiness"]
  /** What is still to be said. Absent while nothing waits. */
  readonly queue?: { readonly items: number; readonly pause?: QueuePause }
  readonly createdAt: number
  /** Moves on every change. Never goes back. */
  readonly updatedAt: number
  /** Moves when something is said, and not for flags or titles. Lists are ordered by it. */
  readonly activityAt: number
  /** The message where it stands; `null` before the first one. */
  readonly head: string | null
  /** Counts moves of the head, appends included. */
  readonly headVersion: number
  /** The turn that runs, while one does. */
  readonly activeTurn?: {
    readonly id: string
    readonly epoch: number
    /** The instance that runs it. */
    readonly owner: string
    readonly host: string
    readonly startedAt: number
    /** When its lease ends unless it is renewed. */
    readonly until: number
    /** Whether somebody has asked it to stop. */
    readonly aborting: boolean
  }
  /** What the last turn waits for, while `status` is `needs_input`. `calls`: tool calls; absent: all that are open. */
  readonly waiting?: { readonly turn: string; readonly calls?: ReadonlyArray<string> }
  /** Counts what changed the history that a model is given. */
  readonly historyVersion: number
  /** Counts all changes. Give it as `expected.revision` to change only what was seen. */
  readonly revision: number
  /** What is on the path from the first message to the head. */
  readonly counts: {
    readonly entries: number
    /** Entries that people see. */
    readonly messages: number
    /** What the user said. */
    readonly prompts: number
    readonly turns: number
  }
  /** What its model calls used, wherever the head stands now. */
  readonly usage: UsageTotals
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

/** What goes out is a copy: programs of one group share their rows. */
export const toSession = (row: Readonly<SessionRow>): Session => toListed(row, undefined)

/** A session as a list has it, with the name of its project. */
export const toListed = (row: Readonly<SessionRow>, projectName: string | undefined): ListedSession => {
  const { displays, prompts } = shownOf(row, row.facts)
  const session: Writable<ListedSession> = {
    id: row.id,
    treeId: row.treeId,
    titleOrigin: row.titleOrigin,
    projectId: row.projectId,
    type: row.type,
    kind: row.kind,
    status: row.status,
    visibility: row.visibility,
    pinned: row.pinned,
    archived: row.archived,
    unread: row.unread,
    preview: row.preview,
    origin: row.origin,
    readiness: row.readiness,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    activityAt: row.activityAt,
    head: row.head.id ?? null,
    headVersion: row.headVersion,
    historyVersion: row.historyVersion,
    revision: row.revision,
    counts: {
      entries: row.facts.entries,
      messages: displays,
      prompts,
      turns: row.facts.turns,
    },
    usage: totalsOf(row.usage),
  }
  if (row.title !== undefined) session.title = row.title
  if (row.agent !== undefined) session.agent = row.agent
  if (row.owner !== undefined) session.owner = row.owner
  if (row.workspaceDir !== undefined) session.workspaceDir = row.workspaceDir
  if (row.runLocation !== undefined) session.runLocation = { ...row.runLocation }
  if (row.parentId !== undefined) session.parentId = row.parentId
  if (row.forkedFrom !== undefined) session.forkedFrom = { ...row.forkedFrom }
  if (row.displayFrom !== undefined) session.displayFrom = row.displayFrom.id
  if (row.error !== undefined) session.error = { ...row.error }
  if (row.group !== undefined) session.group = row.group
  if (row.source !== undefined) session.source = row.source
  if (row.channel !== undefined) session.channel = { ...row.channel }
  if (row.model !== undefined) session.model = { ...row.model }
  if (row.purpose !== undefined) session.purpose = row.purpose
  if (row.metadata !== undefined) session.metadata = copyOf(row.metadata)
  if (row.activeTurn !== undefined) {
    const { abort, epoch, host, id, owner, startedAt, until } = row.activeTurn
    session.activeTurn = { id, epoch, owner, host, startedAt, until, aborting: abort !== undefined }
  }
  if (row.waiting !== undefined) {
    const { calls, turn } = row.waiting
    session.waiting = { turn, ...(calls !== undefined && { calls: [...calls] }) }
  }
  if (row.queue !== undefined) {
    const { items, pause } = row.queue
    session.queue = { items, ...(pause !== undefined && { pause: { ...pause } }) }
  }
  if (projectName !== undefined) session.projectName = projectName
  return session
}

/** A session as a list has it. */
export interface ListedSession extends Session {
  /** The name of its project. */
  readonly projectName?: string
}

/** A session that is stored and cannot be read. It is still there; reading it alone fails with `Corrupt`. */
export interface DegradedSession {
  readonly id: string
  readonly problem: string
}
