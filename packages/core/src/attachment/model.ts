/**
 * Blobs: what is too large for a row, or no JSON. Bodies of messages, and files that came with them.
 *
 * A blob is kept once, under the hash of its bytes, in chunks. A *use* says which entry holds it: its key begins with the
 * place of the entry, so that it goes when the entry goes, and forks share it for nothing.
 *
 * Guarantee: a blob that an entry uses is there. One without a use is due to be looked at an hour later, and is freed then
 * if it still has none: `checkAt` is there wherever no entry uses a blob, and may be where one does.
 */
import * as z from "zod/mini"
import { index, int, table, text } from "../storage/table.ts"

/** The bytes of a chunk. The last one of a blob may be shorter. */
export const chunkBytes = 512 * 1024

/** How long a blob is kept that nothing uses, in milliseconds: an hour. */
export const grace = 60 * 60 * 1_000

export const BlobRow = z.object({
  /** `sha256-` and the hash of its bytes in hexadecimal digits; for one that is still being put, the name of that. */
  hash: z.string(),
  bytes: z.number(),
  /** Not all of its chunks are there yet. */
  partial: z.optional(z.boolean()),
  /** When to look whether it is used. */
  checkAt: z.optional(z.number()),
})
export type BlobRow = z.output<typeof BlobRow>
export const BlobTable = table("blob", {
  row: BlobRow,
  key: [text("hash")],
  indexes: { byCheck: index(int("checkAt")) },
})

export const BlobChunkRow = z.object({
  hash: z.string(),
  /** From 0. */
  n: z.number(),
  data: z.custom<Uint8Array>((value) => value instanceof Uint8Array),
})
export type BlobChunkRow = z.output<typeof BlobChunkRow>
export const BlobChunkTable = table("blob_chunk", {
  row: BlobChunkRow,
  key: [text("hash"), int("n")],
  bytes: "data",
})

export const BlobUseRow = z.object({
  /** The place of the entry. */
  treeId: z.string(),
  branch: z.number(),
  pos: z.number(),
  n: z.number(),
  hash: z.string(),
  /** Of a file that came with a message: what is listed of it. */
  file: z.optional(
    z.object({
      name: z.string(),
      mime: z.string(),
      bytes: z.number(),
      /** The message's id, and when it was said. */
      message: z.string(),
      createdAt: z.number(),
    }),
  ),
  /** Its position where it is a file, which is how those of a path are found. */
  filePos: z.optional(z.number()),
})
export type BlobUseRow = z.output<typeof BlobUseRow>
export const BlobUseTable = table("blob_use", {
  row: BlobUseRow,
  key: [text("treeId"), int("branch"), int("pos"), int("n")],
  indexes: { byHash: index(text("hash")), byFile: index(text("treeId"), int("branch"), int("filePos")) },
})

/** A file of an item that waits in a queue: it holds its blob until the item has left. */
export const QueueFileRow = z.object({ sessionId: z.string(), itemId: z.string(), n: z.number(), hash: z.string() })
export type QueueFileRow = z.output<typeof QueueFileRow>
export const QueueFileTable = table("queue_file", {
  row: QueueFileRow,
  key: [text("sessionId"), text("itemId"), int("n")],
  indexes: { byHash: index(text("hash")) },
  ownedBy: "session",
})
