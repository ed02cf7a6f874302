/**
 * What a store was opened with, for the services that need to know.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { DeleteParticipant } from "./deletion/participant.ts"
import { dialects, type Dialect, type Dialects } from "./history/dialect.ts"
import { generic } from "./history/dialects/generic.ts"
import type { PriceTable } from "./usage/prices.ts"
import type { Workspaces } from "./fork/workspaces.ts"
import type { FileHistory } from "./rewind/file-history.ts"
import type { RingLimits } from "./stream/ring.ts"

/** How workspaces are compared: PRJ-04. */
export interface PathPolicy {
  /** `windows` folds case and knows drives and `\\?\`. */
  readonly style: "posix" | "windows"
  /** The path with its links resolved, or the path itself where the host cannot or it no longer exists. */
  readonly resolve: (path: string) => Effect.Effect<string>
}

export interface SkeinSettings {
  /** Whose sessions are seen: every list, look-up and summary is bound to it. Absent: everybody's. */
  readonly owner: string | undefined
  /** What minted session ids begin with. */
  readonly idPrefix: string
  /** The dialect of the reader, recorded with every message that names no other. */
  readonly dialect: Dialect<unknown>
  /** All dialects that stored bodies may be in. */
  readonly dialects: Dialects
  readonly paths: PathPolicy
  /** How often what a turn is writing is stored, in milliseconds. */
  readonly checkpointMs: number
  /** What model calls cost. Absent: what the caller says. */
  readonly prices: PriceTable | undefined
  /** How much of the live output of a session is kept. */
  readonly ring: RingLimits
  /** Makes workspaces for forks. Absent: forks work where there is a directory already. */
  readonly workspaces: Workspaces | undefined
  /** Takes files back. Absent: rewinds are about the conversation alone. */
  readonly fileHistory: FileHistory | undefined
  /** Who keeps something of sessions outside of the store. */
  readonly onDelete: ReadonlyArray<DeleteParticipant>
  readonly limits: Limits
  /** Directories that paths of attachments may lead into. */
  readonly attachmentRoots: ReadonlyArray<string>
}

/** How large things may be, in bytes. */
export interface Limits {
  /** The JSON of a body that is kept with its message; larger ones are blobs. */
  readonly bodyBytes: number
  /** A file. */
  readonly fileBytes: number
  /** The files of a message together, and how many they may be. */
  readonly messageBytes: number
  readonly files: number
}

export const defaultSettings: SkeinSettings = {
  owner: undefined,
  idPrefix: "ses_",
  dialect: generic,
  dialects: dialects(generic),
  paths: { style: "posix", resolve: Effect.succeed },
  checkpointMs: 2_000,
  prices: undefined,
  workspaces: undefined,
  fileHistory: undefined,
  ring: { frames: 2_000, bytes: 8 * 1024 * 1024 },
  onDelete: [],
  limits: { bodyBytes: 64 * 1024, fileBytes: 32 * 1024 * 1024, messageBytes: 64 * 1024 * 1024, files: 20 },
  attachmentRoots: [],
}

export class Settings extends Context.Reference<SkeinSettings>("@skein/core/Settings", {
  defaultValue: () => defaultSettings,
}) {}
