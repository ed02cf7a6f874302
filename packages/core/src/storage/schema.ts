/**
 * The schema of a store: its version, its tables, and how older rows become today's.
 *
 * Guarantee: an upgraded store equals a fresh one that was filled with the same rows. Adapters upgrade in one
 * transaction, so a crash leaves the old store; they decide what to rebuild from `planUpgrade` alone.
 */
import { Corrupt } from "./error.ts"
import type { Json, JsonObject } from "./json.ts"
import { problemIn } from "./json.ts"
import { columnsOf, fingerprint, keyOf } from "./table.ts"
import type { AnyTable, Key, KeyPart } from "./table.ts"

/** Changes the rows of one table on the way to `version`. Pure. Rows include their key fields. */
export interface Migration {
  readonly version: number
  readonly table: string
  /** The row as this version wants it, or `undefined` to drop it. */
  readonly change: (row: JsonObject) => JsonObject | undefined
}

export interface Schema {
  /** Version of this code's layout, from 1. */
  readonly version: number
  /** The oldest code that may read a store written by this one. */
  readonly oldestReader: number
  /** The oldest code that may write to it. */
  readonly oldestWriter: number
  readonly tables: ReadonlyArray<AnyTable>
  readonly migrations: ReadonlyArray<Migration>
}

/** What an adapter remembers beside the rows. */
export interface StoredSchema {
  readonly version: number
  readonly oldestReader: number
  readonly oldestWriter: number
  /** Fingerprint of each table when it was created or last rebuilt, by name. */
  readonly tables: Readonly<Record<string, string>>
}

/** What is to be remembered after opening: tables that others declared stay. */
export const rememberedSchema = (schema: Schema, before: StoredSchema | undefined): StoredSchema => ({
  version: Math.max(schema.version, before?.version ?? 0),
  oldestReader: before !== undefined && before.version > schema.version ? before.oldestReader : schema.oldestReader,
  oldestWriter: before !== undefined && before.version > schema.version ? before.oldestWriter : schema.oldestWriter,
  tables: { ...before?.tables, ...Object.fromEntries(schema.tables.map((table) => [table.name, fingerprint(table)])) },
})

/** One row of an older table as the new table wants it. */
export interface UpgradedRow {
  readonly key: Key
  readonly json: string
  readonly columns: ReadonlyArray<KeyPart | null>
}

export type UpgradePlan =
  /** The store is as declared. Open it. */
  | { readonly _tag: "Current" }
  /** The store is newer than this code admits. Refuse it. */
  | { readonly _tag: "Newer"; readonly found: number }
  | {
      readonly _tag: "Upgrade"
      readonly create: ReadonlyArray<AnyTable>
      readonly rebuild: ReadonlyArray<TableRebuild>
    }

export interface TableRebuild {
  readonly table: AnyTable
  /** Names of the key columns in the stored table. */
  readonly storedKey: ReadonlyArray<string>
  /**
   * The row for the new table; `undefined` when a migration drops it. A row that cannot be read gives
   * `"unreadable"`: adapters then keep key and JSON as they are, with no index columns. Throws `Corrupt`, which ends the
   * upgrade, for one whose key would have to change.
   */
  readonly row: (key: Key, json: unknown) => UpgradedRow | undefined | "unreadable"
}

/** Compares what is stored with what is declared. `undefined`: the store is new. */
export const planUpgrade = (schema: Schema, stored: StoredSchema | undefined): UpgradePlan => {
  if (stored === undefined) return { _tag: "Upgrade", create: schema.tables, rebuild: [] }
  if (stored.version > schema.version && !admits(stored, schema)) return { _tag: "Newer", found: stored.version }
  const create: Array<AnyTable> = []
  const rebuild: Array<TableRebuild> = []
  for (const table of schema.tables) {
    const known = stored.tables[table.name]
    if (known === undefined) {
      create.push(table)
      continue
    }
    const migrations = schema.migrations
      .filter(
        ({ table: name, version }) => name === table.name && version > stored.version && version <= schema.version,
      )
      .toSorted((a, b) => a.version - b.version)
    if (known === fingerprint(table) && migrations.length === 0) continue
    const storedKey = (JSON.parse(known) as { key: ReadonlyArray<readonly [string, string]> }).key.map(([name]) => name)
    rebuild.push({ table, storedKey, row: (key, json) => upgradeRow(table, storedKey, migrations, key, json) })
  }
  if (create.length === 0 && rebuild.length === 0 && stored.version >= schema.version) return { _tag: "Current" }
  return { _tag: "Upgrade", create, rebuild }
}

/**
 * Whether a newer store may be written by this code: it says so, and none of the tables that both know has changed. An
 * older writer would leave the columns it does not know as they are.
 */
const admits = (stored: StoredSchema, schema: Schema): boolean =>
  stored.oldestWriter <= schema.version &&
  schema.tables.every((table) => [undefined, fingerprint(table)].includes(stored.tables[table.name]))

const upgradeRow = (
  table: AnyTable,
  storedKey: ReadonlyArray<string>,
  migrations: ReadonlyArray<Migration>,
  key: Key,
  json: unknown,
): UpgradedRow | undefined | "unreadable" => {
  try {
    let row: JsonObject | undefined = JSON.parse(String(json)) as JsonObject
    storedKey.forEach((name, i) => defineOwn(row as Record<string, Json>, name, key[i]!))
    for (const migration of migrations) {
      row = migration.change(row)
      if (row === undefined) return undefined
    }
    const newKey = keyOf(table, row)
    if (problemIn(row) !== undefined) throw new Error("the new row is not JSON")
    return { key: newKey, json: rowJson(table, row), columns: columnsOf(table, row) }
  } catch (cause) {
    // Damaged JSON, or a row that no longer fits: it is kept as it is, and read as unreadable.
    if (fits(table, storedKey, key)) return "unreadable"
    const detail = `row ${JSON.stringify(key)} of ${table.name} cannot be read, so that it cannot be given its new key`
    throw new Corrupt({ table: table.name, key, detail, cause })
  }
}

/** Whether a key of the stored table is one of the new table as it stands. */
const fits = (table: AnyTable, storedKey: ReadonlyArray<string>, key: Key): boolean =>
  table.key.length === storedKey.length &&
  table.key.every(({ kind, name }, i) => name === storedKey[i] && (typeof key[i] === "string") === (kind === "text"))

/** The row's JSON text: without its key fields, which are columns, and without its bytes. */
export const rowJson = (table: AnyTable, row: Readonly<Record<string, unknown>>): string => {
  const rest: Record<string, unknown> = { ...row }
  // JSON.stringify leaves out undefined properties; deleting them would turn the copy into a slow dictionary.
  for (const field of table.key) rest[field.name] = undefined
  if (table.bytes !== undefined) rest[table.bytes] = undefined
  return JSON.stringify(rest)
}

/** Sets an own property whatever its name: assigning to `__proto__` would not. */
export const defineOwn = (object: Record<string, unknown>, name: string, value: unknown): void => {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}
