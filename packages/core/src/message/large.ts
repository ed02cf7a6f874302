/**
 * Large bodies: kept as blobs, so that lists and pages need not load them.
 *
 * A message says what of it is large before it is stored (`measured`), and what its text and its tool calls are, which is
 * all that lists and boundaries look at. When it is stored settled its large bodies become blobs (`stow`); in its row they
 * are `null` from then on, and whoever needs them reads the `whole` row. A draft keeps its bodies in its row, for they are
 * written again and again.
 *
 * Guarantee: a body is given back exactly as it was stored. Small bodies cost nothing.
 */
import { bytesOver, fromJsonBytes, jsonBytes, nameOf } from "../attachment/blob.ts"
import { filesIn } from "../attachment/files.ts"
import { BlobUseTable } from "../attachment/model.ts"
import type { BlobUseRow } from "../attachment/model.ts"
import { applyRelease, nothingReleased, planRelease, putBlob, readBlob } from "../attachment/program.ts"
import type { Release } from "../attachment/program.ts"
import { messagesOf } from "../history/render.ts"
import { toolUses } from "../history/rounds.ts"
import { previewOf } from "../session/preview.ts"
import type { SkeinSettings } from "../settings.ts"
import type { Json } from "../storage/json.ts"
import { corrupt } from "../storage/group.ts"
import { fn, isUnreadable, Unreadable } from "../storage/transaction.ts"
import type { Handle } from "../storage/transaction.ts"
import { EntryTable } from "./model.ts"
import type { EntryRow, Large } from "./model.ts"
import type { NewEntry } from "./placement.ts"
import { textOf } from "./text.ts"

export const bodyFields = ["body", "display", "model"] as const

/** An entry that says which of its bodies are large. */
export const measured = (settings: SkeinSettings, entry: NewEntry): NewEntry => {
  if (entry.large !== undefined) return entry
  const large: Pick<Large, (typeof bodyFields)[number]> = {}
  let isLarge = false
  for (const field of bodyFields) {
    if (entry[field] === undefined || entry[field] === null) continue
    const bytes = bytesOver(entry[field], settings.limits.bodyBytes)
    if (bytes === undefined) continue
    large[field] = { hash: nameOf(bytes), bytes: bytes.length }
    isLarge = true
  }
  if (!isLarge) return entry
  const { dialect, dialects } = settings
  const body = (entry.body ?? entry.model ?? null) as Json
  const message = { id: entry.id, role: entry.role, body, dialect: entry.format?.dialect ?? dialect.name }
  const uses = body === null ? [] : toolUses(messagesOf(message, dialect, dialects))
  return { ...entry, large: { ...large, text: previewOf(textOf(settings, entry)), uses: [...uses] } }
}

/** What a blob of these bodies is called. */
export const bodyName = (body: unknown): string => nameOf(jsonBytes(body))

/**
 * Turns the large bodies of a stored row into blobs, and writes down what it uses. `release` is what it used before, in the
 * place where it is.
 */
export const stow = (tx: Handle, row: EntryRow, now: number, release: Release = nothingReleased): EntryRow => {
  const used = usedBy(row)
  if (row.draft === true || (used.length === 0 && release.uses.length === 0)) return row
  const { branch, large, pos, treeId } = row
  for (const field of bodyFields) {
    const blob = large?.[field]
    if (blob !== undefined && row[field] !== null) putBlob(tx, blob.hash, jsonBytes(row[field]))
  }
  for (const [n, use] of used.entries()) tx.put(BlobUseTable, { treeId, branch, pos, n, ...use })
  applyRelease(tx, { ...release, uses: release.uses.filter(({ n }) => n >= used.length) }, now)
  return large === undefined ? row : tx.update(EntryTable, [treeId, branch, pos], emptied)
}

type Use = Pick<BlobUseRow, "hash" | "file" | "filePos">

const usedBy = ({ attachments, createdAt, id, large, pos }: EntryRow): ReadonlyArray<Use> => {
  const hashes = large === undefined ? [] : bodyFields.flatMap((field) => large[field]?.hash ?? [])
  const bodies = [...new Set(hashes)].map((hash): Use => ({ hash }))
  const files = filesIn(attachments).map(({ bytes, hash, mime, name }): Use => {
    return { hash, file: { name, mime, bytes, message: id, createdAt }, filePos: pos }
  })
  return [...files, ...bodies]
}

