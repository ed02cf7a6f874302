/**
 * The rules of projects.
 */
import * as Data from "effect/Data"
import type { Place } from "../cursor.ts"
import { isSeen } from "../scope.ts"
import type { Scope } from "../scope.ts"
import { SessionTable, Shelf } from "../session/model.ts"
import type { SessionRow } from "../session/model.ts"
import { key } from "../storage/key.ts"
import { fn, isUnreadable } from "../storage/transaction.ts"
import type { Handle } from "../storage/transaction.ts"
import { defaultProjectId, ProjectTable } from "./model.ts"
import type { ProjectRow } from "./model.ts"
import { placesOf, projectIdOf, standsFor, workspaceFields } from "./workspace.ts"
import type { Workspace } from "./workspace.ts"

/** No project has this id, or not for the owner that the store was opened for. */
export class ProjectNotFound extends Data.TaggedError("ProjectNotFound")<{ readonly projectId: string }> {
  override get message() {
    return `no project ${this.projectId}`
  }
}

/** An owner's project that nobody has touched yet. No workspace: the default project. */
export const newProject = (workspace: Workspace | undefined, owner: string | undefined, now: number): ProjectRow => ({
  id: projectIdOf(workspace?.identity ?? defaultProjectId, owner),
  name: workspace?.name ?? "Default",
  ...(workspace !== undefined && workspaceFields(workspace)),
  ...(owner !== undefined && { owner, ownerKey: key(owner) }),
  pinned: false,
  hidden: false,
  createdAt: now,
  updatedAt: now,
})

