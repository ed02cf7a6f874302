/**
 * Maintenance: what puts a store in order after something went wrong.
 *
 * Guarantee: recovery ends the turns whose owners are gone or silent for longer than their lease, and nobody else's, and
 * brings deletions to their end. It appends no message and moves no activity; run again, or by several at once, it changes
 * nothing more.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as z from "zod/mini"
import { makeForks } from "../fork/making.ts"
import { deletionWork } from "../deletion/work.ts"
import { Ids, isId } from "../id.ts"
import { checkInput, isSignal } from "../input.ts"
import { makeFileRewinds } from "../rewind/files.ts"
import { Settings } from "../settings.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import { annotate, span } from "../storage/span.ts"
import { Storage } from "../storage/storage.ts"
import { Instance } from "../turn/instance.ts"
import type { Asked } from "../turn/liveness.ts"
import { findRunning } from "../turn/program.ts"
import type { Dead, RunningPlace } from "../turn/program.ts"
import { endDead } from "./program.ts"
import { makeRetention } from "./retention.ts"
import type { RetentionOptions, Retained } from "./retention.ts"
import { makeKeeping } from "./run.ts"
import { storeStats } from "./stats.ts"
import type { StoreStats } from "./stats.ts"
import { makeSweep } from "./sweep.ts"
import type { Swept } from "./sweep.ts"

export type { Dispensable, RetentionOptions, Retained } from "./retention.ts"
export type { StoreStats, TableStats } from "./stats.ts"
export type { Swept } from "./sweep.ts"

export interface RecoverOptions {
  /** Sessions whose turns are left alone, whatever they look like. At most 1,000. */
  readonly protect?: ReadonlyArray<string>
}

export interface Recovered {
  /** Sessions whose turn was found dead and is `interrupted` now. */
  readonly interrupted: ReadonlyArray<string>
  /** How many running turns were left alone: their owners live, or may. */
  readonly running: number
  /** Forks whose workspace was there when the process died that was making them: sessions now. Absent: none. */
  readonly forked?: ReadonlyArray<string>
  /** Sessions whose deletion had not come to its end, and has now. Absent: none. */
  readonly deleted?: ReadonlyArray<string>
  /** Sessions whose files are what they were, where a process died that was taking them back with a rewind. Absent: none. */
  readonly restored?: ReadonlyArray<string>
}

/** What compacting did. Without sizes the engine does not say what it takes. */
export interface CompactedStorage {
  /** Whether the engine can give room back at all. */
  readonly compacted: boolean
  readonly before?: number
  readonly after?: number
}

export interface RunOptions {
  /** How long to wait after each round, in milliseconds, 1,000 or more. Default 60,000. */
  readonly every?: number
  /** Ends it after the round that is under way. */
  readonly signal?: AbortSignal
}

export class Maintenance extends Context.Service<
  Maintenance,
  {
    /**
     * Ends dead turns: their sessions are `interrupted` with the reason `crash-recovery`, what was drafted is settled, what
     * was claimed of their queues is back in its place. Forks that were being made are finished, or taken back, deletions
     * brought to their end, and files that a rewind was taking back made what they were. Its cost depends on running turns
     * and on what is unfinished alone.
     *
     * @see TRN-05, DEL-01
     */
    readonly recover: (options?: RecoverOptions) => Effect.Effect<Recovered, InvalidInput | StorageError>
    /**
     * Deletes sessions that have been left alone for long, or are too many: none, unless a limit is given. What runs, has
     * something in its queue, or started a session that stays is never touched, nor is what is pinned unless that is asked
     * for.
     *
     * @see DEL-04
     *
     * @example
     * const { sessions } = yield* maintenance.retention({ maxAge: 30 * 24 * 60 * 60 * 1_000, dryRun: true })
     */
    readonly retention: (options?: RetentionOptions) => Effect.Effect<Retained, InvalidInput | StorageError>
    /** Where the bytes of the store are. Reads all of it, page by page. */
    readonly stats: () => Effect.Effect<StoreStats, InvalidInput | StorageError>
    /**
     * Gives room back to the system that is free in the store, where the engine can; what the store took before and takes
     * now. It may take long, and nothing else is done meanwhile.
     */
    readonly compactStorage: () => Effect.Effect<CompactedStorage, StorageError>
    /**
     * Takes away what time makes superfluous: items of queues that have expired, receipts of operations, changes of files
     * that are older than a week, blobs that nothing uses.
     */
    readonly sweep: () => Effect.Effect<Swept, InvalidInput | StorageError>
    /**
     * Recovers and sweeps, at once and then again and again, until it is interrupted, `signal` fires, or the store is
     * closed. Of all who do so on one store one is at it; the others wait until that one is gone.
     *
     * @see DEL-06
     *
     * @example
     * yield* Effect.forkScoped(maintenance.run({ every: 60_000 }))
     */
    readonly run: (options?: RunOptions) => Effect.Effect<void, InvalidInput | StorageError>
  }
