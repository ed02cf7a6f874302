/**
 * The ledger of imports: what is known of each session of another program.
 *
 * A session is imported once for an owner, whoever finds it again: its row here is found by the owner, the program and the
 * id it had there. What an import left behind is kept beside it, so that the next one sees what people have changed since.
 */
import * as z from "zod/mini"
import { SessionStatus } from "../session/model.ts"
import { index, table, text } from "../storage/table.ts"

export const ImportStatus = z.enum(["discovered", "metadata", "display", "ready", "failed", "deleted"])
export type ImportStatus = z.output<typeof ImportStatus>

/** What of a session an import wrote that people may change. */
export const Left = z.object({
  /** The message at the head, `null` for the root. */
  head: z.nullable(z.string()),
  title: z.optional(z.string()),
  archived: z.boolean(),
  status: SessionStatus,
})
export type Left = z.output<typeof Left>

export const Remark = z.object({
  _tag: z.literal("Remark"),
  kind: z.enum(["lost", "repaired", "kept"]),
  position: z.string(),
  reason: z.string(),
})

/** How many remarks of a session are kept. */
export const keptRemarks = 100

export const ImportRow = z.object({
  /** The owner that it was imported for, as a key; empty: none. */
  owner: z.string(),
  /** The program that the session comes from, as a key. */
  source: z.string(),
  /** The id it had there, as a key. */
  session: z.string(),
  /** Its id here. */
  localId: z.string(),
  status: ImportStatus,
  /** Differs when anything of the session differs at the source. Absent: no import has ended well. */
  fingerprint: z.optional(z.string()),
  /** Version of the code that understood the source. */
  converter: z.number(),
  /** How many messages the source had, how many of those are here, and how many have been deleted here. */
  messages: z.number(),
  stored: z.number(),
  deleted: z.number(),
  /** The last message in the order of the source, by its id there. */
  last: z.optional(z.string()),
  left: z.optional(Left),
  /** The first remarks of the import that ended well, and whether any said that something is lost. */
  remarks: z.array(Remark),
  lost: z.boolean(),
  /** Why the last attempt failed. */
  error: z.optional(z.string()),
  importedAt: z.number(),
  /** When it was deleted here. Absent: it was not, or was let in again. */
  deletedAt: z.optional(z.number()),
  /** How often it was let in again after it was deleted: each time as a conversation of its own. Absent: never. */
  restored: z.optional(z.number()),
})
export type ImportRow = z.output<typeof ImportRow>

/** Who owns the branches on which the messages of a session are staged, before they are its own: no session has this id. */
export const stagingId = (sessionId: string): string => `import:${sessionId}`

/** Where a session stands in the ledger. */
export type LedgerKey = Pick<ImportRow, "owner" | "source" | "session">

export const ImportTable = table("import_record", {
  row: ImportRow,
  key: [text("owner"), text("source"), text("session")],
  indexes: { byLocalId: index(text("localId")) },
})
