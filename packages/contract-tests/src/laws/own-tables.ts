/**
 * Laws of what a host adds: tables of its own, and transactions over those and skein's.
 */
import { SessionTable } from "@skein/core"
import { Sessions } from "@skein/core/session"
import { descInt, index, Storage, table, text, Tx } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { equal } from "../equal.ts"
import { law } from "../law.ts"
import type { Law } from "../law.ts"
import { outcomeOf } from "../outcome.ts"
import { withServices } from "../services.ts"
import { begin } from "./conversation.ts"

const Bookmark = z.object({ sessionId: z.string(), name: z.string(), at: z.number() })
const BookmarkTable = table("bookmark", {
  row: Bookmark,
  key: [text("sessionId"), text("name")],
  indexes: { byTime: index(text("sessionId"), descInt("at")) },
})

/** Marks a session that is there, and says so in its metadata: one commit over two tables. */
const mark = (sessionId: string, name: string, at: number) =>
  Tx.make(function* (tx) {
    const [session, taken] = yield* tx.all([
      tx.get(SessionTable, [sessionId]),
      tx.get(BookmarkTable, [sessionId, name]),
    ])
    if (session === undefined) return yield* tx.fail({ _tag: "NoSession" } as const)
    if (taken !== undefined) return yield* tx.fail({ _tag: "Taken" } as const)
    tx.insert(BookmarkTable, { sessionId, name, at })
    tx.update(SessionTable, [sessionId], (row) => ({ ...row, metadata: { lastMark: name } }))
    return name
  })

const marks = (sessionId: string) =>
  Tx.make(function* (tx) {
    return (yield* tx.range(BookmarkTable, "byTime", { prefix: [sessionId] })).map(({ name }) => name)
  })

export const ownTableLaws: ReadonlyArray<Law> = [
  law("API-02 a host's own tables are kept beside skein's, and one transaction may write both", (store) =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        const storage = yield* Storage
        yield* begin("s")
        yield* storage.transact(mark("s", "early", 1))
        yield* storage.transact(mark("s", "late", 2))
        equal(yield* outcomeOf(storage.transact(mark("s", "late", 3))), { failed: "Taken" })
        equal(yield* outcomeOf(storage.transact(mark("nobody", "x", 3))), { failed: "NoSession" })
      }).pipe(withServices(store, { tables: [BookmarkTable] }))
      yield* Effect.gen(function* () {
        const storage = yield* Storage
        const sessions = yield* Sessions
        equal(yield* storage.read(marks("s")), ["late", "early"])
        equal((yield* sessions.get("s")).metadata, { lastMark: "late" })
      }).pipe(withServices(store, { tables: [BookmarkTable] }))
    }),
  ),

  law("API-02 a store with a host's tables opens without them, and they are there again afterwards", (store) =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        const storage = yield* Storage
        yield* begin("s")
        yield* storage.transact(mark("s", "kept", 1))
      }).pipe(withServices(store, { tables: [BookmarkTable] }))
      equal((yield* Sessions.use((sessions) => sessions.get("s")).pipe(withServices(store))).id, "s")
      equal(
        yield* Storage.use((storage) => storage.read(marks("s"))).pipe(
          withServices(store, { tables: [BookmarkTable] }),
        ),
        ["kept"],
      )
    }),
  ),
]
