/**
 * What one memory backend holds, however often it is opened: the tables, and the schema they were created from.
 *
 * Guarantee: an upgrade is done entirely or not at all. Whoever had the store open before it finds it closed, as with an
 * engine that shuts out connections of an older layout.
 */
import { lockPlace, planUpgrade, rememberedSchema, VersionMismatch } from "@skein/core/storage"
import type { AnyTable, LockPlace, Schema, StoredSchema, TableRebuild } from "@skein/core/storage"
import { TableData } from "./table-data.ts"

export interface Watcher {
  /** Whoever of those who have the database open it watches for. */
  readonly by: object
  readonly changed: () => void
}

export class Database {
  #tables: ReadonlyMap<string, TableData> = new Map()
  #schema: StoredSchema | undefined
  #layout = 0
  /** The locks that are held by anybody who has the database open. */
  readonly locks: LockPlace = lockPlace()
  /** Who is to be told when others commit. */
  readonly watchers = new Set<Watcher>()

  /** Changes with every upgrade. */
  get layout(): number {
    return this.#layout
  }

  /** How much all rows hold: UTF-16 units of JSON plus bytes. */
  get size(): number {
    let size = 0
    for (const data of this.#tables.values()) size += data.size
    return size
  }

  /** Creates and rebuilds what the schema asks for. Throws the reason when the store cannot be opened with it. */
  upgrade(schema: Schema): void {
    const plan = planUpgrade(schema, this.#schema)
    if (plan._tag === "Newer") throw new VersionMismatch({ found: plan.found, supported: schema.version })
    if (plan._tag === "Current") return
    const tables = new Map(this.#tables)
    for (const table of plan.create) tables.set(table.name, new TableData(table))
    for (const rebuild of plan.rebuild) tables.set(rebuild.table.name, rebuilt(rebuild, this.data(rebuild.table)))
    this.#tables = tables
    this.#schema = rememberedSchema(schema, this.#schema)
    this.#layout++
  }

  data(table: AnyTable): TableData {
    const data = this.#tables.get(table.name)
    if (data === undefined) throw new Error(`table ${table.name} is not part of the schema`)
    return data
  }
}

const everything = { _tag: "Range", index: undefined, lower: undefined, upper: undefined, reverse: false } as const

const rebuilt = ({ row, table }: TableRebuild, from: TableData): TableData => {
  const data = new TableData(table)
  for (const { bytes, json, key } of from.answer({ ...everything, table: from.table, limit: Infinity })) {
    const kept = table.bytes === undefined ? undefined : bytes
    const upgraded = row(key, json)
    if (upgraded === "unreadable") {
      data.insert(key, { json: String(json), bytes: kept, columns: table.columns.map(() => null) })
    } else if (upgraded !== undefined) {
      data.insert(upgraded.key, { json: upgraded.json, bytes: kept, columns: upgraded.columns })
    }
  }
  return data
}
