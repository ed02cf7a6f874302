/**
 * The importer: everything a source has, brought in at once.
 *
 * Guarantee: what is here already is not read again, and what is new is added; a session is seen whole or not at all. One
 * that cannot be read is named in the report, is tried again next time, and keeps no other from coming in.
 *
 * Not promised: anything about sessions that appear at the source while it is being read. The next run has them.
 */
import { Imports, isRemark } from "@skein/core/import"
import type { ImportRecord } from "@skein/core/import"
import type { InvalidInput, Storage, StorageError } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { summarise, withPartial } from "./report.ts"
import type { ImportReport, SessionReport } from "./report.ts"
import { lost } from "./source.ts"
import type { Found, Source, SourceFailed } from "./source.ts"

/** How far an import has come. */
export interface Progress {
  /** The session that was just done. */
  readonly session: SessionReport
  /** How many are done, of how many. */
  readonly done: number
  readonly total: number
}

export interface ImportOptions {
  /** Called after each session. */
  readonly onProgress?: (progress: Progress) => void
  /** Brings in again what was deleted here. Default `false`: it stays deleted. */
  readonly restore?: boolean
}

/**
 * Brings in all sessions of a source.
 *
 * @param source  what a source's function gives, such as `opencode({ database })`; it is open as long as this runs
 * @throws SourceFailed  the source as a whole cannot be read
 * @throws StorageError  the store takes no more: it is full, closed, or busy for too long
 *
 * @example
 * const report = await skein.run(importAll(opencode({ database: "opencode.db" })))
 * report.partial // => false
 */
export const importAll = (
  source: Effect.Effect<Source, SourceFailed, Scope.Scope>,
  options: ImportOptions = {},
): Effect.Effect<ImportReport, SourceFailed | StorageError | InvalidInput, Storage> =>
  Effect.scoped(Effect.flatMap(source, (opened) => importFrom(opened, options))).pipe(Effect.provide(Imports.layer))

const importFrom = Effect.fnUntraced(function* (source: Source, { onProgress, restore = false }: ImportOptions) {
  const found = yield* Stream.runCollect(source.discover)
  const sessions = found.filter((item): item is Found => !isRemark(item))
  let done = 0
  const reports = yield* Effect.forEach(
    sessions,
    (one) =>
      Effect.tap(importSession(source, one, restore), (session) =>
        Effect.sync(() => onProgress?.({ session, done: ++done, total: sessions.length })),
      ),
    { concurrency: atOnce },
  )
  return summarise(source.name, reports, found.filter(isRemark))
})

/** How many sessions are brought in side by side, so that their commits share a flush to disk. */
const atOnce = 4

const importSession = Effect.fnUntraced(function* (source: Source, { fingerprint, id }: Found, restore: boolean) {
  const imports = yield* Imports
  const origin = { source: source.name, converter: source.converter }
  const record = yield* imports.record(source.name, id)
  if (record !== undefined && isCurrent(record, source, fingerprint)) return unchanged(id, record)
  const stays = record?.status === "deleted" && !(restore && (yield* imports.restore(source.name, id)))
  if (stays) return deleted(id, record)
  return yield* Effect.catch(bringSession(source, id), (error) => {
    if (error._tag === "StorageError" && endsAll(error)) return Effect.fail(error)
    if (error._tag === "SessionDeleted") return Effect.succeed(deleted(id, record))
    return Effect.as(imports.fail(origin, id, error.message), failed(id, record, error.message))
  })
})

const bringSession = Effect.fnUntraced(function* (source: Source, id: string) {
  const imports = yield* Imports
  const { remarks, session } = yield* source.metadata(id)
  const messages = Stream.concat(source.display(id), source.history(id))
  const origin = { source: source.name, converter: source.converter }
  const brought = yield* imports.bring(origin, session, Stream.concat(Stream.fromIterable(remarks), messages))
  const { added, deleted, outcome, sessionId, stored } = brought
  return withPartial({
    id,
    sessionId,
    outcome,
    messages: { source: session.messages, stored, added, deleted },
    remarks: brought.remarks,
  })
})

const isCurrent = (record: ImportRecord, source: Source, fingerprint: string): boolean =>
  record.status === "ready" && record.fingerprint === fingerprint && record.converter === source.converter

const unchanged = (id: string, { deleted, messages, remarks, sessionId, stored }: ImportRecord): SessionReport =>
  withPartial({
    id,
    sessionId,
    outcome: "unchanged",
    messages: { source: messages, stored, added: 0, deleted },
    remarks,
  })

/** A session that was deleted here: none of it is missing. */
const deleted = (id: string, record: ImportRecord | undefined): SessionReport => ({
  id,
  outcome: "deleted",
  messages: { source: record?.messages ?? 0, stored: 0, added: 0, deleted: record?.messages ?? 0 },
  remarks: [],
  partial: false,
})

const failed = (id: string, record: ImportRecord | undefined, error: string): SessionReport =>
  withPartial({
    id,
    ...(record?.fingerprint !== undefined && { sessionId: record.sessionId }),
    outcome: "failed",
    messages: { source: record?.messages ?? 0, stored: record?.stored ?? 0, added: 0, deleted: record?.deleted ?? 0 },
    remarks: [lost(`session ${id}`, error)],
  })

/** Whether what the store says is about all of it, and not about one session. */
const endsAll = ({ reason }: StorageError): boolean =>
  ["Busy", "Unavailable", "Full", "Closed", "Reset"].includes(reason._tag)
