import { index, table, text, unique } from "@skein/core/storage"
import type { StorageReason } from "@skein/core/storage"
import { writeFileSync } from "node:fs"
import { expect, it } from "vitest"
import * as z from "zod/mini"
import { classify, isTooBig, reasonOf } from "../src/classify.ts"
import type { Stage } from "../src/classify.ts"
import type { DriverConnection } from "../src/driver.ts"
import { libsql } from "../src/libsql.ts"
import { directory, newFile } from "./directory.ts"

/** An error as a driver or a client throws it. */
const thrown = (message: string, facts: { code?: unknown; extendedCode?: unknown; rawCode?: unknown }) =>
  Object.assign(new Error(message), facts)
/** The form of this driver: the extended name, and its number. */
const local = (code: string, rawCode: number) => thrown("what SQLite says", { code, rawCode })
/** The form of a client that splits the name. */
const split = (code: string, extendedCode: string, rawCode: number) => thrown("…", { code, extendedCode, rawCode })
/** The form of a server: one name, no number. */
const remote = (code: string) => thrown("SQLite error: …", { code })
const openFailed = (code: number) =>
  thrown(`ConnectionFailed("Unable to open connection to local database file:a.db: ${code}")`, { code: "" })

it.each<readonly [unknown, Stage, StorageReason["_tag"], boolean]>([
  // what the driver throws                                          during    reason             retry
  [local("SQLITE_BUSY", 5), "begin", "Busy", true],
  [local("SQLITE_BUSY_SNAPSHOT", 517), "write", "Busy", true],
  [local("SQLITE_BUSY_RECOVERY", 261), "read", "Busy", true],
  [split("SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT", 517), "begin", "Busy", true],
  [remote("SQLITE_BUSY"), "commit", "Busy", true],
  [local("SQLITE_LOCKED", 6), "open", "Busy", true],
  [local("SQLITE_PROTOCOL", 15), "open", "Busy", true],
  [local("SQLITE_FULL", 13), "write", "Full", false],
  [local("SQLITE_FULL", 13), "commit", "Full", false],
  [remote("SQLITE_FULL"), "commit", "Full", false],
  [local("SQLITE_CORRUPT", 11), "read", "Corrupt", false],
  [local("SQLITE_CORRUPT_INDEX", 779), "read", "Corrupt", false],
  [local("SQLITE_NOTADB", 26), "open", "Corrupt", false],
  [remote("SQLITE_NOTADB"), "open", "Corrupt", false],
  [local("SQLITE_IOERR_CORRUPTFS", 8458), "read", "Corrupt", false],
  [local("SQLITE_IOERR_READ", 266), "read", "Unavailable", true],
  [local("SQLITE_IOERR_WRITE", 778), "write", "Unavailable", true],
  [local("SQLITE_IOERR_FSYNC", 1034), "commit", "CommitUncertain", false],
  [remote("SQLITE_IOERR"), "commit", "CommitUncertain", false],
  [local("SQLITE_READONLY", 8), "write", "Unavailable", true],
  [split("SQLITE_READONLY", "SQLITE_READONLY_DBMOVED", 1032), "write", "Unavailable", true],
  [local("SQLITE_CANTOPEN", 14), "read", "Unavailable", true],
  [local("SQLITE_PERM", 3), "open", "Unavailable", true],
  [local("SQLITE_AUTH", 23), "write", "Unavailable", true],
  [openFailed(14), "open", "Unavailable", true],
  [openFailed(1), "open", "Unknown", false],
  [local("SQLITE_CONSTRAINT_PRIMARYKEY", 1555), "write", "Constraint", false],
  [local("SQLITE_CONSTRAINT_UNIQUE", 2067), "write", "Constraint", false],
  [local("SQLITE_CONSTRAINT_NOTNULL", 1299), "write", "Constraint", false],
  [local("UNKNOWN_SQLITE_ERROR_3091", 3091), "write", "Constraint", false],
  [split("SQLITE_CONSTRAINT", "SQLITE_CONSTRAINT_UNIQUE", 2067), "write", "Constraint", false],
  [remote("SQLITE_CONSTRAINT"), "write", "Constraint", false],
  [remote("SQLITE_CONSTRAINT_PRIMARYKEY"), "write", "Constraint", false],
  [local("SQLITE_ERROR", 1), "read", "Unknown", false],
  [local("SQLITE_ERROR", 1), "commit", "Unknown", false],
  [local("SQLITE_NOMEM", 7), "commit", "Unknown", false],
  [local("SQLITE_TOOBIG", 18), "write", "Unknown", false],
  [thrown("closed", { code: "CLIENT_CLOSED" }), "read", "Closed", false],
  [thrown("closed", { code: "TRANSACTION_CLOSED" }), "commit", "Closed", false],
  [new TypeError("The database connection is not open"), "read", "Closed", false],
  [remote("SQLITE_FROM_2031"), "read", "Unknown", false],
  [remote("SQLITE_FROM_2031"), "commit", "CommitUncertain", false], // nobody can say what it means
  [thrown("…", { code: "SQLITE_FROM_2031", rawCode: 99 }), "write", "Unknown", false],
  [thrown("…", { code: 5 }), "read", "Unknown", false], // a number where a name belongs
  [thrown("…", { code: "", rawCode: "5" }), "read", "Unknown", false],
  [thrown("…", { code: " " }), "read", "Unknown", false],
  [new Error("SQLITE_BUSY: database is locked"), "begin", "Unknown", false], // a message is not a code
  [new RangeError("Value is too large"), "read", "Unknown", false],
  [{ code: "SQLITE_BUSY", rawCode: 5 }, "begin", "Unknown", false], // not an error
  ["SQLITE_BUSY", "begin", "Unknown", false],
  [undefined, "read", "Unknown", false],
  [null, "commit", "CommitUncertain", false],
])("STO-07 %o during %s is %s", (what, stage, tag, isRetryable) => {
  const reason = classify(what, stage)
  expect([reason._tag, reason.isRetryable, reason.cause]).toEqual([tag, isRetryable, what])
})

