/**
 * One of several processes that run turns in the same sessions.
 */
import { openSync, writeSync } from "node:fs"
import * as Effect from "effect/Effect"
import { Maintenance } from "../../packages/core/src/maintenance/service.ts"
import { Turns } from "../../packages/core/src/turn/service.ts"
import { randomFrom } from "../port/random.ts"
import { child } from "./child.ts"
import { assistant, user } from "./operations.ts"
import { openFile } from "./store.ts"
import type { Note, WorkerOptions, WorkerReport } from "./workers.ts"

child<WorkerOptions>(async ({ name, notes, path, seed, sessions, takesOver, turns: count }): Promise<WorkerReport> => {
  const store = openFile(path)
  const random = randomFrom(seed)
  const file = openSync(notes, "a")
  // One write to a file that is open for appending stays in one piece.
  const note = (line: Note) => Effect.sync(() => void writeSync(file, `${line}\n`))
  const report = { completed: 0, refused: 0, superseded: 0 }
  const stored: Array<string> = []
  const failures: Array<string> = []

  const turnOf = Effect.fnUntraced(function* (session: string, id: string, takeOver: boolean) {
    const turns = yield* Turns
    yield* turns.run(
      session,
      { prompt: user(`${id}-prompt`) },
      Effect.fnUntraced(function* (turn) {
        yield* note(`begin ${session} ${turn.epoch}`)
        for (let n = 1; n <= 3; n++) {
          yield* Effect.sleep(random() * 5)
          stored.push((yield* turn.settle(assistant(`${id}-${n}`))).id)
        }
        yield* note(`end ${session} ${turn.epoch}`)
      }),
      { takeOver },
    )
  })

  for (let n = 1; report.completed < count; n++) {
    const session = sessions[Math.floor(random() * sessions.length)]!
    const takeOver = takesOver && random() < 0.5
    await store.run(
      Effect.matchEffect(turnOf(session, `${name}-${n}`, takeOver), {
        onSuccess: () => Effect.sync(() => report.completed++),
        onFailure: (failure) =>
          Effect.suspend(() => {
            if (failure._tag === "StaleTurn") report.superseded++
            else if (failure._tag === "RunActive") report.refused++
            else failures.push(`${name} in ${session}: ${String(failure)}`)
            // Nobody gets further by asking again at once.
            return Effect.sleep(1 + random() * 4)
          }),
      }),
    )
    if (n % 5 === 0) await store.run(Effect.flatMap(Effect.service(Maintenance), (one) => one.recover()))
  }
  await store.close()
  return { ...report, stored, failures }
})
