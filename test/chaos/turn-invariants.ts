/**
 * What must hold of turns at every moment: who runs is one and known, and nothing that is over leaves anything open.
 */
import type { EntryRow } from "../../packages/core/src/message/model.ts"
import type { SessionRow, SessionStatus } from "../../packages/core/src/session/model.ts"
import type { TurnOutcome, TurnRow } from "../../packages/core/src/turn/model.ts"
import { differs, grouped, show } from "./differs.ts"
import { unless } from "./outcome.ts"
import type { StoreRows } from "./rows.ts"

/** One sentence for each thing that does not hold. */
export const turnProblems = (rows: StoreRows): ReadonlyArray<string> => {
  const turns = grouped(rows.turns, ({ sessionId }) => sessionId)
  const known = new Set(rows.sessions.map(({ id }) => id))
  return [
    ...rows.turns
      .filter(({ sessionId }) => !known.has(sessionId))
      .map((turn) => `${nameOf(turn)} is of a session that does not exist`),
    ...rows.sessions.flatMap((session) => sessionProblems(session, turns.get(session.id) ?? [])),
    ...rows.turns.flatMap(rowProblems),
    ...entryProblems(rows),
    ...viewProblems(rows),
  ]
}

const nameOf = ({ epoch, sessionId }: TurnRow) => `turn ${epoch} of session ${sessionId}`

// Sessions

const sessionProblems = (session: SessionRow, turns: ReadonlyArray<TurnRow>): ReadonlyArray<string> => {
  const name = `session ${session.id}`
  const { activeTurn, status, waiting } = session
  const inOrder = turns.toSorted((a, b) => a.epoch - b.epoch)
  const running = inOrder.filter(isRunning).map(whoRuns)
  const last = inOrder.at(-1)
  return [
    ...differs(
      `the epochs of ${name}`,
      inOrder.map(({ epoch }) => epoch),
      Array.from({ length: session.epoch }, (_, i) => i + 1),
    ),
    ...unless(new Set(turns.map(({ id }) => id)).size === turns.length, `${name} has two turns with one id`),
    ...differs(`what runs in ${name}`, running, activeTurn === undefined ? [] : [whoRuns(activeTurn)]),
    ...unless(
      activeTurn === undefined || activeTurn.epoch === session.epoch,
      `${name} runs a turn that is not its last`,
    ),
    ...unless(fits(session, last), `${name} is ${status} after ${show(last?.outcome)}, with ${show(activeTurn)}`),
    ...unless(
      (session.error !== undefined) === (status === "failed"),
      `${name} is ${status} and has the error ${show(session.error)}`,
    ),
    ...differs(
      `the turn that waits in ${name}`,
      waiting?.turn,
      status === "needs_input" && activeTurn === undefined ? last?.id : undefined,
    ),
    ...differs(
      `how many answers ${name} has`,
      session.answers,
      turns.filter(({ outcome }) => outcome === "completed" || outcome === "done").length,
    ),
  ]
}

const isRunning = ({ runningSince }: TurnRow) => runningSince !== undefined

/** What the row of a turn and the row of its session both say of it while it runs. */
const whoRuns = ({
  epoch,
  host,
  id,
  owner,
  startedAt,
}: Pick<TurnRow, "epoch" | "host" | "id" | "owner" | "startedAt">) => ({
  epoch,
  host,
  id,
  owner,
  startedAt,
})

const statusAfter: Readonly<Record<TurnOutcome, SessionStatus>> = {
  completed: "idle",
  done: "done",
  needs_input: "needs_input",
  failed: "failed",
  aborted: "aborted",
  interrupted: "interrupted",
}

/** A turn that runs may wait for a person. A session whose head was moved after its last turn is idle again. */
const fits = ({ activeTurn, status }: SessionRow, last: TurnRow | undefined): boolean => {
  if (activeTurn !== undefined) return status === "running" || status === "needs_input"
  return status === "idle" || (last?.outcome !== undefined && status === statusAfter[last.outcome])
}

// Rows of turns

const isWithin = (value: number, least: number, most: number): boolean => value >= least && value <= most

