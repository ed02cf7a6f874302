/**
 * One run of a body as a turn: heartbeats, drafts, and an end whatever happens.
 *
 * Guarantee: a turn that has begun is ended by the way its body ends: completed, waiting for input, failed, aborted. Its
 * end waits for what was drafted. Where even the end cannot be stored, the turn ends `failed` with source `storage` as soon
 * as the store takes writes again, else by recovery: no session stays running for ever.
 */
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { EntryRef, EntryRow } from "../message/model.ts"
import type { NewEntry } from "../message/placement.ts"
import type { SessionFailure } from "../session/model.ts"
import type { IdConflict, SessionNotFound } from "../session/program.ts"
import type { InvalidInput } from "../storage/error.ts"
import { StorageError } from "../storage/error.ts"
import { makeDrafts } from "./drafts.ts"
import type { Drafts } from "./drafts.ts"
import type { StaleTurn } from "./fence.ts"
import type { Running, Stop } from "./instance.ts"
import type { Begun, Ended, Ending } from "./program.ts"

/** Somebody stopped the turn before its body had ended. What was drafted is stored. */
export class TurnAborted extends Data.TaggedError("TurnAborted")<{
  readonly sessionId: string
  readonly epoch: number
  readonly reason?: string
}> {
  override get message() {
    const why = this.reason === undefined ? "" : `: ${this.reason}`
    return `turn ${this.epoch} of session ${this.sessionId} was stopped${why}`
  }
}

/** Why a turn may fail to write. */
export type WriteError = StaleTurn | IdConflict | SessionNotFound | InvalidInput | StorageError

/** What a run does to the store, and hears from it; all for one turn. */
export interface Ground {
  readonly write: (entry: NewEntry, stored: EntryRef | undefined) => Effect.Effect<EntryRow, WriteError>
  readonly heartbeat: Effect.Effect<{ readonly reason?: string | undefined } | undefined, WriteError>
  readonly end: (ending: Ending) => Effect.Effect<Ended, WriteError>
  readonly attend: (turn: Running) => Effect.Effect<void, never, Scope.Scope>
  /** Tells readers of a draft. */
  readonly heard: (entry: NewEntry) => void
  /** Milliseconds between two heartbeats, and between two writes of a draft. */
  readonly heartbeatMs: number
  readonly checkpointMs: number
  /** How long a body may go on after it was told to stop, in milliseconds. */
  readonly graceMs: number
  /** Goes on where a run cannot wait any longer. */
  readonly later: (work: Effect.Effect<void>) => Effect.Effect<void>
}

/** What a body has to work with, of a run. */
export interface Workbench {
  readonly signal: AbortSignal
  readonly drafts: Drafts<WriteError>
  /** Says how the turn ends when the body ends well. */
  readonly endsAs: (ending: Pick<Ending, "outcome" | "calls">) => void
}

/** Runs a body in a turn that has begun, and ends that. Call it uninterruptibly; `restore` is for the body. */
export const runBody = <A, E, R>(
  { prompt: _prompt, turn, ...begun }: Begun,
  ground: Ground,
  body: (bench: Workbench) => Effect.Effect<A, E, R>,
  restore: <B, F, S>(effect: Effect.Effect<B, F, S>) => Effect.Effect<B, F, S>,
  onEnd: (ended: Ended) => void,
): Effect.Effect<A, E | TurnAborted | WriteError, R> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { epoch, sessionId } = turn
      const controller = new AbortController()
      const stopped = yield* Deferred.make<Stop>()
      const stop = (why: Stop) => Deferred.doneUnsafe(stopped, Exit.succeed(why))
      const endings: { ending: Pick<Ending, "outcome" | "calls"> } = { ending: { outcome: "completed" } }
      const drafts = yield* makeDrafts<WriteError>({
        write: ground.write,
        heard: ground.heard,
        checkpoint: ground.checkpointMs,
        adopted: begun.adopted,
        isPassing: mayPass,
      })
      const lose = (error: WriteError) => {
        if (error._tag === "StaleTurn") stop({ _tag: "Lost", error })
      }
      yield* ground.attend({ sessionId, epoch, stop })
      const keeping = yield* Effect.forkScoped(
        Effect.catch(drafts.keepStored, (error) => Effect.sync(() => lose(error))),
      )
      yield* Effect.forkScoped(beat(ground, stop, lose))
      const bench: Workbench = {
        signal: controller.signal,
        drafts,
        endsAs: (ending) => {
          endings.ending = ending
        },
      }
      const working = yield* Effect.forkChild(restore(Effect.suspend(() => body(bench))))
      // Undefined: the body has ended by itself.
      const byItself = Effect.as(Fiber.await(working), undefined)
      const first = yield* Effect.exit(restore(Effect.raceFirst(byItself, Deferred.await(stopped))))
      const isInterrupted = Exit.isFailure(first)
      const why: Stop | undefined = isInterrupted ? { _tag: "Aborted", reason: undefined } : first.value
      if (why !== undefined) yield* stopBody(working, controller, why, ground)
      const exit = yield* Fiber.await(working)
      yield* Fiber.interrupt(keeping)
      if (why?._tag === "Lost") return yield* Effect.fail(why.error)

      // What cannot be stored now is stored with the end, or the end says why it was not.
      yield* Effect.ignore(drafts.flush)
      const ending: Ending = { ...endingOf(exit, why, endings.ending), newest: drafts.newest }
      const ended = yield* endTurn(ground, ending)
      onEnd(ended)
      if (isInterrupted) return yield* Effect.interrupt
      if (why !== undefined && Exit.isFailure(exit)) {
        const reason = reasonOf(why)
        return yield* Effect.fail(new TurnAborted({ sessionId, epoch, ...(reason !== undefined && { reason }) }))
      }
      return yield* exit
    }),
  )

