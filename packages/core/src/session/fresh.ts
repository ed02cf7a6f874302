/**
 * The row of a session that begins: idle, at the root of its tree, nothing said yet.
 */
import { noFacts, root } from "../message/model.ts"
import { key } from "../storage/key.ts"
import { shelfOf } from "./program.ts"
import type { SessionRow } from "./model.ts"

type Needed = Pick<SessionRow, "id" | "treeId" | "projectId" | "createdAt">

export const freshSession = (given: Needed & Partial<SessionRow>): SessionRow => {
  const row = {
    titleOrigin: given.title === undefined ? "none" : "manual",
    autoTitles: 0,
    type: "branch",
    kind: "conversation",
    status: "idle",
    visibility: "visible",
    pinned: false,
    archived: false,
    unread: false,
    preview: "",
    origin: "native",
    readiness: "ready",
    updatedAt: given.createdAt,
    activityAt: given.createdAt,
    head: root,
    headVersion: 0,
    historyVersion: 0,
    revision: 0,
    facts: noFacts,
    moves: 0,
    epoch: 0,
    answers: 0,
    ...given,
  } satisfies Partial<SessionRow>
  return { ...row, shelf: shelfOf(row), ...(row.owner !== undefined && { ownerKey: key(row.owner) }) }
}
