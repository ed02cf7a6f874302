/**
 * Projects: sessions grouped by the directory they work in.
 *
 * Guarantee: a project's identity is its workspace, so that two calls, also in two processes, never make two of it. Which
 * project a session belongs to is decided when the session is created, and changes by `relocate` alone.
 *
 * Projects belong to an owner as sessions do: a session is in a project of its owner's. A store that was opened for one
 * owner sees that owner's projects and no others, whose ids are `ProjectNotFound`; a store without an owner sees all.
 *
 * Not promised: that `relocate` is one commit. It ends as if it were, also when it is called again after a crash.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as z from "zod/mini"
import { checkInput, Text } from "../input.ts"
import { Settings } from "../settings.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import { span } from "../storage/span.ts"
import { Storage } from "../storage/storage.ts"
import type { TransactOptions } from "../storage/storage.ts"
import { isUnreadable } from "../storage/transaction.ts"
import { checkWriteOptions } from "../write-options.ts"
import { ProjectId } from "./model.ts"
import type { ProjectRow } from "./model.ts"
import * as program from "./program.ts"
import type { ProjectNotFound } from "./program.ts"
import { toProject } from "./record.ts"
import type { Project } from "./record.ts"
import { allProjects, relocate } from "./relocation.ts"
import { locate, WorkspacePath } from "./workspace.ts"

export { defaultProjectId } from "./model.ts"
export { ProjectNotFound } from "./program.ts"
export type { Project } from "./record.ts"

/** A project that is stored and cannot be read. Nothing of it was deleted. */
export interface DegradedProject {
  readonly id: string
  readonly problem: string
}

export interface ProjectList {
  /** Pinned ones first, then by latest activity; where there is none, by creation. */
  readonly projects: ReadonlyArray<Project>
  readonly degraded: ReadonlyArray<DegradedProject>
}

export interface Relocated {
  /**
   * The project of the new directory. Absent: there is none, since what moved belongs to other projects. In a store
   * without an owner several may have one: then that of nobody, or else the first.
   */
  readonly project?: Project
  /** How many sessions moved. */
  readonly moved: number
}

type Failed = InvalidInput | StorageError

export class Projects extends Context.Service<
  Projects,
  {
    /** The project of the owner's sessions without a workspace; made on first use. */
    readonly ensureDefault: (options?: TransactOptions) => Effect.Effect<Project, Failed>
    /** The owner's project of a directory, however it is spelled; made on first use. Calls at the same time make one. */
    readonly ensureForWorkspace: (workspace: string, options?: TransactOptions) => Effect.Effect<Project, Failed>
    /** @throws ProjectNotFound nothing has this id, or it is another owner's than the store's */
    readonly get: (projectId: string) => Effect.Effect<Project, ProjectNotFound | Failed>
    /**
     * All projects that are not hidden.
     *
     * @param filter  `hidden`: default `false`; true gives the hidden ones, `"any"` both
     */
    readonly list: (filter?: { readonly hidden?: boolean | "any" }) => Effect.Effect<ProjectList, Failed>
    /** Gives it a name: 1 to 200 UTF-16 units, not blank. */
    readonly rename: (
      projectId: string,
      name: string,
      options?: TransactOptions,
    ) => Effect.Effect<Project, ProjectNotFound | Failed>
    /** Lists it before those that are not pinned; `false` takes that back. */
    readonly pin: (
      projectId: string,
      pinned?: boolean,
      options?: TransactOptions,
    ) => Effect.Effect<Project, ProjectNotFound | Failed>
    /** Leaves it out of lists until a session is created in it; `false` shows it at once. Its sessions stay listed. */
    readonly hide: (
      projectId: string,
      hidden?: boolean,
      options?: TransactOptions,
    ) => Effect.Effect<Project, ProjectNotFound | Failed>
    /**
     * Follows a directory that was moved: its project, and all sessions that work in it, by its path or as it was spelled.
     *
     * Sessions keep everything else: their activity, their place in lists, and where they belong to another project, such
     * as the default one, that one. A target that has a project already takes them in. In a store without an owner it
     * follows for everybody, each owner's sessions to that owner's project; else for its owner alone. Moves up to 400
     * sessions a commit; called again after a crash it goes on, and once it is done it changes nothing.
     *
     * @param move  two paths; `from` need not exist any more
     * @throws ProjectNotFound  neither directory has a project, or a session that works there
     *
     * @example
     * yield* projects.relocate({ from: "/home/ada/app", to: "/srv/app" })
     */
    readonly relocate: (
      move: { readonly from: string; readonly to: string },
      options?: TransactOptions,
    ) => Effect.Effect<Relocated, ProjectNotFound | Failed>
  }