/** Why a turn ended that was running when its store was closed. */
const closed = "closed"

const reasonOf = (why: Stop): string | undefined =>
  why._tag === "Aborted" ? why.reason : why._tag === "Closed" ? closed : undefined

/** Tells the body to stop, and ends it when it does not. */
const stopBody = <A, E>(
  working: Fiber.Fiber<A, E>,
  controller: AbortController,
  why: Stop,
  { graceMs }: Ground,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    controller.abort(why._tag === "Lost" ? why.error : new Error(reasonOf(why) ?? "the turn was stopped"))
    if (graceMs > 0) yield* Effect.timeoutOption(Fiber.await(working), graceMs)
    yield* Fiber.interrupt(working)
  })

/** Renews the lease until the turn ends. A store that is busy or full does not end it. */
const beat = (ground: Ground, stop: (why: Stop) => void, lose: (error: WriteError) => void): Effect.Effect<void> =>
  ground.heartbeat.pipe(
    Effect.matchEffect({
      onSuccess: (abort) =>
        Effect.sync(() => {
          if (abort !== undefined) stop({ _tag: "Aborted", reason: abort.reason })
        }),
      onFailure: (error) => Effect.sync(() => lose(error)),
    }),
    Effect.delay(ground.heartbeatMs),
    Effect.forever,
  )

const endingOf = (
  exit: Exit.Exit<unknown, unknown>,
  why: Stop | undefined,
  well: Pick<Ending, "outcome" | "calls">,
): Ending => {
  if (why?._tag === "Closed") return { outcome: "interrupted", reason: closed }
  if (why?._tag === "Aborted") return { outcome: "aborted", reason: why.reason }
  if (Exit.isSuccess(exit)) return well
  if (Cause.hasInterruptsOnly(exit.cause)) return { outcome: "aborted" }
  return { outcome: "failed", error: failureOf(Cause.squash(exit.cause)) }
}

/** What a session says of what ended its turn. */
export const failureOf = (thrown: unknown): SessionFailure => {
  const source = thrown instanceof StorageError ? "storage" : "agent"
  if (typeof thrown !== "object" || thrown === null) return { message: String(thrown), source }
  const { _tag, code, message, name } = thrown as { [Name in "_tag" | "code" | "message" | "name"]?: unknown }
  const kind = [code, _tag, name].find((one) => typeof one === "string" && one !== "Error")
  return {
    message: typeof message === "string" && message !== "" ? message : String(name ?? "unknown"),
    ...(kind !== undefined && { code: kind as string }),
    source,
  }
}

/**
 * Ends the turn. When that cannot be stored it ends as failed for that reason, which needs less room; when that cannot be
 * stored either, it is tried again for as long as the store is open.
 */
const endTurn = (ground: Ground, ending: Ending): Effect.Effect<Ended, WriteError> =>
  Effect.catch(ground.end(ending), (error): Effect.Effect<never, WriteError> => {
    if (error._tag !== "StorageError" && error._tag !== "InvalidInput") return Effect.fail(error)
    const failed = ground.end({ outcome: "failed", error: failureOf(error) })
    const untilStored = Effect.retry(failed, { schedule: Schedule.spaced(1_000), while: mayPass })
    return Effect.matchEffect(failed, {
      onSuccess: () => Effect.fail(error),
      onFailure: () => Effect.andThen(ground.later(Effect.asVoid(Effect.exit(untilStored))), Effect.fail(error)),
    })
  })

/** Whether storing may succeed later. */
const mayPass = (error: WriteError): boolean => error._tag === "StorageError" && error.reason._tag !== "Closed"