const rowProblems = (turn: TurnRow): ReadonlyArray<string> => {
  const name = nameOf(turn)
  const { duration, endedAt, epoch, outcome, startedAt } = turn
  const isOver = outcome !== undefined
  const isBroken = outcome === "failed" || outcome === "aborted" || outcome === "interrupted"
  return [
    ...unless(isRunning(turn) !== isOver, `${name} runs and is over, or neither`),
    ...unless((endedAt !== undefined) === isOver, `${name} has ended without an outcome, or the reverse`),
    ...unless(endedAt === undefined || endedAt >= startedAt, `${name} ended before it began`),
    ...unless((duration === undefined) === !isOver, `${name} is over, and nobody says how long it ran, or the reverse`),
    ...unless(duration === undefined || isWithin(duration, 0, endedAt! - startedAt), `${name} ran for ${duration} ms`),
    ...differs(`that ${name} broke`, turn.broken, isBroken ? epoch : undefined),
    ...unless((turn.error !== undefined) === (outcome === "failed"), `${name} has the error ${show(turn.error)}`),
  ]
}

// Entries

const placeOf = ({ branch, pos }: { readonly branch: number; readonly pos: number }) => `${branch}:${pos}`

/** What is still being written, and how turns begin. */
const entryProblems = ({ branches, entries, sessions, turns }: StoreRows): ReadonlyArray<string> => {
  const owners = new Map(branches.map(({ branch, owner, treeId }) => [`${treeId} ${branch}`, owner]))
  const ownerOf = ({ branch, treeId }: EntryRow) => owners.get(`${treeId} ${branch}`)
  const drafts = grouped(
    entries.filter(({ draft }) => draft === true),
    ownerOf,
  )
  const byId = new Map(turns.map((turn) => [`${turn.sessionId} ${turn.id}`, turn]))
  const active = new Map(sessions.map(({ activeTurn, id }) => [id, activeTurn]))
  /** Where each turn of a session begins. */
  const starts = new Set<string>()
  const startProblems = (entry: EntryRow): ReadonlyArray<string> => {
    const owner = ownerOf(entry)
    const turn = byId.get(`${owner} ${entry.turn}`)
    const name = `entry ${entry.id} of session ${owner}`
    if (turn === undefined) return [`${name} starts ${show(entry.turn)}, which is no turn`]
    const isSecond = starts.has(nameOf(turn))
    starts.add(nameOf(turn))
    const first = turn.first ?? active.get(turn.sessionId)?.first
    return [
      ...unless(!isSecond, `${nameOf(turn)} has two entries that start it`),
      ...differs(`the first entry of ${nameOf(turn)}`, first && placeOf(first), placeOf(entry)),
    ]
  }
  return [
    ...sessions.flatMap((session) => {
      const { activeTurn, id, waiting } = session
      const open = [...(activeTurn?.drafts ?? []), ...(waiting?.draft === undefined ? [] : [waiting.draft])]
      return differs(
        `what is still being written in session ${id}`,
        (drafts.get(id) ?? []).map(placeOf).toSorted(),
        open.map(placeOf).toSorted(),
      )
    }),
    ...entries.filter(({ startsTurn }) => startsTurn === true).flatMap(startProblems),
    ...entries
      .filter(({ cut, draft }) => cut !== undefined && draft === true)
      .map(({ id }) => `entry ${id} was cut and is still being written`),
  ]
}

// Query views

/** The steps of a question run while its turn does, which knows of them. */
const viewProblems = ({ sessions, views }: StoreRows): ReadonlyArray<string> =>
  sessions.flatMap(({ activeTurn, id }) =>
    differs(
      `the questions that run in session ${id}`,
      views
        .filter(({ runningSince, sessionId }) => sessionId === id && runningSince !== undefined)
        .map(({ epoch, queryKey }) => `${epoch} ${queryKey}`)
        .toSorted(),
      (activeTurn?.views ?? []).map((queryKey) => `${activeTurn?.epoch} ${queryKey}`).toSorted(),
    ),
  )
