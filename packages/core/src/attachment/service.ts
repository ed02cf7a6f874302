/**
 * Attachments: files that come with messages.
 *
 * Guarantee: the same bytes are kept once, whoever puts them and however often, and memory for one chunk of 512 KiB and one
 * piece of their source is all that putting and opening take. A file belongs to the messages that name it: forks share it, it
 * is on the path while they are, and it goes an hour after the last of them went. What was put and is used by no message
 * within an hour goes too.
 *
 * Not promised: that a file is there whose path was resolved. Those are the host's.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as z from "zod/mini"
import { sessionCalls } from "../call.ts"
import { bindingOf, cursorAt, placeOf } from "../cursor.ts"
import type { InvalidCursor } from "../cursor.ts"
import { Ids } from "../id.ts"
import { checkInput } from "../input.ts"
import { requireSession } from "../session/program.ts"
import type { SessionAbsent } from "../session/program.ts"
import { Settings } from "../settings.ts"
import { Corrupt, StorageError } from "../storage/error.ts"
import type { InvalidInput } from "../storage/error.ts"
import { Storage } from "../storage/storage.ts"
import { checkWriteOptions } from "../write-options.ts"
import type { TransactOptions } from "../write-options.ts"
import { hashName, isHashName } from "./blob.ts"
import { cleanBlobs } from "./clean.ts"
import type { Cleaned } from "./clean.ts"
import { FileName, Mime } from "./files.ts"
import type { Attachment } from "./files.ts"
import { findFile, listFiles, readChunk } from "./list.ts"
import type { FilePlace } from "./list.ts"
import { BlobChunkTable, chunkBytes } from "./model.ts"
import * as put from "./put.ts"
import { resolvePath } from "./resolve.ts"
import { chunksOf, isByteSource } from "./source.ts"
import type { ByteSource } from "./source.ts"

export type { Attachment } from "./files.ts"
export type { ByteSource, ByteStream } from "./source.ts"
export type { Cleaned } from "./clean.ts"

/** The session sees no file of this name: no message that it sees has it. */
export class AttachmentNotFound extends Data.TaggedError("AttachmentNotFound")<{
  readonly sessionId: string
  readonly hash: string
}> {
  override get message() {
    return `session ${this.sessionId} has no attachment ${this.hash}`
  }
}

/** A file to keep. */
export interface NewAttachment {
  /** What people call it: 1 to 255 characters. */
  readonly name: string
  /** Such as `image/png`. */
  readonly mime: string
  /** All bytes, or a source of them: an async iterable, or a web `ReadableStream`. */
  readonly data: ByteSource
}

/** A file of a session. */
export interface ListedAttachment extends Attachment {
  /** The message that it came with. */
  readonly message: string
  /** When that was said, in milliseconds since 1970. */
  readonly createdAt: number
}

export interface AttachmentsQuery {
  /** A cursor of another page. */
  readonly before?: string
  /** 1 to 500. Default 50. */
  readonly limit?: number
}

export interface AttachmentPage {
  /** Newest first. */
  readonly attachments: ReadonlyArray<ListedAttachment>
  /** Give it as `before` to go on. Absent: there are no more. */
  readonly before?: string
}

type Absent = SessionAbsent | InvalidInput | StorageError

export class Attachments extends Context.Service<
  Attachments,
  {
    /**
     * Keeps the bytes of a file, and answers what a message names it by. It is of the session once a message has it, for which
     * there is an hour.
     *
     * @throws InvalidInput  more than 32 MiB, unless set otherwise; a source that fails, or gives something that is no bytes
     * @see ATT-01
     *
     * @example
     * const plan = yield* attachments.put("ses_1", { name: "plan.txt", mime: "text/plain", data: bytes })
     * yield* messages.append("ses_1", { body: { role: "user", content: "See here." }, attachments: [plan] })
     */
    readonly put: (
      sessionId: string,
      file: NewAttachment,
      options?: TransactOptions,
    ) => Effect.Effect<Attachment, Absent>
    /**
     * The bytes of a file, chunk by chunk as they are asked for.
     *
     * @param hash  as in what `put` and `list` give
     * @throws AttachmentNotFound  no message that the session sees has it
     */
    readonly open: (sessionId: string, hash: string) => Stream.Stream<Uint8Array, AttachmentNotFound | Absent>
    /** The files on the path of a session, those of what it has inherited included, newest first. */
    readonly list: (
      sessionId: string,
      query?: AttachmentsQuery,
    ) => Effect.Effect<AttachmentPage, InvalidCursor | Absent>
    /**
     * The path to open for a path of a file, where that may be opened: it lies in the directory of the session's own
     * attachments, or in one of `attachmentRoots`, links resolved.
     *
     * A path of the form `<project>/.openprogram/sessions/<this session>/workdir/attachments/<name>` leads to where that is
     * now, if the project was moved.
     *
     * @throws InvalidInput  the path is relative, has `..` in it, or leads elsewhere
     * @see ATT-02
     */
    readonly resolve: (sessionId: string, path: string) => Effect.Effect<string, Absent>
    /** Frees the bytes of files and large bodies that nothing has used for an hour. `maintenance.run` does it. */
    readonly clean: () => Effect.Effect<Cleaned, InvalidInput | StorageError>
  }
