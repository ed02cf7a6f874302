/**
 * Taking files back with a rewind: the host's part before the commit that moves the head, and the way back.
 *
 * Guarantee: files and head go back together, or neither does. Whatever the host fails in, or the commit, is taken back at
 * once; what a process leaves that dies in between is taken back by `recover`, or by whoever rewinds the session next.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as z from "zod/mini"
import type { UsesOf } from "../history/boundary.ts"
import { asked, problemOf } from "../host.ts"
import type { Answer } from "../host.ts"
import type { Ids } from "../id.ts"
import { checkInput } from "../input.ts"
import { makeHolding } from "../operation/holding.ts"
import type { OperationRow } from "../operation/model.ts"
import { change, drop } from "../operation/program.ts"
import type { SessionRow } from "../session/model.ts"
import { OperationConflict } from "../session/program.ts"
import type { SkeinSettings } from "../settings.ts"
import { isUncertain } from "../storage/error.ts"
import type { Storage } from "../storage/storage.ts"
import type { Instance } from "../turn/instance.ts"
import { copyOf } from "../value.ts"
import type { TransactOptions } from "../write-options.ts"
import { FileFault, FileRewindFailed } from "./file-history.ts"
import type { Eligibility, FileHistory, FilePlan, FileSession } from "./file-history.ts"
import * as program from "./program.ts"
import type { Operation, Outlook, Recorded, Wanted } from "./program.ts"
import * as runs from "./run.ts"

/** What would become of files. */
export type FilesAhead = Extract<Eligibility, { readonly eligible: false }> | ({ readonly eligible: true } & FilePlan)

interface Makers {
  readonly storage: Storage["Service"]
  readonly settings: SkeinSettings
  readonly instance: Instance["Service"]
  readonly ids: typeof Ids.Service
}

type Step = FileRewindFailed["step"]

/** How long it takes until somebody looks again who waits for another one to do the same rewind, in milliseconds. */
const pollMs = 200

