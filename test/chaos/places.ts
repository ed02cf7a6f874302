/**
 * Directories as places for forks, made by a host that is not done at once.
 */
import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Forks } from "../../packages/core/src/fork/service.ts"
import type { Workspaces } from "../../packages/core/src/fork/service.ts"

/** Makes directories, each with something in it. `stepped` is called after each thing that it does. */
export const directories = (places: string, stepped: () => void = () => undefined): Workspaces => ({
  prepare: async ({ operation }) => {
    const workspace = join(places, operation)
    mkdirSync(workspace, { recursive: true })
    stepped()
    mkdirSync(join(workspace, "src"), { recursive: true })
    stepped()
    return { workspace }
  },
  remove: async ({ operation }) => {
    rmSync(join(places, operation), { recursive: true, force: true })
    stepped()
  },
})

/** Forks, the way every one of these processes does. */
export const forkAway = Effect.flatMap(Effect.service(Forks), (forks) =>
  forks.fork("s1", { operationId: "op1", workspace: { kind: "directory" } }),
)
