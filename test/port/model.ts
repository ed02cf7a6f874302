/**
 * A random history of batches and reads, compared with plain arrays.
 *
 * The arrays share no code with the adapters: rows are kept unsorted and sorted for each question.
 */
import { descInt, index, int, table, text, unique } from "@skein/core/storage"
import type {
  AnyTable,
  Bound,
  Engine,
  EngineRead,
  KeyPart,
  RangeRemoval,
  RowWrite,
  StoredRow,
} from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { randomFrom } from "./random.ts"
import { expectSame, find, get, insert, put, range, read, remove, update, write } from "./machine.ts"

interface Row {
  readonly owner: string
  readonly n: number
  readonly label?: string
  readonly rank?: number
  readonly uid?: string
  readonly body: string
}

const Row = z.object({
  owner: z.string(),
  n: z.number(),
  label: z.optional(z.string()),
  rank: z.optional(z.number()),
  uid: z.optional(z.string()),
  body: z.string(),
})

const declaration = { row: Row, key: [text("owner"), int("n")] } as const
const byLabel = index(text("label"), descInt("rank"))

/** With a unique index: rows are inserted. */
const Doc = table("doc", { ...declaration, indexes: { byLabel, byUid: unique(text("uid")) } })
/** Without one: rows are put. */
const Note = table("note", { ...declaration, indexes: { byLabel } })

export const modelTables: ReadonlyArray<AnyTable> = [Doc, Note]

/** The order of a row in the key or an index, or `undefined` when the row is not in it. */
const orders: Readonly<Record<string, (row: Row) => ReadonlyArray<KeyPart> | undefined>> = {
  key: ({ n, owner }) => [owner, n],
  byLabel: ({ label, n, owner, rank }) =>
    label === undefined || rank === undefined ? undefined : [label, 0 - rank, owner, n],
  byUid: ({ uid }) => (uid === undefined ? undefined : [uid]),
}

/** Negative when `a` comes first; a start of a place is equal to it. */
const byPlace = (a: ReadonlyArray<KeyPart>, b: ReadonlyArray<KeyPart>): number => {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a[i]! < b[i]!) return -1
    if (a[i]! > b[i]!) return 1
  }
  return 0
}

const isWithin = (place: ReadonlyArray<KeyPart>, lower: Bound | undefined, upper: Bound | undefined): boolean => {
  const fromLower = lower === undefined ? 1 : byPlace(place, lower.key)
  const toUpper = upper === undefined ? 1 : byPlace(upper.key, place)
  return (
    (fromLower > 0 || (fromLower === 0 && !!lower?.inclusive)) && (toUpper > 0 || (toUpper === 0 && !!upper?.inclusive))
  )
}

type Model = Map<AnyTable, ReadonlyArray<Row>>

const same = (a: Row, b: Row) => a.owner === b.owner && a.n === b.n

/** The rows after a batch, or `undefined` when the engine has to refuse it. */
const applied = (
  model: Model,
  removals: ReadonlyArray<RangeRemoval>,
  rows: ReadonlyArray<Change>,
): Model | undefined => {
  const after = new Map(model)
  for (const { lower, table, upper } of removals) {
    after.set(
      table,
      after.get(table)!.filter((row) => !isWithin([row.owner, row.n], lower, upper)),
    )
  }
  for (const { kind, row, table } of rows) {
    const others = after.get(table)!.filter((other) => !same(other, row))
    if (kind === "Insert") {
      const keyTaken = others.length !== after.get(table)!.length
      const uidTaken = row.uid !== undefined && others.some(({ uid }) => uid === row.uid)
      if (keyTaken || (table === Doc && uidTaken)) return undefined
    }
    after.set(table, kind === "Remove" ? others : [...others, row])
  }
  return after
}

const answered = (model: Model, asked: EngineRead): ReadonlyArray<unknown> => {
  const rows = model.get(asked.table)!
  const order = orders[asked._tag === "Get" ? "key" : (asked.index?.name ?? "key")]!
  const placed = rows.flatMap((row) => {
    const place = order(row)
    return place === undefined ? [] : [{ row, place }]
  })
  const found =
    asked._tag === "Range"
      ? placed.filter(({ place }) => isWithin(place, asked.lower, asked.upper))
      : placed.filter(({ place }) => byPlace(place, asked._tag === "Get" ? asked.key : asked.values) === 0)
  const sorted = found.toSorted((a, b) => byPlace(a.place, b.place))
  if (asked._tag === "Range" && asked.reverse) sorted.reverse()
  const cut = asked._tag === "Range" ? sorted.slice(0, asked.limit) : sorted
  const isIndexed = asked._tag === "Find" || (asked._tag === "Range" && asked.index !== undefined)
  return cut.map(({ place, row }) => [[row.owner, row.n], row.body, isIndexed ? place : undefined])
}

const seen = ({ json, key, place }: StoredRow) => [key, (JSON.parse(String(json)) as Row).body, place]

