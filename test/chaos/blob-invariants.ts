/**
 * What must hold of blobs, whatever happened.
 */
import { nameOf } from "../../packages/core/src/attachment/blob.ts"
import { filesIn } from "../../packages/core/src/attachment/files.ts"
import type { BlobRow, BlobUseRow, QueueFileRow } from "../../packages/core/src/attachment/model.ts"
import type { EntryRow } from "../../packages/core/src/message/model.ts"
import type { QueueItemRow } from "../../packages/core/src/queue/model.ts"
import type { StoreRows } from "./rows.ts"

/** One sentence for each thing that does not hold. */
export const blobProblems = ({ blobs, chunks, entries, items, queueFiles, uses }: StoreRows): ReadonlyArray<string> => {
  const isUsed = (hash: string) => uses.some((use) => use.hash === hash)
  const isThere = (hash: string) => blobs.some((blob) => blob.hash === hash && blob.partial !== true)
  return [
    ...[...uses, ...queueFiles]
      .filter(({ hash }) => !isThere(hash))
      .map(({ hash }) => `the blob ${hash} is used and not there`),
    ...uses
      .filter((use) => !entries.some((row) => isAt(row, use) && hashesIn(row).includes(use.hash)))
      .map(({ branch, pos, treeId }) => `a use at entry ${pos} on branch ${branch} of ${treeId} is of nothing there`),
    ...entries.flatMap((row) =>
      hashesIn(row)
        .filter((hash) => !uses.some((use) => use.hash === hash && isAt(row, use)))
        .map((hash) => `entry ${row.id} needs the blob ${hash} and does not use it`),
    ),
    ...queueFiles
      .filter((file) => !items.some((item) => isOf(item, file) && filesOf(item).includes(file.hash)))
      .map(({ hash, itemId }) => `the item ${itemId} is said to have the file ${hash}`),
    ...items.flatMap((item) =>
      filesOf(item)
        .filter((hash) => !queueFiles.some((file) => isOf(item, file) && file.hash === hash))
        .map((hash) => `the item ${item.id} does not hold its file ${hash}`),
    ),
    ...blobs
      .filter(({ checkAt, hash }) => checkAt === undefined && !isUsed(hash))
      .map(({ hash }) => `the blob ${hash} is used by nobody, and will never be looked at`),
    ...blobs.flatMap((blob) => contentProblems(blob, chunks)),
    ...chunks
      .filter(({ hash }) => !blobs.some((blob) => blob.hash === hash))
      .map(({ hash, n }) => `chunk ${n} is of the blob ${hash}, which is not there`),
  ]
}

const isAt = (row: EntryRow, { branch, pos, treeId }: BlobUseRow): boolean =>
  row.treeId === treeId && row.branch === branch && row.pos === pos

const isOf = (item: QueueItemRow, { itemId, sessionId }: QueueFileRow): boolean =>
  item.sessionId === sessionId && item.id === itemId

const filesOf = ({ attachments }: Pick<EntryRow, "attachments">): ReadonlyArray<string> =>
  filesIn(attachments).map(({ hash }) => hash)

const hashesIn = (row: EntryRow): ReadonlyArray<string> => {
  if (row.draft === true) return []
  const bodies = (["body", "display", "model"] as const).flatMap((field) =>
    row[field] === null ? [row.large?.[field]?.hash ?? `of its ${field}`] : [],
  )
  return [...filesOf(row), ...bodies]
}

const contentProblems = ({ bytes, hash, partial }: BlobRow, chunks: StoreRows["chunks"]): ReadonlyArray<string> => {
  if (partial === true) return []
  const own = chunks.filter((chunk) => chunk.hash === hash).toSorted((a, b) => a.n - b.n)
  const whole = new Uint8Array(own.reduce((sum, { data }) => sum + data.length, 0))
  let at = 0
  for (const { data } of own) {
    whole.set(data, at)
    at += data.length
  }
  const isWhole = whole.length === bytes && nameOf(whole) === hash
  return isWhole ? [] : [`the chunks of the blob ${hash} are not what it is named after`]
}
