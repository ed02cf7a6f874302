/**
 * Random histories.
 */
import * as fc from "fast-check"
import { fieldNames } from "./model.ts"
import type {
  BoundsSpec,
  EndSpec,
  History,
  IndexSpec,
  ProgramSpec,
  ReadSpec,
  RowSpec,
  StepSpec,
  TableSpec,
  WriteSpec,
} from "./model.ts"

const fields = (maxLength: number) => fc.shuffledSubarray([...fieldNames], { minLength: 1, maxLength })

const indexSpec: fc.Arbitrary<IndexSpec> = fc.record({
  unique: fc.boolean(),
  fields: fc
    .tuple(fields(3), fc.nat(7))
    .map(([names, desc]) => names.map((name, i) => ({ name, desc: ((desc >> i) & 1) === 1 && "abc".includes(name) }))),
})

const tableSpec: fc.Arbitrary<TableSpec> = fc.record({
  key: fields(2),
  indexes: fc.array(indexSpec, { maxLength: 3 }),
  bytes: fc.boolean(),
})

/** Values that are asked for; rows leave out the last one. The first are the likeliest, so that many meet. */
const value = fc.oneof(
  { weight: 4, arbitrary: fc.nat(1) },
  { weight: 2, arbitrary: fc.constant(2) },
  { weight: 1, arbitrary: fc.constantFrom(3, 4) },
)
const numbers = fc.tuple(value, value, value, value, value, value)
const place = fc.nat(7)

const end: fc.Arbitrary<EndSpec> = fc.record({
  kind: fc.constantFrom("none", "none", "inclusive", "exclusive"),
  parts: fc.nat(4),
  values: numbers,
})

/** Mostly without a prefix, since with one little is left to bound. */
const bounds: fc.Arbitrary<BoundsSpec> = fc.record({
  prefix: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(4) }),
  prefixValues: numbers,
  lower: end,
  upper: end,
})

const readSpec: fc.Arbitrary<ReadSpec> = fc.oneof(
  fc.record({ do: fc.constant("get"), table: place, values: numbers }),
  fc.record({ do: fc.constant("find"), table: place, index: place, values: numbers }),
  fc.record({ do: fc.constant("range"), table: place, order: place, bounds, reverse: fc.boolean(), limit: fc.nat(8) }),
)

const rowSpec: fc.Arbitrary<RowSpec> = fc.record({
  values: numbers,
  note: fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom("\ud83d", "a\0b", "\u2028", "") },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }).map((json): unknown => JSON.parse(JSON.stringify(json))) },
  ),
  blob: fc.nat(3),
})

const insertSpec = fc.record({ do: fc.constantFrom("insert" as const, "put" as const), table: place, row: rowSpec })

const writeSpec: fc.Arbitrary<WriteSpec> = fc.oneof(
  { weight: 5, arbitrary: insertSpec },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("update"), seen: place, fields: fields(3), row: rowSpec }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("remove"),
      table: place,
      values: numbers,
      seen: fc.option(place, { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("removeRange"), table: place, bounds }) },
)

const programSpec: fc.Arbitrary<ProgramSpec> = fc.record({
  reads: fc.array(readSpec, { maxLength: 3 }),
  together: fc.boolean(),
  writes: fc.array(writeSpec, { maxLength: 4 }),
  end: fc.oneof(
    { weight: 12, arbitrary: fc.constant("answer" as const) },
    { weight: 1, arbitrary: fc.constantFrom("fail" as const, "throw" as const, "bad value" as const) },
  ),
})

const stepOf = (program: fc.Arbitrary<ProgramSpec>): fc.Arbitrary<StepSpec> =>
  fc.record({
    program,
    storage: fc.constantFrom(0, 1),
    read: fc.boolean(),
    durability: fc.constantFrom("strict", "relaxed"),
  })

const insertsOnly: fc.Arbitrary<ProgramSpec> = fc.record({
  reads: fc.constant([]),
  together: fc.constant(false),
  writes: fc.array(insertSpec, { maxLength: 2 }),
  end: fc.constant("answer"),
})

export const history: fc.Arbitrary<History> = fc.record({
  tables: fc.array(tableSpec, { minLength: 1, maxLength: 2 }),
  shared: fc.boolean(),
  before: fc.array(stepOf(insertsOnly), { maxLength: 8 }),
  clients: fc.array(fc.array(stepOf(programSpec), { maxLength: 8 }), { minLength: 1, maxLength: 5 }),
})