const emptied = (row: EntryRow): EntryRow => {
  const next = { ...row }
  for (const field of bodyFields) if (row.large?.[field] !== undefined) next[field] = null
  return next
}

/** What a stored entry uses: read before it is changed in its place. */
export const planStowing = fn(function* (_tx, row: EntryRow) {
  if (row.draft === true || usedBy(row).length === 0) return nothingReleased
  return yield* planRelease(row.treeId, row.branch, { from: row.pos, to: row.pos })
})

/** Whether bodies of a row are elsewhere. */
export const isStowed = (row: EntryRow): boolean =>
  row.large !== undefined && bodyFields.some((field) => row[field] === null)

/** A stored row with the bodies of the entry that it was made of. */
export const refilled = (row: EntryRow, { body, display, model }: NewEntry): EntryRow => {
  if (!isStowed(row)) return row
  const { large: _large, ...rest } = row
  return { ...rest, body, display, model }
}

/** A row with all its bodies. Where one of them is not what it was when it was stored, the row cannot be read. */
export const whole = fn(function* (tx, row: Readonly<EntryRow>) {
  if (!isStowed(row)) return row
  const { large, ...rest } = row
  const next: EntryRow = rest
  for (const field of bodyFields) {
    const blob = large?.[field]
    if (row[field] !== null || blob === undefined) continue
    const chunks: ReadonlyArray<Uint8Array> | undefined = yield* readBlob(blob.hash, blob.bytes)
    const body = chunks && parsed(chunks)
    if (body === undefined) {
      const key = [row.treeId, row.branch, row.pos]
      return new Unreadable(EntryTable.name, key, `the blob ${blob.hash} of its ${field} cannot be read`)
    }
    next[field] = body.value
  }
  return next
})

/** As `whole`, or `Corrupt`. */
export const requireWhole = fn(function* (tx, row: Readonly<EntryRow>) {
  const found: Readonly<EntryRow> | Unreadable = yield* whole(row)
  return isUnreadable(found) ? yield* tx.fail(corrupt(found)) : found
})

const parsed = (chunks: ReadonlyArray<Uint8Array>): { readonly value: unknown } | undefined => {
  try {
    return { value: fromJsonBytes(chunks) }
  } catch {
    return undefined
  }
}

/**
 * Rows with all their bodies, as they are by now: one that was redacted since it was read is given so. What went meanwhile
 * stays as it is.
 */
export const wholes = fn(function* (tx, rows: ReadonlyArray<Readonly<EntryRow> | Unreadable>) {
  const found: Array<Readonly<EntryRow> | Unreadable> = []
  for (const row of rows) {
    if (isUnreadable(row) || !isStowed(row)) {
      found.push(row)
      continue
    }
    const now: Readonly<EntryRow> | undefined = yield* tx.get(EntryTable, [row.treeId, row.branch, row.pos])
    found.push(yield* whole(now ?? row))
  }
  return found
})

/** So many bytes of large bodies are loaded at a time where memory is to be bounded. */
export const loadedAtOnce = 4 * 1024 * 1024

/** Rows in runs whose large bodies have at most so many bytes together, unless a single row has more. */
export const inRuns = <Row extends EntryRow | Unreadable>(
  rows: ReadonlyArray<Row>,
  bytes: number,
): ReadonlyArray<ReadonlyArray<Row>> => {
  const runs: Array<Array<Row>> = []
  let room = 0
  for (const row of rows) {
    const size = isUnreadable(row) ? 0 : sizeOf(row)
    if (runs.length === 0 || size > room) {
      runs.push([])
      room = bytes
    }
    runs.at(-1)!.push(row)
    room -= size
  }
  return runs
}

const sizeOf = ({ large }: EntryRow): number =>
  large === undefined ? 0 : bodyFields.reduce((sum, field) => sum + (large[field]?.bytes ?? 0), 0)
