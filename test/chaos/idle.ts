/**
 * What something costs in a store that holds much besides: sessions that were talked to and are idle, as many as wanted.
 *
 * One is made by the library, and its rows are copied by the engine under new ids, among all the others.
 */
import { sqlite } from "@skein/adapter-sqlite"
import Database from "libsql"
import * as Effect from "effect/Effect"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { Turns } from "../../packages/core/src/turn/service.ts"
import { counted } from "../../bench/counted.ts"
import { copyStore } from "./file.ts"
import { assistant, user } from "./operations.ts"
import { openFile, openStore } from "./store.ts"
import type { Store } from "./store.ts"

/** What something came to, and what it cost. */
export interface Cost<A> {
  readonly answer: A
  /** Milliseconds of the processor, which no other program can take. */
  readonly took: number
  readonly rowsRead: number
}

export interface Compared<A> {
  readonly alone: Cost<A>
  readonly beside: Cost<A>
  /** How many times as long it takes beside the idle sessions. */
  readonly ratio: number
}

/** Does something to copies of a store, and of one that has idle sessions besides; the fastest of some tries counts. */
export const besideIdle = async <A>(
  path: string,
  { idle, tries }: { readonly idle: number; readonly tries: number },
  work: (store: Store) => Promise<A>,
): Promise<Compared<A>> => {
  const large = copyStore(path, `${path}-idle`)
  await addIdleSessions(large, idle)
  const fastest = async (from: string) => {
    const costs: Array<Cost<A>> = []
    for (let n = 1; n <= tries; n++) costs.push(await costOf(copyStore(from, `${from}-${n}`), work))
    return costs.toSorted((a, b) => a.took - b.took)[0]!
  }
  const alone = await fastest(path)
  const beside = await fastest(large)
  return { alone, beside, ratio: beside.took / alone.took }
}

const costOf = async <A>(path: string, work: (store: Store) => Promise<A>): Promise<Cost<A>> => {
  const { backend, taken } = counted(sqlite({ url: `file:${path}` }))
  const store = openStore(backend)
  // Opening is not part of it.
  await store.run(Effect.void)
  taken()
  const begun = process.cpuUsage()
  const answer = await work(store)
  const { system, user: own } = process.cpuUsage(begun)
  const rowsRead = taken().reduce((sum, run) => sum + run.rowsRead, 0)
  await store.close()
  return { answer, took: (own + system) / 1_000, rowsRead }
}

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

const addIdleSessions = async (path: string, count: number): Promise<void> => {
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
