/**
 * Broken backends. Each is a good one with one thing wrong that an adapter's author could get wrong.
 */
import { Busy, Corrupt, compare, Unknown } from "@skein/core/storage"
import type {
  Bound,
  EngineLocks,
  EngineRead,
  Index,
  Key,
  KeyPart,
  RangeRemoval,
  RowWrite,
  Schema,
  StoredRow,
} from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { changed, driven, nothing, reading, withheld, writing } from "./wrap.ts"
import type { Change, Good } from "./wrap.ts"

export interface Mutant {
  /** What it does wrong: "a backend that …". */
  readonly name: string
  /** The law that must catch it. */
  readonly breaks: string
  /** Whether random histories must catch it, too. */
  readonly inHistories: boolean
  /** Made for each store anew. */
  readonly of: (good: Good) => Good
}

const law = {
  batch: "STO-02 a commit writes all of its tables or",
  insert: "STO-02 an insert adds a row",
  put: "STO-02 a put adds or replaces a whole row",
  update: "STO-02 an update that moves index fields",
  removal: "STO-02 a removed row is gone",
  removalsFirst: "STO-02 within one commit removals come first",
  range: "STO-02 removeRange removes what lies between",
  unique: "STO-02 a taken unique value is refused",
  uniqueExact: "STO-02 unique values are compared exactly",
  uniqueFreed: "STO-02 a unique value is free again",
  numbers: "STO-03 numbers in a key sort by value",
  texts: "STO-03 text in a key sorts by code unit",
  indexes: "STO-03 indexes sort like keys",
  ties: "STO-03 equal values in an index",
  absent: "STO-03 a row that lacks a field",
  bounds: "STO-03 a range over the key gives",
  limit: "STO-03 a limit counts from the end",
  steps: "STO-03 several reads in one step",
  snapshot: "STO-03 a read of several steps sees one snapshot",
  visible: "STO-02 what was answered is there for every later call",
  acknowledged: "STO-04 both durabilities are accepted",
  racing: "STO-02, A32 two storages with a hundred racing",
  turns: "STO-02, A32 two storages that write in turn",
  announced: "STO-06 changes announces table and key",
  others: "STO-06 what others commit is told as Changed",
  text: "STO-05, A01, A02 text comes back",
  members: "STO-05 own keys named __proto__",
  shapes: "STO-05 every shape of JSON comes back",
  copies: "STO-05 what a caller or a reader changes",
  bytes: "STO-01 bytes are kept beside a row",
  bytesUpdate: "STO-01 an update keeps a row's bytes",
  unreadable: "STO-09, A22 one unreadable row",
  reopened: "STO-10 a store that was closed is found again",
  newer: "STO-08, A74 a newer store is refused",
  migrations: "STO-08 migrations run in the order",
  newIndex: "STO-08 a new index is filled",
  keptUnreadable: "STO-08, STO-09 an upgrade keeps rows",
  full: "STO-07, A29 a full store refuses with Full",
  waits: "STO-07 a write waits for another writer",
  locks: "TRN-02 a lock is held until its scope ends",
  oneLock: "TRN-02 of those who take a lock at once",
  locksEnd: "TRN-02 closing a store lets go of its locks",
  ownLocks: "TRN-02 locks are of their store",
} as const

const mutant = (name: string, breaks: string, of: Mutant["of"], inHistories = false): Mutant => ({
  name,
  breaks,
  of,
  inHistories,
})

/** One that differs in what passes between machine and engine. What it remembers, it remembers of one store. */
const changing = (name: string, breaks: string, change: () => Change, inHistories = true): Mutant =>
  mutant(name, breaks, (good) => changed(good, change()), inHistories)

// Reads

const ranges = (change: (read: Extract<EngineRead, { _tag: "Range" }>) => EngineRead): (() => Change) => {
  return () => ({ read: (read) => (read._tag === "Range" ? change(read) : read) })
}
const included = (bound: Bound | undefined, inclusive: boolean) => bound && { ...bound, inclusive }
const placeOf = ({ key, place }: StoredRow): Key => place ?? key

