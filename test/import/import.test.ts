import { sqlite } from "@skein/adapter-sqlite"
import { Skein } from "@skein/core"
import { importAll } from "@skein/plugin-legacy-import"
import type { ImportReport } from "@skein/plugin-legacy-import"
import { opencode } from "@skein/plugin-legacy-import/opencode"
import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { describe, expect, it } from "vitest"
import {
  copyOfFixture,
  insert,
  message,
  scenario,
  temporary,
} from "../../packages/plugin-legacy-import/test/support.ts"

const root = resolve(import.meta.dirname, "../..")

/** What another process does: it imports a database, and prints the report. */
const program = `
  import { sqlite } from "@skein/adapter-sqlite"
  import { Skein } from "@skein/core"
  import { importAll } from "@skein/plugin-legacy-import"
  import { opencode } from "@skein/plugin-legacy-import/opencode"
  const [url, database] = process.argv.slice(-2)
  const skein = await Skein.open(sqlite({ url }))
  console.log(JSON.stringify(await skein.run(importAll(opencode({ database })))))
  await skein.close()
`

const importInProcess = (url: string, database: string): Promise<ImportReport> =>
  new Promise((done, failed) => {
    const options = [
      "--import",
      "tsx",
      "-C",
      "@skein/source",
      "--input-type=module",
      "-e",
      program,
      "--",
      url,
      database,
    ]
    const child = spawn(process.execPath, options, { cwd: root, stdio: ["ignore", "pipe", "inherit"] })
    let printed = ""
    child.stdout.on("data", (part: Buffer) => (printed += part.toString()))
    child.on("exit", (code) => {
      if (code === 0) done(JSON.parse(printed) as ImportReport)
      else failed(new Error(`the importing process ended with ${code}`))
    })
  })

describe("an import into a SQLite file", () => {
  it("A69 and IMP-03 by three processes at once brings each message once", async () => {
    const url = `file:${join(temporary(), "store.db")}`
    const database = copyOfFixture()

    const reports = await Promise.all([1, 2, 3].map(() => importInProcess(url, database)))

    const sum = (count: (report: ImportReport) => number) => reports.reduce((total, one) => total + count(one), 0)
    expect(sum(({ messages }) => messages.added)).toBe(47)
    expect(sum(({ outcomes }) => outcomes.created)).toBe(11)
    expect(sum(({ outcomes }) => outcomes.failed)).toBe(0)
    expect(reports.every(({ partial }) => !partial)).toBe(true)
    const skein = await Skein.open(sqlite({ url }))
    expect((await skein.sessions.list({ archived: false })).sessions).toHaveLength(9)
    expect(await skein.messages.count(scenario["adder"]!)).toBe(11)
    await skein.close()
  }, 60_000)

  it("IMP-05 leaves no secret of the source in the file", async () => {
    const secret = "SECRET-51c0-DO-NOT-IMPORT"
    const headers = { authorization: `Bearer ${secret}`, "x-api-key": secret }
    const database = copyOfFixture(
      insert("credential", { id: "c", label: secret, value: secret, time_created: 1, time_updated: 1 }),
      insert("session_share", {
        session_id: scenario["b"]!,
        id: "s",
        secret,
        url: secret,
        time_created: 1,
        time_updated: 1,
      }),
      ...message(scenario["b"]!, "msg_error", 1_796_027_900_000, {
        role: "assistant",
        error: { name: "APIError", data: { message: "refused", responseHeaders: headers, responseBody: secret } },
      }),
    )
    const directory = temporary()
    const skein = await Skein.open(sqlite({ url: `file:${join(directory, "store.db")}` }))
    await skein.run(importAll(opencode({ database })))
    await skein.close()

    const bytes = Buffer.concat(readdirSync(directory).map((name) => readFileSync(join(directory, name))))
    expect(bytes.includes("refused")).toBe(true)
    expect(bytes.includes(secret)).toBe(false)
  })
})
