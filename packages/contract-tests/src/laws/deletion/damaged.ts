/**
 * Laws of damage: what cannot be walked to its end is left, or refused, and never walked for ever.
 */
import { BranchTable, SessionTable } from "@skein/core"
import type { Services } from "@skein/core"
import { Deletions } from "@skein/core/deletion"
import { Forks } from "@skein/core/fork"
import { Rewinds } from "@skein/core/rewind"
import { Sessions } from "@skein/core/session"
import { Storage, Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import { check, equal } from "../../equal.ts"
import { law } from "../../law.ts"
import type { Law } from "../../law.ts"
import { outcomeOf } from "../../outcome.ts"
import { withServices } from "../../services.ts"
import { begin, checkout, pathOf, sayAll, session } from "../conversation.ts"
import { remove } from "./delete.ts"
import { counts } from "../../everything.ts"

/** Writes past the services, as damage would: sessions that started one another, and branches that left one another. */
const bend = Storage.use((storage) =>
  storage.transact(
    Tx.make(function* (tx) {
      const rows = yield* tx.all(["x", "y", "z"].map((id) => tx.get(SessionTable, [id])))
      const treeId = rows[0]!.treeId
      yield* tx.range(BranchTable, "key", { prefix: [treeId] })
      for (const [id, parentId] of [
        ["x", "y"],
        ["y", "x"],
        ["z", "z"],
      ] as const) {
        tx.update(SessionTable, [id], (row) => ({ ...row, parentId, kind: "task" as const, shelf: "task" as const }))
      }
      tx.update(BranchTable, [treeId, 1], (row) => ({
        ...row,
        parent: 2,
        forkAt: 1,
        trail: [{ branch: 2, upTo: 1, displays: 1, prompts: 1 }],
      }))
    }),
  ),
)

export const damagedLaws: ReadonlyArray<Law> = [
  law("A40 circles of parents are refused or left, listed once, and go when they are deleted", (store) =>
    Effect.gen(function* () {
      for (const id of ["x", "y", "z"]) yield* begin(id)
      yield* sayAll("x", ["u1", "a1", "u2"])
      yield* checkout("x", "u1")
      yield* sayAll("x", ["a3"])
      yield* bend
      // Each ends, with an answer or an error that says what is damaged.
      const ways: ReadonlyArray<Effect.Effect<unknown, unknown, Services>> = [
        pathOf("x"),
        checkout("x", "a1"),
        Forks.use((forks) => forks.fork("x", { at: "a1" })),
        Rewinds.use((rewinds) => rewinds.rewind("x", "u1")),
        Deletions.use((deletions) => deletions.prune("x")),
      ]
      for (const way of ways) check(!("defect" in (yield* outcomeOf(way))), "it died")
      equal(yield* outcomeOf(Sessions.use((sessions) => sessions.navigable("x"))), { failed: "SessionNotFound" })
      const listed = yield* Sessions.use((sessions) => sessions.list({ kind: ["task"] }))
      equal(listed.sessions.map(({ id }) => id).toSorted(), ["x", "y", "z"])
      const others = (yield* Sessions.use((sessions) => sessions.list())).sessions
      for (const { id } of others) yield* remove(id)
      const { deleted, moved } = yield* remove("x")
      equal([deleted.map(({ id }) => id), moved], [["x", "y"], []])
      equal((yield* remove("z")).deleted.length, 1)
      equal(yield* outcomeOf(session("y")), { failed: "SessionDeleted" })
      equal(yield* counts, { project: 1, tombstone: 3 + others.length })
    }).pipe(withServices(store)),
  ),
]
