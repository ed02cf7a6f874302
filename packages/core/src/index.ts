/**
 * Skein: the session layer for AI agents.
 *
 * `Skein.open` gives the interface of promises; the services under the same names are for those who write Effect. Both
 * stand on an adapter: `@skein/adapter-memory`, `@skein/adapter-sqlite`, `@skein/adapter-indexeddb`.
 */
export { Skein } from "./skein.ts"
export type { CallOptions, Ending, Envelope, NewMessage, OpenOptions, Start, Submission, Turn } from "./skein.ts"
export { layer } from "./services.ts"
export type { LayerOptions, Services } from "./services.ts"
export { defaultSettings, Settings } from "./settings.ts"
export type { PathPolicy, SkeinSettings } from "./settings.ts"
export { Ids } from "./id.ts"
export { coreSchema, coreTables } from "./schema.ts"

export { Forks } from "./fork/service.ts"
export { Deletions } from "./deletion/service.ts"
export type { DeletedSession, DeleteParticipant, ParticipantFailure } from "./deletion/service.ts"
export { Attachments } from "./attachment/service.ts"
export { Heads } from "./head/service.ts"
export { History } from "./history/service.ts"
export { Messages } from "./message/service.ts"
export { Projects } from "./project/service.ts"
export { Maintenance } from "./maintenance/service.ts"
export { QueryViews } from "./query-view/service.ts"
export { FileFault } from "./rewind/file-history.ts"
export type {
  Eligibility,
  FileEffect,
  FileHistory,
  FilePlan,
  FileRewind,
  FileRun,
  FileSession,
} from "./rewind/file-history.ts"
export { Queue } from "./queue/service.ts"
export { Rewinds } from "./rewind/service.ts"
export { Sessions } from "./session/service.ts"
export { Relay, Streams } from "./stream/service.ts"
export { Turns } from "./turn/service.ts"
export { Usage } from "./usage/service.ts"

export { TombstoneTable } from "./deletion/model.ts"
export { BlobChunkTable, BlobTable, BlobUseTable, QueueFileTable } from "./attachment/model.ts"
export { HeadMoveTable } from "./head/model.ts"
export { BranchTable, EntryTable, TreeTable } from "./message/model.ts"
export { ProjectTable } from "./project/model.ts"
export { QueryViewTable } from "./query-view/model.ts"
export { OperationTable } from "./operation/model.ts"
export { QueueItemTable } from "./queue/model.ts"
export { SessionTable } from "./session/model.ts"
export { TurnTable } from "./turn/model.ts"
export { UsageSumTable, UsageTable } from "./usage/model.ts"

export { mcodeStatus, openProgramNodeStatus, openProgramStatus, wireStatus, wireStatusOf } from "./turn/status.ts"
export type {
  McodeStatus,
  OpenProgramNodeStatus,
  OpenProgramStatus,
  ReadStatus,
  StatusWords,
  WireStatus,
} from "./turn/status.ts"
