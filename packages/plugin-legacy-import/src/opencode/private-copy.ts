/**
 * A private copy of a SQLite database, to be read in its stead.
 *
 * Opening a database in place writes beside it, even to read: SQLite makes `-shm` and `-wal` files, and moves what the log
 * holds into the database. And leaving the log out loses what is newest. So database and log are copied together.
 *
 * Guarantee: nothing beside the source is made or changed. The copy is one state of the database, also while another
 * program writes: had the database changed while it was copied, the copy is thrown away and made again. Only its owner may
 * read it, for it holds all that the source does, and it goes with its scope.
 */
import * as Effect from "effect/Effect"
import { constants } from "node:fs"
import { copyFile, mkdtemp, open, realpath, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SourceFailed } from "../source.ts"

/** What SQLite keeps beside a database while there is something in it. */
const companions = ["-wal", "-journal"] as const

/** How often a database that is being written is copied before the copy is given up. */
const attempts = 20

/** How long a file must have been left alone, in milliseconds, for its time to tell a later change: clocks of files are coarse. */
const settleTime = 50

/** The path of a copy, which is there until the scope ends. */
export const privateCopy = Effect.fnUntraced(function* (database: string) {
  const failed = (problem: string) => (cause: unknown) => new SourceFailed({ place: database, problem, cause })
  const source = yield* Effect.tryPromise({ try: () => realpath(database), catch: failed("cannot be found") })
  yield* Effect.tryPromise({ try: () => checkHeader(source), catch: failed("is no SQLite database") })
  const directory = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: () => mkdtemp(join(tmpdir(), "skein-import-")),
      catch: failed("cannot be copied: there is no temporary directory"),
    }),
    (made) => Effect.promise(() => rm(made, { recursive: true, force: true, maxRetries: 5 })),
  )
  const target = join(directory, "copy.db")
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const isWhole = yield* Effect.tryPromise({
      try: () => copyWhole(source, target),
      catch: failed("cannot be copied: is there room in the temporary directory?"),
    })
    if (isWhole) return target
    yield* Effect.sleep(settleTime * attempt)
  }
  return yield* new SourceFailed({ place: database, problem: "is written all the time: try again when it rests" })
})

const checkHeader = async (path: string): Promise<void> => {
  const file = await open(path, "r")
  try {
    const { buffer } = await file.read({ buffer: Buffer.alloc(16), position: 0 })
    if (buffer.toString("latin1") !== "SQLite format 3\0") throw new Error("another header than SQLite's")
  } finally {
    await file.close()
  }
}

/** Copies the database and what is beside it. False: it changed meanwhile. */
const copyWhole = async (source: string, target: string): Promise<boolean> => {
  const before = await stateOf(source)
  if (Date.now() - before.changedAt < settleTime) return false
  for (const suffix of companions) await rm(target + suffix, { force: true })
  await copyFile(source, target, constants.COPYFILE_FICLONE)
  for (const suffix of companions) {
    await copyFile(source + suffix, target + suffix, constants.COPYFILE_FICLONE).catch(ignoreMissing)
  }
  return (await stateOf(source)).text === before.text
}

const ignoreMissing = (error: NodeJS.ErrnoException): void => {
  if (error.code !== "ENOENT") throw error
}

interface FileState {
  readonly text: string
  /** When the database itself last changed, in milliseconds since 1970. */
  readonly changedAt: number
}

/**
 * What changes when the database does. A log may grow meanwhile: its end is then cut, which SQLite sees and leaves out. A
 * log that begins anew has another header.
 */
const stateOf = async (source: string): Promise<FileState> => {
  const { ino, mtimeMs, size } = await stat(source)
  const beside = await Promise.all(companions.map((suffix) => beginningOf(source + suffix)))
  return { text: JSON.stringify([ino, mtimeMs, size, ...beside]), changedAt: mtimeMs }
}

/** The header of a log in hexadecimal digits; `null` when there is none. */
const beginningOf = async (path: string): Promise<string | null> => {
  const file = await open(path, "r").catch(ignoreMissing)
  if (file === undefined) return null
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(32), position: 0 })
    return buffer.toString("hex", 0, bytesRead)
  } finally {
    await file.close()
  }
}
