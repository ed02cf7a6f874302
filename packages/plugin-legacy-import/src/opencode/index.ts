/**
 * Sessions of opencode 1.x, read from its SQLite database. Needs Node, or what runs Node's packages.
 */
import type { ImportedMessage, Remark } from "@skein/core/import"
import type { JsonObject } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import { lost, repaired, SourceFailed } from "../source.ts"
import type { Found, Source } from "../source.ts"
import { OpencodeDatabase } from "./database.ts"
import type { MessageRow, Place } from "./database.ts"
import { parseObject, textIn } from "./fields.ts"
import { convertMessage } from "./message.ts"
import type { Surroundings } from "./message.ts"
import { privateCopy } from "./private-copy.ts"
import { describeSession } from "./session.ts"

export interface OpencodeOptions {
  /**
   * The path of the database, normally `~/.local/share/opencode/opencode.db`. It is not opened: a private copy of it and of
   * its log is, in the directory for temporary files.
   */
  readonly database: string
}

/** How much of a session is read at a time: several sessions are read side by side. */
const pageBytes = 256 * 1_024
const pageMessages = 100
const pageSessions = 20

/**
 * Opens opencode's database as a source. Its scope holds the copy that is read.
 *
 * @throws SourceFailed  there is no such file, it is no database of opencode 1.x, or it is being written all the time
 *
 * @example
 * const report = await skein.run(importAll(opencode({ database: "opencode.db" })))
 */
export const opencode = ({ database: place }: OpencodeOptions): Effect.Effect<Source, SourceFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const attempt = <A>(read: () => A) =>
      Effect.try({
        try: read,
        catch: (cause) => new SourceFailed({ place, problem: `cannot be read: ${String(cause)}`, cause }),
      })
    const path = yield* privateCopy(place)
    const database = yield* Effect.acquireRelease(
      attempt(() => new OpencodeDatabase(path)),
      (opened) => Effect.sync(() => opened.close()),
    )
    const problem = yield* attempt(() => database.problem)
    if (problem !== undefined) return yield* new SourceFailed({ place, problem })

    const rowOf = Effect.fnUntraced(function* (id: string) {
      const row = yield* attempt(() => database.rowOf(id))
      return row ?? (yield* new SourceFailed({ place, problem: `has no session ${id}` }))
    })

    return {
      name: "opencode",
      converter: 1,
      discover: Stream.concat(
        Stream.fromIterableEffect(attempt(() => laterSessions(database))),
        Stream.paginate(0, (after) => attempt(() => discover(database, after))),
      ),
      metadata: Effect.fnUntraced(function* (id) {
        const row = yield* rowOf(id)
        return yield* attempt(() => describe(database, row, id))
      }),
      display: (id) =>
        Stream.unwrap(
          Effect.map(rowOf(id), (row) =>
            Stream.paginate<Place | undefined, ImportedMessage | Remark, SourceFailed>(undefined, (after) =>
              attempt(() => readPage(database, row, after)),
            ),
          ),
        ),
      history: () => Stream.empty,
    }
  })

/** What opencode 2 has put into the same file is not understood here. */
const laterSessions = (database: OpencodeDatabase): ReadonlyArray<Remark> => {
  const count = database.laterSessions
  return count === 0 ? [] : [lost("table session_v2", `${count} sessions of opencode 2 are not read`)]
}

type Page<S, A> = readonly [ReadonlyArray<A>, Option.Option<S>]

const discover = (database: OpencodeDatabase, after: number): Page<number, Found | Remark> => {
  const sessions = database.sessions(after, pageSessions)
  const found = sessions.map(({ row, session }): Found | Remark => {
    const id = textIn(session, "id")
    if (id === undefined) return lost(`session row ${row}`, "it has no id")
    return { id, fingerprint: fingerprintOf(database, row, session) }
  })
  const last = sessions.at(-1)
  return [found, last === undefined ? Option.none() : Option.some(last.row)]
}

/** Numbers and times of a session's rows: any change of opencode's moves one of them. */
const fingerprintOf = (database: OpencodeDatabase, row: number, session: JsonObject): string =>
  createHash("sha256")
    .update(JSON.stringify([session, database.extent(row).changes, database.todos(row)]))
    .digest("hex")
    .slice(0, 32)

const describe = (database: OpencodeDatabase, row: number, id: string) => {
  const session = database.session(row)
  const extent = database.extent(row)
  const answer = parseObject(database.lastAnswer(row) ?? "")
  const parent = textIn(session, "parent_id")
  const { head, remarks } = standing(database, row, session)
  const described = describeSession(session, {
    id,
    fingerprint: fingerprintOf(database, row, session),
    messages: extent.messages,
    lastMessageAt: extent.lastMessageAt,
    lastAnswer: typeof answer === "string" ? undefined : answer,
    hasParent: parent !== undefined && database.rowOf(parent) !== undefined,
    head,
    todos: database.todos(row),
  })
  return { ...described, remarks: [...described.remarks, ...remarks] }
}

/** Where a session with a staged revert stands: before the message that the revert begins with. */
const standing = (database: OpencodeDatabase, row: number, session: JsonObject) => {
  const revert = parseObject(textIn(session, "revert") ?? "")
  const boundary = typeof revert === "string" ? undefined : textIn(revert, "messageID")
  if (typeof revert === "string" || boundary === undefined) return { head: undefined, remarks: [] }
  const place = database.placeOf(row, boundary)
  if (place === undefined) {
    const reason = `a staged revert begins with ${boundary}, which is not there: the session stands at its end`
    return { head: undefined, remarks: [repaired(`message ${boundary}`, reason)] }
  }
  const remarks =
    textIn(revert, "partID") === undefined
      ? []
      : [repaired(`message ${boundary}`, "a staged revert begins inside it: the session stands before it")]
  return { head: database.idBefore(row, place), remarks }
}

const readPage = (
  database: OpencodeDatabase,
  session: number,
  after: Place | undefined,
): Page<Place | undefined, ImportedMessage | Remark> => {
  const rows = database.messages(session, after, pageMessages, pageBytes)
  const items = rows.flatMap((row) => convert(row, surroundingsIn(database, session)))
  const last = rows.at(-1)
  return [items, last === undefined ? Option.none() : Option.some({ row: last.row, time: last.time })]
}

const convert = (row: MessageRow, surroundings: Surroundings): ReadonlyArray<ImportedMessage | Remark> => {
  if (row.id === "") return [lost(`message row ${row.row}`, "it has no id")]
  try {
    const { message, remarks } = convertMessage({ ...row, createdAt: row.time }, surroundings)
    return message === undefined ? remarks : [message, ...remarks]
  } catch (thrown) {
    // Nothing that stands in one row may cost the others.
    return [lost(`message ${row.id}`, `it could not be understood: ${String(thrown)}`)]
  }
}

const surroundingsIn = (database: OpencodeDatabase, session: number): Surroundings => ({
  compactionIn: (messageId) =>
    database
      .partsOf(messageId)
      .map(parseObject)
      .find((part): part is JsonObject => typeof part !== "string" && part["type"] === "compaction"),
  isBefore: (messageId, other) => {
    const [first, second] = [database.placeOf(session, messageId), database.placeOf(session, other)]
    if (first === undefined || second === undefined) return false
    return first.time < second.time || (first.time === second.time && first.row < second.row)
  },
})
