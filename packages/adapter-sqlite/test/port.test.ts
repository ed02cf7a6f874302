import { it } from "@effect/vitest"
import { portChecks } from "../../../test/port/checks.ts"
import { rowChecks } from "../../../test/port/rows.ts"
import { seedOfRun } from "../../../test/port/seed.ts"
import { sqlite } from "../src/index.ts"
import { newFile } from "./directory.ts"

/**
 * Asks for JSON text with unpaired surrogates in it, which `JSON.stringify` never writes and no UTF-8 file can hold.
 * `text.test.ts` has the same check of text that is JSON.
 */
const beyondThePort = "STO-05 JSON text comes back exactly, damaged or not"

for (const { name, run } of portChecks(seedOfRun())) {
  if (name !== beyondThePort) it.effect(name, () => run(sqlite({ url: `file:${newFile()}` })))
}

// In memory each opening is a database of its own, so that the checks of opening again do not apply.
for (const { name, run } of rowChecks) {
  if (name !== beyondThePort) it.effect(`${name}, in memory`, () => run(sqlite({ url: ":memory:" })))
}
