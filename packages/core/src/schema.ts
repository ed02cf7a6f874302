/**
 * The tables of skein, and the version of their layout.
 */
import { TombstoneTable } from "./deletion/model.ts"
import { BlobChunkTable, BlobTable, BlobUseTable, QueueFileTable } from "./attachment/model.ts"
import { HeadMoveTable } from "./head/model.ts"
import { ImportTable } from "./import/model.ts"
import { BranchTable, EntryTable, TreeTable } from "./message/model.ts"
import { ProjectTable } from "./project/model.ts"
import { QueryViewTable } from "./query-view/model.ts"
import { SessionTable } from "./session/model.ts"
import { QueueItemTable } from "./queue/model.ts"
import { TurnTable } from "./turn/model.ts"
import { OperationTable } from "./operation/model.ts"
import { UsageSumTable, UsageTable } from "./usage/model.ts"
import type { Schema } from "./storage/schema.ts"
import type { AnyTable } from "./storage/table.ts"

/** The tables that skein keeps its own rows in. */
export const coreTables: ReadonlyArray<AnyTable> = [
  ProjectTable,
  SessionTable,
  TreeTable,
  BranchTable,
  EntryTable,
  HeadMoveTable,
  TurnTable,
  QueryViewTable,
  QueueItemTable,
  OperationTable,
  UsageTable,
  UsageSumTable,
  ImportTable,
  TombstoneTable,
  BlobTable,
  BlobChunkTable,
  BlobUseTable,
  QueueFileTable,
]

/** The schema of a store: skein's tables, and the host's own declared beside them. */
export const coreSchema = (tables: ReadonlyArray<AnyTable> = []): Schema => ({
  version: 1,
  oldestReader: 1,
  oldestWriter: 1,
  tables: [...coreTables, ...tables],
  migrations: [],
})
