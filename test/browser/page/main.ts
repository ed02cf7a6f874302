/**
 * The page that browser tests run in. A test calls what is put on `globalThis.skein`.
 */
import { contractTrial } from "./contract.ts"
import { portTrial } from "./port.ts"
import { appendRows, appendUntilKilled, fillStore, openStore, storedRows } from "./store.ts"

const page = { contractTrial, portTrial, openStore, appendRows, appendUntilKilled, fillStore, storedRows }

export type Page = typeof page

declare global {
  var skein: Page
}

globalThis.skein = page
