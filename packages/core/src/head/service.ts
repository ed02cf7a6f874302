/**
 * Heads: where a session stands in its conversation, and the way back.
 *
 * Guarantee: a move is one commit of head, journal, counts and preview. Nothing is overwritten: what the head leaves is
 * still there, and the last 1,000 moves can be taken back, also in a new process.
 *
 * Not promised: that every earlier place still exists. A move whose place is gone answers nothing.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as z from "zod/mini"
import { sessionCalls } from "../call.ts"
import type { InvalidBoundary } from "../history/program.ts"
import { checkId, Ids, isId } from "../id.ts"
import { checkInput, Text } from "../input.ts"
import { asked } from "../message/text.ts"
import type { HeadMoved, MessageNotFound } from "../message/program.ts"
import { toMessage } from "../message/record.ts"
import type { Message } from "../message/record.ts"
import type { SessionAbsent } from "../session/program.ts"
import { Settings } from "../settings.ts"
import { InvalidInput } from "../storage/error.ts"
import type { StorageError } from "../storage/error.ts"
import { Storage } from "../storage/storage.ts"
import type { RunActive } from "../turn/fence.ts"
import { writeFields, writingOf } from "../write-options.ts"
import type { TransactOptions } from "../write-options.ts"
import { checkLinkOptions, checkMoveOptions } from "./input.ts"
import type { LinkOptions, MoveOptions } from "./input.ts"
import * as links from "./links.ts"
import type { LinkTarget } from "./links.ts"
import type { MoveReason } from "./model.ts"
import * as program from "./program.ts"
import type { BranchInUse, BranchNotFound, Destination, Moved } from "./program.ts"

export { BranchInUse, BranchNotFound } from "./program.ts"
export type { Destination, Moved } from "./program.ts"
export type { LinkOptions, MoveOptions } from "./input.ts"
export type { LinkTarget } from "./links.ts"
export { keptMoves } from "./model.ts"

/** A move of the head, as the journal has it. Ids are absent where the place no longer exists; `null` is the root. */
export interface HeadMove {
  readonly n: number
  readonly from?: string | null
  readonly to?: string | null
  readonly reason: MoveReason
  /** Milliseconds since 1970. */
  readonly at: number
  readonly author?: string
}

export interface MovesQuery {
  /** Only moves before the one with this number. */
  readonly before?: number
  /** 1 to 250. Default 50. */
  readonly limit?: number
}

export interface NameOptions extends TransactOptions {
  /** Default `false`. When true the name never replaces one that was given by hand. */
  readonly automatic?: boolean
}

export interface DeleteBranchOptions extends MoveOptions {
  /** Where a head that stands on what goes moves first. Default: where the branch was left, or began. */
  readonly moveTo?: Destination
}

type Absent = SessionAbsent | InvalidInput | StorageError

