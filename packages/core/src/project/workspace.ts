/**
 * Workspaces: from a path that a caller spells to the keys that sessions and projects are found by.
 *
 * Guarantee: it never fails. A path whose links the host cannot resolve, or that no longer exists, stands for its text.
 */
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { Text } from "../input.ts"
import type { PathPolicy } from "../settings.ts"
import { key } from "../storage/key.ts"
import { lastPart, normalise } from "./path.ts"

/** A workspace as callers give it. */
export const WorkspacePath = Text.check(z.minLength(1), z.maxLength(4_096))

export interface Workspace {
  /** The path as it was spelled: what people see. */
  readonly dir: string
  /** What it is called until somebody names it. */
  readonly name: string
  /** Key of the normalised path, links resolved. */
  readonly key: string
  /** Key of the normalised spelling: the same as `key` where there were no links to resolve. */
  readonly spelledKey: string
  /** What its projects are, whoever owns them: PRJ-03. */
  readonly identity: string
}

export const locate = (paths: PathPolicy, dir: string): Effect.Effect<Workspace> =>
  Effect.map(resolved(paths, dir), (real): Workspace => {
    const path = normalise(real, paths.style)
    const pathKey = key(path)
    return {
      dir,
      name: lastPart(dir, paths.style),
      key: pathKey,
      spelledKey: real === dir ? pathKey : key(normalise(dir, paths.style)),
      identity: `workspace:${path}`,
    }
  })

/**
 * The id of a project: its identity as a key, behind it the owner where it has one. No identity holds the NUL between
 * them, so that two projects never share an id.
 */
export const projectIdOf = (identity: string, owner: string | undefined): string =>
  key(owner === undefined ? identity : `${identity}\0${owner}`)

const resolved = (paths: PathPolicy, dir: string): Effect.Effect<string> =>
  Effect.catchDefect(
    Effect.suspend(() => paths.resolve(dir)),
    () => Effect.succeed(dir),
  )

/** A row that stands for a workspace: of a session that works there, or of a project. */
interface Placed {
  readonly workspaceKey?: string | undefined
  readonly spelledKey?: string | undefined
}

/** Whether a row stands for a workspace: by its path, or as one of the two was spelled. */
export const standsFor = ({ spelledKey, workspaceKey }: Placed, workspace: Workspace): boolean =>
  workspaceKey !== undefined &&
  (workspaceKey === workspace.key || workspaceKey === workspace.spelledKey || spelledKey === workspace.spelledKey)

/** Where rows that stand for a workspace are found: an index, and the key in it. */
export const placesOf = (workspace: Workspace) => {
  const { key, spelledKey } = workspace
  const places: ReadonlyArray<{ readonly index: "byWorkspace" | "bySpelling"; readonly key: string }> = [
    { index: "byWorkspace", key },
    { index: "bySpelling", key: spelledKey },
    ...(spelledKey === key ? [] : [{ index: "byWorkspace" as const, key: spelledKey }]),
  ]
  return places
}

/** What a row says of its workspace. */
export const workspaceFields = ({ dir, key, spelledKey }: Workspace) => ({
  workspaceDir: dir,
  workspaceKey: key,
  ...(spelledKey !== key && { spelledKey }),
})
