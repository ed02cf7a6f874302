import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import Database from "libsql"
import { copyFileSync, readdirSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { opencode } from "../src/opencode/index.ts"
import { privateCopy } from "../src/opencode/private-copy.ts"
import {
  copyOfFixture,
  filesIn,
  importInto,
  insert,
  message,
  openStore,
  session,
  temporary,
  userSaid,
} from "./support.ts"

/** Sets the directory of temporary files for one run. */
const withTemporary = async <A>(run: (directory: string) => Promise<A>): Promise<A> => {
  const directory = temporary()
  const before = process.env["TMPDIR"]
  process.env["TMPDIR"] = directory
  try {
    return await run(directory)
  } finally {
    if (before === undefined) delete process.env["TMPDIR"]
    else process.env["TMPDIR"] = before
  }
}

describe("a private copy", () => {
  it("IMP-07 has what is in the log alone, and the source keeps its bytes and names", async () => {
    const database = copyOfFixture()
    const writer = new Database(database)
    writer.exec("PRAGMA wal_autocheckpoint = 0")
    writer.exec("DELETE FROM session WHERE id <> 'x'")
    writer.exec(session("ses_in_log", 1_796_027_900_000))
    for (const statement of message("ses_in_log", "msg_in_log", 1_796_027_900_001, ...userSaid("in the log"))) {
      writer.exec(statement)
    }
    // As a killed program leaves it: log and database, no index of the log.
    const killed = temporary()
    for (const suffix of ["", "-wal"]) copyFileSync(database + suffix, join(killed, `opencode.db${suffix}`))
    writer.close()
    const before = filesIn(killed)

    const skein = await openStore()
    const report = await importInto(skein, join(killed, "opencode.db"))

    expect(report.sessions.map(({ id }) => id)).toEqual(["ses_in_log"])
    expect((await skein.messages.prompts("ses_in_log")).map(({ text }) => text)).toEqual(["in the log"])
    expect(filesIn(killed)).toEqual(before)
    expect(Object.keys(before)).toEqual(["opencode.db", "opencode.db-wal"])
  })

  it("IMP-07 is gone after the import, also after one that failed", () =>
    withTemporary(async (directory) => {
      const skein = await openStore()
      const database = copyOfFixture()
      const other = copyOfFixture("DROP TABLE part")
      const present = readdirSync(directory)

      await importInto(skein, database)
      await expect(importInto(skein, other)).rejects.toMatchObject({ _tag: "SourceFailed" })

      expect(readdirSync(directory)).toEqual(present)
    }))

  it("IMP-07 can be read by nobody else while it is there", () =>
    withTemporary(async (directory) => {
      const database = copyOfFixture()
      const mode = await Effect.runPromise(
        Effect.scoped(Effect.map(privateCopy(database), (path) => statSync(dirname(path)).mode & 0o777)),
      )
      expect(mode).toBe(0o700)
      expect(readdirSync(directory).filter((name) => name.startsWith("skein-import-"))).toEqual([])
    }))

  it("IMP-07 is one state of a database that is written and checkpointed meanwhile", async () => {
    const database = copyOfFixture(
      "CREATE TABLE filler AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT zeroblob(100000) FROM n",
      "CREATE TABLE one (n integer, filler text)",
      "CREATE TABLE two (n integer)",
    )
    const writer = new Database(database)
    writer.exec("PRAGMA wal_autocheckpoint = 0")
    let n = 0
    let stopped = false
    /** Two tables that are changed together, with checkpoints now and then. */
    const write = () => {
      if (stopped) return
      n++
      writer.exec(`BEGIN; INSERT INTO one VALUES (${n}, '${"x".repeat(2_000)}'); INSERT INTO two VALUES (${n}); COMMIT`)
      // Bursts, with the log begun anew again and again, and rests that are long enough for a copy.
      if (n % 3 === 0) writer.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      if (n % 200 === 0) setTimeout(write, 500)
      else setImmediate(write)
    }
    write()
    try {
      for (let round = 0; round < 4; round++) {
        const [ones, twos, check] = await Effect.runPromise(
          Effect.scoped(
            Effect.map(privateCopy(database), (path) => {
              const copy = new Database(path)
              const count = (sql: string) => Object.values(copy.prepare(sql).get() as object)[0] as unknown
              const found = [
                count("SELECT count(*) || '/' || max(n) FROM one"),
                count("SELECT count(*) || '/' || max(n) FROM two"),
                count("PRAGMA integrity_check"),
              ]
              copy.close()
              return found
            }),
          ),
        )
        expect(check).toBe("ok")
        expect(ones).toBe(twos)
      }
      expect(n).toBeGreaterThan(25)
    } finally {
      stopped = true
      writer.close()
    }
  }, 30_000)
})

describe("a long session", () => {
  it("IMP-06 is read in pages of far less than 1 MiB, and a message that is larger for itself", async () => {
    const time = 1_796_027_900_000
    const text = "y".repeat(100_000)
    const database = copyOfFixture(
      session("ses_long", time),
      ...Array.from({ length: 80 }, (_, i) => message("ses_long", `msg_${i}`, time + i, ...userSaid(text))).flat(),
      ...message("ses_long", "msg_huge", time + 1_000, ...userSaid("z".repeat(3_000_000))),
      insert("message", {
        id: "msg_end",
        session_id: "ses_long",
        time_created: time + 2_000,
        time_updated: 1,
        data: "{}",
      }),
    )
    const sizes = await Effect.runPromise(
      Effect.scoped(
        Effect.flatMap(opencode({ database }), (source) =>
          Stream.runCollect(
            Stream.map(Stream.chunks(source.display("ses_long")), (page) => JSON.stringify(page).length),
          ),
        ),
      ),
    )

    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(11_000_000)
    expect(sizes.filter((size) => size > 500_000)).toHaveLength(1)
    expect(sizes.length).toBeGreaterThan(25)
  })

  it("IMP-06 of a thousand messages comes in whole and in order", async () => {
    const time = 1_796_027_900_000
    const ids = Array.from({ length: 1_000 }, (_, i) => `msg_${String(i).padStart(4, "0")}`)
    const database = copyOfFixture(
      session("ses_long", time),
      ...ids.flatMap((id, i) => message("ses_long", id, time + Math.floor(i / 7), ...userSaid(id))),
    )
    const skein = await openStore()

    expect(await importInto(skein, database)).toMatchObject({ partial: false, messages: { stored: 1_047 } })
    expect(await skein.messages.count("ses_long")).toBe(1_000)
    const first = await skein.messages.page("ses_long", { around: ids[500]!, limit: 4 })
    expect(first.messages.map(({ id }) => id)).toEqual(ids.slice(498, 502))
  })
})
