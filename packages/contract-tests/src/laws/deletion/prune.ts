/**
 * Laws of pruning: what is forgotten, what goes with it, and what stays.
 */
import { Deletions } from "@skein/core/deletion"
import type { PruneOptions } from "@skein/core/deletion"
import { Forks } from "@skein/core/fork"
import type { Workspaces } from "@skein/core/fork"
import { Heads } from "@skein/core/head"
import { Messages } from "@skein/core/message"
import { Turns } from "@skein/core/turn"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import { atTime } from "../../clock.ts"
import { equal } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { withServices } from "../../services.ts"
import { begin, checkout, pathOf, recovered, said, say, sayAll, session } from "../conversation.ts"
import { remove } from "./delete.ts"
import { counts, everything } from "../../everything.ts"

const prune = (sessionId: string, options?: PruneOptions) =>
  Deletions.use((deletions) => deletions.prune(sessionId, options))
const undo = (sessionId: string) => Heads.use((heads) => heads.undo(sessionId))
const entryIds = Effect.map(everything, (found) => (found["entry"] ?? []).map((row) => String(row["id"])).toSorted())

/** Three ways on from `u1`: `a1 u2`, `a2` and `a3`, where the head stands. */
const threeWays = Effect.gen(function* () {
  yield* begin("s")
  yield* sayAll("s", ["u1", "a1", "u2"]).pipe(atTime(100))
  yield* checkout("s", "u1").pipe(atTime(200))
  yield* say("s", "a2").pipe(atTime(200))
  yield* checkout("s", "u1").pipe(atTime(300))
  yield* say("s", "a3").pipe(atTime(300))
})

export const pruneLaws: ReadonlyArray<Law> = [
  law("RWD-03 nothing is deleted by going back, and pruning deletes what was left behind", (store) =>
    Effect.gen(function* () {
      yield* threeWays
      equal(yield* entryIds, ["a1", "a2", "a3", "u1", "u2"])
      equal(yield* undo("s"), { from: "a3", to: "a2" })
      equal(yield* undo("s"), { from: "a2", to: "u2" })
      equal(yield* pathOf("s"), ["u1", "a1", "u2"])
      const { revision } = yield* session("s")
      equal(yield* prune("s"), { moves: 4, entries: 2, branches: 2 })
      equal(yield* entryIds, ["a1", "u1", "u2"])
      equal(yield* undo("s"), undefined)
      equal((yield* session("s")).revision > revision, true)
      equal(yield* pathOf("s"), ["u1", "a1", "u2"])
      equal(yield* prune("s"), { moves: 0, entries: 0, branches: 0 })
      yield* say("s", "a4")
      equal(yield* pathOf("s"), ["u1", "a1", "u2", "a4"])
    }).pipe(withServices(store)),
  ),
  law("RWD-03 what a move leads to that is remembered stays, and the way back with it", (store) =>
    Effect.gen(function* () {
      yield* threeWays
      equal(yield* prune("s", { before: 300 }), { moves: 1, entries: 2, branches: 0 })
      equal(yield* entryIds, ["a2", "a3", "u1"])
      equal(yield* undo("s"), { from: "a3", to: "a2" })
      equal(yield* undo("s"), undefined)
      equal(yield* prune("s", { before: 0 }), { moves: 0, entries: 0, branches: 0 })
    }).pipe(withServices(store)),
  ),
  law("RWD-03 what has a name stays, and what a fork or a side conversation stands on", (store) =>
    Effect.gen(function* () {
      yield* threeWays
      yield* checkout("s", "u2")
      const fork = yield* Forks.use((forks) => forks.fork("s", { at: "a1" }))
      yield* say(fork.id, "u9")
      yield* checkout("s", "a3")
      const [, second] = yield* Messages.use((messages) => messages.branches("s"))
      yield* Heads.use((heads) => heads.nameBranch("s", second!.branch, "the other way"))
      equal(yield* prune("s").pipe(Effect.map(({ entries }) => entries)), 1)
      equal(yield* entryIds, ["a1", "a2", "a3", "u1", "u9"])
      equal(yield* pathOf(fork.id), ["u1", "a1", "u9"])
      yield* remove(fork.id)
      equal(yield* entryIds, ["a1", "a2", "a3", "u1"])
      yield* prune("s")
      equal(yield* entryIds, ["a2", "a3", "u1"])
    }).pipe(withServices(store)),
  ),
  law("RWD-03 a place is not used twice: behind what is left a new branch begins", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1", "u2"])
      yield* checkout("s", "u1")
      yield* prune("s")
      equal(yield* entryIds, ["u1"])
      yield* say("s", "a2")
      const places = (yield* everything)["entry"]!.map(({ branch, id, pos }) => [id, branch, pos])
      equal(places, [
        ["u1", 1, 1],
        ["a2", 2, 1],
      ])
      equal(yield* pathOf("s"), ["u1", "a2"])
    }).pipe(withServices(store)),
  ),
  law("RWD-03 HED-02 a running turn refuses pruning", (store) =>
    Effect.gen(function* () {
      yield* threeWays
      yield* Turns.use((turns) => turns.begin("s", { prompt: said("u5") }))
      const before = yield* everything
      equal(yield* outcomeOf(prune("s")), { failed: "RunActive" })
      equal(yield* outcomeOf(prune("nobody")), { failed: "SessionNotFound" })
      equal(yield* everything, before)
    }).pipe(withServices(store)),
  ),
  law("RWD-03 long ways are pruned in several commits, the journal too", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* say("s", "u1")
      const many = Array.from({ length: 1_200 }, (_, i) => said(`a${i}`))
      yield* Messages.use((messages) => messages.appendMany("s", many))
      for (let i = 0; i < 300; i++) {
        yield* checkout("s", "u1")
        yield* checkout("s", "a0")
      }
      yield* checkout("s", "u1")
      equal(yield* prune("s"), { moves: 601, entries: 1_200, branches: 0 })
      equal(yield* counts, { project: 1, session: 1, tree: 1, branch: 1, entry: 1 })
    }).pipe(withServices(store)),
  ),
  law("RWD-03 FRK-04 what a fork that is being made leaves from stays, and goes if it comes to nothing", (store) => {
    const asked = Latch.makeUnsafe(false)
    const goOn = Latch.makeUnsafe(false)
    const workspaces: Workspaces = {
      prepare: () => Effect.andThen(Effect.andThen(asked.open, goOn.await), Effect.fail(new Error("no room"))),
      remove: () => Effect.void,
    }
    return Effect.gen(function* () {
      yield* threeWays
      yield* checkout("s", "u2")
      const making = yield* Effect.forkChild(
        outcomeOf(Forks.use((forks) => forks.fork("s", { at: "a1", workspace: { new: "worktree" } }))),
      )
      yield* asked.await
      yield* checkout("s", "a3")
      yield* prune("s")
      equal(yield* entryIds, ["a1", "a3", "u1"])
      yield* remove("s")
      equal(yield* entryIds, ["a1", "u1"])
      yield* goOn.open
      yield* Fiber.join(making)
      yield* recovered
      equal(yield* counts, { project: 1, tombstone: 1 })
    }).pipe(withServices(store, { workspaces }))
  }),
]
