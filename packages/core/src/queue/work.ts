/**
 * Working off queues: one turn after another, for as long as somebody is there to run them.
 *
 * Guarantee: whoever has waited longest is next, one turn a session at a time, and nobody is asked again and again: what
 * there is to do is found through an index, and heard of when it comes. Sessions of dead workers are freed on the way.
 *
 * Not promised: that two workers take turns. Each takes what it finds, and who comes second finds a turn that runs.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as z from "zod/mini"
import { checkInput } from "../input.ts"
import { Maintenance } from "../maintenance/service.ts"
import type { SessionNotice } from "../notice.ts"
import type { SessionAbsent } from "../session/program.ts"
import { Settings } from "../settings.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import { Storage } from "../storage/storage.ts"
import { runFields, Turns } from "../turn/service.ts"
import type { BeginError, BeginOptions, RunOptions, Turn, TurnBegun } from "../turn/service.ts"
import type { Nothing } from "./claim.ts"
import { findDue, findDueSession, setAside } from "./dispatch.ts"
import type { Due, DueSession } from "./dispatch.ts"
import { DispatchOptionsInput, workFields } from "./input.ts"

export type { BeginError, Turn }

/** Which item to send, and how to begin its turn. */
export interface DispatchOptions extends BeginOptions {
  /** This one, though the queue is paused. Default: the first that waits. */
  readonly item?: string
  /** Only an item from one of these sources; others do not stand in its way. Default: any. */
  readonly sources?: ReadonlyArray<string>
  /** Default `false`. When true the first item is sent though the queue is paused, and the pause stays. */
  readonly continuePaused?: boolean
}

/** A turn that was begun with an item, or why there is none to be had. */
export type Dispatched = TurnBegun | ({ readonly turn: undefined } & Nothing)

/** What to work off, and how. */
export interface WorkOptions extends Pick<RunOptions, "onEnd" | "seen" | "graceMs"> {
  /** Only the queue of this session. Default: of all. */
  readonly session?: string
  /** Only items from these sources. Default: from anywhere. */
  readonly sources?: ReadonlyArray<string>
  /** How many turns run at a time, 1 to 1,000. Default 1. */
  readonly concurrency?: number
  /** When it fires no further item is sent; `work` returns when the turns that run have ended. */
  readonly signal?: AbortSignal
  /** How often an item may fail to be sent, by its own fault, before it is rejected and its queue pauses. Default 5. */
  readonly maxAttempts?: number
}

const WorkOptionsInput = z.strictObject({ ...workFields, ...runFields })

/** How often dead turns are looked for, in milliseconds. */
const recoverEvery = 5_000
/** How long a session is left alone whose store could not be read or written. */
const retryAfter = 1_000
/** How many sessions are remembered that had nothing for this worker. */
const mostBarren = 10_000

