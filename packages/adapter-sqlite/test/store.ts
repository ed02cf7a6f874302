/**
 * A store with one table, and what tests do with it below `Storage`.
 */
import { index, int, table, text, unique } from "@skein/core/storage"
import type { AnyTable, Engine, Migration, Schema, StorageReason } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import type { Driver } from "../src/driver.ts"
import { makeEngine } from "../src/engine.ts"
import { make } from "../src/index.ts"
import type { Options } from "../src/index.ts"
import { libsql } from "../src/libsql.ts"
import { openStore } from "../src/open.ts"
import { settingsOf } from "../src/options.ts"
import type { Settings } from "../src/options.ts"

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

/** Opens a file through a driver of the test's own. */
export const openWith = (driver: Driver, path: string, as: Schema): Engine =>
  makeEngine(openStore(driver, settingsOf({ url: `file:${path}` }) as Settings, as))

/** A driver that notes what is executed and what is asked, for each connection in the order they were opened. */
export const noting = () => {
  const notes: Array<Array<string>> = []
  const driver: Driver = (uri) => {
    const noted: Array<string> = []
    notes.push(noted)
    const connection = libsql(uri)
    return {
      exec: (sql) => {
        noted.push(sql)
        connection.exec(sql)
      },
      prepare: (sql) => {
        const statement = connection.prepare(sql)
        return {
          run: (values) => statement.run(values),
          get: (values) => {
            noted.push(sql)
            return statement.get(values)
          },
          all: (values) => {
            noted.push(sql)
            return statement.all(values)
          },
        }
      },
      get inTransaction() {
        return connection.inTransaction
      },
      close: () => connection.close(),
    }
  }
  return { notes, driver }
}
