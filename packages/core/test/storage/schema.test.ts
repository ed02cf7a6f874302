import { describe, expect, it } from "vitest"
import * as z from "zod/mini"
import { fingerprint, index, int, planUpgrade, rememberedSchema, table, text } from "../../src/storage/index.ts"
import type { Schema, StoredSchema } from "../../src/storage/index.ts"

const Row = z.object({ id: z.string(), n: z.number() })
const Old = table("thing", { row: Row, key: [text("id")] })
const New = table("thing", { row: Row, key: [text("id")], indexes: { byN: index(int("n")) } })
const Other = table("other", { row: Row, key: [text("id")] })

const schema = (version: number, tables: Schema["tables"], oldestWriter = version): Schema => ({
  version,
  oldestReader: oldestWriter,
  oldestWriter,
  tables,
  migrations: [],
})
const stored = (version: number, oldestWriter: number, ...tables: Schema["tables"]): StoredSchema => ({
  version,
  oldestReader: oldestWriter,
  oldestWriter,
  tables: Object.fromEntries(tables.map((one) => [one.name, fingerprint(one)])),
})

describe("STO-08 what is to be done to a store", () => {
  it.each([
    ["a new store", schema(1, [Old]), undefined, { create: ["thing"], rebuild: [] }],
    ["the same declaration", schema(1, [Old]), stored(1, 1, Old), "Current"],
    ["a table more", schema(1, [Old, Other]), stored(1, 1, Old), { create: ["other"], rebuild: [] }],
    ["a table of others", schema(1, [Old]), stored(1, 1, Old, Other), "Current"],
    ["another declaration", schema(1, [New]), stored(1, 1, Old), { create: [], rebuild: ["thing"] }],
    ["an older version", schema(2, [Old]), stored(1, 1, Old), { create: [], rebuild: [] }],
    ["a newer version", schema(1, [Old]), stored(2, 2, Old), "Newer"],
    ["a newer version that admits this one", schema(1, [Old]), stored(2, 1, Old), "Current"],
    ["a newer version that admits this one, with a changed table", schema(1, [Old]), stored(2, 1, New), "Newer"],
  ] as const)("%s", (_, declared, found, wanted) => {
    const plan = planUpgrade(declared, found)
    const picture =
      plan._tag === "Upgrade"
        ? { create: plan.create.map(({ name }) => name), rebuild: plan.rebuild.map((one) => one.table.name) }
        : plan._tag
    expect(picture).toEqual(wanted)
  })

  it("what is remembered keeps the newer version and the tables of others", () => {
    expect(rememberedSchema(schema(1, [Old]), stored(3, 1, Old, Other))).toEqual(stored(3, 1, Old, Other))
    expect(rememberedSchema(schema(2, [New]), stored(1, 1, Old, Other))).toEqual(stored(2, 2, New, Other))
  })
})
