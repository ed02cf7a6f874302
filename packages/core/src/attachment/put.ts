/**
 * The rules of putting: how bytes become a blob that nobody uses yet.
 *
 * What comes as a stream has no name before its end, so that it is staged under a name of its own and moved then. Until it is
 * used it is due to be looked at an hour after it was last touched, so that nothing stays of what was never finished.
 */
import { fn } from "../storage/transaction.ts"
import { BlobChunkTable, BlobTable, chunkBytes, grace } from "./model.ts"

/** Keeps a blob for another hour. Answers whether it is there, all of it. */
export const keepBlob = fn(function* (tx, hash: string, now: number) {
  const blob = yield* tx.get(BlobTable, [hash])
  if (blob === undefined || blob.partial === true) return false
  if (blob.checkAt !== undefined) tx.update(BlobTable, [hash], (row) => ({ ...row, checkAt: now + grace }))
  return true
})

/** Stores the next chunk of what is being put, under a name. */
export const stage = fn(function* (tx, name: string, n: number, data: Uint8Array, now: number) {
  const blob = yield* tx.get(BlobTable, [name])
  const row = { hash: name, bytes: n * chunkBytes + data.length, partial: true, checkAt: now + grace }
  if (blob === undefined) tx.insert(BlobTable, row)
  // One that somebody else has put meanwhile has the same chunks.
  else tx.update(BlobTable, [name], (one) => (one.partial === true ? row : one))
  tx.put(BlobChunkTable, { hash: name, n, data })
})

/** Copies a staged chunk to the blob that it is of. */
export const copyChunk = fn(function* (tx, name: string, hash: string, n: number, now: number) {
  const chunk = yield* tx.get(BlobChunkTable, [name, n])
  if (chunk !== undefined) yield* stage(hash, n, chunk.data, now)
})

/** All chunks of a blob are there. */
export const complete = fn(function* (tx, hash: string, bytes: number, now: number) {
  yield* tx.get(BlobTable, [hash])
  tx.update(BlobTable, [hash], (row) => (row.partial === true ? { hash, bytes, checkAt: now + grace } : row))
})

/** Takes away what was staged under a name. */
export const unstage = fn(function* (tx, name: string) {
  yield* tx.get(BlobTable, [name])
  tx.removeRange(BlobChunkTable, { prefix: [name] })
  tx.remove(BlobTable, [name])
})
