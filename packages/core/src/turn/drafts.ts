/**
 * What a turn is writing: one message at a time, as it grows.
 *
 * Guarantee: every draft is heard by readers at once. It is stored when it is the first of its message, then at most once
 * in a checkpoint's time, and with its last content when the turn ends; the newest content wins, and of one message no two
 * writes are under way. A settled message is final: the next draft is the next message.
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Semaphore from "effect/Semaphore"
import type { EntryRef, EntryRow } from "../message/model.ts"
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
}

export interface Drafts<E> {
  /** Takes the next content of the message, and says what is wrong with it. */
  readonly draft: (entry: NewEntry) => InvalidInput | undefined
  /** Stores the message as it stays. */
  readonly settle: (entry: NewEntry) => Effect.Effect<EntryRow, E | InvalidInput>
  /** The id that the message has, once it has one. */
  readonly currentId: () => string | undefined
  /** Stores content as it is due, until it is interrupted. Fails as storing fails for good. */
  readonly keepStored: Effect.Effect<never, E>
  /** The newest content of a draft, where that is not stored. */
  readonly newest: (entryId: string) => NewEntry | undefined
  /** Waits for a write that is under way, and stores a message that was never stored. */
  readonly flush: Effect.Effect<void, E>
}

/**
 * @param write       stores content, at the head or in its place
 * @param checkpoint  milliseconds between two writes of one message
 * @param adopted     the message that the turn goes on with
 * @param heard       told of each draft at once
 */
export const makeDrafts = <E>(options: {
  readonly write: (entry: NewEntry, stored: EntryRef | undefined) => Effect.Effect<EntryRow, E>
  readonly heard: (entry: NewEntry) => void
  readonly checkpoint: number
  readonly adopted: EntryRow | undefined
  /** Whether storing may succeed later. */
  readonly isPassing: (error: E) => boolean
}): Effect.Effect<Drafts<E>> =>
  Effect.gen(function* () {
    const { adopted, checkpoint, heard, isPassing, write } = options
    const news = yield* Latch.make(false)
    const writing = yield* Semaphore.make(1)
    let current: Current | undefined =
      adopted === undefined ? undefined : { entry: adopted, stored: refOf(adopted), isDirty: false }

    const refuse = (field: string, value: unknown, problem: string) => new InvalidInput({ field, value, problem })

    /** What is wrong with content for the message that is being written. */
    const misfit = ({ id, role }: NewEntry): InvalidInput | undefined => {
      if (current === undefined) return undefined
      if (current.entry.id !== id) return refuse("message.id", id, `must be ${current.entry.id}: settle that first`)
      if (current.entry.role !== role) return refuse("message.role", role, `must stay ${current.entry.role}`)
      return undefined
    }

    /** Uninterruptible: where it was stored has to be remembered. */
    const store = writing.withPermit(
      Effect.uninterruptible(
        Effect.suspend(() => {
          const draft = current
          if (draft === undefined || !draft.isDirty) return Effect.void
          draft.isDirty = false
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
      draft: (entry) => {
        if (entry.role === "user") return refuse("message.role", entry.role, "must not be user: a prompt is appended")
        const wrong = misfit(entry)
        if (wrong !== undefined) return wrong
        if (current === undefined) current = { entry, stored: undefined, isDirty: true }
        else {
          current.entry = entry
          current.isDirty = true
        }
        heard(entry)
        news.openUnsafe()
        return undefined
      },
      settle: (entry) =>
        writing.withPermit(
          Effect.uninterruptible(
            Effect.suspend((): Effect.Effect<EntryRow, E | InvalidInput> => {
              const wrong = misfit(entry)
              if (wrong !== undefined) return Effect.fail(wrong)
              return Effect.tap(write(entry, current?.stored), () =>
                Effect.sync(() => {
                  current = undefined
                }),
              )
            }),
          ),
        ),
      keepStored: Effect.gen(function* () {
        for (;;) {
          yield* news.await
          news.closeUnsafe()
          yield* storePassing
          yield* Effect.sleep(checkpoint)
          // What could not be stored is tried again.
          if (current?.isDirty === true) news.openUnsafe()
        }
      }),
      newest: (entryId) => (current?.isDirty === true && current.entry.id === entryId ? current.entry : undefined),
      flush: Effect.suspend(() =>
        current === undefined || current.stored !== undefined ? writing.withPermit(Effect.void) : store,
      ),
    }
  })
