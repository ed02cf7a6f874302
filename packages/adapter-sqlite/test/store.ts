/**
 * A store with one table, and what tests do with it below `Storage`.
 */
import { index, int, table, text, unique } from "@skein/core/storage"
import type { AnyTable, Engine, Migration, Schema, StorageReason } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { make } from "../src/index.ts"
import type { Options } from "../src/index.ts"

export const Note = table("note", {
  row: z.object({ book: z.string(), n: z.number(), id: z.optional(z.string()), label: z.optional(z.string()) }),
  key: [text("book"), int("n")],
  indexes: { byId: unique(text("id")), byLabel: index(text("label")) },
})

export const schemaOf = (
  version: number,
  tables: ReadonlyArray<AnyTable> = [Note],
  migrations: ReadonlyArray<Migration> = [],
): Schema => ({ version, oldestReader: version, oldestWriter: version, tables, migrations })

export const schema = schemaOf(1)

/** Opens a file, by its path unless a whole URL is given. */
export const open = (
  path: string,
  as: Schema = schema,
  options: Omit<Options, "url"> = {},
): Effect.Effect<Engine, StorageReason> =>
  make({ url: path.startsWith("file:") || path === ":memory:" ? path : `file:${path}`, ...options }).open(as)

/** Opens a file and closes it again. */
export const create = (path: string, as: Schema = schema): Effect.Effect<void, StorageReason> =>
  Effect.flatMap(open(path, as), (engine) => engine.close)
