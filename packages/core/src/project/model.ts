/**
 * Projects: sessions grouped by the directory they work in.
 */
import * as z from "zod/mini"
import { table, text } from "../storage/table.ts"

/** The project of sessions without a workspace. */
export const defaultProjectId = "default"

/** What can be the id of a project: a key. */
export const ProjectId = z.string().check(z.regex(/^[\x20-\x7e]{1,200}$/))

export const ProjectRow = z.object({
  /** `default`, or `workspace:` and the normalised path, as a key (PRJ-03). */
  id: z.string(),
  name: z.string(),
  /** The workspace as it was first spelled; absent for the default project. */
  workspaceDir: z.optional(z.string()),
  pinned: z.boolean(),
  hidden: z.boolean(),
  createdAt: z.number(),
  updatedAt: z.number(),
})
export type ProjectRow = z.output<typeof ProjectRow>

export const ProjectTable = table("project", { row: ProjectRow, key: [text("id")] })
