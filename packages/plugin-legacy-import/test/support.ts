/**
 * Copies of the fixture to be changed at will, and stores to import them into.
 */
import { memory } from "@skein/adapter-memory"
import { coreTables, Skein } from "@skein/core"
import type { Json } from "@skein/core/storage"
import { Tx } from "@skein/core/storage"
import Database from "libsql"
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onTestFinished } from "vitest"
import { importAll } from "../src/index.ts"
import type { ImportReport } from "../src/index.ts"
import { opencode } from "../src/opencode/index.ts"

const fixture = new URL("../../../test/fixtures/opencode-sqlite-v1/", import.meta.url).pathname

/** What opencode says of itself: read from the fixture with SQL when it was made. */
export interface Expected {
  readonly totals: Readonly<Record<string, number>>
  readonly sessions: ReadonlyArray<ExpectedSession>
  readonly scenario_ids: Readonly<Record<string, string>>
}
export interface ExpectedSession {
  readonly id: string
  readonly parent_id: string | null
  readonly title: string
  readonly directory: string
  readonly archived: number | null
  readonly time_created: number
  readonly time_updated: number
  readonly agent: string | null
  readonly model: { readonly id: string; readonly providerID: string; readonly variant?: string } | null
  readonly revert_messageID: string | null
  readonly assistant_cost_sum: number
  readonly tokens: Readonly<Record<string, number>>
  readonly messages: number
  readonly tools: Readonly<Record<string, number>>
  readonly message_ids_in_time_order: ReadonlyArray<string>
  readonly first_user_text: string | null
  readonly todos: ReadonlyArray<Json>
}
export const expected = JSON.parse(readFileSync(join(fixture, "expected.json"), "utf8")) as Expected
export const scenario = expected.scenario_ids

export const temporary = (): string => {
  const directory = mkdtempSync(join(tmpdir(), "skein-test-"))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A copy of the fixture in a directory of its own, changed by SQL before anybody reads it. */
export const copyOfFixture = (...statements: ReadonlyArray<string>): string => {
  const path = join(temporary(), "opencode.db")
  copyFileSync(join(fixture, "opencode.db"), path)
  alter(path, ...statements)
  return path
}

export const alter = (path: string, ...statements: ReadonlyArray<string>): void => {
  if (statements.length === 0) return
  const database = new Database(path)
  database.exec("BEGIN")
  for (const statement of statements) database.exec(statement)
  database.exec("COMMIT")
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
  database.close()
}

/** SQL that writes a value. */
export const literal = (value: string | number | null): string =>
  typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value)

export const insert = (table: string, row: Readonly<Record<string, string | number | null>>): string =>
  `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${Object.values(row).map(literal).join(", ")})`

/** SQL for a message with its parts. */
export const message = (
  session: string,
  id: string,
  time: number,
  data: Json | string,
  ...parts: ReadonlyArray<Json | string>
): ReadonlyArray<string> => [
  insert("message", {
    id,
    session_id: session,
    time_created: time,
    time_updated: time,
    data: typeof data === "string" ? data : JSON.stringify(data),
  }),
  ...parts.map((part, i) =>
    insert("part", {
      id: `${id}_${i}`,
      message_id: id,
      session_id: session,
      time_created: time,
      time_updated: time,
      data: typeof part === "string" ? part : JSON.stringify(part),
    }),
  ),
]

/** SQL for a session. */
export const session = (
  id: string,
  time: number,
  more: Readonly<Record<string, string | number | null>> = {},
): string =>
  insert("session", {
    id,
    project_id: "5c9f0783a0848050efb25424d0c280b514dc75d7",
    slug: "",
    directory: "/home/dev/project-a",
    title: id,
    version: "1.0.0",
    time_created: time,
    time_updated: time,
    ...more,
  })

export const userSaid = (text: string, time = 0): readonly [Json, Json] => [
  { role: "user", time: { created: time } },
  { type: "text", text },
]

export const openStore = async (): Promise<Skein> => {
  const skein = await Skein.open(memory())
  onTestFinished(() => skein.close())
  return skein
}

export const importInto = (skein: Skein, database: string): Promise<ImportReport> =>
  skein.run(importAll(opencode({ database })))

/** Everything a store holds, as text. */
export const contentOf = async (skein: Skein): Promise<string> => {
  const tables = await Promise.all(
    coreTables.map((table) =>
      skein.read(
        Tx.make(function* (tx) {
          return yield* tx.range(table, "key", {})
        }),
      ),
    ),
  )
  return JSON.stringify(tables)
}

/** Names and bytes of all that lies in a directory. */
export const filesIn = (directory: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(directory).map((name) => [name, readFileSync(join(directory, name)).toString("base64")]),
  )

/** All messages that people see on the path of a session. */
export const shownIn = async (skein: Skein, sessionId: string) =>
  (await skein.messages.page(sessionId, { limit: 500 })).messages
