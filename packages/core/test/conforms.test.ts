import { assert, it } from "@effect/vitest"
import * as z from "zod/mini"
import { conforms } from "../src/conforms.ts"

const Place = z.object({ branch: z.number(), pos: z.number() })
const Row = z.object({
  id: z.string(),
  n: z.number(),
  on: z.boolean(),
  role: z.enum(["user", "tool"]),
  label: z.optional(z.string()),
  at: z.optional(Place),
  tags: z.array(z.string()),
  free: z.optional(z.unknown()),
})
const row = { id: "a", n: 1, on: true, role: "user", tags: ["x"] }

const { id: _, ...withoutId } = row
const rows: ReadonlyArray<readonly [object, boolean]> = [
  [row, true],
  [{ ...row, label: "l", at: { branch: 1, pos: 2 } }, true],
  [{ label: "first", ...row }, true],
  [{ ...row, free: { any: ["thing", null] } }, true],
  [{ ...row, label: undefined }, true],
  [{ ...row, unknown: 1 }, true],
  [{}, false],
  [[], false],
  [withoutId, false],
  [{ ...row, id: undefined }, false],
  [{ ...row, id: 1 }, false],
  [{ ...row, n: Infinity }, false],
  [{ ...row, n: "1" }, false],
  [{ ...row, on: 0 }, false],
  [{ ...row, role: "nobody" }, false],
  [{ ...row, label: null }, false],
  [{ ...row, at: { branch: 1 } }, false],
  [{ ...row, at: { branch: 1, pos: NaN } }, false],
  [{ ...row, tags: ["x", 1] }, false],
]

it("STO-09 the quick check says of each row what zod says, in whatever order they come", () => {
  // Twice and backwards, since what was seen before is remembered.
  for (const [given, expected] of [...rows, ...rows.toReversed(), ...rows]) {
    assert.strictEqual(conforms(Row, given), expected, JSON.stringify(given))
    assert.strictEqual(z.safeParse(Row, given).success, expected, JSON.stringify(given))
  }
})

it("API-06 a strict object admits no field that it does not know, and what the check does not understand is zod's", () => {
  const Options = z.strictObject({ limit: z.optional(z.number()), name: z.optional(z.string()) })
  assert.isTrue(conforms(Options, {}))
  assert.isTrue(conforms(Options, { limit: 1 }))
  assert.isFalse(conforms(Options, { limit: 1, other: 1 }))
  assert.isFalse(conforms(z.object({ n: z.number().check(z.minimum(1)) }), { n: 1 }))
  assert.isFalse(conforms(z.object({ n: z._default(z.number(), 1) }), { n: 1 }))
})
