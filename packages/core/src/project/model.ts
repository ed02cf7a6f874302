/**
 * Projects: sessions grouped by the directory they work in.
 */
import * as z from "zod/mini"
import { index, table, text } from "../storage/table.ts"

/** The project of sessions that have neither workspace nor owner. */
export const defaultProjectId = "default"

/** What can be the id of a project: a key. */
export const ProjectId = z.string().check(z.regex(/^[\x20-\x7e]{1,200}$/))

export const ProjectRow = z.object({
  /** `default`, or `workspace:` and the normalised path, with the owner: see `projectIdOf` (PRJ-03). */
  id: z.string(),
  /** Whose sessions belong to it. Absent: those of nobody. */
  owner: z.optional(z.string()),
  name: z.string(),
  /** The workspace as it was first spelled, and the keys that it is found by; absent for a default project. */
  workspaceDir: z.optional(z.string()),
  workspaceKey: z.optional(z.string()),
  spelledKey: z.optional(z.string()),
  pinned: z.boolean(),
  hidden: z.boolean(),
  createdAt: z.number(),
  updatedAt: z.number(),

  /** Index field: the key of the owner. */
  ownerKey: z.optional(z.string()),
})
export type ProjectRow = z.output<typeof ProjectRow>

export const ProjectTable = table("project", {
  row: ProjectRow,
  key: [text("id")],
  indexes: { byOwner: index(text("ownerKey")) },
})
