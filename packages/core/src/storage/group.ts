/**
 * A group: the programs that wait, run one after another over one overlay, in one transaction of the engine.
 *
 * Guarantee: the outcome is as if the programs had run one by one. Each fails alone: a domain failure, a defect or a bad
 * value drops that program's writes and nobody else's. No member may be answered before the engine has said how the
 * transaction ended, for it may rest on a neighbour's write.
 */
import type { EngineRead, Machine, ReadStep, StoredRow, WriteStep } from "./backend.ts"
import { Constraint, Corrupt, InvalidInput, StorageError } from "./error.ts"
import { Overlay, regroup } from "./overlay.ts"
import { Run } from "./run.ts"
import type { Outcome, Row } from "./run.ts"
import { isUnreadable, TxDefect } from "./transaction.ts"
import type { Notice, SingleRead, Tx, Unreadable } from "./transaction.ts"

/** How a program ended. */
export type Result =
  | { readonly _tag: "Success"; readonly value: unknown; readonly notices: ReadonlyArray<Notice> }
  | { readonly _tag: "Failure"; readonly error: unknown }
  | { readonly _tag: "Defect"; readonly defect: unknown }

export interface Member<Job> {
  readonly job: Job
  /** Undefined while the program has not ended. */
  result: Result | undefined
}

export interface GroupOptions<Job> {
  readonly mode: "read" | "write"
  /** The next program that waits, or `undefined` when the group is to end. */
  readonly take: (size: number) => Job | undefined
  /** Gives back a job that was taken and has to begin the next group. */
  readonly giveBack: (job: Job) => void
  readonly programOf: (job: Job) => Tx<unknown, unknown>
  /** Freeze rows, and run each program twice to see that it is pure. */
  readonly verify: boolean
}

/** What a group did, for spans. */
export interface GroupFacts {
  readonly members: ReadonlyArray<unknown>
  /** What the group writes; empty until it has ended. */
  readonly written: () => WriteStep
  /** Rows the engine gave. */
  readonly rowsRead: () => number
}

export interface Group<Job> extends Machine, GroupFacts {
  /** Everyone who was taken, in order. */
  readonly members: ReadonlyArray<Member<Job>>
}

type Answers = ReadonlyArray<ReadonlyArray<StoredRow>>
type Rows = ReadonlyArray<ReadonlyArray<Row | Unreadable>>

const nothing: WriteStep = { _tag: "Write", removals: [], rows: [] }

export const makeGroup = <Job>(options: GroupOptions<Job>): Group<Job> => {
  const members: Array<Member<Job>> = []
  const overlay = new Overlay({ freeze: options.verify, remembers: options.mode === "write" })
  let written = nothing
  const steps = drive(options, overlay, members)
  return {
    members,
    written: () => written,
    rowsRead: () => overlay.rowsRead,
    next: (answers = []) => {
      const step = steps.next(answers)
      if (!step.done) return { _tag: "Read", reads: step.value } satisfies ReadStep
      written = overlay.writes()
      return written
    },
  }
}

type Asking<A> = Generator<ReadonlyArray<EngineRead>, A, Answers>

function* drive<Job>(options: GroupOptions<Job>, overlay: Overlay, members: Array<Member<Job>>): Asking<void> {
  for (let job = options.take(0); job !== undefined; job = options.take(overlay.size)) {
    const member: Member<Job> = { job, result: undefined }
    members.push(member)
    const result = yield* runOne(options, overlay, options.programOf(job))
    if (result === regroup) {
      members.pop()
      return options.giveBack(job)
    }
    member.result = result
  }
}

function* runOne<Job>(
  options: GroupOptions<Job>,
  overlay: Overlay,
  program: Tx<unknown, unknown>,
): Asking<Result | typeof regroup> {
  const replay: Array<unknown> | undefined = options.verify ? [] : undefined
  try {
    const run = new Run(program, overlay, options.mode)
    let outcome = run.next()
    while (outcome._tag === "Single" || outcome._tag === "All") {
      const answer = yield* read(overlay, run, outcome)
      replay?.push(answer)
      outcome = run.next(answer)
    }
    if (replay !== undefined) verifyPure(options, overlay, program, run, outcome, replay)
    if (outcome._tag === "Fail") return { _tag: "Failure", error: outcome.error }
    overlay.absorb(run)
    return { _tag: "Success", value: outcome._tag === "Done" ? outcome.value : undefined, notices: run.notices }
  } catch (thrown) {
    if (thrown === regroup) return regroup
    if (thrown instanceof InvalidInput || thrown instanceof StorageError) return { _tag: "Failure", error: thrown }
    if (thrown instanceof Constraint) {
      return { _tag: "Failure", error: new StorageError({ operation: "commit", reason: thrown }) }
    }
    return { _tag: "Defect", defect: thrown }
  }
}

function* read(overlay: Overlay, run: Run, outcome: Outcome): Asking<unknown> {
  if (outcome._tag === "Single") {
    const [rows] = yield* overlay.answer(run, [outcome.read])
    return answerOf(outcome, rows!)
  }
  if (outcome._tag !== "All") return undefined
  const all: Rows = yield* overlay.answer(
    run,
    outcome.reads.map((single) => single.read),
  )
  return outcome.reads.map((single, i) => answerOf(single, all[i]!))
}

const answerOf = (single: SingleRead, rows: ReadonlyArray<Row | Unreadable>): unknown => {
  if (!single.keepUnreadable) {
    for (const row of rows) if (isUnreadable(row)) throw corrupt(row)
  }
  return single.one ? rows[0] : rows
}

/** The failure of whoever needs a row that cannot be read. */
export const corrupt = (row: Unreadable): StorageError =>
  new StorageError({
    operation: "read",
    reason: new Corrupt({
      table: row.table,
      key: row.key,
      detail: `row ${JSON.stringify(row.key)} of ${row.table} cannot be read (${row.problem})`,
    }),
  })

/** Runs the program again on the same answers: a pure one ends alike. */
const verifyPure = <Job>(
  options: GroupOptions<Job>,
  overlay: Overlay,
  program: Tx<unknown, unknown>,
  first: Run,
  ended: Outcome,
  answers: ReadonlyArray<unknown>,
): void => {
  const second = new Run(program, { rowReadBy: (_, table, id) => overlay.rowReadBy(first, table, id) }, options.mode)
  let outcome = second.next()
  for (const answer of answers) outcome = second.next(answer)
  if (picture(first, ended) !== picture(second, outcome)) {
    throw new TxDefect("the program is not pure: run again on the same rows it ended otherwise")
  }
}

/** What a run named and how it ended, to be compared. Whatever is no JSON is refused by those who store it, not here. */
const picture = (run: Run, end: Outcome): string => {
  const named = run.writes.map(({ id, kind, row, table }) => [kind, table.name, id, row])
  try {
    return JSON.stringify([end, named, run.removals.length], (_, value: unknown) => {
      if (value instanceof Uint8Array) return `${value.length} bytes that add up to ${sumOf(value)}`
      return typeof value === "bigint" ? `${value}n` : value
    })
  } catch {
    return "a cycle, or deeper than can be told"
  }
}

/** Bytes in one number that is another one for almost all others. */
const sumOf = (bytes: Uint8Array): number => {
  let sum = 0
  for (const byte of bytes) sum = (Math.imul(sum, 31) + byte) | 0
  return sum
}
