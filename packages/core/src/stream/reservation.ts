/**
 * Reservations: a reader that comes before the turn that it is for.
 *
 * Guarantee: what is published and committed from the reservation on is kept for it like for any reader, also before it is
 * known which turn it is for; then it gets the frames of that turn and those of the session, and ends with the turn.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { checkId } from "../id.ts"
import { InvalidInput } from "../storage/error.ts"
import type { Kept } from "./frame.ts"
import * as program from "./program.ts"
import { batchSize, resyncAt } from "./resume.ts"
import type { ResumeError, Source, Step } from "./resume.ts"

export interface Reserved {
  /** What comes behind this cursor is kept for the reservation. */
  readonly cursor: string
  /** Begins when the turn is known. */
  readonly frames: Stream.Stream<Kept, ResumeError>
  /** Says which turn it is for, once. */
  readonly bindTurn: (turnId: string) => Effect.Effect<void, InvalidInput>
  /** Nothing more is wanted: the stream ends with what has come by now. */
  readonly complete: Effect.Effect<void>
  /** Ends the stream at once. */
  readonly close: Effect.Effect<void>
}

export const reserve = (
  { rings, scope, storage }: Source,
  sessionId: string,
): Effect.Effect<Reserved, never, Scope.Scope> =>
  Effect.gen(function* () {
    const ring = yield* rings.subscribe(sessionId)
    let seen = ring.last
    let turn: string | undefined
    /** The last frame that is wanted. */
    let stopAt = Number.POSITIVE_INFINITY
    let looks = ring.hints + ring.ticks
    let wakes = ring.wakes

    const end: Option.Option<Step> = Option.none()
    const resync = (reason: "too-slow" | "elsewhere"): Step =>
      Effect.map(resyncAt(ring, reason), (frame) => [[frame], end])

    const isFor = (frame: Kept) => frame.turn === undefined || frame.turn === turn

    const next: Step = Effect.suspend(() => {
      wakes = ring.wakes
      if (turn === undefined && stopAt === Number.POSITIVE_INFINITY) return waited()
      const batch = ring.after(seen, batchSize)
      if (batch === undefined) return resync("too-slow")
      if (batch.length === 0 || batch[0]!.seq > stopAt) return idle()
      const frames: Array<Kept> = []
      for (const frame of batch) {
        if (frame.seq > stopAt) break
        seen = frame.seq
        if (!isFor(frame)) continue
        frames.push(frame)
        const isLast = frame.kind === "turn-terminal" && frame.turn === turn
        if (isLast || frame.kind === "resync-required") return Effect.succeed([frames, end])
      }
      return Effect.succeed([frames, Option.some(next)])
    })

    const idle = (): Step => {
      if (stopAt < Number.POSITIVE_INFINITY || !rings.isOpen()) return Effect.succeed([[], end])
      return looks === ring.hints + ring.ticks ? waited() : look
    }
    const waited = (): Step => Effect.as(ring.newsSince(wakes), [[], Option.some(next)] as const)

    /** Looks whether the turn was ended by another process: its end is not in the ring then. */
    const look: Step = Effect.gen(function* () {
      looks = ring.hints + ring.ticks
      const row = yield* storage.read(program.turnById(scope, sessionId, turn!))
      if (row?.outcome !== undefined && ring.turn(turn!)?.ended === undefined) return yield* resync("elsewhere")
      return yield* next
    })

    const stopAfter = (seq: number) =>
      Effect.sync(() => {
        stopAt = Math.min(stopAt, seq)
        ring.wake()
      })

    const close = stopAfter(-1)
    yield* Effect.addFinalizer(() => close)
    return {
      cursor: ring.cursors.write(seen),
      frames: Stream.paginate(next, (step) => step),
      bindTurn: Effect.fnUntraced(function* (given: string) {
        const id = yield* checkId("turnId", given)
        if (turn !== undefined && turn !== id) {
          const problem = `must stay ${turn}: the reservation is bound to it`
          return yield* Effect.fail(new InvalidInput({ field: "turnId", value: id, problem }))
        }
        turn = id
        ring.wake()
      }),
      complete: Effect.suspend(() => stopAfter(ring.last)),
      close,
    }
  })
