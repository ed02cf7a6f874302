/**
 * The rules of blobs: which are there, which are used, and when they go.
 *
 * What an entry uses is written with the entry, and read with it. When it goes, its uses go in the same commit, and each
 * blob is looked at an hour later: the last use may have been this one, and somebody may be about to use it again.
 */
import { fn, maxRange } from "../storage/transaction.ts"
import type { Handle } from "../storage/transaction.ts"
import { BlobChunkTable, BlobTable, BlobUseTable, chunkBytes, grace, QueueFileTable } from "./model.ts"
import type { BlobRow, BlobUseRow } from "./model.ts"

/** What a run has put already: a commit may store one content several times, and a row is put once. */
const put = new WeakMap<Handle, Set<string>>()

/** Stores a blob that this commit uses. */
export const putBlob = (tx: Handle, hash: string, bytes: Uint8Array): void => {
  const known = put.get(tx) ?? new Set()
  put.set(tx, known)
  if (known.has(hash)) return
  known.add(hash)
  tx.put(BlobTable, { hash, bytes: bytes.length })
  for (let n = 0; n * chunkBytes < bytes.length; n++) {
    tx.put(BlobChunkTable, { hash, n, data: bytes.slice(n * chunkBytes, (n + 1) * chunkBytes) })
  }
}

/** The chunks of a blob; `undefined` where they are not all there. */
export const readBlob = fn(function* (tx, hash: string, bytes: number) {
  const chunks: Array<Uint8Array> = []
  let length = 0
  while (length < bytes) {
    const rows = yield* tx.range(BlobChunkTable, "key", { from: [hash, chunks.length], to: [hash] })
    for (const { data, n } of rows) {
      if (n !== chunks.length) return undefined
      chunks.push(data)
      length += data.length
    }
    if (rows.length === 0) return undefined
  }
  return length === bytes ? chunks : undefined
})

/** Uses that are about to go, and their blobs. */
export interface Release {
  readonly uses: ReadonlyArray<Readonly<BlobUseRow>>
  readonly blobs: ReadonlyArray<Readonly<BlobRow>>
}

export const nothingReleased: Release = { uses: [], blobs: [] }

/** Positions of a branch, both included. */
export interface Positions {
  readonly from: number
  readonly to?: number
}

/**
 * Reads what entries of a branch use that are about to go: for `applyRelease`, in the commit that removes them. Whoever
 * removes in steps gives the positions of the step.
 */
export const planRelease = fn(function* (tx, treeId: string, branch: number, { from, to }: Positions) {
  const uses: Array<Readonly<BlobUseRow>> = []
  let after: readonly [string, number, number, number] | undefined
  for (;;) {
    const rows = yield* tx.range(BlobUseTable, "key", {
      ...(after === undefined ? { from: [treeId, branch, from] } : { after }),
      to: to === undefined ? [treeId, branch] : [treeId, branch, to],
    })
    uses.push(...rows)
    const last = rows.at(-1)
    if (last === undefined || rows.length < maxRange) break
    after = [treeId, branch, last.pos, last.n]
  }
  const hashes = [...new Set(uses.map(({ hash }) => hash))]
  const found = yield* tx.all(hashes.map((hash) => tx.get(BlobTable, [hash])))
  const release: Release = { uses, blobs: found.filter((blob) => blob !== undefined) }
  return release
})

/** Takes uses away. Their blobs are freed in an hour, unless somebody uses them by then. */
export const applyRelease = (tx: Handle, { blobs, uses }: Release, now: number): void => {
  for (const { branch, n, pos, treeId } of uses) tx.remove(BlobUseTable, [treeId, branch, pos, n])
  checkLater(tx, blobs, now)
}

/** Has blobs looked at in an hour. */
export const checkLater = (tx: Handle, blobs: ReadonlyArray<Readonly<BlobRow>>, now: number): void => {
  for (const { hash } of blobs) tx.update(BlobTable, [hash], (blob) => ({ ...blob, checkAt: now + grace }))
}

/** What one step of a clean-up did, and whether there is more to do. */
export interface Freed {
  /** How many blobs were freed, and the bytes that they had. */
  readonly blobs: number
  readonly bytes: number
  readonly isDone: boolean
}

/** At most so many blobs are looked at in one step, and so many bytes freed, unless a single one has more. */
const stepBlobs = 100
const stepBytes = 4 * 1024 * 1024

/** One step of a clean-up: of the blobs that are due, frees those that nothing uses. DEL-06 */
export const freeBlobs = fn(function* (tx, now: number) {
  const due = yield* tx.range(BlobTable, "byCheck", { to: [now], limit: stepBlobs })
  const uses = yield* tx.all(due.map(({ hash }) => tx.range(BlobUseTable, "byHash", { prefix: [hash], limit: 1 })))
  const waiting = yield* tx.all(due.map(({ hash }) => tx.range(QueueFileTable, "byHash", { prefix: [hash], limit: 1 })))
  const free: Array<Readonly<BlobRow>> = []
  const used: Array<{ readonly blob: Readonly<BlobRow>; readonly byEntry: boolean }> = []
  let bytes = 0
  let looked = 0
  for (const [i, blob] of due.entries()) {
    const byEntry = uses[i]!.length > 0
    const isFree = !byEntry && waiting[i]!.length === 0
    if (isFree && free.length > 0 && bytes + blob.bytes > stepBytes) break
    looked++
    if (!isFree) used.push({ blob, byEntry })
    else {
      free.push(blob)
      bytes += blob.bytes
    }
  }
  for (const { hash } of free) tx.removeRange(BlobChunkTable, { prefix: [hash] })
  for (const { hash } of free) tx.remove(BlobTable, [hash])
  for (const { blob, byEntry } of used) tx.update(BlobTable, [blob.hash], (row) => looksAgain(row, byEntry, now))
  const freed: Freed = { blobs: free.length, bytes, isDone: looked === due.length && due.length < stepBlobs }
  return freed
})

/** An entry says when it goes. An item of a queue goes without a word, so that its blob is looked at again. */
const looksAgain = (blob: Readonly<BlobRow>, isUsedByEntry: boolean, now: number): BlobRow => {
  const { checkAt: _checkAt, ...rest } = blob
  return isUsedByEntry ? rest : { ...rest, checkAt: now + grace }
}

/** Of what is released, the blobs that nothing else uses: their bytes are to be gone at once. */
export const planErasure = fn(function* (tx, { blobs, uses }: Release) {
  const found = yield* tx.all(
    blobs.map(({ hash }) => tx.range(BlobUseTable, "byHash", { prefix: [hash], limit: uses.length + 1 })),
  )
  const isOwn = (use: Readonly<BlobUseRow>) => uses.some((own) => own.branch === use.branch && isAt(own, use))
  return blobs.filter((_, i) => found[i]!.every(isOwn))
})

const isAt = (a: BlobUseRow, b: BlobUseRow): boolean => a.treeId === b.treeId && a.pos === b.pos && a.n === b.n

/** Takes uses away, and the bytes of these blobs. Comes before other writes of blobs. */
export const applyErasure = (
  tx: Handle,
  { blobs, uses }: Release,
  erased: ReadonlyArray<Readonly<BlobRow>>,
  now: number,
): void => {
  for (const { hash } of erased) tx.removeRange(BlobChunkTable, { prefix: [hash] })
  for (const { hash } of erased) tx.remove(BlobTable, [hash])
  applyRelease(tx, { uses, blobs: blobs.filter((blob) => !erased.includes(blob)) }, now)
}
