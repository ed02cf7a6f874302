/**
 * Deletions: sessions that go for good.
 *
 * Guarantee: a session is deleted with one durable commit. From then on it is in no list, nothing begins in it, and whoever
 * reads or writes it, or creates one of its id, is told so with `SessionDeleted`. Everything of it is then removed in small
 * steps; a process that dies between them leaves them to `maintenance.recover`. What other sessions share of it stays as it
 * is for them, and what its model calls cost stays in the ledger and its sums.
 *
 * Not promised: that a store gets smaller at once. The room is used again, or given back by `maintenance.compactStorage`.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as z from "zod/mini"
import { sessionCalls } from "../call.ts"
import { isId } from "../id.ts"
import { checkInput } from "../input.ts"
import type { SessionAbsent } from "../session/program.ts"
import { Settings } from "../settings.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import { annotate, span } from "../storage/span.ts"
import { Storage } from "../storage/storage.ts"
import type { TransactOptions } from "../storage/storage.ts"
import type { RunActive } from "../turn/fence.ts"
import { writeFields, writingOf } from "../write-options.ts"
import * as program from "./program.ts"
import type { Concerned } from "./program.ts"
import * as pruning from "./prune.ts"
import { deletionWork } from "./work.ts"
import type { ParticipantFailure } from "./work.ts"

export type { Concerned } from "./program.ts"
export type { DeletedSession, DeleteParticipant } from "./participant.ts"
export type { ParticipantFailure } from "./work.ts"

export interface DeleteOptions extends TransactOptions {
  /** Whether a running turn is fenced instead of refused: what it still writes fails. Default `false`. */
  readonly force?: boolean
}

export interface Deletion {
  /** The session, and what it had started for itself, at any depth: of kinds `task` and `peek`. */
  readonly deleted: ReadonlyArray<Concerned>
  /** Other sessions that were started by one of those. They live on, started by what had started the session, if anything. */
  readonly moved: ReadonlyArray<Concerned>
  /** Who did not remove what they keep of these sessions elsewhere. `recover` asks them again. */
  readonly failures: ReadonlyArray<ParticipantFailure>
}

export interface PruneOptions extends TransactOptions {
  /** Milliseconds since 1970. Default: all moves are forgotten. */
  readonly before?: number
}

/** What pruning has removed. */
export interface Pruned {
  /** Moves of the head that were forgotten. */
  readonly moves: number
  /** Entries that were deleted, and branches of which nothing is left. */
  readonly entries: number
  readonly branches: number
}

/** What erasing has done. */
export interface Erasure extends Deletion {
  /** Sessions that live on and shared something of what was erased: they show a placeholder in its place. */
  readonly touched: ReadonlyArray<string>
}

/** What became of one of several sessions. */
export type DeleteOutcome =
  | { readonly sessionId: string; readonly deletion: Deletion; readonly error?: never }
  | { readonly sessionId: string; readonly error: SessionAbsent | RunActive; readonly deletion?: never }

type Failed = InvalidInput | StorageError

export class Deletions extends Context.Service<
  Deletions,
  {
    /**
     * Deletes a session, and what it started for itself. What it started for people moves up to what had started it. Forks
     * keep all that they have of it, and where they are from.
     *
     * @throws RunActive       a turn runs in it, or in one that goes with it: the error names which
     * @throws SessionDeleted  it was deleted before
     * @throws StorageError    before the mark nothing has happened; after it the session is deleted, and `recover` goes on
     * @see DEL-01, DEL-02
     */
    readonly delete: (
      sessionId: string,
      options?: DeleteOptions,
    ) => Effect.Effect<Deletion, RunActive | SessionAbsent | Failed>
    /**
     * Deletes a session as `delete` does, and takes what it has written from everybody: where forks share it, a placeholder
     * stands in its place, with what keeps tool calls and results together; what its calls cost leaves the ledger and the
     * sums. What it inherited from the session that it was forked from is that one's.
     *
     * What other programs have been told of it, backups, and pages of the engine that are not written over yet are not
     * reached: `maintenance.compactStorage` does away with the last.
     *
     * @throws RunActive       as for `delete`
     * @throws SessionDeleted  it was deleted before: what forks share of it is theirs now
     * @see DEL-05
     */
    readonly erase: (
      sessionId: string,
      options?: DeleteOptions,
    ) => Effect.Effect<Erasure, RunActive | SessionAbsent | Failed>
    /**
     * Deletes several sessions, one after the other, and says of each what became of it. One that went with another before
     * it has the answer of that one.
     *
     * @param sessionIds  at most 1,000
     */
    readonly deleteMany: (
      sessionIds: ReadonlyArray<string>,
      options?: DeleteOptions,
    ) => Effect.Effect<ReadonlyArray<DeleteOutcome>, Failed>
    /**
     * Forgets the journal of a session, and deletes what of its branches nobody needs then: what neither its head, nor a
     * move that is remembered, nor a name, a fork or an operation that is not finished leads to. There is no way back.
     *
     * Done in small steps: where it fails, or the process dies, some of it is done, and asking again does the rest.
     *
     * @param options  `before`: only moves before this time are forgotten, in milliseconds since 1970. Default: all.
     * @throws RunActive  a turn runs in the session
     * @see RWD-03
     *
     * @example
     * yield* deletions.prune("s", { before: Date.now() - 30 * 24 * 60 * 60 * 1_000 })
     */
    readonly prune: (
      sessionId: string,
      options?: PruneOptions,
    ) => Effect.Effect<Pruned, RunActive | SessionAbsent | Failed>
    /**
     * Forgets that a session was deleted, so that its id may be used again. Finishes the deletion first where something is
     * left to do.
     *
     * @returns whether there was anything to forget
     */
    readonly forget: (sessionId: string, options?: TransactOptions) => Effect.Effect<boolean, Failed>
  }
