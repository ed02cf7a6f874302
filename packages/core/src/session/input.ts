/**
 * What callers may say of a session: when it is created, and later.
 */
import * as z from "zod/mini"
import { Text } from "../input.ts"
import type { MessageInput } from "../message/body.ts"
import { ProjectId } from "../project/model.ts"
import { WorkspacePath } from "../project/workspace.ts"
import { Channel, Model, RunLocation, SessionKind } from "./model.ts"

/** Longest title that may be given by hand, in UTF-16 units. */
export const titleLength = 500

/** Names that others are found by: an agent, an owner, a group, a source, a purpose. */
export const Name = Text.check(z.minLength(1), z.maxLength(200))
export const Title = Text.check(
  z.maxLength(titleLength),
  z.refine((title) => title.trim() !== "", "must not be blank: `null` clears it"),
)
const Visibility = z.enum(["visible", "hidden"])
const strict = {
  channel: z.strictObject(Channel.shape),
  model: z.strictObject(Model.shape),
  runLocation: z.strictObject(RunLocation.shape),
}

/** A session to create. */
export interface NewSession {
  /** 1 to 128 of `A–Z a–z 0–9 _ -`. Default: minted. The same id with the same input is the same session. */
  readonly id?: string
  /** Given by hand, so that no automatic title replaces it. At most 500 UTF-16 units. */
  readonly title?: string
  readonly agent?: string
  /** Whom it belongs to. Default: the owner that the store was opened with; another one is refused there. */
  readonly owner?: string
  /** The directory it works in. Its project is the one of this directory, unless `defaultWorkspace` or `projectId`. */
  readonly workspace?: string
  /** Default `false`. When true it belongs to the default project, whatever its workspace. */
  readonly defaultWorkspace?: boolean
  /** A project of its owner that is there already, for a worktree of it for instance. */
  readonly projectId?: string
  readonly runLocation?: RunLocation
  /** The session that starts it. It must be there. */
  readonly parentId?: string
  /** Default `conversation`. */
  readonly kind?: SessionKind
  /** Default `visible`. */
  readonly visibility?: "visible" | "hidden"
  /** Default `false`. */
  readonly pinned?: boolean
  readonly group?: string
  readonly source?: string
  readonly channel?: Channel
  readonly model?: Model
  readonly purpose?: string
  /** Any JSON. */
  readonly metadata?: unknown
  /** The first message, stored in the same commit. */
  readonly first?: MessageInput
}

export const NewSessionInput = z.strictObject({
  id: z.optional(z.string()),
  title: z.optional(Title),
  agent: z.optional(Name),
  owner: z.optional(Name),
  workspace: z.optional(WorkspacePath),
  defaultWorkspace: z.optional(z.boolean()),
  projectId: z.optional(ProjectId),
  runLocation: z.optional(strict.runLocation),
  parentId: z.optional(z.string()),
  kind: z.optional(SessionKind),
  visibility: z.optional(Visibility),
  pinned: z.optional(z.boolean()),
  group: z.optional(Name),
  source: z.optional(Name),
  channel: z.optional(strict.channel),
  model: z.optional(strict.model),
  purpose: z.optional(Name),
  metadata: z.optional(z.unknown()),
  first: z.optional(z.unknown()),
})

/** What may change. An absent field stays as it is, `null` clears it. */
export interface SessionPatch {
  /** Locks the title against automatic ones; `null` clears and unlocks it. */
  readonly title?: string | null
  readonly agent?: string | null
  readonly runLocation?: RunLocation | null
  readonly visibility?: "visible" | "hidden"
  readonly pinned?: boolean
  readonly archived?: boolean
  readonly group?: string | null
  readonly unread?: boolean
  readonly source?: string | null
  readonly channel?: Channel | null
  readonly model?: Model | null
  readonly purpose?: string | null
  readonly metadata?: unknown
}

const clearable = <Schema extends z.ZodMiniType>(schema: Schema) => z.optional(z.nullable(schema))

export const SessionPatchInput = z.strictObject({
  title: clearable(Title),
  agent: clearable(Name),
  runLocation: clearable(strict.runLocation),
  visibility: z.optional(Visibility),
  pinned: z.optional(z.boolean()),
  archived: z.optional(z.boolean()),
  group: clearable(Name),
  unread: z.optional(z.boolean()),
  source: clearable(Name),
  channel: clearable(strict.channel),
  model: clearable(strict.model),
  purpose: clearable(Name),
  metadata: z.optional(z.unknown()),
})

/** Fields of a session that are decided when it is created, or that follow from what happens to it. */
export const fixedFields: Readonly<Record<string, string>> = {
  id: "never changes",
  treeId: "never changes",
  owner: "never changes",
  kind: "never changes",
  type: "never changes",
  origin: "never changes",
  parentId: "never changes",
  forkedFrom: "never changes",
  createdAt: "never changes",
  projectId: "is decided at creation",
  workspaceDir: "is decided at creation: relocate the project",
  titleOrigin: "follows from the title",
  status: "follows from the turns",
  error: "follows from the turns",
  preview: "follows from the head",
  head: "is moved by the heads service",
}

/** What must still be so for a change to be made. `null`: that there is none. */
export interface Expected {
  readonly revision?: number
  readonly title?: string | null
  readonly model?: Model | null
}

export const ExpectedInput = z.strictObject({
  revision: z.optional(z.int()),
  title: clearable(z.string()),
  model: clearable(strict.model),
})
