/**
 * A store as an older Skein would have left it. There has been no older one: it is made up, so that everything an upgrade
 * can meet is there: fields that had another name, that were not there, that are worked out from others; indexes that
 * were not there or were over other fields; a table that was not there.
 */
import { Backend, descInt, index, int, Storage, table, text, Tx, unique } from "@skein/core/storage"
import type { JsonObject, Migration, Schema } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as z from "zod/mini"
import { sqlite } from "@skein/adapter-sqlite"
import { memory } from "@skein/adapter-memory"
import { Messages } from "../../packages/core/src/message/service.ts"
import { BranchTable, TreeTable } from "../../packages/core/src/message/model.ts"
import type { EntryRow } from "../../packages/core/src/message/model.ts"
import { ProjectTable } from "../../packages/core/src/project/model.ts"
import type { SessionRow } from "../../packages/core/src/session/model.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import type { StoreRows } from "./rows.ts"
import { openStore } from "./store.ts"

type OldSession = Omit<SessionRow, "autoTitles" | "shelf" | "title"> & { readonly name?: string }
type OldEntry = Omit<EntryRow, "prompt" | "shown">

const OldSessionTable = table("session", {
  row: z.custom<OldSession>(),
  key: [text("id")],
  indexes: {
    byActivity: index(descInt("activityAt")),
    byWorkspace: index(text("workspaceKey"), descInt("activityAt")),
  },
})
const OldEntryTable = table("entry", {
  row: z.custom<OldEntry>(),
  key: [text("treeId"), int("branch"), int("pos")],
  indexes: { byId: unique(text("treeId"), text("id")) },
})

const oldSchema: Schema = {
  version: 1,
  oldestReader: 1,
  oldestWriter: 1,
  tables: [OldSessionTable, OldEntryTable, TreeTable, BranchTable, ProjectTable],
  migrations: [],
}

const migrations: ReadonlyArray<Migration> = [
  {
    version: 2,
    table: "session",
    change: ({ name, ...session }) => ({
      ...session,
      ...(name !== undefined && { title: name }),
      autoTitles: 0,
      shelf: session["archived"] === true ? "archived" : "main",
    }),
  },
  {
    version: 2,
    table: "entry",
    change: (entry) => {
      const facts = entry["facts"] as JsonObject
      return {
        ...entry,
        ...(entry["body"] !== undefined && { shown: facts["displays"]! }),
        ...(entry["role"] === "user" && { prompt: facts["prompts"]! }),
      }
    },
  },
]

/** Today's tables as the version after the older one. */
export const upgraded = (schema: Schema): Schema => ({
  ...schema,
  version: 2,
  oldestReader: 2,
  oldestWriter: 2,
  migrations,
})

/** A backend that opens a store as the version after the older one. */
export const upgrading = (backend: Layer.Layer<Backend>): Layer.Layer<Backend> =>
  Layer.effect(
    Backend,
    Effect.map(Effect.service(Backend), (older) =>
      Backend.of({ ...older, open: (schema) => older.open(upgraded(schema)) }),
    ),
  ).pipe(Layer.provide(backend))

const sessionIds = ["s1", "s2", "s3"]

/** Makes an older store, and tells what it has to hold when it is upgraded. */
export const createOlder = async (path: string): Promise<StoreRows> => {
  const rows = await todaysRows()
  const older = Layer.provide(Storage.layer(oldSchema), sqlite({ url: `file:${path}` }))
  const fill = Tx.make(function* (tx) {
    for (const { autoTitles: _a, shelf: _s, title, ...session } of rows.sessions) {
      tx.insert(OldSessionTable, { ...session, ...(title !== undefined && { name: title }) })
    }
    for (const { prompt: _p, shown: _s, ...entry } of rows.entries) tx.insert(OldEntryTable, entry)
    for (const tree of rows.trees) tx.insert(TreeTable, tree)
    for (const branch of rows.branches) tx.insert(BranchTable, branch)
    for (const project of rows.projects) tx.insert(ProjectTable, project)
  })
  await Effect.runPromise(
    Effect.provide(
      Effect.flatMap(Effect.service(Storage), ({ transact }) => transact(fill)),
      older,
    ),
  )
  return rows
}

/** Three conversations: one titled, one without a title or a workspace, one archived. */
const todaysRows = async (): Promise<StoreRows> => {
  const store = openStore(memory())
  await store.run(
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const messages = yield* Messages
      yield* sessions.create({ id: "s1", title: "First", workspace: "/projects/one" })
      yield* sessions.create({ id: "s2" })
      yield* sessions.create({ id: "s3", workspace: "/projects/one" })
      for (const id of sessionIds) {
        for (let n = 1; n <= 4; n++) {
          const role = n % 2 === 1 ? "user" : "assistant"
          yield* messages.append(id, { id: `${id}-m${n}`, body: { role, content: `message ${n} of ${id}` } })
        }
      }
      yield* sessions.archive("s3")
    }),
  )
  const rows = await store.rows()
  await store.close()
  return rows
}

/** What a user sees of the three conversations. */
export const seen = Effect.gen(function* () {
  const sessions = yield* Sessions
  const messages = yield* Messages
  const listed = (yield* sessions.list()).sessions.map(({ id, title }) => `${id} ${title ?? "-"}`)
  const pages: Array<string> = []
  for (const id of sessionIds) pages.push((yield* messages.page(id)).messages.map((message) => message.id).join(" "))
  return [listed.toSorted().join(), ...pages].join("; ")
})

export const expectedToBeSeen = [
  "s1 First,s2 -",
  ...sessionIds.map((id) => [1, 2, 3, 4].map((n) => `${id}-m${n}`).join(" ")),
].join("; ")
