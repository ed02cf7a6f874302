/**
 * Upgrading an older store (A75, STO-08): interrupted at every statement, and raced by several processes.
 *
 * Whatever happens, the file holds the older store or the upgraded one, all of it; whoever opens it next goes on.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { sqlite } from "@skein/adapter-sqlite"
import { inDirectory } from "./directory.ts"
import { copyStore, inspectFile, withFile } from "./file.ts"
import { createOlder, expectedToBeSeen, seen, upgrading } from "./older.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { countUp, race, start } from "./processes.ts"
import type { StoreRows } from "./rows.ts"
import { sqliteWith, watched } from "./steps.ts"
import { openStore } from "./store.ts"

export interface UpgraderOptions {
  readonly path: string
  /** After which statement it is killed. Absent: it is not. */
  readonly killAfter?: number
}

/** Stops at every statement: the files are copied after each one, and each copy is looked at and opened. */
export const interruptedUpgrades = (): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const rows = await createOlder(path)
    const copies: Array<string> = []
    const driver = watched((_, run) => {
      const answer = run()
      copies.push(copyStore(path, join(directory, `after-${copies.length + 1}.db`)))
      return answer
    })
    const store = openStore(upgrading(sqliteWith(driver, { url: `file:${path}` })))
    await store.rows()
    await store.close()

    const failures: Array<string> = []
    const versions: Array<number> = []
    for (const [i, copy] of copies.entries()) {
      const where = `stopped after ${i + 1} of ${copies.length} statements:`
      versions.push(versionOf(copy))
      failures.push(...(await opens(copy, rows)).map((problem) => `${where} ${problem}`))
    }
    const before = versions.filter((version) => version === 1).length
    return {
      figures: `an upgrade stopped after each of ${copies.length} statements: ${before} times not yet done, then done`,
      failures: [
        ...failures,
        ...unless(before > 0 && before < versions.length, "the upgrade was never seen undone, or never done"),
        ...unless(isDeepStrictEqual(versions, versions.toSorted()), "a version went back"),
        ...(await isLikeNew(path, directory)),
        ...(await isLeftAlone(path)),
      ],
    }
  })

/** A real process, killed after a statement of the upgrade. `undefined`: it has fewer. */
export const upgradeKilledAt = (statement: number): Promise<ReadonlyArray<string> | undefined> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const rows = await createOlder(path)
    const options: UpgraderOptions = { path, killAfter: statement }
    const child = start("upgrades", options)
    await child.ready
    child.go()
    if ((await child.ended) === 0) return undefined
    return (await opens(path, rows)).map((problem) => `killed after ${statement} statements: ${problem}`)
  })

/** A real process, killed after every statement of the upgrade in turn. */
export const upgradeKilledEverywhere = async (): Promise<Outcome> => {
  const found = await countUp((n) => upgradeKilledAt(n + 1))
  return { figures: `an upgrade killed after each of ${found.length} statements`, failures: found.flat() }
}

/** Several processes open an older store at once. */
export const racedUpgrades = async ({
  processes,
  rounds,
}: {
  readonly processes: number
  readonly rounds: number
}): Promise<Outcome> => {
  const failures: Array<string> = []
  for (let round = 1; round <= rounds; round++) {
    await inDirectory(async (directory) => {
      const path = join(directory, "store.db")
      const rows = await createOlder(path)
      const found = await race(
        "upgrades",
        Array.from({ length: processes }, (): UpgraderOptions => ({ path })),
      )
      failures.push(...found.flatMap((what) => unless(what === expectedToBeSeen, `somebody saw ${String(what)}`)))
      failures.push(...(await opens(path, rows)))
    })
  }
  return { figures: `${processes} processes upgraded one store together, ${rounds} times`, failures }
}

const versionOf = (path: string): number =>
  withFile(path, (database) => {
    const [version] = database.prepare("SELECT version FROM skein_schema").raw(true).get() as [number]
    return version
  })

/** Opens a store, which upgrades it where that is to be done, and says what is missing then. */
const opens = async (path: string, rows: StoreRows): Promise<ReadonlyArray<string>> => {
  const store = openStore(upgrading(sqlite({ url: `file:${path}` })))
  try {
    const what = await store.run(seen)
    const found = inspectFile(path)
    return [
      ...found.problems,
      ...unless(what === expectedToBeSeen, `one sees ${what}`),
      ...unless(isDeepStrictEqual(found.rows, rows), "the rows are not what they were"),
      ...unless(versionOf(path) === 2, `its version is ${versionOf(path)}`),
    ]
  } catch (failure) {
    return [`it cannot be opened: ${String(failure)}`]
  } finally {
    await store.close()
  }
}

/** An upgraded file has the tables of a new one. */
const isLikeNew = async (path: string, directory: string): Promise<ReadonlyArray<string>> => {
  const fresh = join(directory, "fresh.db")
  const store = openStore(upgrading(sqlite({ url: `file:${fresh}` })))
  await store.rows()
  await store.close()
  return unless(isDeepStrictEqual(layoutOf(path), layoutOf(fresh)), "an upgraded store has other tables than a new one")
}

const layoutOf = (path: string): ReadonlyArray<unknown> =>
  withFile(path, (database) =>
    database.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").raw(true).all(),
  )

/** To open what is upgraded changes nothing. */
const isLeftAlone = async (path: string): Promise<ReadonlyArray<string>> => {
  const before = digestOf(path)
  const store = openStore(upgrading(sqlite({ url: `file:${path}` })))
  await store.run(seen)
  await store.close()
  return unless(digestOf(path) === before, "opening an upgraded store again has changed the file")
}

const digestOf = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex")
