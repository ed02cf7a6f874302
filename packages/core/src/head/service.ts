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
import { isId } from "../id.ts"
import { checkInput, Text } from "../input.ts"
import type { HeadMoved, MessageNotFound } from "../message/program.ts"
import { toMessage } from "../message/record.ts"
import type { Message } from "../message/record.ts"
import type { SessionNotFound } from "../session/program.ts"
import { Settings } from "../settings.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import { span } from "../storage/span.ts"
import { Storage } from "../storage/storage.ts"
import type { MoveReason } from "./model.ts"
import * as program from "./program.ts"
import type { BranchInUse, BranchNotFound, Destination, Moved } from "./program.ts"

export { BranchInUse, BranchNotFound } from "./program.ts"
export type { Destination, Moved } from "./program.ts"
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

export interface MoveOptions {
  /** Fails with `HeadMoved` unless this message is at the head; `null` is the root. Default: any head. */
  readonly expectedHead?: string | null
  /** Fails with `HeadMoved` unless the session's `headVersion` is this. Default: any. */
  readonly expectedVersion?: number
  /** Who moves it, for the journal. */
  readonly author?: string
}

type Absent = SessionNotFound | InvalidInput | StorageError

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
     * @see HED-01, HED-02
     */
    readonly checkout: (
      sessionId: string,
      to: Destination,
      options?: MoveOptions,
    ) => Effect.Effect<Moved, MessageNotFound | BranchNotFound | HeadMoved | Absent>
    /** Takes the last move back that was not taken back. `undefined`: there is none, or it was forgotten. */
    readonly undo: (
      sessionId: string,
      options?: { readonly author?: string },
    ) => Effect.Effect<Moved | undefined, Absent>
    /** Makes the move again that `undo` took back last; a new message ends that. `undefined`: there is none. */
    readonly redo: (
      sessionId: string,
      options?: { readonly author?: string },
    ) => Effect.Effect<Moved | undefined, Absent>
    /** The journal, newest first. `before` is a move's number, `limit` 1 to 250, default 50. */
    readonly moves: (
      sessionId: string,
      query?: { readonly before?: number; readonly limit?: number },
    ) => Effect.Effect<ReadonlyArray<HeadMove>, Absent>
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
      options?: { readonly automatic?: boolean },
    ) => Effect.Effect<string, BranchNotFound | Absent>
    /**
     * Deletes a branch from its end down to the last place that another branch left it. A head on it first moves to
     * that place or to where the branch began, or to `moveTo`, in the same commit.
     *
     * @throws BranchInUse  another session stands on it; nothing was deleted
     * @see HED-01
     */
    readonly deleteBranch: (
      sessionId: string,
      branch: number,
      options?: { readonly moveTo?: Destination; readonly author?: string },
    ) => Effect.Effect<
      { readonly removed: number; readonly head: string | null },
      BranchNotFound | BranchInUse | MessageNotFound | Absent
    >
  }
>()("@skein/core/head/Heads") {
  static readonly layer = Layer.effect(
    Heads,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings

      return Heads.of({
        checkout: Effect.fnUntraced(function* (sessionId, to, given = {}) {
          const destination = yield* checkInput(DestinationInput, to, "to")
          const { author, ...expected } = yield* checkInput(MoveOptionsInput, given, "options")
          const at = yield* Clock.currentTimeMillis
          const move = { reason: "checkout", at, author } as const
          const moving = storage.transact(program.checkout(settings, sessionId, destination, expected, move))
          return yield* span("skein.head.checkout", { "skein.session": sessionId })(moving)
        }),
        undo: Effect.fnUntraced(function* (sessionId, given = {}) {
          const { author } = yield* checkInput(AuthorInput, given, "options")
          const at = yield* Clock.currentTimeMillis
          return yield* storage.transact(program.undo(settings, sessionId, { at, author }))
        }),
        redo: Effect.fnUntraced(function* (sessionId, given = {}) {
          const { author } = yield* checkInput(AuthorInput, given, "options")
          const at = yield* Clock.currentTimeMillis
          return yield* storage.transact(program.redo(settings, sessionId, { at, author }))
        }),
        moves: Effect.fnUntraced(function* (sessionId, given = {}) {
          const { before, limit } = yield* checkInput(MovesQuery, given, "query")
          const found = yield* storage.read(program.moves(settings, sessionId, before, limit))
          return found.map(({ from, row, to }): HeadMove => {
            const { at, author, n, reason } = row
            return {
              n,
              reason,
              at,
              ...(from === undefined ? {} : { from }),
              ...(to === undefined ? {} : { to }),
              ...(author === undefined ? {} : { author }),
            }
          })
        }),
        deepest: (sessionId, messageId) =>
          Effect.map(storage.read(program.deepest(settings, sessionId, messageId)), toMessage),
        nameBranch: Effect.fnUntraced(function* (sessionId, branch, name, given = {}) {
          yield* checkInput(z.int(), branch, "branch")
          const { automatic = false } = yield* checkInput(
            z.strictObject({ automatic: z.optional(z.boolean()) }),
            given,
            "options",
          )
          const text = yield* checkInput(Text.check(z.minLength(1), z.maxLength(automatic ? 40 : 80)), name, "name")
          const now = yield* Clock.currentTimeMillis
          const origin = automatic ? "automatic" : "manual"
          return yield* storage.transact(program.nameBranch(settings, sessionId, branch, { text, origin }, now))
        }),
        deleteBranch: Effect.fnUntraced(function* (sessionId, branch, given = {}) {
          yield* checkInput(z.int(), branch, "branch")
          const { author, moveTo } = yield* checkInput(DeleteOptionsInput, given, "options")
          const at = yield* Clock.currentTimeMillis
          const deleting = storage.transact(program.deleteBranch(settings, sessionId, branch, moveTo, { at, author }))
          return yield* span("skein.head.delete-branch", { "skein.session": sessionId })(deleting)
        }),
      })
    }),
  )
}

const DestinationInput = z.nullable(
  z.union([z.string().check(z.refine(isId, "must be a message id")), z.int().check(z.positive())]),
)
const author = z.optional(Text)
const AuthorInput = z.strictObject({ author })
const MoveOptionsInput = z.strictObject({
  expectedHead: z.optional(z.nullable(z.string())),
  expectedVersion: z.optional(z.int()),
  author,
})
const DeleteOptionsInput = z.strictObject({ moveTo: z.optional(DestinationInput), author })
const MovesQuery = z.strictObject({
  before: z.optional(z.int()),
  limit: z._default(z.int().check(z.minimum(1), z.maximum(250)), 50),
})