>()("@skein/core/deletion/Deletions") {
  static readonly layer = Layer.effect(
    Deletions,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings
      const work = deletionWork(storage, settings)

      const remove = Effect.fnUntraced(function* (
        sessionId: string,
        { durability, force = false }: CheckedOptions,
        erase: boolean,
      ) {
        const now = yield* Clock.currentTimeMillis
        const marking = program.mark(settings, sessionId, { force, erase, now })
        const { deleted, moved } = yield* storage.transact(marking, writingOf(durability))
        const { failures, touched } = yield* work.proceed(deleted.map(({ id }) => id))
        yield* annotate(() => ({ "skein.sessions.deleted": deleted.length, "skein.sessions.moved": moved.length }))
        const erasure: Erasure = { deleted, moved, failures, touched }
        return erasure
      })
      const deleteOne = (sessionId: string, options: CheckedOptions) =>
        Effect.map(remove(sessionId, options, false), ({ deleted, failures, moved }): Deletion => ({
          deleted,
          moved,
          failures,
        }))

      const prune = Effect.fnUntraced(function* (sessionId: string, given: PruneOptions = {}) {
        const { before, durability } = yield* checkInput(PruneOptionsInput, given, "options")
        const writing = writingOf(durability)
        let moves = 0
        for (let isAll = false; !isAll;) {
          const now = yield* Clock.currentTimeMillis
          const step = yield* storage.transact(pruning.forgetMoves(settings, sessionId, before, now), writing)
          moves += step.moves
          isAll = step.isAll
        }
        let entries = 0
        let branches = 0
        let next: number | undefined
        for (let isAll = false; !isAll;) {
          const now = yield* Clock.currentTimeMillis
          const step = yield* storage.transact(pruning.prune(settings, sessionId, next, now), writing)
          entries += step.entries
          branches += step.branches
          next = step.next
          isAll = step.isAll
        }
        yield* annotate(() => ({ "skein.entries.deleted": entries, "skein.branches.deleted": branches }))
        const pruned: Pruned = { moves, entries, branches }
        return pruned
      })

      return Deletions.of({
        ...sessionCalls("deletion", {
          delete: Effect.fnUntraced(function* (sessionId: string, given: DeleteOptions = {}) {
            return yield* deleteOne(sessionId, yield* checkInput(DeleteOptionsInput, given, "options"))
          }),
          erase: Effect.fnUntraced(function* (sessionId: string, given: DeleteOptions = {}) {
            return yield* remove(sessionId, yield* checkInput(DeleteOptionsInput, given, "options"), true)
          }),
          prune,
          forget: Effect.fnUntraced(function* (sessionId: string, given: TransactOptions = {}) {
            const { durability } = yield* checkInput(z.strictObject(writeFields), given, "options")
            const tombstone = yield* storage.read(program.findTombstone(settings, sessionId))
            if (tombstone?.leftSince !== undefined) yield* work.proceed([sessionId])
            return yield* storage.transact(program.forget(settings, sessionId), writingOf(durability))
          }),
        }),
        deleteMany: Effect.fnUntraced(function* (given, options = {}) {
          const sessionIds = yield* checkInput(SessionIds, given, "sessionIds")
          const checked = yield* checkInput(DeleteOptionsInput, options, "options")
          const gone = new Map<string, Deletion>()
          const outcomes: Array<DeleteOutcome> = []
          for (const sessionId of sessionIds) {
            const before = gone.get(sessionId)
            if (before !== undefined) {
              outcomes.push({ sessionId, deletion: before })
              continue
            }
            const outcome = yield* deleteOne(sessionId, checked).pipe(
              Effect.map((deletion): DeleteOutcome => ({ sessionId, deletion })),
              Effect.catchTags({
                SessionNotFound: (error) => Effect.succeed<DeleteOutcome>({ sessionId, error }),
                SessionDeleted: (error) => Effect.succeed<DeleteOutcome>({ sessionId, error }),
                RunActive: (error) => Effect.succeed<DeleteOutcome>({ sessionId, error }),
              }),
            )
            for (const { id } of outcome.deletion?.deleted ?? []) gone.set(id, outcome.deletion!)
            outcomes.push(outcome)
          }
          return outcomes
        }, span("skein.deletion.deleteMany")),
      })
    }),
  )
}

const DeleteOptionsInput = z.strictObject({ ...writeFields, force: z.optional(z.boolean()) })

const PruneOptionsInput = z.strictObject({ ...writeFields, before: z.optional(z.int()) })

type CheckedOptions = z.output<typeof DeleteOptionsInput>

const SessionIds = z.array(z.string().check(z.refine(isId, "must be a session id"))).check(z.maxLength(1_000))
