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
  /** Id of the workspace's project: PRJ-03. */
  readonly projectId: string
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
      projectId: key(`workspace:${path}`),
    }
  })

const resolved = (paths: PathPolicy, dir: string): Effect.Effect<string> =>
  Effect.catchDefect(
    Effect.suspend(() => paths.resolve(dir)),
    () => Effect.succeed(dir),
  )

/** What a session's row says of its workspace. */
export const workspaceFields = ({ dir, key, spelledKey }: Workspace) => ({
  workspaceDir: dir,
  workspaceKey: key,
  ...(spelledKey !== key && { spelledKey }),
})