/** Sorts the rows of ranges, by the places they have in the order that was read. */
const sorting = (order: (a: Key, b: Key, read: EngineRead) => number): (() => Change) => {
  return () => ({
    rows: (rows, read) => {
      if (read._tag !== "Range") return rows
      const sign = read.reverse ? -1 : 1
      return rows.toSorted((a, b) => sign * order(placeOf(a), placeOf(b), read))
    },
  })
}
const byParts = (part: (a: KeyPart, b: KeyPart, at: number) => number) => (a: Key, b: Key) => {
  for (let at = 0; at < a.length; at++) {
    const order = part(a[at]!, b[at]!, at)
    if (order !== 0) return order
  }
  return 0
}
const natural = (a: KeyPart, b: KeyPart) => (a < b ? -1 : a > b ? 1 : 0)

const readMutants: ReadonlyArray<Mutant> = [
  changing(
    "ignores the limit of a range",
    law.limit,
    ranges((read) => ({ ...read, limit: 1_000_000 })),
  ),
  changing(
    "gives one row more than the limit",
    law.limit,
    ranges((read) => ({ ...read, limit: read.limit + 1 })),
  ),
  changing(
    "gives one row less than the limit",
    law.limit,
    ranges((read) => ({ ...read, limit: read.limit - 1 })),
  ),
  changing(
    "ignores the lower bound of a range",
    law.bounds,
    ranges((read) => ({ ...read, lower: undefined })),
  ),
  changing(
    "ignores the upper bound of a range",
    law.bounds,
    ranges((read) => ({ ...read, upper: undefined })),
  ),
  changing(
    "takes exclusive lower bounds as inclusive",
    law.bounds,
    ranges((read) => ({ ...read, lower: included(read.lower, true) })),
  ),
  changing(
    "takes inclusive lower bounds as exclusive",
    law.bounds,
    ranges((read) => ({ ...read, lower: included(read.lower, false) })),
  ),
  changing(
    "takes exclusive upper bounds as inclusive",
    law.bounds,
    ranges((read) => ({ ...read, upper: included(read.upper, true) })),
  ),
  changing(
    "takes inclusive upper bounds as exclusive",
    law.bounds,
    ranges((read) => ({ ...read, upper: included(read.upper, false) })),
  ),
  changing(
    "ignores reverse",
    law.limit,
    ranges((read) => ({ ...read, reverse: false })),
  ),
  changing("turns the first rows of a range round instead of taking the last", law.limit, () => ({
    read: (read) => (read._tag === "Range" ? { ...read, reverse: false } : read),
    rows: (rows, read) => (read._tag === "Range" && read.reverse ? rows.toReversed() : rows),
  })),
  changing("sorts numbers as text", law.numbers, sorting(byParts((a, b) => natural(String(a), String(b))))),
  changing(
    "sorts text without regard to case",
    law.texts,
    sorting(
      byParts((a, b) =>
        typeof a === "string" && typeof b === "string" ? natural(a.toLowerCase(), b.toLowerCase()) : natural(a, b),
      ),
    ),
  ),
  changing(
    "sorts descending fields upwards",
    law.indexes,
    sorting((a, b, read) => {
      const order = read._tag === "Range" ? read.index?.order : undefined
      return byParts((left, right, at) => natural(left, right) * (order?.[at]?.kind === "desc int" ? -1 : 1))(a, b)
    }),
  ),
  changing(
    "orders equal values of an index the wrong way",
    law.ties,
    sorting((a, b, read) => {
      const fields = read._tag === "Range" ? read.index?.fields.length : undefined
      if (fields === undefined) return compare(a, b)
      return compare(a.slice(0, fields), b.slice(0, fields)) || -compare(a, b)
    }),
  ),
  changing("gives rows in the order in which they were written", law.bounds, () => {
    const order = new Map<string, number>()
    const idOf = (table: string, key: Key) => JSON.stringify([table, key])
    const orderOf = (read: EngineRead, { key }: StoredRow) => order.get(idOf(read.table.name, key)) ?? 0
    return {
      write: (step) => {
        for (const row of step.rows) order.set(idOf(row.table.name, row.key), order.size)
        return step
      },
      rows: (rows, read) => rows.toSorted((a, b) => orderOf(read, a) - orderOf(read, b)),
    }
  }),
  changing("answers the reads of one step in the wrong places", law.steps, () => ({
    answers: (answers) => answers.toReversed(),
  })),
  changing("finds by the first field of a unique index alone", law.uniqueExact, () => ({
    read: (read) =>
      read._tag === "Find"
        ? {
            _tag: "Range",
            table: read.table,
            index: read.index,
            lower: { key: read.values.slice(0, 1), inclusive: true },
            upper: { key: read.values.slice(0, 1), inclusive: true },
            reverse: false,
            limit: 1,
          }
        : read,
  })),
  mutant("answers from a cache that others' commits do not empty", law.visible, (good) =>
    driven(good, (run) => {
      const cache = new Map<string, ReadonlyArray<StoredRow>>()
      return (machine, options, done) => {
        const idOf = (read: EngineRead) => JSON.stringify([read.table.name, read._tag === "Get" && read.key])
        let asked: ReadonlyArray<EngineRead> = []
        const answered = (answers: ReadonlyArray<ReadonlyArray<StoredRow>> | undefined) =>
          answers?.map((rows, i) => {
            const read = asked[i]!
            if (read._tag !== "Get" || options.mode === "write") return rows
            const id = idOf(read)
            if (!cache.has(id)) cache.set(id, rows)
            return cache.get(id)!
          })
        const next: typeof machine.next = (answers) => {
          const step = machine.next(answered(answers))
          if (step._tag === "Read") asked = step.reads
          else for (const row of step.rows) cache.delete(JSON.stringify([row.table.name, row.key]))
          return step
        }
        run({ next }, options, done)
      }
    }),
  ),
]

