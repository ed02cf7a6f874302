/**
 * Files that come with messages: what callers hand around, and how a message says that it has them.
 *
 * A message names a file by what `put` has given: an element of its `attachments` with the name of a blob. Other elements are
 * the host's own JSON and mean nothing here.
 */
import * as Effect from "effect/Effect"
import * as z from "zod/mini"
import { parseInput, Text } from "../input.ts"
import type { Limits } from "../settings.ts"
import { InvalidInput } from "../storage/error.ts"
import type { StorageError } from "../storage/error.ts"
import type { Storage } from "../storage/storage.ts"
import { fn } from "../storage/transaction.ts"
import { isHashName } from "./blob.ts"
import { BlobTable, grace } from "./model.ts"

/** A file that was put. Give it with a message, in `attachments`. */
export interface Attachment {
  /** The name of its bytes: `sha256-` and their hash in hexadecimal digits. */
  readonly hash: string
  readonly name: string
  /** Such as `image/png`. */
  readonly mime: string
  readonly bytes: number
}

export const FileName = Text.check(z.minLength(1), z.maxLength(255))
export const Mime = z
  .string()
  .check(z.maxLength(255), z.regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/, "must be type/subtype"))

const AttachmentInput = z.strictObject({
  hash: z.string().check(z.refine(isHashName, "must be what put has given")),
  name: FileName,
  mime: Mime,
  bytes: z.int().check(z.nonnegative()),
})

/** The files among what came with a message. */
export const filesIn = (attachments: ReadonlyArray<unknown> = []): ReadonlyArray<Attachment> =>
  attachments.filter((one): one is Attachment => isFile(one))

const isFile = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.hasOwn(value, "hash") && isHashName((value as Attachment).hash)

/** What is wrong with the files of a message. */
export const problemInFiles = (
  { fileBytes, files: mostFiles, messageBytes }: Limits,
  attachments: ReadonlyArray<unknown>,
  name: string,
): InvalidInput | undefined => {
  for (const [i, one] of attachments.entries()) {
    const checked = isFile(one) ? parseInput(AttachmentInput, one, `${name}.${i}`) : undefined
    if (checked instanceof InvalidInput) return checked
    if (checked !== undefined && checked.bytes > fileBytes) {
      const problem = `must be at most ${fileBytes}`
      return new InvalidInput({ field: `${name}.${i}.bytes`, value: checked.bytes, problem })
    }
  }
  const files = filesIn(attachments)
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const refuse = (value: number, problem: string) => new InvalidInput({ field: name, value, problem })
  if (files.length > mostFiles) return refuse(files.length, `must be at most ${mostFiles} files`)
  return bytes > messageBytes ? refuse(bytes, `must have at most ${messageBytes} bytes together`) : undefined
}

/** Keeps the blobs of files for another hour, in which they are used. Fails where one is not there. */
const keepFiles = fn(function* (tx, files: ReadonlyArray<Attachment>, now: number) {
  const found = yield* tx.all(files.map(({ hash }) => tx.get(BlobTable, [hash])))
  for (const [i, { bytes, hash }] of files.entries()) {
    const blob = found[i]
    if (blob?.bytes === bytes && blob.partial !== true) continue
    const problem = "is not there: it was not put, or an hour ago and then not used; put it again"
    return yield* tx.fail(new InvalidInput({ field: "attachments", value: hash, problem }))
  }
  for (const blob of found) {
    if (blob?.checkAt !== undefined) tx.update(BlobTable, [blob.hash], (row) => ({ ...row, checkAt: now + grace }))
  }
})

/**
 * Makes sure that the files of messages are there, and stay for the hour in which they are to be used: before the commit that
 * uses them. Messages without files cost nothing.
 */
export const withFiles = <A, E>(
  storage: Storage["Service"],
  messages: ReadonlyArray<{ readonly attachments?: ReadonlyArray<unknown> | undefined }>,
  now: number,
  commit: Effect.Effect<A, E>,
): Effect.Effect<A, E | InvalidInput | StorageError> => {
  const files = messages.flatMap(({ attachments }) => filesIn(attachments))
  if (files.length === 0) return commit
  return Effect.andThen(storage.transact(keepFiles(files, now), { durability: "relaxed" }), commit)
}
