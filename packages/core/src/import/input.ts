/**
 * What an importer says of another program's sessions and messages.
 */
import * as z from "zod/mini"
import { Text } from "../input.ts"
import { Format, Role } from "../message/model.ts"
import { WorkspacePath } from "../project/workspace.ts"
import { Name, Title } from "../session/input.ts"
import { Model, SessionFailure, SessionKind } from "../session/model.ts"
import type { Json } from "../storage/json.ts"

const Time = z.int().check(z.nonnegative())
/** Any text that the source uses as an id. Where it cannot be one here, one is made from it. */
const SourceId = z.string().check(z.minLength(1), z.maxLength(1_000))

/** A session as it stands at its source. Times are milliseconds since 1970. */
export interface ImportedSession {
  readonly id: string
  /** Differs when anything of the session, its messages included, differs. */
  readonly fingerprint: string
  /** How many messages the source says it has. */
  readonly messages: number
  readonly createdAt: number
  readonly updatedAt: number
  /** When something was last said. */
  readonly activityAt: number
  /** Kept as one given by hand, since sources do not tell: no automatic title replaces it. */
  readonly title?: string
  /** The directory it works in. Absent: it belongs to the default project. */
  readonly workspace?: string
  /** The session that started it, by its id at the source. */
  readonly parentId?: string
  /** Default `conversation`. */
  readonly kind?: SessionKind
  /** Default `idle`. What was running is `interrupted`. */
  readonly status?: "idle" | "done" | "failed" | "aborted" | "interrupted"
  readonly error?: SessionFailure
  /** Default `false`. */
  readonly archived?: boolean
  readonly agent?: string
  readonly model?: Model
  readonly purpose?: string
  readonly metadata?: Json
  /** The message where it stands, by its id at the source; `null` is the root. Default: the last one. */
  readonly head?: string | null
}

export const ImportedSessionInput = z.strictObject({
  id: SourceId,
  fingerprint: z.string(),
  messages: z.int().check(z.nonnegative()),
  createdAt: Time,
  updatedAt: Time,
  activityAt: Time,
  title: z.optional(Title),
  workspace: z.optional(WorkspacePath),
  parentId: z.optional(SourceId),
  kind: z.optional(SessionKind),
  status: z.optional(z.enum(["idle", "done", "failed", "aborted", "interrupted"])),
  error: z.optional(z.strictObject(SessionFailure.shape)),
  archived: z.optional(z.boolean()),
  agent: z.optional(Name),
  model: z.optional(z.strictObject(Model.shape)),
  purpose: z.optional(Name),
  metadata: z.optional(z.unknown()),
  head: z.optional(z.nullable(SourceId)),
})

export type CheckedSession = z.output<typeof ImportedSessionInput>

/** A message as its source has it. Bodies are as for `append`. */
export interface ImportedMessage {
  readonly id: string
  /** `note` is shown and never replayed, and is no prompt. Default `message`. */
  readonly kind?: "message" | "note"
  readonly role: Role
  /** When it was said, in milliseconds since 1970. */
  readonly createdAt: number
  readonly body?: Json
  readonly display?: Json
  readonly model?: Json
  /** What the bodies mean. Default: version 1 of `generic`. */
  readonly format?: Format
  readonly metadata?: Json
  /** The message is a compaction: what the model is told, and the message (by its id) from which on it is replayed. */
  readonly compaction?: { readonly summary: string; readonly keepFrom?: string }
}

const hasBodies = (message: { body?: unknown; display?: unknown; model?: unknown }): boolean => {
  const { body, display, model } = message
  return body === undefined
    ? display !== undefined || model !== undefined
    : display === undefined && model === undefined
}

export const ImportedMessageInput = z
  .strictObject({
    id: SourceId,
    kind: z.optional(z.enum(["message", "note"])),
    role: Role,
    createdAt: Time,
    body: z.optional(z.unknown()),
    display: z.optional(z.unknown()),
    model: z.optional(z.unknown()),
    format: z.optional(z.strictObject(Format.shape)),
    metadata: z.optional(z.unknown()),
    compaction: z.optional(
      z.strictObject({
        summary: z.string().check(z.refine((text) => text.trim() !== "", "must not be blank")),
        keepFrom: z.optional(SourceId),
      }),
    ),
  })
  .check(z.refine(hasBodies, "needs a body, or display, or model; a body is both"))

/** Something that is not here as the other program has it. */
export interface Remark {
  readonly _tag: "Remark"
  /** `lost`: it is not here. `repaired`: it is, but otherwise. `kept`: it differs there, and stays as people changed it here. */
  readonly kind: "lost" | "repaired" | "kept"
  /** Where it stands, for whoever looks for it: `message msg_1`, `session row 7`. */
  readonly position: string
  readonly reason: string
}

export const isRemark = (item: object): item is Remark => "_tag" in item && item._tag === "Remark"

/** The program that sessions come from, such as `opencode`. */
export const SourceName = Text.check(z.minLength(1), z.maxLength(100))
