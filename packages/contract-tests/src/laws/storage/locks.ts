/**
 * Locks with names, by which a dead owner is told from a slow one.
 */
import type { Locks, Storage } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { equal } from "../../equal.ts"
import { law, NotApplicable } from "../../law.ts"
import type { Store } from "../../law.ts"
import { outcomeOf, outcomesOf } from "../../outcome.ts"
import { openStorage } from "../../storage.ts"
import { insertAll, Note, note, numbersOf, schema } from "./tables.ts"

const locksOf = ({ locks }: Storage["Service"]): Effect.Effect<Locks, NotApplicable> =>
  locks === undefined ? Effect.fail(new NotApplicable({ reason: "the engine has no locks" })) : Effect.succeed(locks)

/** The locks of the store, opened once more. Nobody waits for a lock that is held. */
const openLocks = (store: Store) => Effect.flatMap(openStorage(store, { schema, busyBudget: 0 }), locksOf)

const busy = { failed: "Busy" }
const taken = { done: undefined }

export const lockLaws = [
  law("TRN-02 a lock is held until its scope ends, as everybody sees, and nobody else takes it meanwhile", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const [first, second] = [yield* openLocks(store), yield* openLocks(store)]
        equal([yield* first.isHeld("a"), yield* second.isHeld("a")], [false, false], "whether it is held before")
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* first.hold("a")
            equal([yield* first.isHeld("a"), yield* second.isHeld("a")], [true, true], "whether it is held")
            equal(yield* outcomeOf(second.hold("a")), busy, "taking it from elsewhere")
            equal(yield* outcomeOf(first.hold("a")), busy, "taking it again")
            equal([yield* first.isHeld("a"), yield* second.isHeld("a")], [true, true], "whether it is held after that")
            equal([yield* first.isHeld("A"), yield* second.isHeld("b")], [false, false], "whether others are held")
            equal(yield* outcomesOf([second.hold("A"), first.hold("b")]), [taken, taken], "taking others")
          }),
        )
        const after = [yield* first.isHeld("a"), yield* second.isHeld("a"), yield* second.isHeld("b")]
        equal(after, [false, false, false], "whether they are held afterwards")
        equal(yield* outcomeOf(second.hold("a")), taken, "taking it from elsewhere afterwards")
        equal(yield* first.isHeld("a"), true, "whether it is held by the other")
      }),
    ),
  ),

  law("TRN-02 of those who take a lock at once, one gets it", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const all = yield* Effect.forEach(Array.from({ length: 8 }), () => openLocks(store))
        for (let round = 0; round < 20; round++) {
          yield* Effect.scoped(
            Effect.gen(function* () {
              const outcomes = yield* outcomesOf(all.map((locks) => locks.hold("a")))
              equal(outcomes.filter((outcome) => "done" in outcome).length, 1, "how many got it")
            }),
          )
        }
      }),
    ),
  ),

  law("TRN-02 a lock that is held is waited for within the budget", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const first = yield* openLocks(store)
        const patient = yield* Effect.flatMap(openStorage(store, { schema }), locksOf)
        const scope = yield* Scope.make()
        yield* Scope.provide(first.hold("a"), scope)
        const waiting = yield* Effect.forkChild(patient.hold("a"), { startImmediately: true })
        yield* Scope.close(scope, Exit.void)
        yield* Fiber.join(waiting)
        equal(yield* outcomeOf(first.hold("a")), busy)
      }),
    ),
  ),

  law("TRN-02 closing a store lets go of its locks and of nobody else's, and ends them", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* openStorage(store, { schema, busyBudget: 0 })
        const own = yield* locksOf(storage)
        const others = yield* openLocks(store)
        yield* own.hold("own")
        yield* others.hold("theirs")
        yield* storage.close
        equal([yield* others.isHeld("own"), yield* others.isHeld("theirs")], [false, true])
        equal(yield* outcomeOf(own.hold("own")), { failed: "Closed" }, "taking a lock of a closed store")
        equal(yield* outcomeOf(own.isHeld("theirs")), { failed: "Closed" }, "asking a closed store")
      }),
    ),
  ),

  law("TRN-02 locks are of their store, and have nothing to do with reading and writing it", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const storage = yield* openStorage(store, { schema, busyBudget: 0 })
        const locks = yield* locksOf(storage)
        const other = yield* openLocks(yield* store.fresh)
        yield* locks.hold("a")
        equal(yield* other.isHeld("a"), false, "whether it is held in another store")
        equal(yield* outcomeOf(other.hold("a")), taken, "taking it there")
        const writer = yield* openStorage(store, { schema, busyBudget: 0 })
        yield* storage.transact(insertAll(Note, [note(1)]))
        yield* writer.transact(insertAll(Note, [note(2)]))
        equal(yield* storage.read(numbersOf("key")), [1, 2], "what is stored meanwhile")
      }),
    ),
  ),

  law("TRN-02 what is no name of a lock is refused by name", (store) =>
    Effect.scoped(
      Effect.gen(function* () {
        const locks = yield* openLocks(store)
        for (const name of ["", "a/b", "..", "a".repeat(129), 7 as unknown as string]) {
          equal(yield* outcomeOf(locks.hold(name)), { failed: "InvalidInput" }, `taking ${JSON.stringify(name)}`)
          equal(yield* outcomeOf(locks.isHeld(name)), { failed: "InvalidInput" }, `asking for ${JSON.stringify(name)}`)
        }
        equal(yield* outcomeOf(locks.hold("a".repeat(128))), taken)
      }),
    ),
  ),
]
