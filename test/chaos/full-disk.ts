/**
 * A disk that is full (A29): what does not fit is refused as `Full`, what is there stays readable, and as soon as there
 * is room the same append goes through, once.
 *
 * SQLite is given a largest number of pages, which is then raised on the very connection that met it.
 */
import { join } from "node:path"
import { StorageError } from "@skein/core/storage"
import * as Effect from "effect/Effect"
import type { DriverConnection } from "../../packages/adapter-sqlite/src/driver.ts"
import { libsql } from "../../packages/adapter-sqlite/src/libsql.ts"
import { Messages } from "../../packages/core/src/message/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { inDirectory } from "./directory.ts"
import { inspectFile, withFile } from "./file.ts"
import { unless } from "./outcome.ts"
import type { Outcome } from "./outcome.ts"
import { sqliteWith } from "./steps.ts"
import { openStore } from "./store.ts"

const large = "x".repeat(200_000)

export const fullDisk = (): Promise<Outcome> =>
  inDirectory(async (directory) => {
    const path = join(directory, "store.db")
    const connections: Array<DriverConnection> = []
    const driver = (uri: string) => {
      const connection = libsql(uri)
      connections.push(connection)
      return connection
    }
    const store = openStore(sqliteWith(driver, { url: `file:${path}` }))
    const append = (id: string, content: string) =>
      store.run(
        Effect.flatMap(Effect.service(Messages), (messages) =>
          messages.append("s1", { id, body: { role: "user", content } }),
        ),
      )
    const limitPages = (pages: number) => {
      for (const connection of connections) connection.exec(`PRAGMA max_page_count = ${pages}`)
    }
    const failed = (work: Promise<unknown>) =>
      work.then(
        () => "success",
        (failure: unknown) => (failure instanceof StorageError ? failure.reason._tag : String(failure)),
      )
    const seen = () =>
      store.run(
        Effect.gen(function* () {
          const page = yield* (yield* Messages).page("s1")
          const session = yield* (yield* Sessions).get("s1")
          return `${page.messages.map(({ id }) => id).join()} head ${session.head}`
        }),
      )

    await store.run(Effect.flatMap(Effect.service(Sessions), (sessions) => sessions.create({ id: "s1" })))
    await append("m1", "first")
    await append("m2", "second")
    const used = withFile(path, (database) => database.prepare("PRAGMA page_count").raw(true).get()) as [number]

    limitPages(used[0] + 4)
    const refused = await failed(append("m3", large))
    const whileFull = await seen()
    const among = await Promise.all([failed(append("m3", large)), failed(append("small", "there is room for this"))])
    const inside = inspectFile(path)
    limitPages(1_000_000)
    const retried = await failed(append("m3", large))
    const repeated = await failed(append("m3", large))
    const afterwards = await seen()
    await store.close()
    const { problems, rows } = inspectFile(path)

    const stored = rows.entries.filter(({ id }) => id === "m3")
    return {
      figures: `200 kB on a full disk: ${refused}, then with room: ${retried}, ${stored.length} stored`,
      failures: [
        ...inside.problems,
        ...problems,
        ...unless(refused === "Full", `an append on a full disk ended with ${refused}`),
        ...unless(whileFull === "m1,m2 head m2", `while the disk is full one sees ${whileFull}`),
        ...unless(among.join() === "Full,success", `a large and a small append together ended with ${among.join()}`),
        ...unless(!inside.rows.entries.some(({ id }) => id === "m3"), "part of what was refused is stored"),
        ...unless(retried === "success", `with room again it ended with ${retried}`),
        ...unless(repeated === "success", `sent once more it ended with ${repeated}`),
        ...unless(stored.length === 1, `it is stored ${stored.length} times`),
        ...unless(afterwards === "m1,m2,small,m3 head m3", `afterwards one sees ${afterwards}`),
      ],
    }
  })