/** What the calls of a worker need of the store. */
export const makeWorker = Effect.gen(function* () {
  const storage = yield* Storage
  const settings = yield* Settings
  const turns = yield* Turns
  const maintenance = yield* Maintenance
  const now = Clock.currentTimeMillis

  const dispatch = Effect.fnUntraced(function* (sessionId: string, given: DispatchOptions = {}) {
    const { continuePaused, item, sources, ...options } = yield* checkInput(DispatchOptionsInput, given, "options")
    const next = { ...(sources !== undefined && { sources }), ...(continuePaused !== undefined && { continuePaused }) }
    const begun: Effect.Effect<Dispatched, BeginError> = turns.begin(
      sessionId,
      item === undefined ? { next } : { item },
      options as BeginOptions,
    )
    return yield* Effect.catchTag(begun, "NothingQueued", ({ cause, reason, until }): Effect.Effect<Dispatched> =>
      Effect.succeed({
        turn: undefined,
        reason,
        ...(cause !== undefined && { cause }),
        ...(until !== undefined && { until }),
      }),
    )
  })

  /** The next session that may be worked on, of those that `isFree`; or when there will be one. */
  const findNext = Effect.fnUntraced(function* (session: string | undefined, isFree: (one: DueSession) => boolean) {
    let after: DueSession | undefined
    for (;;) {
      const at = yield* now
      const found: Due = yield* session === undefined
        ? storage.read(findDue(settings, after, at))
        : storage.read(findDueSession(settings, session, at))
      const next = found.sessions.find(isFree)
      if (next !== undefined || found.next === undefined) return { next, later: found.later }
      after = found.next
    }
  })

  /** Looks for dead turns now and then: what they held up goes on. */
  const recovering = (hear: () => void) =>
    maintenance
      .recover()
      .pipe(
        Effect.ignore,
        Effect.andThen(Effect.sync(hear)),
        Effect.andThen(Effect.sleep(recoverEvery)),
        Effect.forever,
      )

  /** Calls `hear`, until the scope ends, when there may be something to do. */
  const listen = Effect.fnUntraced(function* (hear: () => void, signal: AbortSignal | undefined) {
    yield* storage.observe((notices) => {
      if ((notices as ReadonlyArray<SessionNotice>).some(isNews)) hear()
    })
    const fromOthers = Stream.runForEach(storage.changes, ({ _tag }) =>
      _tag === "Changed" ? Effect.sync(hear) : Effect.void,
    )
    yield* Effect.forkScoped(fromOthers)
    yield* Effect.forkScoped(recovering(hear))
    if (signal === undefined) return
    yield* Effect.acquireRelease(
      Effect.sync(() => signal.addEventListener("abort", hear)),
      () => Effect.sync(() => signal.removeEventListener("abort", hear)),
    )
  })

  const work = <A, E, R>(
    body: (turn: Turn) => Effect.Effect<A, E, R>,
    given: WorkOptions = {},
  ): Effect.Effect<void, SessionAbsent | InvalidInput | StorageError, R> =>
    Effect.scoped(
      Effect.gen(function* () {
        const options = yield* checkInput(WorkOptionsInput, given, "options")
        const { concurrency, maxAttempts, session, signal, sources, ...running } = options
        const next = { maxAttempts, ...(sources !== undefined && { sources }) }
        const news = yield* Latch.make()
        const hear = () => void news.openUnsafe()
        yield* listen(hear, signal)

        const busy = new Set<string>()
        /** Sessions that had nothing for this worker, as they were then. */
        const barren = new Map<string, string>()
        let broken: StorageError | undefined
        const isFree = (one: DueSession) => !busy.has(one.id) && barren.get(one.id) !== stateOf(one)
        const leave = (one: DueSession) =>
          Effect.sync(() => {
            if (barren.size >= mostBarren) barren.clear()
            barren.set(one.id, stateOf(one))
          })

        /** What is to be done where no turn could begin. */
        const missed = (due: DueSession, error: BeginError): Effect.Effect<void> => {
          if (error._tag === "StorageError") {
            if (isClosed(error)) broken = error
            return isClosed(error) ? Effect.void : Effect.sleep(retryAfter)
          }
          if (error._tag !== "IdConflict" && error._tag !== "OperationConflict") return leave(due)
          return Effect.flatMap(now, (at) =>
            Effect.matchEffect(storage.transact(setAside(settings, due.id, { sources }, maxAttempts, at)), {
              onSuccess: (isSet) => (isSet ? Effect.void : leave(due)),
              onFailure: (failure) => missed(due, failure),
            }),
          )
        }

        /** Runs the next item of a session as a turn. How that ends is stored with it. */
        const serve = (due: DueSession): Effect.Effect<void, never, R> => {
          let hasBegun = false
          const asked = (turn: Turn) => {
            hasBegun = true
            return body(turn)
          }
          return Effect.matchCauseEffect(turns.run(due.id, { next }, asked, running as RunOptions), {
            onSuccess: () => Effect.void,
            onFailure: (cause) => {
              const error = Cause.findErrorOption(cause)
              // Before the body was asked nothing but the beginning can have failed.
              return hasBegun || Option.isNone(error) ? Effect.void : missed(due, error.value as BeginError)
            },
          })
        }

        const nobody = { next: undefined, later: undefined }
        /** A store that is busy or full may do better in a while. */
        const look = Effect.catchTag(findNext(session, isFree), "StorageError", (error) =>
          isClosed(error) ? Effect.fail(error) : Effect.as(Effect.sleep(retryAfter), undefined),
        )
        for (;;) {
          news.closeUnsafe()
          if (broken !== undefined) return yield* Effect.fail(broken)
          const found = busy.size < concurrency ? yield* look : nobody
          // It may have fired while the store was read.
          if (signal?.aborted === true) break
          if (found === undefined) continue
          const { later, next: due } = found
          if (due === undefined) {
            yield* later === undefined ? news.await : Effect.timeoutOption(news.await, later - (yield* now))
            continue
          }
          busy.add(due.id)
          const end = Effect.sync(() => {
            busy.delete(due.id)
            hear()
          })
          yield* Effect.forkScoped(Effect.ensuring(serve(due), end))
        }
        while (busy.size > 0) {
          news.closeUnsafe()
          if (busy.size > 0) yield* news.await
        }
      }),
    )

  return { dispatch, work }
})

/** What there is to do in a session is the same while this is: claims that are renewed move no revision. */
const stateOf = ({ due, revision }: DueSession): string => `${revision} ${due}`

const isClosed = ({ reason }: StorageError): boolean => reason._tag === "Closed"

/** Whether a notice may mean that an item can be sent which could not before. */
const isNews = ({ _tag }: SessionNotice): boolean => _tag === "QueueChanged" || _tag === "TurnEnded"
