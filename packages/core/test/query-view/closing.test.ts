import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { QueryViewTable } from "../../src/query-view/model.ts"
import { closeViews, openViews } from "../../src/query-view/program.ts"
import { QueryViews } from "../../src/query-view/service.ts"
import { SessionTable } from "../../src/session/model.ts"
import { Sessions } from "../../src/session/service.ts"
import { Storage, Tx } from "../../src/storage/index.ts"
import type { Notice } from "../../src/storage/transaction.ts"
import { inStore } from "../support/core-store.ts"

const turn = { id: "t", epoch: 1, owner: "o", host: "h", startedAt: 0, beat: 0, lease: 30_000, until: 0, drafts: [] }

/** A session whose turn runs the questions `a` and `b`, begun a hundred milliseconds apart; `c` is finished. */
const working = Effect.gen(function* () {
  const storage = yield* Storage
  const views = yield* QueryViews
  yield* Sessions.use((sessions) => sessions.create({ id: "s" }))
  yield* storage.transact(
    Tx.make(function* (tx) {
      yield* tx.get(SessionTable, ["s"])
      tx.update(SessionTable, ["s"], (row) => ({ ...row, epoch: 1, activeTurn: turn }))
    }),
  )
  for (const queryKey of ["c", "a", "b"]) {
    yield* TestClock.adjust(100)
    yield* views.start("s", { queryKey, epoch: 1 })
    if (queryKey === "c") yield* views.finish("s", { queryKey, epoch: 1 })
  }
})

/** Ends the turn at a time, as whatever ends turns does. */
const ended = (at: number) =>
  Storage.use((storage) =>
    storage.transact(
      Tx.make(function* (tx) {
        const session = yield* tx.get(SessionTable, ["s"])
        const views = yield* openViews(session!)
        const { revision } = tx.update(SessionTable, ["s"], ({ activeTurn: _ended, ...row }) => ({
          ...row,
          revision: row.revision + 1,
        }))
        closeViews(tx, views, at, revision)
        return revision
      }),
    ),
  )

const shown = (...queryKeys: ReadonlyArray<string>) =>
  Effect.map(
    QueryViews.use((views) => views.list("s", queryKeys)),
    (found) => found.map(({ duration, finishedAt, queryKey, state }) => [queryKey, state, finishedAt, duration]),
  )

it.effect("QVW-01 what ends a turn closes the views that it has open, and tells so", () =>
  inStore(() =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* Storage
        const heard: Array<Notice> = []
        yield* storage.observe((notices) => heard.push(...notices))
        yield* working
        assert.strictEqual(heard.length, 4)
        heard.length = 0
        const revision = yield* ended(1_000)
        assert.deepStrictEqual(yield* shown("a", "b", "c"), [
          ["a", "finished", 1_000, 800],
          ["b", "finished", 1_000, 700],
          ["c", "finished", 100, 0],
        ])
        assert.deepStrictEqual(
          heard.map((notice) => {
            const { _tag, revision, sessionId, view } = notice as unknown as Record<string, unknown>
            return [_tag, sessionId, revision, (view as { readonly question: string }).question]
          }),
          [
            ["QueryViewChanged", "s", revision, "a"],
            ["QueryViewChanged", "s", revision, "b"],
          ],
        )
        // The next turn has nothing open.
        yield* ended(2_000)
        assert.strictEqual(heard.length, 2)
      }),
    ),
  ),
)

it.effect(
  "QVW-01 a turn that was found dead counts up to the last that was heard of it, and never less than nothing",
  () =>
    inStore(() =>
      Effect.gen(function* () {
        yield* working
        yield* ended(250)
        assert.deepStrictEqual(yield* shown("a", "b"), [
          ["a", "finished", 250, 50],
          ["b", "finished", 300, 0],
        ])
      }),
    ),
)

it.effect("QVW-01 STO-09 a view that cannot be read keeps no turn from ending", () =>
  inStore((engine) =>
    Effect.gen(function* () {
      yield* working
      engine.damage(QueryViewTable.name, ["s", "a"])
      yield* ended(1_000)
      assert.deepStrictEqual(yield* shown("b"), [["b", "finished", 1_000, 700]])
    }),
  ),
)

it.effect("QVW-01 a view that a turn left open in spite of that is not the next one's, and its time is not known", () =>
  inStore(() =>
    Effect.gen(function* () {
      const storage = yield* Storage
      const views = yield* QueryViews
      yield* working
      yield* storage.transact(
        Tx.make(function* (tx) {
          yield* tx.get(SessionTable, ["s"])
          tx.update(SessionTable, ["s"], (row) => ({ ...row, epoch: 2, activeTurn: { ...turn, id: "t2", epoch: 2 } }))
        }),
      )
      const { changed, view } = yield* views.finish("s", { queryKey: "a", epoch: 2 })
      assert.deepStrictEqual([changed, view?.turn, view?.state], [false, "t", "running"])
      yield* TestClock.adjust(1_000)
      assert.strictEqual((yield* views.start("s", { queryKey: "a", epoch: 2 })).view?.runningSince, 1_300)
      yield* ended(1_310)
      assert.deepStrictEqual(yield* shown("a"), [["a", "finished", 1_310, 10]])
    }),
  ),
)
