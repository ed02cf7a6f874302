/**
 * Laws of the head and of branches.
 */
import { keptMoves, Heads } from "@skein/core/head"
import { Messages } from "@skein/core/message"
import * as Effect from "effect/Effect"
import { check, equal } from "../equal.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { withServices } from "../services.ts"
import { begin, checkout, pathOf, replayed, say, sayAll, session } from "./conversation.ts"

const undo = (sessionId: string) => Heads.use((heads) => heads.undo(sessionId))
const redo = (sessionId: string) => Heads.use((heads) => heads.redo(sessionId))

export const headLaws: ReadonlyArray<Law> = [
  law("HED-01 the head moves to a message, to the end of a branch, and to the root", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1", "u2", "a2"])
      equal(yield* checkout("s", "a1"), { from: "a2", to: "a1" })
      yield* say("s", "u2b")
      equal(yield* checkout("s", 1), { from: "u2b", to: "a2" })
      equal(yield* pathOf("s"), ["u1", "a1", "u2", "a2"])
      equal(yield* checkout("s", 2), { from: "a2", to: "u2b" })
      equal(yield* checkout("s", null), { from: "u2b", to: null })
      equal(yield* pathOf("s"), [])
      equal(yield* replayed("s"), [])
      equal(yield* outcomeOf(checkout("s", "nobody")), { failed: "MessageNotFound" })
      equal(yield* outcomeOf(checkout("s", 9)), { failed: "BranchNotFound" })
      equal(yield* outcomeOf(checkout("s", "a b")), { failed: "InvalidInput" })
      equal((yield* session("s")).head, null)
    }).pipe(withServices(store)),
  ),

  law(
    "HED-02 a move checks the head that was seen, and is journalled with both ends, reason, time and author",
    (store) =>
      Effect.gen(function* () {
        const heads = yield* Heads
        yield* begin("s")
        yield* sayAll("s", ["u1", "a1", "u2"])
        equal(yield* outcomeOf(heads.checkout("s", "u1", { expectedHead: "a1" })), { failed: "HeadMoved" })
        const { headVersion } = yield* session("s")
        equal(yield* outcomeOf(heads.checkout("s", "u1", { expectedVersion: headVersion - 1 })), {
          failed: "HeadMoved",
        })
        equal(yield* heads.moves("s"), [])
        yield* heads.checkout("s", "u1", { expectedHead: "u2", expectedVersion: headVersion, author: "ann" })
        yield* heads.checkout("s", null)
        const moves = yield* heads.moves("s")
        equal(
          moves.map(({ author, from, n, reason, to }) => ({ n, from, to, reason, author })),
          [
            { n: 2, from: "u1", to: null, reason: "checkout", author: undefined },
            { n: 1, from: "u2", to: "u1", reason: "checkout", author: "ann" },
          ],
        )
        check(
          moves.every(({ at }) => Number.isInteger(at)),
          "moves have a time",
        )
        equal(
          (yield* heads.moves("s", { before: 2 })).map(({ n }) => n),
          [1],
        )
        equal(
          (yield* heads.moves("s", { limit: 1 })).map(({ n }) => n),
          [2],
        )
      }).pipe(withServices(store)),
  ),

  law("HED-02 an append and a move to where the head stands are no moves", (store) =>
    Effect.gen(function* () {
      const heads = yield* Heads
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1"])
      const before = yield* session("s")
      equal(yield* checkout("s", "a1"), { from: "a1", to: "a1" })
      equal(yield* heads.moves("s"), [])
      equal(yield* session("s"), before)
    }).pipe(withServices(store)),
  ),

  law("HED-03 undo and redo walk the journal, also in a new process", (store) =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        yield* begin("s")
        yield* sayAll("s", ["u1", "a1", "u2", "a2"])
        yield* checkout("s", "a1")
        yield* sayAll("s", ["u2b", "a2b"])
        yield* checkout("s", "u1")
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        equal(yield* undo("s"), { from: "u1", to: "a2b" })
        equal(yield* undo("s"), { from: "a2b", to: "a2" })
        equal(yield* undo("s"), undefined)
        equal(yield* pathOf("s"), ["u1", "a1", "u2", "a2"])
      }).pipe(withServices(store))
      yield* Effect.gen(function* () {
        equal(yield* redo("s"), { from: "a2", to: "a2b" })
        equal(yield* redo("s"), { from: "a2b", to: "u1" })
        equal(yield* redo("s"), undefined)
        equal(yield* undo("s"), { from: "u1", to: "a2b" })
        equal(
          (yield* Heads.use((heads) => heads.moves("s"))).map(({ reason }) => reason),
          ["undo", "redo", "redo", "undo", "undo", "checkout", "checkout"],
        )
      }).pipe(withServices(store))
    }),
  ),

  law("HED-03 a new message ends redo, and the journal stays", (store) =>
    Effect.gen(function* () {
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1"])
      yield* checkout("s", "u1")
      yield* undo("s")
      yield* say("s", "u2")
      equal(yield* redo("s"), undefined)
      equal(yield* pathOf("s"), ["u1", "a1", "u2"])
      equal((yield* Heads.use((heads) => heads.moves("s"))).length, 2)
      equal(yield* checkout("s", "u1"), { from: "u2", to: "u1" })
    }).pipe(withServices(store)),
  ),

  law("HED-02 HED-03 a thousand moves are kept, and one that was forgotten answers nothing", (store) =>
    Effect.gen(function* () {
      const heads = yield* Heads
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1"])
      for (let i = 0; i < keptMoves + 3; i++) yield* checkout("s", i % 2 === 0 ? "u1" : "a1")
      const oldest = yield* heads.moves("s", { before: 50, limit: 250 })
      equal(oldest.at(-1)?.n, 4)
      // Each undo is a move itself, and so lets the oldest one go.
      let taken = 0
      while ((yield* undo("s")) !== undefined) taken++
      equal(taken, keptMoves / 2)
      equal(yield* undo("s"), undefined)
    }).pipe(withServices(store)),
  ),

  law("HED-01 deepest follows the longest way on, and of equal ones the newest", (store) =>
    Effect.gen(function* () {
      const heads = yield* Heads
      const deepest = (id: string) => Effect.map(heads.deepest("s", id), (message) => message.id)
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1", "u2"])
      yield* checkout("s", "a1")
      yield* sayAll("s", ["u2b", "a2b"])
      yield* checkout("s", "u1")
      yield* sayAll("s", ["a1c", "u2c", "a2c"])
      equal(yield* deepest("u1"), "a2c")
      equal(yield* deepest("a1"), "a2b")
      equal(yield* deepest("u2"), "u2")
      yield* checkout("s", "u2")
      yield* say("s", "a2")
      equal(yield* deepest("a1"), "a2b")
      equal(yield* deepest("u1"), "a2c")
    }).pipe(withServices(store)),
  ),

  law("HED-01 a name given by hand stays when an automatic one comes later", (store) =>
    Effect.gen(function* () {
      const heads = yield* Heads
      const messages = yield* Messages
      yield* begin("s")
      yield* say("s", "u1")
      equal(yield* heads.nameBranch("s", 1, "guess", { automatic: true }), "guess")
      equal(yield* heads.nameBranch("s", 1, "the plan"), "the plan")
      equal(yield* heads.nameBranch("s", 1, "another guess", { automatic: true }), "the plan")
      equal((yield* messages.branches("s"))[0]?.name, "the plan")
      equal(yield* outcomeOf(heads.nameBranch("s", 1, "x".repeat(41), { automatic: true })), { failed: "InvalidInput" })
      equal(yield* outcomeOf(heads.nameBranch("s", 1, "x".repeat(81))), { failed: "InvalidInput" })
      equal(yield* outcomeOf(heads.nameBranch("s", 2, "x")), { failed: "BranchNotFound" })
    }).pipe(withServices(store)),
  ),

  law("HED-01 deleteBranch removes what nothing else needs, and moves a head that stood on it first", (store) =>
    Effect.gen(function* () {
      const heads = yield* Heads
      const messages = yield* Messages
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1", "u2", "a2"])
      yield* checkout("s", "a1")
      yield* sayAll("s", ["u2b", "a2b"])
      equal(yield* heads.deleteBranch("s", 2), { removed: 2, head: "a1" })
      equal(yield* pathOf("s"), ["u1", "a1"])
      equal(
        (yield* messages.branches("s")).map(({ tip }) => tip),
        ["a2"],
      )
      equal(yield* outcomeOf(messages.get("s", "u2b")), { failed: "MessageNotFound" })
      yield* say("s", "u3")
      equal(
        (yield* messages.branches("s")).map(({ branch, tip }) => [branch, tip]),
        [
          [1, "a2"],
          [3, "u3"],
        ],
      )
      equal(yield* heads.deleteBranch("s", 1), { removed: 2, head: "u3" })
      equal(yield* pathOf("s"), ["u1", "a1", "u3"])
      equal(yield* outcomeOf(heads.deleteBranch("s", 9)), { failed: "BranchNotFound" })
      equal(yield* heads.deleteBranch("s", 3, { moveTo: "u1" }), { removed: 1, head: "u1" })
      equal(yield* pathOf("s"), ["u1"])
    }).pipe(withServices(store)),
  ),

  law("HED-01 HED-03 what is deleted leaves its place for good: nothing else is ever found there", (store) =>
    Effect.gen(function* () {
      const heads = yield* Heads
      const messages = yield* Messages
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1", "u2", "a2"])
      const { before } = yield* messages.page("s", { limit: 1 })
      yield* checkout("s", "a1")
      yield* say("s", "u2b")
      yield* checkout("s", "a1")
      equal(yield* heads.deleteBranch("s", 1), { removed: 2, head: "a1" })
      yield* sayAll("s", ["u2c", "a2c"])
      equal(yield* pathOf("s"), ["u1", "a1", "u2c", "a2c"])
      equal(
        (yield* messages.branches("s")).map(({ branch, tip }) => [branch, tip]),
        [
          [1, "a1"],
          [2, "u2b"],
          [3, "a2c"],
        ],
      )
      // A cursor of a2 knows nothing of what came after it, and no move leads to where a2 was.
      equal(yield* outcomeOf(messages.page("s", { before: before! })), { failed: "InvalidCursor" })
      equal(
        (yield* heads.moves("s")).map(({ from, to }) => [from, to]),
        [
          ["u2b", "a1"],
          [undefined, "a1"],
        ],
      )
      equal(yield* undo("s"), { from: "a2c", to: "u2b" })
      equal(yield* undo("s"), undefined)
      equal(yield* pathOf("s"), ["u1", "a1", "u2b"])
      // Nor does the branch that was cut go on when the head comes back to where it ends now.
      yield* checkout("s", "a1")
      yield* say("s", "u2d")
      equal(yield* pathOf("s"), ["u1", "a1", "u2d"])
      equal(
        (yield* messages.branches("s")).map(({ branch, tip }) => [branch, tip]),
        [
          [1, "a1"],
          [2, "u2b"],
          [3, "a2c"],
          [4, "u2d"],
        ],
      )
    }).pipe(withServices(store)),
  ),

  law("HED-02 undo, redo and deleteBranch check the head that was seen, too", (store) =>
    Effect.gen(function* () {
      const heads = yield* Heads
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1"])
      yield* checkout("s", "u1")
      const before = yield* session("s")
      const version = before.headVersion
      const stale = [{ expectedHead: "a1" }, { expectedHead: null }, { expectedVersion: version - 1 }]
      for (const options of stale) {
        equal(yield* outcomeOf(heads.undo("s", options)), { failed: "HeadMoved" })
        equal(yield* outcomeOf(heads.deleteBranch("s", 1, options)), { failed: "HeadMoved" })
      }
      equal(yield* session("s"), before)
      equal(yield* heads.undo("s", { expectedHead: "u1", expectedVersion: version }), { from: "u1", to: "a1" })
      equal(yield* outcomeOf(heads.redo("s", { expectedVersion: version })), { failed: "HeadMoved" })
      equal(yield* heads.redo("s", { expectedHead: "a1" }), { from: "a1", to: "u1" })
      equal(yield* heads.deleteBranch("s", 1, { expectedHead: "u1" }), { removed: 2, head: null })
    }).pipe(withServices(store)),
  ),

  law("MSG-06 a branch tells what was last said on it that people see", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1"])
      yield* messages.append("s", { id: "hidden", role: "user", model: { role: "user", content: "not for the eye" } })
      yield* checkout("s", "u1")
      yield* messages.append("s", { id: "hidden-too", role: "assistant", model: { role: "assistant", content: "x" } })
      equal(
        (yield* messages.branches("s")).map(({ lastText, messages: size, tip }) => [tip, size, lastText]),
        [
          ["hidden", 2, "a1"],
          ["hidden-too", 1, ""],
        ],
      )
    }).pipe(withServices(store)),
  ),

  law("HED-01 a deleted branch that was the only one leaves an empty conversation", (store) =>
    Effect.gen(function* () {
      const heads = yield* Heads
      yield* begin("s")
      yield* sayAll("s", ["u1", "a1"])
      equal(yield* heads.deleteBranch("s", 1), { removed: 2, head: null })
      equal(yield* pathOf("s"), [])
      equal((yield* session("s")).counts, { entries: 0, messages: 0, prompts: 0, turns: 0 })
      equal(yield* undo("s"), undefined)
      yield* say("s", "u2")
      equal(yield* pathOf("s"), ["u2"])
    }).pipe(withServices(store)),
  ),

  law("HIS-05 historyVersion changes with what is replayed and with nothing else", (store) =>
    Effect.gen(function* () {
      const messages = yield* Messages
      yield* begin("s")
      const version = Effect.map(session("s"), (one) => one.historyVersion)
      const v0 = yield* version
      yield* messages.append("s", { id: "seen", role: "assistant", display: { role: "assistant", content: "x" } })
      equal(yield* version, v0)
      yield* say("s", "u1")
      const v1 = yield* version
      check(v1 > v0, "a replayed message must change it")
      yield* Heads.use((heads) => heads.nameBranch("s", 1, "name"))
      yield* pathOf("s")
      equal(yield* version, v1)
      yield* checkout("s", "seen")
      const v2 = yield* version
      check(v2 > v1, "a move to where less is replayed must change it")
      yield* checkout("s", null)
      yield* undo("s")
      equal(yield* version, v2, "the version after moves between places that replay the same")
      yield* say("s", "u1b")
      const v3 = yield* version
      yield* messages.append("s", { id: "beside", role: "user", body: "x" }, { at: "u1", moveHead: false })
      yield* Heads.use((heads) => heads.deleteBranch("s", 1))
      equal(yield* version, v3, "the version after something was written and deleted elsewhere")
    }).pipe(withServices(store)),
  ),
]
