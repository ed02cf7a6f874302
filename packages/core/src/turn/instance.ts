/**
 * This opening of a store as an owner of turns: its name, its host, its lease, and the turns that it runs.
 *
 * Guarantee: before its first turn it holds a lock under its name, so that others can tell at once when it is gone. It
 * hears of whatever happens to its turns from elsewhere: in this process with the commit, from other processes as soon as
 * the engine hints that something changed. When the store is closed, turns that still run are told to stop, and have a few
 * seconds to end.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberHandle from "effect/FiberHandle"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import { Ids } from "../id.ts"
import type { SessionNotice } from "../notice.ts"
import { Settings } from "../settings.ts"
import { SessionDeleted } from "../session/program.ts"
import type { IdConflict, SessionAbsent } from "../session/program.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import { Storage } from "../storage/storage.ts"
import { StaleTurn } from "./fence.ts"
import { lockOf, makeLiveness } from "./liveness.ts"
import type { Liveness } from "./liveness.ts"
import * as program from "./program.ts"

/** Why a turn may fail to write. */
export type WriteError = StaleTurn | IdConflict | SessionAbsent | InvalidInput | StorageError

/** Why a running turn is to stop. */
export type Stop =
  | { readonly _tag: "Aborted"; readonly reason: string | undefined }
  /** The store is being closed. */
  | { readonly _tag: "Closed" }
  /** It was ended by somebody else, or there is no way to say any more how it goes on. */
  | { readonly _tag: "Lost"; readonly error: WriteError }

/** A turn that this instance runs. */
export interface Running {
  readonly sessionId: string
  readonly epoch: number
  readonly stop: (why: Stop) => void
}

export class Instance extends Context.Service<
  Instance,
  {
    readonly owner: string
    readonly host: string
    /** The length of the leases of its turns, in milliseconds. */
    readonly lease: number
    /** Takes the lock that proves that this instance lives. Comes before its first turn. */
    readonly live: Effect.Effect<void, StorageError>
    readonly judge: Liveness["judge"]
    /** Hears on behalf of a turn of its own until the scope ends. */
    readonly attend: (turn: Running) => Effect.Effect<void, never, Scope.Scope>
    /** Whether a turn is one that this instance is running right now. */
    readonly runs: (sessionId: string, epoch: number) => boolean
  }
>()("@skein/core/turn/Instance") {
  static readonly layer = Layer.effect(
    Instance,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings
      const owner = yield* (yield* Ids).mint("ins_")
      const { capabilities, locks } = storage
      const { host = owner, lease = defaultLease } = capabilities
      const { judge } = yield* makeLiveness(owner, host, locks)
      const running = new Map<string, Running>()
      const watching = yield* FiberHandle.make()
      const idle = yield* Latch.make(true)
      let isClosing = false
      // Made before what follows, so that it closes after: the lock proves that this instance lives until its turns have ended.
      const locked = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
      yield* Effect.addFinalizer(() =>
        Effect.suspend(() => {
          isClosing = true
          for (const turn of running.values()) turn.stop({ _tag: "Closed" })
          return Effect.timeoutOption(idle.await, closingMs)
        }),
      )

      let isHeld = locks === undefined
      const one = yield* Semaphore.make(1)
      const hold = Effect.suspend(() => {
        if (locks === undefined || isHeld) return Effect.void
        const held = Effect.catchTag(locks.hold(lockOf(owner)), "InvalidInput", Effect.die)
        return Effect.map(Scope.provide(held, locked), () => {
          isHeld = true
        })
      })
      const live = Effect.suspend(() => (isHeld ? Effect.void : one.withPermit(hold)))

      const lost = (sessionId: string, epoch: number, activeEpoch: number | undefined): Stop => ({
        _tag: "Lost",
        error: new StaleTurn({ sessionId, epoch, ...(activeEpoch !== undefined && { activeEpoch }) }),
      })

      yield* storage.observe((notices) => {
        if (running.size === 0) return
        for (const notice of notices as ReadonlyArray<SessionNotice>) {
          if (notice._tag === "AbortRequested") {
            const turn = running.get(notice.sessionId)
            if (turn?.epoch === notice.epoch) turn.stop({ _tag: "Aborted", reason: notice.reason })
          } else if (notice._tag === "TurnEnded") {
            const turn = running.get(notice.sessionId)
            if (turn?.epoch === notice.turn.epoch) turn.stop(lost(notice.sessionId, turn.epoch, undefined))
          } else if (notice._tag === "SessionWasDeleted") {
            const { deletedAt, sessionId } = notice
            running.get(sessionId)?.stop({ _tag: "Lost", error: new SessionDeleted({ sessionId, deletedAt }) })
          }
        }
      })

      /** Looks whether turns still stand, after somebody else may have changed their sessions. */
      const look = Effect.fnUntraced(function* (turns: ReadonlyArray<Running>) {
        const ids = turns.map(({ sessionId }) => sessionId)
        const found = yield* storage.read(program.actives(settings, ids))
        for (const [i, { epoch, sessionId, stop }] of turns.entries()) {
          const active = found[i]
          if (active === "unknown") continue
          if (active?.epoch !== epoch) stop(lost(sessionId, epoch, active?.epoch))
          else if (active.abort !== undefined) stop({ _tag: "Aborted", reason: active.abort.reason })
        }
      })

      // What cannot be read now is seen with the next hint, or with the next heartbeat.
      const lookAll = Effect.suspend(() => {
        const turns = [...running.values()]
        const parts = Array.from({ length: Math.ceil(turns.length / lookedAt) }, (_, i) =>
          turns.slice(i * lookedAt, (i + 1) * lookedAt),
        )
        return Effect.forEach(parts, (part) => Effect.ignore(look(part)))
      })
      const watch = Stream.runForEach(storage.changes, (change) => (change._tag === "Changed" ? lookAll : Effect.void))

      const hear = (turn: Running) =>
        Effect.acquireRelease(
          Effect.suspend(() => {
            running.set(turn.sessionId, turn)
            idle.closeUnsafe()
            if (isClosing) turn.stop({ _tag: "Closed" })
            return running.size === 1 ? FiberHandle.run(watching, watch) : Effect.void
          }),
          () =>
            Effect.suspend(() => {
              if (running.get(turn.sessionId) === turn) running.delete(turn.sessionId)
              if (running.size > 0) return Effect.void
              idle.openUnsafe()
              return FiberHandle.clear(watching)
            }),
        )

      // What happened between the beginning and now was told to nobody.
      const attend = (turn: Running) =>
        Effect.asVoid(Effect.andThen(hear(turn), Effect.forkScoped(Effect.ignore(look([turn])))))

      return Instance.of({
        owner,
        host,
        lease,
        live,
        judge,
        attend,
        runs: (sessionId, epoch) => running.get(sessionId)?.epoch === epoch,
      })
    }),
  )
}

/** How many of its turns are looked at in one read. */
const lookedAt = 500

/** How long closing waits for turns to end, in milliseconds: as long as bodies have, and some more to store what they did. */
const closingMs = 6_000

/** Thirty seconds, unless the engine says otherwise. */
const defaultLease = 30_000
