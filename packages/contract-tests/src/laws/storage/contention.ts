/**
 * A store that another program holds, and one that is full.
 */
import { Backend, Tx } from "@skein/core/storage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { check, equal } from "../../equal.ts"
import { lawWith } from "../../law.ts"
import type { Store } from "../../law.ts"
import { outcomeOf, outcomesOf, tagOf } from "../../outcome.ts"
import { openStorage, read, schemaOf, transact, withStorage } from "../../storage.ts"
import { Account, getNote, insertAll, Note, note, numbersOf, schema } from "./tables.ts"

/** What the port did on behalf of one storage. */
interface Observed {
  /** Milliseconds that each run or opening kept the thread before it ended with `Busy`. */
  readonly refusals: Array<number>
}

/** The same store, observed. */
const observe = (store: Store): readonly [Store, Observed] => {
  const refusals: Array<number> = []
  const backend = Layer.effect(
    Backend,
    Effect.gen(function* () {
      const { capabilities, open } = yield* Backend
      const clock = yield* Clock.Clock
      const now = () => Number(clock.currentTimeNanosUnsafe()) / 1e6
      return Backend.of({
        capabilities,
        open: (asked) =>
          Effect.suspend(() => {
            const started = now()
            return Effect.map(
              Effect.tapError(open(asked), (reason) =>
                Effect.sync(() => reason._tag === "Busy" && refusals.push(now() - started)),
              ),
              (engine) => ({
                ...engine,
                run: (machine, options, done) => {
                  const begun = now()
                  engine.run(machine, options, (failure) => {
                    if (failure?._tag === "Busy") refusals.push(now() - begun)
                    done(failure)
                  })
                },
              }),
            )
          }),
      })
    }),
  )
  return [{ ...store, backend: Layer.provide(backend, store.backend) }, { refusals }]
}

/** Waits until the port has refused so many times, or those who wait have been answered all the same. */
const refusedTimes = ({ refusals }: Observed, times: number, waiting: ReadonlyArray<Fiber.Fiber<unknown, unknown>>) =>
  Effect.raceFirst(
    Effect.gen(function* () {
      while (refusals.length < times) yield* Effect.sleep(1)
    }),
    Effect.asVoid(Effect.forEach(waiting, Fiber.await)),
  )

const median = (numbers: ReadonlyArray<number>) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0

/** The median, since one attempt may lose the processor to another program. */
const blocksShortly = ({ refusals }: Observed) =>
  check(median(refusals) <= 50, `waiting for the lock kept the thread for ${median(refusals)} ms at a time`)

const quarterMegabyte = "x".repeat(256 * 1024)
const large = (n: number) => insertAll(Note, [note(n, { body: quarterMegabyte, rank: n })])

/** Adds quarters of a megabyte until there is no room; answers the number of the one that was refused. */
const fill = Effect.gen(function* () {
  for (let n = 0; n < 128; n++) {
    const outcome = yield* outcomeOf(transact(large(n)))
    if ("done" in outcome) continue
    equal(outcome, { failed: "Full" }, `the outcome of write ${n}`)
    return n
  }
  return yield* Effect.die(new Error("a small store took 32 MiB"))
})

export const contentionLaws = [
  lawWith(
    { needs: ["holdWriteLock"] },
    "STO-07 a write waits for another writer without blocking, and is stored once",
    (store) =>
      Effect.scoped(
        Effect.gen(function* () {
          const [observed, seen] = observe(store)
          const storage = yield* openStorage(observed, { schema })
          const waiting = yield* Effect.scoped(
            Effect.gen(function* () {
              yield* store.holdWriteLock
              const fibers = yield* Effect.forEach([1, 2, 3], (n) =>
                Effect.forkDetach(storage.transact(insertAll(Note, [note(n)]))),
              )
              yield* refusedTimes(seen, 5, fibers)
              return fibers
            }),
          )
          equal(yield* outcomesOf(waiting.map(Fiber.join)), [
            { done: undefined },
            { done: undefined },
            { done: undefined },
          ])
          equal(yield* storage.read(numbersOf("key")), [1, 2, 3])
          blocksShortly(seen)
        }),
      ),
  ),

  lawWith(
    { needs: ["holdWriteLock"] },
    "STO-07 a write that outlasts its budget fails with Busy, retryable, and wrote nothing",
    (store) =>
      Effect.scoped(
        Effect.gen(function* () {
          const [observed, seen] = observe(store)
          const storage = yield* openStorage(observed, { schema, busyBudget: 100 })
          yield* Effect.scoped(
            Effect.gen(function* () {
              yield* store.holdWriteLock
              const error = yield* Effect.flip(storage.transact(insertAll(Note, [note(1)])))
              equal(tagOf(error), "Busy")
              equal("isRetryable" in error && error.isRetryable, true, "whether it is retryable")
            }),
          )
          blocksShortly(seen)
          equal(yield* storage.read(numbersOf("key")), [])
          yield* storage.transact(insertAll(Note, [note(2)]))
          equal(yield* storage.read(numbersOf("key")), [2])
        }),
      ),
  ),

  lawWith(
    { needs: ["holdWriteLock"] },
    "STO-07, STO-08 opening waits for another writer when it has to upgrade",
    (store) =>
      Effect.scoped(
        Effect.gen(function* () {
          yield* withStorage(store, { schema: schemaOf(Note) })(transact(insertAll(Note, [note(1)])))
          const [observed, seen] = observe(store)
          const opening = yield* Effect.scoped(
            Effect.gen(function* () {
              yield* store.holdWriteLock
              const fiber = yield* Effect.forkDetach(
                withStorage(observed, { schema: schemaOf(Note, Account) })(read(numbersOf("key"))),
              )
              yield* refusedTimes(seen, 2, [fiber])
              return fiber
            }),
          )
          equal(yield* Fiber.join(opening), [1])
          blocksShortly(seen)
        }),
      ),
  ),

  lawWith(
    { needs: ["small"] },
    "STO-07, A29 a full store refuses with Full, keeps what it has, and goes on when there is room",
    (store) =>
      withStorage(store, { schema })(
        Effect.gen(function* () {
          const refused = yield* fill
          equal(yield* outcomeOf(transact(large(refused))), { failed: "Full" }, "the same write again")
          const stored = Array.from({ length: refused }, (_, n) => n)
          equal(yield* read(numbersOf("key")), stored, "what is stored of a full store")
          equal(yield* read(numbersOf("byRank")), stored, "its index")
          equal((yield* read(getNote(0)))?.body, quarterMegabyte)
          yield* transact(
            Tx.make(function* (tx) {
              for (const n of [0, 1]) tx.remove(Note, ["a", n])
            }),
          )
          yield* transact(large(refused))
          equal(yield* read(numbersOf("key")), [...stored.slice(2), refused], "what is stored after there was room")
        }),
      ),
  ),

  lawWith(
    { needs: ["small"] },
    "STO-07, STO-04 a program that does not fit fails with Full, and its neighbours get through",
    (store) =>
      withStorage(store, { schema, verify: false })(
        Effect.gen(function* () {
          const tooLarge = insertAll(Note, [note(2, { body: "x".repeat(32 * 1024 * 1024) })])
          const programs = [insertAll(Note, [note(1)]), tooLarge, insertAll(Note, [note(3)])]
          equal(yield* outcomesOf(programs.map((program) => transact(program))), [
            { done: undefined },
            { failed: "Full" },
            { done: undefined },
          ])
          equal(yield* read(numbersOf("key")), [1, 3])
        }),
      ),
  ),
]
