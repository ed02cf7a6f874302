/**
 * Deleting, erasing and pruning take many commits (DEL-01, DEL-05, RWD-03): wherever a process stops between two statements,
 * nothing is half gone for whoever looks, nothing that somebody can get to is lost, and in the end everything is as if it had
 * not stopped.
 */
import { isDeepStrictEqual } from "node:util"
import * as Effect from "effect/Effect"
import { everything } from "../../packages/contract-tests/src/everything.ts"
import { walk } from "../../packages/contract-tests/src/laws/deletion/walk.ts"
import { Deletions } from "../../packages/core/src/deletion/service.ts"
import { Forks } from "../../packages/core/src/fork/service.ts"
import { Heads } from "../../packages/core/src/head/service.ts"
import { Maintenance } from "../../packages/core/src/maintenance/service.ts"
import { Messages } from "../../packages/core/src/message/service.ts"
import { Queue } from "../../packages/core/src/queue/service.ts"
import type { Services } from "../../packages/core/src/services.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { Usage } from "../../packages/core/src/usage/service.ts"
import { crashing } from "./crash.ts"
import { inDirectory } from "./directory.ts"
import { assistant, beginning, spent, user } from "./operations.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { openFile } from "./store.ts"
import type { Store } from "./store.ts"

export interface Removal {
  readonly name: string
  readonly run: Effect.Effect<unknown, unknown, Services>
  /** The sessions that go, all at once. */
  readonly gone: ReadonlyArray<string>
}

const withDeletions = (use: (deletions: Deletions["Service"]) => Effect.Effect<unknown, unknown>) =>
  Effect.flatMap(Effect.service(Deletions), use)

export const removals: ReadonlyArray<Removal> = [
  { name: "delete", gone: ["s1", "t1"], run: withDeletions((deletions) => deletions.delete("s1")) },
  { name: "erase", gone: ["s1", "t1"], run: withDeletions((deletions) => deletions.erase("s1")) },
  { name: "prune", gone: [], run: withDeletions((deletions) => deletions.prune("s1")) },
]

/** A session with all that one can have: branches, moves, a queue, calls, a task, large bodies, and a fork that shares. */
const family = Effect.gen(function* () {
  const sessions = yield* Sessions
  const messages = yield* Messages
  const queue = yield* Queue
  yield* beginning
  yield* sessions.create({ id: "t1", parentId: "s1", kind: "task" })
  yield* messages.append("t1", user("k1"))
  yield* queue.enqueue("s1", user("q1"), { clientRequestId: "r1" })
  yield* (yield* Usage).record("s1", spent("u1", 10))
  const fork = yield* (yield* Forks).fork("s1", { at: "m4" })
  yield* messages.append(fork.id, user("f1"))
  yield* (yield* Heads).checkout("s1", "m1")
  yield* messages.append("s1", { id: "c1", body: { role: "assistant", content: "x".repeat(70_000) } })
  yield* messages.append("s1", assistant("c2"))
})

const times = new Set("deletedAt updatedAt redacted checkAt leftSince".split(" "))

/** All rows, without the times at which something was done. */
const settledRows = (store: Store): Promise<unknown> =>
  store.run(
    Effect.map(everything, (found): unknown =>
      JSON.parse(JSON.stringify(found, (name, value: unknown) => (times.has(name) ? 0 : value))),
    ),
  )

const recover = Effect.flatMap(Effect.service(Maintenance), (maintenance) => maintenance.recover())

/** A crash at every statement of a removal: what each one leaves is opened. */
export const stoppedRemoval = ({ gone, name, run }: Removal): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const { after, before, copies } = await crashing(directory, {
      prepare: (store) => store.run(family),
      before: (store) => store.run(everything),
      run: (store) => store.run(run),
      after: settledRows,
    })
    const failures: Array<string> = []
    for (const [step, file] of copies.entries()) {
      const where = `${name}, stopped after ${step} of ${copies.length - 1} statements:`
      failures.push(...(await problemsOf(file)).map((problem) => `${where} ${problem}`))
    }
    return { figures: `${name}: ${copies.length} crashes`, failures }

    async function problemsOf(file: string): Promise<ReadonlyArray<string>> {
      const found = openFile(file)
      try {
        const rows = await found.run(everything)
        const listed = (rows["session"] ?? []).map((row) => String(row["id"]))
        const there = gone.filter((id) => listed.includes(id))
        const others = (of: typeof before) =>
          (of["session"] ?? []).filter((row) => !["s1", "t1"].includes(String(row["id"])))
        const isMarked = gone.length > 0 && there.length === 0
        const early = [
          ...unless(there.length === 0 || there.length === gone.length, `${there.join()} is left of a family`),
          ...unless(others(rows).length === others(before).length, "another session is gone"),
          ...walk(rows, new Set()).problems,
        ]
        await found.run(recover)
        if (!isMarked) await found.run(run)
        const isSame = isDeepStrictEqual(await settledRows(found), after)
        return [...early, ...unless(isSame, "it does not come to the same end")]
      } finally {
        await found.close()
      }
    }
  })
