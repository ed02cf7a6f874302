/**
 * The baseline of turns: what somebody would write by hand to begin a turn with a prompt, append an answer, and end it; or to
 * enqueue a prompt and begin a turn with it. Transactions that read and write the rows that Skein reads and writes, and check
 * the epoch. As `raw.ts` in all else.
 */
import { randomUUID } from "node:crypto"
import type Database from "libsql"
import type { EntryRow } from "../packages/core/src/message/model.ts"
import type { QueueItemRow } from "../packages/core/src/queue/model.ts"
import type { SessionRow } from "../packages/core/src/session/model.ts"
import type { TurnRow } from "../packages/core/src/turn/model.ts"
import { openRaw } from "./raw.ts"

type StoredSession = Omit<SessionRow, "id">
type StoredEntry = Omit<EntryRow, "treeId" | "branch" | "pos">
type StoredTurn = Omit<TurnRow, "sessionId" | "epoch">
type StoredItem = Omit<QueueItemRow, "sessionId" | "id">

const minted = (prefix: string) => prefix + randomUUID().replaceAll("-", "")

export class RawTurns {
  readonly #database: Database.Database
  readonly #begin
  readonly #commit
  readonly #session
  readonly #updateSession
  readonly #insertEntry
  readonly #findEntry
  readonly #turn
  readonly #insertTurn
  readonly #updateTurn
  readonly #insertItem
  readonly #firstItem
  readonly #removeItem

