/**
 * What every adapter must do, to be run on yours: `report` anywhere, `suite` (from `@skein/contract-tests/suite`) in
 * vitest.
 */
export type { Harness, Place } from "./harness.ts"
export { law, lawWith, NotApplicable } from "./law.ts"
export type { Law, LawOptions, Need, Store } from "./law.ts"
export { laws } from "./laws/index.ts"
export { storageLaws } from "./laws/storage/index.ts"
export { report } from "./report.ts"
export type { Options } from "./report.ts"
export { openStorage, withStorage } from "./storage.ts"
export type { OpenOptions } from "./storage.ts"
export { BrokenLaw } from "./trial.ts"
export type { Result } from "./trial.ts"
