/**
 * Going on with deletions: step by step, until nothing of a session is left, and those who keep something of it elsewhere
 * have been told.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { asked, problemOf } from "../host.ts"
import { redactionWith } from "../message/replacement.ts"
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

/** What came of going on with deletions. */
export interface Proceeded {
  readonly failures: ReadonlyArray<ParticipantFailure>
  /** Other sessions that saw what was erased. */
  readonly touched: ReadonlyArray<string>
}

/** What people read in the place of what was erased. */
const erasedText = "[erased]"

export interface DeletionWork {
  /** Goes on with these deletions, and with those that come of them, to their end. */
  readonly proceed: (sessionIds: ReadonlyArray<string>) => Effect.Effect<Proceeded, InvalidInput | StorageError>
  /** Goes on with all of which something is left to do; answers those that are done now. */
  readonly resume: Effect.Effect<ReadonlyArray<string>, InvalidInput | StorageError>
}

export const deletionWork = (storage: Storage["Service"], settings: SkeinSettings): DeletionWork => {
  const transact = <A, E>(of: Parameters<typeof storage.transact<A, E>>[0]) =>
    // A step that a power cut takes back is taken again: what is left to do is noted in the same order.
    storage.transact(of, { durability: "relaxed" })

  const redactionOf = redactionWith(settings, erasedText)

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
    const touched = new Set<string>()
    for (const id of open) {
      let state: program.Progress["state"]
      do {
        const now = yield* Clock.currentTimeMillis
        const progress = yield* transact(program.step(storage.tables, id, redactionOf, now))
        open.push(...progress.marked)
        for (const other of progress.touched) touched.add(other)
        state = progress.state
      } while (state === "more")
      if (state === "done") continue
      const tombstone = yield* storage.read(program.findTombstone({ owner: undefined }, id))
      const failed = tombstone === undefined ? [] : yield* tell(tombstone)
      failures.push(...failed)
      if (failed.length === 0) yield* transact(program.finish(id))
    }
    const proceeded: Proceeded = { failures, touched: [...touched].toSorted() }
    return proceeded
  })

  const resume = Effect.gen(function* () {
    const finished: Array<string> = []
    let next: Pending | undefined
    do {
      const page = yield* storage.read(program.pending(settings, next))
      for (const { id } of page.found) if ((yield* proceed([id])).failures.length === 0) finished.push(id)
      next = page.next
    } while (next !== undefined)
    return finished
  })

  return { proceed, resume }
}