  constructor(path: string, durability: "strict" | "relaxed") {
    const database = openRaw(path, durability)
    this.#database = database
    this.#begin = database.prepare("BEGIN IMMEDIATE")
    this.#commit = database.prepare("COMMIT")
    this.#session = database.prepare(`SELECT "json" FROM "session" WHERE "id" = ?`).raw(true)
    this.#updateSession = database.prepare(
      `UPDATE "session" SET "activityAt_desc" = ?, "due" = ?, "json" = ? WHERE "id" = ?`,
    )
    this.#insertEntry = database.prepare(`
      INSERT INTO "entry" ("treeId", "branch", "pos", "id", "shown", "prompt", "json") VALUES (?, ?, ?, ?, ?, ?, ?)`)
    this.#findEntry = database.prepare(`SELECT "json" FROM "entry" WHERE "treeId" = ? AND "id" = ?`).raw(true)
    this.#turn = database.prepare(`SELECT "json" FROM "turn" WHERE "sessionId" = ? AND "epoch" = ?`).raw(true)
    this.#insertTurn = database.prepare(
      `INSERT INTO "turn" ("sessionId", "epoch", "id", "runningSince", "broken", "json") VALUES (?, ?, ?, ?, NULL, ?)`,
    )
    this.#updateTurn = database.prepare(
      `UPDATE "turn" SET "runningSince" = NULL, "json" = ? WHERE "sessionId" = ? AND "epoch" = ?`,
    )
    this.#insertItem = database.prepare(
      `INSERT INTO "queue_item" ("sessionId", "id", "order", "json") VALUES (?, ?, ?, ?)`,
    )
    this.#firstItem = database
      .prepare(
        `SELECT "id", "json" FROM "queue_item" WHERE "sessionId" = ? AND "order" IS NOT NULL ORDER BY "order" LIMIT 1`,
      )
      .raw(true)
    this.#removeItem = database.prepare(`DELETE FROM "queue_item" WHERE "sessionId" = ? AND "id" = ?`)
  }

  enqueue(sessionId: string, body: unknown): void {
    this.#transaction(() => {
      const session = this.#readSession(sessionId)
      const now = Date.now()
      const message = { createdAt: now, body, format: { dialect: "generic", version: 1 }, preview: "What is a skein?" }
      const item: StoredItem = { order: 1, message, enqueuedAt: now, attempts: 0 }
      this.#insertItem.run(sessionId, minted("q_"), item.order, JSON.stringify(item))
      this.#writeSession(sessionId, {
        ...session,
        queue: { items: 1, since: now, claimed: 0, front: 0, back: 1 },
        due: now,
        revision: session.revision + 1,
        updatedAt: now,
      })
    })
  }

  /** Begins a turn with the first item of the queue, and answers its epoch. */
  dispatch(sessionId: string): number {
    return this.#transaction(() => {
      const [itemId, json] = this.#firstItem.get(sessionId) as [string, string]
      const item = JSON.parse(json) as StoredItem
      this.#removeItem.run(sessionId, itemId)
      const { due: _due, queue: _queue, ...session } = this.#readSession(sessionId)
      return this.#beginIn(sessionId, session, item.message.body)
    })
  }

  /** Begins a turn with a prompt, and answers its epoch. */
  begin(sessionId: string, body: unknown): number {
    return this.#transaction(() => this.#beginIn(sessionId, this.#readSession(sessionId), body))
  }

  #beginIn(sessionId: string, session: StoredSession, body: unknown): number {
    if (session.activeTurn !== undefined) throw new Error("a turn runs")
    const now = Date.now()
    const epoch = session.epoch + 1
    const turn: StoredTurn = {
      id: minted("turn_"),
      owner: "raw",
      host: "here",
      start: "prompt",
      startedAt: now,
      runningSince: now,
    }
    const entryId = minted("msg_")
    this.#findEntry.get(session.treeId, entryId)
    const at = { branch: session.head.branch, pos: session.head.pos + 1 }
    const next = this.#append(session, entryId, "user", body, now, turn.id)
    this.#writeSession(sessionId, {
      ...next,
      status: "running",
      epoch,
      activeTurn: {
        id: turn.id,
        epoch,
        owner: "raw",
        host: "here",
        startedAt: now,
        beat: 1,
        lease: 30_000,
        until: now + 30_000,
        drafts: [],
        first: at,
        last: at,
      },
    })
    this.#insertTurn.run(sessionId, epoch, turn.id, now, JSON.stringify(turn))
    return epoch
  }

  append(sessionId: string, epoch: number, body: unknown): void {
    this.#transaction(() => {
      const session = this.#readSession(sessionId)
      const turn = session.activeTurn
      if (turn?.epoch !== epoch) throw new Error("not the turn that runs")
      const now = Date.now()
      const next = this.#append(session, minted("msg_"), "assistant", body, now, turn.id)
      const last = { branch: next.head.branch, pos: next.head.pos }
      this.#writeSession(sessionId, {
        ...next,
        activeTurn: { ...turn, beat: turn.beat + 1, until: now + turn.lease, last },
      })
    })
  }

  end(sessionId: string, epoch: number): void {
    this.#transaction(() => {
      const { activeTurn, ...session } = this.#readSession(sessionId)
      if (activeTurn?.epoch !== epoch) throw new Error("not the turn that runs")
      const now = Date.now()
      const [json] = this.#turn.get(sessionId, epoch) as [string]
      const { runningSince: _, ...turn } = JSON.parse(json) as StoredTurn
      const { first, last } = activeTurn
      const ended = { ...turn, endedAt: now, outcome: "completed", first, last }
      this.#updateTurn.run(JSON.stringify(ended), sessionId, epoch)
      this.#writeSession(sessionId, {
        ...session,
        status: "idle",
        unread: true,
        answers: session.answers + 1,
        revision: session.revision + 1,
        updatedAt: now,
        activityAt: now,
      })
    })
  }

  close(): void {
    this.#database.close()
  }

  /** Writes an entry behind the head, and answers the session with it. */
  #append(session: StoredSession, id: string, role: "user" | "assistant", body: unknown, now: number, turn: string) {
    const { facts, head, treeId } = session
    const at = { branch: head.branch, pos: head.pos + 1 }
    const isPrompt = role === "user"
    const grown = {
      ...facts,
      entries: facts.entries + 1,
      displays: facts.displays + 1,
      prompts: facts.prompts + (isPrompt ? 1 : 0),
      turns: facts.turns + (isPrompt ? 1 : 0),
      lastReplayed: at,
      ...(isPrompt && { lastPrompt: at }),
    }
    const entry: StoredEntry = {
      id,
      kind: "message",
      role,
      createdAt: now,
      body,
      format: { dialect: "generic", version: 1 },
      turn,
      ...(isPrompt && { startsTurn: true, preview: "What is a skein?", prompt: grown.prompts }),
      facts: grown,
      shown: grown.displays,
    }
    const prompt = isPrompt ? grown.prompts : null
    this.#insertEntry.run(treeId, at.branch, at.pos, id, grown.displays, prompt, JSON.stringify(entry))
    return {
      ...session,
      head: { ...at, id },
      headVersion: session.headVersion + 1,
      historyVersion: session.historyVersion + 1,
      revision: session.revision + 1,
      facts: grown,
      tip: grown.entries - at.pos,
      updatedAt: now,
      activityAt: isPrompt ? now : session.activityAt,
    }
  }

  #readSession(id: string): StoredSession {
    const [json] = this.#session.get(id) as [string]
    return JSON.parse(json) as StoredSession
  }

  #writeSession(id: string, session: StoredSession): void {
    this.#updateSession.run(-session.activityAt, session.due ?? null, JSON.stringify(session), id)
  }

  #transaction<A>(work: () => A): A {
    this.#begin.run()
    const answer = work()
    this.#commit.run()
    return answer
  }
}
