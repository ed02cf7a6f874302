/**
 * Queues that somebody pauses while two processes work them off (QUE-05): from the commit of the pause on nothing more is
 * sent of them, also when a worker dies and another one begins; and everything is, once they are resumed.
 */
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Queue } from "../../packages/core/src/queue/service.ts"
import type { SessionRow } from "../../packages/core/src/session/model.ts"
import { SessionTable } from "../../packages/core/src/session/model.ts"
import { Storage, Tx } from "@skein/core/storage"
import { randomFrom } from "../port/random.ts"
import { inDirectory } from "./directory.ts"
import { differs } from "./differs.ts"
import { enqueueAll, recoveredProblems, waitingIn } from "./drain.ts"
import type { DrainOptions } from "./drain.ts"
import { inspectFile } from "./file.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { start } from "./processes.ts"
import type { Child } from "./processes.ts"
import { openFile } from "./store.ts"
import type { Store } from "./store.ts"

interface Options {
  readonly sessions: number
  /** How many wait in each. */
  readonly items: number
  /** How many queues are paused. */
  readonly pauses: number
  readonly seed: number
}

/** How long something may take that comes of itself, in milliseconds. */
const patience = 60_000
/** How long a turn rests between two of its writes: a queue takes many times as long as it takes to pause some of them. */
const rest = 30

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

export const paused = ({ items, pauses, seed, sessions: count }: Options): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const sessions = Array.from({ length: count }, (_, i) => `s${i + 1}`)
    await enqueueAll(
      path,
      sessions,
      Array.from({ length: count * items }, (_, i) => `${sessions[i % count]!} item ${Math.floor(i / count) + 1}`),
    )
    const random = randomFrom(seed)
    const store = openFile(path)
    const workers = [await startWorker(path, seed), await startWorker(path, seed + 1)]
    await Promise.all(workers.map((worker) => worker.news))
    /** The paused ones, as they were right after that. */
    const stopped: Array<SessionRow> = []
    for (const id of sessions.slice(0, pauses)) {
      await wait(random() * rest)
      const row = await pause(store, id)
      if (row.queue !== undefined) stopped.push(row)
    }
    const held = stopped.reduce((sum, { queue }) => sum + queue!.items, 0)
    const failures = [...(await comesTo(path, held)), ...stillStopped(path, stopped)]
    // The next worker recovers what the dead one ran, and finds the pauses as they were.
    await workers[0]!.kill()
    workers.push(await startWorker(path, seed + 2))
    await wait(500)
    failures.push(...stillStopped(path, stopped))
    for (const { id } of stopped) await store.run(withQueue((queue) => queue.resume(id)))
    failures.push(...(await comesTo(path, 0)))
    await store.close()
    await Promise.all(workers.map((worker) => worker.kill()))
    return {
      figures: `${stopped.length} of ${count} queues paused with ${held} items, two workers on the others, then resumed`,
      failures: [
        ...failures,
        ...(await recoveredProblems(path)),
        ...unless(held > 0, "nothing waited where it was paused, so that this has shown nothing"),
      ],
    }
  })

const startWorker = async (path: string, seed: number): Promise<Child> => {
  const worker = start("drain", { path, concurrency: 3, pause: rest, seed } satisfies DrainOptions)
  await worker.ready
  worker.go()
  return worker
}

const withQueue = <A, E>(use: (queue: Queue["Service"]) => Effect.Effect<A, E>) =>
  Effect.flatMap(Effect.service(Queue), use)

/** Pauses a queue, and reads the session as it is then. */
const pause = (store: Store, id: string): Promise<SessionRow> =>
  store.run(
    Effect.gen(function* () {
      yield* (yield* Queue).pause(id)
      const storage = yield* Storage
      const row = yield* storage.read(
        Tx.make(function* (tx) {
          return yield* tx.get(SessionTable, [id])
        }),
      )
      return row as SessionRow
    }),
  )

/** Waits until as many items wait as are to. */
const comesTo = async (path: string, items: number): Promise<ReadonlyArray<string>> => {
  const end = performance.now() + patience
  while (performance.now() < end) {
    if (waitingIn(path) === items) return []
    await wait(50)
  }
  return [`${waitingIn(path)} items wait, not ${items}`]
}

/** Nothing was sent of these, and they are paused as they were. */
const stillStopped = (path: string, stopped: ReadonlyArray<SessionRow>): ReadonlyArray<string> => {
  const { problems, rows } = inspectFile(path)
  const now = new Map(rows.sessions.map((row) => [row.id, row]))
  return [
    ...problems,
    ...stopped.flatMap(({ epoch, id, queue }) => [
      ...differs(`the queue of ${id}, which is paused,`, now.get(id)?.queue, queue),
      ...differs(`how many turns ${id} has, which is paused,`, now.get(id)?.epoch, epoch),
    ]),
  ]
}