// Writes

const rowsChanged = (change: (row: RowWrite) => RowWrite | ReadonlyArray<RowWrite>): (() => Change) => {
  return () => ({ write: (step) => ({ ...step, rows: step.rows.flatMap(change) }) })
}
const removalsChanged = (change: (removal: RangeRemoval) => RangeRemoval): (() => Change) => {
  return () => ({ write: (step) => ({ ...step, removals: step.removals.map(change) }) })
}

/** The same index, but for the promise that a value stands once. */
const notUnique = (index: Index, keyLength: number): Index => ({
  ...index,
  unique: false,
  parts: [...index.parts, ...Array.from({ length: keyLength }, (_, at) => ({ from: "key" as const, at }))],
})

const writeMutants: ReadonlyArray<Mutant> = [
  changing("loses the last row of a batch", law.batch, () => ({
    write: (step) => (step.rows.length > 1 ? { ...step, rows: step.rows.slice(0, -1) } : step),
  })),
  changing("loses every tenth row", law.bounds, () => {
    let count = 0
    return { write: (step) => ({ ...step, rows: step.rows.filter(() => ++count % 10 !== 0) }) }
  }),
  changing("acknowledges what it refused", law.insert, () => ({ end: () => undefined })),
  mutant(
    "keeps the rows of a batch that come before the refused one",
    law.batch,
    (good) =>
      driven(good, (run) => (machine, options, done) => {
        let first = nothing
        const watched = {
          next: (answers?: ReadonlyArray<ReadonlyArray<StoredRow>>) => {
            const step = machine.next(answers)
            if (step._tag === "Write") first = { ...step, rows: step.rows.slice(0, 1) }
            return step
          },
        }
        run(watched, options, (failure) =>
          failure === undefined ? done() : run(writing(first), options, () => done(failure)),
        )
      }),
    true,
  ),
  changing(
    "inserts over a row that is there",
    law.insert,
    rowsChanged((row) => (row._tag === "Insert" ? { ...row, _tag: "Put" } : row)),
  ),
  changing("ignores that an index is unique", law.unique, () => ({
    open: (schema) => ({
      ...schema,
      tables: schema.tables.map((table) => ({
        ...table,
        indexes: table.indexes.map((index) => (index.unique ? notUnique(index, table.key.length) : index)),
      })),
    }),
  })),
  changing("removes rows after it has written the others", law.uniqueFreed, () => ({
    write: (step) => ({
      ...step,
      rows: step.rows.toSorted((a, b) => Number(a._tag === "Remove") - Number(b._tag === "Remove")),
    }),
  })),
  changing(
    "keeps removed rows",
    law.removal,
    rowsChanged((row) => (row._tag === "Remove" ? [] : row)),
  ),
  changing(
    "takes the upper bound of a removed range as exclusive",
    law.range,
    removalsChanged((removal) => ({ ...removal, upper: included(removal.upper, false) })),
  ),
  changing(
    "takes the lower bound of a removed range as inclusive",
    law.range,
    removalsChanged((removal) => ({ ...removal, lower: included(removal.lower, true) })),
  ),
  changing(
    "ignores the upper bound of a removed range",
    law.range,
    removalsChanged((removal) => ({ ...removal, upper: undefined })),
  ),
  changing("leaves out removed ranges beside other writes", law.removalsFirst, () => ({
    write: (step) => (step.rows.length > 0 ? { ...step, removals: [] } : step),
  })),
  changing("leaves index columns as they were first written", law.update, () => {
    const first = new Map<string, ReadonlyArray<KeyPart | null>>()
    return {
      write: (step) => ({
        ...step,
        rows: step.rows.map((row) => {
          if (row._tag === "Remove") return row
          const id = JSON.stringify([row.table.name, row.key])
          if (row._tag !== "Update") first.set(id, row.columns)
          return { ...row, columns: first.get(id) ?? row.columns }
        }),
      }),
    }
  }),
  changing(
    "files rows without a field under nothing",
    law.absent,
    rowsChanged((row) =>
      row._tag === "Remove"
        ? row
        : {
            ...row,
            columns: row.columns.map((part, i) => part ?? (row.table.columns[i]?.kind === "text" ? "" : 0)),
          },
    ),
  ),
]

