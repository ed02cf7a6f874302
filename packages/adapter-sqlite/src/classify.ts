/**
 * What a driver throws, as a `StorageReason`.
 *
 * Guarantee: total and pure. What was thrown is kept as `cause`, and a message is never taken for a code. Codes are
 * understood in the form of this driver (`code` is the extended name, `rawCode` the number), in that of a client which
 * splits them (`code`, `extendedCode`, `rawCode`), and in that of a server which sends one name and no number.
 */
import {
  Busy,
  Closed,
  CommitUncertain,
  Constraint,
  Corrupt,
  Full,
  Reset,
  Unavailable,
  Unknown,
  UpgradeBlocked,
  VersionMismatch,
} from "@skein/core/storage"
import type { AnyTable, StorageReason } from "@skein/core/storage"
import { orderColumn } from "./layout.ts"

/** What was being done. Only a failed COMMIT can leave it open whether it took place. */
export type Stage = "open" | "begin" | "read" | "write" | "commit"

/** The primary result codes of SQLite, by number. */
const primaryNames: Readonly<Record<number, string>> = {
  1: "ERROR",
  2: "INTERNAL",
  3: "PERM",
  4: "ABORT",
  5: "BUSY",
  6: "LOCKED",
  7: "NOMEM",
  8: "READONLY",
  9: "INTERRUPT",
  10: "IOERR",
  11: "CORRUPT",
  12: "NOTFOUND",
  13: "FULL",
  14: "CANTOPEN",
  15: "PROTOCOL",
  17: "SCHEMA",
  18: "TOOBIG",
  19: "CONSTRAINT",
  20: "MISMATCH",
  21: "MISUSE",
  22: "NOLFS",
  23: "AUTH",
  24: "FORMAT",
  25: "RANGE",
  26: "NOTADB",
}
const known = new Set(Object.values(primaryNames))

/** Extended codes of IOERR that mean a damaged file, not a device that failed. */
const damagedReads = new Set(["SQLITE_IOERR_CORRUPTFS", "SQLITE_IOERR_DATA"])

export const classify = (thrown: unknown, stage: Stage, tables: ReadonlyArray<AnyTable> = []): StorageReason => {
  const { name, extended } = codeOf(thrown)
  const detail = messageOf(thrown)
  const facts = { cause: thrown, ...(detail !== undefined && { detail }) }
  switch (name) {
    // PROTOCOL: too many processes began at the same moment.
    case "BUSY":
    case "LOCKED":
    case "PROTOCOL":
      return new Busy({ cause: thrown })
    case "FULL":
      return new Full(facts)
    case "CORRUPT":
    case "NOTADB":
    case "FORMAT":
      return new Corrupt(facts)
    case "READONLY":
      return new Unavailable({ cause: thrown, detail: readOnly })
    case "CANTOPEN":
    case "PERM":
    case "AUTH":
    case "NOLFS":
      return new Unavailable(facts)
    case "IOERR":
      if (damagedReads.has(extended)) return new Corrupt(facts)
      // The commit may stand in the log although it could not be flushed, and come to life when the log is recovered.
      return stage === "commit" ? new CommitUncertain(facts) : new Unavailable(facts)
    case "CONSTRAINT":
      return new Constraint({ ...facts, ...violated(detail ?? "", tables) })
    case "CLOSED":
      return new Closed({ cause: thrown })
    case undefined:
      return stage === "commit" ? new CommitUncertain(facts) : new Unknown(facts)
    default:
      return new Unknown(facts)
  }
}

const readOnly = "the database is read-only: it was opened with mode=ro, or its file or directory may not be written"

/** What is thrown on purpose is a reason already. */
export const reasonOf = (thrown: unknown, stage: Stage, tables?: ReadonlyArray<AnyTable>): StorageReason =>
  isReason(thrown) ? thrown : classify(thrown, stage, tables)

const reasons = [
  Busy,
  Closed,
  CommitUncertain,
  Constraint,
  Corrupt,
  Full,
  Reset,
  Unavailable,
  Unknown,
  UpgradeBlocked,
  VersionMismatch,
] as const

const isReason = (thrown: unknown): thrown is StorageReason => reasons.some((reason) => thrown instanceof reason)

/** Whether a value would be longer than SQLite allows. */
export const isTooBig = (thrown: unknown): boolean => codeOf(thrown).name === "TOOBIG"

interface Code {
  /** The primary code without `SQLITE_`, `CLOSED`, or `undefined` for what is no code that we know. */
  readonly name: string | undefined
  readonly extended: string
}

const codeOf = (thrown: unknown): Code => {
  if (!(thrown instanceof Error)) return { name: undefined, extended: "" }
  const { code, extendedCode, rawCode } = thrown as {
    readonly code?: unknown
    readonly extendedCode?: unknown
    readonly rawCode?: unknown
  }
  const extended = typeof extendedCode === "string" ? extendedCode : typeof code === "string" ? code : ""
  const named = /^SQLITE_([A-Z]+)/.exec(extended)?.[1]
  const numbered = typeof rawCode === "number" ? primaryNames[rawCode & 0xff] : undefined
  const name = numbered ?? (named !== undefined && known.has(named) ? named : undefined)
  return { name: name ?? codeless(thrown, extended), extended }
}

/** Failures that have no code of SQLite: an open that failed, a connection that is closed, a path that is no path. */
const codeless = (thrown: Error, code: string): string | undefined => {
  const { message } = thrown
  if (code === "CLIENT_CLOSED" || code === "TRANSACTION_CLOSED") return "CLOSED"
  if ("syscall" in thrown) return "CANTOPEN"
  if (code !== "") return undefined
  if (message === "The database connection is not open") return "CLOSED"
  const failedOpen = /^ConnectionFailed\("Unable to open connection to local database .*: (\d+)"\)$/s.exec(message)
  return failedOpen === null ? undefined : primaryNames[Number(failedOpen[1]) & 0xff]
}

const messageOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && thrown.message !== "" ? thrown.message : undefined

/** `UNIQUE constraint failed: entry.treeId, entry.id` names columns; the declaration says which index has them. */
const violated = (message: string, tables: ReadonlyArray<AnyTable>): { table?: string; index?: string } => {
  const columns = /(?:constraint failed: |in \w+ column )(.+)$/.exec(message)?.[1]?.split(", ")
  const name = columns?.[0]?.split(".")[0]
  if (columns === undefined || name === undefined) return {}
  const table = tables.find((one) => one.name === name)
  const index = table?.indexes.find(
    (one) =>
      one.unique &&
      one.parts.map((_, i) => `${name}.${unquoted(orderColumn(table, one, i))}`).join() === columns.join(),
  )
  return { table: name, ...(index !== undefined && { index: index.name }) }
}

const unquoted = (name: string) => name.slice(1, -1)