export const makeFileRewinds = ({ ids, instance, settings, storage }: Makers) => {
  const { live, owner } = instance
  const { holderAt, renewed, takenOver } = makeHolding({ instance, storage })
  const now = Clock.currentTimeMillis

  const failed = (sessionId: string, step: Step, cause: unknown, restored = true) =>
    new FileRewindFailed({
      sessionId,
      step,
      restored,
      cause,
      problem: cause instanceof FileFault ? cause.problem : problemOf(cause),
      ...(cause instanceof FileFault && cause.path !== undefined && { path: cause.path }),
    })

  const ask = <A>(sessionId: string, step: Step, question: () => Answer<A>) =>
    Effect.mapError(asked(question), (cause) => failed(sessionId, step, cause))

  /** What would become of the files of a session from which turns leave; `undefined`: nothing. */
  const lookAhead = Effect.fnUntraced(function* (fileHistory: FileHistory, { turns, way: { session } }: Outlook) {
    if (turns.length === 0) return undefined
    const { id: sessionId, readiness } = session
    if (readiness !== "ready") {
      const reason = `the session is not here with all that it is: it is ${readiness}`
      const unready: FilesAhead = { eligible: false, reason }
      return unready
    }
    const place = placeOf(session)
    const eligibility = yield* checkInput(
      EligibilityInput,
      yield* ask(sessionId, "eligible", () => fileHistory.eligible(place)),
      "eligibility",
    )
    if (!eligibility.eligible) {
      const ineligible: FilesAhead = { eligible: false, reason: eligibility.reason ?? "they are not eligible" }
      return ineligible
    }
    const leaving = { ...place, turns: turns.map(({ id }) => id) }
    const plan = yield* checkInput(
      FilePlanInput,
      yield* ask(sessionId, "plan", () => fileHistory.plan(leaving)),
      "plan",
    )
    const ahead: FilesAhead = { eligible: true, ...(copyOf(plan) as FilePlan) }
    return ahead
  })

  /** Makes files what they were before a run that this instance holds, and forgets it; false: not now. */
  const rollBack = Effect.fnUntraced(function* (fileHistory: FileHistory, note: Readonly<OperationRow>) {
    const held = { key: note.id, owner }
    const stage: runs.Stage = "rolling-back"
    const at = yield* now
    if ((yield* storage.transact(change(held, { holder: holderAt(at, 0), stage }))) === undefined) return false
    const { run } = runs.notedIn(note)
    const rolledBack = yield* Effect.exit(
      renewed(
        note.id,
        asked(() => fileHistory.rollback(run)),
      ),
    )
    if (Exit.isSuccess(rolledBack)) {
      yield* storage.transact(drop(held, yield* now))
      return true
    }
    // Whoever recovers next need not wait for this one.
    yield* storage.transact(change(held, { holder: { ...holderAt(at, 0), until: at }, stage }))
    return false
  })

  /** Takes the files back and then the head, of a run that has begun; or makes the files what they were. */
  const goThrough = Effect.fnUntraced(function* <A, E>(
    fileHistory: FileHistory,
    note: Readonly<OperationRow>,
    steps: Effect.Effect<A, E>,
  ) {
    const exit = yield* Effect.exit(steps)
    if (Exit.isSuccess(exit)) return exit.value
    const error = Cause.squash(exit.cause)
    // Perhaps the head has moved. The note says so: it is gone then, and else whoever recovers makes files what they were.
    if (isUncertain(error)) return yield* exit
    const restored = yield* Effect.orElseSucceed(rollBack(fileHistory, note), () => false)
    if (restored || Cause.hasInterruptsOnly(exit.cause)) return yield* exit
    const [step, cause] = error instanceof FileRewindFailed ? [error.step, error.cause] : ["commit" as const, error]
    return yield* Effect.fail(failed(note.sessionId, step, cause, false))
  })

  /** What would become of files now, as part of what was agreed to. */
  const agreedNow = Effect.fnUntraced(function* (
    fileHistory: FileHistory,
    sessionId: string,
    wanted: Wanted,
    usesOf: UsesOf,
  ) {
    const outlook = yield* storage.read(program.look(settings, sessionId, wanted.prompt, usesOf, yield* now))
    const ahead = yield* lookAhead(fileHistory, outlook)
    const agreed = wanted.agreed && { ...wanted.agreed, files: hashOf(ahead) }
    return { outlook, ahead, wanted: { ...wanted, agreed } }
  })

  /** Waits for, or clears away, the run that is in the way of another one. */
  const makeWay = Effect.fnUntraced(function* (
    fileHistory: FileHistory,
    note: Readonly<OperationRow>,
    operation: Operation | undefined,
  ) {
    const { operation: other, run } = runs.notedIn(note)
    const { sessionId } = run
    const dead = yield* takenOver(note)
    if (dead !== undefined) {
      if (yield* rollBack(fileHistory, dead)) return
      return yield* Effect.fail(failed(sessionId, "apply", "an earlier rewind could not be taken back", false))
    }
    // The same rewind, which somebody else is at.
    if (operation !== undefined && other === operation.id) return yield* Effect.sleep(pollMs)
    return yield* Effect.fail(new OperationConflict({ id: sessionId, field: "files", expected: null, actual: run.id }))
  })

  /** A rewind that takes files back, where turns leave. */
  const rewind = Effect.fnUntraced(function* (
    fileHistory: FileHistory,
    sessionId: string,
    sought: Wanted,
    recorded: Omit<Recorded, "files">,
    usesOf: UsesOf,
    { author, writing }: { readonly author: string | undefined; readonly writing: TransactOptions },
  ) {
    const { operation, stopped } = recorded
    const moveNow = Effect.map(now, (at) => ({ at, author }))
    if (stopped !== undefined) yield* storage.transact(runs.endStopped(settings, sessionId, stopped, yield* now))
    for (;;) {
      const before = operation && (yield* storage.read(program.findRewound(settings, sessionId, operation, yield* now)))
      if (before !== undefined) return before
      // First, for files are not what they are taken for while somebody is at them.
      const inTheWay = yield* storage.read(runs.findRun(settings, sessionId))
      if (inTheWay !== undefined) {
        yield* makeWay(fileHistory, inTheWay, operation)
        continue
      }
      const { ahead, outlook, wanted } = yield* agreedNow(fileHistory, sessionId, sought, usesOf)
      if (ahead === undefined) {
        const rewinding = program.rewind(settings, sessionId, wanted, recorded, usesOf, yield* moveNow)
        return yield* storage.transact(rewinding, writing)
      }
      if (!ahead.eligible) return yield* Effect.fail(failed(sessionId, "eligible", ahead.reason))
      const { conflict, path } = ahead.effects.find((effect) => effect.conflict !== undefined) ?? {}
      if (conflict !== undefined) {
        return yield* Effect.fail(failed(sessionId, "plan", new FileFault({ problem: conflict, path: path! })))
      }
      const { session } = outlook.way
      const { headVersion } = session
      const run = { id: yield* ids.mint("run_"), ...placeOf(session), turns: outlook.turns.map(({ id }) => id) }
      // As it was looked at: else other turns would leave.
      const expected = { ...wanted.expected, expectedVersion: wanted.expected.expectedVersion ?? headVersion }
      const at = yield* now
      yield* live
      const beginning = runs.beginRun(settings, { ...wanted, expected }, recorded, run, holderAt(at, 0), usesOf, at)
      const begun: Wanted = { prompt: wanted.prompt, expected: { expectedVersion: headVersion }, agreed: undefined }
      const steps = Effect.gen(function* () {
        yield* ask(sessionId, "apply", () => fileHistory.apply(run, ahead.hash))
        yield* ask(sessionId, "verify", () => fileHistory.verify(run))
        const finishing = runs.finishRun(settings, owner, run, begun, recorded, usesOf, yield* moveNow)
        return yield* storage.transact(finishing, writing)
      })
      const rewound = yield* Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const { isNew, note } = yield* storage.transact(beginning)
          return isNew ? yield* goThrough(fileHistory, note, restore(renewed(note.id, steps))) : undefined
        }),
      )
      if (rewound !== undefined) return rewound
    }
  })

  /** Makes files what they were before rewinds that have died. Answers whose they are. */
  const recover = Effect.fnUntraced(function* (fileHistory: FileHistory) {
    const restored: Array<string> = []
    let next: string | undefined
    do {
      const page = yield* storage.read(runs.listRuns(settings, next))
      if (page.operations.length > 0) yield* live
      for (const note of page.operations) {
        const dead = yield* takenOver(note)
        if (dead !== undefined && (yield* rollBack(fileHistory, dead))) restored.push(note.sessionId)
      }
      next = page.next
    } while (next !== undefined)
    return restored
  })

  return { lookAhead, agreedNow, rewind, recover }
}

const placeOf = ({ id, workspaceDir }: SessionRow): FileSession => ({
  sessionId: id,
  ...(workspaceDir !== undefined && { workspaceDir }),
})

/** What a plan's hash covers of files. */
export const hashOf = (ahead: FilesAhead | undefined): string | undefined =>
  ahead?.eligible === true ? ahead.hash : undefined

const EligibilityInput = z.object({ eligible: z.boolean(), reason: z.optional(z.string()) })
const FilePlanInput = z.object({
  effects: z
    .array(
      z.object({
        path: z.string(),
        effect: z.enum(["restored", "removed", "created"]),
        conflict: z.optional(z.string()),
      }),
    )
    .check(z.maxLength(100)),
  files: z.int().check(z.nonnegative()),
  conflicts: z.int().check(z.nonnegative()),
  unknown: z.array(z.string()),
  hash: z.string().check(z.maxLength(200)),
})
