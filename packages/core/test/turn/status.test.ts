import { assert, describe, it } from "@effect/vitest"
import { SessionStatus } from "../../src/session/model.ts"
import { TurnOutcome } from "../../src/turn/model.ts"
import {
  mcodeStatus,
  openProgramNodeStatus,
  openProgramStatus,
  wireStatus,
  wireStatusOf,
} from "../../src/turn/status.ts"

const statuses = SessionStatus.options
const outcomes = [...TurnOutcome.options, "running"] as const

/** Each word with what it means while its program runs, and once that is gone. */
type Words = ReadonlyArray<readonly [word: string, status: string, settled: string]>
/** Each status with its word, and what that word means where it is not the status again. */
type Statuses = ReadonlyArray<readonly [status: string, word: string, back?: string]>

interface AnyWords {
  readonly words: ReadonlyArray<string>
  readonly otherwise: string
  readonly read: (word: unknown) => { readonly status: string; readonly settled: string; readonly known: boolean }
  readonly write: (status: never) => string
}

const tables: ReadonlyArray<
  readonly [name: string, AnyWords, ReadonlyArray<string>, Words, Statuses, otherwise: string]
> = [
  [
    "sessions of mcode",
    mcodeStatus,
    statuses,
    [
      ["idle", "idle", "idle"],
      ["finished", "idle", "idle"],
      ["complete", "idle", "idle"],
      ["success", "idle", "idle"],
      ["done", "idle", "idle"],
      ["empty", "idle", "idle"],
      ["failed", "failed", "failed"],
      ["error", "failed", "failed"],
      ["cancelled", "aborted", "aborted"],
      ["aborted", "aborted", "aborted"],
      ["interrupted", "interrupted", "interrupted"],
      ["started", "running", "interrupted"],
      ["running", "running", "interrupted"],
      ["pending", "running", "interrupted"],
      ["partial", "running", "interrupted"],
      ["in_progress", "running", "interrupted"],
      ["queued", "running", "interrupted"],
      ["processing", "running", "interrupted"],
      ["streaming", "running", "interrupted"],
      ["active", "running", "interrupted"],
    ],
    [
      ["idle", "idle"],
      ["running", "started"],
      ["needs_input", "idle", "idle"],
      ["done", "finished", "idle"],
      ["failed", "error"],
      ["aborted", "aborted"],
      ["interrupted", "interrupted"],
    ],
    "idle",
  ],
  [
    "sessions of OpenProgram",
    openProgramStatus,
    statuses,
    [
      ["idle", "idle", "idle"],
      ["running", "running", "interrupted"],
      ["needs_input", "needs_input", "needs_input"],
      ["done", "done", "done"],
      ["failed", "failed", "failed"],
      ["interrupted", "interrupted", "interrupted"],
      ["cancelling", "running", "aborted"],
      ["cancelled", "aborted", "aborted"],
    ],
    [
      ["idle", "idle"],
      ["running", "running"],
      ["needs_input", "needs_input"],
      ["done", "done"],
      ["failed", "failed"],
      ["aborted", "cancelled"],
      ["interrupted", "interrupted"],
    ],
    "idle",
  ],
  [
    "nodes of OpenProgram",
    openProgramNodeStatus,
    outcomes,
    [
      ["running", "running", "interrupted"],
      ["pending", "running", "interrupted"],
      ["completed", "completed", "completed"],
      ["done", "completed", "completed"],
      ["success", "completed", "completed"],
      ["error", "failed", "failed"],
      ["cancelled", "aborted", "aborted"],
      ["aborted", "aborted", "aborted"],
      ["interrupted", "interrupted", "interrupted"],
      ["paused", "needs_input", "needs_input"],
    ],
    [
      ["running", "running"],
      ["completed", "completed"],
      ["done", "done", "completed"],
      ["failed", "error"],
      ["aborted", "cancelled"],
      ["interrupted", "interrupted"],
      ["needs_input", "paused"],
    ],
    "completed",
  ],
  [
    "the wire",
    wireStatus,
    statuses,
    [
      ["Idle", "idle", "idle"],
      ["Running", "running", "interrupted"],
      ["Error", "failed", "failed"],
      ["Abort", "aborted", "aborted"],
    ],
    [
      ["idle", "Idle"],
      ["running", "Running"],
      ["needs_input", "Idle", "idle"],
      ["done", "Idle", "idle"],
      ["failed", "Error"],
      ["aborted", "Abort"],
      ["interrupted", "Abort", "aborted"],
    ],
    "idle",
  ],
]

describe.each(tables)("status words of %s", (_name, table, ours, words, written, otherwise) => {
  it("TRN-07 every word is read, as running only while its program runs", () => {
    assert.sameMembers(
      words.map(([word]) => word),
      [...table.words],
    )
    for (const [word, status, settled] of words) {
      assert.deepStrictEqual(table.read(word), { status, settled, known: true }, word)
    }
  })

  it("TRN-07 every status has a word, which is read as the status again or as the nearest one", () => {
    assert.sameMembers(
      written.map(([status]) => status),
      [...ours],
    )
    for (const [status, word, back = status] of written) {
      assert.strictEqual(table.write(status as never), word)
      assert.strictEqual(table.read(word).status, back, status)
    }
  })

  it("TRN-07 a word that nobody knows says so and is read as what is written down; an absent one is none", () => {
    assert.strictEqual(table.otherwise, otherwise)
    for (const word of ["IDLE", "Running ", "constructor", "__proto__", 7, {}, true]) {
      assert.deepStrictEqual(table.read(word), { status: otherwise, settled: otherwise, known: false })
    }
    for (const absent of [undefined, null, ""]) {
      assert.deepStrictEqual(table.read(absent), { status: otherwise, settled: otherwise, known: true })
    }
  })
})

it("TRN-07 a session whose turn waits for an answer and runs on is Running, and Idle when that turn has ended", () => {
  assert.strictEqual(wireStatusOf({ status: "needs_input", activeTurn: {} }), "Running")
  assert.strictEqual(wireStatusOf({ status: "needs_input" }), "Idle")
  assert.strictEqual(wireStatusOf({ status: "running", activeTurn: {} }), "Running")
  assert.strictEqual(wireStatusOf({ status: "interrupted" }), "Abort")
})
