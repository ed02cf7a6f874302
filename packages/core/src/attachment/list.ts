/**
 * The rules of looking at files: which ones a session has, and whether it may read them.
 */
import { readPath } from "../message/path.ts"
import type { Path } from "../message/path.ts"
import { seesPlace, standing } from "../message/program.ts"
import { requireSession } from "../session/program.ts"
import type { Scope } from "../session/program.ts"
import { fn } from "../storage/transaction.ts"
import { BlobChunkTable, BlobTable, BlobUseTable } from "./model.ts"
import type { BlobUseRow } from "./model.ts"

/** A place in the list of files of a session. */
export interface FilePlace {
  readonly branch: number
  readonly pos: number
  readonly n: number
}

/** So many branches of a path are looked at in one step. */
const stride = 64

/** The files on the path of a session, newest first, behind a place. */
export const listFiles = fn(function* (
  tx,
  scope: Scope,
  sessionId: string,
  before: FilePlace | undefined,
  limit: number,
) {
  const session = yield* requireSession(scope, sessionId)
  const { facts, head } = yield* standing(session)
  const found: Array<Readonly<BlobUseRow>> = []
  const path: Path = yield* readPath(session.treeId, head, facts, () => false)
  const steps = path.steps.filter(({ branch }) => before === undefined || branch <= before.branch)
  for (let i = 0; i < steps.length && found.length < limit; i += stride) {
    const ranges: ReadonlyArray<ReadonlyArray<Readonly<BlobUseRow>>> = yield* tx.all(
      steps.slice(i, i + stride).map(({ branch, upTo }) => {
        const isFirst = before !== undefined && branch === before.branch && before.pos <= upTo
        return tx.range(BlobUseTable, "byFile", {
          from: [session.treeId, branch, 1],
          ...(isFirst
            ? { before: [session.treeId, branch, before.pos, before.pos, before.n] as const }
            : { to: [session.treeId, branch, upTo] as const }),
          reverse: true,
          limit,
        })
      }),
    )
    found.push(...ranges.flat())
  }
  return found.slice(0, limit)
})

/** A file that the session sees, and how many bytes it has; `undefined`: it sees none of this name. */
export const findFile = fn(function* (tx, scope: Scope, sessionId: string, hash: string) {
  const session = yield* requireSession(scope, sessionId)
  const [blob, uses] = yield* tx.all([
    tx.get(BlobTable, [hash]),
    tx.range(BlobUseTable, "byHash", { prefix: [hash, session.treeId] }),
  ])
  for (const use of uses) {
    if (use.file !== undefined && (yield* seesPlace(session, use))) return blob && { ...use.file, bytes: blob.bytes }
  }
  return undefined
})

/** One chunk of a file, as long as the session is there. */
export const readChunk = fn(function* (tx, scope: Scope, sessionId: string, hash: string, n: number) {
  yield* requireSession(scope, sessionId)
  return (yield* tx.get(BlobChunkTable, [hash, n]))?.data
})
