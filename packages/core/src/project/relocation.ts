/**
 * Relocation: a directory was moved, and its projects and sessions follow, in as many commits as it takes.
 *
 * Guarantee: when it ends, nothing that was at the old place when it began is there any more, and no session is in a
 * project that is gone. After a crash it can be called again and goes on. A session that is created at the old place
 * meanwhile follows, or stays there in a project of its own, as if it had been created afterwards.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Place } from "../cursor.ts"
import type { Scope } from "../scope.ts"
import type { Storage } from "../storage/storage.ts"
import type { TransactOptions } from "../storage/storage.ts"
import { isUnreadable, maxRange } from "../storage/transaction.ts"
import type { Unreadable } from "../storage/transaction.ts"
import type { ProjectRow } from "./model.ts"
import * as program from "./program.ts"
import { projectIdOf, standsFor } from "./workspace.ts"
import type { Workspace } from "./workspace.ts"

type Reader = Pick<Storage["Service"], "read">

/** All projects that are seen, by id, in several reads. Unreadable ones stand in their place. */
export const allProjects = Effect.fnUntraced(function* (storage: Reader, scope: Scope) {
  const found: Array<Readonly<ProjectRow> | Unreadable> = []
  for (;;) {
    const last = found.at(-1)
    const after = isUnreadable(last) ? String(last.key[0]) : last?.id
    const rows = yield* storage.read(program.some(scope, after))
    found.push(...rows)
    if (rows.length < maxRange) return found
  }
})

/** Moves what is seen from one directory to the other: how many sessions, and the project that is there now. */
export const relocate = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  scope: Scope,
  source: Workspace,
  target: Workspace,
  options: TransactOptions,
) {
  let moved = 0
  let projects = yield* projectsOf(storage, scope, source, target)
  if (source.key !== target.key) {
    do {
      for (const { id } of projects.leaving) moved += yield* moveProject(storage, scope, id, source, target, options)
      yield* visitWorking(storage, scope, source, (ids) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          moved += yield* storage.transact(program.follow(scope, ids, source, target, now), options)
          return false
        }),
      )
      projects = yield* projectsOf(storage, scope, source, target)
    } while (projects.leaving.length > 0)
  }
  const [first] = projects.arrived
  const project = projects.arrived.find(({ owner }) => owner === scope.owner) ?? first
  const isKnown = project !== undefined || moved > 0 || (yield* visitWorking(storage, scope, target, () => enough))
  if (!isKnown) return yield* new program.ProjectNotFound({ projectId: projectIdOf(source.identity, scope.owner) })
  return { project, moved }
})

const enough = Effect.succeed(true)

/** The projects that a move takes along, and those where it ends. */
const projectsOf = Effect.fnUntraced(function* (storage: Reader, scope: Scope, source: Workspace, target: Workspace) {
  const leaving: Array<Readonly<ProjectRow>> = []
  const arrived: Array<Readonly<ProjectRow>> = []
  for (const row of yield* allProjects(storage, scope)) {
    if (isUnreadable(row)) continue
    if (row.id === projectIdOf(target.identity, row.owner)) arrived.push(row)
    else if (standsFor(row, source)) leaving.push(row)
  }
  return { leaving, arrived }
})

const moveProject = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  scope: Scope,
  projectId: string,
  source: Workspace,
  target: Workspace,
  options: TransactOptions,
) {
  let moved = 0
  for (;;) {
    const now = yield* Clock.currentTimeMillis
    const step = yield* storage.transact(program.moveProject(scope, projectId, source, target, now), options)
    moved += step.moved
    if (step.done) return moved
  }
})

/** Visits the sessions that work in a directory, some at a time, until a visit has seen enough: whether one had. */
const visitWorking = Effect.fnUntraced(function* <E>(
  storage: Reader,
  scope: Scope,
  workspace: Workspace,
  visit: (sessionIds: ReadonlyArray<string>) => Effect.Effect<boolean, E>,
) {
  for (const part of program.partsOf(workspace)) {
    let after: Place | undefined
    do {
      const { end, ids }: program.Working = yield* storage.read(program.workingIn(scope, part, after))
      if (ids.length > 0 && (yield* visit(ids))) return true
      after = end
    } while (after !== undefined)
  }
  return false
})
