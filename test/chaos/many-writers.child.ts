/**
 * One of several processes that write to one file: opens it, makes a session, appends to it, and reports what it met.
 */
import * as Effect from "effect/Effect"
import { Messages } from "../../packages/core/src/message/service.ts"
import { Sessions } from "../../packages/core/src/session/service.ts"
import { child } from "./child.ts"
import { watchLoop } from "./event-loop.ts"
import type { WriterOptions, WriterReport } from "./many-writers.ts"
import { sqliteWith, watched } from "./steps.ts"
import { openStore } from "./store.ts"

child<WriterOptions>(async ({ appends, path, session }): Promise<WriterReport> => {
  const loop = watchLoop()
  const store = openStore(sqliteWith(watched(loop.around), { url: `file:${path}` }))
  const failures: Array<string> = []
  const attempt = (work: Parameters<typeof store.run>[0]) =>
    store.run(work).catch((failure: unknown) => void failures.push(String(failure)))

  await attempt(Effect.flatMap(Effect.service(Sessions), (sessions) => sessions.create({ id: session })))
  loop.begin()
  for (let n = 1; n <= appends; n++) {
    const message = { id: `${session}-${n}`, body: { role: "user", content: `message ${n}` } }
    await attempt(Effect.flatMap(Effect.service(Messages), (messages) => messages.append(session, message)))
  }
  const standstill = loop.stop()
  await store.close()
  return { failures, ...standstill }
})
