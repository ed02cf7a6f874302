import { assert, it } from "@effect/vitest"
import { memory } from "@skein/adapter-memory"
import * as Effect from "effect/Effect"
import { Heads } from "../../packages/core/src/head/service.ts"
import { History } from "../../packages/core/src/history/service.ts"
import { Messages } from "../../packages/core/src/message/service.ts"
import { problemsIn } from "./invariants.ts"
import { beginning } from "./operations.ts"
import type { StoreRows } from "./rows.ts"
import { openStore } from "./store.ts"

/** Two branches, a compaction, and a journal of moves, one of them taken back. */
const sound = async (): Promise<StoreRows> => {
  const store = openStore(memory())
  await store.run(
    Effect.gen(function* () {
      yield* beginning
      yield* (yield* History).compact("s1", { summary: "They talked.", keepFrom: "m3" })
      yield* (yield* Messages).append("s1", { id: "m5", body: { role: "user", content: "and then?" } })
      yield* (yield* Heads).checkout("s1", "b2")
      yield* (yield* Heads).undo("s1")
    }),
  )
  const rows = await store.rows()
  await store.close()
  return rows
}

type Damage = { readonly [Kind in keyof StoreRows]?: (row: StoreRows[Kind][number]) => object | undefined }

/** One field of one row that is not what it ought to be; `undefined` takes the row away. */
const damages: Readonly<Record<string, Damage>> = {
  "a position is missing": { entries: (row) => (row.id === "m2" ? undefined : row) },
  "an entry is of no branch": { branches: (row) => (row.branch === 2 ? undefined : row) },
  "a branch has no entry": { entries: (row) => (row.branch === 2 ? undefined : row) },
  "two entries have one id": { entries: (row) => (row.id === "m2" ? { ...row, id: "m1" } : row) },
  "a number of a branch would be given again": { trees: (row) => ({ ...row, nextBranch: 2 }) },
  "a tree is missing": { trees: () => undefined },
  "a parent is not older": { branches: (row) => (row.branch === 1 ? { ...row, parent: 2, forkAt: 1 } : row) },
  "a branch leaves where nothing is": { branches: (row) => (row.branch === 2 ? { ...row, forkAt: 9 } : row) },
  "a trail is wrong": { branches: (row) => ({ ...row, trail: [] }) },
  "an owner is no session": { branches: (row) => ({ ...row, owner: "nobody" }) },
  "facts are wrong": { entries: (row) => ({ ...row, facts: { ...row.facts, displays: row.facts.displays + 1 } }) },
  "a last prompt is wrong": {
    entries: (row) => (row.id === "m4" ? { ...row, facts: { ...row.facts, lastPrompt: { branch: 1, pos: 1 } } } : row),
  },
  "an ordinal is missing": { entries: (row) => ({ ...row, shown: undefined }) },
  "an ordinal of a prompt is wrong": { entries: (row) => (row.id === "m3" ? { ...row, prompt: 1 } : row) },
  "a prompt has no preview": { entries: (row) => ({ ...row, preview: undefined }) },
  "a compaction keeps from off its path": {
    entries: ({ compaction, ...row }) =>
      compaction === undefined ? row : { ...row, compaction: { ...compaction, keepFrom: { branch: 2, pos: 1 } } },
  },
  "a head leads nowhere": { sessions: (row) => ({ ...row, head: { branch: 1, pos: 99, id: "m99" } }) },
  "the id at the head is wrong": { sessions: (row) => ({ ...row, head: { ...row.head, id: "m1" } }) },
  "counts at the head are wrong": { sessions: (row) => ({ ...row, facts: { ...row.facts, prompts: 0 } }) },
  "a preview is stale": { sessions: (row) => ({ ...row, preview: "the user says m1" }) },
  "a tip is forgotten": { sessions: (row) => ({ ...row, tip: undefined }) },
  "a head claims to be a tip": { sessions: (row) => ({ ...row, head: { branch: 1, pos: 4, id: "m4" } }) },
  "a shelf is wrong": { sessions: (row) => ({ ...row, archived: true }) },
  "a project is missing": { projects: () => undefined },
  "a move is missing": { moves: (row) => (row.n === 2 ? undefined : row) },
  "a move is of no session": { moves: (row) => ({ ...row, sessionId: "s9" }) },
  "undo would take back another move": { sessions: (row) => ({ ...row, undo: 1 }) },
  "redo would make another move": { sessions: (row) => ({ ...row, redo: 1 }) },
}

const damaged = (rows: StoreRows, damage: Damage): StoreRows =>
  Object.fromEntries(
    Object.entries(rows).map(([kind, list]) => {
      const change = damage[kind as keyof StoreRows] as ((row: unknown) => unknown) | undefined
      return [kind, list.map(change ?? ((row: unknown) => row)).filter((row: unknown) => row !== undefined)]
    }),
  ) as unknown as StoreRows

it("MSG-02 the invariants hold of what the services write", async () => {
  assert.deepStrictEqual(problemsIn(await sound()), [])
})

it.each(Object.entries(damages))("MSG-02 it is noticed when %s", async (_, damage) => {
  assert.isNotEmpty(problemsIn(damaged(await sound(), damage)))
})
