/**
 * All rows of a store, to be looked at together.
 */
import type { BlobChunkRow, BlobRow, BlobUseRow, QueueFileRow } from "../../packages/core/src/attachment/model.ts"
import { BlobChunkTable, BlobTable, BlobUseTable, QueueFileTable } from "../../packages/core/src/attachment/model.ts"
import type { HeadMoveRow } from "../../packages/core/src/head/model.ts"
import { HeadMoveTable } from "../../packages/core/src/head/model.ts"
import type { BranchRow, EntryRow, TreeRow } from "../../packages/core/src/message/model.ts"
import { BranchTable, EntryTable, TreeTable } from "../../packages/core/src/message/model.ts"
import type { ProjectRow } from "../../packages/core/src/project/model.ts"
import { ProjectTable } from "../../packages/core/src/project/model.ts"
import type { OperationRow } from "../../packages/core/src/operation/model.ts"
import { OperationTable } from "../../packages/core/src/operation/model.ts"
import type { QueueItemRow } from "../../packages/core/src/queue/model.ts"
import { QueueItemTable } from "../../packages/core/src/queue/model.ts"
import type { UsageRow, UsageSumRow } from "../../packages/core/src/usage/model.ts"
import { UsageSumTable, UsageTable } from "../../packages/core/src/usage/model.ts"
import type { SessionRow } from "../../packages/core/src/session/model.ts"
import { SessionTable } from "../../packages/core/src/session/model.ts"
import type { QueryViewRow } from "../../packages/core/src/query-view/model.ts"
import { QueryViewTable } from "../../packages/core/src/query-view/model.ts"
import type { TurnRow } from "../../packages/core/src/turn/model.ts"
import { TurnTable } from "../../packages/core/src/turn/model.ts"
import { Tx } from "@skein/core/storage"
import type { AnyTable, KeyPart, Storage } from "@skein/core/storage"
import * as Effect from "effect/Effect"

export interface StoreRows {
  readonly projects: ReadonlyArray<ProjectRow>
  readonly sessions: ReadonlyArray<SessionRow>
  readonly trees: ReadonlyArray<TreeRow>
  readonly branches: ReadonlyArray<BranchRow>
  readonly entries: ReadonlyArray<EntryRow>
  readonly moves: ReadonlyArray<HeadMoveRow>
  readonly turns: ReadonlyArray<TurnRow>
  readonly views: ReadonlyArray<QueryViewRow>
  readonly items: ReadonlyArray<QueueItemRow>
  readonly receipts: ReadonlyArray<OperationRow>
  readonly calls: ReadonlyArray<UsageRow>
  readonly sums: ReadonlyArray<UsageSumRow>
  readonly blobs: ReadonlyArray<BlobRow>
  readonly chunks: ReadonlyArray<BlobChunkRow>
  readonly uses: ReadonlyArray<BlobUseRow>
  readonly queueFiles: ReadonlyArray<QueueFileRow>
}

/** The table that each kind of row is in. */
export const rowTables: { readonly [Kind in keyof StoreRows]: AnyTable } = {
  projects: ProjectTable,
  sessions: SessionTable,
  trees: TreeTable,
  branches: BranchTable,
  entries: EntryTable,
  moves: HeadMoveTable,
  turns: TurnTable,
  views: QueryViewTable,
  items: QueueItemTable,
  receipts: OperationTable,
  calls: UsageTable,
  sums: UsageSumTable,
  blobs: BlobTable,
  chunks: BlobChunkTable,
  uses: BlobUseTable,
  queueFiles: QueueFileTable,
}

/** Rows by kind, given a way to read a whole table in the order of its key. */
export const gather = <E, R>(
  read: (table: AnyTable) => Effect.Effect<ReadonlyArray<unknown>, E, R>,
): Effect.Effect<StoreRows, E, R> =>
  Effect.map(Effect.all(Object.values(rowTables).map(read)), (lists) => {
    const kinds = Object.keys(rowTables)
    // What is in a table was checked against the table's own schema when it was read.
    return Object.fromEntries(kinds.map((kind, i) => [kind, lists[i]])) as unknown as StoreRows
  })

/** All rows, through programs: what the services see. Fails with `Corrupt` at the first row that cannot be read. */
export const rowsOfStorage = Effect.fnUntraced(function* (storage: Storage["Service"]) {
  return yield* gather((table) => readAll(storage, table))
})

const readAll = Effect.fnUntraced(function* (storage: Storage["Service"], table: AnyTable) {
  const found: Array<unknown> = []
  let after: ReadonlyArray<KeyPart> | undefined
  for (;;) {
    const rows: ReadonlyArray<Readonly<Record<string, KeyPart>>> = yield* storage.read(
      Tx.make(function* (tx) {
        // Of a table of any shape the types of the key are not known.
        return yield* tx.range(table, "key", after === undefined ? {} : { after: after as readonly [] })
      }),
    )
    found.push(...rows)
    const last = rows.at(-1)
    if (last === undefined || rows.length < Tx.maxRange) return found
    after = table.key.map(({ name }) => last[name]!)
  }
})
