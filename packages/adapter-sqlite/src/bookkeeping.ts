/**
 * What a file remembers of its schema: the one row of `skein_schema`, and beside it, for other programs and for a quick
 * look, `user_version` and `application_id`.
 *
 * Guarantee: what is no store of ours is told apart before anything in it is changed: a database of another program, a
 * damaged one, a store that a newer version wrote, whatever that version has made of `skein_schema`.
 */
import { Corrupt, planUpgrade, VersionMismatch } from "@skein/core/storage"
import type { Schema, StoredSchema, UpgradePlan } from "@skein/core/storage"
import type { Connection } from "./connection.ts"
import { decoded, makeDecoder } from "./record.ts"

/** "Skei" in ASCII. */
export const applicationId = 0x536b6569

export type Verdict =
  | { readonly _tag: "Current" }
  | {
      readonly _tag: "Upgrade"
      readonly plan: Extract<UpgradePlan, { readonly _tag: "Upgrade" }>
      readonly stored: StoredSchema | undefined
    }

/**
 * Compares what the file holds with what is declared. Belongs in a transaction of the caller.
 *
 * Throws `VersionMismatch` for a newer store, `Corrupt` for what is none.
 */
export const judge = (connection: Connection, schema: Schema): Verdict => {
  const userVersion = connection.value("PRAGMA user_version") as number
  const newer = () => new VersionMismatch({ found: userVersion, supported: schema.version })
  const stored = readStored(connection, userVersion > schema.version ? newer : undefined)
  // Only the number was raised, by a version that keeps its facts elsewhere: there is no telling what it admits.
  if (userVersion > Math.max(schema.version, stored?.version ?? 0)) throw newer()
  const plan = planUpgrade(schema, stored)
  switch (plan._tag) {
    case "Current":
      return plan
    case "Newer":
      throw new VersionMismatch({ found: plan.found, supported: schema.version })
    case "Upgrade":
      return { _tag: "Upgrade", plan, stored }
  }
}

/** What is stored, or `undefined` in an empty database. `newer` is thrown, where given, when it cannot be understood. */
const readStored = (connection: Connection, newer: (() => VersionMismatch) | undefined): StoredSchema | undefined => {
  const decoder = makeDecoder()
  const id = connection.value("PRAGMA application_id")
  const tables = connection
    .all(
      `SELECT CAST(name AS BLOB) FROM sqlite_schema
       WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`,
    )
    .map(([name]) => String(decoded(decoder, name)))
  if (!tables.includes("skein_schema")) {
    if (tables.length === 0 && (id === 0 || id === applicationId)) return undefined
    throw new Corrupt({ detail: `this is a database of another program${holding(tables)}; name another file` })
  }
  try {
    const [version, oldestReader, oldestWriter, fingerprints] = connection.all(
      "SELECT version, oldest_reader, oldest_writer, CAST(tables AS BLOB) FROM skein_schema",
    )[0]!
    return checked({ version, oldestReader, oldestWriter, tables: JSON.parse(String(decoded(decoder, fingerprints))) })
  } catch (cause) {
    throw newer?.() ?? new Corrupt({ table: "skein_schema", cause, detail: "skein_schema cannot be read" })
  }
}

const holding = (tables: ReadonlyArray<string>) =>
  tables.length === 0 ? "" : ` (it holds ${tables.slice(0, 5).join(", ")}${tables.length > 5 ? ", …" : ""})`

const checked = (stored: Readonly<Record<keyof StoredSchema, unknown>>): StoredSchema => {
  const { oldestReader, oldestWriter, tables, version } = stored
  const isSchema =
    [version, oldestReader, oldestWriter].every(Number.isSafeInteger) &&
    typeof tables === "object" &&
    tables !== null &&
    Object.values(tables).every(isFingerprint)
  if (!isSchema) throw new TypeError("skein_schema holds something else than a schema")
  return stored as StoredSchema
}

const isFingerprint = (text: unknown): boolean =>
  typeof text === "string" && Array.isArray((JSON.parse(text) as { readonly key?: unknown } | null)?.key)

/**
 * Writes down what is stored now. Belongs in the transaction that made it so. Creating the table anew changes the layout
 * of the file, which is how other connections notice.
 */
export const remember = (
  connection: Connection,
  { oldestReader, oldestWriter, tables, version }: StoredSchema,
): void => {
  connection.exec(`
    DROP TABLE IF EXISTS skein_schema;
    CREATE TABLE skein_schema (
      version INTEGER NOT NULL,
      oldest_reader INTEGER NOT NULL,
      oldest_writer INTEGER NOT NULL,
      tables TEXT NOT NULL
    ) STRICT;
    PRAGMA user_version = ${version};
    PRAGMA application_id = ${applicationId};
  `)
  connection
    .statement("INSERT INTO skein_schema (version, oldest_reader, oldest_writer, tables) VALUES (?, ?, ?, ?)")
    .run([version, oldestReader, oldestWriter, JSON.stringify(tables)])
}