// Values

/** Passes every text of a row through a function, as a store of parsed objects might. */
const textsChanged = (change: (text: string) => string): (() => Change) =>
  rowsChanged((row) => {
    if (row._tag === "Remove") return row
    const json = JSON.stringify(JSON.parse(row.json), (_, value: unknown) =>
      typeof value === "string" ? change(value) : value,
    )
    return { ...row, json }
  })

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A copy made by assignment: an own `__proto__` becomes a prototype. */
const assigned = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(assigned)
  const copy: Record<string, unknown> = {}
  for (const [name, one] of Object.entries(value)) copy[name] = assigned(one)
  return copy
}

const valueMutants: ReadonlyArray<Mutant> = [
  changing(
    "cuts text at a NUL",
    law.text,
    textsChanged((text) => text.split("\0")[0]!),
    false,
  ),
  changing(
    "replaces what is not well-formed in text",
    law.text,
    textsChanged((text) => decoder.decode(encoder.encode(text))),
    false,
  ),
  changing(
    "copies rows by assignment",
    law.members,
    rowsChanged((row) =>
      row._tag === "Remove" ? row : { ...row, json: JSON.stringify(assigned(JSON.parse(row.json))) },
    ),
    false,
  ),
  changing(
    "drops fields that are null",
    law.shapes,
    rowsChanged((row) => {
      if (row._tag === "Remove") return row
      const json = JSON.stringify(JSON.parse(row.json), (_, value: unknown) => (value === null ? undefined : value))
      return { ...row, json }
    }),
    false,
  ),
  changing(
    "loses bytes when a row is updated",
    law.bytesUpdate,
    rowsChanged((row) => (row._tag === "Update" ? { ...row, bytes: undefined } : row)),
  ),
  changing(
    "gives no bytes for empty ones",
    law.bytes,
    () => ({
      rows: (rows) => rows.map((row) => (row.bytes?.length === 0 ? { ...row, bytes: undefined } : row)),
    }),
    false,
  ),
  changing(
    "gives the whole buffer of a view",
    law.bytes,
    rowsChanged((row) =>
      row._tag === "Remove" || row.bytes === undefined ? row : { ...row, bytes: new Uint8Array(row.bytes.buffer) },
    ),
    false,
  ),
  changing(
    "keeps the caller's bytes instead of a copy",
    law.copies,
    () => {
      const kept = new Map<string, Uint8Array | undefined>()
      return {
        write: (step) => {
          for (const row of step.rows) if (row._tag !== "Remove") kept.set(JSON.stringify(row.key), row.bytes)
          return step
        },
        rows: (rows) => rows.map((row) => ({ ...row, bytes: kept.get(JSON.stringify(row.key)) })),
      }
    },
    false,
  ),
]

// Transactions

/** Later, when others have had their turn. */
const later = (work: () => void) => void setTimeout(work, 1)