interface Change {
  readonly kind: RowWrite["_tag"]
  readonly table: AnyTable
  readonly row: Row
}

const encode = { Insert: insert, Update: update, Put: put } as const
const rowWrite = ({ kind, row, table }: Change): RowWrite =>
  kind === "Remove" ? remove(table, [row.owner, row.n]) : encode[kind](table, { ...row })

const owners = ["a", "a!", "b"]
const labels = ["", "x", "x~", "y"]

const makeChoices = (seed: number) => {
  const random = randomFrom(seed)
  const below = (n: number) => Math.floor(random() * n)
  const one = <A>(items: ReadonlyArray<A>): A => items[below(items.length)]!
  const perhaps = <A>(value: A): A | undefined => (random() < 0.7 ? value : undefined)
  const number = () => below(7) - 2

  const row = (step: number): Row => {
    const [label, rank, uid] = [perhaps(one(labels)), perhaps(number()), perhaps(`u${below(12)}`)]
    return {
      owner: one(owners),
      n: number(),
      ...(label !== undefined && { label }),
      ...(rank !== undefined && { rank }),
      ...(uid !== undefined && { uid }),
      body: `${step}`,
    }
  }
  const start = (order: ReadonlyArray<() => KeyPart>): Bound => ({
    key: order.slice(0, below(order.length + 1)).map((part) => part()),
    inclusive: random() < 0.5,
  })
  const key = [() => one(owners), number]
  const label = [() => one(labels), number, ...key]
  const uid = [() => `u${below(12)}`]

  const reads = (): EngineRead => {
    const table = one(modelTables)
    if (random() < 0.2) return get(table, one(owners), number())
    if (table === Doc && random() < 0.2) return find(table, "byUid", `u${below(12)}`)
    const name = one(table === Doc ? ["key", "byLabel", "byUid"] : ["key", "byLabel"])
    const order = name === "key" ? key : name === "byLabel" ? label : uid
    const [lower, upper] = [perhaps(start(order)), perhaps(start(order))]
    return range(table, {
      ...(name !== "key" && { index: name }),
      ...(lower !== undefined && { lower }),
      ...(upper !== undefined && { upper }),
      reverse: random() < 0.5,
      limit: one([0, 1, 2, 3, 500]),
    })
  }

  /** Changes in the order of a batch, at most one a row, as `Storage` makes them. */
  const batch = (model: Model, step: number) => {
    const removals: Array<RangeRemoval> = []
    if (random() < 0.15)
      removals.push({ table: one(modelTables), lower: perhaps(start(key)), upper: perhaps(start(key)) })
    const left = applied(model, removals, [])!
    const changes: Array<Change> = []
    for (let i = below(6); i > 0; i--) {
      const table = one(modelTables)
      const fresh = row(step)
      if (changes.some((change) => change.table === table && same(change.row, fresh))) continue
      const stored = left.get(table)!.find((other) => same(other, fresh))
      if (stored !== undefined && random() < 0.4) changes.unshift({ kind: "Remove", table, row: fresh })
      else if (table === Note) changes.push({ kind: "Put", table, row: fresh })
      else if (stored === undefined || random() < 0.1) changes.push({ kind: "Insert", table, row: fresh })
      else {
        const { uid: _uid, ...rest } = fresh
        changes.push({ kind: "Update", table, row: { ...rest, ...(stored.uid !== undefined && { uid: stored.uid }) } })
      }
    }
    return { removals, changes }
  }
  return { below, reads, batch }
}

/** Runs a history of `steps` batches, each followed by reads, and fails at the first answer that is wrong. */
export const followsModel = (engine: Engine, seed: number, steps: number): Effect.Effect<void, unknown> =>
  Effect.gen(function* () {
    const choices = makeChoices(seed)
    let model: Model = new Map(modelTables.map((table) => [table, []]))
    let refusals = 0
    for (let step = 0; step < steps; step++) {
      const { changes, removals } = choices.batch(model, step)
      const what = `seed ${seed}, step ${step}`
      const after = applied(model, removals, changes)
      const outcome = yield* write(engine, { removals, rows: changes.map(rowWrite) }).pipe(
        Effect.match({ onSuccess: () => "committed", onFailure: (reason) => reason._tag }),
      )
      yield* expectSame(outcome, after === undefined ? "Constraint" : "committed", what)
      if (after === undefined) refusals++
      model = after ?? model
      const reads = Array.from({ length: 4 + choices.below(4) }, choices.reads)
      const answers = yield* read(engine, ...reads)
      for (const [i, asked] of reads.entries()) {
        yield* expectSame(answers[i]!.map(seen), answered(model, asked), `${what}, ${JSON.stringify(question(asked))}`)
      }
    }
    if (steps >= 100 && refusals === 0) return yield* Effect.fail(new Error(`seed ${seed}: no batch was refused`))
  })

const question = (asked: EngineRead) => ({ ...asked, table: asked.table.name })
