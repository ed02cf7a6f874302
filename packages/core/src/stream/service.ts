/**
 * The live stream: what an agent is doing right now, for whoever looks.
 *
 * Guarantee: a reader gets every frame of the turn that it follows, once and in order, from wherever it goes on: what is
 * stored comes from the store, what is live from memory, and nothing is given twice or left out between the two, whatever is
 * committed meanwhile. Where that cannot be kept it is told so, with exactly one `resync-required`, and its stream ends.
 * Every stream ends: with the turn, or when the turn's owner is found to be gone. Nobody who writes waits for a reader, and
 * memory is bounded however slow readers are.
 *
 * Not promised: that frames outlive the process. What was only published is gone with it; what was stored is not.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as z from "zod/mini"
import { sessionCalls } from "../call.ts"
import { isId, unfitId } from "../id.ts"
import { checkInput } from "../input.ts"
import type { SessionAbsent } from "../session/program.ts"
import { Settings } from "../settings.ts"
import { InvalidInput } from "../storage/error.ts"
import type { StorageError } from "../storage/error.ts"
import { Storage } from "../storage/storage.ts"
import { toFrame } from "./frame.ts"
import type { Frame } from "./frame.ts"
import { toPublished } from "./publication.ts"
import type { Publication } from "./publication.ts"
import { reserve } from "./reservation.ts"
import { resume } from "./resume.ts"
import { Rings } from "./rings.ts"

export type { Draft, Frame, FrameKind, ResyncReason, Terminal } from "./frame.ts"
export type { Publication } from "./publication.ts"
export { Relay } from "./relay.ts"
export type { RelayService } from "./relay.ts"

/** Where to go on; neither: with the running turn. */
export interface ResumeQuery {
  /**
   * The last message before which, itself included, the reader has everything as it stays; `null`: before the first one.
   * What it shows behind it, it forgets: it comes again.
   */
  readonly afterMessage?: string | null
  /** The cursor of the last frame that the reader has. */
  readonly afterCursor?: string
}

/** A reader that comes before the turn that it is for. */
export interface Reservation {
  /** What comes behind this cursor is kept for the reservation. */
  readonly cursor: string
  /** The frames of the turn and of the session, once `bindTurn` has said which turn. Ends with the turn. */
  readonly frames: Stream.Stream<Frame, SessionAbsent | InvalidInput | StorageError>
  /** Says which turn it is for. */
  readonly bindTurn: (turnId: string) => Effect.Effect<void, InvalidInput>
  /** The stream ends with what has come by now: no turn will. */
  readonly complete: Effect.Effect<void>
  /** The stream ends at once. */
  readonly close: Effect.Effect<void>
}

export class Streams extends Context.Service<
  Streams,
  {
    /**
     * Gives a frame to everybody who reads the session, in this process and through the `Relay`. Writes nothing, waits for
     * nobody, and asks not whether there is such a session.
     *
     * @returns the frame's cursor
     * @throws InvalidInput  `data` is not JSON, or a delta names an entry without an offset
     * @see STR-01, STR-02
     */
    readonly publish: (sessionId: string, frame: Publication) => Effect.Effect<string, InvalidInput>
    /**
     * Begins to keep frames for a turn that is not there yet, until the scope ends.
     *
     * @see STR-04
     */
    readonly reserve: (sessionId: string) => Effect.Effect<Reservation, InvalidInput, Scope.Scope>
    /**
     * The frames behind a message or a cursor: stored messages, what is kept, then what comes, up to the end of the running
     * turn. Where none runs it ends at once, with the end of the last turn.
     *
     * @throws InvalidInput     both anchors, or none that could be one
     * @throws SessionNotFound  there is no such session
     * @see STR-05
     */
    readonly resume: (
      sessionId: string,
      query?: ResumeQuery,
    ) => Stream.Stream<Frame, SessionAbsent | InvalidInput | StorageError>
    /** How many readers and reservations a session has in this process. */
    readonly readers: (sessionId: string) => Effect.Effect<number, InvalidInput>
  }
>()("@skein/core/stream/Streams") {
  static readonly layer = Layer.effect(
    Streams,
    Effect.gen(function* () {
      const source = { rings: yield* Rings, storage: yield* Storage, scope: yield* Settings }
      const { rings } = source
      return Streams.of({
        ...sessionCalls("stream", {
          publish: (sessionId: string, given: Publication) => {
            const frame = toPublished(given)
            return frame instanceof InvalidInput
              ? Effect.fail(frame)
              : Effect.sync(() => rings.publish(sessionId, frame))
          },
          reserve: (sessionId: string) =>
            Effect.map(reserve(source, sessionId), ({ frames, ...reservation }) => ({
              ...reservation,
              frames: Stream.map(frames, toFrame),
            })),
          readers: (sessionId: string) => Effect.sync(() => rings.readers(sessionId)),
        }),
        resume: (sessionId, query = {}) =>
          isId(sessionId)
            ? Stream.unwrap(
                Effect.map(checkInput(ResumeQueryInput, query, "query"), (after) =>
                  Stream.map(resume(source, sessionId, after), toFrame),
                ),
              )
            : Stream.fail(unfitId("sessionId", sessionId)),
      })
    }),
  )
}

const ResumeQueryInput = z
  .strictObject({ afterMessage: z.optional(z.nullable(z.string())), afterCursor: z.optional(z.string()) })
  .check(
    z.refine(
      ({ afterCursor, afterMessage }) => afterCursor === undefined || afterMessage === undefined,
      "takes one of afterMessage and afterCursor",
    ),
  )