const transactionMutants: ReadonlyArray<Mutant> = [
  mutant(
    "says that a commit is done before it is made",
    law.acknowledged,
    (good) =>
      driven(good, (run) => (machine, options, done) => {
        if (options.mode === "read") return run(machine, options, done)
        run(
          withheld(machine, (step) => later(() => run(writing(step), options, () => {}))),
          options,
          done,
        )
      }),
    true,
  ),
  mutant(
    "lets others commit between the reads and the writes of a program",
    law.racing,
    (good) =>
      driven(good, (run) => (machine, options, done) => {
        if (options.mode === "read") return run(machine, options, done)
        let named = nothing
        run(
          withheld(machine, (step) => (named = step)),
          options,
          (failure) => (failure === undefined ? later(() => run(writing(named), options, done)) : done(failure)),
        )
      }),
    true,
  ),
  mutant("answers each step of a read from the newest state", law.snapshot, (good) =>
    driven(good, (run) => (machine, options, done) => {
      if (options.mode === "write") return run(machine, options, done)
      const go = (answers?: ReadonlyArray<ReadonlyArray<StoredRow>>): void => {
        const step = machine.next(answers)
        if (step._tag === "Write") return done()
        let given: ReadonlyArray<ReadonlyArray<StoredRow>> = []
        run(
          reading(step.reads, (rows) => (given = rows)),
          options,
          (failure) => (failure === undefined ? later(() => go(given)) : done(failure)),
        )
      }
      go()
    }),
  ),
  mutant(
    "now and then says Busy of a commit that it made",
    law.turns,
    (good) => {
      let runs = 0
      return driven(
        good,
        (run) => (machine, options, done) =>
          run(machine, options, (failure) =>
            done(options.mode === "write" && ++runs % 5 === 0 ? new Busy({}) : failure),
          ),
      )
    },
    true,
  ),
  mutant("says twice that a commit is done", law.announced, (good) =>
    driven(
      good,
      (run) => (machine, options, done) =>
        run(machine, options, (failure) => {
          done(failure)
          if (options.mode === "write") done(failure)
        }),
    ),
  ),
  mutant(
    "makes a commit when the next one comes, and none at the end",
    law.reopened,
    (good) => {
      let pending = nothing
      return driven(good, (run) => (machine, options, done) => {
        const before = pending
        pending = nothing
        run(writing(before), { mode: "write", durability: "strict" }, () =>
          run(
            withheld(machine, (step) => (pending = step)),
            options,
            done,
          ),
        )
      })
    },
    true,
  ),
]

// Damaged rows, versions, other writers, full stores

const isJson = ({ json }: StoredRow): boolean => {
  try {
    JSON.parse(String(json))
    return true
  } catch {
    return false
  }
}

/** Opens with the schema it had last, and removes what cannot be read. */
const withoutUnreadable = (good: Good, schema: Schema) =>
  Effect.gen(function* () {
    const engine = yield* good.open(schema)
    const everything = {
      _tag: "Range",
      index: undefined,
      lower: undefined,
      upper: undefined,
      reverse: false,
      limit: 1e6,
    } as const
    const reads = schema.tables.map((table) => ({ ...everything, table }))
    engine.run(
      {
        next: (answers) => {
          if (answers === undefined) return { _tag: "Read", reads }
          const rows = answers.flatMap((found, i) =>
            found
              .filter((row) => !isJson(row))
              .map(({ key }): RowWrite => ({ _tag: "Remove", table: schema.tables[i]!, key })),
          )
          return { ...nothing, rows }
        },
      },
      { mode: "write", durability: "strict" },
      () => {},
    )
    yield* engine.close
  })

const otherMutants: ReadonlyArray<Mutant> = [
  changing(
    "leaves out rows that cannot be read",
    law.unreadable,
    () => ({ rows: (rows) => rows.filter(isJson) }),
    false,
  ),
  mutant("fails every read that meets a row that cannot be read", law.unreadable, (good) => {
    let met = false
    return changed(good, {
      rows: (rows) => {
        met = !rows.every(isJson)
        return rows
      },
      end: (failure) => (met ? new Corrupt({}) : failure),
    })
  }),
  mutant("opens a store that is too new", law.newer, (good) => {
    let newest = 0
    return {
      ...good,
      open: (schema) => {
        newest = Math.max(newest, schema.version)
        return good.open({ ...schema, version: newest })
      },
    }
  }),
  changing(
    "upgrades without running migrations",
    law.migrations,
    () => ({ open: (schema) => ({ ...schema, migrations: [] }) }),
    false,
  ),
  changing(
    "runs only the newest migration",
    law.migrations,
    () => ({ open: (schema) => ({ ...schema, migrations: schema.migrations.slice(0, 1) }) }),
    false,
  ),
  mutant("drops rows that cannot be read when it upgrades", law.keptUnreadable, (good) => {
    let last: Schema | undefined
    return {
      ...good,
      open: (schema) => {
        const before = last
        last = schema
        const clean =
          before === undefined || before.version === schema.version ? Effect.void : withoutUnreadable(good, before)
        return Effect.andThen(clean, good.open(schema))
      },
    }
  }),
  changing(
    "takes writes that a full store refused for done",
    law.full,
    () => ({
      end: (failure) => (failure?._tag === "Full" ? undefined : failure),
    }),
    false,
  ),
  changing(
    "says of a full store that something is unknown",
    law.full,
    () => ({
      end: (failure) => (failure?._tag === "Full" ? new Unknown({}) : failure),
    }),
    false,
  ),
  mutant("waits for another writer on the thread", law.waits, (good) =>
    driven(
      good,
      (run) => (machine, options, done) =>
        run(machine, options, (failure) => {
          const until = performance.now() + (failure?._tag === "Busy" ? 80 : 0)
          while (performance.now() < until);
          done(failure)
        }),
    ),
  ),
  changing(
    "says of a store that another writer holds that something is unknown",
    law.waits,
    () => ({
      end: (failure) => (failure?._tag === "Busy" ? new Unknown({}) : failure),
    }),
    false,
  ),
]

