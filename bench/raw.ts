/**
 * The baseline: what somebody would write by hand, without Skein, on the raw engine.
 *
 * It is honest both ways. The file was created by Skein, so tables, columns, indexes and JSON are the same, and so are
 * the settings of the connection. Statements are compiled once, an append is one transaction that reads the session,
 * computes the same facts and writes the same two rows. And it does nothing else: it checks no input, no body and no
 * stored row, groups nothing, waits for no lock, and answers whatever it has at hand.
 */
import { randomUUID } from "node:crypto"
import Database from "libsql"
import type { EntryRow } from "../packages/core/src/message/model.ts"
import type { SessionRow } from "../packages/core/src/session/model.ts"

type Stored<Row, Key extends keyof Row> = Omit<Row, Key>
type StoredEntry = Stored<EntryRow, "treeId" | "branch" | "pos">
type StoredSession = Stored<SessionRow, "id">

/** Opens a file with the settings that Skein gives its own connection. */
export const openRaw = (path: string, durability: "strict" | "relaxed"): Database.Database => {
  const database = new Database(path)
  database.exec(`
    PRAGMA cache_size = -16384;
    PRAGMA temp_store = MEMORY;
    PRAGMA synchronous = ${durability === "strict" ? "FULL" : "NORMAL"};
    PRAGMA journal_size_limit = 67108864;
  `)
  return database
}

export class Raw {
  readonly #database: Database.Database
  readonly #begin
  readonly #commit
  readonly #session
  readonly #insertEntry
  readonly #updateSession
  readonly #updateActiveSession
  readonly #shown
  readonly #positions
  readonly #sessions
  readonly #project

  constructor(path: string, durability: "strict" | "relaxed" = "strict") {
    const database = openRaw(path, durability)
    this.#database = database
    this.#begin = database.prepare("BEGIN IMMEDIATE")
    this.#commit = database.prepare("COMMIT")
    this.#session = database.prepare(`SELECT "json" FROM "session" WHERE "id" = ?`).raw(true)
    this.#insertEntry = database.prepare(`
      INSERT INTO "entry" ("treeId", "branch", "pos", "id", "shown", "prompt", "json") VALUES (?, ?, ?, ?, ?, ?, ?)`)
    this.#updateSession = database.prepare(`UPDATE "session" SET "json" = ? WHERE "id" = ?`)
    this.#updateActiveSession = database.prepare(
      `UPDATE "session" SET "activityAt_desc" = ?, "json" = ? WHERE "id" = ?`,
    )
    this.#shown = database
      .prepare(
        `SELECT "pos", "json" FROM "entry"
         WHERE "treeId" = ? AND "branch" = ? AND "shown" BETWEEN ? AND ? ORDER BY "shown"`,
      )
      .raw(true)
    this.#positions = database
      .prepare(`SELECT "pos", "json" FROM "entry" WHERE "treeId" = ? AND "branch" = ? AND "pos" <= ? ORDER BY "pos"`)
      .raw(true)
    this.#sessions = database
      .prepare(
        `SELECT "id", "json" FROM "session"
         WHERE "shelf" = 'main' AND "workspaceKey" = ? AND "activityAt_desc" IS NOT NULL ORDER BY "activityAt_desc", "id" LIMIT ?`,
      )
      .raw(true)
    this.#project = database.prepare(`SELECT "json" FROM "project" WHERE "id" = ?`).raw(true)
  }

  /** Appends a message at the head of a session that stands at its tip. */
  append(sessionId: string, body: unknown): { readonly id: string } {
    this.#begin.run()
    const session = this.#readSession(sessionId)
    const { facts, head, treeId } = session
    const now = Date.now()
    const id = `msg_${randomUUID().replaceAll("-", "")}`
    const pos = head.pos + 1
    const grown = {
      ...facts,
      entries: facts.entries + 1,
      displays: facts.displays + 1,
      lastReplayed: { branch: head.branch, pos },
    }
    const entry: StoredEntry = {
      id,
      kind: "message",
      role: "assistant",
      createdAt: now,
      body,
      format: { dialect: "generic", version: 1 },
      facts: grown,
      shown: grown.displays,
    }
    const next: StoredSession = {
      ...session,
      head: { branch: head.branch, pos, id },
      headVersion: session.headVersion + 1,
      historyVersion: session.historyVersion + 1,
      revision: session.revision + 1,
      facts: grown,
      tip: grown.entries - pos,
      updatedAt: now,
      activityAt: now,
    }
    delete next.redo
    this.#insertEntry.run(treeId, head.branch, pos, id, grown.displays, null, JSON.stringify(entry))
    // Appends within one millisecond leave the indexes as they are.
    if (now === session.activityAt) this.#updateSession.run(JSON.stringify(next), sessionId)
    else this.#updateActiveSession.run(-now, JSON.stringify(next), sessionId)
    this.#commit.run()
    return { id }
  }

  /** The last messages that people see, of a session whose path is one branch. */
  lastPage(sessionId: string, limit: number): ReadonlyArray<unknown> {
    const { facts, head, treeId } = this.#readSession(sessionId)
    const rows = this.#shown.all(treeId, head.branch, facts.displays - limit + 1, facts.displays) as Lines
    return rows.map(([pos, json]) => ({ ...JSON.parse(json), treeId, branch: head.branch, pos }))
  }

  /** All messages of a session whose path is one branch. */
  whole(sessionId: string): ReadonlyArray<unknown> {
    const { head, treeId } = this.#readSession(sessionId)
    const rows = this.#positions.all(treeId, head.branch, head.pos) as Lines
    return rows.map(([pos, json]) => ({ ...JSON.parse(json), treeId, branch: head.branch, pos }))
  }

  /** The sessions of a workspace that were active last, each with the name of its project. */
  latestSessions(workspaceKey: string, limit: number): ReadonlyArray<unknown> {
    const names = new Map<string, string>()
    const nameOf = (projectId: string) => {
      const known = names.get(projectId)
      if (known !== undefined) return known
      const [json] = this.#project.get(projectId) as [string]
      const { name } = JSON.parse(json) as { readonly name: string }
      names.set(projectId, name)
      return name
    }
    const rows = this.#sessions.all(workspaceKey, limit) as ReadonlyArray<readonly [string, string]>
    return rows.map(([id, json]) => {
      const row = JSON.parse(json) as StoredSession
      return { ...row, id, projectName: nameOf(row.projectId) }
    })
  }

  close(): void {
    this.#database.close()
  }

  #readSession(id: string): StoredSession {
    const [json] = this.#session.get(id) as [string]
    return JSON.parse(json) as StoredSession
  }
}

type Lines = ReadonlyArray<readonly [number, string]>
