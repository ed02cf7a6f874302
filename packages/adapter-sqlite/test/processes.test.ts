import { existsSync } from "node:fs"
import { expect, it } from "vitest"
import { newFile } from "./directory.ts"
import { runMany } from "./process/child.ts"
import { query } from "./sql.ts"

interface Appended {
  readonly places: ReadonlyArray<number>
  readonly migrated: number
}

/** Four processes that open a file at the same moment, and append to it. */
const together = (path: string, version: number, appends: number) =>
  runMany<Appended>(4, "append.ts", path, String(version), String(appends), String(Date.now() + 1_500))

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)
const sorted = (numbers: ReadonlyArray<number>) => numbers.toSorted((a, b) => a - b)
const places = (processes: ReadonlyArray<Appended>) => sorted(processes.flatMap((one) => one.places))
const migrated = (processes: ReadonlyArray<Appended>) => sorted(processes.map((one) => one.migrated))

it(
  "A31 A75 STO-08 of processes that create and upgrade one file together one does it, none fails, and all is stored",
  { timeout: 120_000 },
  async () => {
    const path = newFile()
    const created = await together(path, 1, 50)
    expect(places(created)).toEqual(upTo(200))

    const upgraded = await together(path, 2, 5)
    expect(places([...created, ...upgraded])).toEqual(upTo(220))
    expect(migrated(upgraded)).toEqual([0, 0, 0, 200])
    expect(query(path, "SELECT count(*), max(n) FROM item")).toEqual([[220, 220]])
    expect(query(path, "SELECT name FROM sqlite_schema WHERE name LIKE 'skein_%'")).toEqual([["skein_schema"]])
    expect(query(path, "PRAGMA integrity_check")).toEqual([["ok"]])
  },
)

const listsDescriptors = existsSync("/proc/self/fd")

it.runIf(listsDescriptors)(
  "STO-10 opening and closing fifty times leaves no descriptor and no file but one (where the system lists them)",
  { timeout: 60_000 },
  async () => {
    const path = newFile()
    const [counted] = await runMany<{ before: number; after: number; engines: number }>(1, "descriptors.ts", path)
    expect(counted).toEqual({ before: counted!.before, after: counted!.before, engines: 51 })
    expect([existsSync(path), existsSync(`${path}-wal`), existsSync(`${path}-shm`)]).toEqual([true, false, false])
  },
)