// Locks

/** One whose locks are others. */
const locking = (name: string, breaks: string, change: (locks: EngineLocks) => Partial<EngineLocks>): Mutant =>
  mutant(name, breaks, (good) => ({
    ...good,
    open: (schema) =>
      Effect.map(good.open(schema), (engine) => ({
        ...engine,
        locks: { ...engine.locks!, ...change(engine.locks!) },
      })),
  }))

/** The locks of one that cannot tell stores apart. */
const everywhere = new Set<string>()

const lockMutants: ReadonlyArray<Mutant> = [
  locking("says of every lock that it is free", law.locks, () => ({ isHeld: () => Effect.succeed(false) })),
  locking("knows of its own locks only", law.locks, ({ hold, isHeld }) => {
    const own = new Set<string>()
    return {
      hold: (name) => Effect.tap(hold(name), () => Effect.sync(() => own.add(name))),
      isHeld: (name) => Effect.map(isHeld(name), (held) => held && own.has(name)),
    }
  }),
  locking("keeps a lock when its scope has ended", law.locks, ({ hold }) => ({
    hold: (name) => Scope.provide(hold(name), Scope.makeUnsafe()),
  })),
  locking("takes a lock that it holds already once more", law.locks, ({ hold }) => {
    const own = new Set<string>()
    return {
      hold: (name) => (own.has(name) ? Effect.void : Effect.tap(hold(name), () => Effect.sync(() => own.add(name)))),
    }
  }),
  locking("gives a lock to all who ask at once", law.oneLock, ({ hold }) => ({
    hold: (name) => Effect.catch(hold(name), () => Effect.void),
  })),
  mutant("keeps its locks when it is closed", law.locksEnd, (good) => ({
    ...good,
    open: (schema) => Effect.map(good.open(schema), (engine) => ({ ...engine, close: Effect.void })),
  })),
  locking("has the same locks in every store", law.ownLocks, () => ({
    hold: (name) =>
      Effect.acquireRelease(
        Effect.suspend(() => {
          if (everywhere.has(name)) return Effect.fail(new Busy({}))
          everywhere.add(name)
          return Effect.void
        }),
        () => Effect.sync(() => everywhere.delete(name)),
      ),
    isHeld: (name) => Effect.sync(() => everywhere.has(name)),
  })),
]

const watchMutants: ReadonlyArray<Mutant> = [
  mutant("never notices what others commit", law.others, (good) => ({
    ...good,
    open: (schema) => Effect.map(good.open(schema), (engine) => ({ ...engine, watch: () => Effect.never })),
  })),
  mutant("takes its own commits for those of others", law.others, (good) => ({
    ...good,
    open: (schema) =>
      Effect.map(good.open(schema), (engine) => {
        let tell = () => {}
        return {
          ...engine,
          run: (machine, options, done) =>
            engine.run(machine, options, (failure) => {
              if (options.mode === "write") tell()
              done(failure)
            }),
          watch: (changed) => {
            tell = changed
            return engine.watch!(changed)
          },
        }
      }),
  })),
]

export const mutants: ReadonlyArray<Mutant> = [
  ...readMutants,
  ...writeMutants,
  ...valueMutants,
  ...transactionMutants,
  ...otherMutants,
  ...lockMutants,
  ...watchMutants,
]