/** The project, or `ProjectNotFound`. */
export const requireProject = fn(function* (tx, scope: Scope, projectId: string) {
  const project = yield* tx.get(ProjectTable, [projectId])
  if (project === undefined || !isSeen(scope, project)) return yield* tx.fail(new ProjectNotFound({ projectId }))
  return project
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
  scope: Scope,
  projectId: string,
  patch: Partial<Pick<ProjectRow, "name" | "pinned" | "hidden">>,
  now: number,
) {
  const project = yield* requireProject(scope, projectId)
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

/** The next projects behind `after`, by id: at most `maxRange`. Unreadable ones stand in their place. */
export const some = fn(function* (tx, { owner }: Scope, after: string | undefined) {
  if (owner === undefined) {
    return yield* tx.range(ProjectTable, "key", { ...(after !== undefined && { after: [after] as const }), ...keep })
  }
  const prefix = [key(owner)] as const
  return yield* tx.range(ProjectTable, "byOwner", {
    prefix,
    ...(after !== undefined && { after: [...prefix, after] as const }),
    ...keep,
  })
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

/** How many sessions are looked at, and moved, in one step. */
const atOnce = 400

/**
 * One step of moving a project, with the sessions that belong to it, to its owner's project of another workspace.
 *
 * Guarantee: done in any number of steps, with anything in between, it ends as if done at once; what has moved is no
 * longer found at the old place, so that a step that is repeated goes on where the last one ended. The project goes in a
 * commit that sees no session left in it.
 */
export const moveProject = fn(function* (
  tx,
  scope: Scope,
  projectId: string,
  source: Workspace,
  target: Workspace,
  now: number,
) {
  const old = yield* tx.get(ProjectTable, [projectId])
  if (old === undefined || !isSeen(scope, old)) return { moved: 0, done: true }
  const fresh: ProjectRow = { ...newProject(target, old.owner, now), ...keptOf(old, source) }
  const present = yield* tx.get(ProjectTable, [fresh.id])
  const { isAll, sessions } = yield* sessionsIn(projectId)
  if (present === undefined) tx.insert(ProjectTable, fresh)
  for (const { id } of sessions) {
    tx.update(SessionTable, [id], (row) => ({ ...relocated(row, source, target, now), projectId: fresh.id }))
  }
  if (isAll) tx.remove(ProjectTable, [projectId])
  return { moved: sessions.length, done: isAll }
})

/** What people decided about a project goes with it; a name that nobody gave does not. */
const keptOf = ({ createdAt, hidden, name, pinned }: Readonly<ProjectRow>, source: Workspace) => ({
  createdAt,
  hidden,
  pinned,
  ...(name !== source.name && { name }),
})

/** Some sessions that belong to a project, and whether there are no others. Unreadable ones stay where they are. */
const sessionsIn = fn(function* (tx, projectId: string) {
  const sessions: Array<Readonly<SessionRow>> = []
  for (const shelf of Shelf.options) {
    const limit = atOnce - sessions.length
    const rows = yield* tx.range(SessionTable, "byProject", { prefix: [shelf, projectId], limit, ...keep })
    for (const row of rows) if (!isUnreadable(row)) sessions.push(row)
    if (rows.length < limit) continue
    if (sessions.length === 0) yield* needReadable(rows)
    return { sessions, isAll: false }
  }
  return { sessions, isAll: true }
})

/** Fails with `Corrupt`: behind so much damage nothing says where to go on. */
const needReadable = fn(function* (tx, rows: ReadonlyArray<unknown>) {
  for (const row of rows) if (isUnreadable(row)) yield* tx.get(SessionTable, [String(row.key[0])])
})

/** A part of an index in which sessions stand that work in one workspace. */
export interface WorkspacePart extends Readonly<ReturnType<typeof placesOf>[number]> {
  readonly shelf: Shelf
}

/** All parts in which sessions stand that work in a workspace. */
export const partsOf = (workspace: Workspace): ReadonlyArray<WorkspacePart> =>
  Shelf.options.flatMap((shelf) => placesOf(workspace).map((place): WorkspacePart => ({ ...place, shelf })))

/** Sessions of a part, and behind which place to go on; undefined: there are no more. */
export interface Working {
  readonly ids: ReadonlyArray<string>
  readonly end: Place | undefined
}

/** The ids of the next sessions of a part behind `after`. */
export const workingIn = fn(function* (tx, scope: Scope, part: WorkspacePart, after: Place | undefined) {
  const prefix = [part.shelf, part.key] as const
  const rows = yield* tx.range(SessionTable, part.index, {
    prefix,
    ...(after !== undefined && { after: [...prefix, after.at, after.id] as const }),
    limit: atOnce,
    ...keep,
  })
  const readable = rows.filter((row): row is Readonly<SessionRow> => !isUnreadable(row))
  const ids = readable.filter((row) => isSeen(scope, row)).map(({ id }) => id)
  const last = readable.at(-1)
  const isFull = rows.length === atOnce
  if (isFull && last === undefined) yield* needReadable(rows)
  const working: Working = { ids, end: isFull && last !== undefined ? placeIn(last) : undefined }
  return working
})

const placeIn = ({ activityAt, id }: Readonly<SessionRow>): Place => ({ at: activityAt, id })

/** Moves those of the sessions that still work in a workspace, wherever they belong, and says how many did. */
export const follow = fn(function* (
  tx,
  scope: Scope,
  sessionIds: ReadonlyArray<string>,
  source: Workspace,
  target: Workspace,
  now: number,
) {
  const found = yield* tx.all(sessionIds.map((id) => tx.get(SessionTable, [id])))
  const working = found.flatMap((row) =>
    row !== undefined && isSeen(scope, row) && standsFor(row, source) ? [row] : [],
  )
  for (const { id } of working) tx.update(SessionTable, [id], (row) => relocated(row, source, target, now))
  return working.length
})

const relocated = (row: Readonly<SessionRow>, source: Workspace, target: Workspace, now: number): SessionRow => {
  const next: SessionRow = { ...row, revision: row.revision + 1, updatedAt: Math.max(row.updatedAt, now) }
  if (!standsFor(row, source)) return next
  const { spelledKey: _left, ...rest } = next
  return { ...rest, ...workspaceFields(target) }
}
