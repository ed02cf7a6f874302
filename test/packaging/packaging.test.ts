import { execFile } from "node:child_process"
import { copyFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Consumer, entries, makeConsumer } from "./consumer.ts"

const execute = promisify(execFile)

/** What users may import. A new name here is a promise to keep. */
const publicEntries = {
  "@skein/adapter-indexeddb": ["@skein/adapter-indexeddb"],
  "@skein/adapter-memory": ["@skein/adapter-memory"],
  "@skein/adapter-sqlite": ["@skein/adapter-sqlite"],
  "@skein/contract-tests": ["@skein/contract-tests", "@skein/contract-tests/suite"],
  "@skein/core": [
    "@skein/core",
    "@skein/core/attachment",
    "@skein/core/deletion",
    "@skein/core/dialects",
    "@skein/core/fork",
    "@skein/core/head",
    "@skein/core/history",
    "@skein/core/import",
    "@skein/core/maintenance",
    "@skein/core/message",
    "@skein/core/project",
    "@skein/core/query-view",
    "@skein/core/queue",
    "@skein/core/rewind",
    "@skein/core/session",
    "@skein/core/storage",
    "@skein/core/stream",
    "@skein/core/turn",
    "@skein/core/usage",
  ],
  "@skein/node": ["@skein/node"],
  "@skein/plugin-legacy-import": ["@skein/plugin-legacy-import", "@skein/plugin-legacy-import/opencode"],
}

/** The suite registers tests with vitest, so only vitest can load it. */
const loadable = Object.values(publicEntries)
  .flat()
  .filter((entry) => entry !== "@skein/contract-tests/suite")

let consumer: Consumer
beforeAll(() => {
  consumer = makeConsumer()
  for (const file of ["load.mjs", "use.ts"]) copyFileSync(join("test/packaging", file), join(consumer.directory, file))
})
afterAll(() => consumer.remove())

describe("the packages as they are published", () => {
  it("API-05 have these public entries and no others", () => {
    const found = Object.fromEntries(consumer.packages.map((name) => [name, entries(consumer, name)]))

    expect(found).toEqual(publicEntries)
  })

  it("API-05 load in plain Node, and start nothing by it", async () => {
    const { stdout } = await execute(process.execPath, ["load.mjs", ...loadable], {
      cwd: consumer.directory,
    })

    expect(JSON.parse(stdout)).toEqual({ started: [], empty: [] })
  })

  it.concurrent.each([
    ["5.9", "typescript-5.9"],
    ["6.0", "typescript-6"],
    ["7.0", "typescript"],
  ])("API-05 compile in a strict project with TypeScript %s", async (version, compiler) => {
    const project = join(consumer.directory, `tsconfig.${version}.json`)
    writeFileSync(
      project,
      JSON.stringify({
        compilerOptions: {
          target: "es2022",
          module: "nodenext",
          lib: ["es2023", "dom", "dom.asynciterable"],
          types: [],
          strict: true,
          exactOptionalPropertyTypes: true,
          noUncheckedIndexedAccess: true,
          skipLibCheck: true,
          noEmit: true,
        },
        files: ["use.ts"],
      }),
    )

    const complaints = await execute(process.execPath, [
      resolve("node_modules", compiler, "bin/tsc"),
      "-p",
      project,
    ]).then(
      () => "",
      (error: { readonly stdout: string }) => error.stdout,
    )

    expect(complaints).toBe("")
  })
})
