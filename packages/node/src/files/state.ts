/**
 * What is at a path: told by content and mode, so that a file that was written anew with the same content is the same.
 */
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { lstat } from "node:fs/promises"
import { join } from "node:path"
import * as z from "zod/mini"
import { copyInto, ifThere } from "../disk.ts"

/** A file, by the SHA-256 of its content and its mode, or none; a directory is none. What is neither has no hash. */
export const State = z.nullable(z.strictObject({ hash: z.string(), mode: z.int() }))
export type State = z.output<typeof State>

export const isFile = (state: State): state is NonNullable<State> => state !== null && state.hash !== ""

export const isSame = (one: State, other: State): boolean =>
  one === other || (one !== null && other !== null && one.hash === other.hash && one.mode === other.mode)

export const stateOf = async (path: string): Promise<State> => {
  const found = await ifThere(lstat(path))
  if (found === undefined || found.isDirectory()) return null
  if (!found.isFile()) return { hash: "", mode: 0 }
  const hash = await ifThere(hashOf(path))
  return hash === undefined ? null : { hash, mode: found.mode & 0o777 }
}

const hashOf = async (path: string): Promise<string> => {
  const hash = createHash("sha256")
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array)
  return hash.digest("hex")
}

/** Keeps a file in a directory under the hash of its content, and answers what it was. What is no file is not kept. */
export const keep = async (path: string, directory: string): Promise<State> => {
  const found = await stateOf(path)
  if (!isFile(found)) return found
  // The hash is that of the copy: the file may be written while it is read.
  const hash = await copyInto(path, directory, hashOf)
  return { hash, mode: found.mode }
}

/** Where `keep` has put a content. */
export const keptAt = (directory: string, state: NonNullable<State>): string => join(directory, state.hash)
