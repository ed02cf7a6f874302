/**
 * opencode's database, as rows of the few tables and columns that are looked at.
 *
 * Columns come and go with opencode's versions: what is there is found out, what is missing reads as absent. Tables of
 * accounts, credentials and shares are never named. Text is read as bytes, for the driver ends the process over text that
 * is not UTF-8.
 */
import type { Json, JsonObject } from "@skein/core/storage"
import Database from "libsql"

type Value = string | number | null | Uint8Array

/** The columns that are looked at, and those without which nothing can be read. */
const columns = {
  session: {
    needed: ["id"],
    wanted: [
      "project_id",
      "parent_id",
      "slug",
      "directory",
      "path",
      "title",
      "version",
      "summary_additions",
      "summary_deletions",
      "summary_files",
      "metadata",
      "revert",
      "agent",
      "model",
      "time_created",
      "time_updated",
      "time_archived",
    ],
  },
  message: { needed: ["id", "session_id", "time_created", "data"], wanted: ["time_updated"] },
  part: { needed: ["id", "message_id", "time_created", "data"], wanted: ["time_updated"] },
} as const

/** A place in the order of a session's messages: by time, and where that is the same as they were made. */
export interface Place {
  readonly row: number
  readonly time: number
}

export interface MessageRow extends Place {
  readonly id: string
  readonly data: string
  readonly parts: ReadonlyArray<{ readonly id: string; readonly data: string }>
  /** How many bytes of the database it took. */
  readonly bytes: number
}

/** What is there of a session, in numbers that change when it does. */
export interface Extent {
  readonly messages: number
  readonly lastMessageAt: number | undefined
  /** Numbers of rows and times of their last change. */
  readonly changes: ReadonlyArray<Json>
}

export class OpencodeDatabase {
  readonly #database: Database.Database
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  readonly #statements = new Map<string, Database.Statement>()
  readonly #columns: Readonly<Record<string, ReadonlySet<string>>>

