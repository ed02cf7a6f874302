/**
 * Brings other programs' sessions into Skein.
 *
 * Sources that need Node have entries of their own: `@skein/plugin-legacy-import/opencode`.
 */
export { importAll } from "./importer.ts"
export type { ImportOptions, Progress } from "./importer.ts"
export type { ImportReport, MessageCounts, Outcome, SessionReport } from "./report.ts"
export { lost, repaired, SourceFailed } from "./source.ts"
export type { Described, Found, Source } from "./source.ts"