const Row = z.object({ id: z.string(), group: z.string(), name: z.optional(z.string()) })
const Person = table("person", {
  row: Row,
  key: [text("group"), text("id")],
  indexes: { byName: unique(text("name"), text("group")), byGroup: index(text("group")) },
})

it.each([
  ["UNIQUE constraint failed: person.group, person.id", { table: "person" }],
  ["UNIQUE constraint failed: person.name, person.group", { table: "person", index: "byName" }],
  ["SQLite error: UNIQUE constraint failed: person.name, person.group", { table: "person", index: "byName" }],
  ["NOT NULL constraint failed: person.json", { table: "person" }],
  ["cannot store REAL value in INTEGER column person.n", { table: "person" }],
  ["UNIQUE constraint failed: other.a", { table: "other" }],
  ["said in other words", {}],
])(
  "STO-07 a violated constraint names its table and index: %s",
  (message, { table, index }: { table?: string; index?: string }) => {
    const reason = classify(thrown(message, { code: "SQLITE_CONSTRAINT", rawCode: 19 }), "write", [Person])
    expect(reason).toMatchObject({ _tag: "Constraint", detail: message })
    expect([(reason as { table?: string }).table, (reason as { index?: string }).index]).toEqual([table, index])
  },
)

it("STO-07 a reason that is thrown stays what it is", () => {
  const reason = classify(undefined, "read")
  expect(reasonOf(reason, "commit")).toBe(reason)
})

/** Provokes a failure in the real driver, and says what comes of it. */
const provoked = (stage: Stage, provoke: () => unknown): string => {
  try {
    provoke()
  } catch (error) {
    return classify(error, stage, [])._tag
  }
  return "nothing was thrown"
}

const withTable = (path = newFile()): DriverConnection => {
  const connection = libsql(`file:${path}`)
  connection.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (k TEXT PRIMARY KEY, n INTEGER, u TEXT NOT NULL) STRICT")
  connection.exec("CREATE UNIQUE INDEX t_by_u ON t (u) WHERE u IS NOT NULL; INSERT INTO t VALUES ('a', 1, 'u')")
  return connection
}

it("STO-07 the failures of the real driver are the ones that are understood", () => {
  const path = newFile()
  const one = withTable(path)
  const two = libsql(`file:${path}`)
  const insert = (connection: DriverConnection) => connection.prepare("INSERT INTO t VALUES (?, ?, ?)")

  expect(provoked("write", () => insert(one).run(["a", 2, "v"]))).toBe("Constraint")
  expect(provoked("write", () => insert(one).run(["b", 2, "u"]))).toBe("Constraint")
  expect(provoked("write", () => insert(one).run(["b", 2, null]))).toBe("Constraint")
  expect(provoked("write", () => insert(one).run(["b", 1.5, "v"]))).toBe("Constraint")

  two.exec("BEGIN IMMEDIATE")
  expect(provoked("begin", () => one.exec("BEGIN IMMEDIATE"))).toBe("Busy")
  two.exec("COMMIT")
  one.exec("BEGIN")
  one.prepare("SELECT count(*) FROM t").get([])
  insert(two).run(["c", 3, "w"])
  expect(provoked("write", () => one.exec("INSERT INTO t VALUES ('d', 4, 'x')"))).toBe("Busy")
  one.exec("ROLLBACK")

  two.exec("PRAGMA max_page_count = 1")
  expect(provoked("write", () => insert(two).run(["e", 5, "y".repeat(50_000)]))).toBe("Full")

  const readOnly = libsql(`file:${path}?mode=ro`)
  expect(provoked("write", () => insert(readOnly).run(["f", 6, "z"]))).toBe("Unavailable")
  expect(provoked("open", () => libsql(`file:${directory}/absent/a.db`))).toBe("Unavailable")
  expect(provoked("open", () => libsql(`file:${directory}`))).toBe("Unavailable")

  const garbage = newFile()
  writeFileSync(garbage, "no database ".repeat(1_000))
  expect(provoked("open", () => libsql(`file:${garbage}`).prepare("PRAGMA user_version").get([]))).toBe("Corrupt")

  one.close()
  expect(provoked("read", () => one.exec("SELECT 1"))).toBe("Closed")
})

it("STO-05 a value that the driver would store as another is thrown back", () => {
  const connection = withTable()
  const insert = connection.prepare("INSERT INTO t VALUES (?, ?, ?)")
  for (const value of [true, undefined, NaN, Infinity, 10n, new Date(0), {}]) {
    expect(() => insert.run(["x", value as number, "x"])).toThrow("SQLite cannot store")
  }
  expect(connection.prepare("SELECT count(*) FROM t").get([])).toEqual([1])
})

it("STO-05 a value that is longer than SQLite allows is told from other failures", () => {
  const tooBig = libsql(":memory:").prepare("SELECT length(zeroblob(1000000001))")
  let isTold = false
  try {
    tooBig.get([])
  } catch (error) {
    isTold = isTooBig(error)
  }
  expect([isTold, isTooBig(local("SQLITE_NOMEM", 7))]).toEqual([true, false])
})
