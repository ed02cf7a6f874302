/**
 * Random histories of a conversation.
 */
import * as fc from "fast-check"
import type { CallSpec, History, Kind, OperationSpec, Seen } from "./model.ts"

const which = fc.nat(63)
const kinds = fc.array(fc.constantFrom<Kind>("said", "answered", "shown", "given"), {
  minLength: 1,
  maxLength: 3,
  size: "max",
})
const maybeNone = fc.oneof({ weight: 9, arbitrary: kinds }, { weight: 1, arbitrary: fc.constant([]) })

/** Mostly nothing or the truth, so that most operations come through. */
const seen: fc.Arbitrary<Seen> = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Seen>("nothing") },
  { weight: 6, arbitrary: fc.constantFrom<Seen>("head", "version") },
  { weight: 1, arbitrary: fc.constantFrom<Seen>("another head", "another version") },
)

const operation: fc.Arbitrary<OperationSpec> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("append" as const), kinds: maybeNone, seen }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("append beside" as const), kinds, at: which, seen }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("append again" as const),
      which,
      same: fc.boolean(),
      as: fc.constantFrom("new" as const, "head" as const, "at" as const),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("checkout" as const), which, seen }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("checkout branch" as const), branch: which, seen }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("checkout root" as const), seen }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("undo" as const), seen }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("redo" as const), seen }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("compact" as const),
      keep: fc.option(which, { nil: undefined }),
      onPath: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
      seen,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("delete branch" as const),
      branch: which,
      moveTo: fc.option(which, { nil: undefined }),
      seen,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("name branch" as const), branch: which, automatic: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("page" as const), limit: fc.integer({ min: 1, max: 6 }) }) },
)

const call: fc.Arbitrary<CallSpec> = fc.record({ operation, storage: fc.constantFrom(0, 1) })

/** One call at a time as often as several, for what is wrong with one is wrong with fewer ways to explain it. */
const round = fc.oneof(
  fc.array(call, { minLength: 1, maxLength: 1 }),
  fc.array(call, { minLength: 1, maxLength: 3, size: "max" }),
)

/** Without a bias, which would ask for the first message and the first branch again and again, in short histories. */
export const history: fc.Arbitrary<History> = fc.noBias(
  fc.record({
    shared: fc.boolean(),
    rounds: fc.array(round, { minLength: 1, maxLength: 32, size: "max" }),
    limit: fc.integer({ min: 1, max: 6 }),
  }),
)
