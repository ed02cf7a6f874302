/**
 * The tables that the checks of the port use.
 */
import { Backend, index, int, table, text, unique } from "@skein/core/storage"
import type { AnyTable, Durability, Engine, Schema, StorageReason, StoredRow } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { commit, get, insert, update } from "./machine.ts"
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

/** Reads a counter, takes its number and moves it on, in one transaction. */
export const append = (
  engine: Engine,
  id: string,
  { durability, ...more }: { readonly durability?: Durability; readonly text?: string } = {},
): Effect.Effect<void, StorageReason> =>
  commit(
    engine,
    function* () {
      const [rows] = yield [get(Log, "l")]
      const next = nextIn(rows![0])
      const log = { id: "l", next: next + 1 }
      return { rows: [insert(Entry, entry(next, id, more)), next === 1 ? insert(Log, log) : update(Log, log)] }
    },
    durability,
  ).pipe(Effect.retry({ while: (reason) => reason._tag === "Busy" }))

/** The number that the next append takes. */
export const nextIn = (log: StoredRow | undefined): number =>
  log === undefined ? 1 : (JSON.parse(String(log.json)) as { readonly next: number }).next

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