>()("@skein/core/project/Projects") {
  static readonly layer = Layer.effect(
    Projects,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings
      const { owner, paths } = settings

      /** The record, with its activity as it is by now. */
      const described = Effect.fnUntraced(function* (row: Readonly<ProjectRow>) {
        const [activityAt] = yield* storage.read(program.activities([row.id]))
        return toProject(row, activityAt)
      })

      const ensure = Effect.fnUntraced(function* (workspace: string | undefined, options: TransactOptions) {
        const now = yield* Clock.currentTimeMillis
        const located = workspace === undefined ? undefined : yield* locate(paths, workspace)
        const fresh = program.newProject(located, owner, now)
        return yield* described(yield* storage.transact(program.ensure(fresh), options))
      })

      const change = Effect.fnUntraced(function* (
        projectId: string,
        patch: Parameters<typeof program.change>[2],
        options: TransactOptions,
      ) {
        yield* checkInput(ProjectId, projectId, "projectId")
        const checked = yield* checkWriteOptions(options)
        const now = yield* Clock.currentTimeMillis
        return yield* described(yield* storage.transact(program.change(settings, projectId, patch, now), checked))
      })

      return Projects.of({
        ensureDefault: Effect.fnUntraced(function* (options = {}) {
          return yield* ensure(undefined, yield* checkWriteOptions(options))
        }, span("skein.project.ensure")),
        ensureForWorkspace: Effect.fnUntraced(function* (workspace, options = {}) {
          yield* checkInput(WorkspacePath, workspace, "workspace")
          return yield* ensure(workspace, yield* checkWriteOptions(options))
        }, span("skein.project.ensure")),
        get: Effect.fnUntraced(function* (projectId) {
          yield* checkInput(ProjectId, projectId, "projectId")
          return yield* described(yield* storage.read(program.requireProject(settings, projectId)))
        }, span("skein.project.get")),
        list: Effect.fnUntraced(function* (given = {}) {
          const { hidden = false } = yield* checkInput(ProjectFilter, given, "filter")
          const found: Array<Readonly<ProjectRow>> = []
          const degraded: Array<DegradedProject> = []
          for (const row of yield* allProjects(storage, settings)) {
            if (isUnreadable(row)) degraded.push({ id: String(row.key[0]), problem: row.problem })
            else if (hidden === "any" || row.hidden === hidden) found.push(row)
          }
          const activity = yield* storage.read(program.activities(found.map(({ id }) => id)))
          const projects = found.map((row, i) => toProject(row, activity[i])).toSorted(byUse)
          const list: ProjectList = { projects, degraded }
          return list
        }, span("skein.project.list")),
        rename: Effect.fnUntraced(function* (projectId, name, options = {}) {
          return yield* change(projectId, { name: yield* checkInput(ProjectName, name, "name") }, options)
        }, span("skein.project.rename")),
        pin: Effect.fnUntraced(function* (projectId, pinned = true, options = {}) {
          return yield* change(projectId, { pinned: yield* checkInput(z.boolean(), pinned, "pinned") }, options)
        }, span("skein.project.pin")),
        hide: Effect.fnUntraced(function* (projectId, hidden = true, options = {}) {
          return yield* change(projectId, { hidden: yield* checkInput(z.boolean(), hidden, "hidden") }, options)
        }, span("skein.project.hide")),
        relocate: Effect.fnUntraced(function* (given, options = {}) {
          const { from, to } = yield* checkInput(Relocation, given, "move")
          const checked = yield* checkWriteOptions(options)
          const source = yield* locate(paths, from)
          const target = yield* locate(paths, to)
          const { moved, project } = yield* relocate(storage, settings, source, target, checked)
          const answer: Relocated = { moved, ...(project !== undefined && { project: yield* described(project) }) }
          return answer
        }, span("skein.project.relocate")),
      })
    }),
  )
}

const ProjectName = Text.check(
  z.maxLength(200),
  z.refine((name) => name.trim() !== "", "must not be blank"),
)
const ProjectFilter = z.strictObject({ hidden: z.optional(z.union([z.boolean(), z.literal("any")])) })
const Relocation = z.strictObject({ from: WorkspacePath, to: WorkspacePath })

/** Pinned ones first, then the latest activity; a project that nobody worked in counts from its creation. */
const byUse = (a: Project, b: Project): number =>
  Number(b.pinned) - Number(a.pinned) ||
  (b.activityAt ?? b.createdAt) - (a.activityAt ?? a.createdAt) ||
  (a.id < b.id ? -1 : 1)
