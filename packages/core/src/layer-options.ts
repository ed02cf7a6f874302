/**
 * What a store is opened with.
 *
 * Guarantee: options that make no sense are refused with `InvalidInput` that names the field, before anything is opened.
 */
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import type { DeleteParticipant } from "./deletion/participant.ts"
import type { Dialect } from "./history/dialect.ts"
import type { Workspaces } from "./fork/workspaces.ts"
import { checkInput, Text } from "./input.ts"
import { WorkspacePath } from "./project/workspace.ts"
import { coreTables } from "./schema.ts"
import type { FileHistory } from "./rewind/file-history.ts"
import { Name } from "./session/input.ts"
import type { PathPolicy } from "./settings.ts"
import { InvalidInput } from "./storage/error.ts"
import type { StorageOptions } from "./storage/storage.ts"
import type { AnyTable } from "./storage/table.ts"
import { PriceTableInput } from "./usage/prices.ts"
import type { PriceTable } from "./usage/prices.ts"

export interface LayerOptions extends StorageOptions {
  /** What the bodies of messages mean, and in what form history is given. Default: `generic`. */
  readonly dialect?: Dialect<unknown>
  /** Further dialects that stored bodies may be in. */
  readonly dialects?: ReadonlyArray<Dialect<unknown>>
  /** Binds everything to the sessions of one owner: 1 to 200 characters. Default: everybody's are seen. */
  readonly owner?: string
  /** What minted session ids begin with: at most 64 of `A–Z a–z 0–9 _ -`. Default `ses_`. */
  readonly idPrefix?: string
  /** How workspaces are compared. Default: POSIX paths, links unresolved. */
  readonly paths?: PathPolicy
  /** How often what a turn is writing is stored, in milliseconds, 0 or more. Default 2,000. */
  readonly checkpointMs?: number
  /** What model calls cost, by provider and model. Default: what the caller of `record` says. */
  readonly prices?: PriceTable
  /** How much of the live output of a session is kept in memory. */
  readonly ring?: {
    /** 1 to 2,000. Default 2,000. */
    readonly frames?: number
    /** Of UTF-8 JSON, of each frame 256 for what comes with its data: 4,096 to 8 MiB. Default 8 MiB. */
    readonly bytes?: number
  }
  /** Makes workspaces for forks, such as git worktrees. Default: none, so that a fork is told a directory that is there. */
  readonly workspaces?: Workspaces
  /** Takes files back with a rewind. Default: none, so that rewinds are about the conversation alone. */
  readonly fileHistory?: FileHistory
  /** Who keeps something of sessions outside of the store, and removes it when a session is deleted. Default: nobody. */
  readonly onDelete?: ReadonlyArray<DeleteParticipant>
  /** How large things may be. */
  readonly limits?: {
    /** Bodies whose JSON has more bytes are kept apart, and not loaded by lists: 1,024 or more. Default 65,536. */
    readonly bodyBytes?: number
    /** Of a file that comes with a message. Default 32 MiB. */
    readonly fileBytes?: number
    /** Of all files of a message. Default 64 MiB. */
    readonly messageBytes?: number
    /** How many files a message may have: 0 to 100. Default 20. */
    readonly files?: number
  }
  /** Directories that paths of attachments may lead into, whatever the session, such as those of channels. Default: none. */
  readonly attachmentRoots?: ReadonlyArray<string>
  /** Tables of your own, kept beside skein's, and none named like one of them. */
  readonly tables?: ReadonlyArray<AnyTable>
}

const aFunction = z.custom((value) => typeof value === "function", "must be a function")

const DialectInput = z.object({
  name: Text.check(z.minLength(1)),
  version: z.number(),
  role: aFunction,
  text: aFunction,
  id: z.optional(aFunction),
  prompt: aFunction,
  summary: aFunction,
  read: aFunction,
  write: aFunction,
  resultsInside: z.optional(z.boolean()),
  resultsTogether: z.optional(z.boolean()),
})

/** The fields that only `table` makes; which of its rows are right is the table's own business. */
const TableInput = z.object({
  name: z.string(),
  row: z.object({ _zod: z.unknown() }),
  key: z.array(z.unknown()).check(z.minLength(1)),
  indexes: z.array(z.unknown()),
  columns: z.array(z.unknown()),
})

const LayerOptionsInput = z.strictObject({
  dialect: z.optional(DialectInput),
  dialects: z.optional(z.array(DialectInput)),
  owner: z.optional(Name),
  idPrefix: z.optional(
    z.string().check(z.regex(/^[A-Za-z0-9_-]{0,64}$/, "must be at most 64 characters of A–Z, a–z, 0–9, _ and -")),
  ),
  paths: z.optional(z.object({ style: z.enum(["posix", "windows"]), resolve: aFunction })),
  ring: z.optional(
    z.strictObject({
      frames: z.optional(z.int().check(z.minimum(1), z.maximum(2_000))),
      bytes: z.optional(z.int().check(z.minimum(4_096), z.maximum(8 * 1024 * 1024))),
    }),
  ),
  onDelete: z.optional(z.array(z.object({ name: Text.check(z.minLength(1)), onDelete: aFunction }))),
  limits: z.optional(
    z.strictObject({
      bodyBytes: z.optional(z.int().check(z.minimum(1_024))),
      fileBytes: z.optional(z.int().check(z.nonnegative())),
      messageBytes: z.optional(z.int().check(z.nonnegative())),
      files: z.optional(z.int().check(z.minimum(0), z.maximum(100))),
    }),
  ),
  attachmentRoots: z.optional(z.array(WorkspacePath)),
  tables: z.optional(z.array(TableInput)),
  checkpointMs: z.optional(z.number().check(z.nonnegative())),
  prices: z.optional(PriceTableInput),
  workspaces: z.optional(z.object({ prepare: aFunction, remove: aFunction })),
  fileHistory: z.optional(
    z.object({
      eligible: aFunction,
      plan: aFunction,
      apply: aFunction,
      verify: aFunction,
      rollback: aFunction,
      prune: aFunction,
    }),
  ),
  busyBudget: z.optional(z.number().check(z.nonnegative())),
  verify: z.optional(z.boolean()),
})

export const checkLayerOptions = (options: LayerOptions): Effect.Effect<LayerOptions, InvalidInput> =>
  Effect.flatMap(checkInput(LayerOptionsInput, options, "options"), () => {
    const clash = nameClash(options.tables ?? [])
    return clash === undefined ? Effect.succeed(options) : Effect.fail(clash)
  })

/** The first table whose name some engine could not tell from another's. */
const nameClash = (tables: ReadonlyArray<AnyTable>): InvalidInput | undefined => {
  const taken = new Set(coreTables.map(({ name }) => name.toLowerCase()))
  for (const [i, { name }] of tables.entries()) {
    if (taken.has(name.toLowerCase())) {
      const problem = "is taken, by a table of skein's or another of yours, without regard to case"
      return new InvalidInput({ field: `options.tables.${i}.name`, value: name, problem })
    }
    taken.add(name.toLowerCase())
  }
  return undefined
}
