import { describe, expect, it } from "vitest"
import * as z from "zod/mini"
import { descInt, index, int, table, text } from "../../src/storage/index.ts"

const Row = z.object({ id: z.string(), ID: z.string(), json: z.number(), n: z.number(), n_desc: z.number() })

describe("STO-01 a declaration that some engine could not keep is refused where it is made", () => {
  it.each([
    ["a table that is no identifier", () => table("my table", { row: Row, key: [text("id")] }), /"my table" must be/],
    ["a table of an adapter's own", () => table("sqlite_x", { row: Row, key: [text("id")] }), /keep for themselves/],
    ["fields that differ by case", () => table("t", { row: Row, key: [text("id"), text("ID")] }), /"ID" is taken/],
    ["a field named json", () => table("t", { row: Row, key: [text("id"), int("json")] }), /"json" is taken/],
    [
      "a field named like the column of another",
      () => table("t", { row: Row, key: [text("id")], indexes: { a: index(descInt("n")), b: index(int("n_desc")) } }),
      /"n_desc" is taken/,
    ],
    [
      "indexes that differ by case",
      () => table("t", { row: Row, key: [text("id")], indexes: { byN: index(int("n")), BYN: index(descInt("n")) } }),
      /"BYN" is taken/,
    ],
  ])("%s", (_, declare, message) => {
    expect(declare).toThrow(message)
  })
})
