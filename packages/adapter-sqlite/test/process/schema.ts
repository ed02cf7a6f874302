/**
 * The store that the processes share, in two versions.
 */
import { index, int, table, text } from "@skein/core/storage"
import type { Migration, Schema } from "@skein/core/storage"
import * as z from "zod/mini"

export const Counter = table("counter", { row: z.object({ id: z.string(), next: z.number() }), key: [text("id")] })

const ItemRow = z.object({ n: z.number(), by: z.string(), note: z.optional(z.string()) })
export const Item = table("item", { row: ItemRow, key: [int("n")] })
const IndexedItem = table("item", { row: ItemRow, key: [int("n")], indexes: { byWriter: index(text("by")) } })

/** `onMigrate` is called for each row that becomes one of version 2. */
export const schemaAt = (version: number, onMigrate: () => void): Schema => ({
  version,
  oldestReader: version,
  oldestWriter: version,
  tables: [Counter, version === 1 ? Item : IndexedItem],
  migrations: version === 1 ? [] : [toVersion2(onMigrate)],
})

const toVersion2 = (onMigrate: () => void): Migration => ({
  version: 2,
  table: "item",
  change: (row) => {
    onMigrate()
    return { ...row, note: "migrated" }
  },
})
