/**
 * Rewinds: back to before something that the user said, or beside it.
 *
 * Guarantee: a rewind is one commit. What people see and what the model is given go back together, a turn that had to end
 * has ended, and what waited in the queue for something that left is cancelled. Nothing is deleted: `undo` restores.
 *
 * Not promised: that a turn which is stopped first has stopped working. It is waited for a while; after that its writes are
 * refused.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as z from "zod/mini"
import { sessionCalls } from "../call.ts"
import { checkMoveOptions, moveFields } from "../head/input.ts"
import type { MoveOptions } from "../head/input.ts"
import type { Moved } from "../head/program.ts"
import type { InvalidBoundary } from "../history/program.ts"
import { historyReader } from "../history/read.ts"
import { checkId, Ids } from "../id.ts"
import { checkInput } from "../input.ts"
import type { HeadMoved, MessageNotFound } from "../message/program.ts"
import { toMessage } from "../message/record.ts"
import type { Message } from "../message/record.ts"
import type { IdConflict, OperationConflict, SessionAbsent } from "../session/program.ts"
import { Settings } from "../settings.ts"
import { InvalidInput } from "../storage/error.ts"
import type { StorageError } from "../storage/error.ts"
import { key } from "../storage/key.ts"
import { Storage } from "../storage/storage.ts"
import type { RunActive } from "../turn/fence.ts"
import { Instance } from "../turn/instance.ts"
import { digest } from "../value.ts"
import { writingOf } from "../write-options.ts"
import type { FileHistory, FileRewindFailed } from "./file-history.ts"
import { hashOf, makeFileRewinds } from "./files.ts"
import type { FilesAhead } from "./files.ts"
import * as program from "./program.ts"
import type { LeavingCounts, Operation, Rewound } from "./program.ts"
import { stopping } from "./stop.ts"

export { FileFault, FileRewindFailed } from "./file-history.ts"
export type {
  Eligibility,
  FileEffect,
  FileHistory,
  FilePlan,
  FileRewind,
  FileRun,
  FileSession,
} from "./file-history.ts"
export type { FilesAhead } from "./files.ts"
export type { LeavingCounts, Rewound } from "./program.ts"

/** What a rewind would do. Ids of messages; `null` is the root. */
export interface RewindPlan<M = unknown> {
  /** Where the head would stand. */
  readonly to: string | null
  /** How much would leave the path. */
  readonly left: LeavingCounts
  /** The first 100 things that would leave that people see, oldest first: the prompt itself is the first. */
  readonly messages: ReadonlyArray<Message<M>>
  /** The turns of the session that would leave with all that they wrote, the newest first. */
  readonly turns: ReadonlyArray<string>
  /** Items of the queue that would be cancelled: each is for one of these turns, or was said already. */
  readonly cancelled: ReadonlyArray<string>
  /** The turn that runs, and would have to end first. */
  readonly running?: string
  /** What would become of files. Absent: nothing would, or the host keeps no history of them. */
  readonly files?: FilesAhead
  /** Given to `rewind` it does this, or nothing. */
  readonly planHash: string
}

export interface PlanOptions {
  /** Whether files are taken back. Default: where the store was opened with a `fileHistory`. */
  readonly files?: boolean
}

export interface RewindOptions extends MoveOptions, PlanOptions {
  /** Of a plan: where it would no longer do the same, fails with `OperationConflict`. Default: does what there is to do. */
  readonly planHash?: string
  /** A name for this rewind, 1 to 200 characters: asked for again under it within 30 days, answers as it did. */
  readonly operationId?: string
  /** Default `false`: a turn that runs is `RunActive`. When true it is ended first, as aborted. */
  readonly abortFirst?: boolean
  /**
   * How long a turn that was asked to stop is waited for, 0 to 600,000 milliseconds of this process's clock. After that it
   * is ended without it, in the commit that moves the head. Default 15,000.
   */
  readonly waitMs?: number
}