  /** @param path  a file that may be written to: SQLite does, even to read */
  constructor(path: string) {
    this.#database = new Database(path)
    this.#columns = Object.fromEntries(
      ["session", "message", "part", "todo", "session_v2"].map((table) => [table, new Set(this.#columnsOf(table))]),
    )
  }

  close(): void {
    // Statements that are not collected yet would keep the file.
    this.#statements.clear()
    this.#database.close()
  }

  /** Why this is no database of opencode 1.x; `undefined` when it is. */
  get problem(): string | undefined {
    for (const [table, { needed }] of Object.entries(columns)) {
      const missing = needed.filter((column) => !this.#has(table, column))
      if (this.#columns[table]?.size === 0) return `has no table ${table}: it is no database of opencode 1.x`
      if (missing.length > 0)
        return `has no column ${missing.join(", ")} in ${table}: it is no database of opencode 1.x`
    }
    return undefined
  }

  /** How many sessions opencode 2 keeps in this file, beside those of opencode 1. */
  get laterSessions(): number {
    return this.#columns["session_v2"]?.size === 0 ? 0 : this.#number("SELECT count(*) FROM session_v2", [])
  }

  /** The next sessions behind a row, in the order in which they were made, each with its row. */
  sessions(after: number, limit: number): ReadonlyArray<{ readonly row: number; readonly session: JsonObject }> {
    const names = ["id", ...columns.session.wanted].filter((column) => this.#has("session", column))
    return this.#all(
      `SELECT rowid, ${names.map(asBytes).join(", ")} FROM session WHERE rowid > ? ORDER BY rowid LIMIT ?`,
      [after, limit],
    ).map(([row, ...values]) => ({
      row: Number(row),
      session: Object.fromEntries(names.map((name, i) => [name, this.#value(values[i])])),
    }))
  }

  session(row: number): JsonObject {
    return this.sessions(row - 1, 1)[0]?.session ?? {}
  }

  /** The row of a session. */
  rowOf(id: string): number | undefined {
    return this.#optional("SELECT rowid FROM session WHERE id = ?", [id])
  }

  extent(session: number): Extent {
    const changes = [this.#updated("message"), this.#updated("part", "part.")]
    const [[messages, last, changed] = []] = this.#all(
      `SELECT count(*), max(time_created), ${changes[0]} FROM message WHERE session_id = ${idOf}`,
      [session],
    )
    const [parts = []] = this.#all(
      `SELECT count(*), ${changes[1]} FROM part JOIN message ON message.id = part.message_id WHERE message.session_id = ${idOf}`,
      [session],
    )
    return {
      messages: Number(messages),
      lastMessageAt: typeof last === "number" && last >= 0 ? Math.trunc(last) : undefined,
      changes: [messages, changed, ...parts].map((value) => this.#value(value)),
    }
  }

  /** The next messages of a session behind a place, until they hold `bytes`; at least one, at most `limit`. */
  messages(session: number, after: Place | undefined, limit: number, bytes: number): ReadonlyArray<MessageRow> {
    const from = after === undefined ? "" : "AND (time_created, rowid) > (?, ?)"
    const places = this.#all(
      `SELECT rowid, time_created FROM message WHERE session_id = ${idOf} ${from} ORDER BY time_created, rowid LIMIT ?`,
      [session, ...(after === undefined ? [] : [after.time, after.row]), limit],
    )
    const read: Array<MessageRow> = []
    let size = 0
    for (const [row, time] of places) {
      const message = this.#message({ row: Number(row), time: Number(time) })
      read.push(message)
      size += message.bytes
      if (size >= bytes) break
    }
    return read
  }

  #message(place: Place): MessageRow {
    const [[id = null, data = null] = []] = this.#all(
      `SELECT ${asBytes("id")}, ${asBytes("data")} FROM message WHERE rowid = ?`,
      [place.row],
    )
    const parts = this.#partsOf("(SELECT id FROM message WHERE rowid = ?)", place.row)
    const bytes = [data, ...parts.map((part) => part.raw)].reduce<number>((sum, value) => sum + sizeOf(value), 0)
    return {
      ...place,
      id: this.#text(id),
      data: this.#text(data),
      parts: parts.map(({ id, raw }) => ({ id, data: this.#text(raw) })),
      bytes,
    }
  }

  #partsOf(message: string, parameter: string | number) {
    return this.#all(
      `SELECT ${asBytes("id")}, ${asBytes("data")} FROM part WHERE message_id = ${message} ORDER BY time_created, rowid`,
      [parameter],
    ).map(([id = null, raw = null]) => ({ id: this.#text(id), raw }))
  }

  /** The parts of a message, as text. */
  partsOf(messageId: string): ReadonlyArray<string> {
    return this.#partsOf("?", messageId).map(({ raw }) => this.#text(raw))
  }

  /** Where a message of a session stands. */
  placeOf(session: number, messageId: string): Place | undefined {
    const [found] = this.#all(`SELECT rowid, time_created FROM message WHERE id = ? AND session_id = ${idOf}`, [
      messageId,
      session,
    ])
    return found && { row: Number(found[0]), time: Number(found[1]) }
  }

  /** The id of the message before a place; `null` when it is the first. */
  idBefore(session: number, { row, time }: Place): string | null {
    const [found] = this.#all(
      `SELECT ${asBytes("id")} FROM message WHERE session_id = ${idOf} AND (time_created, rowid) < (?, ?) ` +
        "ORDER BY time_created DESC, rowid DESC LIMIT 1",
      [session, time, row],
    )
    return found === undefined ? null : this.#text(found[0] ?? null)
  }

  /** Data of the last message that the model gave. */
  lastAnswer(session: number): string | undefined {
    const [found] = this.#all(
      `SELECT ${asBytes("data")} FROM message WHERE session_id = ${idOf} ` +
        "AND CASE WHEN json_valid(data) THEN json_extract(data, '$.role') END = 'assistant' " +
        "ORDER BY time_created DESC, rowid DESC LIMIT 1",
      [session],
    )
    return found && this.#text(found[0] ?? null)
  }

  /** The list of things to do that a session keeps. */
  todos(session: number): ReadonlyArray<JsonObject> {
    const names = ["content", "status", "priority"].filter((column) => this.#has("todo", column))
    if (names.length === 0 || !this.#has("todo", "session_id") || !this.#has("todo", "position")) return []
    return this.#all(`SELECT ${names.map(asBytes).join(", ")} FROM todo WHERE session_id = ${idOf} ORDER BY position`, [
      session,
    ]).map((values) => Object.fromEntries(names.map((name, i) => [name, this.#value(values[i])])))
  }

  #has(table: string, column: string): boolean {
    return this.#columns[table]?.has(column) === true
  }

  #columnsOf(table: string): ReadonlyArray<string> {
    return this.#all(`SELECT ${asBytes("name")} FROM pragma_table_info(?)`, [table]).map(([name = null]) =>
      this.#text(name),
    )
  }

  #updated(table: string, prefix = ""): string {
    return this.#has(table, "time_updated") ? `max(${prefix}time_updated)` : "NULL"
  }

  #all(sql: string, parameters: ReadonlyArray<string | number>): ReadonlyArray<ReadonlyArray<Value>> {
    const known = this.#statements.get(sql)
    const statement = known ?? this.#database.prepare(sql).raw(true)
    if (known === undefined) this.#statements.set(sql, statement)
    return statement.all(...parameters) as ReadonlyArray<ReadonlyArray<Value>>
  }

  #optional(sql: string, parameters: ReadonlyArray<string | number>): number | undefined {
    const [found] = this.#all(sql, parameters)
    return found && Number(found[0])
  }

  #number(sql: string, parameters: ReadonlyArray<string | number>): number {
    return this.#optional(sql, parameters) ?? 0
  }

  /** Text that is not UTF-8 reads with U+FFFD in the place of what is wrong. */
  #text(value: Value): string {
    if (value === null) return ""
    return typeof value === "object" ? this.#decoder.decode(value) : String(value)
  }

  #value(value: Value | undefined): Json {
    return value === undefined || value === null || typeof value === "number" ? (value ?? null) : this.#text(value)
  }
}

/** A column whose text comes as bytes. */
const asBytes = (column: string): string =>
  `CASE typeof(${column}) WHEN 'text' THEN CAST(${column} AS BLOB) ELSE ${column} END`

/** The id of a session, by its row: ids themselves may be anything. */
const idOf = "(SELECT id FROM session WHERE rowid = ?)"

const sizeOf = (value: Value): number => (typeof value === "object" && value !== null ? value.length : 8)
