/**
 * A process that dies while it forks a session into a place of its own (FRK-04): after `recover` the fork is there with its
 * place, or neither is; what was there before is untouched; and asked for again under the same name, it is made once.
 *
 * The places are directories, made by a host that is not done at once, so that a process is killed between the two as well.
 */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Maintenance } from "../../packages/core/src/maintenance/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { differs } from "./differs.ts"
import { inDirectory } from "./directory.ts"
import { copyStore, inspectFile } from "./file.ts"
import { beginning } from "./operations.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { directories, forkAway } from "./places.ts"
import { countUp, start } from "./processes.ts"
import { openFile } from "./store.ts"
import type { Store } from "./store.ts"

export interface WorktreeOptions {
  readonly path: string
  /** Where the places are made. */
  readonly places: string
  /** After which of its steps it is killed: statements of the store, and what the host does. */
  readonly step: number
}

/** Kills at every step, until one comes to its end. */
export const worktrees = (): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const store = openFile(path)
    await store.run(beginning)
    await store.close()
    const found = await countUp((step) => killOnce(directory, path, step))
    return { figures: `killed at ${found.length} steps of a fork into a new place`, failures: found.flat() }
  })

const killOnce = async (directory: string, from: string, step: number): Promise<ReadonlyArray<string> | undefined> => {
  const path = copyStore(from, join(directory, `${step}.db`))
  const places = join(directory, `places-${step}`)
  const child = start("worktree", { path, places, step } satisfies WorktreeOptions)
  await child.ready
  child.go()
  if ((await child.ended) === 0) return undefined
  const before = inspectFile(from).rows
  const found = [...inspectFile(path).problems]
  const store = openFile(path, { workspaces: directories(places) })
  found.push(...(await halves(store, places, "as it was left", false)))
  await store.run(Effect.flatMap(Effect.service(Maintenance), (maintenance) => maintenance.recover()))
  found.push(...(await halves(store, places, "after recovery", true)))
  const first = await store.run(forkAway)
  const second = await store.run(forkAway)
  found.push(
    ...differs("who is there in the end", await listed(store), ["s1", first.id].toSorted()),
    ...unless(first.id === second.id, "it is forked twice under one name"),
    ...unless(existsSync(join(first.workspaceDir ?? "", "src")), "the fork has no place"),
    ...differs("how many places there are", placesIn(places).length, 1),
    ...(await store.problems()),
  )
  const { entries, receipts } = await store.rows()
  found.push(
    ...differs("what was said", entries, before.entries),
    ...unless(
      receipts.every(({ unfinished }) => unfinished === undefined),
      "an operation is left unfinished",
    ),
  )
  await store.close()
  return found.map((problem) => `killed after ${step} steps: ${problem}`)
}

const placesIn = (places: string): ReadonlyArray<string> => (existsSync(places) ? readdirSync(places) : [])

const listed = (store: Store): Promise<ReadonlyArray<string>> =>
  store.run(
    Effect.map(
      Effect.flatMap(Effect.service(Sessions), (sessions) => sessions.list()),
      ({ sessions }) => sessions.map(({ id }) => id).toSorted(),
    ),
  )

/** A fork that is listed without its place; and, where somebody has recovered, a place without a fork. */
const halves = async (
  store: Store,
  places: string,
  when: string,
  isRecovered: boolean,
): Promise<ReadonlyArray<string>> => {
  const { sessions } = await store.rows()
  const forks = sessions.filter(({ forkedFrom }) => forkedFrom !== undefined)
  const homeless = forks.filter(({ workspaceDir = "" }) => !existsSync(join(workspaceDir, "src")))
  return [
    ...homeless.map(({ id }) => `${when} ${id} has no place`),
    ...(isRecovered ? differs(`how many places there are ${when}`, placesIn(places).length, forks.length) : []),
  ]
}
