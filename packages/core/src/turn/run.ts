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
import { isUncertain, StorageError } from "../storage/error.ts"
import { makeDrafts } from "./drafts.ts"
import type { Drafts } from "./drafts.ts"
import type { Running, Stop, WriteError } from "./instance.ts"
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

/** What a run does to the store, and hears from it; all for one turn. */
export interface Ground {
  readonly write: (entry: NewEntry, stored: EntryRef | undefined) => Effect.Effect<EntryRow, WriteError>
  readonly heartbeat: Effect.Effect<{ readonly reason?: string | undefined } | undefined, WriteError>
  /** Ends the turn, with what of its messages is not stored yet. */
  readonly end: (unstored: ReadonlyArray<NewEntry>, ending: Ending) => Effect.Effect<Ended, WriteError>
  readonly attend: (turn: Running) => Effect.Effect<void, never, Scope.Scope>
  /** Tells readers of a draft. */
  readonly heard: (entry: NewEntry) => void
  /** Milliseconds between two heartbeats, and between two writes of a draft. */
  readonly heartbeatMs: number
  readonly checkpointMs: number
  /** How long a body may go on after it was told to stop, in milliseconds. */
  readonly graceMs: number
  /** The id of the first message, where it has none of its own. */
  readonly firstId: string
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
      const endings: { ending: Pick<Ending, "outcome" | "calls"> } = { ending: { outcome: "completed" } }
      const drafts = yield* makeDrafts<WriteError>({
        write: ground.write,
        heard: ground.heard,
        checkpoint: ground.checkpointMs,
        adopted: begun.adopted,
        firstId: ground.firstId,
        isPassing: mayPass,
      })
      const stop = (why: Stop) => {
        // Readers were told that this turn is over: they hear nothing of it any more.
        if (why._tag === "Lost") drafts.close()
        Deferred.doneUnsafe(stopped, Exit.succeed(why))
      }
      const lose = (error: WriteError) => {
        if (isOver(error)) stop({ _tag: "Lost", error })
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
      const unstored = yield* drafts.end
      if (why?._tag === "Lost") return yield* Effect.fail(why.error)
      const ended = yield* endTurn(ground, unstored, endingOf(exit, why, endings.ending))
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
 * Ends the turn. When that cannot be stored it ends as failed for that reason; when that cannot be stored either, it is
 * tried again for as long as the store is open.
 */
const endTurn = (ground: Ground, unstored: NewEntry | undefined, ending: Ending): Effect.Effect<Ended, WriteError> => {
  const draft: ReadonlyArray<NewEntry> = unstored === undefined ? [] : [{ ...unstored, draft: true }]
  // One that came to be stored without a word of it is answered as it is when it is asked for again.
  const asked = Effect.retry(ground.end(draft, ending), { times: 1, while: isUncertain })
  return Effect.catch(asked, (error): Effect.Effect<never, WriteError> => {
    if (isOver(error)) return Effect.fail(error)
    const failed = ground.end(isForRoom(error) ? [] : draft, { outcome: "failed", error: failureOf(error) })
    const untilStored = Effect.retry(failed, { schedule: Schedule.spaced(1_000), while: mayPass })
    return Effect.matchEffect(failed, {
      onSuccess: () => Effect.fail(error),
      onFailure: () => Effect.andThen(ground.later(Effect.asVoid(Effect.exit(untilStored))), Effect.fail(error)),
    })
  })
}

/** Nobody waits for this turn any more, or can be told. */
const isOver = (error: WriteError): boolean =>
  error._tag === "StaleTurn" ||
  error._tag === "SessionNotFound" ||
  error._tag === "SessionDeleted" ||
  (error._tag === "StorageError" && error.reason._tag === "Closed")

/** Whether an end may be stored that brings nothing along. */
const isForRoom = (error: WriteError): boolean => error._tag !== "StorageError" || error.reason._tag === "Full"

/** Whether storing may succeed later. */
const mayPass = (error: WriteError): boolean => error._tag === "StorageError" && !isOver(error)
