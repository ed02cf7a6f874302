import { assert, it } from "@effect/vitest"
import { memory } from "@skein/adapter-memory"
import * as Effect from "effect/Effect"
import { Attachments } from "../../packages/core/src/attachment/service.ts"
import { Heads } from "../../packages/core/src/head/service.ts"
import { History } from "../../packages/core/src/history/service.ts"
import { Messages } from "../../packages/core/src/message/service.ts"
import { Queue } from "../../packages/core/src/queue/service.ts"
import { QueryViews } from "../../packages/core/src/query-view/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { Turns } from "../../packages/core/src/turn/service.ts"
import { Usage } from "../../packages/core/src/usage/service.ts"
import { problemsIn } from "./invariants.ts"
import { beginning, large, spent, user } from "./operations.ts"
import type { StoreRows } from "./rows.ts"
import { openStore } from "./store.ts"

/** What somebody says, for a turn to begin with. */
const prompt = (id: string) => ({ prompt: { id, body: { role: "user", content: "and now?" } } })
const answer = (id: string) => ({ id, body: { role: "assistant", content: "I am still" } })

/** A session with a turn that completed and one that runs, and a session with one that waits; both are writing. */
const turns = Effect.gen(function* () {
  const turns = yield* Turns
  for (const id of ["r1", "w1"]) {
    yield* (yield* Sessions).create({ id })
    yield* turns.begin(id, prompt(`${id}-p1`), { turnId: `${id}-t1` })
    yield* turns.end(id, 1, { outcome: "completed", messages: [answer(`${id}-a1`)] })
    yield* turns.begin(id, prompt(`${id}-p2`), { turnId: `${id}-t2` })
    yield* (yield* QueryViews).start(id, { queryKey: `${id}-p2`, epoch: 2 })
    yield* turns.draft(id, 2, answer(`${id}-d1`))
  }
  yield* turns.end("w1", 2, { outcome: "needs_input" })
})

/** A session in which two items wait, one of them claimed, and one in which one waits behind a pause. */
const queues = Effect.gen(function* () {
  const queue = yield* Queue
  for (const id of ["q1", "q2"]) yield* (yield* Sessions).create({ id })
  for (const id of ["i1", "i2"]) yield* queue.enqueue("q1", user(id))
  yield* queue.claim("q1")
  yield* queue.enqueue("q2", user("i3"))
  yield* queue.pause("q2")
  yield* (yield* Sessions).create({ id: "q3" })
  yield* queue.enqueue("q3", user("i4"))
})

/** Calls of a turn and of none. */
const calls = Effect.gen(function* () {
  const usage = yield* Usage
  yield* usage.record("r1", spent("u1", 10), { epoch: 2 })
  yield* usage.record("r1", { ...spent("u2", 20), outcome: "failed", at: Date.UTC(2026, 0, 2) }, { epoch: 2 })
  yield* usage.record("w1", { ...spent("u3", 30), cost: null })
})

