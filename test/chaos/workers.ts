/**
 * Several processes run turns in the same few sessions of one store (A32, TRN-01, TRN-02): of two that want a session at the
 * same moment one has it, and the other is told. Nobody writes into the turn of another, also where turns are taken over.
 *
 * Each turn notes in a file that all of them append to when it has begun and when it is about to end; and what it wrote
 * stands in the store, behind everything that earlier turns wrote.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { differs, grouped } from "./differs.ts"
import { inDirectory } from "./directory.ts"
import { inspectFile } from "./file.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { race } from "./processes.ts"
import type { StoreRows } from "./rows.ts"
import { openFile } from "./store.ts"

export interface WorkerOptions {
  readonly path: string
  /** Where all workers note their turns, one line each. */
  readonly notes: string
  /** What its messages are called. */
  readonly name: string
  readonly sessions: ReadonlyArray<string>
  /** How many turns it has to run. */
  readonly turns: number
  /** Whether it now and then takes over what somebody else is running. */
  readonly takesOver: boolean
  readonly seed: number
}

/** How often each thing happened. */
export interface WorkerReport {
  readonly completed: number
  /** Somebody else was running a turn. */
  readonly refused: number
  /** Somebody else took its turn over. */
  readonly superseded: number
  /** Ids of the messages that were acknowledged. */
  readonly stored: ReadonlyArray<string>
  /** What did not end in one of these ways. */
  readonly failures: ReadonlyArray<string>
}

/** What a worker notes of a turn: what it does, in which session, with which epoch. */
export type Note = `${"begin" | "end"} ${string} ${number}`

interface Options {
  readonly processes: number
  readonly sessions: number
  readonly turns: number
  readonly takesOver: boolean
  readonly seed: number
}

export const workers = ({ processes, seed, sessions: count, takesOver, turns }: Options): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const notes = join(directory, "notes")
    const sessions = Array.from({ length: count }, (_, i) => `s${i + 1}`)
    const store = openFile(path)
    await store.run(
      Effect.flatMap(Effect.service(Sessions), (service) => Effect.forEach(sessions, (id) => service.create({ id }))),
    )
    await store.close()

    const options = Array.from({ length: processes }, (_, i): WorkerOptions => ({
      path,
      notes,
      name: `w${i + 1}`,
      sessions,
      turns,
      takesOver,
      seed: seed + i,
    }))
    const reports = (await race("workers", options)) as ReadonlyArray<WorkerReport>
    const { problems, rows } = inspectFile(path)

    const sum = (of: (report: WorkerReport) => number) => reports.reduce((total, report) => total + of(report), 0)
    const outcomes = new Map(
      [...grouped(rows.turns, ({ outcome }) => outcome)].map(([outcome, of]) => [outcome, of.length]),
    )
    const ids = new Set(rows.entries.map(({ id }) => id))
    const superseded = sum((report) => report.superseded)
    const refused = sum((report) => report.refused)
    return {
      figures: [
        `${rows.turns.length} turns by ${processes} processes in ${count} sessions`,
        `${refused} refused`,
        `${superseded} taken over`,
      ].join(", "),
      failures: [
        ...problems,
        ...reports.flatMap(({ failures }) => failures),
        ...(takesOver ? [] : noteProblems(readFileSync(notes, "utf8"))),
        ...orderProblems(rows),
        ...differs(
          "how many turns were completed",
          outcomes.get("completed") ?? 0,
          sum((report) => report.completed),
        ),
        ...differs("how many turns were taken over", outcomes.get("interrupted") ?? 0, superseded),
        ...unless(
          rows.turns.every(({ outcome, reason }) => outcome !== "interrupted" || reason === "taken-over"),
          "a turn whose owner lived was recovered",
        ),
        ...reports.flatMap(({ stored }) =>
          stored.filter((id) => !ids.has(id)).map((id) => `${id} was acknowledged and is lost`),
        ),
        ...unless(refused > 0, "nobody was in anybody's way, so that this has shown nothing"),
        ...unless(!takesOver || superseded > 0, "nothing was taken over, so that this has shown nothing"),
      ],
    }
  })

/** Turns of one session that overlap, as their notes say. */
const noteProblems = (notes: string): ReadonlyArray<string> => {
  const running = new Map<string, string>()
  return notes
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => {
      const [what, session = "", epoch = ""] = line.split(" ")
      const other = running.get(session)
      if (what === "begin") {
        running.set(session, epoch)
        return other === undefined ? [] : [`turn ${epoch} of ${session} began while turn ${other} ran`]
      }
      running.delete(session)
      return unless(other === epoch, `turn ${epoch} of ${session} ended while turn ${other} ran`)
    })
}

/** Sessions in which an earlier turn has written behind a later one. */
const orderProblems = ({ entries, sessions, turns }: StoreRows): ReadonlyArray<string> => {
  const epochs = new Map(turns.map(({ epoch, id }) => [id, epoch]))
  const byTree = grouped(entries, ({ treeId }) => treeId)
  return sessions.flatMap(({ id, treeId }) => {
    const inOrder = (byTree.get(treeId) ?? []).map(({ turn }) => epochs.get(turn ?? "") ?? 0)
    return differs(
      `the epochs behind the messages of ${id}`,
      inOrder,
      inOrder.toSorted((a, b) => a - b),
    )
  })
}