>()("@skein/core/attachment/Attachments") {
  static readonly layer = Layer.effect(
    Attachments,
    Effect.gen(function* () {
      const storage = yield* Storage
      const settings = yield* Settings
      const ids = yield* Ids

      const now = Clock.currentTimeMillis

      /** What is put may be lost to a power cut until the commit that uses it is on disk. */
      const relaxed = { durability: "relaxed" } as const

      const session = (sessionId: string) => storage.read(requireSession(settings, sessionId))

      /** Stores a source as a blob that nobody uses yet. */
      const store = Effect.fnUntraced(function* (data: ByteSource) {
        const { next } = yield* chunksOf(data, settings.limits.fileBytes, "file.data")
        const name = yield* ids.mint("put_")
        const hashing = sha256.create()
        let bytes = 0
        let n = 0
        let chunk = (yield* next) ?? new Uint8Array(0)
        for (;;) {
          hashing.update(chunk)
          bytes += chunk.length
          const following = yield* next
          // A single chunk has its name before it is stored.
          if (following === undefined && n === 0) return yield* keepOne(hashName(hashing.digest()), chunk)
          yield* storage.transact(put.stage(name, n++, chunk, yield* now), relaxed)
          if (following === undefined) break
          chunk = following
        }
        const hash = hashName(hashing.digest())
        if (!(yield* storage.transact(put.keepBlob(hash, yield* now), relaxed))) {
          for (let i = 0; i < n; i++) yield* storage.transact(put.copyChunk(name, hash, i, yield* now), relaxed)
          yield* storage.transact(put.complete(hash, bytes, yield* now), relaxed)
        }
        yield* storage.transact(put.unstage(name), relaxed)
        return { hash, bytes }
      }, Effect.scoped)

      const keepOne = Effect.fnUntraced(function* (hash: string, chunk: Uint8Array) {
        const bytes = chunk.length
        if (!(yield* storage.transact(put.keepBlob(hash, yield* now), relaxed))) {
          yield* storage.transact(put.stage(hash, 0, chunk, yield* now), relaxed)
          yield* storage.transact(put.complete(hash, bytes, yield* now), relaxed)
        }
        return { hash, bytes }
      })

      const calls = sessionCalls("attachment", {
        put: Effect.fnUntraced(function* (sessionId: string, given: NewAttachment, options: TransactOptions = {}) {
          const { data, mime, name } = yield* checkInput(NewAttachmentInput, given, "file")
          yield* checkWriteOptions(options)
          yield* session(sessionId)
          const attachment: Attachment = { ...(yield* store(data)), name, mime }
          return attachment
        }),
        list: Effect.fnUntraced(function* (sessionId: string, given: AttachmentsQuery = {}) {
          const { before, limit } = yield* checkInput(AttachmentsQueryInput, given, "query")
          const binding = bindingOf(["attachments", sessionId])
          const place = yield* placeOf(() => binding, before)
          const uses = yield* storage.read(listFiles(settings, sessionId, place && toFilePlace(place), limit))
          const attachments = uses.flatMap(({ file, hash }): ReadonlyArray<ListedAttachment> =>
            file === undefined ? [] : [{ hash, ...file }],
          )
          const last = uses.at(-1)
          const page: AttachmentPage = {
            attachments,
            ...(last !== undefined &&
              uses.length === limit && {
                before: cursorAt(binding, { at: last.pos, id: `${last.branch}_${last.n}` }),
              }),
          }
          return page
        }),
        resolve: Effect.fnUntraced(function* (sessionId: string, path: string) {
          yield* checkInput(z.string().check(z.minLength(1), z.maxLength(4_096)), path, "path")
          const of = yield* session(sessionId)
          return yield* resolvePath(settings.paths, settings.attachmentRoots, of, path)
        }),
      })

      return Attachments.of({
        ...calls,
        open: (sessionId, hash) =>
          Stream.unwrap(
            Effect.gen(function* () {
              yield* checkInput(Hash, hash, "hash")
              const file = yield* storage.read(findFile(settings, sessionId, hash))
              if (file === undefined) return yield* Effect.fail(new AttachmentNotFound({ sessionId, hash }))
              const count = Math.ceil(file.bytes / chunkBytes)
              return Stream.paginate<number, Uint8Array, Absent>(
                0,
                Effect.fnUntraced(function* (n) {
                  if (n >= count) return [[], Option.none()]
                  const data = yield* storage.read(readChunk(settings, sessionId, hash, n))
                  if (data === undefined) return yield* Effect.fail(missing(hash, n))
                  return [[data], n + 1 < count ? Option.some(n + 1) : Option.none()]
                }),
              )
            }),
          ),
        clean: () => cleanBlobs(storage),
      })
    }),
  )
}

const toFilePlace = ({ at, id }: { readonly at: number; readonly id: string }): FilePlace => {
  const [branch, n] = id.split("_").map(Number)
  return { branch: branch ?? 0, pos: at, n: n ?? 0 }
}

const missing = (hash: string, n: number) =>
  new StorageError({
    operation: "read",
    reason: new Corrupt({ table: BlobChunkTable.name, key: [hash, n], detail: `chunk ${n} of ${hash} is not there` }),
  })

const NewAttachmentInput = z.strictObject({
  name: FileName,
  mime: Mime,
  data: z.custom<ByteSource>(isByteSource, "must be bytes, an async iterable of them, or a ReadableStream"),
})
const Hash = z.string().check(z.refine(isHashName, "must be the hash of an attachment"))
const AttachmentsQueryInput = z.strictObject({
  before: z.optional(z.string()),
  limit: z._default(z.int().check(z.minimum(1), z.maximum(500)), 50),
})
