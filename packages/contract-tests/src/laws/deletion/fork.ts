/**
 * Forks, written by hand: a session that stands on the tree of another one.
 */
import { BranchTable, EntryTable, SessionTable } from "@skein/core"
import { Storage, Tx } from "@skein/core/storage"

/** Forks a session at a message, which is on its path, or where it stands. */
export const forkOf = (source: string, id: string, at?: string) =>
  Storage.use((storage) => storage.transact(fork(source, id, at)))

const fork = Tx.fn(function* (tx, source: string, id: string, at: string | undefined) {
  const row = (yield* tx.get(SessionTable, [source]))!
  const { activeTurn: _turn, error: _error, parentId: _parent, queue: _queue, redo: _redo, ...rest } = row
  const { inputDigest: _digest, tip: _tip, undo: _undo, usage: _usage, waiting: _waiting, ...kept } = rest
  const wanted = at ?? row.head.id
  const entry = wanted === undefined ? undefined : yield* tx.find(EntryTable, "byId", [row.treeId, wanted])
  yield* tx.range(BranchTable, "key", { prefix: [row.treeId], limit: 1 })
  if (entry === undefined) throw new Error(`${source} has no message ${wanted}`)
  const { branch, facts, pos } = entry
  tx.insert(SessionTable, {
    ...kept,
    id,
    forkedFrom: { sessionId: source, entry: entry.id },
    status: "idle",
    head: { branch, pos, id: entry.id },
    facts,
    base: { branch, pos },
    baseBranch: branch,
    basePos: pos,
    epoch: 0,
    moves: 0,
    headVersion: 0,
    revision: 0,
    preview: "",
  })
})