export class Heads extends Context.Service<
  Heads,
  {
    /**
     * Moves the head to a message, to the end of a branch (its number), or with `null` before the first message.
     *
     * A move to where the head stands does nothing. Display and model history move together.
     *
     * @throws MessageNotFound  the session does not see the message
     * @throws BranchNotFound   the session owns no such branch
     * @throws HeadMoved        the head is not at `expectedHead`
     * @throws InvalidBoundary  it is before the beginning of a side conversation
     * @throws RunActive        a turn runs
     * @see HED-01, HED-02
     */
    readonly checkout: (
      sessionId: string,
      to: Destination,
      options?: MoveOptions,
    ) => Effect.Effect<Moved, MessageNotFound | BranchNotFound | HeadMoved | InvalidBoundary | RunActive | Absent>
    /**
     * Takes the last move back that was not taken back. `undefined`: there is none, it was forgotten, or the place is gone.
     *
     * @throws HeadMoved  the head is not as expected
     * @throws RunActive  a turn runs
     */
    readonly undo: (
      sessionId: string,
      options?: MoveOptions,
    ) => Effect.Effect<Moved | undefined, HeadMoved | RunActive | Absent>
    /** Makes the move again that `undo` took back last; a new message ends that. `undefined`: there is none. */
    readonly redo: (
      sessionId: string,
      options?: MoveOptions,
    ) => Effect.Effect<Moved | undefined, HeadMoved | RunActive | Absent>
    /** The journal, newest move first. */
    readonly moves: (sessionId: string, query?: MovesQuery) => Effect.Effect<ReadonlyArray<HeadMove>, Absent>
    /** The end of the longest way on from a message. The message itself when nothing follows. */
    readonly deepest: (sessionId: string, messageId: string) => Effect.Effect<Message, MessageNotFound | Absent>
    /**
     * Names a branch, and answers the name it now has: one given by hand (at most 80 characters) stays when an
     * automatic one (at most 40, the default is by hand) comes later.
     */
    readonly nameBranch: (
      sessionId: string,
      branch: number,
      name: string,
      options?: NameOptions,
    ) => Effect.Effect<string, BranchNotFound | Absent>
    /**
     * Deletes a branch from its end down to the last place that another branch left it. A head on what goes first moves
     * to that place or to where the branch began, or to `moveTo`, in the same commit.
     *
     * @throws BranchInUse   another session stands on it; nothing was deleted
     * @throws InvalidInput  `moveTo` goes with the branch
     * @throws RunActive     a turn runs
     * @see HED-01
     */
    readonly deleteBranch: (
      sessionId: string,
      branch: number,
      options?: DeleteBranchOptions,
    ) => Effect.Effect<
      { readonly removed: number; readonly head: string | null },
      BranchNotFound | BranchInUse | MessageNotFound | HeadMoved | InvalidBoundary | RunActive | Absent
    >
    /**
     * Puts a link at the head: to the head of another session (its id), or to the end of another branch (its number).
     *
     * People see the title that it has now; `link` says what it leads to, also when that is gone. The model is given nothing
     * of it, and `activityAt` stays. Retention leaves a session alone that is linked to.
     *
     * @throws InvalidInput     the session itself, one without a message, or a branch that ends on the path
     * @throws SessionNotFound  there is no such session
     * @throws BranchNotFound   the session owns no such branch
     * @throws HeadMoved        the head is not as expected
     * @throws RunActive        a turn runs
     * @see HED-04
     *
     * @example
     * const { id } = yield* heads.attach("ses_1", "ses_2")
     * yield* heads.merge("ses_1", id)
     */
    readonly attach: (
      sessionId: string,
      to: LinkTarget,
      options?: LinkOptions,
    ) => Effect.Effect<Message, BranchNotFound | HeadMoved | RunActive | Absent>
    /**
     * Marks the end of the branch that a link leads to as merged: `branches` leaves it out from now on, until more is said on
     * it, and nothing of it is gone.
     *
     * @returns whether it is merged now; `false`: it is gone, or has gone on since the link was put there
     * @throws MessageNotFound  the session does not see the link
     * @throws InvalidInput     it is none
     * @throws HeadMoved        the head is not as expected
     * @throws RunActive        a turn runs, in this session or in the one that is linked to
     * @see HED-04
     */
    readonly merge: (
      sessionId: string,
      link: string,
      options?: LinkOptions,
    ) => Effect.Effect<boolean, MessageNotFound | HeadMoved | RunActive | Absent>
    /** Takes `merge` back. */
    readonly unmerge: (
      sessionId: string,
      link: string,
      options?: LinkOptions,
    ) => Effect.Effect<void, MessageNotFound | HeadMoved | RunActive | Absent>
  }
