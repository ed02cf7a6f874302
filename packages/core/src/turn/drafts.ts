/**
 * What a turn is writing: one message at a time, as it grows.
 *
 * Guarantee: every draft is heard by readers at once. It is stored at once when it is the first of its message, then at
 * most once in a checkpoint's time, and with its last content when the turn ends; the newest content wins, and of one
 * message no two writes are under way. A settled message is final: the next draft is the next message.
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Semaphore from "effect/Semaphore"
import type { EntryRef, EntryRow } from "../message/model.ts"
import { isDisplayed, isReplayed } from "../message/placement.ts"
import type { NewEntry } from "../message/placement.ts"
import { refOf } from "../message/program.ts"
import { InvalidInput } from "../storage/error.ts"

/** The message that is being written. */
interface Current {
  entry: NewEntry
  /** Where it is stored. */
  stored: EntryRef | undefined
  /** Whether its newest content is not. */
  isDirty: boolean
  /** It is being stored as it stays. */
  isSettling: boolean
}

export interface Drafts<E> {
  /** Takes the next content of the message, and says what is wrong with it. */
  readonly draft: (entry: NewEntry) => InvalidInput | undefined
  /** Stores a message as it stays. `nextId` is the id of the next one, where this is the one that was being written. */
  readonly settle: (entry: NewEntry, nextId: string) => Effect.Effect<EntryRow, E | InvalidInput>
  /** The id of the message that is being written; `undefined` when none is. */
  readonly currentId: () => string | undefined
  /** The id that the next message gets, where it has none of its own. */
  readonly nextId: () => string
  /** Stores content as it is due, until it is interrupted. Fails as storing fails for good. */
  readonly keepStored: Effect.Effect<never, E>
  /** Takes no more from now on. */
  readonly close: () => void
  /** Whether nothing is taken any more. */
  readonly isClosed: () => boolean
  /** Closes, waits for a write that is under way, and answers what is not stored by then. */
  readonly end: Effect.Effect<NewEntry | undefined>
}

/**
 * @param write       stores content, at the head or in its place
 * @param checkpoint  milliseconds between two writes of one message
 * @param adopted     the message that the turn goes on with
 * @param firstId     the id of the first message, where it has none of its own
 * @param heard       told of each draft at once
 */
export const makeDrafts = <E>(options: {
  readonly write: (entry: NewEntry, stored: EntryRef | undefined) => Effect.Effect<EntryRow, E>
  readonly heard: (entry: NewEntry) => void
  readonly checkpoint: number
  readonly adopted: EntryRow | undefined
  readonly firstId: string
  /** Whether storing may succeed later. */
  readonly isPassing: (error: E) => boolean
}): Effect.Effect<Drafts<E>> =>
  Effect.gen(function* () {
    const { adopted, checkpoint, heard, isPassing, write } = options
    const news = yield* Latch.make(false)
    /** Open while the message has never been stored. */
    const first = yield* Latch.make(false)
    const writing = yield* Semaphore.make(1)
    let nextId = options.firstId
    let isClosed = false
    let current: Current | undefined =
      adopted === undefined ? undefined : { entry: adopted, stored: refOf(adopted), isDirty: false, isSettling: false }

    const close = () => {
      isClosed = true
    }

    const refuse = (field: string, value: unknown, problem: string) => new InvalidInput({ field, value, problem })

    /** What is wrong with content for the message that is being written. */
    const misfit = (next: NewEntry): InvalidInput | undefined => {
      if (current === undefined) return undefined
      const { id, role } = next
      const { entry } = current
      if (entry.id !== id) return refuse("message.id", id, `must be ${entry.id}: settle that first`)
      if (entry.role !== role) return refuse("message.role", role, `must stay ${entry.role}: settle that first`)
      if (isDisplayed(entry) !== isDisplayed(next) || isReplayed(entry) !== isReplayed(next)) {
        return refuse("message", id, "must keep the bodies it began with: shown, replayed, or both")
      }
      return undefined
    }

    /** Uninterruptible: where it was stored has to be remembered. */
    const store = writing.withPermit(
      Effect.uninterruptible(
        Effect.suspend(() => {
          const draft = current
          if (draft === undefined || !draft.isDirty) return Effect.void
          draft.isDirty = false
          first.closeUnsafe()
          return write({ ...draft.entry, draft: true }, draft.stored).pipe(
            Effect.tap((row) =>
              Effect.sync(() => {
                draft.stored = refOf(row)
              }),
            ),
            Effect.tapError(() =>
              Effect.sync(() => {
                draft.isDirty = true
              }),
            ),
            Effect.asVoid,
          )
        }),
      ),
    )

    const storePassing = Effect.catch(store, (error) => (isPassing(error) ? Effect.void : Effect.fail(error)))

    return {
      currentId: () => current?.entry.id,
      nextId: () => nextId,
      draft: (entry) => {
        if (entry.role === "user") return refuse("message.role", entry.role, "must not be user: a prompt is appended")
        if (isClosed) return refuse("message", entry.id, "comes after the end of its turn")
        const wrong = misfit(entry)
        if (wrong !== undefined) return wrong
        if (current?.isSettling === true) return refuse("message", entry.id, "is being settled: wait for that")
        if (current === undefined) {
          current = { entry, stored: undefined, isDirty: true, isSettling: false }
          first.openUnsafe()
        } else {
          current.entry = entry
          current.isDirty = true
        }
        heard(entry)
        news.openUnsafe()
        return undefined
      },
      settle: (entry, next) =>
        writing.withPermit(
          Effect.uninterruptible(
            Effect.suspend((): Effect.Effect<EntryRow, E | InvalidInput> => {
              const wrong = misfit(entry)
              if (wrong !== undefined) return Effect.fail(wrong)
              const settling = current
              if (settling !== undefined) settling.isSettling = true
              return write(entry, settling?.stored).pipe(
                Effect.tap(() =>
                  Effect.sync(() => {
                    if (settling === undefined) return
                    current = undefined
                    nextId = next
                    first.closeUnsafe()
                  }),
                ),
                Effect.tapError(() =>
                  Effect.sync(() => {
                    if (settling !== undefined) settling.isSettling = false
                  }),
                ),
              )
            }),
          ),
        ),
      keepStored: Effect.gen(function* () {
        for (;;) {
          yield* news.await
          news.closeUnsafe()
          yield* storePassing
          // The next message does not wait for the time of this one.
          yield* Effect.raceFirst(Effect.sleep(checkpoint), first.await)
          // What could not be stored is tried again.
          if (current?.isDirty === true) news.openUnsafe()
        }
      }),
      close,
      isClosed: () => isClosed,
      end: Effect.andThen(
        Effect.sync(close),
        writing.withPermit(
          Effect.sync(() => {
            const unstored = current?.isDirty === true ? current.entry : undefined
            current = undefined
            return unstored
          }),
        ),
      ),
    }
  })
