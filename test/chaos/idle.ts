/**
 * A store that holds much besides: sessions that were talked to and are idle, as many as wanted.
 *
 * One is made by the library, and its rows are copied by the engine under new ids, among all the others.
 */
import Database from "libsql"
import * as Effect from "effect/Effect"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { Turns } from "../../packages/core/src/turn/service.ts"
import { assistant, user } from "./operations.ts"
import { openFile } from "./store.ts"

const model = "ses_idle"

const createModel = Effect.gen(function* () {
  const turns = yield* Turns
  yield* (yield* Sessions).create({ id: model, workspace: "/projects/idle" })
  yield* turns.run(model, { prompt: user("Hello") }, (turn) => turn.settle(assistant("Hi")))
})

/** The tables that a session has rows in, and what names it there. */
const tables: Readonly<Record<string, "id" | "sessionId" | "treeId">> = {
  session: "id",
  turn: "sessionId",
  tree: "treeId",
  branch: "treeId",
  entry: "treeId",
}

export const addIdleSessions = async (path: string, count: number): Promise<void> => {
  const store = openFile(path)
  await store.run(createModel)
  await store.close()
  const database = new Database(path)
  try {
    database.exec("PRAGMA synchronous = OFF; BEGIN IMMEDIATE")
    const [treeId] = database.prepare(`SELECT "treeId" FROM "session" WHERE "id" = ?`).raw(true).get(model) as [string]
    database.exec(`
      CREATE TEMP TABLE copy AS
      WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${count})
      SELECT 'ses_' || lower(hex(randomblob(16))) AS session, 'tree_' || lower(hex(randomblob(16))) AS tree FROM n`)
    for (const [table, name] of Object.entries(tables)) {
      const columns = (database.pragma(`table_info("${table}")`) as ReadonlyArray<{ readonly name: string }>).map(
        (column) => column.name,
      )
      const copied = columns.map((column) => copyOf(table, column))
      database
        .prepare(
          `INSERT INTO "${table}" (${columns.map((column) => `"${column}"`).join()})
           SELECT ${copied.join()} FROM "${table}", copy WHERE "${name}" = ? ORDER BY copy.session`,
        )
        .run(name === "treeId" ? treeId : model)
    }
    database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
  } finally {
    database.close()
  }
}

/** What stands in a column of a copied row. */
const copyOf = (table: string, column: string): string => {
  if (column === "treeId") return "copy.tree"
  if (column === "sessionId" || column === "owner" || (column === "id" && table === "session")) return "copy.session"
  if (column !== "json") return `"${table}"."${column}"`
  // A row repeats the columns of its indexes.
  if (table === "session") return `json_set("session"."json", '$.treeId', copy.tree)`
  return table === "branch" ? `json_set("branch"."json", '$.owner', copy.session)` : `"${table}"."json"`
}