/** Two branches, a compaction, and a journal of moves, one of them taken back; turns, queues and usage. */
const sound = async (): Promise<StoreRows> => {
  const store = openStore(memory())
  await store.run(
    Effect.gen(function* () {
      yield* beginning
      yield* (yield* History).compact("s1", { summary: "They talked.", keepFrom: "m3" })
      yield* (yield* Messages).append("s1", { id: "m5", body: { role: "user", content: "and then?" } })
      yield* (yield* Messages).append("s1", large("l1"))
      yield* (yield* Heads).checkout("s1", "b2")
      yield* (yield* Heads).undo("s1")
      yield* turns
      yield* queues
      yield* calls
      const attachments = yield* Attachments
      const file = yield* attachments.put("q3", { name: "a", mime: "text/plain", data: new Uint8Array([1]) })
      yield* (yield* Queue).enqueue("q3", user("i5"), { attachments: [file] })
      yield* (yield* Messages).append("s1", { ...user("l2"), attachments: [file] })
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

const damagesOfTurns: Readonly<Record<string, Damage>> = {
  "a turn is missing": { turns: ({ epoch, ...row }) => (epoch === 1 ? undefined : { ...row, epoch }) },
  "a turn is of no session": { turns: (row) => ({ ...row, sessionId: "s9" }) },
  "two turns have one id": { turns: (row) => ({ ...row, id: "r1-t1" }) },
  "an epoch was given twice": { sessions: (row) => ({ ...row, epoch: row.epoch - 1 }) },
  "a session runs nothing that its turns know of": {
    sessions: ({ activeTurn, ...row }) =>
      activeTurn === undefined ? { ...row, activeTurn } : { ...row, status: "idle" },
  },
  "a turn runs that its session does not know of": {
    turns: ({ endedAt: _endedAt, outcome: _outcome, ...row }) => ({ ...row, runningSince: row.startedAt }),
  },
  "another owner is said to run it": {
    sessions: (row) => (row.activeTurn ? { ...row, activeTurn: { ...row.activeTurn, owner: "ins_9" } } : row),
  },
  "a status is another than the turn left": { sessions: (row) => (row.id === "w1" ? { ...row, status: "done" } : row) },
  "a running session says that it is idle": { sessions: (row) => (row.id === "r1" ? { ...row, status: "idle" } : row) },
  "an idle session says that it runs": { sessions: (row) => (row.id === "s1" ? { ...row, status: "running" } : row) },
  "an error has no failure": { sessions: (row) => ({ ...row, error: { message: "which one?" } }) },
  "what waits is forgotten": { sessions: ({ waiting: _waiting, ...row }) => row },
  "answers are not counted": { sessions: (row) => ({ ...row, answers: 0 }) },
  "a turn runs and is over": { turns: (row) => ({ ...row, runningSince: row.startedAt }) },
  "a turn has no end": { turns: ({ endedAt: _endedAt, ...row }) => row },
  "a turn ended before it began": { turns: (row) => (row.endedAt ? { ...row, endedAt: row.startedAt - 1 } : row) },
  "nobody says how long a turn ran": { turns: ({ duration: _duration, ...row }) => row },
  "a turn ran for longer than there was time": { turns: (row) => ({ ...row, duration: 60_000_000 }) },
  "a turn is said to have broken": { turns: (row) => ({ ...row, broken: row.epoch }) },
  "a turn has an error and did not fail": { turns: (row) => ({ ...row, error: { message: "which one?" } }) },
  "a draft is of nobody": {
    sessions: (row) => (row.activeTurn ? { ...row, activeTurn: { ...row.activeTurn, drafts: [] } } : row),
  },
  "a draft that waits is settled": { entries: ({ draft: _draft, ...row }) => row },
  "a draft was cut and is still written": { entries: (row) => (row.draft ? { ...row, cut: "aborted" } : row) },
  "a turn starts twice": { entries: (row) => (row.role === "user" ? row : { ...row, startsTurn: true }) },
  "a turn starts elsewhere": { turns: (row) => (row.first ? { ...row, first: { branch: 1, pos: 9 } } : row) },
  "what starts a turn is of none": { entries: (row) => ({ ...row, turn: "t9" }) },
  "turns on the path are not counted": { entries: (row) => ({ ...row, facts: { ...row.facts, turns: 0 } }) },
  "a question runs without a turn": { views: (row) => ({ ...row, runningSince: 1 }) },
  "a question does not run in its turn": { views: ({ runningSince: _runningSince, ...row }) => row },
}

const damagesOfQueues: Readonly<Record<string, Damage>> = {
  "an item is missing": { items: (row) => (row.message.id === "i2" ? undefined : row) },
  "the only item is missing": { items: (row) => (row.message.id === "i3" ? undefined : row) },
  "an item is of no session": { items: (row) => ({ ...row, sessionId: "s9" }) },
  "a claim has no end": { items: ({ claimedUntil: _claimedUntil, ...row }) => row },
  "two items have one place": { items: (row) => ({ ...row, order: 1 }) },
  "a queue is forgotten": { sessions: ({ queue: _queue, ...row }) => row },
  "a paused session is due": { sessions: (row) => (row.id === "q2" ? { ...row, due: row.queue?.since } : row) },
  "a session is not due": { sessions: ({ due: _due, ...row }) => row },
  "a claim is not counted": { sessions: (row) => (row.queue ? { ...row, queue: { ...row.queue, claimed: 0 } } : row) },
  "a queue waits since another time": { items: (row) => ({ ...row, enqueuedAt: 1 }) },
  "places end before items": { sessions: (row) => (row.queue ? { ...row, queue: { ...row.queue, back: 0 } } : row) },
}

const damagesOfUsage: Readonly<Record<string, Damage>> = {
  "a call is missing": { calls: (row) => (row.callId === "u3" ? undefined : row) },
  "a sum is missing": { sums: (row) => (row.kind === "session" ? undefined : row) },
  "a sum is wrong": { sums: (row) => ({ ...row, tally: { ...row.tally, output: row.tally.output + 1 } }) },
  "a quarter-hour is wrong": { sums: (row) => ({ ...row, slots: row.slots.replace("1c,", "1d,") }) },
  "a sum is there twice": { sums: (row) => ({ ...row, day: 1 }) },
  "a session's usage is wrong": { sessions: ({ usage: _usage, ...row }) => row },
  "a turn's usage is wrong": { turns: ({ usage: _usage, ...row }) => row },
  "a turn is counted twice": { calls: (row) => (row.turn === "" ? row : { ...row, opensTurn: true }) },
  "a turn that is none is counted": { calls: (row) => (row.turn === "" ? { ...row, opensTurn: true } : row) },
}

const damagesOfBlobs: Readonly<Record<string, Damage>> = {
  "a blob is missing": { blobs: () => undefined },
  "a blob is not all there": { blobs: (row) => ({ ...row, partial: true }) },
  "a chunk is missing": { chunks: () => undefined },
  "a chunk is another one": { chunks: (row) => ({ ...row, data: row.data.toReversed() }) },
  "a use is missing": { uses: () => undefined },
  "a use is of another entry": { uses: (row) => ({ ...row, pos: row.pos + 1 }) },
  "what uses a blob is gone": { entries: (row) => (row.id === "l1" ? undefined : row) },
  "a file of an item is forgotten": { queueFiles: () => undefined },
  "a file is of no item": { queueFiles: (row) => ({ ...row, itemId: "i9" }) },
  "a blob is of no use": { entries: ({ large: _large, ...row }) => row, uses: () => undefined },
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

it.each(Object.entries({ ...damages, ...damagesOfTurns, ...damagesOfQueues, ...damagesOfUsage, ...damagesOfBlobs }))(
  "MSG-02 it is noticed when %s",
  async (_, damage) => {
    assert.isNotEmpty(problemsIn(damaged(await sound(), damage)))
  },
)
