/**
 * Projects: sessions grouped by the directory they work in.
 */
import * as z from "zod/mini"
import { table, text } from "../storage/table.ts"

/** The project of sessions without a workspace. */
export const defaultProjectId = "default"

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
