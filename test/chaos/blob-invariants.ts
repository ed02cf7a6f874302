/**
 * What must hold of blobs, whatever happened.
 */
import { nameOf } from "../../packages/core/src/attachment/blob.ts"
import type { BlobRow } from "../../packages/core/src/attachment/model.ts"
import type { EntryRow } from "../../packages/core/src/message/model.ts"
import type { StoreRows } from "./rows.ts"

/** One sentence for each thing that does not hold. */
export const blobProblems = ({ blobs, chunks, entries, uses }: StoreRows): ReadonlyArray<string> => {
  const isUsed = (hash: string) => uses.some((use) => use.hash === hash && use.branch > 0)
  const isThere = (hash: string) => blobs.some((blob) => blob.hash === hash && blob.partial !== true)
  return [
    ...uses.filter(({ hash }) => !isThere(hash)).map(({ hash }) => `the blob ${hash} is used and not there`),
    ...uses
      .filter(({ branch, holder, pos }) => branch > 0 && !entries.some((row) => isAt(row, holder, branch, pos)))
      .map(({ branch, holder, pos }) => `entry ${pos} on branch ${branch} of ${holder} is not there, and uses a blob`),
    ...entries.flatMap((row) =>
      hashesIn(row)
        .filter((hash) => !uses.some((use) => use.hash === hash && isAt(row, use.holder, use.branch, use.pos)))
        .map((hash) => `entry ${row.id} needs the blob ${hash} and does not use it`),
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

const isAt = (row: EntryRow, holder: string, branch: number, pos: number): boolean =>
  row.treeId === holder && row.branch === branch && row.pos === pos

const hashesIn = ({ body, display, draft, large, model }: EntryRow): ReadonlyArray<string> => {
  if (large === undefined || draft === true) return []
  const bodies = { body, display, model }
  return (["body", "display", "model"] as const).flatMap((field) =>
    bodies[field] === null ? [large[field]?.hash ?? `of its ${field}`] : [],
  )
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