>()("@skein/core/head/Heads") {
  static readonly layer = Layer.effect(
    Heads,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings

      const ids = yield* Ids
      const { dialect } = settings
      const format = { dialect: dialect.name, version: dialect.version }

      const now = Clock.currentTimeMillis

      const retrace = Effect.fnUntraced(function* (reason: "undo" | "redo", sessionId: string, given: MoveOptions) {
        const { author, expected, writing } = yield* checkMoveOptions(given)
        const move = { reason, at: yield* now, author }
        return yield* storage.transact(program.retrace(settings, sessionId, expected, move), writing)
      })

      const mark = Effect.fnUntraced(function* (
        sessionId: string,
        link: string,
        isMerged: boolean,
        given: LinkOptions,
      ) {
        const id = yield* checkId("link", link)
        const { expected, writing } = yield* checkLinkOptions(given)
        return yield* storage.transact(links.merge(settings, sessionId, id, isMerged, expected, yield* now), writing)
      })

      return Heads.of(
        sessionCalls("head", {
          checkout: Effect.fnUntraced(function* (sessionId: string, to: Destination, given: MoveOptions = {}) {
            const destination = yield* checkDestination("to", to)
            const { author, expected, writing } = yield* checkMoveOptions(given)
            const move = { reason: "checkout", at: yield* now, author } as const
            return yield* storage.transact(program.checkout(settings, sessionId, destination, expected, move), writing)
          }),
          undo: (sessionId: string, given: MoveOptions = {}) => retrace("undo", sessionId, given),
          redo: (sessionId: string, given: MoveOptions = {}) => retrace("redo", sessionId, given),
          moves: Effect.fnUntraced(function* (sessionId: string, given: MovesQuery = {}) {
            const { before, limit } = yield* checkInput(MovesQueryInput, given, "query")
            return (yield* storage.read(program.moves(settings, sessionId, before, limit))).map(toHeadMove)
          }),
          deepest: Effect.fnUntraced(function* (sessionId: string, messageId: string) {
            const id = yield* checkId("messageId", messageId)
            return toMessage(yield* storage.read(program.deepest(settings, sessionId, id)))
          }),
          nameBranch: Effect.fnUntraced(function* (
            sessionId: string,
            branch: number,
            name: string,
            given: NameOptions = {},
          ) {
            yield* checkInput(BranchNumber, branch, "branch")
            const { automatic = false, durability } = yield* checkInput(NameOptionsInput, given, "options")
            const text = yield* checkInput(automatic ? AutomaticName : ManualName, name, "name")
            const origin = automatic ? "automatic" : "manual"
            const naming = program.nameBranch(settings, sessionId, branch, { text, origin }, yield* now)
            return yield* storage.transact(naming, writingOf(durability))
          }),
          deleteBranch: Effect.fnUntraced(function* (
            sessionId: string,
            branch: number,
            given: DeleteBranchOptions = {},
          ) {
            yield* checkInput(BranchNumber, branch, "branch")
            const { moveTo, ...options } = given ?? {}
            const to = moveTo === undefined ? undefined : yield* checkDestination("options.moveTo", moveTo)
            const { author, expected, writing } = yield* checkMoveOptions(given === null ? given : options)
            const move = { at: yield* now, author }
            const deleting = program.deleteBranch(settings, sessionId, branch, to, expected, move)
            return yield* storage.transact(deleting, writing)
          }),
          attach: Effect.fnUntraced(function* (sessionId: string, to: LinkTarget, given: LinkOptions = {}) {
            if (!isId(to) && !isBranchNumber(to)) {
              const problem = "must be the id of a session, or the number of a branch"
              return yield* Effect.fail(new InvalidInput({ field: "to", value: to, problem }))
            }
            const { expected, writing } = yield* checkLinkOptions(given)
            const [id, createdAt] = [yield* ids.mint("msg_"), yield* now]
            // A dialect of the caller's may throw: then people see the bare title.
            const displayOf = (title: string) => asked(() => dialect.prompt(title, { id, at: createdAt })) ?? title
            const entry = { id, createdAt, format }
            const attaching = links.attach(settings, sessionId, to, entry, displayOf, expected, createdAt)
            return toMessage(yield* storage.transact(attaching, writing))
          }),
          merge: (sessionId: string, link: string, given: LinkOptions = {}) => mark(sessionId, link, true, given),
          unmerge: (sessionId: string, link: string, given: LinkOptions = {}) =>
            Effect.asVoid(mark(sessionId, link, false, given)),
        }),
      )
    }),
  )
}

const toHeadMove = ({ from, row, to }: program.FoundMove): HeadMove => {
  const { at, author, n, reason } = row
  return {
    n,
    reason,
    at,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(author === undefined ? {} : { author }),
  }
}

const BranchNumber = z.int().check(z.positive())
const notBlank = z.refine<string>((name) => name.trim() !== "", "must not be blank")
const AutomaticName = Text.check(notBlank, z.maxLength(40))
const ManualName = Text.check(notBlank, z.maxLength(80))
const NameOptionsInput = z.strictObject({ ...writeFields, automatic: z.optional(z.boolean()) })
const MovesQueryInput = z.strictObject({
  before: z.optional(z.int()),
  limit: z._default(z.int().check(z.minimum(1), z.maximum(250)), 50),
})

const isBranchNumber = (value: unknown): value is number => Number.isInteger(value) && (value as number) > 0

const checkDestination = (field: string, value: unknown): Effect.Effect<Destination, InvalidInput> =>
  value === null || isId(value) || isBranchNumber(value)
    ? Effect.succeed(value as Destination)
    : Effect.fail(
        new InvalidInput({
          field,
          value,
          problem: "must be a message id, the number of a branch, or null for the root",
        }),
      )
