/**
 * Holding an operation that takes several commits, as an owner of turns holds a turn.
 *
 * Guarantee: what is held is nobody else's while its holder lives and renews its lease. One whose holder is gone, or silent
 * for the length of a lease, is taken over by one of those who find it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Storage } from "../storage/storage.ts"
import type { Instance } from "../turn/instance.ts"
import type { Holder, OperationRow } from "./model.ts"
import { change } from "./program.ts"

interface Makers {
  readonly storage: Storage["Service"]
  readonly instance: Instance["Service"]
}

export const makeHolding = ({ instance, storage }: Makers) => {
  const { host, judge, lease, owner } = instance
  const now = Clock.currentTimeMillis
  /** This instance as a holder. */
  const holderAt = (at: number, beat: number): Holder => ({ owner, host, beat, lease, until: at + lease })

  /** Renews the lease while something else goes on. */
  const renewed = <A, E, R>(key: string, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const renew = Effect.gen(function* () {
      for (let beat = 1; ; beat++) {
        yield* Effect.sleep(lease / 3)
        const holder = holderAt(yield* now, beat)
        // What cannot be renewed now is renewed the next time.
        yield* Effect.ignore(storage.transact(change({ key, owner }, { holder })))
      }
    })
    return Effect.raceFirst(work, renew)
  }

  /** Takes an operation whose holder is gone; `undefined`: it is not, or somebody else was faster. */
  const takenOver = Effect.fnUntraced(function* (row: Readonly<OperationRow>) {
    const { holder, id } = row
    if (holder === undefined) return undefined
    if (!(yield* judge(id, holder)).isOver) return undefined
    const { beat, owner: before } = holder
    const mine = holderAt(yield* now, 0)
    return yield* storage.transact(change({ key: id, owner: before, beat }, { holder: mine }))
  })

  return { holderAt, renewed, takenOver }
}