>()("@skein/core/maintenance/Maintenance") {
  static readonly layer = Layer.effect(
    Maintenance,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings
      const instance = yield* Instance
      const deletions = deletionWork(storage, settings)

      const { recover: recoverForks } = makeForks({ storage, settings, instance })
      const { recover: recoverFiles } = makeFileRewinds({ storage, settings, instance, ids: yield* Ids })

      const recover = Effect.fnUntraced(function* (given: RecoverOptions = {}) {
        const { protect = [] } = yield* checkInput(RecoverOptionsInput, given, "options")
        const isProtected = new Set(protect)
        const interrupted: Array<string> = []
        let running = 0
        let next: RunningPlace | undefined
        do {
          const page = yield* storage.read(findRunning(settings, next))
          const dead: Array<Dead> = []
          const asked: Asked = new Map()
          for (const { active, sessionId } of page.found) {
            const isLeft = isProtected.has(sessionId) || instance.runs(sessionId, active.epoch)
            if (!isLeft && (yield* instance.judge(sessionId, active, asked)).isOver) dead.push({ ...active, sessionId })
          }
          let ended = 0
          for (let i = 0; i < dead.length; i += batchSize) {
            const now = yield* Clock.currentTimeMillis
            const turns = yield* storage.transact(endDead(settings, dead.slice(i, i + batchSize), now))
            ended += turns.length
            interrupted.push(...turns.map(({ sessionId }) => sessionId))
          }
          running += page.found.length - ended
          next = page.next
        } while (next !== undefined)
        const { made: forked } = yield* recoverForks()
        const restored = settings.fileHistory === undefined ? [] : yield* recoverFiles(settings.fileHistory)
        const deleted = yield* deletions.resume
        yield* annotate(() => ({
          "skein.turns.interrupted": interrupted.length,
          "skein.turns.running": running,
          "skein.sessions.deleted": deleted.length,
        }))
        const recovered: Recovered = {
          interrupted,
          running,
          ...(forked.length > 0 && { forked }),
          ...(deleted.length > 0 && { deleted }),
          ...(restored.length > 0 && { restored }),
        }
        return recovered
      })

      const retention = makeRetention(storage, settings, deletions)
      const sweep = makeSweep(storage, settings)

      const compactStorage = Effect.gen(function* () {
        const before = yield* storage.space
        const compacted = yield* storage.compact
        const after = yield* storage.space
        const answer: CompactedStorage = {
          compacted,
          ...(before !== undefined && after !== undefined && { before: before.bytes, after: after.bytes }),
        }
        return answer
      })

      const round = Effect.andThen(recover(), sweep)
      const keepUp = makeKeeping({ storage, instance }, round)

      return Maintenance.of({
        recover: (options) => span("skein.maintenance.recover")(recover(options)),
        retention: (options) => span("skein.maintenance.retention")(retention(options)),
        stats: () => span("skein.maintenance.stats")(storeStats(storage)),
        compactStorage: () => span("skein.maintenance.compactStorage")(compactStorage),
        sweep: () => span("skein.maintenance.sweep")(sweep),
        run: Effect.fnUntraced(function* (given = {}) {
          const { every = 60_000, signal } = yield* checkInput(RunOptionsInput, given, "options")
          yield* keepUp(every, signal)
        }),
      })
    }),
  )
}

const RunOptionsInput = z.strictObject({
  every: z.optional(z.number().check(z.gte(1_000))),
  signal: z.optional(z.custom<AbortSignal>(isSignal, "must be an AbortSignal")),
})

/** How many turns are ended in one commit. */
const batchSize = 100

const RecoverOptionsInput = z.strictObject({
  protect: z.optional(z.array(z.string().check(z.refine(isId, "must be a session id"))).check(z.maxLength(1_000))),
})
