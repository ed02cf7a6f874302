/**
 * Where the bytes of a file come from: all at once, or piece by piece as their reader asks for them.
 *
 * Guarantee: no more than a chunk and a piece of the source is held at a time, and a source that is not read to its end is
 * told so.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { InvalidInput } from "../storage/error.ts"
import { chunkBytes } from "./model.ts"

/** A web `ReadableStream`, by what is asked of it. */
export interface ByteStream {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
    cancel(reason?: unknown): Promise<unknown>
  }
}

/** The bytes of a file. */
export type ByteSource = Uint8Array | AsyncIterable<Uint8Array> | ByteStream

export const isByteSource = (value: unknown): value is ByteSource =>
  value instanceof Uint8Array ||
  (typeof value === "object" && value !== null && (Symbol.asyncIterator in value || "getReader" in value))

/** The next piece, `undefined` at the end; and what to do where it is not read to its end. */
interface Pieces {
  readonly next: () => Promise<Uint8Array | undefined>
  readonly stop: () => Promise<unknown>
}

const piecesOf = (source: ByteSource): Pieces => {
  if (source instanceof Uint8Array) {
    let at = 0
    const next = async () => (at < source.length ? source.subarray(at, (at += chunkBytes)) : undefined)
    return { next, stop: async () => undefined }
  }
  if (Symbol.asyncIterator in source) {
    const iterator = source[Symbol.asyncIterator]()
    const next = async () => {
      const { done, value } = await iterator.next()
      return done === true ? undefined : value
    }
    return { next, stop: async () => iterator.return?.() }
  }
  const reader = source.getReader()
  const next = async () => {
    const { done, value } = await reader.read()
    return done ? undefined : value
  }
  return { next, stop: () => reader.cancel() }
}

/** Gives one chunk after another, all but the last one of one size; `undefined` at the end. */
export interface Chunks {
  readonly next: Effect.Effect<Uint8Array | undefined, InvalidInput>
}

/**
 * Reads a source in chunks, until the scope closes. Fails where it has more than `limit` bytes, gives something that is no
 * bytes, or fails itself. `field` is what errors call it.
 */
export const chunksOf = (
  source: ByteSource,
  limit: number,
  field: string,
): Effect.Effect<Chunks, InvalidInput, Scope.Scope> =>
  Effect.gen(function* () {
    const refuse = (value: unknown, problem: string) => new InvalidInput({ field, value, problem })
    const failed = (thrown: unknown) => refuse(undefined, `failed while it was read: ${String(thrown)}`)
    let isOver = false
    const { next } = yield* Effect.acquireRelease(
      Effect.try({ try: () => piecesOf(source), catch: failed }),
      (pieces) => (isOver ? Effect.void : Effect.ignore(Effect.tryPromise(pieces.stop))),
    )
    let total = 0
    /** What is left of the last piece. Its memory may be the source's, who may use it again for the next one. */
    let rest: Uint8Array = new Uint8Array(0)

    const pull = Effect.flatMap(
      Effect.tryPromise({ try: next, catch: failed }),
      (piece): Effect.Effect<Uint8Array | undefined, InvalidInput> => {
        if (piece === undefined) {
          isOver = true
          return Effect.undefined
        }
        if (!(piece instanceof Uint8Array)) return Effect.fail(refuse(piece, "must give pieces that are a Uint8Array"))
        total += piece.length
        return total > limit ? Effect.fail(refuse(total, `must have at most ${limit} bytes`)) : Effect.succeed(piece)
      },
    )

    const chunk = Effect.gen(function* () {
      const filled = new Uint8Array(chunkBytes)
      let length = 0
      for (;;) {
        const taken = rest.subarray(0, chunkBytes - length)
        filled.set(taken, length)
        length += taken.length
        rest = rest.subarray(taken.length)
        if (length === chunkBytes) return filled
        const piece = isOver ? undefined : yield* pull
        if (piece === undefined) return length === 0 ? undefined : filled.slice(0, length)
        rest = piece
      }
    })
    return { next: chunk }
  })
