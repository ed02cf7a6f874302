/**
 * Appends until it is killed, and notes each message once it was acknowledged.
 */
import { openSync, writeSync } from "node:fs"
import * as Effect from "effect/Effect"
import { Messages } from "../../packages/core/src/message/service.ts"
import { child, tell } from "./child.ts"
import type { AppenderOptions } from "./kills.ts"
import { openFile } from "./store.ts"

child<AppenderOptions>(async ({ name, notes, path, sessions }) => {
  const store = openFile(path)
  const messages = await store.run(Effect.service(Messages))
  const file = openSync(notes, "a")
  for (let n = 1; ; n++) {
    const id = `${name}-${n}`
    const body = { role: n % 3 === 0 ? "user" : "assistant", content: `${id} ${"x".repeat((n * 37) % 2_000)}` }
    await store.run(messages.append(sessions[n % sessions.length]!, { id, body }))
    writeSync(file, `${id}\n`)
    if (n === 1) tell("acknowledged")
  }
})
