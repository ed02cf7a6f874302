/**
 * Projects as callers see them.
 */
import type { ProjectRow } from "./model.ts"

/** Sessions grouped by the directory they work in. */
export interface Project {
  /** `default`, or made of the normalised path of the workspace; in both cases with the owner, where it has one. */
  readonly id: string
  /** Whose sessions belong to it. Absent: those that have no owner. */
  readonly owner?: string
  /** The last part of the workspace's path, until `rename`. */
  readonly name: string
  /** The workspace as it was first spelled. Absent: the default project. */
  readonly workspaceDir?: string
  readonly pinned: boolean
  readonly hidden: boolean
  /** Milliseconds since 1970, as all times. */
  readonly createdAt: number
  readonly updatedAt: number
  /** Latest activity of a session that a list shows by default. Absent: there is none. */
  readonly activityAt?: number
}

export const toProject = (row: Readonly<ProjectRow>, activityAt?: number): Project => ({
  id: row.id,
  ...(row.owner !== undefined && { owner: row.owner }),
  name: row.name,
  ...(row.workspaceDir !== undefined && { workspaceDir: row.workspaceDir }),
  pinned: row.pinned,
  hidden: row.hidden,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  ...(activityAt !== undefined && { activityAt }),
})
