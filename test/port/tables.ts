/**
 * The tables that the checks of the port use.
 */
import { Backend, index, int, table, text, unique } from "@skein/core/storage"
import type { AnyTable, Engine, Schema, StorageReason } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import type { Check } from "./machine.ts"
import { modelTables } from "./model.ts"

const EntryRow = z.object({
  log: z.string(),
  seq: z.number(),
  id: z.string(),
  tag: z.optional(z.string()),
  text: z.optional(z.string()),
})

export const Entry = table("entry", {
  row: EntryRow,
  key: [text("log"), int("seq")],
  indexes: { byId: unique(text("id")), byTag: index(text("tag")) },
})
export const Log = table("log", { row: z.object({ id: z.string(), next: z.number() }), key: [text("id")] })
export const Blob = table("blob", {
  row: z.object({ id: z.string(), bytes: z.optional(z.instanceof(Uint8Array)) }),
  key: [text("id")],
  bytes: "bytes",
})

/** A schema that only its own version may read and write. */
export const schemaOf = (
  tables: ReadonlyArray<AnyTable>,
  version = 1,
  migrations: Schema["migrations"] = [],
): Schema => ({ version, oldestReader: version, oldestWriter: version, tables, migrations })

export const allTables = schemaOf([Entry, Log, Blob, ...modelTables])

export const entry = (seq: number, id: string, more: { readonly tag?: string; readonly text?: string } = {}) => ({
  log: "l",
  seq,
  id,
  ...more,
})

export const open = (schema: Schema): Effect.Effect<Engine, StorageReason, Backend> =>
  Backend.use((backend) => backend.open(schema))

export const check = (name: string, body: Effect.Effect<void, unknown, Backend>): Check => ({
  name,
  run: (backend) => Effect.provide(body, backend),
})

/** A check that needs one open engine. */
export const engineCheck = (name: string, body: (engine: Engine) => Effect.Effect<void, unknown>): Check =>
  check(
    name,
    Effect.gen(function* () {
      const engine = yield* open(allTables)
      yield* body(engine)
      yield* engine.close
    }),
  )
