/**
 * Stores with something done to their engine, for laws about what core makes of it.
 */
import { Backend } from "@skein/core/storage"
import type { Capabilities, Durability, Engine, Machine, StorageReason, WriteStep } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Anything that opens a store. */
export interface Openable {
  readonly backend: Layer.Layer<Backend>
}

export interface Change {
  readonly capabilities?: (capabilities: Capabilities) => Capabilities
  readonly engine?: (engine: Engine) => Engine
  readonly run?: (run: Engine["run"]) => Engine["run"]
}

/** The same store, changed for whoever opens it so. */
export const changed = <S extends Openable>(
  store: S,
  { capabilities = same, engine = same, run = same }: Change,
): S => ({
  ...store,
  backend: Layer.effect(
    Backend,
    Backend.use((real) =>
      Effect.succeed(
        Backend.of({
          // Looked at anew each time: what an adapter says of itself may cost it something.
          get capabilities() {
            return capabilities(real.capabilities)
          },
          open: (schema) =>
            Effect.map(real.open(schema), (opened) => ({
              ...engine(opened),
              run: run((machine, options, done) => opened.run(machine, options, done)),
            })),
        }),
      ),
    ),
  ).pipe(Layer.provide(store.backend)),
})

const same = <A>(value: A): A => value

/** The store as it is opened on a host with this name; `undefined`: on one of which nothing is known. */
export const onHost = <S extends Openable>(store: S, host: string | undefined): S =>
  changed(store, { capabilities: (capabilities) => ({ ...capabilities, host }) })

/** The store without locks: only leases tell who is alive. */
export const withoutLocks = <S extends Openable>(store: S): S =>
  changed(store, { engine: ({ locks: _locks, ...engine }) => engine })

/** The store without hints of what others commit. */
export const withoutWatch = <S extends Openable>(store: S): S =>
  changed(store, { engine: ({ watch: _watch, ...engine }) => engine })

/** What is written to a store, and how durably. */
export interface Recorded<S> {
  readonly store: S
  /** One for each transaction that writes, in order. */
  readonly writes: Array<Written>
}

export interface Written {
  readonly durability: Durability
  /** The tables that were written. */
  readonly tables: ReadonlyArray<string>
}

export const recording = <S extends Openable>(store: S): Recorded<S> => {
  const writes: Array<Written> = []
  const recorded = (machine: Machine, durability: Durability): Machine => ({
    next: (answers) => {
      const step = machine.next(answers)
      if (step._tag === "Write" && step.rows.length + step.removals.length > 0) {
        const tables = [...step.removals, ...step.rows].map(({ table }) => table.name)
        writes.push({ durability, tables: [...new Set(tables)].toSorted() })
      }
      return step
    },
  })
  return {
    writes,
    store: changed(store, {
      run: (run) => (machine, options, done) => run(recorded(machine, options.durability), options, done),
    }),
  }
}

/** What goes wrong with a transaction: it fails with `reason`, and was committed all the same or not. */
export interface Mishap {
  readonly reason: StorageReason
  readonly committed?: boolean
}

/** A store whose writes go wrong when a law says so. */
export interface Faulty<S> {
  readonly store: S
  /** Decides, from now on, about each transaction that would write. */
  readonly fail: (mishapOf: (writes: WriteStep) => Mishap | undefined) => void
  /** Nothing goes wrong any more. */
  readonly mend: () => void
  /** How many transactions went wrong. */
  readonly failures: () => number
}

export const faulty = <S extends Openable>(store: S): Faulty<S> => {
  let mishapOf: (writes: WriteStep) => Mishap | undefined = () => undefined
  let failures = 0
  const failing =
    (run: Engine["run"]): Engine["run"] =>
    (machine, options, done) => {
      let mishap: Mishap | undefined
      const next: Machine["next"] = (answers) => {
        const step = machine.next(answers)
        if (step._tag === "Read" || step.rows.length + step.removals.length === 0) return step
        mishap = mishapOf(step)
        return mishap === undefined || mishap.committed === true ? step : { ...step, removals: [], rows: [] }
      }
      run({ next }, options, (failure) => {
        if (mishap === undefined) return done(failure)
        failures++
        done(mishap.reason)
      })
    }
  return {
    fail: (next) => {
      mishapOf = next
    },
    mend: () => {
      mishapOf = () => undefined
    },
    failures: () => failures,
    store: changed(store, { run: failing }),
  }
}

/** A store whose writes wait until a law lets them go on. */
export interface Held<S> {
  readonly store: S
  readonly hold: () => void
  /** Lets go on what waits, and holds what comes. */
  readonly step: () => void
  /** Lets go on what waits, and what comes. */
  readonly release: () => void
  /** How many writes wait. */
  readonly waiting: () => number
}

/** @param answers  hold what was committed back from who asked for it, instead of the commits */
export const held = <S extends Openable>(store: S, answers = false): Held<S> => {
  let waiting: Array<() => void> | undefined
  const later = (work: () => void) => {
    if (waiting === undefined) work()
    else waiting.push(work)
  }
  const letGo = (next: Array<() => void> | undefined) => () => {
    const begin = waiting ?? []
    waiting = next && []
    for (const one of begin) one()
  }
  return {
    hold: () => {
      waiting = []
    },
    step: letGo([]),
    release: letGo(undefined),
    waiting: () => waiting?.length ?? 0,
    store: changed(store, {
      run: (run) => (machine, options, done) => {
        if (waiting === undefined || options.mode === "read") run(machine, options, done)
        else if (answers) run(machine, options, (failure) => later(() => done(failure)))
        else later(() => run(machine, options, done))
      },
    }),
  }
}
