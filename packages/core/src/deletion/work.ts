/**
 * Going on with deletions: step by step, until nothing of a session is left, and those who keep something of it elsewhere
 * have been told.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { asked, problemOf } from "../host.ts"
import type { SkeinSettings } from "../settings.ts"
import type { InvalidInput, StorageError } from "../storage/error.ts"
import type { Storage } from "../storage/storage.ts"
import type { TombstoneRow } from "./model.ts"
import type { DeletedSession } from "./participant.ts"
import * as program from "./program.ts"
import type { Pending } from "./program.ts"

/** A participant that did not do its part. `recover` asks it again. */
export interface ParticipantFailure {
  readonly name: string
  readonly sessionId: string
  readonly reason: string
}

export interface DeletionWork {
  /** Goes on with these deletions, and with those that come of them, to their end. */
  readonly proceed: (
    sessionIds: ReadonlyArray<string>,
  ) => Effect.Effect<ReadonlyArray<ParticipantFailure>, InvalidInput | StorageError>
  /** Goes on with all of which something is left to do; answers those that are done now. */
  readonly resume: Effect.Effect<ReadonlyArray<string>, InvalidInput | StorageError>
}

export const deletionWork = (storage: Storage["Service"], settings: SkeinSettings): DeletionWork => {
  const transact = <A, E>(of: Parameters<typeof storage.transact<A, E>>[0]) =>
    // A step that a power cut takes back is taken again: what is left to do is noted in the same order.
    storage.transact(of, { durability: "relaxed" })

  const tell = Effect.fnUntraced(function* ({ deletedAt, id, owner }: TombstoneRow) {
    const session: DeletedSession = { sessionId: id, deletedAt, ...(owner !== undefined && { owner }) }
    const failures: Array<ParticipantFailure> = []
    for (const { name, onDelete } of settings.onDelete) {
      const exit = yield* Effect.result(asked(() => onDelete(session)))
      if (Result.isFailure(exit)) failures.push({ name, sessionId: id, reason: problemOf(exit.failure) })
    }
    return failures
  })

  const proceed = Effect.fnUntraced(function* (sessionIds: ReadonlyArray<string>) {
    const open = [...sessionIds]
    const failures: Array<ParticipantFailure> = []
    for (const id of open) {
      let state: program.Progress["state"]
      do {
        const progress = yield* transact(program.step(storage.tables, id, yield* Clock.currentTimeMillis))
        open.push(...progress.marked)
        state = progress.state
      } while (state === "more")
      if (state === "done") continue
      const tombstone = yield* storage.read(program.findTombstone({ owner: undefined }, id))
      const failed = tombstone === undefined ? [] : yield* tell(tombstone)
      failures.push(...failed)
      if (failed.length === 0) yield* transact(program.finish(id))
    }
    return failures
  })

  const resume = Effect.gen(function* () {
    const finished: Array<string> = []
    let next: Pending | undefined
    do {
      const page = yield* storage.read(program.pending(settings, next))
      for (const { id } of page.found) if ((yield* proceed([id])).length === 0) finished.push(id)
      next = page.next
    } while (next !== undefined)
    return finished
  })

  return { proceed, resume }
}
