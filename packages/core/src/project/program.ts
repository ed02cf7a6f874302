/**
 * The rules of projects.
 */
import * as Data from "effect/Data"
import { SessionTable, Shelf } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { fn, isUnreadable, make } from "../storage/transaction.ts"
import type { Handle, Unreadable } from "../storage/transaction.ts"
import { defaultProjectId, ProjectTable } from "./model.ts"
import type { ProjectRow } from "./model.ts"
import { workspaceFields } from "./workspace.ts"
import type { Workspace } from "./workspace.ts"

/** No project has this id. */
export class ProjectNotFound extends Data.TaggedError("ProjectNotFound")<{ readonly projectId: string }> {
  override get message() {
    return `no project ${this.projectId}`
  }
}

/** A project that nobody has touched yet. No workspace: the default project. */
export const newProject = (workspace: Workspace | undefined, now: number): ProjectRow => ({
  ...(workspace === undefined
    ? { id: defaultProjectId, name: "Default" }
    : { id: workspace.projectId, name: workspace.name, workspaceDir: workspace.dir }),
  pinned: false,
  hidden: false,
  createdAt: now,
  updatedAt: now,
})

export const requireProject = fn(function* (tx, projectId: string) {
  const project = yield* tx.get(ProjectTable, [projectId])
  return project ?? (yield* tx.fail(new ProjectNotFound({ projectId })))
})

/** The project, made if it is not there. */
export const ensure = fn(function* (tx, fresh: ProjectRow) {
  const stored = yield* tx.get(ProjectTable, [fresh.id])
  if (stored !== undefined) return stored
  tx.insert(ProjectTable, fresh)
  return fresh
})

/** Writes what a new session means for a project that is there: it is not hidden any more. */
export const showAgain = (tx: Handle, { hidden, id }: Readonly<ProjectRow>, now: number): void => {
  if (hidden) tx.update(ProjectTable, [id], (row) => changed(row, { hidden: false }, now))
}

const changed = (row: Readonly<ProjectRow>, patch: Partial<ProjectRow>, now: number): ProjectRow => ({
  ...row,
  ...patch,
  updatedAt: Math.max(row.updatedAt, now),
})

/** Changes what people decide about a project. */
export const change = fn(function* (
  tx,
  projectId: string,
  patch: Partial<Pick<ProjectRow, "name" | "pinned" | "hidden">>,
  now: number,
) {
  const project = yield* requireProject(projectId)
  tx.update(ProjectTable, [projectId], (row) => changed(row, patch, now))
  return changed(project, patch, now)
})

/** One damaged row does not hide the others. */
const keep = { unreadable: "keep" } as const

const newestIn = (tx: Handle, projectId: string) =>
  tx.range(SessionTable, "byProject", { prefix: ["main", projectId], limit: 1, ...keep })

const activityOf = (rows: ReadonlyArray<unknown>): number | undefined => {
  const [newest] = rows as ReadonlyArray<SessionRow | undefined>
  return isUnreadable(newest) ? undefined : newest?.activityAt
}

/** How many projects are asked for their activity in one step. */
const batch = 100

/** All projects, by id. Unreadable ones stand in their place. */
export const all = make(function* (tx) {
  const found: Array<Readonly<ProjectRow> | Unreadable> = []
  let rows: ReadonlyArray<Readonly<ProjectRow> | Unreadable> = yield* tx.range(ProjectTable, "key", { ...keep })
  while (rows.length > 0) {
    found.push(...rows)
    const last = rows.at(-1)!
    rows = yield* tx.range(ProjectTable, "key", {
      after: [isUnreadable(last) ? String(last.key[0]) : last.id],
      ...keep,
    })
  }
  return found
})

/** Latest activity of each project, of the sessions that a list shows by default. */
export const activities = fn(function* (tx, projectIds: ReadonlyArray<string>) {
  const found: Array<number | undefined> = []
  for (let at = 0; at < projectIds.length; at += batch) {
    const newest = yield* tx.all(projectIds.slice(at, at + batch).map((id) => newestIn(tx, id)))
    found.push(...newest.map(activityOf))
  }
  return found
})

/** Where a session stands among its owner's, newest first. */
export type OwnersSession = Pick<SessionRow, "id" | "projectId" | "activityAt">

/** One owner's sessions, of those that a list shows by default: the next ones behind `after`. */
export const ownersSessions = fn(function* (tx, ownerKey: string, after: OwnersSession | undefined) {
  const prefix = ["main", ownerKey] as const
  const rows = yield* tx.range(SessionTable, "byOwner", {
    prefix,
    ...(after !== undefined && { after: [...prefix, after.activityAt, after.id] as const }),
    ...keep,
  })
  const found: Array<OwnersSession> = []
  for (const row of rows) if (!isUnreadable(row)) found.push(row)
  return found
})

/** How many sessions move in one commit. */
const atOnce = 400

/**
 * One step of moving a workspace: its project, and the sessions that work in it, wherever they belong.
 *
 * Guarantee: done in any number of steps, with anything in between, it ends as if done at once; what has moved is no
 * longer found at the old place, so that a step that is repeated goes on where the last one ended.
 */
export const relocate = fn(function* (tx, source: Workspace, target: Workspace, now: number) {
  const [old, present] = yield* tx.all([
    tx.get(ProjectTable, [source.projectId]),
    tx.get(ProjectTable, [target.projectId]),
  ])
  if (old === undefined && present === undefined) {
    return yield* tx.fail(new ProjectNotFound({ projectId: source.projectId }))
  }
  if (source.projectId === target.projectId) return { project: present!, moved: 0, done: true }
  const sessions = yield* sessionsAt(source)
  const fresh: ProjectRow = { ...newProject(target, now), ...(old && keptOf(old, source)) }
  if (present === undefined) tx.insert(ProjectTable, fresh)
  for (const { id } of sessions) {
    tx.update(SessionTable, [id], (row) => relocated(row, source, target, now))
  }
  const done = sessions.length < atOnce
  if (done && old !== undefined) tx.remove(ProjectTable, [old.id])
  return { project: present ?? fresh, moved: sessions.length, done }
})

/** What people decided about a project goes with it; a name that nobody gave does not. */
const keptOf = ({ createdAt, hidden, name, pinned }: ProjectRow, source: Workspace) => ({
  createdAt,
  hidden,
  pinned,
  ...(name !== source.name && { name }),
})

/** Some sessions that belong to the project of a workspace, or work there. */
const sessionsAt = fn(function* (tx, workspace: Workspace) {
  const found = new Map<string, Readonly<SessionRow>>()
  const take = (rows: ReadonlyArray<Readonly<SessionRow> | Unreadable>) => {
    for (const row of rows) if (!isUnreadable(row)) found.set(row.id, row)
  }
  for (const shelf of Shelf.options) {
    const room = () => ({ limit: atOnce - found.size, ...keep })
    take(yield* tx.range(SessionTable, "byProject", { prefix: [shelf, workspace.projectId], ...room() }))
    take(yield* tx.range(SessionTable, "byWorkspace", { prefix: [shelf, workspace.key], ...room() }))
  }
  return [...found.values()]
})

const relocated = (row: Readonly<SessionRow>, source: Workspace, target: Workspace, now: number): SessionRow => {
  const next: SessionRow = { ...row, revision: row.revision + 1, updatedAt: Math.max(row.updatedAt, now) }
  if (row.projectId === source.projectId) next.projectId = target.projectId
  if (row.workspaceKey !== source.key) return next
  const { spelledKey: _left, ...rest } = next
  return { ...rest, ...workspaceFields(target) }
}