type Absent = SessionAbsent | InvalidInput | StorageError
type Refused = MessageNotFound | InvalidBoundary | Absent
export type RewindError = Refused | HeadMoved | RunActive | OperationConflict | IdConflict | FileRewindFailed

export class Rewinds extends Context.Service<
  Rewinds,
  {
    /**
     * What `rewind` to before this prompt would do. Changes nothing.
     *
     * @throws MessageNotFound  the session does not see the message
     * @throws InvalidBoundary  it is nothing that the user said and can see, off the path, or inside a tool round; names the
     *                          nearest prompt that would do
     * @throws FileRewindFailed  the history of files fails
     * @see RWD-01
     */
    readonly plan: (
      sessionId: string,
      prompt: string,
      options?: PlanOptions,
    ) => Effect.Effect<RewindPlan, Refused | FileRewindFailed>
    /**
     * Moves the head before a prompt of the path; before the first one that is the root, unless something was there before
     * anybody spoke. The session is idle afterwards.
     *
     * With `abortFirst` a turn that runs is asked to stop as by `abort`, and waited for. Files that turns have changed which
     * leave as a whole are taken back before, where the store was opened with a `fileHistory`; undo leaves them so.
     *
     * @throws MessageNotFound    the session does not see the message
     * @throws InvalidBoundary    as for `plan`
     * @throws RunActive          a turn runs, or has begun since the one that was stopped
     * @throws HeadMoved          the head is not as expected
     * @throws OperationConflict  the plan is not what it was; no turn was stopped for it, unless it changed afterwards
     * @throws IdConflict         the operation was another rewind
     * @throws FileRewindFailed   files could not be taken back; the head stays
     * @see RWD-01, RWD-02, RWD-05
     */
    readonly rewind: (sessionId: string, prompt: string, options?: RewindOptions) => Effect.Effect<Rewound, RewindError>
    /**
     * Moves the head to where another wording of a prompt goes, beside it; `run` does the same with `{ edit }`. The prompt
     * may be off the path. What waits in the queue stays, and so do files.
     *
     * @throws InvalidInput  it is nothing that the user said
     * @see RWD-04
     */
    readonly edit: (
      sessionId: string,
      prompt: string,
      options?: MoveOptions,
    ) => Effect.Effect<Moved, Refused | HeadMoved | RunActive>
    /**
     * Moves the head to where a message is answered again, beside it: the message, or the prompt that it answers; `run` does
     * the same with `{ retry }`.
     *
     * @throws InvalidBoundary  it is a tool result
     * @see RWD-04
     */
    readonly retry: (
      sessionId: string,
      message: string,
      options?: MoveOptions,
    ) => Effect.Effect<Moved, Refused | HeadMoved | RunActive>
  }
>()("@skein/core/rewind/Rewinds") {
  static readonly layer = Layer.effect(
    Rewinds,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings
      const stop = yield* stopping
      const { usesOfRow } = historyReader(storage, settings)
      const now = Clock.currentTimeMillis

      const fileRewinds = makeFileRewinds({ storage, settings, instance: yield* Instance, ids: yield* Ids })

      /** What takes files back, if they are to be. */
      const historyFor = (files: boolean | undefined): Effect.Effect<FileHistory | undefined, InvalidInput> => {
        const { fileHistory } = settings
        if (files !== true || fileHistory !== undefined)
          return Effect.succeed(files === false ? undefined : fileHistory)
        const problem = "cannot be true: the store was opened without a fileHistory"
        return Effect.fail(new InvalidInput({ field: "options.files", value: files, problem }))
      }

      const stopFirst = Effect.fnUntraced(function* (
        fileHistory: FileHistory | undefined,
        sessionId: string,
        wanted: program.Wanted,
        waitMs: number,
      ) {
        const isAboutFiles = fileHistory !== undefined && wanted.agreed !== undefined
        const asAgreed = isAboutFiles
          ? (yield* fileRewinds.agreedNow(fileHistory, sessionId, wanted, usesOfRow)).wanted
          : wanted
        return yield* stop(sessionId, asAgreed, usesOfRow, waitMs)
      })

      const step = Effect.fnUntraced(function* (
        sessionId: string,
        sibling: { readonly reason: "edit" | "retry"; readonly message: string; readonly field: string },
        given: MoveOptions,
      ) {
        yield* checkId(sibling.field, sibling.message)
        const { author, expected, writing } = yield* checkMoveOptions(given)
        const move = { at: yield* now, author }
        return yield* storage.transact(program.stepBeside(settings, sessionId, sibling, expected, move), writing)
      })

      return Rewinds.of(
        sessionCalls("rewind", {
          plan: Effect.fnUntraced(function* (sessionId: string, prompt: string, given: PlanOptions = {}) {
            yield* checkId("prompt", prompt)
            const { files } = yield* checkInput(PlanOptionsInput, given, "options")
            const fileHistory = yield* historyFor(files)
            const outlook = yield* storage.read(program.look(settings, sessionId, prompt, usesOfRow, yield* now))
            return toPlan(outlook, fileHistory && (yield* fileRewinds.lookAhead(fileHistory, outlook)))
          }),
          rewind: Effect.fnUntraced(function* (sessionId: string, prompt: string, given: RewindOptions = {}) {
            yield* checkId("prompt", prompt)
            const options = yield* checkInput(RewindOptionsInput, given, "options")
            const {
              abortFirst = false,
              author,
              durability,
              files,
              operationId,
              planHash,
              waitMs,
              ...expected
            } = options
            const fileHistory = yield* historyFor(files)
            const operation = operationId === undefined ? undefined : operationOf(sessionId, operationId, prompt)
            if (operation !== undefined) {
              const before = yield* storage.read(program.findRewound(settings, sessionId, operation, yield* now))
              if (before !== undefined) return before
            }
            const agreed = planHash === undefined ? undefined : { hash: planHash, files: undefined }
            const wanted: program.Wanted = { prompt, expected, agreed }
            const stopped = abortFirst ? yield* stopFirst(fileHistory, sessionId, wanted, waitMs) : undefined
            const recorded = { stopped, operation }
            const writing = writingOf(durability)
            if (fileHistory !== undefined) {
              return yield* fileRewinds.rewind(fileHistory, sessionId, wanted, recorded, usesOfRow, { author, writing })
            }
            const move = { at: yield* now, author }
            return yield* storage.transact(
              program.rewind(settings, sessionId, wanted, recorded, usesOfRow, move),
              writing,
            )
          }),
          edit: (sessionId: string, prompt: string, given: MoveOptions = {}) =>
            step(sessionId, { reason: "edit", message: prompt, field: "prompt" }, given),
          retry: (sessionId: string, message: string, given: MoveOptions = {}) =>
            step(sessionId, { reason: "retry", message, field: "message" }, given),
        }),
      )
    }),
  )
}

const operationOf = (sessionId: string, name: string, prompt: string): Operation => ({
  id: key(`rewind ${sessionId} ${name}`),
  name,
  digest: digest({ prompt }),
})

const toPlan = ({ rows, turns, way }: program.Outlook, ahead: FilesAhead | undefined): RewindPlan => {
  const { cancelling, counts, session, to } = way
  return {
    to: to.id ?? null,
    left: counts,
    messages: rows.map(toMessage),
    turns: turns.map(({ id }) => id),
    cancelled: cancelling?.items.map(({ id }) => id) ?? [],
    ...(session.activeTurn !== undefined && { running: session.activeTurn.id }),
    ...(ahead !== undefined && { files: ahead }),
    planHash: program.hashOf(way, hashOf(ahead)),
  }
}

const planFields = { files: z.optional(z.boolean()) }
const PlanOptionsInput = z.strictObject(planFields)
const RewindOptionsInput = z.strictObject({
  ...moveFields,
  ...planFields,
  planHash: z.optional(z.string()),
  operationId: z.optional(z.string().check(z.minLength(1), z.maxLength(200))),
  abortFirst: z.optional(z.boolean()),
  waitMs: z._default(z.int().check(z.minimum(0), z.maximum(600_000)), 15_000),
})
